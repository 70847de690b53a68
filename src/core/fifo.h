/* fifo.h: the FIFO of waiters that every primitive embeds, and its lock. The protocol is in fifo.c. */
#ifndef VOLT_CORE_FIFO_H
#define VOLT_CORE_FIFO_H

#include <volt/detail/fifo.h>

#include "check.h"
#include "grant.h"
#include "spin.h"

/* How many waiters one turn of the lock serves at most. */
#ifndef VOLT_WAKE_BATCH
#define VOLT_WAKE_BATCH 32
#endif

/* value: of the word. */
void volt_fifo_init_(volt_fifo_ *q, uint32_t value);

/* ---- the lock ---- */

/* Take the lock: *word is what the word was. */
static inline void volt_fifo_lock_(volt_fifo_ *q, uint64_t *word) {
  for (unsigned looks = 0;;) {
    *word = volt_load_relaxed(&q->word); /* a guess: the CAS decides */
    if (*word & VOLT_WORD_LOCKED_) {
      volt_pause_(&looks);
      /* fifo:L1 <- fifo:U1, latch:F1, notify:F1: the holder sees what the last one did */
    } else if (volt_cas_acquire(&q->word, word, *word | VOLT_WORD_LOCKED_)) {
      return;
    }
  }
}

/* Take the lock, but only while a waiter is queued. Returns true: locked, and *word is what the word
 * was; false: no waiter is queued, and *word is a word that said so. */
static inline bool volt_fifo_lock_if_queued_(volt_fifo_ *q, uint64_t *word) {
  for (unsigned looks = 0;;) {
    *word = volt_load_relaxed(&q->word); /* a guess: the CAS decides */
    if (!(*word & VOLT_WORD_QUEUED_)) return false;
    if (*word & VOLT_WORD_LOCKED_) {
      volt_pause_(&looks);
      /* fifo:L1 <- fifo:U1, latch:F1, notify:F1: the holder sees what the last one did */
    } else if (volt_cas_acquire(&q->word, word, *word | VOLT_WORD_LOCKED_)) {
      return true;
    }
  }
}

/* Take the lock if it is free: *word is what the word was. */
static inline bool volt_fifo_try_lock_(volt_fifo_ *q, uint64_t *word) {
  *word = volt_load_relaxed(&q->word); /* a guess: the CAS decides */
  if (*word & VOLT_WORD_LOCKED_) return false;
  /* fifo:L1 <- fifo:U1, latch:F1, notify:F1: the holder sees what the last one did */
  return volt_cas_acquire(&q->word, word, *word | VOLT_WORD_LOCKED_);
}

/* Whether CLOSED is set. */
static inline bool volt_fifo_is_closed_(const volt_fifo_ *q) {
  /* fifo:C1 <- fifo:U1, permits:F1: a thread that sees CLOSED sees what came before the close */
  return (volt_load_acquire(&q->word) & VOLT_WORD_CLOSED_) != 0;
}

/* The queue of an object that its caller only looks at: all that changes is the lock. */
static inline volt_fifo_ *volt_fifo_to_look_at_(const volt_fifo_ *q) {
  return (volt_fifo_ *)(uintptr_t)q;
}

/* Leave the lock: from now on the word is exactly next. The last access to *q. */
static inline void volt_fifo_unlock_exact_(volt_fifo_ *q, uint64_t next) {
  /* fifo:U1 -> fifo:C1, fifo:L1, channel:C1, channel:L1, channel:P1, latch:T1, monitor:D1,
   * notify:T1, once:T1, permits:A1, permits:C1, permits:D1, permits:L1, permits:T1, token:C1: the holder sees
   * what the last one did */
  volt_store_release(&q->word, next);
}

/* Leave the lock: from now on the word is this one, with QUEUED as the FIFO is. The last access to
 * *q. */
void volt_fifo_unlock_(volt_fifo_ *q, uint64_t word);

/* ---- the lock is held ---- */

/* Whether *w is in the FIFO it was last put into. */
static inline bool volt_fifo_is_linked_(const volt_waiter *w) {
  return w->need > 0; /* I5 */
}

/* Arm *w and append it. need: above 0. */
void volt_fifo_append_(volt_fifo_ *q, volt_waiter *w, uint32_t want, uint32_t need,
                       volt_waker waker);

/* Put *w, which is armed, at the end of the list. */
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

/* Take *w out of the list. If its neighbours do not point to it, it was moved, copied, or queued
 * twice. That check reads only what is written next anyway. */
static inline void volt_fifo_unlink_(volt_fifo_ *q, volt_waiter *w) {
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

/* Take *w out: its owner's again, or about to be claimed. */
static inline void volt_fifo_remove_(volt_fifo_ *q, volt_waiter *w) {
  VOLT_ASSERT((void *)w->queue == (void *)q);
  volt_fifo_unlink_(q, w);
  w->need = 0; /* I5 */
#if VOLT_DEBUG
  w->next = w->prev = (volt_waiter *)(uintptr_t)0xdeadbeef; /* whoever follows it now faults */
#endif
}

/* Take *w out, to be granted when the lock is left. */
static inline volt_claimed_ volt_fifo_claim_(volt_fifo_ *q, volt_waiter *w) {
  volt_claimed_ c = volt_waiter_claim_(w);
  volt_fifo_remove_(q, w);
  return c;
}

/* Move the oldest waiters of one FIFO, count of them, up to *last, to the end of another. */
static inline void volt_fifo_move_(volt_fifo_ *to, volt_fifo_ *from, volt_waiter *last,
                                   uint32_t count) {
  volt_waiter *first = from->head;
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
}

/* ---- it is not; name: of the primitive, for messages ---- */

/* Lock the queue *w was queued on. Returns true: *w is linked, and the lock is held. Returns false:
 * *w is claimed or granted. */
bool volt_fifo_lock_if_linked_(volt_fifo_ *q, const char *name, volt_waiter *w, uint64_t *word);

/* The first half of every cancel. Returns true: *w was linked, its owner has it back, and the lock
 * is held. Returns false: it has completed, or was cancelled before. */
bool volt_fifo_lock_to_cancel_(volt_fifo_ *q, const char *name, volt_waiter *w, uint64_t *word,
                               uint32_t *need);

/* The whole of it, if nothing else hangs on a waiter: as the public x_cancel(). */
bool volt_fifo_cancel_(volt_fifo_ *q, const char *name, volt_waiter *w);

/* *w completes with state: tell it alone, or wait until the granter that has claimed it does. For
 * objects whose word is made of flags only, or is the same with or without *w. */
void volt_fifo_complete_(volt_fifo_ *q, const char *name, volt_waiter *w, uint32_t state);

/* As the public x_set_waker(). */
bool volt_fifo_set_waker_(volt_fifo_ *q, const char *name, volt_waiter *w, volt_waker waker);

/* How many are linked. */
uint32_t volt_fifo_count_(const volt_fifo_ *q);

#endif
