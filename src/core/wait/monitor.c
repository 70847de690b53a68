/* monitor.c: the engine for primitives that do their work under the lock.
 *
 * Algorithm
 *   The FIFO has an epoch, and each waiter carries the epoch in which it was queued. An operation
 *   that releases all waiters increments the epoch. So a waiter in the FIFO whose epoch is old has
 *   been released, and only awaits its wake. Such waiters are at the front of the FIFO.
 *   The thread that has released them completes them in batches, when it exits the monitor. In
 *   between it unlocks and calls the wakers of a batch.
 *   Another operation may need the released waiters gone, because it releases waiters or looks for
 *   the oldest. It first completes them itself (volt_monitor_enter_()). An operation that only
 *   looks or queues does not (volt_monitor_lock_()), and a cancel or a poll completes its own
 *   waiter at most. So wakers that only look or queue never nest, and a long FIFO needs no deep
 *   stack. (A waker that cancels another released waiter calls that waiter's waker.)
 *
 * Invariants, whenever the lock is free
 *   I1  QUEUED is set exactly if the FIFO is not empty.
 *   I2  Waiters of an older epoch are before all others in the FIFO. If there are any, a thread
 *       that calls wakers will take the lock again to complete them. RETURNING counts such threads.
 *
 * Races
 *   R1  Interleaving: a thread releases more waiters than a batch holds; while it calls wakers,
 *       other threads queue, cancel, or release all waiters once more. Prevented by: the epoch
 *       separates waiters that were released from waiters that came later.
 *   R2  Interleaving: an owner finds its waiter completed and frees the object; the thread that
 *       completed it takes the lock again, for the next batch. Prevented by: RETURNING counts such
 *       threads, and destroy() waits for them.
 *   R3  Interleaving: a waiter is released; its owner cancels it before it is completed, and is
 *       believed, although the event has happened and may have counted the waiter (a barrier does).
 *       Prevented by: the cancel completes the waiter, and returns that it came too late.
 *   R6  Interleaving: a waiting future is released; its owner polls it before the releasing thread
 *       has completed it; it stays pending, while a new future is ready. Prevented by: the word
 *       says that the future may be released, by its value or by RETURNING. Then the poll takes
 *       the lock and completes the future as in R3, or waits as in fifo.c R4 for the thread that
 *       has claimed it. A poll that reads an older word comes before the release. */
#include "monitor.h"

#include "../future/future_ops.h"
#include "../os/check.h"
#include "fifo.h"

/* What a released waiter completes with. */
static uint32_t monitor_state(uint64_t word) {
  return word & VOLT_WORD_CLOSED_ ? VOLT_WAITER_CLOSED_ : VOLT_WAITER_GRANTED_;
}

/* The compiler does not inline these three, so an operation that completes no waiter has no frame
 * for them. */
VOLT_NOINLINE void volt_monitor_complete_one_(volt_fifo_ *q, volt_kind_ kind, uint64_t word,
                                              volt_waiter *w) {
  volt_claimed_ claimed = volt_fifo_claim_(q, w);
  volt_fifo_unlock_(q, word);
  volt_count_claims_(kind, 1, word & VOLT_WORD_CLOSED_);
  volt_claimed_grant_(claimed, monitor_state(word));
}

/* Complete as many released waiters as fit into a batch. Releases the lock. Returns whether there
 * are more: then this thread is counted in RETURNING (R2). */
static bool monitor_complete_batch(volt_fifo_ *q, volt_kind_ kind, uint64_t word) {
  volt_claimed_ claimed[VOLT_WAKE_BATCH];
  unsigned count = 0;
  while (volt_monitor_first_is_released_(q) && count < VOLT_WAKE_BATCH) {
    claimed[count++] = volt_fifo_claim_(q, q->head);
  }
  bool more = volt_monitor_first_is_released_(q);
  volt_fifo_unlock_(q, more ? word + VOLT_WORD_RETURNING_ : word);
  volt_count_claims_(kind, count, word & VOLT_WORD_CLOSED_);
  volt_waiters_grant_(claimed, count, monitor_state(word));
  return more;
}

