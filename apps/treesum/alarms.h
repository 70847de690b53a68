/* alarms.h: volt timers, the thread that drives them, and what the thread form uses them for.
 *
 * A volt_timers says when the next timer is due and expires it when a thread asks for it, but it has no thread
 * and does not wait. Here is one that does: it sleeps until then, with a semaphore that is released
 * whenever an earlier timer has been started. So all wakers of these timers are called on it, one
 * after the other. */
#ifndef TREESUM_ALARMS_H
#define TREESUM_ALARMS_H

#include <pthread.h>
#include <volt/volt.h>

#include "common/sums/progress.h"

struct alarms {
  volt_timers timers; /* for any thread, with volt_timer_start() and volt_timer_cancel() */
  volt_sem changed;   /* a permit: there is an earlier timer; closed: the thread has to end */
  pthread_t thread;
};

/* Start the thread. */
void alarms_start(struct alarms *alarms);

/* End the thread: no waker is running when this returns, and none will be called. Timers that are
 * still started remain so, and can be cancelled. */
void alarms_stop(struct alarms *alarms);

/* The thread has ended, no timer is started, and the threads that started one are done with it. */
void alarms_destroy(struct alarms *alarms);

/* ---- the progress ----
 *
 * A timer that starts itself again whenever it has expired. It therefore belongs to the thread that
 * drives the timers until that has ended, and can be cancelled only then. */

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

/* ---- slow files ----
 *
 * A timer per file, started when the worker begins and cancelled when it is done, which is the
 * usual end. All of it is on the worker's stack, the path that is printed is the worker's, and both
 * are reused at once. That is safe because cancelling says which was first: if the timer was, its
 * waker is running or about to, and the worker waits for it to say that it is done. */

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
