/* fifo.c: the FIFO of waiters that every primitive embeds, and its lock.
 *
 * Algorithm
 *   The lock is LOCKED, a bit of the object's word (volt/detail/fifo.h). A compare-and-swap takes
 *   it, a plain store releases it. The store is enough because no other thread writes the word
 *   while LOCKED is set. The same store publishes the word as it is from then on, so unlocking an
 *   object and publishing what was done under the lock are one step.
 *   If the object has a fast path that tests QUEUED only, LOCKED is set only together with QUEUED,
 *   so the fast path never sees LOCKED alone. Other objects lock on every operation, or have a path
 *   that tests LOCKED, too (monitor.h).
 *   The lock is held for a short time, for one batch of waiters at most. Under it no waker is
 *   called and no thread waits for an event. (volt_fifo_move_() waits for a second lock.) So
 *   unlocking need not wake a thread: one that finds LOCKED spins, then yields, then naps
 *   (volt_pause_(), spin.h).
 *   The list goes through the waiters, in both directions. A waiter's `need` is above 0 exactly
 *   while the waiter is on the list. The thread that unlinks a waiter decides its outcome. A later
 *   thread takes the same lock and sees that need is 0.
 *
 * Why a plain store may release the lock, although permits are also given back by
 *   read-modify-writes on the same word: the store ends their release sequences. But its thread has
 *   acquired the word before, by the read-modify-write that set LOCKED (L1). So the store (U1)
 *   publishes all that was published through the word until then, and no order is lost.
 *
 * Invariant, whenever the lock is free (the numbers are shared by fifo.c, grant.c and permits.c)
 *   I5  A waiter is in one of three places: in the FIFO (need above 0), claimed by one granter
 *       (need 0, state PENDING or AWAITED), or its owner's.
 *
 * Races
 *   R4  Interleaving: an owner cancels its waiter while a granter takes the waiter. Prevented by:
 *       both take the lock, and `need` says which of them was first. If it was the granter, the
 *       cancel waits for the grant. It waits for a few stores, because the granter calls no waker
 *       between claim and grant.
 *   R5  Interleaving: an owner replaces its waker while a granter copies it. Prevented by: both do
 *       so under the lock. */
#include "fifo.h"

void volt_fifo_init_(volt_fifo_ *q, uint32_t value) {
  volt_store_relaxed(&q->word, VOLT_WORD_(value)); /* not shared yet */
  q->head = NULL;
  q->tail = NULL;
  q->waiters = 0;
  q->rest = 0;
}

VOLT_NOINLINE void volt_fifo_move_(volt_fifo_ *to, uint64_t *word, volt_fifo_ *from,
                                   uint64_t from_word, volt_waiter *last, uint32_t count) {
  volt_waiter *first = from->head;
  for (volt_waiter *w = first; w != last; w = w->next) w->queue = to;
  last->queue = to;
  volt_fifo_lock_to_queue_(to, word);
  from->head = last->next;
  if (from->head) {
    from->head->prev = NULL;
  } else {
    from->tail = NULL;
  }
  from->waiters -= count;
  last->next = NULL;
  first->prev = to->tail;
  if (to->tail) {
    to->tail->next = first;
  } else {
    to->head = first;
  }
  to->tail = last;
  to->waiters += count;
  volt_fifo_unlock_(from, from_word);
}

/* Not inline, so that the usual path of its caller saves no registers for it. Returns false. */
static VOLT_NOINLINE bool fifo_await(volt_waiter *w) {
  volt_waiter_await_(w); /* R4 */
  return false;
}

bool volt_fifo_lock_if_linked_(volt_fifo_ *q, volt_kind_ kind, volt_waiter *w, uint64_t *word) {
  VOLT_CHECK((void *)w->queue == (void *)q, volt_kind_api_(kind),
             "waiter %p is queued on %p, not on %p", (void *)w, (void *)w->queue, (void *)q);
  if (volt_fifo_lock_if_queued_(q, word)) { /* else the FIFO is empty, so *w is not in it */
    if (volt_fifo_is_linked_(w)) return true;
    volt_fifo_unlock_exact_(q, *word);
  }
  return fifo_await(w);
}

bool volt_fifo_lock_again_(volt_fifo_ *q, uint64_t *word) {
  volt_fifo_check_returning_(*word);
  while (!volt_fifo_lock_if_queued_(q, word)) {
    /* fifo:F1 -> permits:D1: destroy() comes after all that this thread did */
    if (volt_cas_release(&q->word, word, *word - VOLT_WORD_RETURNING_)) return false;
  }
  return true;
}

bool volt_fifo_lock_to_cancel_(volt_fifo_ *q, volt_kind_ kind, volt_waiter *w, uint64_t *word,
                               uint32_t *need) {
  if (volt_waiter_result(w) != VOLT_PENDING) return false;
  if (!volt_fifo_lock_if_linked_(q, kind, w, word)) return false; /* R4 */
  *need = w->need;
  volt_fifo_withdraw_(q, w);
  return true;
}

bool volt_fifo_cancel_(volt_fifo_ *q, volt_kind_ kind, volt_waiter *w) {
  uint64_t word;
  uint32_t need;
  if (!volt_fifo_lock_to_cancel_(q, kind, w, &word, &need)) {
    return volt_waiter_result(w) == VOLT_ECANCELED;
  }
  volt_fifo_unlock_(q, word);
  volt_count_cancel_(volt_kind_counted_(kind));
  return true;
}

void volt_fifo_complete_(volt_fifo_ *q, volt_kind_ kind, volt_waiter *w, uint32_t state) {
  uint64_t word;
  if (!volt_fifo_lock_if_linked_(q, kind, w, &word)) return; /* R4 */
  volt_claimed_ claimed = volt_fifo_claim_(q, w);
  volt_fifo_unlock_(q, word);
  volt_count_claims_(volt_kind_counted_(kind), 1, state == VOLT_WAITER_CLOSED_);
  volt_waiters_grant_(&claimed, 1, state);
}

bool volt_fifo_set_waker_(volt_fifo_ *q, volt_kind_ kind, volt_waiter *w, volt_waker waker) {
  if (volt_waiter_result(w) != VOLT_PENDING) return false;
  uint64_t word;
  if (!volt_fifo_lock_if_linked_(q, kind, w, &word)) return false; /* R4: it calls the old waker */
  volt_waiter_put_waker_(w, waker);                                /* R5 */
  volt_fifo_unlock_exact_(q, word);
  return true;
}

bool volt_waiter_set_waker(volt_waiter *w, volt_waker waker) {
  return volt_fifo_set_waker_((volt_fifo_ *)(void *)w->queue, VOLT_KIND_NONE_, w, waker);
}

uint32_t volt_fifo_count_(const volt_fifo_ *inspected) {
  volt_fifo_ *q = volt_fifo_to_inspect_(inspected);
  uint64_t word;
  if (!volt_fifo_lock_if_queued_(q, &word)) return 0;
  uint32_t waiters = q->waiters;
  volt_fifo_unlock_exact_(q, word);
  return waiters;
}
