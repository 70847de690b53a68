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
#ifndef VOLT_CORE_WAIT_MONITOR_H
#define VOLT_CORE_WAIT_MONITOR_H

#include <volt/future.h>

#include "../inspect/describe.h"
#include "../os/check.h"
#include "fifo.h"

typedef struct volt_monitor_ {
  volt_fifo_ *queue;
  uint64_t word;         /* what *queue's word becomes at unlock, except for QUEUED */
  volt_waiter *released; /* alone, to be completed at exit; or NULL */
  volt_kind_ kind;       /* of the object: as that its waiters are counted */
} volt_monitor_;

/* ---- epochs ---- */

/* How often all waiters of *q have been released. */
static inline uint32_t volt_monitor_epoch_(const volt_fifo_ *q) {
  return q->rest;
}

/* The epoch in which *w was queued. */
static inline uint32_t volt_monitor_epoch_of_(const volt_waiter *w) {
  return w->want;
}

static inline bool volt_monitor_is_released_(const volt_fifo_ *q, const volt_waiter *w) {
  return volt_monitor_epoch_of_(w) != volt_monitor_epoch_(q);
}

/* Whether there are released waiters: they are at the front (I2). */
static inline bool volt_monitor_first_is_released_(const volt_fifo_ *q) {
  return q->head && volt_monitor_is_released_(q, q->head);
}

/* ---- enter, and exit ---- */

/* The next three are called with the lock held. word: what the word was. This one: while the first
 * waiter is released, complete the released ones, a batch at a time, and take the lock again.
 * Returns the word. */
uint64_t volt_monitor_complete_first_(volt_fifo_ *q, volt_kind_ kind, uint64_t word);
/* Unlock, and complete the released waiters, one at least; again for each further batch. */
void volt_monitor_complete_all_(volt_fifo_ *q, volt_kind_ kind, uint64_t word);
/* Unlock, and complete *w, which is linked. */
void volt_monitor_complete_one_(volt_fifo_ *q, volt_kind_ kind, uint64_t word, volt_waiter *w);

/* Lock the monitor, to read or to append a waiter, and exit it by volt_monitor_unlock_().
 * kind: of the object. Released waiters stay linked. Calls no waker, so it is safe inside a waker. */
static inline void volt_monitor_lock_(volt_monitor_ *m, volt_fifo_ *q, volt_kind_ kind) {
  volt_fifo_lock_(q, &m->word);
  m->queue = q;
  m->released = NULL;
  m->kind = kind;
}

/* Exit the monitor after volt_monitor_lock_(). Calls no waker. */
static inline void volt_monitor_unlock_(volt_monitor_ *m) {
  volt_fifo_unlock_(m->queue, m->word); /* I2: released waiters have a thread that completes them */
}

/* Enter the monitor. Waiters that were released before are completed first, which calls wakers: so
 * every waiter that is linked now waits for something that has not happened yet. */
static inline void volt_monitor_enter_(volt_monitor_ *m, volt_fifo_ *q, volt_kind_ kind) {
  volt_monitor_lock_(m, q, kind);
  if (volt_monitor_first_is_released_(q)) m->word = volt_monitor_complete_first_(q, kind, m->word);
}

/* Exit the monitor: unlock, complete the released waiters, call their wakers; again for
 * each further batch. If one batch is enough, the last access to *queue comes before the first
 * waiter is completed. */
static inline void volt_monitor_exit_(volt_monitor_ *m) {
  if (m->released) {
    volt_monitor_complete_one_(m->queue, m->kind, m->word, m->released);
  } else if (volt_monitor_first_is_released_(m->queue)) {
    volt_monitor_complete_all_(m->queue, m->kind, m->word);
  } else {
    volt_monitor_unlock_(m);
  }
}

/* ---- inside the monitor ---- */

