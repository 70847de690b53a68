/* progress.h: shows how far it is: a bar ten times a second on a terminal, else a line a second.
 *
 * When to show it again is told by a timer (progress_timer.h) or a task (progress_task.h). */
#ifndef TREESUM_PROGRESS_H
#define TREESUM_PROGRESS_H

#include "console.h"
#include "tally.h"

struct progress {
  struct console *console;
  struct tally *tally;
  uint64_t start_ns;
};

/* Begin to show what is counted in *tally. */
void progress_begin(struct progress *progress, struct console *console, struct tally *tally);

/* How often to show it. */
uint64_t progress_interval_ns(const struct progress *progress);

/* Show how far it is now. One thread at a time. */
void progress_show(const struct progress *progress);

/* Erase the bar. */
void progress_end(const struct progress *progress);

#endif
