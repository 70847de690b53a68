/* permits.h: the engine that counts permits, on the FIFO (fifo.h), for the semaphore, the mutex and
 * the rwlock. permits.c says how it works.
 *
 * Each of the three is a volt_fifo_, an inline fast path on its word, and a volt_permit_kind_ that
 * describes it. The author of a kind writes sequential code: serve() runs under the lock. */
#ifndef VOLT_CORE_WAIT_PERMITS_H
#define VOLT_CORE_WAIT_PERMITS_H

#include <volt/detail/fifo.h>

#include "../future/leaf.h"
#include "../hooks/counters.h"
#include "../hooks/holding.h"
#include "fifo.h"

/* Give *w, the head of the FIFO, what it may have of *available: take it from w->need and from
 * *available. As an int32_t, *available is below 0 while there is an excess (permits.c); then
 * there is nothing to give. Returns whether the next waiter may be served, too. Runs under the
 * lock, so it calls no waker and touches no other object.
 * Not called in the common case: a head that is missing exactly *available permits is granted
 * directly, unless it, or the next waiter, has data (volt/detail/fifo.h). */
typedef bool volt_permits_serve_fn_(volt_waiter *w, uint32_t *available);

/* Abort if `given` permits, beside those that are `there`, are more than the limit. Called if the
 * word is BOUNDED, with that word. If the word has QUEUED, the caller has the lock, or the limit,
 * to itself, so the answer is exact. If not, the limit may have changed since the word was read:
 * returns false if the caller has to read the word again. */
typedef bool volt_permits_bound_fn_(volt_fifo_ *q, uint64_t word, uint32_t given, int32_t there);

typedef struct volt_permit_kind_ {
  volt_kind_ kind;    /* for messages and counts */
  const char *excess; /* for messages: the name of the error "more released than held" */
  uint32_t full;      /* the word's value is free permits XOR full: what a free mutex or rwlock
                       * has; 0 for a semaphore (volt/detail/fifo.h) */
  uint32_t max;       /* the most permits that exist, and that one waiter may want */
  uint32_t shared;    /* permits of a holder that shares the object (a reader); or 0 */
  volt_permits_serve_fn_ *serve;
  volt_permits_bound_fn_ *bound;               /* NULL: its words are never BOUNDED */
  const struct volt_future_ops_ *(*ops)(void); /* of a future of n permits */
  const struct volt_holdable_ *holds;          /* VOLT_HOLDS_() */
} volt_permit_kind_;

/* Each as the public function of semaphore.h; n is in permits. */
int volt_permits_acquire_(volt_fifo_ *q, const volt_permit_kind_ *kind, volt_waiter *w, uint32_t n,
                          volt_waker waker);
int volt_permits_acquire_until_(volt_fifo_ *q, const volt_permit_kind_ *kind, uint32_t n,
                                uint64_t deadline_ns);
void volt_permits_release_(volt_fifo_ *q, const volt_permit_kind_ *kind, uint32_t n);
bool volt_permits_cancel_(volt_fifo_ *q, const volt_permit_kind_ *kind, volt_waiter *w);
void volt_permits_close_(volt_fifo_ *q, const volt_permit_kind_ *kind);

/* R13: if the queue is closed, complete *w. Returns whether *w has completed. One load if the queue
 * is not closed. Called by the owner of *w, which has not seen it complete. */
bool volt_permits_complete_closed_(volt_fifo_ *q, const volt_permit_kind_ *kind, volt_waiter *w);

/* Move waiters from the front of *from to the end of *q, in the same order: all up to *last, which
 * are count. Each has been armed with the permits of *q that it wants. Then they are granted what
 * is available. The caller holds the lock of *from; this releases it, with from_word as its word,
 * before a moved waiter can be granted. Lock order: *from, then *q. */
void volt_permits_move_(volt_fifo_ *q, const volt_permit_kind_ *kind, volt_fifo_ *from,
                        uint64_t from_word, volt_waiter *last, uint32_t count);

