/* open_path.c: open() for paths of any length.
 *
 * The system takes paths shorter than PATH_MAX, but trees may be deeper. A longer path is cut at
 * slashes into parts that are short enough, each opened relative to the one before. */
#define _GNU_SOURCE
#include "open_path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "memory.h"

static void close_part(int fd) {
  int error = errno;
  if (fd != AT_FDCWD) close(fd);
  errno = error;
}

/* path: is written to. */
static int open_in_parts(char *path, int flags) {
  int at = AT_FDCWD;
  while (strlen(path) >= PATH_MAX) {
    char *slash = memrchr(path, '/', PATH_MAX - 1);
    if (slash == NULL || slash == path) {
      close_part(at);
      errno = ENAMETOOLONG;
      return -1;
    }
    *slash = '\0';
    int next = openat(at, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    close_part(at);
    if (next < 0) return -1;
    at = next;
    path = slash + 1 + strspn(slash + 1, "/");
  }
  int fd = openat(at, path, flags);
  close_part(at);
  return fd;
}

int open_path(const char *path, int flags) {
  int fd = open(path, flags);
  if (fd >= 0 || errno != ENAMETOOLONG || strlen(path) < PATH_MAX) return fd;
  char *copy = must_copy(path);
  fd = open_in_parts(copy, flags);
  int error = errno;
  free(copy);
  errno = error;
  return fd;
}
