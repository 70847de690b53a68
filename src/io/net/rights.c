/* rights.c: descriptors that are passed with a message of a unix socket. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* CMSG_SPACE */
#endif
#include <errno.h>
#include <string.h>
#include <volt/net.h>

#include "../sys/sys.h"

static void rights_set(volt_rights *m, void *bytes, size_t size) {
  memset(&m->message, 0, sizeof m->message);
  m->part = (struct iovec){.iov_base = bytes, .iov_len = size};
  m->message.msg_iov = &m->part;
  m->message.msg_iovlen = 1;
}

int volt_rights_put(volt_rights *m, const void *from, size_t size, const int *numbers,
                    unsigned count) {
  if (size == 0 || count > VOLT_RIGHTS_MAX) return VOLT_EINVAL;
  rights_set(m, (void *)(uintptr_t)from, size);
  if (count == 0) return VOLT_OK;
  memset(&m->control, 0, sizeof m->control);
  m->message.msg_control = m->control.bytes;
  m->message.msg_controllen = (socklen_t)CMSG_SPACE(sizeof(int) * count);
  struct cmsghdr *header = CMSG_FIRSTHDR(&m->message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = (socklen_t)CMSG_LEN(sizeof(int) * count);
  memcpy(CMSG_DATA(header), numbers, sizeof(int) * count);
  return VOLT_OK;
}

void volt_rights_expect(volt_rights *m, void *to, size_t size) {
  rights_set(m, to, size);
  memset(&m->control, 0, sizeof m->control); /* a header of length 0: none has come */
  m->message.msg_control = m->control.bytes;
  m->message.msg_controllen = sizeof m->control.bytes;
}

/* How many descriptors this part of the message has; never more than are in the buffer. */
static size_t rights_in(const volt_rights *m, struct cmsghdr *header) {
  if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) return 0;
  const char *end = m->control.bytes + m->message.msg_controllen;
  const char *first = (const char *)CMSG_DATA(header);
  if (header->cmsg_len <= CMSG_LEN(0) || first > end) return 0;
  size_t bytes = header->cmsg_len - CMSG_LEN(0);
  if (bytes > (size_t)(end - first)) bytes = (size_t)(end - first);
  return bytes / sizeof(int);
}

/* The part behind that one, or NULL. As CMSG_NXTHDR(), which some libc has with a warning only. */
static struct cmsghdr *rights_next(volt_rights *m, struct cmsghdr *header) {
  size_t at = (size_t)((char *)header - m->control.bytes);
  size_t left = m->message.msg_controllen - at;
  if (header->cmsg_len < CMSG_LEN(0) || header->cmsg_len > left) return NULL;
  size_t space = CMSG_SPACE(header->cmsg_len - CMSG_LEN(0));
  if (space > left || left - space < sizeof *header) return NULL;
  return (struct cmsghdr *)(void *)((char *)header + space);
}

int volt_rights_take(volt_rights *m, int *numbers, unsigned room, unsigned *count) {
  bool is_cut = m->message.msg_flags & MSG_CTRUNC;
  *count = 0;
  struct cmsghdr *header = m->message.msg_controllen ? CMSG_FIRSTHDR(&m->message) : NULL;
  for (; header && header->cmsg_len; header = rights_next(m, header)) {
    size_t came = rights_in(m, header);
    for (size_t i = 0; i < came; i++) {
      int number;
      memcpy(&number, (const char *)CMSG_DATA(header) + i * sizeof number, sizeof number);
      if (*count < room) {
        numbers[(*count)++] = number;
      } else {
        (void)volt_sys_real_.close(number); /* a simulated socket passes none */
        is_cut = true;
      }
    }
  }
  m->message.msg_controllen = 0; /* they were taken */
  m->message.msg_flags = 0;
  return is_cut ? VOLT_ERRNO(EMSGSIZE) : (int)VOLT_OK;
}

void volt_rights_drop(volt_rights *m) {
  unsigned none;
  if (volt_rights_take(m, NULL, 0, &none) != VOLT_OK) return; /* they are closed now */
}
