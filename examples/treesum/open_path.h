/* open_path.h: open() for paths of any length. */
#ifndef TREESUM_OPEN_PATH_H
#define TREESUM_OPEN_PATH_H

/* As open(), without its limit of PATH_MAX bytes: a path above it is walked in parts, which takes
 * up to two more descriptors until it returns. flags: without O_CREAT. Returns the descriptor, or
 * -1 and errno. Threads: any. */
int open_path(const char *path, int flags);

#endif
