/* monitor.h: one thread at a time has an object to itself.
 *
 * For primitives without a fast path on their word: every operation takes the lock (fifo.h), works
 * on the object's plain members, claims the waiters it has served, and leaves. Waiters that wait
 * for something that happens once for all of them, a notification, a barrier that opens, a new
 * value, are let go by opening the queue. */
#ifndef VOLT_CORE_MONITOR_H
#define VOLT_CORE_MONITOR_H

#include <volt/future.h>

#include "fifo.h"

typedef struct volt_monitor_ {
  volt_fifo_ *queue;
  uint64_t word; /* as it shall be afterwards, but for QUEUED */
  unsigned count;
  volt_claimed_ claimed[VOLT_WAKE_BATCH]; /* to be granted when the turn ends */
} volt_monitor_;

/* Wait for our turn. Whoever is linked now waits for something that has not happened yet: those who
 * were served before, and not told, are told first. */
void volt_monitor_enter_(volt_monitor_ *t, volt_fifo_ *q);

/* The same for who only looks, or makes *w wait: those who were served are left to who serves them.
 * Ends by volt_monitor_unlock_(): no waker is called, whatever the caller is, be it a waker. */
void volt_monitor_look_(volt_monitor_ *t, volt_fifo_ *q);
void volt_monitor_unlock_(volt_monitor_ *t);

/* Make *w wait. Returns VOLT_PENDING. Then end the turn, or leave it. */
int volt_monitor_append_(volt_monitor_ *t, volt_waiter *w, volt_waker waker);

/* The oldest waiter that nobody has served, or NULL. */
volt_waiter *volt_monitor_oldest_(const volt_monitor_ *t);

/* *w, which is linked, is served: it is told when the turn ends. Returns whether the turn can serve
 * another one. */
bool volt_monitor_release_(volt_monitor_ *t, volt_waiter *w);

/* Everybody who is linked now is served, however many they are. */
void volt_monitor_release_all_(volt_monitor_ *t);

/* The same, where the word has no value of its own: that is how often it was opened, so that whoever
 * waits finds it out by one load. */
void volt_monitor_release_all_counted_(volt_monitor_ *t);

/* The same, and they and all who are served later complete with VOLT_ECLOSED. */
void volt_monitor_close_(volt_monitor_ *t);

static inline bool volt_monitor_is_closed_(const volt_monitor_ *t) {
  return (t->word & VOLT_WORD_CLOSED_) != 0;
}

/* Let others have their turn; then tell those served, and wake them. Unless there are more of them
 * than a batch, the last access to the queue comes before anyone is told. */
void volt_monitor_exit_(volt_monitor_ *t);

/* As the public x_cancel(); if *w is served and not told yet, it is told, and no other. */
bool volt_monitor_cancel_(volt_fifo_ *q, const char *name, volt_waiter *w);

/* *w, which its owner has not seen complete, may have been served: if so, it is told now, and no
 * other. Returns whether it has completed. */
bool volt_monitor_complete_(volt_fifo_ *q, const char *name, volt_waiter *w);

/* The same, with one load if the queue, which counts, has not been opened since *w was queued. */
bool volt_monitor_complete_counted_(volt_fifo_ *q, const char *name, volt_waiter *w);

/* As the public x_destroy(). */
void volt_monitor_destroy_(volt_fifo_ *q, const char *name);

/* For volt_future_ops_ with a name, whose object is the queue, and whose waiter the future's. */
bool volt_monitor_future_cancel_(volt_future *f);
bool volt_monitor_future_set_waker_(volt_future *f, volt_waker waker);
bool volt_monitor_future_complete_(volt_future *f);
bool volt_monitor_future_complete_counted_(volt_future *f);

#endif
