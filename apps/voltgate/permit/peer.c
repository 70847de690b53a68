/* peer.c: whose process a client is: what it was when it connected. */
#define _GNU_SOURCE /* struct ucred */
#include "permit/peer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

bool peer_read(const volt_fd *fd, struct peer_of *to) {
  struct ucred peer;
  socklen_t size = sizeof peer;
  if (getsockopt(volt_fd_number(fd), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
  *to = (struct peer_of){(uint32_t)peer.pid, (uint32_t)peer.uid, (uint32_t)peer.gid};
  return true;
}

/* ---- its cgroup ----
 *
 * A pid is only a number: when a process has ended, another may have it. So where the kernel gives a descriptor of the
 * process that has connected (SO_PEERPIDFD, Linux 6.5), the process has to live still when the file has been read: then
 * the number was its own all the time. */

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

bool peer_find_cgroup(const char *text, char *to) {
  const char *line = text;
  while (line && strncmp(line, "0::/", 4) != 0) {
    line = strchr(line, '\n');
    if (line) line++;
  }
  if (!line) return false;
  line += strlen("0::");
  size_t size = strcspn(line, "\n");
  if (size >= PEER_CGROUP) return false;
  memcpy(to, line, size);
  to[size] = '\0';
  return true;
}

/* Returns false: it cannot be read, or is too long. */
static bool peer_read_file(const char *path, char *to, size_t room) {
  int number = open(path, O_RDONLY | O_CLOEXEC);
  if (number < 0) return false;
  size_t size = 0;
  ssize_t n = 1;
  while (n > 0 && size < room) {
    n = read(number, to + size, room - size);
    if (n > 0) size += (size_t)n;
  }
  close(number);
  if (n < 0 || size == room) return false;
  to[size] = '\0';
  return true;
}

/* number: of a descriptor of the process; -1: the kernel has none. */
static bool peer_lives(int number) {
  struct pollfd of = {.fd = number, .events = POLLIN};
  return number < 0 || poll(&of, 1, 0) == 0; /* it is ready when the process has ended */
}

bool peer_read_cgroup(const volt_fd *fd, const struct peer_of *peer, char *to) {
  char path[sizeof "/proc/4294967295/cgroup"], text[4096];
  int number = -1;
  socklen_t size = sizeof number;
  if (getsockopt(volt_fd_number(fd), SOL_SOCKET, SO_PEERPIDFD, &number, &size) != 0) {
    if (errno != ENOPROTOOPT) return false; /* it has ended */
    number = -1;
  }
  snprintf(path, sizeof path, "/proc/%" PRIu32 "/cgroup", peer->pid);
  bool is_known = peer_read_file(path, text, sizeof text) && peer_lives(number);
  if (number >= 0) close(number);
  return is_known && peer_find_cgroup(text, to);
}

/* ---- its user ---- */

static bool peer_has(const struct user_set *users, bool is_group, uint32_t id) {
  for (uint32_t i = 0; i < users->count; i++) {
    if (users->of[i].is_group == is_group && users->of[i].id == id) return true;
  }
  return false;
}

/* The groups that its user is in beside its own. Returns NULL: none, or no memory. */
static gid_t *peer_groups(const volt_fd *fd, size_t *count) {
  socklen_t size = 0;
  *count = 0;
  int failed = getsockopt(volt_fd_number(fd), SOL_SOCKET, SO_PEERGROUPS, NULL, &size);
  if (failed == 0 || errno != ERANGE || size == 0) return NULL;
  gid_t *groups = (gid_t *)malloc(size);
  if (!groups) return NULL;
  if (getsockopt(volt_fd_number(fd), SOL_SOCKET, SO_PEERGROUPS, groups, &size) == 0) {
    *count = size / sizeof *groups;
  }
  return groups;
}

bool peer_is_allowed(const volt_fd *fd, const struct peer_of *peer, const struct user_set *users) {
  size_t count;
  if (users->count == 0) return true;
  if (!peer) return false;
  if (peer_has(users, false, peer->uid) || peer_has(users, true, peer->gid)) return true;
  gid_t *groups = peer_groups(fd, &count);
  bool is_allowed = false;
  for (size_t i = 0; i < count && !is_allowed; i++) is_allowed = peer_has(users, true, groups[i]);
  free(groups);
  return is_allowed;
}
