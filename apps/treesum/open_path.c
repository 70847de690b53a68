/* open_path.c: open() for paths of any length, through no symbolic link.
 *
 * openat2() refuses every symbolic link on the way. (RESOLVE_NO_SYMLINKS: with names that were read
 * in directories nothing but a link leads out of a tree, so RESOLVE_BENEATH would add nothing, and it
 * would refuse a root such as ../tree.) Linux before 5.6 has none (ENOSYS), a sandbox may forbid it
 * (EPERM), and no call takes a path of PATH_MAX bytes, although trees may be deeper: then each part
 * of the path is opened relative to the one before, and is refused if it is a link. */
#define _GNU_SOURCE
#include "open_path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "memory.h"

static int open_whole(const char *path, int flags) {
  struct open_how how = {.flags = (unsigned)flags, .resolve = RESOLVE_NO_SYMLINKS};
  return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
}

/* Open a name in the directory *at, and close that. Returns false, and *at is -1, if it fails. */
static bool step_into(int *at, const char *name, int flags) {
  int fd = openat(*at, name, flags);
  int error = errno;
  if (*at != AT_FDCWD) close(*at);
  *at = fd;
  errno = error;
  return fd >= 0;
}

/* path: is written to. */
static int open_in_parts(char *path, int flags) {
  int at = AT_FDCWD;
  if (*path == '/' && !step_into(&at, "/", O_PATH | O_DIRECTORY | O_CLOEXEC)) return -1;
  path += strspn(path, "/");
  for (;;) {
    char *rest = path + strcspn(path, "/");
    bool is_last = rest[strspn(rest, "/")] == '\0';
    if (*rest != '\0') *rest++ = '\0';
    int how = is_last ? flags : O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    if (!step_into(&at, *path != '\0' ? path : ".", how) || is_last) return at;
    path = rest + strspn(rest, "/");
  }
}

int open_path(const char *path, int flags) {
  int fd = open_whole(path, flags);
  if (fd >= 0) return fd;
  bool too_long = errno == ENAMETOOLONG && strlen(path) >= PATH_MAX;
  if (!too_long && errno != ENOSYS && errno != EPERM) return fd;
  char *copy = must_copy(path);
  fd = open_in_parts(copy, flags);
  int error = errno;
  free(copy);
  errno = error;
  return fd;
}
