/* roots.c: which root a path begins with, where that is, and open() through no symbolic link.
 *
 * openat2() refuses every symbolic link on the way. (RESOLVE_NO_SYMLINKS: with names that were read
 * in directories nothing but a link leads out of a tree, so RESOLVE_BENEATH would add nothing, and
 * it would refuse a root such as ../tree.) Linux before 5.6 has none (ENOSYS), a sandbox may forbid
 * it (EPERM), and no call takes a path of PATH_MAX bytes, although trees may be deeper: then each
 * part of the path is opened relative to the one before, and is refused if it is a link. */
#define _GNU_SOURCE
#include "common/sums/roots.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/program.h"

/* ---- open() for paths of any length, through no symbolic link ---- */

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
  size_t slashes = strspn(path, "/");
  if (slashes > 1) path += slashes - 1; /* one stays: the first part is "/name" */
  for (;;) {
    size_t root = *path == '/';
    char *rest = path + root + strcspn(path + root, "/");
    bool is_last = rest[strspn(rest, "/")] == '\0';
    if (*rest != '\0') *rest++ = '\0';
    int how = is_last ? flags : O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    if (!step_into(&at, *path != '\0' ? path : ".", how) || is_last) return at;
    path = rest + strspn(rest, "/");
  }
}

static int open_path(const char *path, int flags) {
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

/* ---- the roots ---- */

static bool is_link(const char *path) {
  struct stat status;
  return lstat(path, &status) == 0 && S_ISLNK(status.st_mode);
}

/* Whether a directory on the way is a symbolic link. path: is changed, and then as it was. */
static bool leads_through_link(char *path) {
  for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    bool found = is_link(path);
    *slash = '/';
    if (found) return true;
  }
  return false;
}

/* A name without symbolic links on its way. What it ends in is no directory to go through, so it
 * stays, unless a slash or a dot says that it is one. */
static char *real_name(const char *name) {
  char *copy = must_copy(name);
  if (*name == '\0' || !leads_through_link(copy)) return copy;
  char *slash = strrchr(copy, '/');
  const char *last = slash + 1;
  bool whole = *last == '\0' || strcmp(last, ".") == 0 || strcmp(last, "..") == 0;
  if (!whole) *slash = '\0';
  char *directory = realpath(slash == copy ? "/" : copy, NULL);
  char *real = NULL;
  if (directory != NULL) real = whole ? must_copy(directory) : must_join(directory, last);
  free(directory);
  free(copy);
  return real != NULL ? real : must_copy(name); /* opening it says what is wrong */
}

void roots_init(struct roots *roots, char *const *names) {
  *roots = (struct roots){NULL, 0};
  size_t room = 0;
  for (; *names != NULL; names++) {
    roots->all = must_make_room(roots->all, roots->count, &room, sizeof *roots->all);
    roots->all[roots->count++] = (struct root){*names, real_name(*names)};
  }
}

void roots_destroy(struct roots *roots) {
  for (size_t i = 0; i < roots->count; i++) free(roots->all[i].real);
  free(roots->all);
}

/* The bytes of path that name the root, or 0. */
static size_t begins_with(const char *path, const char *root) {
  size_t bytes = strlen(root);
  if (bytes == 0 || strncmp(path, root, bytes) != 0) return 0;
  return path[bytes] == '\0' || path[bytes] == '/' || root[bytes - 1] == '/' ? bytes : 0;
}

int roots_open(const struct roots *roots, const char *path, int flags) {
  const struct root *root = NULL;
  size_t longest = 0;
  for (size_t i = 0; i < roots->count; i++) {
    size_t bytes = begins_with(path, roots->all[i].name);
    if (bytes <= longest) continue;
    longest = bytes;
    root = &roots->all[i];
  }
  if (root == NULL || strcmp(root->real, root->name) == 0) return open_path(path, flags);
  const char *rest = path + longest;
  while (*rest == '/') rest++;
  char *real = *rest != '\0' ? must_join(root->real, rest) : must_copy(root->real);
  int fd = open_path(real, flags);
  int error = errno;
  free(real);
  errno = error;
  return fd;
}
