/* permits.c: the engine that counts permits.
 *
 * Algorithm: one 64-bit word (volt/detail/fifo.h) says how many permits there are, or that somebody
 * waits. While nobody waits, permits come and go by one compare-and-swap. The first who has to wait
 * takes what there is and sets QUEUED and LOCKED in the same step; from then on everybody goes
 * through the lock (fifo.h), which is a bit of the same word, so leaving it and letting go of what
 * is left are one step. A release serves the oldest waiters under the lock ("claim"), leaves it,
 * and only then tells them ("grant"), and then calls their wakers.
 *
 * Source: the semaphore of tokio and of Volt (waiters filled in parts, oldest first); glibc bug
 * 12674 for what a release must not touch.
 *
 * Invariants, whenever the lock is free
 *   I1  value > 0 => not QUEUED
 *   I2  QUEUED <=> the FIFO is not empty; rest > 0 => QUEUED and RETURNING
 *   I3  held + value + rest + gathered by the head = constant, but for volt_sem_limit_change_();
 *       value or rest is below zero while there is debt: more is held than there shall be
 *   I4  only the head of the FIFO is partially served
 *   I5  in fifo.c: a waiter is in one place
 *
 * Races
 *   R1  An acquirer finds too little, a releaser finds nobody, permits lie beside a sleeper.
 *       Closed: both decide by a CAS on the one word, which says both things.
 *   R2  A release lets go of permits and then touches the object, which whoever got them has freed.
 *       Closed: the store that lets go is the one that leaves the lock, or the fast path's CAS, and
 *       nothing of the object is read or written after it.
 *   R3  The owner sees the grant and re-uses the waiter while the granter still reads it.
 *       Closed: unlink and copy the waker under the lock; the grant is the last access.
 *   R4, R5  A cancel, or a new waker, meets a releaser. In fifo.c.
 *   R7  More waiters than a batch holds: the wakers of the first batch must not run under the lock,
 *       nor the rest be forgotten. Closed: leave the rest of the permits with the queue, wake, come
 *       back. Whoever has the lock meanwhile takes the rest along: no permit is ever out of sight.
 *       The word counts those who will come back; destroy() waits for them.
 *   R13 Interleaving: the queue is closed; a waiting future is polled before the closer has told
 *       it, and is pending while a new one is refused. Prevented by: the poll looks under the lock,
 *       and tells it.
 *
 * Pairs
 *   L1 (acquire) <- U1 (release)   whoever holds the lock sees what the last holder did
 *   A1, T1 (acquire) <- U1, F1 (release)   permits taken from the word carry their
 *                                  releasers' past: its writes are RMWs, and U1 (fifo.h)
 *                                  (T1 and F1 also in the fast paths, in the public headers)
 *   W1 (acquire) <- G1 (release)   the owner sees all that was done before the grant (grant.c)
 *   C1 (acquire) <- U1, F1 (release)   who sees CLOSED sees what came before close()
 *   D1 (acquire) <- U1, F1 (release)   the object ends after the last release is done with it
 */
#include "permits.h"

#include "check.h"
#include "fifo.h"
#include "spin.h"

#define QUEUED VOLT_WORD_QUEUED_
#define LOCKED VOLT_WORD_LOCKED_
#define CLOSED VOLT_WORD_CLOSED_
#define BOUNDED VOLT_WORD_BOUNDED_
#define RETURNING VOLT_WORD_RETURNING_

/* What is given back and what is already there cannot be more than there ever were; and if nothing
 * is there, whoever has a share of the whole cannot be among the holders. */
static void permits_check_excess(volt_fifo_ *q, const volt_permit_kind_ *kind, uint32_t given,
                                 int32_t there) {
  bool fits = given <= kind->max - (uint32_t)there; /* modulo 2^32: also if there is debt */
  VOLT_CHECK(fits && !(given == kind->shared && there == 0), kind->name,
             "%p: %s (%u given back, %d there, at most %u)", (void *)q, kind->excess, given, there,
             kind->max);
}

/* ---- serving ---- */

bool volt_permits_serve_(volt_waiter *w, uint32_t *hand) {
  uint32_t need = w->need;
  if ((int32_t)*hand <= 0) return false;
  uint32_t given = *hand < need ? *hand : need;
  w->need -= given;
  *hand -= given;
  return *hand > 0;
}

/* Everybody goes, with nothing; what the head had gathered comes back. */
static bool permits_serve_closed(volt_waiter *w, uint32_t *hand) {
  *hand += volt_permits_gathered_(w);
  w->need = 0;
  return true;
}

