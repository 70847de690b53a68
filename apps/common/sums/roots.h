/* roots.h: the trees that were asked for, and opening what is in them.
 *
 * The walk finds a name, and it is opened later: in between, a directory on the way may have become
 * a symbolic link. None is followed below a root, so what is opened is in the tree. Those in the
 * name of a root itself were asked for: they are resolved once, at the beginning. */
#ifndef COMMON_SUMS_ROOTS_H
#define COMMON_SUMS_ROOTS_H

#include <stddef.h>

struct root {
  const char *name; /* as it was given */
  char *real;       /* the same place, named without symbolic links; its last part may be one */
};

struct roots {
  struct root *all;
  size_t count;
};

/* names: ends with NULL, stays the caller's. Waits for the file system, opens nothing. */
void roots_init(struct roots *roots, char *const *names);

/* Open a path that begins with the name of a root and goes on with names that were read in
 * directories. As open(), but for two things. No symbolic link is followed, wherever below the root
 * it is: ELOOP, or ENOTDIR where openat2() is missing or forbidden. And the path may have PATH_MAX
 * bytes and more: then, and without openat2(), it takes one more descriptor until it returns.
 * flags: with O_NOFOLLOW, without O_CREAT. Returns the descriptor, or -1 and errno. Threads: any.
 * */
int roots_open(const struct roots *roots, const char *path, int flags);

void roots_destroy(struct roots *roots);

#endif
