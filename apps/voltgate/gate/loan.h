/* loan.h: permits that another process brings, one request at a time, while it has taken over from
 * this one (handover/ledger.h). A client that has to queue queues here then. */
#ifndef VOLTGATE_GATE_LOAN_H
#define VOLTGATE_GATE_LOAN_H

#include <stdatomic.h>
#include <volt/future.h>
#include <volt/semaphore.h>

struct loan {
  volt_sem permits; /* that were brought; its FIFO is the queue of a gate without tenants */
  atomic_uint
      needs; /* with tenants: what the next client costs, all of it or nothing; 0: none waits */
  void (*tell)(void *arg); /* a client queues, leaves, or needs has changed. Any thread */
  void *arg;
};

static inline void loan_tell(struct loan *loan) {
  loan->tell(loan->arg);
}

/* A client queues for one permit: its future is new. */
static inline void loan_queue(struct loan *loan, volt_future *f) {
  static const volt_waker none = {NULL, NULL};
  (void)volt_future_poll(f, none); /* it has its place before the other process is asked */
  loan_tell(loan);
}

#endif
