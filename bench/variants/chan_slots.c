/* chan_slots.c: a ring, a flag and a list for each side, and a slot for its oldest waiter.
 *
 * Algorithm: as chan_ring.c, but the oldest waiter of a side is not in its FIFO but in a slot, if
 * it can be served from there without the lock. A sender that finds a receiver in its slot swaps it
 * out and copies its element to it; the ring is not touched. A receiver that empties a place of a
 * full ring, and finds a sender in its slot, swaps it out and fills that place with its element
 * before it gives the place up. In all other cases they do as without slots. After that they read
 * flag and slot, and so does every holder of the lock.
 *
 * Source: "Use in Channel.zig", in "Fast Waiter Slot" (docs/errata.md). Corrected: the holder of
 * the lock empties the slots into the FIFOs first (docs/errata.md, E10); a slot holds the oldest
 * waiter of its side, and the next oldest is moved there (E4); a thread that swaps a waiter out has
 * what it needs, so none is put back (E3, E12); flag and slot are read after the ring, all seq_cst
 * (E11); a cancel has an outcome (E5, E6).
 *
 * Invariants, besides those of chan_ring.c:
 *   I5  the waiter in a slot is older than those in the FIFO of its side
 *   I6  only the holder of the lock fills a slot. Any thread may empty it, and then owns what was
 *       in it
 *   I7  a receiver is in the slot => every element in the ring is of a send that has not ended: it
 *       is about to take the lock, or has claimed its position since
 *
 * Races
 *   R7  Interleaving: a sender swaps a receiver out and overtakes an older element in the ring.
 *       Prevented by: I7. A receiver is moved to the slot only if, with its flag raised, every
 *       position that was claimed to be filled has been emptied (D5, D6); one that is claimed later
 *       belongs to a sender that sees the flag, or the slot. A thread that moves an element from a
 *       sender in the slot to the ring serves the receivers, too, before it grants the sender.
 *   R8  Interleaving: a receiver swaps a sender out; another sender takes the place that was meant
 *       for it. Prevented by: in a full ring no position can be claimed before the place is given
 *       up that was claimed to be emptied; the thread that has claimed that place can claim the
 *       next position. Except if the channel is closed meanwhile: then the sender gets
 *       VOLT_ECLOSED.
 *   R9  Interleaving: a waiter is moved between slot and FIFO; a thread that reads one and then the
 *       other misses it. Prevented by: gather() raises the flag before it empties the slot, and the
 *       ring is read after that. settle() lowers the flag after it has filled the slot, and a
 *       thread that searches a waiter to serve reads the flag first. A thread that must not
 *       overtake a waiter reads the flag twice: it counts its changes.
 *   R10 Interleaving: a cancel, or a new waker, meets a thread that has swapped the waiter out
 *       (docs/errata.md, E5, E9). Prevented by: a waiter that is in neither place is claimed (I6);
 *       they wait for the grant.
 *
 * Costs: as chan_ring.c; with a waiter in the slot, 1 RMW for a sender, 4 for a receiver.
 *
 * Labels: chan_ring */
#include "chan_slots.h"

#include "core/future/future_ops.h"

enum { SENDERS = VOLT_VARIANT_RING_SENDERS_, RECEIVERS = VOLT_VARIANT_RING_RECEIVERS_ };

static volt_chan_slots *chan_slots_of(volt_variant_ring_ *r) {
  return (volt_chan_slots *)(void *)r;
}

static void chan_slots_gather(volt_variant_ring_ *r) {
  volt_chan_slots *c = chan_slots_of(r);
  for (int side = SENDERS; side <= RECEIVERS; side++) {
    /* relaxed: the thread that filled it held the lock before; once empty, it stays so */
    if (!volt_load_relaxed(&c->slot[side])) continue;
    volt_variant_ring_raise_(r, side); /* R9 */
    /* chan_ring:P1 -> chan_ring:P2: a thread that finds the slot empty sees the flag raised;
     * chan_ring:P3 <- chan_ring:P4: this thread sees what the owner of the waiter wrote */
    volt_waiter *w = volt_exchange_acq_rel(&c->slot[side], (volt_waiter *)NULL);
    if (!w) continue; /* I6: claimed, or cancelled */
    w->need = 1;
    volt_variant_fifo_push_front_(&r->fifo[side], w);
  }
}

