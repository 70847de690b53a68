/* walk.h: the walker of the thread form: queues the files of a tree for the workers. */
#ifndef TREESUM_WALK_H
#define TREESUM_WALK_H

#include "scan.h"

/* Queue every regular file in and below each of roots (ends with NULL). Waits while the queue is
 * full. Returns early if the queue is closed. */
void walk(struct scan *scan, char *const *roots);

#endif
