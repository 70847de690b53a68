/* monitor.h: the engine for primitives that do their work under the lock. (A latch and a notify
 * have a path without the lock, too. It tests LOCKED as well.) monitor.c says how it works.
 *
 * An operation enters the monitor: it takes the lock of the FIFO (fifo.h). It works on the object's
 * plain members, and may release waiters: one, or all. It exits: it unlocks, completes the released
 * waiters, and calls their wakers.
 *
 *   volt_monitor_ m;
 *   volt_monitor_enter_(&m, &object->queue);
 *   object->value = value;
 *   volt_monitor_release_all_(&m);
 *   volt_monitor_exit_(&m); */
#ifndef VOLT_CORE_MONITOR_H
#define VOLT_CORE_MONITOR_H

#include <volt/future.h>

#include "fifo.h"

typedef struct volt_monitor_ {
  volt_fifo_ *queue;
  uint64_t word; /* what *queue's word becomes at unlock, except for QUEUED */
  unsigned count;
  volt_claimed_ claimed[VOLT_WAKE_BATCH]; /* to be completed at exit */
} volt_monitor_;

/* Enter the monitor. Waiters that were released before are completed first, which calls wakers: so
 * every waiter that is linked now waits for something that has not happened yet. */
void volt_monitor_enter_(volt_monitor_ *m, volt_fifo_ *q);

/* Enter the monitor to look, or to append a waiter, and exit it by volt_monitor_unlock_().
 * Released waiters stay linked. Calls no waker, so it is safe inside a waker. */
void volt_monitor_look_(volt_monitor_ *m, volt_fifo_ *q);

/* Exit the monitor after volt_monitor_look_(). Calls no waker. */
void volt_monitor_unlock_(volt_monitor_ *m);

/* Append *w. Returns VOLT_PENDING. */
int volt_monitor_append_(volt_monitor_ *m, volt_waiter *w, volt_waker waker);

/* The oldest waiter; NULL if there is none, or if it is released. */
volt_waiter *volt_monitor_oldest_(const volt_monitor_ *m);

/* Release *w, which is linked: it is completed at exit. Returns whether one more waiter fits into
 * the batch; if not, exit first. */
bool volt_monitor_release_(volt_monitor_ *m, volt_waiter *w);

/* Release all waiters that are linked now, any number of them. */
void volt_monitor_release_all_(volt_monitor_ *m);

/* The same, and count it in the word's value, which is then the epoch. A poll sees by one load
 * whether its waiter may be released (volt_monitor_complete_counted_()). */
void volt_monitor_release_all_counted_(volt_monitor_ *m);

/* The same, and set CLOSED: these waiters, and all that are released later, complete with
 * VOLT_ECLOSED. */
void volt_monitor_close_(volt_monitor_ *m);

static inline bool volt_monitor_is_closed_(const volt_monitor_ *m) {
  return (m->word & VOLT_WORD_CLOSED_) != 0;
}

/* Exit the monitor: unlock, complete the released waiters, call their wakers; again for
 * each further batch. If one batch is enough, the last access to *queue comes before the first
 * waiter is completed. */
void volt_monitor_exit_(volt_monitor_ *m);

/* As the public volt_<primitive>_cancel(). If *w is released, it is completed, and only its waker
 * is called (R3). */
bool volt_monitor_cancel_(volt_fifo_ *q, const char *name, volt_waiter *w);

/* R6: complete *w if it is released; only its waker is called. Returns whether *w has completed.
 * Called by the owner of *w, which has not seen it complete. */
bool volt_monitor_complete_(volt_fifo_ *q, const char *name, volt_waiter *w);

/* The same, for a queue whose value is its epoch. One load if *w is not released. */
bool volt_monitor_complete_counted_(volt_fifo_ *q, const char *name, volt_waiter *w);

/* As the public x_destroy(). */
void volt_monitor_destroy_(volt_fifo_ *q, const char *name);

/* For a volt_future_ops_ that has a name. The future's object is the queue. */
bool volt_monitor_future_cancel_(volt_future *f);
bool volt_monitor_future_set_waker_(volt_future *f, volt_waker waker);
bool volt_monitor_future_complete_(volt_future *f);
bool volt_monitor_future_complete_counted_(volt_future *f);

#endif