/* End the life of *q. Aborts if a waiter is queued. Blocks while a release still has to take
 * the lock again (permits.c R7). */
void volt_permits_destroy_(volt_fifo_ *q, const volt_permit_kind_ *kind);

/* How many permits a caller could take now. */
uint32_t volt_permits_available_(const volt_fifo_ *q, const volt_permit_kind_ *kind);

/* How many permits are held, also while a waiter is queued. What a waiter has gathered is not. */
uint32_t volt_permits_held_(const volt_fifo_ *q, const volt_permit_kind_ *kind);

/* The usual serve(): as many permits as are missing, or as are available. */
bool volt_permits_serve_(volt_waiter *w, uint32_t *available);

/* ---- for semaphore_limit.c as well ---- */

/* How many permits are in word. Below 0: the excess. */
static inline int32_t volt_permits_in_(const volt_permit_kind_ *kind, uint64_t word) {
  return (int32_t)(VOLT_WORD_VALUE_(word) ^ kind->full);
}

/* The word's value for so many permits. */
static inline uint64_t volt_permits_word_(const volt_permit_kind_ *kind, int32_t permits) {
  return VOLT_WORD_((uint32_t)permits ^ kind->full);
}

/* How many permits a linked waiter has so far. */
static inline uint32_t volt_permits_gathered_(const volt_waiter *w) {
  return w->want - w->need;
}

/* Under the lock: the permits that a release has carried over to its next batch (R7). As an int32_t
 * below 0: the excess. */
static inline uint32_t volt_permits_carried_(const volt_fifo_ *q) {
  return q->rest;
}

/* Under the lock, with a waiter queued: how many permits are not held. */
static inline int32_t volt_permits_there_(const volt_fifo_ *q) {
  return (int32_t)(volt_permits_carried_(q) + volt_permits_gathered_(q->head)); /* I3, I4 */
}

/* Release the lock. `permits` are available: if the FIFO is empty they become the word's value,
 * else they are carried over. The last access to *q. */
static inline void volt_permits_unlock_(volt_fifo_ *q, const volt_permit_kind_ *kind, uint64_t word,
                                        uint32_t permits) {
  uint64_t next = word & (VOLT_WORD_CLOSED_ | VOLT_WORD_BOUNDED_ | VOLT_WORD_ALL_RETURNING_);
  if (q->head) {
    q->rest = permits;
    next |= VOLT_WORD_QUEUED_;
  } else {
    q->rest = 0;
    next |= volt_permits_word_(kind, (int32_t)permits);
  }
  volt_fifo_unlock_exact_(q, next);
}

/* The same for a caller that has queued a waiter. */
static inline void volt_permits_unlock_queued_(volt_fifo_ *q, uint64_t word, uint32_t permits) {
  const uint64_t kept = VOLT_WORD_CLOSED_ | VOLT_WORD_BOUNDED_ | VOLT_WORD_ALL_RETURNING_;
  VOLT_ASSERT(q->head);
  q->rest = permits;
  volt_fifo_unlock_exact_(q, (word & kept) | VOLT_WORD_QUEUED_);
}

/* CLOSED is set. Release the lock, which the caller holds. Returns VOLT_ECLOSED. */
static inline int volt_permits_refuse_locked_(volt_fifo_ *q, uint64_t word) {
  volt_fifo_unlock_exact_(q, word);
  return VOLT_ECLOSED;
}

/* CLOSED is set, and the lock is not held. */
static inline int volt_permits_refuse_(volt_fifo_ *q) {
  /* permits:C1 <- permits:F1, fifo:U1: a caller that is refused sees what came before close() */
  (void)volt_load_acquire(&q->word);
  return VOLT_ECLOSED;
}