/* The lock is held, with hand permits to give. The usual case of what follows, in fewer steps: they
 * are what the head is waiting for, and all there are. Returns false: they are not. */
static inline bool permits_grant_head_and_unlock(volt_fifo_ *q, const volt_permit_kind_ *kind,
                                                 uint64_t word, uint32_t hand) {
  volt_waiter *w = q->head;
  /* how much one wants that is marked, or that the next wants nothing, is for serve() to say */
  bool asks = kind->serve != volt_permits_serve_ && (w->data || (w->next && w->next->data));
  if (w->need != hand || asks || volt_permits_carried_(q) != 0 || (word & CLOSED)) return false;
  volt_claimed_ claimed = volt_fifo_claim_(q, w);
  volt_permits_unlock_(q, kind, word, 0);
  volt_waiters_grant_(&claimed, 1, VOLT_WAITER_GRANTED_);
  return true;
}

/* Take the lock again, or if nobody is queued any more, say that we are done. Returns true: locked;
 * false: that was the last access to *q. */
static bool permits_come_back(volt_fifo_ *q, uint64_t *word) {
  while (!volt_fifo_lock_if_queued_(q, word)) {
    /* permits:F1 -> permits:A1, permits:C1, permits:D1, permits:T1: permits taken from the word
     * carry their releasers' past */
    if (volt_cas_release(&q->word, word, *word - RETURNING)) return false;
  }
  return true;
}

void volt_permits_serve_and_unlock_(volt_fifo_ *q, const volt_permit_kind_ *kind, uint64_t word,
                                    uint32_t hand) {
  for (;; word -= RETURNING, hand = 0) {
    volt_claimed_ batch[VOLT_WAKE_BATCH];
    unsigned count = 0;
    bool more = true;
    volt_permits_serve_fn_ *serve = word & CLOSED ? permits_serve_closed : kind->serve;
    hand += volt_permits_carried_(q);
    while (q->head && count < VOLT_WAKE_BATCH) {
      more = serve(q->head, &hand);
      if (q->head->need > 0) break; /* I4: served in part, if at all, and last */
      batch[count++] = volt_fifo_claim_(q, q->head);
      if (!more) break;
    }
    bool again = more && q->head && count == VOLT_WAKE_BATCH;
    if (again) word += RETURNING; /* R7 */
    VOLT_ASSERT(again || !q->head || (int32_t)hand <= 0);
    volt_permits_unlock_(q, kind, word, hand);
    volt_waiters_grant_(batch, count, word & CLOSED ? VOLT_WAITER_CLOSED_ : VOLT_WAITER_GRANTED_);
    if (!again || !permits_come_back(q, &word)) return;
  }
}

/* ---- the operations ---- */

int volt_permits_acquire_(volt_fifo_ *q, const volt_permit_kind_ *kind, volt_waiter *w, uint32_t n,
                          volt_waker waker) {
  if (n > kind->max) return VOLT_EINVAL;
  if (n == 0) return VOLT_OK;
  volt_waiter_check_unused_(kind->name, w);
  for (;;) {
    uint64_t word;
    bool locked = volt_fifo_lock_if_queued_(q, &word);
    if (word & CLOSED)
      return locked ? volt_permits_refuse_locked_(q, word) : volt_permits_refuse_(q);
    uint32_t need = n;
    if (!locked) {
      int32_t permits = volt_permits_in_(kind, word);
      VOLT_CHECK((uint32_t)permits != kind->shared || n != (uint32_t)permits, kind->name,
                 "%p: too many holders", (void *)q);
      if (permits >= (int32_t)n) { /* n is at most max, which is below 2^31 */
        uint64_t next = volt_permits_word_(kind, permits - (int32_t)n) | VOLT_WORD_FLAGS_(word);
        /* permits:A1 <- permits:F1, fifo:U1: permits taken from the word carry their releasers'
         * past */
        if (volt_cas_acquire(&q->word, &word, next)) return VOLT_OK;
        continue;
      }
      /* permits:A1 <- permits:F1, fifo:U1: permits taken from the word carry their releasers'
       * past; permits:L1 <- fifo:U1: whoever holds the lock sees what the last holder did; what
       * there is becomes ours, and "somebody waits" true, in one step */
      if (!volt_cas_acquire(&q->word, &word, QUEUED | LOCKED)) continue;
      if (permits < 0) {
        q->rest = (uint32_t)permits; /* debt */
      } else {
        need = n - (uint32_t)permits;
      }
    }
    w->data = NULL;
    volt_fifo_append_(q, w, n, need, waker);
    volt_permits_unlock_(q, kind, word, volt_permits_carried_(q));
    return VOLT_PENDING;
  }
}

