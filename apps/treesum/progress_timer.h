/* progress_timer.h: shows the progress of the thread form.
 *
 * A timer that starts itself again whenever it has expired. It therefore belongs to the thread that
 * drives the timers until that has ended, and can be cancelled only then. */
#ifndef TREESUM_PROGRESS_TIMER_H
#define TREESUM_PROGRESS_TIMER_H

#include <volt/volt.h>

#include "progress.h"

struct progress_timer {
  const struct progress *progress;
  volt_timers *timers;
  volt_timer next; /* when to show it again */
};

/* Start showing it, on the thread that drives the timers. */
void progress_timer_start(struct progress_timer *p, const struct progress *progress,
                          volt_timers *timers);

/* The timers are not driven any more. */
void progress_timer_stop(struct progress_timer *p);

#endif
