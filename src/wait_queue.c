/* wait_queue.c: the FIFO that every primitive stands on.
 *
 * Algorithm: one 64-bit word (volt/wait_queue.h) says how many permits there are, or that somebody
 * waits. While nobody waits, permits come and go by one compare-and-swap. The first who has to wait
 * takes what there is and sets QUEUED and LOCKED in the same step; from then on everybody goes
 * through the lock (lock.h), which is a bit of the same word, so leaving it and letting go of what
 * is left are one step. A release serves the oldest waiters under the lock ("claim"), leaves it,
 * and only then tells them ("grant"), and then calls their wakers.
 *
 * Source: the semaphore of tokio and of Volt (waiters filled in parts, oldest first); glibc bug
 * 12674 for what a release must not touch.
 *
 * Invariants, whenever the lock is free
 *   I1  value > 0 => not QUEUED
 *   I2  QUEUED <=> the FIFO is not empty; rest > 0 => QUEUED and RETURNING
 *   I3  held + value + rest + gathered by the head = constant
 *   I4  only the head of the FIFO is partially served
 *   I5  a waiter is in one place: the FIFO (need > 0), claimed by one releaser (need = 0, state
 *       PENDING or AWAITED), or its owner's
 *
 * Races
 *   R1  An acquirer finds too little, a releaser finds nobody, permits lie beside a sleeper.
 *       Closed: both decide by a CAS on the one word, which says both things.
 *   R2  A release lets go of permits and then touches the object, which whoever got them has freed.
 *       Closed: the store that lets go is the one that leaves the lock, or the fast path's CAS, and
 *       nothing of the object is read or written after it. Waking sleepers is by address only.
 *   R3  The owner sees the grant and re-uses the waiter while the granter still reads it.
 *       Closed: unlink and copy the waker under the lock; the grant is the last access.
 *   R4  Cancel meets a releaser. Closed: need, under the lock, says who was first. If the releaser
 *       was, cancel waits for the grant; no foreign code runs between claim and grant.
 *   R5  A waker is replaced while the granter reads it. Closed: both under the lock.
 *   R6  A wake for the lock is kept by one who no longer needs it. In lock.h.
 *   R7  More waiters than a batch holds: the wakers of the first batch must not run under the lock,
 *       nor the rest be forgotten. Closed: leave the rest of the permits with the queue, wake, come
 *       back. Whoever has the lock meanwhile takes the rest along: no permit is ever out of sight.
 *       The word counts those who will come back; destroy() waits for them.
 *
 * Pairs
 *   L1 (acquire) <- U1 (release)   whoever holds the lock sees what the last holder did
 *   A1, T1 (acquire) <- U1, F1 (release)   permits taken from the word carry their
 *                                  releasers' past: its writes are all RMWs, one release sequence
 *                                  (T1 and F1 also in the fast paths, in the public headers)
 *   W1 (acquire) <- G1 (release)   the owner sees all that was done before the grant (waiter.c)
 *   C1 (acquire) <- U1, F1 (release)   who sees CLOSED sees what came before close()
 *   D1 (acquire) <- U1, F1 (release)   the object ends after the last release is done with it
 */
#include "wait_queue.h"

#include "check.h"
#include "futex.h"
#include "list.h"
#include "lock.h"
#include "park.h"

#define QUEUED VOLT_WORD_QUEUED_
#define LOCKED VOLT_WORD_LOCKED_
#define CLOSED VOLT_WORD_CLOSED_
#define RETURNING VOLT_WORD_RETURNING_

static uint32_t permits_in(const volt_kind_ *kind, uint64_t word) {
  return VOLT_WORD_VALUE_(word) ^ kind->full;
}

static uint64_t word_of(const volt_kind_ *kind, uint32_t permits) {
  return VOLT_WORD_(permits ^ kind->full);
}

/* What is given back and what is already there cannot be more than there ever were; and if nothing
 * is there, whoever has a share of the whole cannot be among the holders. */
static void check_excess(volt_wait_queue *q, const volt_kind_ *kind, uint32_t given,
                         uint32_t there) {
  VOLT_CHECK(given <= kind->max - there && !(given == kind->shared && there == 0), kind->name,
             "%p: %s (%u given back, %u there, at most %u)", (void *)q, kind->excess, given, there,
             kind->max);
}

/* Leave the lock, with so many permits in hand: if the FIFO is empty they become the word, else
 * they stay with the queue. The last access to *q. */
static void unlock(volt_wait_queue *q, const volt_kind_ *kind, uint64_t word, uint32_t permits) {
  uint64_t next = word & (CLOSED | VOLT_WORD_ALL_RETURNING_);
  if (q->head) {
    q->rest = permits;
    next |= QUEUED;
  } else {
    q->rest = 0;
    next |= word_of(kind, permits);
  }
  volt_unlock_(q, next);
}

