/* open_files.h: the bound on open files, and the proof that it holds.
 *
 * A volt semaphore with a permit for each file that may be open. Whoever opens a file or directory
 * of the tree enters before open() and leaves after close(), so what is counted in between is never
 * less than what is open. Entering waits, first come first served, and how long is recorded.
 *
 * Closing it is how the program stops: everybody who waits to enter, and everybody who comes later,
 * is turned away; whoever is inside asks open_files_closed() now and then. */
#ifndef TREESUM_OPEN_FILES_H
#define TREESUM_OPEN_FILES_H

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

/* bound: 1..VOLT_SEM_MAX files. */
void open_files_init(struct open_files *files, uint32_t bound);

/* Wait until one more file may be open. Returns VOLT_OK (leave when it is closed again) or
 * VOLT_ECLOSED. */
int open_files_enter(struct open_files *files);

/* The file that was entered for is closed, or could not be opened. */
void open_files_leave(struct open_files *files);

/* Turn everybody away from now on. Any thread, any number of times. */
void open_files_close(struct open_files *files);
bool open_files_closed(struct open_files *files);

/* What has been measured so far. */
struct open_files_use open_files_measured(struct open_files *files);

/* Nobody is inside or waiting any more. */
void open_files_destroy(struct open_files *files);

#endif
