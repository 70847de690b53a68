/* fifo.h: the FIFO of waiters that every primitive embeds, and its lock. fifo.c says how it works.
 *
 * One FIFO, and three engines on it: permits (permits.h), monitor (monitor.h), channel
 * (sync/channel.c). All that they share is here: the lock, the list, the first half of a cancel,
 * and a new waker for a waiter. */
#ifndef VOLT_CORE_WAIT_FIFO_H
#define VOLT_CORE_WAIT_FIFO_H

#include <volt/detail/fifo.h>

#include "../hooks/counters.h"
#include "../os/check.h"
#include "../os/probe.h"
#include "../park/spin.h"
#include "grant.h"

/* How many waiters are completed at most before the lock is released to call their wakers. */
#ifndef VOLT_WAKE_BATCH
#define VOLT_WAKE_BATCH 32
#endif

/* Make *q empty and open; value is that of its word. */
void volt_fifo_init_(volt_fifo_ *q, uint32_t value);

/* ---- the lock ---- */

/* Take the lock. *word is what the word was. */
static inline void volt_fifo_lock_(volt_fifo_ *q, uint64_t *word) {
  for (unsigned spins = 0;;) {
    uint64_t seen = volt_load_relaxed(&q->word); /* a guess: the CAS decides */
    if (seen & VOLT_WORD_LOCKED_) {
      volt_pause_(&spins);
      /* fifo:L1 <- fifo:U1, latch:F1, notify:F1: the holder sees what the last holder did */
    } else if (volt_cas_acquire(&q->word, &seen, seen | VOLT_WORD_LOCKED_)) {
      *word = seen;
      return;
    }
  }
}

/* Take the lock if a waiter is queued. Returns true: the lock is held, and *word is what the word
 * was. Returns false: no waiter was queued when *word was read. */
static inline bool volt_fifo_lock_if_queued_(volt_fifo_ *q, uint64_t *word) {
  for (unsigned spins = 0;;) {
    *word = volt_load_relaxed(&q->word); /* a guess: the CAS decides */
    if (!(*word & VOLT_WORD_QUEUED_)) return false;
    if (*word & VOLT_WORD_LOCKED_) {
      volt_pause_(&spins);
      /* fifo:L1 <- fifo:U1, bypass:F1, latch:F1, notify:F1: the holder sees what the last
       * holder did */
    } else if (volt_cas_acquire(&q->word, word, *word | VOLT_WORD_LOCKED_)) {
      return true;
    }
  }
}

/* Take the lock, and set QUEUED: the caller will append a waiter. *word is what the word was. Only
 * for objects where LOCKED is set together with QUEUED. */
static inline void volt_fifo_lock_to_queue_(volt_fifo_ *q, uint64_t *word) {
  while (!volt_fifo_lock_if_queued_(q, word)) {
    /* fifo:L1 <- fifo:U1, bypass:F1, permits:F1: the holder sees what the last holder, and the
     * releases since, did */
    if (volt_cas_acquire(&q->word, word, *word | VOLT_WORD_QUEUED_ | VOLT_WORD_LOCKED_)) return;
  }
}

/* Take the lock if the word is still `word`, in which LOCKED is clear. Returns whether it is held
 * now. */
static inline bool volt_fifo_lock_from_(volt_fifo_ *q, uint64_t word) {
  /* fifo:L1 <- fifo:U1, latch:F1, notify:F1: the holder sees what the last holder did */
  return volt_cas_acquire(&q->word, &word, word | VOLT_WORD_LOCKED_);
}

/* Take the lock if it is free. Returns whether it is held now; *word is what the word was. */
static inline bool volt_fifo_try_lock_(volt_fifo_ *q, uint64_t *word) {
  *word = volt_load_relaxed(&q->word); /* a guess: the CAS decides */
  if (*word & VOLT_WORD_LOCKED_) return false;
  /* fifo:L1 <- fifo:U1, latch:F1, notify:F1: the holder sees what the last holder did */
  return volt_cas_acquire(&q->word, word, *word | VOLT_WORD_LOCKED_);
}

