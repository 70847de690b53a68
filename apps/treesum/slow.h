/* slow.h: names a file that takes long to sum, while it is still being summed.
 *
 * Threads have a timer for each file (slow_timer.h), tasks a task that sleeps (slow_task.h). */
#ifndef TREESUM_SLOW_H
#define TREESUM_SLOW_H

#include "console.h"
#include "tally.h"

/* What counts as slow. Does not change. */
struct slow {
  unsigned after_ms; /* 0: nothing does */
  struct console *console;
  struct tally *tally;
};

/* When a file that is begun now is slow. after_ms is not 0. */
uint64_t slow_deadline_ns(const struct slow *slow);

/* Print that the file at path is, and count it. */
void slow_name(const struct slow *slow, const char *path);

#endif
