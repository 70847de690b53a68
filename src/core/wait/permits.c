/* permits.c: the engine that counts permits, for the semaphore, the mutex and the rwlock.
 *
 * Algorithm
 *   One 64-bit word (volt/detail/fifo.h) says how many permits are free, or that a waiter is
 *   queued. While no waiter is queued, permits come and go by one compare-and-swap on the word.
 *   The first thread that has to wait takes the free permits and sets QUEUED and LOCKED by the same
 *   compare-and-swap. From then on every operation takes the lock (fifo.h) until the FIFO is empty.
 *   The lock is a bit of the same word. So the store that releases the lock also publishes the
 *   permits that are left.
 *   A release serves the oldest waiters under the lock: it gives them permits, and claims those
 *   that have all they want. It releases the lock. It grants the claimed waiters, and calls their
 *   wakers.
 *   The number of free permits is signed. It falls below 0 when a semaphore's limit is lowered to
 *   less than what is held. This difference is the excess; the releases that follow reduce it to 0
 *   before any waiter is served.
 *
 * Source: the semaphores of Tokio and of the article about Volt (docs/errata.md), where waiters are
 * served in parts and oldest first; glibc bug 12674 for what a release must not touch.
 *
 * Invariants, whenever the lock is free (the numbers are shared by fifo.c, grant.c and permits.c,
 * and semaphore.c goes on from here)
 *   I1  If QUEUED is set, the word has no free permits. ("Free" below: the word's value XOR full
 *       while QUEUED is clear, and 0 while it is set.)
 *   I2  QUEUED is set exactly if the FIFO is not empty. Permits are carried over (carried > 0) only
 *       while QUEUED is set and RETURNING counts a thread that will give them out.
 *   I3  held + free + carried + gathered by the head is constant, but for a change of the limit
 *       (volt_sem_limit_change_()) and for a release of permits that were never acquired. free, or
 *       carried, is below 0 while there is an excess.
 *   I4  Only the head of the FIFO has gathered some of its permits.
 *   I5  In fifo.c: a waiter is in one place.
 *
 * Races
 *   R1  Interleaving: an acquirer finds too few permits; a releaser finds no waiter and adds its
 *       permits to the word; the acquirer queues beside free permits, and sleeps. Prevented by:
 *       both decide by a compare-and-swap on one word, which has both answers.
 *   R2  Interleaving: a release makes permits available and then touches the object, which the
 *       thread that took them has freed. Prevented by: the permits become available by the store
 *       that releases the lock, or by the compare-and-swap of the fast path. Nothing of the object
 *       is read or written after it.
 *   R3, R8  In grant.c: a waiter is re-used once it is granted; its owner sleeps until then.
 *   R4, R5  In fifo.c: a cancel, or a new waker, meets a granter.
 *   R7  Interleaving: a release serves more waiters than a batch holds, and calls their wakers
 *       under the lock; a waker uses the same object, and waits for its own thread. Prevented by:
 *       after each batch the release carries its permits over in the FIFO, releases the lock, calls
 *       the wakers, and takes the lock again. Any thread that has the lock in between gives out
 *       what is carried over, so no permit is out of reach. RETURNING counts the threads that will
 *       take the lock again, and destroy() waits for them.
 *   R13 Interleaving: a semaphore is closed; a waiting future is polled before the closing thread
 *       has completed it, and stays pending, while a new future is refused. Prevented by: the poll
 *       sees CLOSED, takes the lock, and completes the future. */
#include "permits.h"

#include "../hooks/wait_times.h"
#include "../os/check.h"
#include "../park/blocker.h"
#include "../park/call.h"
#include "../park/spin.h"
#include "fifo.h"

#define QUEUED VOLT_WORD_QUEUED_
#define LOCKED VOLT_WORD_LOCKED_
#define CLOSED VOLT_WORD_CLOSED_
#define BOUNDED VOLT_WORD_BOUNDED_
#define RETURNING VOLT_WORD_RETURNING_

/* given: permits to be released. there: permits that are not held. Abort if together they are more
 * than exist. Also if a share is released (a reader's) while none is there: then a writer holds the
 * object. */
