/* semaphore_limit.c: what a semaphore does with its FIFO and its word when the limit changes, and
 * for a waiter that wants all permits.
 *
 * The invariants and races are those of permits.c, whose word and lock these functions use, and of
 * semaphore.c, which calls them in a certain order.
 *
 * Labels: permits */
#include "semaphore_limit.h"

#define QUEUED VOLT_WORD_QUEUED_
#define LOCKED VOLT_WORD_LOCKED_
#define CLOSED VOLT_WORD_CLOSED_
#define BOUNDED VOLT_WORD_BOUNDED_

static uint32_t sem_limit_excess_of(int32_t permits) {
  return permits < 0 ? (uint32_t)-permits : 0;
}

int volt_sem_limit_acquire_all_(volt_fifo_ *q, const volt_permit_kind_ *kind, volt_waiter *w,
                                const volt_waker *waker) {
  volt_waiter_check_unused_(kind->kind, w);
  for (;;) {
    uint64_t word;
    bool locked = volt_fifo_lock_if_queued_(q, &word);
    if (word & CLOSED)
      return locked ? volt_permits_refuse_locked_(q, word) : volt_permits_refuse_(q);
    /* permits:A1 <- permits:F1, fifo:U1: permits carry their releasers' past;
     * permits:L1 <- fifo:U1: the holder of the lock sees what the last holder did */
    if (!locked && !volt_cas_acquire(&q->word, &word, QUEUED | LOCKED)) continue;
    int32_t there = locked ? (int32_t)volt_permits_carried_(q) : volt_permits_in_(kind, word);
    uint32_t available = (uint32_t)there;
    w->queue = q; /* serve() finds the semaphore by it */
    w->data = q;  /* volt_sem_limit_wants_all_() */
    w->want = 1;
    w->need = 1;
    if (!q->head) (void)kind->serve(w, &available); /* no waiter is before it */
    bool served = w->need == 0;
    if (!served) {
      volt_waiter_arm_(w, q, *waker);
      VOLT_PROBE_ARMED(wait__begin, w);
      volt_fifo_push_back_(q, w);
      volt_count_wait_(kind->kind);
    }
    volt_permits_unlock_(q, kind, word, available);
    return served ? VOLT_OK : VOLT_PENDING;
  }
}

/* Returns what would be there after a change by delta. */
static int32_t sem_limit_changed(volt_fifo_ *q, const volt_permit_kind_ *kind, int32_t there,
                                 int32_t delta) {
  int64_t then = (int64_t)there + delta;
  VOLT_CHECK(then <= (int64_t)kind->max && then >= -(int64_t)kind->max, volt_kind_api_(kind->kind),
             "%p: too many permits (%d there, changed by %d, at most %u)", (void *)q, there, delta,
             kind->max);
  return (int32_t)then;
}

void volt_sem_limit_change_(volt_fifo_ *q, const volt_permit_kind_ *kind, int32_t delta) {
  uint64_t word;
  while (!volt_fifo_lock_if_queued_(q, &word)) {
    int32_t then = sem_limit_changed(q, kind, volt_permits_in_(kind, word), delta);
    uint64_t next = volt_permits_word_(kind, then) | VOLT_WORD_FLAGS_(word);
    /* permits:F1 -> permits:A1, permits:C1, permits:D1, permits:T1: permits carry their
     * releasers' past */
    if (volt_cas_release(&q->word, &word, next)) return;
  }
  (void)sem_limit_changed(q, kind, volt_permits_there_(q), delta);
  volt_permits_serve_and_unlock_(q, kind, word, (uint32_t)delta);
}

void volt_sem_limit_lower_(volt_fifo_ *q, const volt_permit_kind_ *kind, uint32_t n) {
  uint64_t word;
  while (!volt_fifo_lock_if_queued_(q, &word)) {
    int32_t then = sem_limit_changed(q, kind, volt_permits_in_(kind, word), -(int32_t)n);
    uint64_t next = volt_permits_word_(kind, then) | VOLT_WORD_FLAGS_(word);
    /* permits:F1 <-> permits:A1, permits:C1, permits:D1, permits:T1: permits carry what this
     * thread did before (R11); permits:A1 <-> permits:F1, fifo:U1: what this thread does next, to
     * reached, comes after (R11) */
    if (volt_cas_acq_rel(&q->word, &word, next)) return;
  }
  (void)sem_limit_changed(q, kind, volt_permits_there_(q), -(int32_t)n);
  volt_permits_unlock_(q, kind, word, volt_permits_carried_(q) - n);
}

uint32_t volt_sem_limit_reduce_excess_(volt_fifo_ *q, const volt_permit_kind_ *kind, uint32_t n) {
  for (;;) {
    uint64_t word;
    bool locked = volt_fifo_lock_if_queued_(q, &word);
    int32_t permits = locked ? (int32_t)volt_permits_carried_(q) : volt_permits_in_(kind, word);
    uint32_t excess = sem_limit_excess_of(permits);
    uint32_t reduced = n < excess ? n : excess;
    int32_t then = permits + (int32_t)reduced;
    if (word & BOUNDED) {
      int32_t there = locked ? volt_permits_there_(q) : permits;
      (void)kind->bound(q, word | QUEUED, n, there); /* as if locked: the limit is locked */
    }
    if (locked) {
      volt_permits_unlock_(q, kind, word, (uint32_t)then);
      return reduced;
    }
    uint64_t next = volt_permits_word_(kind, then) | VOLT_WORD_FLAGS_(word);
    /* permits:F1 <-> permits:A1, permits:C1, permits:D1, permits:T1: permits carry what this
     * thread did before (R11); permits:A1 <-> permits:F1, fifo:U1: what this thread does next, to
     * reached, comes after (R11), by the letter of C11 only */
    if (volt_cas_acq_rel(&q->word, &word, next)) return reduced;
  }
}

uint32_t volt_sem_limit_excess_(const volt_fifo_ *inspected, const volt_permit_kind_ *kind) {
  volt_fifo_ *q = volt_fifo_to_inspect_(inspected);
  uint64_t word;
  do {
    if (volt_fifo_lock_if_queued_(q, &word)) {
      int32_t permits = (int32_t)volt_permits_carried_(q);
      volt_fifo_unlock_exact_(q, word);
      return sem_limit_excess_of(permits);
    }
    /* permits:A1 <- permits:F1, fifo:U1: this thread sees what the releasers did (R15) */
    word = volt_load_acquire(&q->word);
  } while (word & QUEUED);
  return sem_limit_excess_of(volt_permits_in_(kind, word));
}

void volt_sem_limit_turn_away_(volt_fifo_ *q, const volt_permit_kind_ *kind) {
  uint64_t word;
  if (!volt_fifo_lock_if_queued_(q, &word)) return;
  uint32_t left = q->waiters;
  do {
    volt_waiter *w = q->head;
    uint32_t gathered = volt_permits_gathered_(w);
    w->need = 0;
    volt_claimed_ claimed = volt_fifo_claim_(q, w);
    volt_permits_serve_and_unlock_(q, kind, word, gathered); /* what it had is for the others */
    volt_count_claims_(kind->kind, 1, true);
    volt_waiters_grant_(&claimed, 1, VOLT_WAITER_CLOSED_);
    left -= 1;
  } while (left > 0 && volt_fifo_lock_if_queued_(q, &word));
}