/* Whether every position that was claimed to be filled has been emptied (I7). */
static bool chan_slots_is_empty(volt_variant_ring_ *r) {
  uint64_t head = volt_load_relaxed(&r->head); /* relaxed: an old value differs from tail */
  /* chan_ring:D6 <-> chan_ring:D5: this thread sees the claim of a position, or the thread that
   * claims it sees the flag that is raised now (R7) */
  return volt_load_seq_cst(&r->tail) == head;
}

static void chan_slots_settle(volt_variant_ring_ *r) {
  volt_chan_slots *c = chan_slots_of(r);
  for (int side = SENDERS; side <= RECEIVERS; side++) {
    volt_waiter *w = r->fifo[side].head;
    if (!w || volt_load_relaxed(&c->slot[side])) continue; /* relaxed: as in gather() */
    if (side == RECEIVERS ? !chan_slots_is_empty(r) : volt_variant_ring_is_closed_(r)) continue;
    volt_variant_fifo_remove_(&r->fifo[side], w);
    w->need = 0;
    /* chan_ring:P4 -> chan_ring:P3: a thread that empties the slot sees what the waiter's owner
     * wrote; chan_ring:D1 <-> chan_ring:D3: a thread that changes the ring after this sees the
     * waiter. From here it may be claimed */
    volt_store_seq_cst(&c->slot[side], w);
  }
}

static bool chan_slots_withdraw(volt_variant_ring_ *r, volt_waiter *w) {
  volt_waiter *seen = w;
  /* chan_ring:P3 <- chan_ring:P4: the owner sees the waiter as the holders of the lock left it */
  return volt_cas_acquire(&chan_slots_of(r)->slot[(uint32_t)w->want], &seen, (volt_waiter *)NULL);
}

static const volt_variant_ring_kind_ chan_slots_variant = {
    .name = "volt_chan_slots",
    .gather = chan_slots_gather,
    .settle = chan_slots_settle,
    .withdraw = chan_slots_withdraw,
};

/* This thread has claimed the position `at` and copied its element out; every other place is full.
 * Fill it with the element of *w, a sender that it has claimed. */
void volt_chan_slots_refill_slow_(volt_chan_slots *c, uint64_t at, volt_waiter *w) {
  volt_variant_ring_ *r = &c->ring;
  volt_variant_ring_place_ *place = volt_variant_ring_place_at_(r, at);
  uint64_t tail = at + VOLT_VARIANT_RING_LAP_;
  VOLT_COPY_(volt_variant_ring_elem_(place), w->data, r->elem_bytes);
  /* chan_ring:D5 <-> chan_ring:D6: a thread that would move a receiver to its slot sees this claim
   * and does not, or this thread sees the receiver's flag (R7). It fails if the channel was closed
   * meanwhile (R8) */
  if (!volt_cas_seq_cst(&r->tail, &tail, volt_variant_ring_next_(r, tail))) {
    volt_variant_ring_give_place_(r, at);
    volt_variant_ring_complete_closed_(w);
    return;
  }
  /* chan_ring:S2 <-> chan_ring:S3: a receiver sees the element, and what its sender did before;
   * chan_ring:D2 <-> chan_ring:D4: a receiver that has raised its flag sees the element if this
   * thread does not see the flag (R1) */
  volt_store_seq_cst(&place->sequence,
                     volt_variant_ring_sequence_(at + VOLT_VARIANT_RING_LAP_) + 1);
  if (volt_chan_slots_is_waiting_(c, RECEIVERS)) {
    volt_variant_ring_serve_(&chan_slots_variant, r, w); /* R7: before *w is granted */
  } else {
    volt_variant_ring_complete_(w);
  }
}

size_t volt_chan_slots_bytes(uint32_t capacity, size_t elem_bytes) {
  return volt_variant_ring_bytes_(capacity, elem_bytes);
}

int volt_chan_slots_init(volt_chan_slots *c, uint32_t capacity, size_t elem_bytes, void *mem,
                         size_t mem_bytes) {
  int result = volt_variant_ring_init_(&c->ring, capacity, elem_bytes, mem, mem_bytes);
  if (result != VOLT_OK) return result;
  for (int side = SENDERS; side <= RECEIVERS; side++) {
    volt_store_relaxed(&c->slot[side], (volt_waiter *)NULL); /* not shared yet */
  }
  return VOLT_OK;
}

