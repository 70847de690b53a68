/* channel_engine.h: what the files of the channel share: channel.c, its engine; channel_life.c; and
 * channel_future.c. permit_channel.c stands on it. */
#ifndef VOLT_SYNC_CHANNEL_ENGINE_H
#define VOLT_SYNC_CHANNEL_ENGINE_H

#include <volt/channel.h>

#include "../core/fifo.h"

#define VOLT_CHAN_NAME_ "volt_chan" /* for messages */

/* For how many volt_cpu_relax_() a thread whose compare-and-swap has failed leaves the word alone:
 * long enough for a burst of operations of another thread in its own cache. Without that pause two
 * cores fetch the cache line from each other for each operation. */
#ifndef VOLT_CHAN_BACKOFF
#define VOLT_CHAN_BACKOFF 64
#endif

/* ---- what the fields of a waiter mean on a channel ---- */

/* data: the elements to send, or the memory for those to receive. */
static inline unsigned char *volt_chan_elems_of_(const volt_waiter *w) {
  return (unsigned char *)(void *)w->data;
}

/* want: until the waiter is claimed, how many elements it wants to move; from then on, how many are
 * moved. */
static inline uint32_t volt_chan_wanted_(const volt_waiter *w) {
  return w->want;
}

static inline uint32_t volt_chan_moved_(const volt_waiter *w) {
  return w->want;
}

static inline void volt_chan_set_moved_(volt_waiter *w, uint32_t n) {
  w->want = n;
}

/* Claimed waiters, to be granted together when the lock is released. */
typedef struct volt_chan_batch_ {
  volt_claimed_ claimed[VOLT_WAKE_BATCH];
  unsigned count;
} volt_chan_batch_;

/* ---- an operation ---- */

/* A send, or a receive. */
typedef struct volt_chan_op_ {
  bool sends;
  volt_waiter *w; /* to be queued if the operation must wait; NULL: it does not wait */
  unsigned char *elems;
  uint32_t n; /* above 0 */
  volt_waker waker;
  volt_decision_ *decision; /* of the select that it is in, taken first (channel.c R9); or NULL */
} volt_chan_op_;

static const volt_waker volt_chan_no_waker_ = {NULL, NULL}; /* for an operation without a waiter */

static inline volt_chan_op_ volt_chan_send_op_(volt_waiter *w, const void *elems, uint32_t n,
                                               volt_waker waker) {
  volt_chan_op_ op = {
      .sends = true, .w = w, .elems = (unsigned char *)(uintptr_t)elems, .n = n, .waker = waker};
  return op;
}

static inline volt_chan_op_ volt_chan_recv_op_(volt_waiter *w, void *elems, uint32_t n,
                                               volt_waker waker) {
  volt_chan_op_ op = {
      .sends = false, .w = w, .elems = (unsigned char *)elems, .n = n, .waker = waker};
  return op;
}

/* Send or receive, or queue op->w. Returns VOLT_OK (*moved: how many elements), VOLT_PENDING,
 * VOLT_EAGAIN (there is no op->w), VOLT_ECLOSED, or VOLT_ECANCELED (the select is decided for
 * another branch). */
int volt_chan_run_(volt_chan *c, const volt_chan_op_ *op, uint32_t *moved);

/* Move what can be moved without the lock. Returns how many elements; 0: none, or a waiter is
 * queued, or a copy is in progress. */
uint32_t volt_chan_run_unlocked_(volt_chan *c, const volt_chan_op_ *op);

/* Complete *w, whose owner has not seen it complete, if the channel is closed. Returns whether it
 * is closed. One load if it is not. */
bool volt_chan_complete_closed_(volt_chan *c, volt_waiter *w);

/* The start() of a future that receives, whose object is the channel. */
int volt_chan_recv_start_(volt_future *f, volt_waker waker);

#endif
