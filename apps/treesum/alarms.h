/* alarms.h: volt timers, and the thread that drives them.
 *
 * A volt_timers says when the next timer is due and expires it when told to, but it has no thread
 * and does not wait. Here is one that does: it sleeps until then, with a semaphore that is released
 * whenever an earlier timer has been started. So all wakers of these timers are called on it, one
 * after the other. */
#ifndef TREESUM_ALARMS_H
#define TREESUM_ALARMS_H

#include <pthread.h>
#include <volt/volt.h>

struct alarms {
  volt_timers timers; /* for everybody, with volt_timer_start() and volt_timer_cancel() */
  volt_sem changed;   /* a permit: there is an earlier timer; closed: the thread has to end */
  pthread_t thread;
};

/* Start the thread. */
void alarms_start(struct alarms *alarms);

/* End the thread: no waker is running when this returns, and none will be called. Timers that are
 * still started remain so, and can be cancelled. */
void alarms_stop(struct alarms *alarms);

/* The thread has ended, no timer is started, and whoever started one is done with it. */
void alarms_destroy(struct alarms *alarms);

#endif