void volt_chan_slots_destroy(volt_chan_slots *c, void (*drop)(void *elem, void *ctx), void *ctx) {
  volt_variant_ring_destroy_(&chan_slots_variant, &c->ring, drop, ctx);
}

void volt_chan_slots_close(volt_chan_slots *c) {
  volt_variant_ring_close_(&chan_slots_variant, &c->ring);
}

int volt_chan_slots_run_slow_(volt_chan_slots *c, const volt_variant_ring_op_ *op) {
  return volt_variant_ring_run_(&chan_slots_variant, &c->ring, op);
}

void volt_chan_slots_serve_slow_(volt_chan_slots *c) {
  volt_variant_ring_serve_(&chan_slots_variant, &c->ring, NULL);
}

bool volt_chan_slots_cancel_send(volt_chan_slots *c, volt_waiter *w) {
  return volt_variant_ring_cancel_(&chan_slots_variant, &c->ring, w);
}

bool volt_chan_slots_cancel_recv(volt_chan_slots *c, volt_waiter *w) {
  return volt_variant_ring_cancel_(&chan_slots_variant, &c->ring, w);
}

bool volt_chan_slots_set_waker(volt_chan_slots *c, volt_waiter *w, volt_waker waker) {
  return volt_variant_ring_set_waker_(&chan_slots_variant, &c->ring, w, waker);
}

uint32_t volt_chan_slots_len(volt_chan_slots *c) {
  return volt_variant_ring_len_(&c->ring);
}

uint32_t volt_chan_slots_waiters(volt_chan_slots *c) {
  return volt_variant_ring_waiters_(&chan_slots_variant, &c->ring);
}

bool volt_chan_slots_is_closed(volt_chan_slots *c) {
  return volt_variant_ring_is_closed_(&c->ring);
}

/* ---- futures, blocking ---- */

static int chan_slots_send_start(volt_future *f, volt_waker waker) {
  return volt_chan_slots_send_waiter((volt_chan_slots *)f->object, &f->waiter, f->waiter.data,
                                     waker);
}

static int chan_slots_recv_start(volt_future *f, volt_waker waker) {
  return volt_chan_slots_recv_waiter((volt_chan_slots *)f->object, &f->waiter, f->waiter.data,
                                     waker);
}

static bool chan_slots_cancel(volt_future *f) {
  return volt_variant_ring_cancel_(&chan_slots_variant, &((volt_chan_slots *)f->object)->ring,
                                   &f->waiter);
}

static bool chan_slots_set_waker(volt_future *f, volt_waker waker) {
  return volt_variant_ring_set_waker_(&chan_slots_variant, &((volt_chan_slots *)f->object)->ring,
                                      &f->waiter, waker);
}

/* No give_back: what has been moved stays moved. */
static const volt_future_ops_ chan_slots_send_ops = {.operation = "volt_chan_slots",
                                                     .start = chan_slots_send_start,
                                                     .cancel = chan_slots_cancel,
                                                     .set_waker = chan_slots_set_waker,
                                                     .poll_ctx = volt_future_poll_leaf_any_};
static const volt_future_ops_ chan_slots_recv_ops = {.operation = "volt_chan_slots",
                                                     .start = chan_slots_recv_start,
                                                     .cancel = chan_slots_cancel,
                                                     .set_waker = chan_slots_set_waker,
                                                     .poll_ctx = volt_future_poll_leaf_any_};

volt_future *volt_chan_slots_send_future(volt_future *f, volt_chan_slots *c, const void *elem) {
  f->waiter.data = (void *)(uintptr_t)elem;
  return volt_future_make_(f, &chan_slots_send_ops, c, 1);
}

volt_future *volt_chan_slots_recv_future(volt_future *f, volt_chan_slots *c, void *elem) {
  f->waiter.data = elem;
  return volt_future_make_(f, &chan_slots_recv_ops, c, 1);
}

int volt_chan_slots_send_until(volt_chan_slots *c, const void *elem, uint64_t deadline_ns) {
  volt_future f;
  return volt_future_wait_until(volt_chan_slots_send_future(&f, c, elem), deadline_ns);
}

int volt_chan_slots_recv_until(volt_chan_slots *c, void *elem, uint64_t deadline_ns) {
  volt_future f;
  return volt_future_wait_until(volt_chan_slots_recv_future(&f, c, elem), deadline_ns);
}