static void append(volt_wait_queue *q, volt_waiter *w, uint32_t want, uint32_t need,
                   volt_waker waker) {
  volt_waiter_arm_(w, q, waker);
  w->want = want;
  w->need = need;
  volt_list_push_back_(q, w); /* published by U1 */
}

/* ---- serving ---- */

static void unlink_waiter(volt_wait_queue *q, volt_waiter *w) {
  VOLT_ASSERT((void *)w->queue == (void *)q);
  volt_list_remove_(q, w);
  w->need = 0; /* I5 */
#if VOLT_DEBUG
  w->next = w->prev = (volt_waiter *)(uintptr_t)0xdeadbeef; /* whoever follows it now faults */
#endif
}

static volt_claimed_ claim(volt_wait_queue *q, volt_waiter *w) {
  volt_claimed_ c = volt_waiter_claim_(w);
  unlink_waiter(q, w);
  return c;
}

bool volt_serve_permits_(volt_waiter *w, uint32_t *hand) {
  uint32_t need = w->need;
  uint32_t given = *hand < need ? *hand : need;
  w->need -= given;
  *hand -= given;
  return *hand > 0;
}

/* Everybody goes, with nothing; what the head had gathered comes back. */
static bool serve_close(volt_waiter *w, uint32_t *hand) {
  *hand += w->want - w->need;
  w->need = 0;
  return true;
}

/* Take the lock again, or if nobody is queued any more, say that we are done. Returns true: locked;
 * false: that was the last access to *q. */
static bool come_back(volt_wait_queue *q, uint64_t *word) {
  while (!volt_lock_if_queued_(q, word)) {
    if (volt_cas_release(&q->word, word, *word - RETURNING)) return false; /* F1: pairs D1 */
  }
  return true;
}

/* The lock is held, with hand permits to give: serve the FIFO from its head for as long as there is
 * to give (or, closed, to its end), leave the lock, tell those served, wake them. */
static void serve_and_unlock(volt_wait_queue *q, const volt_kind_ *kind, uint64_t word,
                             uint32_t hand) {
  for (;; word -= RETURNING, hand = 0) {
    volt_claimed_ batch[VOLT_WAKE_BATCH];
    unsigned count = 0;
    bool more = true;
    volt_serve_fn_ *serve = word & CLOSED ? serve_close : kind->serve;
    hand += q->rest;
    while (q->head && count < VOLT_WAKE_BATCH) {
      more = serve(q->head, &hand);
      if (q->head->need > 0) break; /* I4: served in part, if at all, and last */
      batch[count++] = claim(q, q->head);
      if (!more) break;
    }
    bool again = more && q->head && count == VOLT_WAKE_BATCH;
    if (again) word += RETURNING; /* R7 */
    VOLT_ASSERT(again || !q->head || hand == 0);
    unlock(q, kind, word, hand);
    volt_waiters_grant_(batch, count, word & CLOSED ? VOLT_WAITER_CLOSED_ : VOLT_WAITER_GRANTED_);
    if (!again || !come_back(q, &word)) return;
  }
}

/* ---- the operations ---- */

int volt_wait_queue_acquire_(volt_wait_queue *q, const volt_kind_ *kind, volt_waiter *w, uint32_t n,
                             volt_waker waker) {
  if (n > kind->max) return VOLT_EINVAL;
  if (n == 0) return VOLT_OK;
  volt_waiter_check_unused_(kind->name, w);
  for (;;) {
    uint64_t word;
    bool locked = volt_lock_if_queued_(q, &word);
    if (word & CLOSED) {
      if (locked) {
        unlock(q, kind, word, q->rest);
      } else {
        (void)volt_load_acquire(&q->word); /* C1: pairs U1, F1 */
      }
      return VOLT_ECLOSED;
    }
    uint32_t need = n;
    if (!locked) {
      uint32_t permits = permits_in(kind, word);
      VOLT_CHECK(permits != kind->shared || n != permits, kind->name, "%p: too many holders",
                 (void *)q);
      if (permits >= n) {
        uint64_t next = word_of(kind, permits - n) | VOLT_WORD_FLAGS_(word);
        if (volt_cas_acquire(&q->word, &word, next)) return VOLT_OK; /* A1: pairs U1, F1 */
        continue;
      }
      /* A1, L1: what there is becomes ours, and "somebody waits" true, in one step */
      if (!volt_cas_acquire(&q->word, &word, QUEUED | LOCKED)) continue;
      need = n - permits;
    }
    append(q, w, n, need, waker);
    unlock(q, kind, word, q->rest);
    return VOLT_PENDING;
  }
}

int volt_wait_queue_acquire_blocking_(volt_wait_queue *q, const volt_kind_ *kind, uint32_t n,
                                      uint64_t deadline_ns) {
  volt_waiter w = VOLT_WAITER_INIT;
  volt_parker parker = {0};
  int result = volt_wait_queue_acquire_(q, kind, &w, n, volt_parker_waker(&parker));
  if (result != VOLT_PENDING) return result;
  if (volt_park_until(&parker, 1, deadline_ns) == VOLT_ETIMEDOUT) {
    if (volt_wait_queue_cancel_(q, kind, &w)) return VOLT_ETIMEDOUT;
    volt_park_until(&parker, 1, VOLT_NO_DEADLINE); /* its wake is on the way to our parker */
  }
  return volt_waiter_result(&w);
}

