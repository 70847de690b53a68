/* open_files.h: the bound on open files, and the proof that it holds.
 *
 * A volt semaphore with a permit for each file that may be open. Whoever opens a file or directory
 * of the tree enters before open() and leaves after close(), so what is counted in between is never
 * less than what is open. Entering waits, first come first served, and how long is recorded.
 *
 * Closing it is how threads are stopped: everybody who waits to enter, and everybody who comes
 * later, is turned away; whoever is inside asks open_files_closed() now and then. */
#ifndef TREESUM_OPEN_FILES_H
#define TREESUM_OPEN_FILES_H

#include <volt/async.h>
#include <volt/volt.h>

#include "wait_times.h"

/* What was measured. */
struct open_files_use {
  uint32_t most;           /* open at once, at most */
  uint64_t entered;        /* opened in all */
  struct wait_times waits; /* of those who found no permit */
};

struct open_files {
  volt_sem permits;
  uint32_t bound;
  volt_mutex lock; /* around the rest */
  uint32_t open;
  struct open_files_use use;
};

/* One who enters. Members are private. All-zero: one who has not. */
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

/* Turn everybody away from now on. Any thread, any number of times. */
void open_files_close(struct open_files *files);
bool open_files_closed(struct open_files *files);

/* What has been measured so far. */
struct open_files_use open_files_measured(struct open_files *files);

/* Nobody is inside or waiting any more. */
void open_files_destroy(struct open_files *files);

#endif
