/* monitor.c: one thread at a time has an object to itself.
 *
 * Algorithm: each time the queue is opened it counts one up. A waiter carries the count that it was
 * linked at: if the queue's is another one now, it is served, although it is still linked; such
 * waiters are the oldest. Whoever ends a turn claims them, batch by batch; between the batches it
 * is away, calling wakers. Anyone else who takes a turn meanwhile, for which they must be gone,
 * begins with taking them along: who opens, closes, or looks for the oldest. Who only looks, queues
 * or leaves does not: so wakers that do so are not called one from within another, batch by batch,
 * on a stack that grows with those who wait.
 *
 * Invariants, whenever the lock is free
 *   I1  QUEUED <=> the FIFO is not empty
 *   I2  waiters of an earlier count come first in the FIFO; if there are any, somebody is away who
 *       will come back, and RETURNING counts them
 *
 * Races
 *   R1  More waiters than a batch holds: somebody queues, cancels or opens again while the opener
 *       is away. Closed: the count tells those that were served from those that came later.
 *   R2  The object ends, by the hand of one who was told, while the opener is away. Closed:
 *       RETURNING; destroy waits.
 *   R3  A served waiter is cancelled before it is told. What it waited for has happened, and may
 *       have counted on it. Closed: the one who cancels tells it, and its wake comes.
 *   R4, R5 in fifo.c.
 *   R6  Interleaving: a waiting future is served, and polled before the opener has told it; it is
 *       pending while a new future is ready. Prevented by: the word says that the future may be
 *       served (its value, or RETURNING). Then the poll looks under the lock and tells it as in R3,
 *       or waits as in R4 for the thread that has claimed it. A poll that reads an older word comes
 *       before the opening.
 *
 * Pairs
 *   L1 (acquire) <- U1 (release)   a turn sees what all earlier turns did
 *   D1 (acquire) <- U1 (release)   the object ends after the last turn is done with it */
#include "monitor.h"

#include "check.h"
#include "fifo.h"
#include "future_ops.h"

static uint32_t monitor_epoch(const volt_fifo_ *q) {
  return q->rest;
}

/* When it was queued. */
static uint32_t monitor_epoch_of(const volt_waiter *w) {
  return w->want;
}

static bool monitor_is_released(const volt_fifo_ *q, const volt_waiter *w) {
  return monitor_epoch_of(w) != monitor_epoch(q);
}

static bool monitor_first_is_released(const volt_fifo_ *q) {
  return q->head && monitor_is_released(q, q->head);
}

void volt_monitor_look_(volt_monitor_ *t, volt_fifo_ *q) {
  volt_fifo_lock_(q, &t->word); /* L1: pairs U1 */
  t->queue = q;
  t->count = 0;
}

void volt_monitor_unlock_(volt_monitor_ *t) {
  volt_fifo_unlock_(t->queue, t->word); /* I2: who has served them comes back */
}

void volt_monitor_enter_(volt_monitor_ *t, volt_fifo_ *q) {
  for (;;) {
    volt_monitor_look_(t, q);
    if (!monitor_first_is_released(q)) return;
    volt_monitor_exit_(t); /* R1 */
  }
}

int volt_monitor_append_(volt_monitor_ *t, volt_waiter *w, volt_waker waker) {
  volt_fifo_append_(t->queue, w, monitor_epoch(t->queue), 1, waker);
  return VOLT_PENDING;
}

volt_waiter *volt_monitor_oldest_(const volt_monitor_ *t) {
  return monitor_first_is_released(t->queue) ? NULL : (volt_waiter *)t->queue->head;
}

bool volt_monitor_release_(volt_monitor_ *t, volt_waiter *w) {
  VOLT_ASSERT(t->count < VOLT_WAKE_BATCH);
  t->claimed[t->count++] = volt_fifo_claim_(t->queue, w);
  return t->count < VOLT_WAKE_BATCH;
}

void volt_monitor_release_all_(volt_monitor_ *t) {
  t->queue->rest += 1;
}

void volt_monitor_release_all_counted_(volt_monitor_ *t) {
  volt_monitor_release_all_(t);
  t->word += VOLT_WORD_ONE_;
}

void volt_monitor_close_(volt_monitor_ *t) {
  volt_monitor_release_all_counted_(t);
  t->word |= VOLT_WORD_CLOSED_;
}

/* As what those complete that are told now. */
static uint32_t monitor_state(uint64_t word) {
  return word & VOLT_WORD_CLOSED_ ? VOLT_WAITER_CLOSED_ : VOLT_WAITER_GRANTED_;
}

