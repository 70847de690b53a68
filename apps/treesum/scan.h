/* scan.h: what the parallel part works on, in either of its forms.
 *
 *   thread_form.h: the walker is a thread, and workers are     task_form.h: each file is a task
 *
 *     walker   --->   path_queue   --->   workers                walker   --->   a task per file
 *     walks the tree  (bounded)     open, sum, close             walks the tree   open, sum, close
 *
 * The walker reads a directory as a whole, so both hold a permit of `open_files` only while they
 * have something open, and never while they wait for each other: no bound is too small. */
#ifndef TREESUM_SCAN_H
#define TREESUM_SCAN_H

#include <sys/stat.h>

#include "console.h"
#include "open_files.h"
#include "path_queue.h"
#include "results.h"
#include "roots.h"
#include "slow.h"
#include "tally.h"

struct scan {
  struct roots roots;
  struct path_queue queue; /* of the thread form */
  struct open_files open_files;
  struct results results;
  struct tally tally;
  struct slow slow;
  struct console *console;
  struct stat list; /* the file that the list goes to, which is left out; or all zero */
};

/* roots: ends with NULL, stays the caller's. open_files: at most so many at once. slow_after_ms: name files that take longer; 0: do not.
 * console: stays the caller's. */
void scan_init(struct scan *scan, char *const *roots, unsigned open_files, unsigned slow_after_ms,
               struct console *console);

void scan_destroy(struct scan *scan);

#endif