/* Look for n permits, again and again for a moment. Nobody who is queued is overtaken: while
 * somebody is, there is nothing to take. */
static bool permits_spin_and_take(volt_fifo_ *q, const volt_permit_kind_ *kind, uint32_t n,
                                  uint64_t deadline_ns) {
  volt_spin_ looks = {0, 0};
  do {
    uint64_t word = volt_load_relaxed(&q->word); /* a guess: the CAS decides */
    if (word & CLOSED) return false;
    int32_t permits = volt_permits_in_(kind, word);
    bool last_share = (uint32_t)permits == kind->shared && n == (uint32_t)permits;
    if ((word & QUEUED) || permits < (int32_t)n || last_share) continue;
    uint64_t next = volt_permits_word_(kind, permits - (int32_t)n) | VOLT_WORD_FLAGS_(word);
    /* permits:A1 <- permits:F1, fifo:U1: permits taken from the word carry their releasers' past */
    if (volt_cas_acquire(&q->word, &word, next)) return true;
  } while (volt_spin_again_(&looks, deadline_ns));
  return false;
}

int volt_permits_acquire_blocking_(volt_fifo_ *q, const volt_permit_kind_ *kind, uint32_t n,
                                   uint64_t deadline_ns) {
  if (n > kind->max) return VOLT_EINVAL;
  if (n == 0 || permits_spin_and_take(q, kind, n, deadline_ns)) return VOLT_OK;
  volt_waiter w = VOLT_WAITER_INIT;
  volt_parker parker = {0};
  int result = volt_permits_acquire_(q, kind, &w, n, volt_parker_waker(&parker));
  if (result != VOLT_PENDING) return result;
  if (volt_park_in_(kind->name, &parker, 1, deadline_ns) == VOLT_ETIMEDOUT) {
    if (volt_permits_cancel_(q, kind, &w)) return VOLT_ETIMEDOUT;
    volt_park_until(&parker, 1, VOLT_NO_DEADLINE); /* its wake is on the way to our parker */
  }
  return volt_waiter_result(&w);
}

void volt_permits_release_(volt_fifo_ *q, const volt_permit_kind_ *kind, uint32_t n) {
  if (n == 0) return;
  uint64_t word;
  while (!volt_fifo_lock_if_queued_(q, &word)) {
    int32_t permits = volt_permits_in_(kind, word);
    permits_check_excess(q, kind, n, permits);
    if ((word & BOUNDED) && !kind->bound(q, word, n, permits)) continue;
    uint64_t next =
        volt_permits_word_(kind, (int32_t)((uint32_t)permits + n)) | VOLT_WORD_FLAGS_(word);
    /* permits:F1 -> permits:A1, permits:C1, permits:D1, permits:T1: permits taken from the word
     * carry their releasers' past; the last of *q */
    if (volt_cas_release(&q->word, &word, next)) return;
  }
  permits_check_excess(q, kind, n, volt_permits_there_(q));
  if (word & BOUNDED) (void)kind->bound(q, word, n, volt_permits_there_(q));
  if (!permits_grant_head_and_unlock(q, kind, word, n))
    volt_permits_serve_and_unlock_(q, kind, word, n);
}

bool volt_permits_cancel_(volt_fifo_ *q, const volt_permit_kind_ *kind, volt_waiter *w) {
  uint64_t word;
  uint32_t need;
  if (!volt_fifo_lock_to_cancel_(q, kind->name, w, &word, &need)) {
    return volt_waiter_result(w) == VOLT_ECANCELED;
  }
  volt_permits_serve_and_unlock_(q, kind, word, w->want - need);
  return true;
}

void volt_permits_close_(volt_fifo_ *q, const volt_permit_kind_ *kind) {
  uint64_t word;
  while (!volt_fifo_lock_if_queued_(q, &word)) {
    /* permits:F1 -> fifo:C1, permits:A1, permits:C1, permits:D1, permits:T1: a thread that sees
     * CLOSED, or takes permits, sees what came before the close */
    if (volt_cas_release(&q->word, &word, word | CLOSED)) return;
  }
  volt_permits_serve_and_unlock_(q, kind, word | CLOSED, 0);
}

