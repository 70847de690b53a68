/* scan.h: what the parallel part works on, in either of its forms.
 *
 *   thread_form.h: the walker is a thread, and workers are     task_form.h: each file is a task
 *
 *     walker   --->   a queue      --->   workers                walker   --->   a task per file
 *     walks the tree  (bounded)     open, sum, close             walks the tree   open, sum, close
 *
 * The walker reads a directory as a whole, so both hold a permit of `open_files` only while they
 * have something open, and never while they wait for each other: no bound is too small. */
#ifndef TREESUM_SCAN_H
#define TREESUM_SCAN_H

#include <sys/stat.h>

#include "common/console.h"
#include "common/sums/hash.h"
#include "common/sums/progress.h"
#include "common/sums/results.h"
#include "common/sums/roots.h"
#include "open_files.h"

struct scan {
  struct roots roots;
  struct open_files open_files;
  struct results results;
  struct tally tally;
  struct slow slow;
  struct console *console;
  struct stat list; /* the file that the list goes to, which is left out; or all zero */
};

/* roots: ends with NULL, stays the caller's. open_files: at most so many at once. slow_after_ms:
 * name files that take longer; 0: do not. console: stays the caller's. */
void scan_init(struct scan *scan, char *const *roots, unsigned open_files, unsigned slow_after_ms,
               struct console *console);

void scan_destroy(struct scan *scan);

/* ---- the sum of one file, in steps: the same for threads and for tasks ----
 *
 *   file_sum_begin(f, scan, path);
 *   do {
 *     file_sum_step(f, hasher);
 *   } while (file_sum_is_open(f));
 *   file_sum_end(f, hasher);
 *
 * A step waits for the file system and for locks: a task has it done where waiting hurts no other.
 * Between two of them the caller may give up by file_sum_close(). */

enum file_sum_state {
  FILE_SUM_UNREAD, /* not opened yet */
  FILE_SUM_READING,
  FILE_SUM_READ,     /* to its end: this gives a sum */
  FILE_SUM_REPEATED, /* it is known under another name: so is the sum */
  FILE_SUM_NONE      /* none, and why was printed, if it was not given up */
};

struct file_sum {
  struct scan *scan;
  enum file_sum_state state;
  char *path;
  int fd; /* FILE_SUM_READING */
  struct stat status;
  struct sha256_sum sum;
};

/* path: from malloc(), belongs to *f then. A permit of the open files is the caller's to have, from
 * the first step until the file is not open any more. */
void file_sum_begin(struct file_sum *f, struct scan *scan, char *path);

/* Open the file if it is not yet, read and hash a part of it. Closes it at its end, or if there
 * will be no sum. hasher: the same for all of them. */
void file_sum_step(struct file_sum *f, struct hasher *hasher);

/* Whether there is more to read. */
bool file_sum_is_open(const struct file_sum *f);

/* Leave it before its end, if it is open. There will be no sum. */
void file_sum_close(struct file_sum *f);

/* It is not open: add the sum, if there is one, to the results and forget the file.
 * hasher: as above; NULL if there was no step, and then this does not wait. */
void file_sum_end(struct file_sum *f, struct hasher *hasher);

#endif
