/* channel_future.c: sends and receives as futures, of many elements, and blocking. Nothing here is
 * concurrent: that is in channel.c and channel.h. */
#include "../core/future/future_ops.h"
#include "../core/future/leaf.h"
#include "../core/inspect/describe.h"
#include "../core/park/spin.h"
#include "../core/wait/fifo.h"
#include "channel.h"

/* ---- futures ---- */

static volt_chan *chan_future_object(volt_future *f) {
  return (volt_chan *)f->object;
}

/* Begin an operation that cannot be done at once, or moves many elements, or is in a select. */
static int chan_future_run(volt_future *f, volt_chan_op_ *op) {
  volt_chan *c = chan_future_object(f);
  uint32_t moved = 0;
  if (op->n == 0) return VOLT_EINVAL;
  op->decision = f->decision;
  if (op->decision &&
      !op->decision->shared) { /* not queued anywhere: only this thread can take it */
    moved = volt_chan_run_unlocked_(c, op);
    if (moved) (void)volt_decide_(op->decision);
  }
  int result = moved ? (int)VOLT_OK : volt_chan_run_(c, op, &moved);
  if (result == VOLT_OK) volt_chan_set_moved_(&f->waiter, moved);
  return result;
}

/* Of one element, and in no select. */
static bool chan_future_is_simple(const volt_future *f) {
  return volt_future_n_(f) == 1 && !f->decision;
}

/* A simple future has begun with result: note how many elements it has moved. Returns result. */
static int chan_future_began(volt_future *f, int result) {
  if (result == VOLT_OK) volt_chan_set_moved_(&f->waiter, 1);
  return result;
}

static VOLT_NOINLINE int chan_send_start_slow(volt_future *f, volt_waker waker) {
  volt_waiter *w = &f->waiter;
  if (chan_future_is_simple(f)) {
    return chan_future_began(f, volt_chan_send_waiter(chan_future_object(f), w, w->data, waker));
  }
  volt_chan_op_ op = volt_chan_send_op_(w, volt_chan_elems_of_(w), volt_future_n_(f), waker);
  return chan_future_run(f, &op);
}

static VOLT_NOINLINE int chan_recv_start_slow(volt_future *f, volt_waker waker) {
  volt_waiter *w = &f->waiter;
  if (chan_future_is_simple(f)) {
    return chan_future_began(f, volt_chan_recv_waiter(chan_future_object(f), w, w->data, waker));
  }
  volt_chan_op_ op = volt_chan_recv_op_(w, volt_chan_elems_of_(w), volt_future_n_(f), waker);
  return chan_future_run(f, &op);
}

/* Most often a future has to wait: a try came before it. Returns VOLT_PENDING (queued), or
 * VOLT_EAGAIN. */
static int chan_send_start_fast(volt_future *f, const volt_waker *waker) {
  volt_chan *c = chan_future_object(f);
  bool queued =
      chan_future_is_simple(f) && volt_chan_queue_first_(c, c->capacity, &f->waiter, *waker);
  return queued ? (int)VOLT_PENDING : (int)VOLT_EAGAIN;
}

static int chan_recv_start_fast(volt_future *f, const volt_waker *waker) {
  volt_chan *c = chan_future_object(f);
  bool queued = chan_future_is_simple(f) && volt_chan_queue_first_(c, 0, &f->waiter, *waker);
  return queued ? (int)VOLT_PENDING : (int)VOLT_EAGAIN;
}

static int chan_send_start(volt_future *f, volt_waker waker) {
  return chan_send_start_slow(f, waker);
}

int volt_chan_recv_start_(volt_future *f, volt_waker waker) {
  return chan_recv_start_slow(f, waker);
}

static bool chan_future_cancel(volt_future *f) {
  return volt_fifo_cancel_(&chan_future_object(f)->queue, VOLT_KIND_CHANNEL_, &f->waiter);
}

static bool chan_future_set_waker(volt_future *f, volt_waker waker) {
  return volt_fifo_set_waker_(&chan_future_object(f)->queue, VOLT_KIND_CHANNEL_, &f->waiter, waker);
}

static bool chan_future_due(volt_future *f) {
  return volt_chan_complete_closed_(chan_future_object(f), &f->waiter);
}

