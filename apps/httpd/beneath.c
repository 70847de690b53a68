/* beneath.c: open what is below a directory, and nothing else. */
#define _GNU_SOURCE
#include "beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef RESOLVE_CACHED /* Linux 5.12 */
#define RESOLVE_CACHED 0x20
#endif

int beneath_walk(int root, const char *path, int flags) {
  int directory = root;
  for (;;) {
    char name[NAME_MAX + 1];
    size_t size = strcspn(path, "/");
    bool is_last = path[size] == '\0';
    int found = -ENAMETOOLONG;
    if (size <= NAME_MAX) {
      memcpy(name, path, size);
      name[size] = '\0';
      int how = is_last ? flags : O_PATH | O_DIRECTORY;
      found = openat(directory, name, how | O_NOFOLLOW | O_CLOEXEC);
      if (found < 0) found = -errno;
    }
    if (directory != root) close(directory);
    if (is_last || found < 0) return found;
    directory = found;
    path += size + 1;
  }
}

/* Not there, or, EPERM, refused by a filter that does not know it. A path that is not allowed to be
 * opened is EACCES. */
static bool is_refused(int error) {
  return error == ENOSYS || error == EPERM;
}

int beneath_open(int root, const char *path, int flags, enum beneath_how how) {
  static atomic_bool walks;
  static atomic_bool waits; /* RESOLVE_CACHED is not known */
  if (!atomic_load_explicit(&walks, memory_order_relaxed)) {
    if (how == BENEATH_NOW && atomic_load_explicit(&waits, memory_order_relaxed)) return -EAGAIN;
    struct open_how open_how = {.flags = (unsigned)flags | O_CLOEXEC,
                                .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS |
                                           (how == BENEATH_NOW ? (unsigned)RESOLVE_CACHED : 0u)};
    long found = syscall(SYS_openat2, root, path, &open_how, sizeof open_how);
    int error = errno;
    if (found >= 0) return (int)found;
    if (error == EINVAL && how == BENEATH_NOW) {
      atomic_store_explicit(&waits, true, memory_order_relaxed);
      return -EAGAIN;
    }
    if (error == EAGAIN && how == BENEATH_WAIT)
      error = ENOENT; /* it was renamed, again and again */
    if (!is_refused(error)) return -error;
    atomic_store_explicit(&walks, true, memory_order_relaxed);
  }
  return how == BENEATH_NOW ? -EAGAIN : beneath_walk(root, path, flags);
}
