/* channel.h: what stands on the engine of channel.c uses of it: channel_future.c, and
 * permit_channel.c.
 *
 * Labels: channel */
#ifndef VOLT_SYNC_CHANNEL_H
#define VOLT_SYNC_CHANNEL_H

#include <volt/channel.h>

#include "../core/inspect/describe.h"
#include "../core/wait/fifo.h"

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

/* Say how full it is. */
void volt_chan_describe_(volt_chan *c, volt_description_ *description);

/* The start() of a future that receives, whose object is the channel. */
int volt_chan_recv_start_(volt_future *f, volt_waker waker);

/* ---- an operation that must wait ---- */

/* Whether the channel is open, its lock is free, and it holds len elements; queued: whether a
 * waiter is to be queued (VOLT_WORD_QUEUED_), or none (0). */
static inline bool volt_chan_holds_(uint64_t word, uint32_t len, uint64_t queued) {
  const uint64_t flags = VOLT_WORD_QUEUED_ | VOLT_WORD_LOCKED_ | VOLT_WORD_CLOSED_;
  const uint64_t any_len = volt_chan_word_(0, volt_chan_wrap_(UINT32_MAX));
  return (word & (flags | any_len)) == (volt_chan_word_(0, len) | queued);
}

/* No waiter was queued when *word was read. Take the lock, to queue the first. Returns false: the
 * word has changed. */
static inline bool volt_chan_lock_unqueued_(volt_chan *c, uint64_t *word) {
  /* channel.c R1: in one step, the word still says that the operation must wait, and from now on
   * that a waiter is queued. channel:L1 <- fifo:U1: the FIFO is seen as its last holder left it;
   * channel:P1 <- channel:P1, fifo:U1: claims under the lock see all earlier ones (channel.c R8) */
  return volt_cas_acquire(&c->queue.word, word, *word | VOLT_WORD_QUEUED_ | VOLT_WORD_LOCKED_);
}

/* An operation finds no place, or no element: abort if there never will be one. */
static inline void volt_chan_check_init_(const volt_chan *c) {
  VOLT_CHECK(c->capacity > 0, "volt_chan", "%p was not initialised: volt_chan_init()",
             (const void *)c);
}

/* The lock is held. Queue *w. Releases the lock. */
static inline void volt_chan_append_(volt_chan *c, volt_waiter *w, uint32_t want, uint32_t need,
                                     volt_waker waker, uint64_t word) {
  volt_chan_check_init_(c);
  volt_fifo_append_(&c->queue, w, want, need, waker);
  volt_count_wait_(VOLT_KIND_CHANNEL_);
  volt_fifo_unlock_exact_(&c->queue, word | VOLT_WORD_QUEUED_);
}

/* Queue *w, for one element, if the channel holds len elements, because of which it must wait: all
 * that there are places for, or none. w->data is set. Returns false if other waiters are queued, or
 * the channel holds another number, or is closed. */
static inline bool volt_chan_queue_first_(volt_chan *c, uint32_t len, volt_waiter *w,
                                          volt_waker waker) {
  uint64_t word = volt_load_relaxed(&c->queue.word); /* a guess: the CAS decides */
  if (!volt_chan_holds_(word, len, 0) || !volt_chan_lock_unqueued_(c, &word)) return false;
  volt_chan_append_(c, w, 1, 1, waker, word);
  return true;
}

#endif
