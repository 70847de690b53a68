/* chan_dekker.h: the channel of "Fast Waiter Slot" (docs/errata.md) without its slots: a ring, and
 * for each side a flag and a list of waiters behind one lock.
 *
 * Function by function the contract of volt/channel.h. What differs: it is not part of the library,
 * so it has no symbol there; it moves one element at a time. Only volt_chan_dekker_destroy() makes
 * its memory free: a send may still be about to unlock after its element was received, and destroy
 * waits for that. A try returns VOLT_EAGAIN also while another thread is in the middle of moving
 * the element, or of emptying the place, that would be next. Its futures are not for a volt_select,
 * because an element that one of them has moved stays moved.
 *
 * Labels: chan_ring */
#ifndef VOLT_VARIANTS_CHAN_DEKKER_H
#define VOLT_VARIANTS_CHAN_DEKKER_H

#include "chan_ring.h"

/* Members are private. */
typedef struct volt_chan_dekker {
  volt_variant_ring_ ring;
} volt_chan_dekker;

VOLT_BEGIN_DECLS

size_t volt_chan_dekker_bytes(uint32_t capacity, size_t elem_bytes);
int volt_chan_dekker_init(volt_chan_dekker *c, uint32_t capacity, size_t elem_bytes, void *mem,
                          size_t mem_bytes);
void volt_chan_dekker_destroy(volt_chan_dekker *c, void (*drop)(void *elem, void *ctx), void *ctx);
void volt_chan_dekker_close(volt_chan_dekker *c);

int volt_chan_dekker_run_slow_(volt_chan_dekker *c, const volt_variant_ring_op_ *op);
void volt_chan_dekker_serve_slow_(volt_chan_dekker *c);

/* A send, or a receive: with w it may wait. bytes: of an element. */
static inline int volt_chan_dekker_send_(volt_chan_dekker *c, volt_waiter *w, const void *elem,
                                         size_t bytes, volt_waker waker) {
  volt_variant_ring_ *r = &c->ring;
  /* relaxed: no barging past a thread that waits already; one that comes meanwhile comes after */
  if (VOLT_LIKELY(!(volt_load_relaxed(&r->flag[VOLT_VARIANT_RING_SENDERS_]) & 1))) {
    int result = volt_variant_ring_push_(r, elem, bytes);
    if (VOLT_LIKELY(result == VOLT_OK)) {
      if (volt_variant_ring_is_flagged_(r, VOLT_VARIANT_RING_RECEIVERS_))
        volt_chan_dekker_serve_slow_(c);
      return VOLT_OK;
    }
    if (!w || result == VOLT_ECLOSED) return result;
  }
  const volt_variant_ring_op_ op = {VOLT_VARIANT_RING_SENDERS_, w, (void *)(uintptr_t)elem, waker};
  return volt_chan_dekker_run_slow_(c, &op);
}

static inline int volt_chan_dekker_recv_(volt_chan_dekker *c, volt_waiter *w, void *elem,
                                         size_t bytes, volt_waker waker) {
  volt_variant_ring_ *r = &c->ring;
  /* relaxed: as in volt_chan_dekker_send_() */
  if (VOLT_LIKELY(!(volt_load_relaxed(&r->flag[VOLT_VARIANT_RING_RECEIVERS_]) & 1))) {
    int result = volt_variant_ring_pop_(r, elem, bytes);
    if (VOLT_LIKELY(result == VOLT_OK)) {
      if (volt_variant_ring_is_flagged_(r, VOLT_VARIANT_RING_SENDERS_))
        volt_chan_dekker_serve_slow_(c);
      return VOLT_OK;
    }
    if (!w || result == VOLT_ECLOSED) return result;
  }
  const volt_variant_ring_op_ op = {VOLT_VARIANT_RING_RECEIVERS_, w, elem, waker};
  return volt_chan_dekker_run_slow_(c, &op);
}

static inline int volt_chan_dekker_try_send(volt_chan_dekker *c, const void *elem) {
  const volt_waker nobody = {NULL, NULL};
  return volt_chan_dekker_send_(c, NULL, elem, c->ring.elem_bytes, nobody);
}

static inline int volt_chan_dekker_try_recv(volt_chan_dekker *c, void *elem) {
  const volt_waker nobody = {NULL, NULL};
  return volt_chan_dekker_recv_(c, NULL, elem, c->ring.elem_bytes, nobody);
}

static inline int volt_chan_dekker_send_waiter(volt_chan_dekker *c, volt_waiter *w,
                                               const void *elem, volt_waker waker) {
  return volt_chan_dekker_send_(c, w, elem, c->ring.elem_bytes, waker);
}

static inline int volt_chan_dekker_recv_waiter(volt_chan_dekker *c, volt_waiter *w, void *elem,
                                               volt_waker waker) {
  return volt_chan_dekker_recv_(c, w, elem, c->ring.elem_bytes, waker);
}

bool volt_chan_dekker_cancel_send(volt_chan_dekker *c, volt_waiter *w);
bool volt_chan_dekker_cancel_recv(volt_chan_dekker *c, volt_waiter *w);
bool volt_chan_dekker_set_waker(volt_chan_dekker *c, volt_waiter *w, volt_waker waker);
int volt_chan_dekker_send_until(volt_chan_dekker *c, const void *elem, uint64_t deadline_ns);
int volt_chan_dekker_recv_until(volt_chan_dekker *c, void *elem, uint64_t deadline_ns);
volt_future *volt_chan_dekker_send_future(volt_future *f, volt_chan_dekker *c, const void *elem);
volt_future *volt_chan_dekker_recv_future(volt_future *f, volt_chan_dekker *c, void *elem);
uint32_t volt_chan_dekker_len(volt_chan_dekker *c);
uint32_t volt_chan_dekker_waiters(volt_chan_dekker *c);
bool volt_chan_dekker_is_closed(volt_chan_dekker *c);

VOLT_END_DECLS
#endif