/* A waiter's want is how many it has moved, once a granter has claimed it: it is not read here. */
static void chan_future_describe(volt_future *f, volt_description_ *description) {
  if (description->is_granted) return;
  volt_describe_queue_(description, &chan_future_object(f)->queue, VOLT_ENDS_UNKNOWN_);
  volt_chan_describe_(chan_future_object(f), description);
}

static int chan_send_poll_ctx(volt_future *f, volt_ctx *ctx);
static int chan_recv_poll_ctx(volt_future *f, volt_ctx *ctx);

/* No give_back: an element that was moved stays moved. */
static const volt_future_ops_ chan_send_ops = {.operation = "volt_chan_send",
                                               .kind = VOLT_KIND_CHANNEL_,
                                               .start = chan_send_start,
                                               .cancel = chan_future_cancel,
                                               .set_waker = chan_future_set_waker,
                                               .due = chan_future_due,
                                               .poll_ctx = chan_send_poll_ctx,
                                               .describe = chan_future_describe};
static const volt_future_ops_ chan_recv_ops = {.operation = "volt_chan_recv",
                                               .kind = VOLT_KIND_CHANNEL_,
                                               .start = volt_chan_recv_start_,
                                               .cancel = chan_future_cancel,
                                               .set_waker = chan_future_set_waker,
                                               .due = chan_future_due,
                                               .poll_ctx = chan_recv_poll_ctx,
                                               .describe = chan_future_describe};

static int chan_send_poll_ctx(volt_future *f, volt_ctx *ctx) {
  return volt_leaf_poll_ctx_(f, ctx, &chan_send_ops, chan_send_start_fast);
}

static int chan_recv_poll_ctx(volt_future *f, volt_ctx *ctx) {
  return volt_leaf_poll_ctx_(f, ctx, &chan_recv_ops, chan_recv_start_fast);
}

volt_future *volt_chan_send_many_future(volt_future *f, volt_chan *c, const void *elems,
                                        uint32_t n) {
  f->waiter.data = (void *)(uintptr_t)elems;
  return volt_future_make_(f, &chan_send_ops, c, n);
}

volt_future *volt_chan_recv_many_future(volt_future *f, volt_chan *c, void *elems, uint32_t n) {
  f->waiter.data = elems;
  return volt_future_make_(f, &chan_recv_ops, c, n);
}

volt_future *volt_chan_send_future(volt_future *f, volt_chan *c, const void *elem) {
  return volt_chan_send_many_future(f, c, elem, 1);
}

volt_future *volt_chan_recv_future(volt_future *f, volt_chan *c, void *elem) {
  return volt_chan_recv_many_future(f, c, elem, 1);
}

uint32_t volt_chan_future_moved(const volt_future *f) {
  return volt_chan_moved(&f->waiter);
}

/* ---- many ---- */

uint32_t volt_chan_moved(const volt_waiter *w) {
  return volt_chan_moved_(w);
}

static int chan_run_many(volt_chan *c, const volt_chan_op_ *op, uint32_t *moved) {
  uint32_t unused;
  if (!moved) moved = &unused;
  *moved = 0;
  if (op->n == 0) return op->w ? VOLT_EINVAL : VOLT_OK;
  int result = volt_chan_run_(c, op, moved);
  if (result == VOLT_OK && op->w) volt_chan_set_moved_(op->w, *moved);
  return result;
}

int volt_chan_try_send_many(volt_chan *c, const void *elems, uint32_t n, uint32_t *moved) {
  const volt_chan_op_ op = volt_chan_send_op_(NULL, elems, n, volt_chan_no_waker_);
  return chan_run_many(c, &op, moved);
}

int volt_chan_try_recv_many(volt_chan *c, void *elems, uint32_t n, uint32_t *moved) {
  const volt_chan_op_ op = volt_chan_recv_op_(NULL, elems, n, volt_chan_no_waker_);
  return chan_run_many(c, &op, moved);
}

int volt_chan_send_many_waiter(volt_chan *c, volt_waiter *w, const void *elems, uint32_t n,
                               volt_waker waker) {
  const volt_chan_op_ op = volt_chan_send_op_(w, elems, n, waker);
  return chan_run_many(c, &op, NULL);
}

