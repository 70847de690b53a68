/* channel.c: messages and descriptors over a unix socket. */
#define _GNU_SOURCE /* clock_gettime */
#include "handover/channel.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <volt/net.h>

void channel_open(struct channel *c, int number, int stop) {
  *c = (struct channel){.number = number, .stop = stop, .timeout_ms = -1};
}

void channel_close(struct channel *c) {
  int number;
  if (!channel_is_open(c)) return;
  while ((number = channel_take_number(c)) >= 0) close(number);
  close(c->number);
  c->number = -1;
  c->size = 0;
}

int channel_take_number(struct channel *c) {
  if (c->count == 0) return -1;
  int number = c->numbers[0];
  c->count -= 1;
  memmove(c->numbers, c->numbers + 1, c->count * sizeof c->numbers[0]);
  return number;
}

/* Returns false: the time is up, or waiting has to end. */
static bool channel_wait(const struct channel *c, short events, int timeout_ms) {
  struct pollfd of[2] = {{.fd = c->number, .events = events}, {.fd = c->stop, .events = POLLIN}};
  int n = poll(of, 2, timeout_ms);
  if (n < 0) return errno == EINTR;
  return n > 0 && of[1].revents == 0;
}

/* ---- send ---- */

static bool channel_can_wait(const struct channel *c) {
  return (errno == EAGAIN || errno == EINTR) && channel_wait(c, POLLOUT, c->timeout_ms);
}

static bool channel_send_bytes(struct channel *c, const unsigned char *from, size_t size) {
  while (size > 0) {
    ssize_t n = send(c->number, from, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && !channel_can_wait(c)) return false;
    if (n > 0) {
      from += n;
      size -= (size_t)n;
    }
  }
  return true;
}

bool channel_send(struct channel *c, enum message_kind kind, uint32_t count, const char *name,
                  const char *text) {
  unsigned char bytes[MESSAGE_MAX];
  if (!channel_is_open(c)) return false;
  return channel_send_bytes(c, bytes, handover_message_write(bytes, kind, count, name, text));
}

bool channel_send_number(struct channel *c, enum message_kind kind, uint32_t count,
                         const char *name, const char *text, int number) {
  unsigned char bytes[MESSAGE_MAX];
  volt_rights rights;
  size_t size = handover_message_write(bytes, kind, count, name, text);
  if (volt_rights_put(&rights, bytes, size, &number, 1) != VOLT_OK) return false;
  for (;;) {
    ssize_t n = sendmsg(c->number, &rights.message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0) return channel_send_bytes(c, bytes + n, size - (size_t)n);
    if (!channel_can_wait(c)) return false;
  }
}

/* ---- receive ---- */

/* Read what is there. Returns CHANNEL_MESSAGE: something has come. */
static enum channel_result channel_fill(struct channel *c) {
  volt_rights rights;
  unsigned count = 0;
  volt_rights_expect(&rights, c->bytes + c->size, sizeof c->bytes - c->size);
  ssize_t n = recvmsg(c->number, &rights.message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (n < 0) return errno == EAGAIN || errno == EINTR ? CHANNEL_NOTHING : CHANNEL_ENDED;
  if (n == 0) return CHANNEL_ENDED;
  int result = volt_rights_take(&rights, c->numbers + c->count, CHANNEL_NUMBERS - c->count, &count);
  c->count += count;
  c->size += (size_t)n;
  return result == VOLT_OK ? CHANNEL_MESSAGE : CHANNEL_WRONG;
}

enum channel_result channel_receive(struct channel *c, struct message *m) {
  for (;;) {
    size_t used;
    switch (handover_message_read(m, c->bytes, c->size, &used)) {
      case MESSAGE_DONE:
        c->size -= used;
        memmove(c->bytes, c->bytes + used, c->size);
        return CHANNEL_MESSAGE;
      case MESSAGE_MALFORMED: return CHANNEL_WRONG;
      case MESSAGE_NEEDS_MORE: break;
    }
    enum channel_result result = channel_fill(c);
    if (result != CHANNEL_MESSAGE) return result;
  }
}

static int64_t channel_now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

enum channel_result channel_await(struct channel *c, struct message *m, int timeout_ms) {
  int64_t end_ms = channel_now_ms() + timeout_ms;
  for (;;) {
    enum channel_result result = channel_receive(c, m);
    if (result != CHANNEL_NOTHING) return result;
    int64_t left_ms = end_ms - channel_now_ms();
    if (timeout_ms >= 0 && left_ms <= 0) return CHANNEL_NOTHING;
    if (!channel_wait(c, POLLIN, timeout_ms < 0 ? -1 : (int)left_ms)) return CHANNEL_NOTHING;
  }
}
