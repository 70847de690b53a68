/* scan.h: the parallel part, and all that its threads share.
 *
 *   calling thread          path_queue            worker threads
 *   walks the tree   --->   (bounded)   --->   open, sum, close   --->   results
 *
 * The walker reads a directory as a whole, so both hold a permit of `open_files` only while they
 * have something open, and never while they wait for anything else: no bound is too small. */
#ifndef TREESUM_SCAN_H
#define TREESUM_SCAN_H

#include <sys/stat.h>

#include "console.h"
#include "open_files.h"
#include "path_queue.h"
#include "results.h"
#include "slow.h"
#include "tally.h"

struct scan {
  struct path_queue queue;
  struct open_files open_files;
  struct results results;
  struct tally tally;
  struct slow slow;
  struct console *console;
  struct stat list; /* the file that the list goes to, which is left out; or all zero */
};

/* open_files: at most so many at once. slow: copied. console: stays the caller's. */
void scan_init(struct scan *scan, unsigned open_files, const struct slow *slow,
               struct console *console);

/* Sum all regular files in and below roots (ends with NULL) with so many worker threads. Returns
 * when all is done, or when scan_stop() was called and everybody has left. Errors are printed. */
void scan_run(struct scan *scan, char *const *roots, unsigned threads);

/* Make scan_run() return soon: everybody who waits leaves, who reads stops. Any thread, any number
 * of times; not from a signal handler. */
void scan_stop(struct scan *scan);

void scan_destroy(struct scan *scan);

#endif
