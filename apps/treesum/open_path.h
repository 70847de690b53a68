/* open_path.h: open() for paths of any length, through no symbolic link. */
#ifndef TREESUM_OPEN_PATH_H
#define TREESUM_OPEN_PATH_H

/* As open(), but for two things. No symbolic link is followed, wherever in the path it is: ELOOP, or
 * ENOTDIR where openat2() is missing or forbidden. And the path may have PATH_MAX bytes and more:
 * then, and without openat2(), it takes one more descriptor until it returns. flags: with O_NOFOLLOW,
 * without O_CREAT. Returns the descriptor, or -1 and errno. Threads: any. */
int open_path(const char *path, int flags);

#endif
