/* results.h: the sums found so far, under a volt rwlock; the list of them, and its check.
 *
 * For every file it is asked whether the same file has been summed under another name (a hard link,
 * a bind mount, an argument inside another one): many readers. A result is added once per file: the
 * writer. Paths belong to the table once they are added. */
#ifndef COMMON_SUMS_RESULTS_H
#define COMMON_SUMS_RESULTS_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <volt/volt.h>

#include "common/console.h"
#include "common/sums/hash.h"

struct result {
  char *path;
  dev_t device; /* which file it is, whatever its name */
  ino_t inode;
  off_t size_bytes; /* and in which state */
  struct timespec modified;
  struct sha256_sum sum;
};

struct results {
  volt_rwlock lock; /* around the rest */
  struct result *all;
  size_t count, capacity;
  size_t *index; /* hash table by device and inode: position in `all` plus 1, or 0 */
  size_t index_size;
};

void results_init(struct results *results);

/* Look for a result of the file with this status, unchanged since. Returns true if there is one and
 * fills *sum in. */
bool results_find(struct results *results, const struct stat *status, struct sha256_sum *sum);

/* Add a result. path: from malloc(), belongs to the table then. */
void results_add(struct results *results, char *path, const struct stat *status,
                 const struct sha256_sum *sum);

/* Sort by the bytes of the paths. The lookup by file is gone afterwards. */
void results_sort(struct results *results);

void results_destroy(struct results *results);

/* ---- the list, in the format of sha256sum ---- */

/* Write a line for each result, in their order, and flush. No other thread may add results
 * meanwhile. Returns false if it could not be written, and errno. */
bool listing_write(FILE *stream, const struct results *results);

/* ---- sha256sum checks it ---- */

/* Run sha256sum --check on all results and report what it says. What it prints goes to standard
 * error. Returns its exit code: 0 if every sum is right; 127 if it could not be run; 128 and more
 * if it was killed. To be called when there are no other threads. */
int verify(const struct results *results, struct console *console);

#endif
