/* chan_ring.c: what the two published channels do with the lock held, once for both.
 *
 * Algorithm: elements go through the ring without the lock. A thread that finds it full, or empty,
 * takes the lock, raises the flag of its side, tries the ring again, and links its waiter. A thread
 * that has filled a place, or emptied one, reads the other side's flag. If that is raised, it takes
 * the lock and serves: it moves elements from the ring to waiting receivers, and from waiting
 * senders into the ring, and grants the waiters for which it has moved one.
 *
 * Source: the channel of "Fast Waiter Slot" (docs/errata.md), without its slots; its ring is
 * D. Vyukov's bounded queue. Corrected: the flags and the sequence numbers are a pair of seq_cst
 * accesses on either side (docs/errata.md, E11); a grant moves the element (E12); a thread that
 * finds a flag raised visits every place where a waiter can be (E10, gather); a cancel has an
 * outcome (E5, E6); a full batch is woken after the lock is released (E13).
 *
 * Invariants, whenever the lock is free
 *   I1  a waiter is linked => the flag of its side is odd
 *   I2  a receiver is linked and the next element is there => the thread that filled the place, or
 *       emptied the one before it, is about to take the lock; the same for senders and places
 *   I3  need > 0 exactly while a waiter is in the FIFO, that of side want; one that waits
 *       elsewhere, or is claimed, or completed, has need = 0
 *   I4  each position is filled once and emptied once; none is filled after tail was CLOSED
 *
 * Races
 *   R1  Interleaving: a receiver finds the ring empty; a sender finds no waiter (docs/errata.md,
 *       E11); or the other way round. Prevented by: D1 before D4, D2 before D3, all of them
 *       seq_cst: one of the two threads sees the other. gather() raises the flag before it takes a
 *       waiter from where it is, and the ring is read after that.
 *   R2  Interleaving: the owner sees the grant and uses the waiter, or its element, again while the
 *       granter still reads it (docs/errata.md, E7, E8). Prevented by: the element is moved, and
 *       all else copied, under the lock; the grant is the last access (serve.h).
 *   R3  Interleaving: a waiter is granted while its element is in no place (docs/errata.md, E12).
 *       Prevented by: it is claimed only after its element has been moved.
 *   R4  Interleaving: a cancel, or a new waker, meets a thread that serves (docs/errata.md, E5,
 *       E9). Prevented by: need, under the lock and after gather(), says which was first; if the
 *       other
 *       thread was, they wait for the grant.
 *   R5  Interleaving: more waiters are to be served than a batch holds (docs/errata.md, E13).
 *       Prevented by: the thread unlocks, grants and wakes the batch, and comes back. `returning`
 *       makes destroy() wait for that.
 *   R6  Interleaving: an element is sent while the channel is closed; a receiver has already been
 *       refused because nothing was left. Prevented by: CLOSED is in the word by which positions
 *       are claimed, so those that were claimed before are all there are. A receiver waits for
 *       those that are still being filled, and the threads that fill them read its flag.
 *
 * Costs: 2 RMWs a send, and 2 a receive (S2 and S4 are exchanges on x86); with a waiter to serve,
 * the lock, its two ends of the ring. The library's channel makes one promise more: here a try
 * returns VOLT_EAGAIN also if another thread is still moving the element, or emptying the place,
 * that would be next. */
#include "chan_ring.h"

#include "core/os/check.h"
#include "core/park/spin.h"
#include "rt/sched/short_lock.h"
#include "serve.h"

enum { SENDERS = VOLT_VARIANT_RING_SENDERS_, RECEIVERS = VOLT_VARIANT_RING_RECEIVERS_ };

/* ---- the lock is held ---- */

static int chan_ring_move(volt_variant_ring_ *r, int side, void *elem) {
  if (side == SENDERS) return volt_variant_ring_push_(r, elem, r->elem_bytes);
  return volt_variant_ring_pop_(r, elem, r->elem_bytes);
}

/* Serve one side. Returns whether any waiter was served. */
static bool chan_ring_serve_side(volt_variant_ring_ *r, int side, volt_batch_ *batch) {
  bool any = false;
  while (r->fifo[side].head && batch->count < VOLT_WAKE_BATCH) {
    volt_waiter *w = r->fifo[side].head;
    int result = chan_ring_move(r, side, w->data); /* R3 */
    if (result == VOLT_EAGAIN) break;
    volt_variant_fifo_remove_(&r->fifo[side], w);
    w->need = 0;
    uint32_t state = result == VOLT_OK ? VOLT_WAITER_GRANTED_ : VOLT_WAITER_CLOSED_;
    batch->claims[batch->count++] = volt_variant_claim_of_(w, w, state);
    any = true;
  }
  return any;
}

