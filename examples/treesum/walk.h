/* walk.h: the walker: finds the regular files of a tree and queues them for the workers. */
#ifndef TREESUM_WALK_H
#define TREESUM_WALK_H

#include "scan.h"

/* Queue every regular file in and below each of roots (ends with NULL), like find -type f: symbolic
 * links are not followed, so there are no loops. Waits while the queue is full. What cannot be
 * read, and special files, are complained about. Returns early if the scan is stopped. */
void walk(struct scan *scan, char *const *roots);

#endif
