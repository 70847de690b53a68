/* progress.h: shows how far it is: a bar ten times a second on a terminal, else a line a second.
 *
 * A thread that waits, with a deadline, for a semaphore that is released only at the end: the wait
 * is its timer, and the release ends it at once. */
#ifndef TREESUM_PROGRESS_H
#define TREESUM_PROGRESS_H

#include <pthread.h>
#include <volt/volt.h>

#include "console.h"
#include "tally.h"

struct progress {
  struct console *console;
  struct tally *tally;
  uint64_t start_ns;
  volt_sem ended; /* a permit: nothing more to show */
  pthread_t thread;
};

/* Start showing what is counted in *tally. */
void progress_start(struct progress *progress, struct console *console, struct tally *tally);

/* Erase the bar and end the thread. */
void progress_end(struct progress *progress);

#endif