int volt_chan_recv_many_waiter(volt_chan *c, volt_waiter *w, void *elems, uint32_t n,
                               volt_waker waker) {
  const volt_chan_op_ op = volt_chan_recv_op_(w, elems, n, waker);
  return chan_run_many(c, &op, NULL);
}

/* ---- blocking ---- */

/* For how many volt_cpu_relax_() a sender that finds the channel full leaves it alone, at most. */
#ifndef VOLT_CHAN_PATIENCE
#define VOLT_CHAN_PATIENCE 128
#endif

static int chan_block_on(volt_future *f, uint32_t *moved, uint64_t deadline_ns) {
  int result = volt_future_wait_until(f, deadline_ns);
  if (moved) *moved = result == VOLT_OK ? volt_chan_future_moved(f) : 0;
  return result;
}

int volt_chan_send_many_until(volt_chan *c, const void *elems, uint32_t n, uint32_t *moved,
                              uint64_t deadline_ns) {
  volt_check_blocks_("volt_chan_send_many_until", deadline_ns);
  volt_future f;
  return chan_block_on(volt_chan_send_many_future(&f, c, elems, n), moved, deadline_ns);
}

int volt_chan_recv_many_until(volt_chan *c, void *elems, uint32_t n, uint32_t *moved,
                              uint64_t deadline_ns) {
  volt_check_blocks_("volt_chan_recv_many_until", deadline_ns);
  volt_future f;
  return chan_block_on(volt_chan_recv_many_future(&f, c, elems, n), moved, deadline_ns);
}

/* Wait for about as long as a receiver takes to empty the ring. A sender that looks again at once
 * finds one place, and then one more: for every element, it and the receiver fetch the same cache
 * lines from each other. The pause makes no element late, because those in the ring come first. (A
 * receiver has no such pause: the element that it waits for would be late.) */
static VOLT_NOINLINE void chan_await_places(const volt_chan *c) {
  uint32_t spins = 2 * (c->capacity - 1);
  if (spins > VOLT_CHAN_PATIENCE) spins = VOLT_CHAN_PATIENCE;
  for (uint32_t i = 0; i < spins; i++) volt_cpu_relax_();
}

static VOLT_NOINLINE int chan_send_soon(volt_chan *c, const void *elem, uint64_t deadline_ns) {
  volt_spin_ spins = {0, 0};
  while (volt_spin_again_(&spins, deadline_ns)) {
    if (spins.count == 1) chan_await_places(c);
    int result = volt_chan_try_send(c, elem);
    if (result != VOLT_EAGAIN) return result;
  }
  return volt_chan_send_many_until(c, elem, 1, NULL, deadline_ns);
}

extern inline int volt_chan_send(volt_chan *, const void *);
extern inline int volt_chan_recv(volt_chan *, void *);
extern inline int volt_chan_send_many(volt_chan *, const void *, uint32_t, uint32_t *);
extern inline int volt_chan_recv_many(volt_chan *, void *, uint32_t, uint32_t *);

int volt_chan_send_until(volt_chan *c, const void *elem, uint64_t deadline_ns) {
  volt_check_blocks_("volt_chan_send_until", deadline_ns);
  int result = volt_chan_try_send_(c, elem, c->elem_bytes);
  return result == VOLT_EAGAIN ? chan_send_soon(c, elem, deadline_ns) : result;
}

static VOLT_NOINLINE int chan_recv_soon(volt_chan *c, void *elem, uint64_t deadline_ns) {
  volt_spin_ spins = {0, 0};
  while (volt_spin_again_(&spins, deadline_ns)) {
    int result = volt_chan_try_recv(c, elem);
    if (result != VOLT_EAGAIN) return result;
  }
  return volt_chan_recv_many_until(c, elem, 1, NULL, deadline_ns);
}

int volt_chan_recv_until(volt_chan *c, void *elem, uint64_t deadline_ns) {
  volt_check_blocks_("volt_chan_recv_until", deadline_ns);
  int result = volt_chan_try_recv_(c, elem, c->elem_bytes);
  return result == VOLT_EAGAIN ? chan_recv_soon(c, elem, deadline_ns) : result;
}
