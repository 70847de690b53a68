/* open_files.h: the bound on open files, and the proof that it holds.
 *
 * A volt semaphore with a permit for each file that may be open. A thread or task that opens a file
 * or directory of the tree enters before open() and leaves after close(), so what is counted in
 * between is never less than what is open. Entering waits, first come first served, and how long is
 * recorded.
 *
 * Closing it is how threads are stopped: a thread that waits to enter, or comes later, is turned
 * away; a thread that is inside asks open_files_closed() now and then. */
#ifndef TREESUM_OPEN_FILES_H
#define TREESUM_OPEN_FILES_H

#include <stdint.h>
#include <volt/async.h>
#include <volt/volt.h>

/* ---- how long waits took, in constant memory ----
 *
 * A histogram with eight buckets for each power of two: a percentile is at most an eighth too high,
 * and no number of waits makes it grow. Threads: one at a time; the owner locks. */

#define WAIT_TIMES_BUCKETS (62 * 8)

/* All-zero: no wait yet. */
struct wait_times {
  uint64_t count;
  uint64_t total_ns;
  uint64_t max_ns;
  uint64_t buckets[WAIT_TIMES_BUCKETS];
};

/* The time that `percent` of the waits did not exceed; 0 if there was none. percent: 1..100. */
uint64_t wait_times_percentile_ns(const struct wait_times *times, unsigned percent);

/* ---- the bound ---- */

/* What was measured. */
struct open_files_use {
  uint32_t most;           /* open at once, at most */
  uint64_t entered;        /* opened in all */
  struct wait_times waits; /* of the entries that found no permit */
};

struct open_files {
  volt_sem permits;
  uint32_t bound;
  volt_mutex lock; /* around the rest */
  uint32_t open;
  struct open_files_use use;
};

/* One that enters. Members are private. All-zero: one that has not. */
struct open_files_entry {
  volt_async async;
  volt_future permit;
  struct open_files *files;
  uint64_t start_ns; /* of the wait, if it waited */
  uint64_t end_ns;
  bool has_permit;
  bool counted; /* the wait, and the file */
};

/* bound: 1..VOLT_SEM_MAX files. */
void open_files_init(struct open_files *files, uint32_t bound);

/* Wait until one more file may be open. Returns VOLT_OK (leave when it is closed again) or
 * VOLT_ECLOSED. */
int open_files_enter(struct open_files *files);

/* The file that was entered for is closed, or could not be opened. */
void open_files_leave(struct open_files *files);

/* The same for a task. First a future of the permit: VOLT_OK, or VOLT_ECANCELED; e: stays where
 * it is until it is left. Then it is entered before open(), and left whether it was entered, or
 * only awaited, or neither; these two wait for the lock: not on a worker. */
volt_future *open_files_permit(struct open_files_entry *e, struct open_files *files);
void open_files_enter_with(struct open_files_entry *e);
void open_files_leave_with(struct open_files_entry *e);

/* Turn every entry away from now on. Any thread, any number of times. */
void open_files_close(struct open_files *files);
bool open_files_closed(struct open_files *files);

/* What has been measured so far. */
struct open_files_use open_files_measured(struct open_files *files);

/* No thread or task is inside or waiting any more. */
void open_files_destroy(struct open_files *files);

#endif