/* Append *w. Returns VOLT_PENDING. */
static inline int volt_monitor_append_(volt_monitor_ *m, volt_waiter *w, volt_waker waker) {
  volt_fifo_append_(m->queue, w, volt_monitor_epoch_(m->queue), 1, waker);
  volt_count_wait_(m->kind);
  return VOLT_PENDING;
}

/* The oldest waiter; NULL if there is none, or if it is released. */
static inline volt_waiter *volt_monitor_oldest_(const volt_monitor_ *m) {
  return volt_monitor_first_is_released_(m->queue) ? NULL : (volt_waiter *)m->queue->head;
}

/* Release *w, which is linked: it is completed at exit. An operation releases one waiter so, or
 * all. */
static inline void volt_monitor_release_(volt_monitor_ *m, volt_waiter *w) {
  VOLT_ASSERT(!m->released);
  m->released = w;
}

/* Release all waiters that are linked now, any number of them. */
static inline void volt_monitor_release_all_(volt_monitor_ *m) {
  VOLT_ASSERT(!m->released);
  m->queue->rest += 1;
}

/* The epoch becomes `epoch`. If that is another, all waiters that are linked now are released. */
static inline void volt_monitor_set_epoch_(volt_monitor_ *m, uint32_t epoch) {
  VOLT_ASSERT(!m->released);
  m->queue->rest = epoch;
}

/* Release all, and count it in the word's value, which is then the epoch. A poll sees by one load
 * whether its waiter may be released (volt_monitor_complete_counted_()). */
static inline void volt_monitor_release_all_counted_(volt_monitor_ *m) {
  volt_monitor_release_all_(m);
  m->word += VOLT_WORD_ONE_;
}

/* The same, and set CLOSED: these waiters, and all that are released later, complete with
 * VOLT_ECLOSED. */
static inline void volt_monitor_close_(volt_monitor_ *m) {
  VOLT_PROBE1(close, m->queue);
  volt_monitor_release_all_counted_(m);
  m->word |= VOLT_WORD_CLOSED_;
}

static inline bool volt_monitor_is_closed_(const volt_monitor_ *m) {
  return (m->word & VOLT_WORD_CLOSED_) != 0;
}

/* ---- for a waiter's owner, without the lock ---- */

/* As the public volt_<primitive>_cancel(). If *w is released, it is completed, and only its waker
 * is called (R3). */
bool volt_monitor_cancel_(volt_fifo_ *q, volt_kind_ kind, volt_waiter *w);

/* R6: complete *w if it is released; only its waker is called. Returns whether *w has completed.
 * Called by the owner of *w, which has not seen it complete. */
bool volt_monitor_complete_(volt_fifo_ *q, volt_kind_ kind, volt_waiter *w);

/* The same, for a queue whose value is its epoch. One load if *w is not released. */
bool volt_monitor_complete_counted_(volt_fifo_ *q, volt_kind_ kind, volt_waiter *w);

/* The slow path of volt_monitor_destroy_(): wait while a thread is counted in RETURNING (R2).
 * Aborts if a waiter is queued. */
void volt_monitor_destroy_slow_(volt_fifo_ *q, volt_kind_ kind);

/* As the public x_destroy(). */
static inline void volt_monitor_destroy_(volt_fifo_ *q, volt_kind_ kind) {
  /* monitor:D1 <- fifo:U1: the object ends after the last access of each operation */
  uint64_t word = volt_load_acquire(&q->word);
  if (word & (VOLT_WORD_QUEUED_ | VOLT_WORD_ALL_RETURNING_)) volt_monitor_destroy_slow_(q, kind);
}

/* For a volt_future_ops_. The future's object is the queue. */
bool volt_monitor_future_cancel_(volt_future *f);
bool volt_monitor_future_set_waker_(volt_future *f, volt_waker waker);
bool volt_monitor_future_complete_(volt_future *f);
bool volt_monitor_future_complete_counted_(volt_future *f);
void volt_monitor_future_describe_(volt_future *f, volt_description_ *description);

#endif