/* Claim what fits. Returns whether there is more. */
static bool monitor_claim_released(volt_monitor_ *t) {
  while (monitor_first_is_released(t->queue) && t->count < VOLT_WAKE_BATCH) {
    volt_monitor_release_(t, t->queue->head);
  }
  return monitor_first_is_released(t->queue);
}

void volt_monitor_exit_(volt_monitor_ *t) {
  for (bool again = true; again;) {
    again = monitor_claim_released(t);
    volt_fifo_unlock_(t->queue, again ? t->word + VOLT_WORD_RETURNING_ : t->word); /* R2 */
    volt_waiters_grant_(t->claimed, t->count, monitor_state(t->word));
    t->count = 0;
    if (!again) return;
    volt_fifo_lock_(t->queue, &t->word); /* R1 */
    t->word -= VOLT_WORD_RETURNING_;
  }
}

/* The lock is held, and *w is served: leave the lock and tell it alone. */
static void monitor_complete_and_unlock(volt_fifo_ *q, uint64_t word, volt_waiter *w) {
  volt_claimed_ claimed = volt_fifo_claim_(q, w);
  volt_fifo_unlock_(q, word);
  volt_waiters_grant_(&claimed, 1, monitor_state(word));
}

bool volt_monitor_complete_(volt_fifo_ *q, const char *name, volt_waiter *w) {
  uint64_t word;
  if (!volt_fifo_lock_if_linked_(q, name, w, &word)) {
    volt_waiter_await_(w); /* R4, R6 */
    return true;
  }
  bool released = monitor_is_released(q, w);
  if (released) {
    monitor_complete_and_unlock(q, word, w); /* R6 */
  } else {
    volt_fifo_unlock_(q, word);
  }
  return released;
}

bool volt_monitor_complete_counted_(volt_fifo_ *q, const char *name, volt_waiter *w) {
  uint64_t word = volt_load_relaxed(&q->word); /* R6: a hint, which the lock confirms */
  return VOLT_WORD_VALUE_(word) != monitor_epoch_of(w) && volt_monitor_complete_(q, name, w);
}

bool volt_monitor_cancel_(volt_fifo_ *q, const char *name, volt_waiter *w) {
  if (volt_waiter_result(w) != VOLT_PENDING) return volt_waiter_result(w) == VOLT_ECANCELED;
  uint64_t word;
  if (!volt_fifo_lock_if_linked_(q, name, w, &word)) {
    volt_waiter_await_(w); /* R4 */
    return false;
  }
  bool released = monitor_is_released(q, w);
  if (released) {
    monitor_complete_and_unlock(q, word, w); /* R3 */
  } else {
    volt_fifo_remove_(q, w);
    volt_store_relaxed(&w->state, VOLT_WAITER_UNUSED_); /* unlinked: the owner's own again */
    volt_fifo_unlock_(q, word);
  }
  return !released;
}

void volt_monitor_destroy_(volt_fifo_ *q, const char *name) {
  for (unsigned looks = 0;;) {
    /* monitor:D1 <- fifo:U1: the object ends after the last turn is done with it */
    uint64_t word = volt_load_acquire(&q->word);
    bool returning = (word & VOLT_WORD_ALL_RETURNING_) != 0; /* then those queued may be served */
    VOLT_CHECK(returning || !(word & VOLT_WORD_QUEUED_), name,
               "%p: destroyed while %u waiters are queued", (void *)q, volt_fifo_count_(q));
    if (!returning) return;
    volt_pause_(&looks); /* R2 */
  }
}

/* ---- futures ---- */

static volt_fifo_ *monitor_future_queue(volt_future *f) {
  return (volt_fifo_ *)f->object;
}

bool volt_monitor_future_cancel_(volt_future *f) {
  return volt_monitor_cancel_(monitor_future_queue(f), f->ops->name, &f->waiter);
}

bool volt_monitor_future_set_waker_(volt_future *f, volt_waker waker) {
  return volt_fifo_set_waker_(monitor_future_queue(f), f->ops->name, &f->waiter, waker);
}

bool volt_monitor_future_complete_(volt_future *f) {
  return volt_monitor_complete_(monitor_future_queue(f), f->ops->name, &f->waiter);
}

bool volt_monitor_future_complete_counted_(volt_future *f) {
  return volt_monitor_complete_counted_(monitor_future_queue(f), f->ops->name, &f->waiter);
}
