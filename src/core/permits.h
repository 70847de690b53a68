/* permits.h: the engine that counts permits: on the FIFO (fifo.h), for the semaphore, the mutex and
 * the rwlock. Its protocol is in permits.c.
 *
 * A primitive is the word in its volt_fifo_, an inline fast path on that word, and one of
 * these descriptions. Nothing its author writes is concurrent: serve() has the queue to itself. */
#ifndef VOLT_CORE_PERMITS_H
#define VOLT_CORE_PERMITS_H

#include <volt/detail/fifo.h>

#include "fifo.h"
#include "future_ops.h"

/* Give w what it may have of the permits in *hand: lower w->need and *hand. As an int32_t, *hand is
 * below zero while there is debt: then there is nothing to give. Returns false if the queue should
 * look no further. Runs under the lock: no waker, no other object. Not asked for a head that is not
 * marked, and needs just what there is: it gets that. */
typedef bool volt_permits_serve_fn_(volt_waiter *w, uint32_t *hand);

/* Of a queue whose word is BOUNDED, which word is: aborts if so many permits, given to those that
 * are there, are more than there may be. With QUEUED in the word it holds what that depends on: the
 * lock, or the object's. Returns false, else: that may have changed meanwhile, look again. */
typedef bool volt_permits_bound_fn_(volt_fifo_ *q, uint64_t word, uint32_t given, int32_t there);

typedef struct volt_permit_kind_ {
  const char *name;   /* for messages */
  const char *excess; /* what it means if more is given back than there is */
  uint32_t full;      /* the word's value is permits XOR full */
  uint32_t max;       /* most permits there can be, most one waiter can want */
  uint32_t shared;    /* what one of many holders has, who together never have all; or 0 */
  volt_permits_serve_fn_ *serve;
  volt_permits_bound_fn_ *bound; /* or NULL: its words are never BOUNDED */
} volt_permit_kind_;

/* As the public function it stands behind; see semaphore.h. */
int volt_permits_acquire_(volt_fifo_ *q, const volt_permit_kind_ *kind, volt_waiter *w, uint32_t n,
                          volt_waker waker);
int volt_permits_acquire_blocking_(volt_fifo_ *q, const volt_permit_kind_ *kind, uint32_t n,
                                   uint64_t deadline_ns);
void volt_permits_release_(volt_fifo_ *q, const volt_permit_kind_ *kind, uint32_t n);
bool volt_permits_cancel_(volt_fifo_ *q, const volt_permit_kind_ *kind, volt_waiter *w);
void volt_permits_close_(volt_fifo_ *q, const volt_permit_kind_ *kind);
/* *w, which its owner has not seen complete: if the queue is closed, it has completed when this
 * returns true. One load, if the queue is not closed. */
bool volt_permits_complete_closed_(volt_fifo_ *q, const volt_permit_kind_ *kind, volt_waiter *w);

/* Let the oldest waiters of another FIFO wait here: count of them, up to *last, armed and linked
 * there with what they want of this one. The lock of *from is held; it is left, with from_word as
 * its word, before any of them can be granted. They are at the end of this FIFO in the same order,
 * and are granted what there is. Locks: *from before *q, always. */
void volt_permits_move_(volt_fifo_ *q, const volt_permit_kind_ *kind, volt_fifo_ *from,
                        uint64_t from_word, volt_waiter *last, uint32_t count);

/* Aborts if somebody waits; waits for a release that is still on its way back. */
void volt_permits_destroy_(volt_fifo_ *q, const volt_permit_kind_ *kind);
/* Permits that are there to take. */
uint32_t volt_permits_available_(const volt_fifo_ *q, const volt_permit_kind_ *kind);
/* Permits that are held, also while somebody waits; what is set aside for a waiter is not. */
uint32_t volt_permits_held_(const volt_fifo_ *q, const volt_permit_kind_ *kind);
/* The serve() of everything that counts permits: as much as is missing, in parts if need be. */
bool volt_permits_serve_(volt_waiter *w, uint32_t *hand);

/* ---- for what works on the word of such a queue as well ---- */

/* Below zero: debt. */
static inline int32_t volt_permits_in_(const volt_permit_kind_ *kind, uint64_t word) {
  return (int32_t)(VOLT_WORD_VALUE_(word) ^ kind->full);
}

static inline uint64_t volt_permits_word_(const volt_permit_kind_ *kind, int32_t permits) {
  return VOLT_WORD_((uint32_t)permits ^ kind->full);
}

/* How many permits a linked waiter has got so far. */
static inline uint32_t volt_permits_gathered_(const volt_waiter *w) {
  return w->want - w->need;
}

/* Under the lock: the permits that a thread which is to come back has left with the queue. Below
 * zero: debt. */
static inline uint32_t volt_permits_carried_(const volt_fifo_ *q) {
  return q->rest;
}

/* Under the lock: what is there, set aside for the head or not. */
static inline int32_t volt_permits_there_(const volt_fifo_ *q) {
  return (int32_t)(volt_permits_carried_(q) + volt_permits_gathered_(q->head)); /* I3, I4 */
}

/* Leave the lock, with so many permits in hand: if the FIFO is empty they become the word, else
 * they stay with the queue. The last access to *q. */
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

/* CLOSED has been seen: leave the lock. */
static inline int volt_permits_refuse_locked_(volt_fifo_ *q, uint64_t word) {
  volt_fifo_unlock_exact_(q, word);
  return VOLT_ECLOSED;
}

/* CLOSED has been seen, and the lock is not held. */
static inline int volt_permits_refuse_(volt_fifo_ *q) {
  /* permits:C1 <- permits:F1, fifo:U1: who sees CLOSED sees what came before close() */
  (void)volt_load_acquire(&q->word);
  return VOLT_ECLOSED;
}

/* The lock is held, with hand permits to give: serve the FIFO from its head for as long as there is
 * to give (or, closed, to its end), leave the lock, tell those served, wake them. */
void volt_permits_serve_and_unlock_(volt_fifo_ *q, const volt_permit_kind_ *kind, uint64_t word,
                                    uint32_t hand);

/* ---- futures ---- */

/* Of a future that takes f->n permits. */
typedef struct volt_permit_future_ops_ {
  volt_future_ops_ base; /* first */
  const volt_permit_kind_ *kind;
} volt_permit_future_ops_;

int volt_permit_future_start_(volt_future *f, volt_waker waker);
bool volt_permit_future_cancel_(volt_future *f);
bool volt_permit_future_set_waker_(volt_future *f, volt_waker waker);
void volt_permit_future_give_back_(volt_future *f);
bool volt_permit_future_due_(volt_future *f);

#define VOLT_PERMIT_FUTURE_OPS_(its_kind)                \
  {                                                      \
    .base = {.start = volt_permit_future_start_,         \
             .cancel = volt_permit_future_cancel_,       \
             .set_waker = volt_permit_future_set_waker_, \
             .give_back = volt_permit_future_give_back_, \
             .due = volt_permit_future_due_},            \
    .kind = (its_kind)                                   \
  }

#endif
