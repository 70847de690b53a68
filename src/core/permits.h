/* permits.h: the engine that counts permits: on the FIFO (fifo.h), for the semaphore, the mutex and
 * the rwlock. Its protocol is in permits.c.
 *
 * A primitive is the word in its volt_fifo_, an inline fast path on that word, and one of
 * these descriptions. Nothing its author writes is concurrent: serve() has the queue to itself. */
#ifndef VOLT_CORE_PERMITS_H
#define VOLT_CORE_PERMITS_H

#include <volt/detail/fifo.h>

#include "fifo.h"

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
/* Take what serve() gives to a waiter that is marked, or queue it: how much it wants is for serve()
 * to say, each time that it is the head. mark: not NULL; in w->data, which else is NULL. */
int volt_permits_ask_(volt_fifo_ *q, const volt_permit_kind_ *kind, volt_waiter *w, void *mark,
                         volt_waker waker);
void volt_permits_release_(volt_fifo_ *q, const volt_permit_kind_ *kind, uint32_t n);
bool volt_permits_cancel_(volt_fifo_ *q, const volt_permit_kind_ *kind, volt_waiter *w);
void volt_permits_close_(volt_fifo_ *q, const volt_permit_kind_ *kind);
/* *w, which its owner has not seen complete: if the queue is closed, it has completed when this
 * returns true. One load, if the queue is not closed. */
bool volt_permits_complete_closed_(volt_fifo_ *q, const volt_permit_kind_ *kind, volt_waiter *w);

/* So many permits more, or fewer, than there were; those that are held already become debt, which
 * is repaid by what is released before anybody is served. With 0: serve() looks again. */
void volt_permits_change_(volt_fifo_ *q, const volt_permit_kind_ *kind, int32_t delta);

/* The two halves of it that serve nobody, and call no waker; volt_permits_change_() has to
 * follow. lower: n permits fewer. repay: n permits more, but no more than there is debt; returns
 * how many; aborts as bound() does, and what that looks at is the caller's alone. Both release what
 * came before, also if they change nothing, and acquire: what the caller does next comes after it. */
void volt_permits_lower_(volt_fifo_ *q, const volt_permit_kind_ *kind, uint32_t n);
uint32_t volt_permits_repay_(volt_fifo_ *q, const volt_permit_kind_ *kind, uint32_t n);

/* Let the oldest waiters of another FIFO wait here: count of them, up to *last, armed and linked
 * there with what they want of this one. The lock of *from is held; it is left, with from_word as
 * its word, before any of them can be granted. They are at the end of this FIFO in the same order,
 * and are granted what there is. Locks: *from before *q, always. */
void volt_permits_move_(volt_fifo_ *q, const volt_permit_kind_ *kind, volt_fifo_ *from,
                           uint64_t from_word, volt_waiter *last, uint32_t count);

void volt_fifo_init_(volt_fifo_ *q, uint32_t value);
/* Aborts if somebody waits; waits for a release that is still on its way back. */
void volt_permits_destroy_(volt_fifo_ *q, const volt_permit_kind_ *kind);
/* Permits that are there to take. */
uint32_t volt_permits_available_(const volt_fifo_ *q, const volt_permit_kind_ *kind);
/* Permits that are held, also while somebody waits; what is set aside for a waiter is not. */
uint32_t volt_permits_held_(const volt_fifo_ *q, const volt_permit_kind_ *kind);
/* How many have to be released before there are any. */
uint32_t volt_permits_debt_(const volt_fifo_ *q, const volt_permit_kind_ *kind);

/* The serve() of everything that counts permits: as much as is missing, in parts if need be. */
bool volt_permits_serve_(volt_waiter *w, uint32_t *hand);

#endif
