/* wait_queue.h: the FIFO that every primitive stands on. Its protocol is in wait_queue.c.
 *
 * A primitive is the word in its volt_wait_queue, an inline fast path on that word, and one of
 * these descriptions. Nothing its author writes is concurrent: serve() has the queue to itself. */
#ifndef VOLT_SRC_WAIT_QUEUE_H
#define VOLT_SRC_WAIT_QUEUE_H

#include <volt/wait_queue.h>

#include "waiter.h"

/* How many waiters one turn of the lock serves at most. */
#ifndef VOLT_WAKE_BATCH
#define VOLT_WAKE_BATCH 32
#endif

/* Give w what it may have of the permits in *hand: lower w->need and *hand. Returns false if the
 * queue should look no further. Runs under the lock: no waker, no other object. */
typedef bool volt_serve_fn_(volt_waiter *w, uint32_t *hand);

typedef struct volt_kind_ {
  const char *name;   /* for messages */
  const char *excess; /* what it means if more is given back than there is */
  uint32_t full;      /* the word's value is permits XOR full */
  uint32_t max;       /* most permits there can be, most one waiter can want */
  uint32_t shared;    /* what one of many holders has, who together never have all; or 0 */
  volt_serve_fn_ *serve;
} volt_kind_;

/* As the public function it stands behind; see semaphore.h. */
int volt_wait_queue_acquire_(volt_wait_queue *q, const volt_kind_ *kind, volt_waiter *w, uint32_t n,
                             volt_waker waker);
int volt_wait_queue_acquire_blocking_(volt_wait_queue *q, const volt_kind_ *kind, uint32_t n,
                                      uint64_t deadline_ns);
void volt_wait_queue_release_(volt_wait_queue *q, const volt_kind_ *kind, uint32_t n);
bool volt_wait_queue_cancel_(volt_wait_queue *q, const volt_kind_ *kind, volt_waiter *w);
bool volt_wait_queue_set_waker_(volt_wait_queue *q, const volt_kind_ *kind, volt_waiter *w,
                                volt_waker waker);
void volt_wait_queue_close_(volt_wait_queue *q, const volt_kind_ *kind);

void volt_wait_queue_init_(volt_wait_queue *q, uint32_t value);
/* Aborts if somebody waits; waits for a release that is still on its way back. */
void volt_wait_queue_destroy_(volt_wait_queue *q, const volt_kind_ *kind);
uint32_t volt_wait_queue_waiters_(volt_wait_queue *q, const volt_kind_ *kind);
/* Permits that are there to take. */
uint32_t volt_wait_queue_available_(volt_wait_queue *q, const volt_kind_ *kind);

/* The serve() of everything that counts permits: as much as is missing, in parts if need be. */
bool volt_serve_permits_(volt_waiter *w, uint32_t *hand);

#endif