/* Take n permits, or queue *w; n is 1 to kind->max, and *w is not in use. */
int volt_permits_take_or_queue_(volt_fifo_ *q, const volt_permit_kind_ *kind, volt_waiter *w,
                                uint32_t n, volt_waker waker);

/* One attempt of volt_permits_take_or_queue_(). word: a guess, with neither LOCKED nor CLOSED. Returns VOLT_EAGAIN if the
 * word has changed. */
static VOLT_INLINED_ int volt_permits_attempt_(volt_fifo_ *q, const volt_permit_kind_ *kind,
                                               volt_waiter *w, uint32_t n, const volt_waker *waker,
                                               uint64_t word) {
  if (word & VOLT_WORD_QUEUED_) {
    if (!volt_fifo_lock_from_(q, word)) return VOLT_EAGAIN;
    w->data = NULL;
    volt_fifo_append_(q, w, n, n, *waker);
    volt_count_wait_(kind->kind);
    volt_permits_unlock_queued_(q, word, volt_permits_carried_(q));
    return VOLT_PENDING;
  }
  int32_t permits = volt_permits_in_(kind, word);
  VOLT_CHECK(kind->shared == 0 || (uint32_t)permits != kind->shared || n != (uint32_t)permits,
             volt_kind_api_(kind->kind), "%p: too many holders", (void *)q);
  if (permits >= (int32_t)n) { /* n is at most max, which is below 2^31 */
    uint64_t next = volt_permits_word_(kind, permits - (int32_t)n) | VOLT_WORD_FLAGS_(word);
    /* permits:A1 <- permits:F1, fifo:U1: this thread sees what the releasers of the permits did */
    return volt_cas_acquire(&q->word, &word, next) ? VOLT_OK : VOLT_EAGAIN;
  }
  /* R1: takes what there is, and says that a waiter is queued.
   * permits:A1 <- permits:F1, fifo:U1: this thread sees what the releasers of the permits did;
   * permits:L1 <- fifo:U1: the holder of the lock sees what the last holder did */
  if (!volt_cas_acquire(&q->word, &word, VOLT_WORD_QUEUED_ | VOLT_WORD_LOCKED_)) return VOLT_EAGAIN;
  uint32_t excess = permits < 0 ? (uint32_t)permits : 0; /* it is carried over, too */
  uint32_t need = n - ((uint32_t)permits - excess);
  w->data = NULL;
  volt_fifo_append_first_(q, w, n, need, *waker); /* I2 */
  volt_count_wait_(kind->kind);
  volt_permits_unlock_queued_(q, word, excess);
  return VOLT_PENDING;
}

/* The lock is held. Serve waiters from the head on while permits are available; if CLOSED is set in
 * word, all waiters. Release the lock, grant the waiters that are served, and call their wakers. */
void volt_permits_serve_and_unlock_(volt_fifo_ *q, const volt_permit_kind_ *kind, uint64_t word,
                                    uint32_t available);

/* ---- releasing ---- */

/* Release n permits to the waiters in the FIFO. The lock is held; this call releases it. */
void volt_permits_release_locked_(volt_fifo_ *q, const volt_permit_kind_ *kind, uint64_t word,
                                  uint32_t n);

/* Fast path of volt_permits_release_locked_(), if the head is missing exactly n permits, none are
 * carried over, and the word has none of the flags. The n permits and those that the head has
 * gathered are what it wants, so they are not too many. Grants the head, releases the lock and
 * returns true. Else returns false: nothing is changed, and the lock is still held. */
