/* file_sum.h: the sum of one file, in steps: the same for threads and for tasks.
 *
 *   file_sum_begin(f, scan, path);
 *   do {
 *     file_sum_step(f, hasher);
 *   } while (file_sum_is_open(f));
 *   file_sum_end(f, hasher);
 *
 * A step waits for the file system and for locks: a task has it done where waiting hurts nobody.
 * Between two of them whoever sums may leave by file_sum_close(). */
#ifndef TREESUM_FILE_SUM_H
#define TREESUM_FILE_SUM_H

#include "hasher.h"
#include "scan.h"

enum file_sum_state {
  FILE_SUM_UNREAD, /* not opened yet */
  FILE_SUM_READING,
  FILE_SUM_READ,     /* to its end: this gives a sum */
  FILE_SUM_REPEATED, /* it is known under another name: so is the sum */
  FILE_SUM_NONE      /* none, and why was printed, if it was not left */
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