static void permits_check_release(volt_fifo_ *q, const volt_permit_kind_ *kind, uint32_t given,
                                  int32_t there) {
  bool fits = given <= kind->max - (uint32_t)there; /* modulo 2^32, as `there` may be below 0 */
  bool takes_a_writers = kind->shared != 0 && given == kind->shared && there == 0;
  VOLT_CHECK(fits && !takes_a_writers, volt_kind_api_(kind->kind),
             "%p: %s (%u given back, %d there, at most %u)", (void *)q, kind->excess, given, there,
             kind->max);
}

/* ---- serving ---- */

bool volt_permits_serve_(volt_waiter *w, uint32_t *available) {
  uint32_t need = w->need;
  if ((int32_t)*available <= 0) return false;
  uint32_t given = *available < need ? *available : need;
  w->need -= given;
  *available -= given;
  return *available > 0;
}

/* The queue is closed: *w leaves the FIFO without permits, and gives back those it had gathered. */
static bool permits_serve_closed(volt_waiter *w, uint32_t *available) {
  *available += volt_permits_gathered_(w);
  w->need = 0;
  return true;
}

void volt_permits_serve_and_unlock_(volt_fifo_ *q, const volt_permit_kind_ *kind, uint64_t word,
                                    uint32_t available) {
  for (;; word -= RETURNING, available = 0) {
    volt_claimed_ batch[VOLT_WAKE_BATCH];
    unsigned count = 0;
    bool more = true;
    volt_permits_serve_fn_ *serve = word & CLOSED ? permits_serve_closed : kind->serve;
    available += volt_permits_carried_(q);
    while (q->head && count < VOLT_WAKE_BATCH) {
      more = serve(q->head, &available);
      if (q->head->need > 0) break; /* I4: served in part or not at all; it is the last */
      if (!(word & CLOSED)) volt_holdable_granted_(kind->holds, q, q->head);
      batch[count++] = volt_fifo_claim_(q, q->head);
      if (!more) break;
    }
    bool again = more && q->head && count == VOLT_WAKE_BATCH;
    if (again) word += RETURNING; /* R7 */
    VOLT_ASSERT(again || !q->head || (int32_t)available <= 0);
    volt_permits_unlock_(q, kind, word, available);
    if (VOLT_LIKELY(!(word & CLOSED))) {
      volt_count_claims_(kind->kind, count, false);
      volt_waiters_grant_(batch, count, VOLT_WAITER_GRANTED_);
    } else {
      volt_count_claims_(kind->kind, count, true);
      volt_waiters_grant_(batch, count, VOLT_WAITER_CLOSED_);
    }
    if (!again || !volt_fifo_lock_again_(q, &word)) return; /* R7 */
  }
}

/* ---- the operations ---- */

int volt_permits_acquire_(volt_fifo_ *q, const volt_permit_kind_ *kind, volt_waiter *w, uint32_t n,
                          volt_waker waker) {
  if (n > kind->max) return VOLT_EINVAL;
  if (n == 0) return VOLT_OK;
  volt_waiter_check_unused_(kind->kind, w);
  return volt_permits_take_or_queue_(q, kind, w, n, waker);
}

int volt_permits_take_or_queue_(volt_fifo_ *q, const volt_permit_kind_ *kind, volt_waiter *w,
                                uint32_t n, volt_waker waker) {
  for (unsigned spins = 0;;) {
    uint64_t word = volt_load_relaxed(&q->word); /* a guess: the CAS decides */
    if (word & CLOSED) return volt_permits_refuse_(q);
    if (word & LOCKED) {
      volt_pause_(&spins);
      continue;
    }
    int result = volt_permits_attempt_(q, kind, w, n, &waker, word);
    if (result != VOLT_EAGAIN) return result;
  }
}

/* Spin for n permits, for about 10 us. Returns false if the caller has to queue. It overtakes no
 * queued waiter, because there is nothing to take while one is queued. */
static bool permits_spin_and_take(volt_fifo_ *q, const volt_permit_kind_ *kind, uint32_t n,
                                  uint64_t deadline_ns) {
  volt_spin_ spins = {0, 0};
  do {
    uint64_t word = volt_load_relaxed(&q->word); /* a guess: the CAS decides */
    if (word & CLOSED) return false;
    int32_t permits = volt_permits_in_(kind, word);
    bool last_share = (uint32_t)permits == kind->shared && n == (uint32_t)permits; /* will abort */
    if ((word & QUEUED) || permits < (int32_t)n || last_share) continue;
    uint64_t next = volt_permits_word_(kind, permits - (int32_t)n) | VOLT_WORD_FLAGS_(word);
    /* permits:A1 <- permits:F1, fifo:U1: this thread sees what the releasers of the permits did */
    if (volt_cas_acquire(&q->word, &word, next)) return true;
  } while (volt_spin_again_(&spins, deadline_ns));
  return false;
}

