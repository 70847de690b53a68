/* chan_dekker.c: a ring, and for each side a flag and a list of waiters behind one lock.
 *
 * Algorithm: chan_ring.c, with no place but the FIFOs where a waiter can be. A thread that has
 * moved an element reads the flag of the other side, and is done if it is not raised.
 *
 * Source: "Use in Channel.zig", in "Fast Waiter Slot" (docs/errata.md): has_recv_waiters and
 * has_send_waiters.
 *
 * Invariants, races and costs: those of chan_ring.c. This file adds none.
 *
 * Labels: chan_ring */
#include "chan_dekker.h"

#include "core/future/future_ops.h"

static const volt_variant_ring_kind_ chan_dekker_variant = {
    .name = "volt_chan_dekker",
};

size_t volt_chan_dekker_bytes(uint32_t capacity, size_t elem_bytes) {
  return volt_variant_ring_bytes_(capacity, elem_bytes);
}

int volt_chan_dekker_init(volt_chan_dekker *c, uint32_t capacity, size_t elem_bytes, void *mem,
                          size_t mem_bytes) {
  return volt_variant_ring_init_(&c->ring, capacity, elem_bytes, mem, mem_bytes);
}

void volt_chan_dekker_destroy(volt_chan_dekker *c, void (*drop)(void *elem, void *ctx), void *ctx) {
  volt_variant_ring_destroy_(&chan_dekker_variant, &c->ring, drop, ctx);
}

void volt_chan_dekker_close(volt_chan_dekker *c) {
  volt_variant_ring_close_(&chan_dekker_variant, &c->ring);
}

int volt_chan_dekker_run_slow_(volt_chan_dekker *c, const volt_variant_ring_op_ *op) {
  return volt_variant_ring_run_(&chan_dekker_variant, &c->ring, op);
}

void volt_chan_dekker_serve_slow_(volt_chan_dekker *c) {
  volt_variant_ring_serve_(&chan_dekker_variant, &c->ring, NULL);
}

bool volt_chan_dekker_cancel_send(volt_chan_dekker *c, volt_waiter *w) {
  return volt_variant_ring_cancel_(&chan_dekker_variant, &c->ring, w);
}

bool volt_chan_dekker_cancel_recv(volt_chan_dekker *c, volt_waiter *w) {
  return volt_variant_ring_cancel_(&chan_dekker_variant, &c->ring, w);
}

bool volt_chan_dekker_set_waker(volt_chan_dekker *c, volt_waiter *w, volt_waker waker) {
  return volt_variant_ring_set_waker_(&chan_dekker_variant, &c->ring, w, waker);
}

uint32_t volt_chan_dekker_len(volt_chan_dekker *c) {
  return volt_variant_ring_len_(&c->ring);
}

uint32_t volt_chan_dekker_waiters(volt_chan_dekker *c) {
  return volt_variant_ring_waiters_(&chan_dekker_variant, &c->ring);
}

bool volt_chan_dekker_is_closed(volt_chan_dekker *c) {
  return volt_variant_ring_is_closed_(&c->ring);
}

/* ---- futures, blocking ---- */

static int chan_dekker_send_start(volt_future *f, volt_waker waker) {
  return volt_chan_dekker_send_waiter((volt_chan_dekker *)f->object, &f->waiter, f->waiter.data,
                                      waker);
}

static int chan_dekker_recv_start(volt_future *f, volt_waker waker) {
  return volt_chan_dekker_recv_waiter((volt_chan_dekker *)f->object, &f->waiter, f->waiter.data,
                                      waker);
}

static bool chan_dekker_cancel(volt_future *f) {
  return volt_variant_ring_cancel_(&chan_dekker_variant, &((volt_chan_dekker *)f->object)->ring,
                                   &f->waiter);
}

static bool chan_dekker_set_waker(volt_future *f, volt_waker waker) {
  return volt_variant_ring_set_waker_(&chan_dekker_variant, &((volt_chan_dekker *)f->object)->ring,
                                      &f->waiter, waker);
}

/* No give_back: what has been moved stays moved. */
static const volt_future_ops_ chan_dekker_send_ops = {.operation = "volt_chan_dekker",
                                                      .start = chan_dekker_send_start,
                                                      .cancel = chan_dekker_cancel,
                                                      .set_waker = chan_dekker_set_waker,
                                                      .poll_ctx = volt_future_poll_leaf_any_};
static const volt_future_ops_ chan_dekker_recv_ops = {.operation = "volt_chan_dekker",
                                                      .start = chan_dekker_recv_start,
                                                      .cancel = chan_dekker_cancel,
                                                      .set_waker = chan_dekker_set_waker,
                                                      .poll_ctx = volt_future_poll_leaf_any_};

volt_future *volt_chan_dekker_send_future(volt_future *f, volt_chan_dekker *c, const void *elem) {
  f->waiter.data = (void *)(uintptr_t)elem;
  return volt_future_make_(f, &chan_dekker_send_ops, c, 1);
}

volt_future *volt_chan_dekker_recv_future(volt_future *f, volt_chan_dekker *c, void *elem) {
  f->waiter.data = elem;
  return volt_future_make_(f, &chan_dekker_recv_ops, c, 1);
}

int volt_chan_dekker_send_until(volt_chan_dekker *c, const void *elem, uint64_t deadline_ns) {
  volt_future f;
  return volt_future_wait_until(volt_chan_dekker_send_future(&f, c, elem), deadline_ns);
}

int volt_chan_dekker_recv_until(volt_chan_dekker *c, void *elem, uint64_t deadline_ns) {
  volt_future f;
  return volt_future_wait_until(volt_chan_dekker_recv_future(&f, c, elem), deadline_ns);
}
