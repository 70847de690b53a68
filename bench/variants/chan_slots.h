/* chan_slots.h: the channel of "Fast Waiter Slot" (docs/errata.md): a ring, and for each side a
 * flag and a list of waiters behind one lock; and in front of each list a slot for the oldest
 * waiter, which the other side empties without the lock.
 *
 * Function by function the contract of volt/channel.h, with the differences of chan_dekker.h.
 *
 * Labels: chan_ring */
#ifndef VOLT_VARIANTS_CHAN_SLOTS_H
#define VOLT_VARIANTS_CHAN_SLOTS_H

#include "chan_ring.h"

/* Members are private. */
typedef struct volt_chan_slots {
  volt_variant_ring_ ring;
  VOLT_ATOMIC(volt_waiter *) slot[2]; /* of each side: the oldest waiter, or NULL */
} volt_chan_slots;

VOLT_BEGIN_DECLS

size_t volt_chan_slots_bytes(uint32_t capacity, size_t elem_bytes);
int volt_chan_slots_init(volt_chan_slots *c, uint32_t capacity, size_t elem_bytes, void *mem,
                         size_t mem_bytes);
void volt_chan_slots_destroy(volt_chan_slots *c, void (*drop)(void *elem, void *ctx), void *ctx);
void volt_chan_slots_close(volt_chan_slots *c);

int volt_chan_slots_run_slow_(volt_chan_slots *c, const volt_variant_ring_op_ *op);
void volt_chan_slots_serve_slow_(volt_chan_slots *c);
void volt_chan_slots_refill_slow_(volt_chan_slots *c, uint64_t at, volt_waiter *w);

/* Whether no thread waited on that side at some moment of this call: the slot is empty, and the
 * flag is lowered and has not changed from before that load to after it. */
static inline bool volt_chan_slots_is_nobody_(volt_chan_slots *c, int side) {
  /* chan_ring:F2 <- chan_ring:F1: if the flag was lowered, this thread sees the slot filled */
  uint32_t flag = volt_load_acquire(&c->ring.flag[side]);
  if (flag & 1) return false;
  /* chan_ring:P2 <- chan_ring:P1: the raised flag is seen if gather() has emptied the slot */
  if (volt_load_acquire(&c->slot[side])) return false;
  return volt_load_relaxed(&c->ring.flag[side]) == flag; /* relaxed: ordered by P2 */
}

/* This thread has changed the ring: whether a waiter of that side is in the FIFO or the slot. */
static inline bool volt_chan_slots_is_waiting_(volt_chan_slots *c, int side) {
  /* chan_ring:D3 <-> chan_ring:D1: this thread sees the waiter in the slot, or the thread that put
   * it there sees the change of the ring (R7). After the flag, because of F1 */
  return volt_variant_ring_is_flagged_(&c->ring, side) || volt_load_seq_cst(&c->slot[side]);
}

/* Take the waiter out of the slot of that side. Returns NULL if there is none. */
static inline volt_waiter *volt_chan_slots_take_(volt_chan_slots *c, int side) {
  if (!volt_load_relaxed(&c->slot[side])) return NULL; /* a hint: read again after the ring */
  /* chan_ring:P3 <- chan_ring:P4: the granter sees what the owner of the waiter wrote */
  return volt_exchange_acquire(&c->slot[side], (volt_waiter *)NULL);
}

/* With w it may wait. bytes: of an element. */
static inline int volt_chan_slots_send_(volt_chan_slots *c, volt_waiter *w, const void *elem,
                                        size_t bytes, volt_waker waker) {
  if (VOLT_LIKELY(volt_chan_slots_is_nobody_(c, VOLT_VARIANT_RING_SENDERS_))) { /* no barging */
    volt_waiter *receiver = volt_chan_slots_take_(c, VOLT_VARIANT_RING_RECEIVERS_);
    if (receiver) {
      VOLT_COPY_(receiver->data, elem, bytes);
      volt_variant_ring_complete_(receiver);
      return VOLT_OK;
    }
    int result = volt_variant_ring_push_(&c->ring, elem, bytes);
    if (VOLT_LIKELY(result == VOLT_OK)) {
      if (volt_chan_slots_is_waiting_(c, VOLT_VARIANT_RING_RECEIVERS_))
        volt_chan_slots_serve_slow_(c);
      return VOLT_OK;
    }
    if (!w || result == VOLT_ECLOSED) return result;
  }
  const volt_variant_ring_op_ op = {VOLT_VARIANT_RING_SENDERS_, w, (void *)(uintptr_t)elem, waker};
  return volt_chan_slots_run_slow_(c, &op);
}