/* *w is queued, with the waker of *parker. */
static int permits_block(volt_fifo_ *q, const volt_permit_kind_ *kind, uint32_t n, volt_waiter *w,
                         volt_parker *parker, uint64_t deadline_ns) {
  const volt_call_ call = {.name = volt_kind_api_(kind->kind),
                           .kind = kind->kind,
                           .ops = kind->ops(),
                           .object = q,
                           .n = n,
                           .waiter = w};
  if (volt_park_in_(&call, parker, 1, deadline_ns) == VOLT_ETIMEDOUT) {
    if (volt_permits_cancel_(q, kind, w)) {
      volt_count_(kind->kind, VOLT_COUNTER_TIMEOUTS_);
      return VOLT_ETIMEDOUT;
    }
    volt_park_out_(parker, 1); /* granted: its wake will use *parker */
  }
  return volt_waiter_result(w);
}

int volt_permits_acquire_until_(volt_fifo_ *q, const volt_permit_kind_ *kind, uint32_t n,
                                uint64_t deadline_ns) {
  if (n > kind->max) return VOLT_EINVAL;
  if (n == 0) return VOLT_OK;
  volt_blocker_ *fiber = volt_fiber_blocker_();
  if (fiber) return volt_future_suspend_(fiber, kind->ops(), q, n, deadline_ns);
  if (permits_spin_and_take(q, kind, n, deadline_ns)) return VOLT_OK;
  volt_waiter w = VOLT_WAITER_INIT;
  volt_parker parker = {0};
  int result = volt_permits_acquire_(q, kind, &w, n, volt_parker_waker(&parker));
  if (result != VOLT_PENDING) return result;
  uint64_t since_ns = volt_wait_times_start_();
  result = permits_block(q, kind, n, &w, &parker, deadline_ns);
  volt_wait_times_stop_(kind->kind, q, since_ns);
  return result;
}

void volt_permits_release_locked_(volt_fifo_ *q, const volt_permit_kind_ *kind, uint64_t word,
                                  uint32_t n) {
  permits_check_release(q, kind, n, volt_permits_there_(q));
  if (word & BOUNDED) (void)kind->bound(q, word, n, volt_permits_there_(q));
  if (!volt_permits_grant_head_and_unlock_(q, kind, word, CLOSED, n))
    volt_permits_serve_and_unlock_(q, kind, word, n);
}

void volt_permits_release_(volt_fifo_ *q, const volt_permit_kind_ *kind, uint32_t n) {
  if (n == 0) return;
  uint64_t word;
  while (!volt_fifo_lock_if_queued_(q, &word)) {
    int32_t permits = volt_permits_in_(kind, word);
    permits_check_release(q, kind, n, permits);
    if ((word & BOUNDED) && !kind->bound(q, word, n, permits)) continue;
    uint64_t next =
        volt_permits_word_(kind, (int32_t)((uint32_t)permits + n)) | VOLT_WORD_FLAGS_(word);
    /* R2: the last access to *q. permits:F1 <-> permits:A1, permits:C1, permits:D1, permits:T1: a
     * thread that takes the permits sees what this one did before;
     * permits:A1 <-> permits:F1, fifo:U1: this thread sees what came before a change of the limit
     * (semaphore.c R15) */
    if (volt_cas_acq_rel(&q->word, &word, next)) return;
  }
  volt_permits_release_locked_(q, kind, word, n);
}

bool volt_permits_cancel_(volt_fifo_ *q, const volt_permit_kind_ *kind, volt_waiter *w) {
  uint64_t word;
  uint32_t need;
  if (!volt_fifo_lock_to_cancel_(q, kind->kind, w, &word, &need)) {
    return volt_waiter_result(w) == VOLT_ECANCELED;
  }
  volt_count_cancel_(kind->kind);
  volt_permits_serve_and_unlock_(q, kind, word, w->want - need);
  return true;
}

