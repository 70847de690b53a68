/* channel_engine.h: what a channel's futures and blocking calls share with its engine, channel.c. */
#ifndef VOLT_SYNC_CHANNEL_ENGINE_H
#define VOLT_SYNC_CHANNEL_ENGINE_H

#include <volt/channel.h>

#include "../core/fifo.h"

#define VOLT_CHAN_NAME_ "volt_chan" /* for messages */

/* How long to leave the word to a thread that was faster, in volt_cpu_relax_() calls: long enough for
 * a burst of its operations in its own cache, which is what two cores that want the same line have
 * instead of fetching it from each other for each of them. */
#ifndef VOLT_CHAN_BACKOFF
#define VOLT_CHAN_BACKOFF 64
#endif

/* ---- a waiter, by the names of what its fields mean on a channel ---- */

/* Where its elements are. */
static inline unsigned char *volt_chan_elems_of_(const volt_waiter *w) {
  return (unsigned char *)(void *)w->data;
}

/* want: how many elements it asks for; once it is claimed, how many are moved for it. */
static inline uint32_t volt_chan_wanted_(const volt_waiter *w) {
  return w->want;
}

static inline uint32_t volt_chan_moved_(const volt_waiter *w) {
  return w->want;
}

static inline void volt_chan_set_moved_(volt_waiter *w, uint32_t n) {
  w->want = n;
}

/* Waiters that are granted together, once the lock is left. */
typedef struct volt_chan_batch_ {
  volt_claimed_ claimed[VOLT_WAKE_BATCH];
  unsigned count;
} volt_chan_batch_;

/* ---- an operation ---- */

/* A send, or a receive. */
typedef struct volt_chan_op_ {
  bool sends;
  volt_waiter *w; /* NULL: it does not wait */
  unsigned char *elems;
  uint32_t n; /* above 0 */
  volt_waker waker;
  volt_decision_ *decision; /* to be taken before it takes effect; or NULL */
} volt_chan_op_;

static const volt_waker volt_chan_no_waker_ = {NULL, NULL}; /* for w NULL */

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

/* As the public functions. *moved: how many elements, if it returns VOLT_OK. */
int volt_chan_run_(volt_chan *c, const volt_chan_op_ *op, uint32_t *moved);

/* What can be moved without the lock. Returns how many elements were. */
uint32_t volt_chan_run_unlocked_(volt_chan *c, const volt_chan_op_ *op);

/* *w, which its owner has not seen complete: if the channel is closed, it has completed when this
 * returns true. One load, if the channel is not closed. */
bool volt_chan_complete_closed_(volt_chan *c, volt_waiter *w);
/* The start() of a receive's future, whose object is the channel; for what stands on one. */
int volt_chan_recv_start_(volt_future *f, volt_waker waker);

#endif