static inline int volt_chan_slots_recv_(volt_chan_slots *c, volt_waiter *w, void *elem,
                                        size_t bytes, volt_waker waker) {
  volt_variant_ring_ *r = &c->ring;
  if (VOLT_LIKELY(volt_chan_slots_is_nobody_(c, VOLT_VARIANT_RING_RECEIVERS_))) { /* no barging */
    uint64_t at;
    int result = volt_variant_ring_claim_(r, &at);
    if (VOLT_LIKELY(result == VOLT_OK)) {
      VOLT_COPY_(elem, volt_variant_ring_elem_(volt_variant_ring_place_at_(r, at)), bytes);
      /* relaxed: if the ring is full, it stays so until this place is given up */
      if (volt_load_relaxed(&r->tail) == at + VOLT_VARIANT_RING_LAP_) {
        volt_waiter *sender = volt_chan_slots_take_(c, VOLT_VARIANT_RING_SENDERS_);
        if (sender) {
          volt_chan_slots_refill_slow_(c, at, sender);
          return VOLT_OK;
        }
      }
      volt_variant_ring_give_place_(r, at);
      if (volt_chan_slots_is_waiting_(c, VOLT_VARIANT_RING_SENDERS_))
        volt_chan_slots_serve_slow_(c);
      return VOLT_OK;
    }
    if (!w || result == VOLT_ECLOSED) return result;
  }
  const volt_variant_ring_op_ op = {VOLT_VARIANT_RING_RECEIVERS_, w, elem, waker};
  return volt_chan_slots_run_slow_(c, &op);
}

static inline int volt_chan_slots_try_send(volt_chan_slots *c, const void *elem) {
  const volt_waker nobody = {NULL, NULL};
  return volt_chan_slots_send_(c, NULL, elem, c->ring.elem_bytes, nobody);
}

static inline int volt_chan_slots_try_recv(volt_chan_slots *c, void *elem) {
  const volt_waker nobody = {NULL, NULL};
  return volt_chan_slots_recv_(c, NULL, elem, c->ring.elem_bytes, nobody);
}

static inline int volt_chan_slots_send_waiter(volt_chan_slots *c, volt_waiter *w, const void *elem,
                                              volt_waker waker) {
  return volt_chan_slots_send_(c, w, elem, c->ring.elem_bytes, waker);
}

static inline int volt_chan_slots_recv_waiter(volt_chan_slots *c, volt_waiter *w, void *elem,
                                              volt_waker waker) {
  return volt_chan_slots_recv_(c, w, elem, c->ring.elem_bytes, waker);
}

bool volt_chan_slots_cancel_send(volt_chan_slots *c, volt_waiter *w);
bool volt_chan_slots_cancel_recv(volt_chan_slots *c, volt_waiter *w);
bool volt_chan_slots_set_waker(volt_chan_slots *c, volt_waiter *w, volt_waker waker);
int volt_chan_slots_send_until(volt_chan_slots *c, const void *elem, uint64_t deadline_ns);
int volt_chan_slots_recv_until(volt_chan_slots *c, void *elem, uint64_t deadline_ns);
volt_future *volt_chan_slots_send_future(volt_future *f, volt_chan_slots *c, const void *elem);
volt_future *volt_chan_slots_recv_future(volt_future *f, volt_chan_slots *c, void *elem);
uint32_t volt_chan_slots_len(volt_chan_slots *c);
uint32_t volt_chan_slots_waiters(volt_chan_slots *c);
bool volt_chan_slots_is_closed(volt_chan_slots *c);

VOLT_END_DECLS
#endif