static VOLT_INLINED_ bool volt_permits_grant_head_and_unlock_(volt_fifo_ *q,
                                                              const volt_permit_kind_ *kind,
                                                              uint64_t word, uint64_t flags,
                                                              uint32_t n) {
  volt_waiter *w = q->head;
  /* only serve() knows what a waiter with data wants, and whether the next one wants nothing */
  bool is_marked = kind->serve != volt_permits_serve_ && (w->data || (w->next && w->next->data));
  /* a head that has a prev was moved or made anew while it was queued: the slow path aborts */
  if (is_marked || w->need != n || w->prev) return false;
  if (volt_permits_carried_(q) != 0 || (word & flags)) return false;
  /* a reader's share is released, but none is held: the slow path aborts */
  if (kind->shared && n == kind->shared && w->want == n) return false;
  const volt_waker waker = {w->wake, w->ctx};
  volt_holdable_granted_(kind->holds, q, w);
  volt_fifo_remove_(q, w);
  volt_permits_unlock_(q, kind, word, 0);
  volt_count_claims_(kind->kind, 1, false); /* without the lock; the waker's call comes last */
  volt_waiter_grant_(w, waker, VOLT_WAITER_GRANTED_);
  return true;
}

/* volt_permits_release_(), inlined where the kind is known: one attempt at the fast path. */
static VOLT_INLINED_ void volt_permits_release_fast_(volt_fifo_ *q, const volt_permit_kind_ *kind,
                                                     uint32_t n) {
  uint64_t word = volt_load_relaxed(&q->word); /* a guess: the CAS decides */
  bool is_queued = (word & (VOLT_WORD_QUEUED_ | VOLT_WORD_LOCKED_)) == VOLT_WORD_QUEUED_;
  const uint64_t flags = VOLT_WORD_CLOSED_ | VOLT_WORD_BOUNDED_;
  if (!is_queued || !volt_fifo_lock_from_(q, word)) {
    volt_permits_release_(q, kind, n);
  } else if (!volt_permits_grant_head_and_unlock_(q, kind, word, flags, n)) {
    volt_permits_release_locked_(q, kind, word, n);
  }
}

/* ---- futures ----
 *
 * Each kind has a poll_ctx() of its own, in which the compiler knows the kind (leaf.h). */

/* The operations of a future that takes as many permits as its argument says. */
typedef struct volt_permit_future_ops_ {
  volt_future_ops_ base; /* first */
  const volt_permit_kind_ *kind;
} volt_permit_future_ops_;

int volt_permit_future_start_(volt_future *f, volt_waker waker);
bool volt_permit_future_cancel_(volt_future *f);
bool volt_permit_future_set_waker_(volt_future *f, volt_waker waker);
void volt_permit_future_give_back_(volt_future *f);
bool volt_permit_future_due_(volt_future *f);

/* As start(), if the lock is free; else VOLT_EAGAIN (leaf.h). */
static VOLT_INLINED_ int volt_permit_future_start_fast_(volt_future *f,
                                                        const volt_permit_kind_ *kind,
                                                        const volt_waker *waker) {
  volt_fifo_ *q = (volt_fifo_ *)f->object;
  uint64_t word = volt_load_relaxed(&q->word);   /* a guess: the CAS decides */
  bool fits = volt_future_n_(f) - 1 < kind->max; /* and is not 0 */
  if (!fits || (word & (VOLT_WORD_LOCKED_ | VOLT_WORD_CLOSED_))) return VOLT_EAGAIN;
  return volt_permits_attempt_(q, kind, &f->waiter, volt_future_n_(f), waker, word);
}

#define VOLT_PERMIT_FUTURE_OPS_(its_operation, its_object_kind, its_kind, its_poll_ctx, \
                                its_describe, its_holdable)                             \
  {                                                                                     \
    .base = {.operation = (its_operation),                                              \
             .kind = (its_object_kind),                                                 \
             .start = volt_permit_future_start_,                                        \
             .cancel = volt_permit_future_cancel_,                                      \
             .set_waker = volt_permit_future_set_waker_,                                \
             .give_back = volt_permit_future_give_back_,                                \
             .due = volt_permit_future_due_,                                            \
             .poll_ctx = (its_poll_ctx),                                                \
             .describe = (its_describe),                                                \
             .holds = VOLT_HOLDS_(its_holdable)},                                       \
    .kind = (its_kind)                                                                  \
  }

#endif