static void chan_ring_serve(volt_variant_ring_ *r, volt_batch_ *batch) {
  bool any;
  do {
    any = chan_ring_serve_side(r, RECEIVERS, batch);
    any |= chan_ring_serve_side(r, SENDERS, batch);
  } while (any && batch->count < VOLT_WAKE_BATCH);
}

static void chan_ring_settle(const volt_variant_ring_kind_ *v, volt_variant_ring_ *r) {
  if (v->settle) v->settle(r);
  for (int side = SENDERS; side <= RECEIVERS; side++) {
    uint32_t flag = volt_load_relaxed(&r->flag[side]); /* only written under the lock */
    if ((flag & 1) && !r->fifo[side].head) {
      /* chan_ring:F1 -> chan_ring:D3, chan_ring:F2: a thread that sees the flag lowered sees the
       * slot to which the waiter was moved */
      volt_store_release(&r->flag[side], flag + 1);
    }
  }
}

/* Unlock, grant and wake the batch; if it is full, come back for more. */
static void chan_ring_unlock(const volt_variant_ring_kind_ *v, volt_variant_ring_ *r,
                             volt_batch_ *batch) {
  for (;;) {
    bool full = batch->count >= VOLT_WAKE_BATCH;
    chan_ring_settle(v, r);
    if (full) r->returning += 1; /* R5 */
    volt_short_lock_unlock_(&r->lock);
    volt_publish_(batch->claims, batch->count, NULL);
    if (!full) return;
    batch->count = 0;
    volt_short_lock_lock_(&r->lock);
    r->returning -= 1;
    if (v->gather) v->gather(r);
    chan_ring_serve(r, batch);
  }
}

/* ---- send and receive ---- */

static bool chan_ring_is_over(volt_variant_ring_ *r, int side) {
  /* chan_ring:C1 <- chan_ring:C2: a thread that sees CLOSED sees what came before close() */
  uint64_t tail = volt_load_acquire(&r->tail);
  if (!(tail & VOLT_VARIANT_RING_CLOSED_)) return false;
  /* relaxed: tail has its last value, and an old value of head differs from it */
  return side == SENDERS || (volt_load_relaxed(&r->head) | VOLT_VARIANT_RING_CLOSED_) == tail;
}

/* The waiters before it have been served. Returns VOLT_EAGAIN if it has to wait. */
static int chan_ring_attempt(volt_variant_ring_ *r, const volt_variant_ring_op_ *op) {
  if (r->fifo[op->side].head) return chan_ring_is_over(r, op->side) ? VOLT_ECLOSED : VOLT_EAGAIN;
  if (op->w) volt_variant_ring_raise_(r, op->side); /* D1: I1, if it has to wait */
  return chan_ring_move(r, op->side, op->elem);
}

int volt_variant_ring_run_(const volt_variant_ring_kind_ *v, volt_variant_ring_ *r,
                           const volt_variant_ring_op_ *op) {
  volt_batch_ batch;
  batch.count = 0;
  if (op->w) {
    volt_waiter_prepare_(v->name, r, op->w, 1, op->waker);
    op->w->want = (uint32_t)op->side;
    op->w->need = 0;
  }
  volt_short_lock_lock_(&r->lock);
  if (v->gather) v->gather(r);
  chan_ring_serve(r, &batch);
  int result = chan_ring_attempt(r, op);
  if (result == VOLT_EAGAIN && op->w) {
    op->w->data = op->elem;
    op->w->need = 1;                                         /* I3 */
    volt_variant_fifo_push_back_(&r->fifo[op->side], op->w); /* from here *w may be claimed */
    chan_ring_unlock(v, r, &batch);
    return VOLT_PENDING;
  }
  if (op->w)
    volt_store_relaxed(&op->w->state, VOLT_WAITER_UNUSED_); /* never linked: its owner's alone */
  if (result == VOLT_OK) chan_ring_serve(r, &batch);
  chan_ring_unlock(v, r, &batch);
  return result;
}