static VOLT_NOINLINE void monitor_complete_batches(volt_fifo_ *q, volt_kind_ kind, uint64_t word) {
  while (monitor_complete_batch(q, kind, word)) {
    volt_fifo_check_returning_(word + VOLT_WORD_RETURNING_);
    volt_fifo_lock_(q, &word); /* R1 */
    word -= VOLT_WORD_RETURNING_;
  }
}

VOLT_NOINLINE void volt_monitor_complete_all_(volt_fifo_ *q, volt_kind_ kind, uint64_t word) {
  if (VOLT_LIKELY(!q->head->next)) { /* as nearly always */
    volt_monitor_complete_one_(q, kind, word, q->head);
  } else {
    monitor_complete_batches(q, kind, word);
  }
}

VOLT_NOINLINE uint64_t volt_monitor_complete_first_(volt_fifo_ *q, volt_kind_ kind, uint64_t word) {
  while (volt_monitor_first_is_released_(q)) {
    volt_monitor_complete_all_(q, kind, word); /* R1 */
    volt_fifo_lock_(q, &word);
  }
  return word;
}

bool volt_monitor_complete_(volt_fifo_ *q, volt_kind_ kind, volt_waiter *w) {
  uint64_t word;
  if (!volt_fifo_lock_if_linked_(q, kind, w, &word)) return true; /* R6 */
  bool released = volt_monitor_is_released_(q, w);
  if (released) {
    volt_monitor_complete_one_(q, kind, word, w); /* R6 */
  } else {
    volt_fifo_unlock_(q, word);
  }
  return released;
}

bool volt_monitor_complete_counted_(volt_fifo_ *q, volt_kind_ kind, volt_waiter *w) {
  uint64_t word = volt_load_relaxed(&q->word); /* R6: a hint, which the lock confirms */
  return VOLT_WORD_VALUE_(word) != volt_monitor_epoch_of_(w) && volt_monitor_complete_(q, kind, w);
}

bool volt_monitor_cancel_(volt_fifo_ *q, volt_kind_ kind, volt_waiter *w) {
  uint64_t word;
  if (volt_waiter_result(w) != VOLT_PENDING || !volt_fifo_lock_if_linked_(q, kind, w, &word)) {
    return volt_waiter_result(w) == VOLT_ECANCELED; /* fifo.c R4 */
  }
  bool released = volt_monitor_is_released_(q, w);
  if (released) {
    volt_monitor_complete_one_(q, kind, word, w); /* R3 */
  } else {
    volt_count_cancel_(kind);
    volt_fifo_withdraw_(q, w);
    volt_fifo_unlock_(q, word);
  }
  return !released;
}

void volt_monitor_destroy_slow_(volt_fifo_ *q, volt_kind_ kind) {
  for (unsigned spins = 0;;) {
    /* monitor:D1 <- fifo:U1: the object ends after the last access of each operation */
    uint64_t word = volt_load_acquire(&q->word);
    bool returning = (word & VOLT_WORD_ALL_RETURNING_) != 0; /* the queued ones may be released */
    VOLT_CHECK(returning || !(word & VOLT_WORD_QUEUED_), volt_kind_api_(kind),
               "%p: destroyed while %u waiters are queued", (void *)q, volt_fifo_count_(q));
    if (!returning) return;
    volt_pause_(&spins); /* R2 */
  }
}

/* ---- futures ---- */

static volt_fifo_ *monitor_future_queue(volt_future *f) {
  return (volt_fifo_ *)f->object;
}

bool volt_monitor_future_cancel_(volt_future *f) {
  return volt_monitor_cancel_(monitor_future_queue(f), f->ops->kind, &f->waiter);
}

bool volt_monitor_future_set_waker_(volt_future *f, volt_waker waker) {
  return volt_fifo_set_waker_(monitor_future_queue(f), f->ops->kind, &f->waiter, waker);
}

bool volt_monitor_future_complete_(volt_future *f) {
  return volt_monitor_complete_(monitor_future_queue(f), f->ops->kind, &f->waiter);
}

bool volt_monitor_future_complete_counted_(volt_future *f) {
  return volt_monitor_complete_counted_(monitor_future_queue(f), f->ops->kind, &f->waiter);
}

void volt_monitor_future_describe_(volt_future *f, volt_description_ *description) {
  volt_describe_queue_(description, (volt_fifo_ *)f->object, VOLT_ENDS_UNKNOWN_);
}