/* Whether CLOSED is set. One load. */
static inline bool volt_fifo_is_closed_(const volt_fifo_ *q) {
  /* fifo:C1 <- fifo:U1, permits:F1: a thread that sees CLOSED sees what came before the close */
  return (volt_load_acquire(&q->word) & VOLT_WORD_CLOSED_) != 0;
}

/* For inspection: the FIFO of an object that is const to its caller. Only the lock bit changes. */
static inline volt_fifo_ *volt_fifo_to_inspect_(const volt_fifo_ *q) {
  return (volt_fifo_ *)(uintptr_t)q;
}

/* word counts this thread in RETURNING: abort if there was no room for it. */
static inline void volt_fifo_check_returning_(uint64_t word) {
  VOLT_CHECK((word & VOLT_WORD_ALL_RETURNING_) != 0, "volt",
             "more than %u threads call wakers of one object", 0xffffu);
}

/* Release the lock; the word becomes next, bit for bit. The last access to *q. */
static inline void volt_fifo_unlock_exact_(volt_fifo_ *q, uint64_t next) {
  /* fifo:U1 -> fifo:C1, fifo:L1, budget:P1, bypass:A1, bypass:L1, channel:C1, channel:L1, channel:P1,
   * latch:T1, describe:Q1, monitor:D1, notify:T1, once:T1, permits:A1, permits:C1, permits:D1,
   * permits:L1, permits:T1, token:C1: the next holder, and each reader of the word, sees what this
   * holder did */
  volt_store_release(&q->word, next);
}

/* Release the lock; the word becomes `word`, but QUEUED says whether the FIFO is empty. The last
 * access to *q. */
static inline void volt_fifo_unlock_(volt_fifo_ *q, uint64_t word) {
  const uint64_t queued = VOLT_WORD_QUEUED_;
  volt_fifo_unlock_exact_(q, q->head ? word | queued : word & ~queued);
}

/* ---- for the thread that holds the lock ---- */

/* Whether *w is still in the FIFO that it was last appended to. */
static inline bool volt_fifo_is_linked_(const volt_waiter *w) {
  return w->need > 0; /* I5 */
}

/* Append *w, which is armed. */
static inline void volt_fifo_push_back_(volt_fifo_ *q, volt_waiter *w) {
  VOLT_CHECK(q->tail != w, "volt_waiter", "%p was made anew while it was queued on %p", (void *)w,
             (void *)q);
  w->next = NULL;
  w->prev = q->tail;
  if (q->tail) {
    q->tail->next = w;
  } else {
    q->head = w;
  }
  q->tail = w;
  q->waiters += 1;
}

/* Arm *w, which becomes PENDING, and append it. want, need: see detail/fifo.h; need is above 0. */
static inline void volt_fifo_append_(volt_fifo_ *q, volt_waiter *w, uint32_t want, uint32_t need,
                                     volt_waker waker) {
  w->want = want;
  volt_waiter_arm_(w, q, waker);
  VOLT_PROBE_ARMED(wait__begin, w);
  w->need = need;
  volt_fifo_push_back_(q, w); /* published by U1 */
}

/* As volt_fifo_append_(), to a FIFO that is empty. */
static inline void volt_fifo_append_first_(volt_fifo_ *q, volt_waiter *w, uint32_t want,
                                           uint32_t need, volt_waker waker) {
  VOLT_ASSERT(!q->head && !q->tail && q->waiters == 0);
  w->want = want;
  volt_waiter_arm_(w, q, waker);
  VOLT_PROBE_ARMED(wait__begin, w);
  w->need = need;
  w->next = NULL;
  w->prev = NULL;
  q->head = w;
  q->tail = w;
  q->waiters = 1;
}

/* Unlink *w. If its neighbours do not point to it, it was moved, copied or queued twice, and this
 * aborts. The check reads only what is written next anyway. */
