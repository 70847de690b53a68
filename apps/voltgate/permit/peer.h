/* peer.h: whose process a client is. */
#ifndef VOLTGATE_PERMIT_PEER_H
#define VOLTGATE_PERMIT_PEER_H

#include <volt/io.h>

#include "config/settings.h"

struct peer_of {
  uint32_t pid, uid, gid;
};

/* Ask the kernel about the other side of a unix socket. Returns false: it does not know. */
bool peer_read(const volt_fd *fd, struct peer_of *to);

/* Its cgroup (v2) as this process sees it: a path, "/" the root of its namespace. to: PEER_CGROUP bytes. Returns false: it
 * is not known: there is no such process any more, or it has none. */
enum { PEER_CGROUP = 256 };
bool peer_read_cgroup(const volt_fd *fd, const struct peer_of *peer, char *to);

/* The cgroup (v2) of what /proc/PID/cgroup says: ended by a zero. Returns false: there is none, or no room. */
bool peer_find_cgroup(const char *text, char *to);

/* Whether that process belongs to one of these users, or to a user of one of these groups. No user: all
 * do. */
bool peer_is_allowed(const volt_fd *fd, const struct peer_of *peer, const struct user_set *users);

#endif
