/* fifo.c: the FIFO of waiters that every primitive embeds, and its lock.
 *
 * Algorithm: the lock is LOCKED, a bit of the word (volt/detail/fifo.h). It is taken by a
 * compare-and-swap, and left by a store, which also says what the word is from then on: leaving the
 * lock and publishing what was done under it are one step. A store will do, because while LOCKED is
 * set no other thread writes the word. Where there are fast paths, which look for QUEUED, LOCKED is
 * set only together with QUEUED, so that they never meet it; what has none sets it alone
 * (monitor.h). The lock is held for a few dozen instructions, with no foreign code and no wait
 * inside. So leaving it wakes no thread; a thread that finds it taken waits a little and looks again
 * (spin.h).
 * The list is intrusive and doubly linked. need, under the lock, says whether a waiter is still
 * linked: it is above 0 exactly then. The thread that unlinks it decides what becomes of it, and a
 * thread that comes later finds that out under the same lock.
 *
 * Invariant, whenever the lock is free
 *   I5  a waiter is in one place: the FIFO (need > 0), claimed by one granter (need = 0, state
 *       PENDING or AWAITED), or its owner's
 *
 * Races
 *   R4  Cancel meets a granter. Closed: need, under the lock, says who was first. If the granter
 *       was, cancel waits for the grant; no foreign code runs between claim and grant.
 *   R5  A waker is replaced while the granter reads it. Closed: both under the lock.
 *
 * Pairs: U1 (release) -> L1 (acquire): the holder sees what the last one did. All that happened to
 *   the word before U1 happened before it, because L1 is an RMW: a thread that reads U1, or what
 *   RMWs have made of it, may rely on that as if there were RMWs alone. */
#include "fifo.h"

void volt_fifo_init_(volt_fifo_ *q, uint32_t value) {
  volt_store_relaxed(&q->word, VOLT_WORD_(value)); /* not shared yet */
  q->head = NULL;
  q->tail = NULL;
  q->waiters = 0;
  q->rest = 0;
}

void volt_fifo_append_(volt_fifo_ *q, volt_waiter *w, uint32_t want, uint32_t need,
                       volt_waker waker) {
  volt_waiter_arm_(w, q, waker);
  w->want = want;
  w->need = need;
  volt_fifo_push_back_(q, w); /* published by U1 */
}

void volt_fifo_unlock_(volt_fifo_ *q, uint64_t word) {
  const uint64_t queued = VOLT_WORD_QUEUED_;
  volt_fifo_unlock_exact_(q, q->head ? word | queued : word & ~queued);
}

bool volt_fifo_lock_if_linked_(volt_fifo_ *q, const char *name, volt_waiter *w, uint64_t *word) {
  VOLT_CHECK((void *)w->queue == (void *)q, name, "waiter %p is queued on %p, not on %p", (void *)w,
             (void *)w->queue, (void *)q);
  if (!volt_fifo_lock_if_queued_(q, word)) return false; /* the FIFO is empty */
  if (volt_fifo_is_linked_(w)) return true;
  volt_fifo_unlock_exact_(q, *word);
  return false;
}

bool volt_fifo_lock_to_cancel_(volt_fifo_ *q, const char *name, volt_waiter *w, uint64_t *word,
                               uint32_t *need) {
  if (volt_waiter_result(w) != VOLT_PENDING) return false;
  if (!volt_fifo_lock_if_linked_(q, name, w, word)) {
    volt_waiter_await_(w); /* R4 */
    return false;
  }
  *need = w->need;
  volt_fifo_remove_(q, w);
  volt_store_relaxed(&w->state, VOLT_WAITER_UNUSED_); /* unlinked: the owner's own again */
  return true;
}

bool volt_fifo_cancel_(volt_fifo_ *q, const char *name, volt_waiter *w) {
  uint64_t word;
  uint32_t need;
  if (!volt_fifo_lock_to_cancel_(q, name, w, &word, &need)) {
    return volt_waiter_result(w) == VOLT_ECANCELED;
  }
  volt_fifo_unlock_(q, word);
  return true;
}

void volt_fifo_complete_(volt_fifo_ *q, const char *name, volt_waiter *w, uint32_t state) {
  uint64_t word;
  if (!volt_fifo_lock_if_linked_(q, name, w, &word)) {
    volt_waiter_await_(w); /* R4 */
    return;
  }
  volt_claimed_ claimed = volt_fifo_claim_(q, w);
  volt_fifo_unlock_(q, word);
  volt_waiters_grant_(&claimed, 1, state);
}

bool volt_fifo_set_waker_(volt_fifo_ *q, const char *name, volt_waiter *w, volt_waker waker) {
  if (volt_waiter_result(w) != VOLT_PENDING) return false;
  uint64_t word;
  if (!volt_fifo_lock_if_linked_(q, name, w, &word)) {
    volt_waiter_await_(w); /* the old waker is called: its copy was taken with the claim */
    return false;
  }
  w->wake = waker.wake; /* R5 */
  w->ctx = waker.ctx;
  volt_fifo_unlock_exact_(q, word);
  return true;
}

bool volt_waiter_set_waker(volt_waiter *w, volt_waker waker) {
  return volt_fifo_set_waker_((volt_fifo_ *)(void *)w->queue, "volt_waiter_set_waker", w, waker);
}

uint32_t volt_fifo_count_(const volt_fifo_ *looked_at) {
  volt_fifo_ *q = volt_fifo_to_look_at_(looked_at);
  uint64_t word;
  if (!volt_fifo_lock_if_queued_(q, &word)) return 0;
  uint32_t waiters = q->waiters;
  volt_fifo_unlock_exact_(q, word);
  return waiters;
}
