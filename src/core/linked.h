/* linked.h: a waiter in the FIFO of its object, the same for everything that has one. The protocol
 * is in linked.c. */
#ifndef VOLT_SRC_LINKED_H
#define VOLT_SRC_LINKED_H

#include <volt/wait_queue.h>

#include "check.h"
#include "list.h"
#include "waiter.h"

/* How many waiters one turn of the lock serves at most. */
#ifndef VOLT_WAKE_BATCH
#define VOLT_WAKE_BATCH 32
#endif

/* ---- the lock is held ---- */

/* Arm *w and append it. need: above 0. */
void volt_fifo_append_(volt_fifo_ *q, volt_waiter *w, uint32_t want, uint32_t need, volt_waker waker);

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

/* Leave the lock with a word that says, beside the rest of it, whether somebody is linked. The last
 * access to *q. */
void volt_fifo_unlock_(volt_fifo_ *q, uint64_t word);

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