bool volt_permits_complete_closed_(volt_fifo_ *q, const volt_permit_kind_ *kind, volt_waiter *w) {
  uint64_t word = volt_load_relaxed(&q->word); /* what is concluded from it, the lock confirms */
  if (!(word & CLOSED)) return false;
  if (!volt_fifo_lock_if_linked_(q, kind->name, w, &word)) {
    volt_waiter_await_(w); /* R4 */
    return true;
  }
  VOLT_ASSERT(volt_permits_gathered_(w) ==
              0); /* I4: the head, which had gathered some, was told first */
  volt_claimed_ claimed = volt_fifo_claim_(q, w);
  volt_permits_unlock_(q, kind, word, volt_permits_carried_(q)); /* R13 */
  volt_waiters_grant_(&claimed, 1, VOLT_WAITER_CLOSED_);
  return true;
}

void volt_permits_move_(volt_fifo_ *q, const volt_permit_kind_ *kind, volt_fifo_ *from,
                        uint64_t from_word, volt_waiter *last, uint32_t count) {
  for (volt_waiter *w = from->head; w != last; w = w->next) w->queue = q;
  last->queue = q;
  uint64_t word;
  uint32_t hand = 0;
  while (!volt_fifo_lock_if_queued_(q, &word)) {
    /* permits:A1 <- permits:F1, fifo:U1: permits taken from the word carry their releasers'
     * past; permits:L1 <- fifo:U1: whoever holds the lock sees what the last holder did; as in
     * acquire */
    if (volt_cas_acquire(&q->word, &word, QUEUED | LOCKED)) {
      hand = (uint32_t)volt_permits_in_(kind, word);
      break;
    }
  }
  volt_fifo_move_(q, from, last, count);
  volt_fifo_unlock_(from, from_word);
  volt_permits_serve_and_unlock_(q, kind, word, hand);
}

/* ---- life and inspection ---- */

void volt_permits_destroy_(volt_fifo_ *q, const volt_permit_kind_ *kind) {
  for (unsigned looks = 0;;) {
    /* permits:D1 <- permits:F1, fifo:U1: the object ends after the last release is done with it */
    uint64_t word = volt_load_acquire(&q->word);
    VOLT_CHECK(!(word & QUEUED), kind->name, "%p: destroyed while %u waiters are queued", (void *)q,
               volt_fifo_count_(q));
    if (!(word & VOLT_WORD_ALL_RETURNING_)) return;
    volt_pause_(&looks); /* R7 */
  }
}

uint32_t volt_permits_available_(const volt_fifo_ *q, const volt_permit_kind_ *kind) {
  uint64_t word = volt_load_relaxed(&q->word); /* a snapshot */
  if (word & QUEUED) return 0;
  int32_t permits = volt_permits_in_(kind, word);
  return permits < 0 ? 0 : (uint32_t)permits;
}

uint32_t volt_permits_held_(const volt_fifo_ *looked_at, const volt_permit_kind_ *kind) {
  volt_fifo_ *q = volt_fifo_to_look_at_(looked_at);
  uint64_t word;
  if (!volt_fifo_lock_if_queued_(q, &word))
    return kind->max - (uint32_t)volt_permits_in_(kind, word);
  int32_t there = volt_permits_there_(q);
  volt_fifo_unlock_exact_(q, word);
  return kind->max - (uint32_t)there;
}

/* ---- futures ---- */

static volt_fifo_ *permit_future_queue(volt_future *f) {
  return (volt_fifo_ *)f->object;
}

static const volt_permit_kind_ *permit_future_kind(const volt_future *f) {
  return ((const volt_permit_future_ops_ *)(const void *)f->ops)->kind;
}

int volt_permit_future_start_(volt_future *f, volt_waker waker) {
  return volt_permits_acquire_(permit_future_queue(f), permit_future_kind(f), &f->waiter, f->n,
                               waker);
}

bool volt_permit_future_cancel_(volt_future *f) {
  return volt_permits_cancel_(permit_future_queue(f), permit_future_kind(f), &f->waiter);
}

bool volt_permit_future_set_waker_(volt_future *f, volt_waker waker) {
  return volt_fifo_set_waker_(permit_future_queue(f), permit_future_kind(f)->name, &f->waiter,
                              waker);
}

void volt_permit_future_give_back_(volt_future *f) {
  volt_permits_release_(permit_future_queue(f), permit_future_kind(f), f->n);
}

bool volt_permit_future_due_(volt_future *f) {
  return volt_permits_complete_closed_(permit_future_queue(f), permit_future_kind(f), &f->waiter);
}