void volt_wait_queue_release_(volt_wait_queue *q, const volt_kind_ *kind, uint32_t n) {
  if (n == 0) return;
  uint64_t word;
  while (!volt_lock_if_queued_(q, &word)) {
    uint32_t permits = permits_in(kind, word);
    check_excess(q, kind, n, permits);
    uint64_t next = word_of(kind, permits + n) | VOLT_WORD_FLAGS_(word);
    if (volt_cas_release(&q->word, &word, next)) return; /* F1: pairs A1, T1; the last of *q */
  }
  check_excess(q, kind, n, q->rest + q->head->want - q->head->need); /* I3, I4 */
  serve_and_unlock(q, kind, word, n);
}

/* Lock the queue *w was queued on. Returns true: *w is linked, and the lock is held. Returns false:
 * *w is claimed or granted. */
static bool lock_if_linked(volt_wait_queue *q, const volt_kind_ *kind, volt_waiter *w,
                           uint64_t *word) {
  VOLT_CHECK((void *)w->queue == (void *)q, kind->name, "waiter %p is queued on %p, not on %p",
             (void *)w, (void *)w->queue, (void *)q);
  if (!volt_lock_if_queued_(q, word)) return false; /* I2: the FIFO is empty */
  if (w->need > 0) return true;                     /* I5 */
  unlock(q, kind, *word, q->rest);
  return false;
}

bool volt_wait_queue_cancel_(volt_wait_queue *q, const volt_kind_ *kind, volt_waiter *w) {
  int result = volt_waiter_result(w);
  if (result != VOLT_PENDING) return result == VOLT_ECANCELED;
  uint64_t word;
  if (!lock_if_linked(q, kind, w, &word)) {
    volt_waiter_await_(w); /* R4 */
    return false;
  }
  uint32_t gathered = w->want - w->need;
  unlink_waiter(q, w);
  volt_store_relaxed(&w->state, VOLT_WAITER_UNUSED_); /* unlinked: the owner's own again */
  serve_and_unlock(q, kind, word, gathered);
  return true;
}

bool volt_wait_queue_set_waker_(volt_wait_queue *q, const volt_kind_ *kind, volt_waiter *w,
                                volt_waker waker) {
  if (volt_waiter_result(w) != VOLT_PENDING) return false;
  uint64_t word;
  if (!lock_if_linked(q, kind, w, &word)) {
    volt_waiter_await_(w); /* the old waker is called: its copy was taken with the claim */
    return false;
  }
  w->wake = waker.wake; /* R5 */
  w->ctx = waker.ctx;
  unlock(q, kind, word, q->rest);
  return true;
}

void volt_wait_queue_close_(volt_wait_queue *q, const volt_kind_ *kind) {
  uint64_t word;
  while (!volt_lock_if_queued_(q, &word)) {
    if (volt_cas_release(&q->word, &word, word | CLOSED)) return; /* F1: pairs C1 */
  }
  serve_and_unlock(q, kind, word | CLOSED, 0);
}

/* ---- life and inspection ---- */

void volt_wait_queue_init_(volt_wait_queue *q, uint32_t value) {
  volt_store_relaxed(&q->word, VOLT_WORD_(value)); /* not shared yet */
  q->head = NULL;
  q->tail = NULL;
  q->waiters = 0;
  q->rest = 0;
}

void volt_wait_queue_destroy_(volt_wait_queue *q, const volt_kind_ *kind) {
  for (;;) {
    uint64_t word = volt_load_acquire(&q->word); /* D1: pairs U1, F1 */
    VOLT_CHECK(!(word & QUEUED), kind->name, "%p: destroyed while %u waiters are queued", (void *)q,
               volt_wait_queue_waiters_(q, kind));
    if (!(word & VOLT_WORD_ALL_RETURNING_)) return;
    /* R7: a nap, for it may be anybody's code that keeps the release away; on a word of our own,
     * for a wake for those who sleep on the queue's would be lost on us (R6) */
    VOLT_ATOMIC(uint32_t) nap = 0;
    volt_futex_wait32_(&nap, 0, volt_deadline_ns(50000));
  }
}

uint32_t volt_wait_queue_waiters_(volt_wait_queue *q, const volt_kind_ *kind) {
  uint64_t word;
  if (!volt_lock_if_queued_(q, &word)) return 0;
  uint32_t waiters = q->waiters;
  unlock(q, kind, word, q->rest);
  return waiters;
}

uint32_t volt_wait_queue_available_(volt_wait_queue *q, const volt_kind_ *kind) {
  uint64_t word = volt_load_relaxed(&q->word); /* a snapshot */
  return word & QUEUED ? 0 : permits_in(kind, word);
}
