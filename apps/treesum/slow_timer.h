/* slow_timer.h: names a slow file of a thread.
 *
 * A volt timer per file, started when the worker begins and cancelled when it is done, which is the
 * usual end. All of it is on the worker's stack, the path that is printed is the worker's, and both
 * are reused at once. That is safe because cancelling says who was first: if the timer was, its
 * waker is running or about to, and the worker waits for it to tell that it is done. */
#ifndef TREESUM_SLOW_TIMER_H
#define TREESUM_SLOW_TIMER_H

#include <volt/volt.h>

#include "slow.h"

/* One file being summed. */
struct slow_timer {
  const struct slow *slow;
  const char *path;
  volt_timers *timers;
  volt_timer timer;
  volt_parker told; /* unparked when the file has been named */
};

/* The file at path is being summed from now on; print its name if that takes too long. path and
 * *s must stay as they are until slow_timer_end(). */
void slow_timer_begin(struct slow_timer *s, const struct slow *slow, volt_timers *timers,
                      const char *path);

/* It is done. Waits if it is just being named. */
void slow_timer_end(struct slow_timer *s);

#endif