void volt_permits_close_(volt_fifo_ *q, const volt_permit_kind_ *kind) {
  uint64_t word;
  VOLT_PROBE1(close, q);
  while (!volt_fifo_lock_if_queued_(q, &word)) {
    /* permits:F1 -> fifo:C1, permits:A1, permits:C1, permits:D1, permits:T1: a thread that sees
     * CLOSED, or takes permits, sees what came before the close */
    if (volt_cas_release(&q->word, &word, word | CLOSED)) return;
  }
  volt_permits_serve_and_unlock_(q, kind, word | CLOSED, 0);
}

bool volt_permits_complete_closed_(volt_fifo_ *q, const volt_permit_kind_ *kind, volt_waiter *w) {
  uint64_t word = volt_load_relaxed(&q->word); /* a hint, which the lock confirms */
  if (!(word & CLOSED)) return false;
  if (!volt_fifo_lock_if_linked_(q, kind->kind, w, &word)) return true; /* fifo.c R4 */
  VOLT_ASSERT(volt_permits_gathered_(w) == 0); /* I4: the head is claimed first */
  volt_count_claims_(kind->kind, 1, true);
  volt_claimed_ claimed = volt_fifo_claim_(q, w);
  volt_permits_unlock_(q, kind, word, volt_permits_carried_(q)); /* R13 */
  volt_waiters_grant_(&claimed, 1, VOLT_WAITER_CLOSED_);
  return true;
}

void volt_permits_move_(volt_fifo_ *q, const volt_permit_kind_ *kind, volt_fifo_ *from,
                        uint64_t from_word, volt_waiter *last, uint32_t count) {
  uint64_t word;
  volt_fifo_move_(q, &word, from, from_word, last, count);
  volt_count_many_(kind->kind, VOLT_COUNTER_WAITS_, count);
  uint32_t available = word & QUEUED ? 0 : (uint32_t)volt_permits_in_(kind, word); /* I1 */
  volt_permits_serve_and_unlock_(q, kind, word, available);
}

/* ---- life and inspection ---- */

void volt_permits_destroy_(volt_fifo_ *q, const volt_permit_kind_ *kind) {
  for (unsigned spins = 0;;) {
    /* permits:D1 <- bypass:F1, fifo:F1, permits:F1, fifo:U1: the object ends after the last access of each
     * release */
    uint64_t word = volt_load_acquire(&q->word);
    VOLT_CHECK(!(word & QUEUED), volt_kind_api_(kind->kind),
               "%p: destroyed while %u waiters are queued", (void *)q, volt_fifo_count_(q));
    if (!(word & VOLT_WORD_ALL_RETURNING_)) return;
    volt_pause_(&spins); /* R7 */
  }
}

uint32_t volt_permits_available_(const volt_fifo_ *q, const volt_permit_kind_ *kind) {
  uint64_t word = volt_load_relaxed(&q->word); /* a snapshot */
  if (word & QUEUED) return 0;
  int32_t permits = volt_permits_in_(kind, word);
  return permits < 0 ? 0 : (uint32_t)permits;
}

uint32_t volt_permits_held_(const volt_fifo_ *inspected, const volt_permit_kind_ *kind) {
  volt_fifo_ *q = volt_fifo_to_inspect_(inspected);
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
  const volt_permit_kind_ *kind = permit_future_kind(f);
  if (volt_future_n_(f) > kind->max) return VOLT_EINVAL;
  if (volt_future_n_(f) == 0) return VOLT_OK;
  return volt_permits_take_or_queue_(permit_future_queue(f), kind, &f->waiter, volt_future_n_(f),
                                     waker);
}

bool volt_permit_future_cancel_(volt_future *f) {
  return volt_permits_cancel_(permit_future_queue(f), permit_future_kind(f), &f->waiter);
}

bool volt_permit_future_set_waker_(volt_future *f, volt_waker waker) {
  return volt_fifo_set_waker_(permit_future_queue(f), permit_future_kind(f)->kind, &f->waiter,
                              waker);
}

void volt_permit_future_give_back_(volt_future *f) {
  volt_holdable_returned_(f->ops->holds, f->object, volt_future_n_(f));
  volt_permits_release_(permit_future_queue(f), permit_future_kind(f), volt_future_n_(f));
}

bool volt_permit_future_due_(volt_future *f) {
  return volt_permits_complete_closed_(permit_future_queue(f), permit_future_kind(f), &f->waiter);
}