static VOLT_INLINED_ void volt_fifo_unlink_(volt_fifo_ *q, volt_waiter *w) {
  VOLT_CHECK((w->prev ? w->prev->next == w : q->head == w) &&
                 (w->next ? w->next->prev == w : q->tail == w),
             "volt_waiter", "%p or its neighbour on %p was moved or made anew while it was queued",
             (void *)w, (void *)q);
  if (w->prev) {
    w->prev->next = w->next;
  } else {
    q->head = w->next;
  }
  if (w->next) {
    w->next->prev = w->prev;
  } else {
    q->tail = w->prev;
  }
  q->waiters -= 1;
}

/* Unlink *w for good: the caller gives it back to its owner, or has claimed it. */
static inline void volt_fifo_remove_(volt_fifo_ *q, volt_waiter *w) {
  VOLT_ASSERT((void *)w->queue == (void *)q);
  volt_fifo_unlink_(q, w);
  w->need = 0; /* I5 */
#if VOLT_DEBUG
  w->next = w->prev = (volt_waiter *)(uintptr_t)0xdeadbeef; /* to follow it is a fault */
#endif
}

/* Unlink *w for its owner, which gives up: it is the owner's own again. */
static inline void volt_fifo_withdraw_(volt_fifo_ *q, volt_waiter *w) {
  volt_fifo_remove_(q, w);
  volt_store_relaxed(&w->state, VOLT_WAITER_UNUSED_); /* not shared any more */
  VOLT_PROBE_ARMED(cancel, w);
}

/* Claim *w: unlink it, and copy its waker. The caller grants it after it has released the lock
 * (volt_waiters_grant_()). */
static inline volt_claimed_ volt_fifo_claim_(volt_fifo_ *q, volt_waiter *w) {
  volt_claimed_ claimed = volt_waiter_claim_(w);
  volt_fifo_remove_(q, w);
  return claimed;
}

/* Move waiters from the front of *from to the end of *to, in the same order: all up to *last, which
 * are count. The lock of *from is held; this releases it, with from_word as its word. The lock of
 * *to is held from then on, with *word as its word before. Lock order: *from, then *to. */
void volt_fifo_move_(volt_fifo_ *to, uint64_t *word, volt_fifo_ *from, uint64_t from_word,
                     volt_waiter *last, uint32_t count);

/* ---- for threads without the lock; kind: of the object, for messages and counts ---- */

/* Take the lock if *w is still linked. Returns true: it is, and the lock is held. Returns false: a
 * granter had claimed *w, and *w has completed. */
bool volt_fifo_lock_if_linked_(volt_fifo_ *q, volt_kind_ kind, volt_waiter *w, uint64_t *word);

/* After the wakers of a batch, for a thread that *word counts in RETURNING. Returns true: the lock
 * is held again. Returns false: no waiter is queued; this thread is not counted any more, and that
 * was its last access to *q. */
bool volt_fifo_lock_again_(volt_fifo_ *q, uint64_t *word);

/* The first half of a cancel. Returns true: *w was linked and is its owner's again, *need is what
 * it was missing, and the lock is held. Returns false: *w has completed, or was cancelled
 * before. */
bool volt_fifo_lock_to_cancel_(volt_fifo_ *q, volt_kind_ kind, volt_waiter *w, uint64_t *word,
                               uint32_t *need);

/* A whole cancel, as the public volt_<primitive>_cancel(), for primitives that have nothing else to
 * undo. */
bool volt_fifo_cancel_(volt_fifo_ *q, volt_kind_ kind, volt_waiter *w);

/* Complete *w with state. If a granter has claimed it, wait for that grant instead. Only
 * for objects of whose word nothing but QUEUED depends on *w. */
void volt_fifo_complete_(volt_fifo_ *q, volt_kind_ kind, volt_waiter *w, uint32_t state);

/* As volt_waiter_set_waker(). */
bool volt_fifo_set_waker_(volt_fifo_ *q, volt_kind_ kind, volt_waiter *w, volt_waker waker);

/* How many waiters are linked. */
uint32_t volt_fifo_count_(const volt_fifo_ *q);

#endif