void volt_variant_ring_serve_(const volt_variant_ring_kind_ *v, volt_variant_ring_ *r,
                              volt_waiter *claimed) {
  volt_batch_ batch;
  batch.count = 0;
  if (claimed)
    batch.claims[batch.count++] = volt_variant_claim_of_(claimed, claimed, VOLT_WAITER_GRANTED_);
  volt_short_lock_lock_(&r->lock);
  if (v->gather) v->gather(r);
  chan_ring_serve(r, &batch);
  chan_ring_unlock(v, r, &batch);
}

void volt_variant_ring_complete_(volt_waiter *w) {
  volt_variant_claim_ claim = volt_variant_claim_of_(w, w, VOLT_WAITER_GRANTED_);
  volt_publish_(&claim, 1, NULL);
}

void volt_variant_ring_complete_closed_(volt_waiter *w) {
  volt_variant_claim_ claim = volt_variant_claim_of_(w, w, VOLT_WAITER_CLOSED_);
  volt_publish_(&claim, 1, NULL);
}

/* ---- cancel, wakers ---- */

/* Lock if *w is in its FIFO. Returns false: another thread was first, *w has completed, and the
 * lock is not held. */
static bool chan_ring_lock_if_waiting(const volt_variant_ring_kind_ *v, volt_variant_ring_ *r,
                                      volt_waiter *w, volt_batch_ *batch) {
  batch->count = 0;
  volt_short_lock_lock_(&r->lock);
  if (v->gather) v->gather(r);
  if (w->need > 0) return true; /* I3 */
  chan_ring_serve(r, batch);    /* R1: after gather() */
  chan_ring_unlock(v, r, batch);
  volt_waiter_await_(w); /* R4: claimed, and no foreign code runs before its grant */
  return false;
}

static bool chan_ring_is_done(const volt_variant_ring_kind_ *v, volt_variant_ring_ *r,
                              volt_waiter *w) {
  if (volt_waiter_result(w) != VOLT_PENDING) return true;
  VOLT_CHECK((void *)w->queue == (void *)r, v->name, "waiter %p is queued on %p, not on %p",
             (void *)w, (void *)w->queue, (void *)r);
  return false;
}

bool volt_variant_ring_cancel_(const volt_variant_ring_kind_ *v, volt_variant_ring_ *r,
                               volt_waiter *w) {
  if (chan_ring_is_done(v, r, w)) return volt_waiter_result(w) == VOLT_ECANCELED;
  if (!v->withdraw || !v->withdraw(r, w)) {
    volt_batch_ batch;
    if (!chan_ring_lock_if_waiting(v, r, w, &batch)) return false;
    volt_variant_fifo_remove_(&r->fifo[(uint32_t)w->want], w);
    w->need = 0;
    chan_ring_serve(r, &batch); /* R1: after gather() */
    chan_ring_unlock(v, r, &batch);
  }
  volt_store_relaxed(&w->state, VOLT_WAITER_UNUSED_); /* in no place: its owner's alone again */
  return true;
}

bool volt_variant_ring_set_waker_(const volt_variant_ring_kind_ *v, volt_variant_ring_ *r,
                                  volt_waiter *w, volt_waker waker) {
  if (chan_ring_is_done(v, r, w)) return false;
  volt_batch_ batch;
  if (!chan_ring_lock_if_waiting(v, r, w, &batch)) return false;
  w->wake = waker.wake; /* R4 */
  w->ctx = waker.ctx;
  chan_ring_serve(r, &batch); /* R1: after gather() */
  chan_ring_unlock(v, r, &batch);
  return true;
}

/* ---- life ---- */

void volt_variant_ring_close_(const volt_variant_ring_kind_ *v, volt_variant_ring_ *r) {
  volt_batch_ batch;
  batch.count = 0;
  volt_short_lock_lock_(&r->lock);
  uint64_t tail = volt_load_relaxed(&r->tail); /* a guess: the CAS decides */
  /* chan_ring:C2 -> chan_ring:C1: a thread that sees CLOSED sees what came before close() */
  while (!volt_cas_release(&r->tail, &tail, tail | VOLT_VARIANT_RING_CLOSED_)) continue;
  if (v->gather) v->gather(r);
  chan_ring_serve(r, &batch);
  chan_ring_unlock(v, r, &batch);
}

static size_t chan_ring_stride_of(size_t elem_bytes) {
  return sizeof(volt_variant_ring_place_) + ((elem_bytes + 7) & ~(size_t)7);
}

