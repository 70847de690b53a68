/* beneath.h: open what is below a directory, and nothing else. */
#ifndef HTTPD_BENEATH_H
#define HTTPD_BENEATH_H

#include <stdbool.h>

enum beneath_how {
  BENEATH_NOW, /* only if no disk has to be waited for; else EAGAIN */
  BENEATH_WAIT
};

/* Open a path below the directory `root`, as open() does. Symbolic links are followed as long as
 * they stay below it: openat2() with RESOLVE_BENEATH (Linux 5.6). On a system that has no such
 * call, or refuses it, none is followed, and BENEATH_NOW always says EAGAIN.
 * path: relative, without "..". Returns a descriptor, or a negative errno. errno is anything. */
int beneath_open(int root, const char *path, int flags, enum beneath_how how);

/* The way without openat2(): name by name. */
int beneath_walk(int root, const char *path, int flags);

#endif
