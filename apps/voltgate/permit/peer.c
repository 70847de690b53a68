/* peer.c: whose process a client is: what it was when it connected. */
#define _GNU_SOURCE /* struct ucred */
#include "permit/peer.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

bool peer_read(const volt_fd *fd, struct peer_of *to) {
  struct ucred peer;
  socklen_t size = sizeof peer;
  if (getsockopt(volt_fd_number(fd), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
  *to = (struct peer_of){(uint32_t)peer.pid, (uint32_t)peer.uid, (uint32_t)peer.gid};
  return true;
}

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