size_t volt_variant_ring_bytes_(uint32_t capacity, size_t elem_bytes) {
  if (capacity == 0 || capacity > VOLT_CHAN_MAX || elem_bytes > UINT32_MAX / 2) return 0;
  size_t stride = chan_ring_stride_of(elem_bytes);
  return stride > SIZE_MAX / capacity ? 0 : stride * capacity;
}

int volt_variant_ring_init_(volt_variant_ring_ *r, uint32_t capacity, size_t elem_bytes, void *mem,
                            size_t mem_bytes) {
  size_t bytes = volt_variant_ring_bytes_(capacity, elem_bytes);
  if (bytes == 0 || mem_bytes < bytes || !mem || (uintptr_t)mem % 8 != 0) return VOLT_EINVAL;
  r->places = (unsigned char *)mem;
  r->capacity = capacity;
  r->elem_bytes = (uint32_t)elem_bytes;
  r->stride = (uint32_t)chan_ring_stride_of(elem_bytes);
  volt_store_relaxed(&r->tail, 0); /* all of it: not shared yet */
  volt_store_relaxed(&r->head, 0);
  volt_store_relaxed(&r->lock.word, 0);
  r->returning = 0;
  for (int side = SENDERS; side <= RECEIVERS; side++) {
    volt_store_relaxed(&r->flag[side], 0);
    r->fifo[side].head = NULL;
    r->fifo[side].tail = NULL;
    r->fifo[side].waiters = 0;
  }
  for (uint32_t i = 0; i < capacity; i++) {
    volt_variant_ring_place_ *place =
        VOLT_CONSTRUCT_(volt_variant_ring_place_, r->places + (size_t)i * r->stride);
    volt_store_relaxed(&place->sequence, 0); /* not shared yet */
  }
  return VOLT_OK;
}

static uint32_t chan_ring_count_waiters(volt_variant_ring_ *r) {
  uint32_t senders = r->fifo[SENDERS].waiters;
  return senders + r->fifo[RECEIVERS].waiters;
}

void volt_variant_ring_destroy_(const volt_variant_ring_kind_ *v, volt_variant_ring_ *r,
                                void (*drop)(void *elem, void *ctx), void *ctx) {
  for (unsigned spins = 0;;) {
    volt_short_lock_lock_(&r->lock); /* after the last thread that still unlocks it */
    if (v->gather) v->gather(r);
    VOLT_CHECK(chan_ring_count_waiters(r) == 0, v->name,
               "%p: destroyed while %u waiters are queued", (void *)r, chan_ring_count_waiters(r));
    uint32_t returning = r->returning;
    volt_short_lock_unlock_(&r->lock);
    if (returning == 0) break;
    volt_pause_(&spins); /* R5: a thread is calling wakers */
  }
  uint64_t at;
  while (drop && volt_variant_ring_claim_(r, &at) == VOLT_OK) {
    drop(volt_variant_ring_elem_(volt_variant_ring_place_at_(r, at)), ctx);
  }
}

/* ---- inspection ---- */

uint32_t volt_variant_ring_len_(volt_variant_ring_ *r) {
  uint64_t head = volt_load_relaxed(&r->head); /* a snapshot */
  uint64_t tail = volt_load_relaxed(&r->tail);
  uint64_t laps = (tail >> 32) - (head >> 32);
  uint64_t len =
      laps * r->capacity + VOLT_VARIANT_RING_INDEX_(tail) - VOLT_VARIANT_RING_INDEX_(head);
  return len > r->capacity ? r->capacity : (uint32_t)len;
}

uint32_t volt_variant_ring_waiters_(const volt_variant_ring_kind_ *v, volt_variant_ring_ *r) {
  volt_batch_ batch;
  batch.count = 0;
  volt_short_lock_lock_(&r->lock);
  if (v->gather) v->gather(r);
  chan_ring_serve(r, &batch); /* R1: after gather() */
  uint32_t waiters = chan_ring_count_waiters(r);
  chan_ring_unlock(v, r, &batch);
  return waiters;
}

bool volt_variant_ring_is_closed_(volt_variant_ring_ *r) {
  /* chan_ring:C1 <- chan_ring:C2: a thread that sees CLOSED sees what came before close() */
  return (volt_load_acquire(&r->tail) & VOLT_VARIANT_RING_CLOSED_) != 0;
}
