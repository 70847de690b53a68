/* progress.h: shows how far it is: a bar ten times a second on a terminal, else a line a second.
 *
 * A timer that starts itself again whenever it has expired. It therefore belongs to the thread that
 * drives the timers until that has ended, and can be cancelled only then. */
#ifndef TREESUM_PROGRESS_H
#define TREESUM_PROGRESS_H

#include <volt/volt.h>

#include "console.h"
#include "tally.h"

struct progress {
  struct console *console;
  struct tally *tally;
  uint64_t start_ns;
  volt_timers *timers;
  volt_timer next; /* when to show it again */
};

/* Start showing what is counted in *tally, on the thread that drives the timers. */
void progress_start(struct progress *progress, volt_timers *timers, struct console *console,
                    struct tally *tally);

/* Erase the bar. The timers are not driven any more. */
void progress_end(struct progress *progress);

#endif
