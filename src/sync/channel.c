/* channel.c: a bounded channel of many senders and many receivers.
 *
 * Algorithm: one 64-bit word says how many elements there are, at which positions, and whether
 * anybody waits: who may move an element, who must wait, and for whom somebody waits, is decided by
 * one compare-and-swap on it. To claim a position is one step; the element is moved afterwards,
 * and the slot's sequence number says when it is there to take, and when the place is there to fill again.
 * The first who has to wait sets QUEUED and LOCKED; from then on everybody goes through the lock
 * (fifo.h), as in permits.c. Under the lock positions and waiters are claimed, and nothing is
 * moved; then the lock is left, the elements are moved, the waiters granted, their wakers called.
 *
 * Source: the ring with a sequence number per slot is D. Vyukov's bounded queue. There both ends
 * have a counter of their own and the slots decide who is too early; here the word decides.
 *
 * Invariants, whenever the lock is free
 *   I1  0 <= len <= capacity; the elements are at positions tail - len .. tail - 1
 *   I2  QUEUED <=> the FIFO is not empty
 *   I3  QUEUED and not CLOSED => len = 0, and receivers wait, or len = capacity, and senders wait
 *   I4  each position is claimed once to be filled, and once to be emptied
 *
 * Races
 *   R1  A sender finds nobody who waits, a receiver finds nothing to receive and sleeps; or the
 *       other way round. Closed: both decide by a CAS on the one word, which says both things.
 *   R2  The granter touches the channel, or the waiter, when its owner knows of the grant. Closed:
 *       the lock is left before the elements are moved; the grant is the last access.
 *   R3  A slot is filled while it is still being emptied, or emptied while it is being filled.
 *       Closed: its sequence number, looked at by whoever has claimed the position. It is looked at before as
 *       well: who has to wait for somebody who is still moving an element waits without a claim, so
 *       that nobody waits for those who wait. Two claim it before: a receive that refills a place
 *       which another one is still emptying; and a send for which, against what it saw, nobody
 *       waits but losers of selects (R9): it claims one place.
 *   R4  Cancel meets a granter; R5  a new waker does. In fifo.c: claimed waiters stay until they
 *       are granted, and so does the memory of their elements.
 *   R6  A waker comes to a place that the thread it is called on has claimed and not filled, and
 *       waits for it for ever. Closed: what is claimed is moved before anybody is granted.
 *   R7  More waiters than a batch: a receive takes no more elements than a batch has waiters for,
 *       so that every place it makes is filled by whoever waits for it (I3); close() comes back.
 *   R8  A thread is stopped between its look at a slot and its CAS, and when it goes on, the word
 *       is the same again, 2^28 sends later, while the slot is just being moved. Closed: that look
 *       is a hint; what counts is the one after the claim. Then the position is this thread's
 *       alone, and the slot's sequence, which moves on by one for each claim of the slot that is done,
 *       stops at it until this thread is done too. That sequences repeat, with the positions, could
 *       deceive only who is a whole round of them ahead of the slot: 2^29 >> shift claims of this
 *       one slot, at least 512, under way at once, at most two to a thread, nearly all through this
 *       very race.
 *   R9  Two branches of one select are granted in the same instant, and what one of them moved is
 *       lost. Closed: a waiter of a select is granted only by whoever takes the select's decision,
 *       which can be taken once; else it is dismissed: unlinked, as if it were cancelled. A branch
 *       that could take effect at once takes the decision under the lock, so that, if it has it,
 *       there is something to take effect on.
 *   R10 Interleaving: the channel is closed; a waiting future is polled before the closer has told
 *       it, and is pending while a new one is refused. Prevented by: the poll tells it.
 *
 * Pairs
 *   P1 (acq_rel) <- P1, U1 (release)   who claims a position sees the past of all earlier claims:
 *                  of a slot whose sequence repeats (R8) it reads none of an earlier round
 *   S1 (acquire) <- S4 (release)   who fills a place: whoever emptied it is done
 *   S3 (acquire) <- S2 (release)   who takes an element sees it, and what its sender did before
 *   L1 (acquire) <- U1 (release)   the lock
 *   C1 (acquire) <- C2, U1 (release)   who sees CLOSED sees what came before close()
 *   D1 (acquire) <- D2 (release)   the channel ends after a close() is done with it */
#include "channel_engine.h"

#include "../core/check.h"
#include "../core/fifo.h"
#include "../core/future_ops.h"
#include "../core/spin.h"

#define QUEUED VOLT_WORD_QUEUED_
#define LOCKED VOLT_WORD_LOCKED_
#define CLOSED VOLT_WORD_CLOSED_

static const char *const name = VOLT_CHAN_NAME_;

/* ---- the ring ---- */

uint64_t volt_chan_contended_(volt_chan *c) {
  for (unsigned i = 0; i < VOLT_CHAN_BACKOFF; i++) volt_cpu_relax_();
  return volt_load_relaxed(&c->queue.word); /* a guess: the CAS decides */
}

void volt_chan_await_sequence_(volt_chan_slot *slot, uint32_t sequence) {
  unsigned spins = 0;
  /* channel:S1 <- channel:S2, channel:S4: who fills a place; channel:S3 <- channel:S2,
   * channel:S4: who takes an element sees it, and what its sender did before */
  while (volt_load_acquire(&slot->sequence) != sequence) volt_pause_(&spins);
}

/* Behind so many bytes of elements; elems is NULL, and stays it, if elements have none. */
static unsigned char *chan_advance(unsigned char *elems, size_t bytes) {
  return bytes > 0 ? elems + bytes : elems;
}

/* Fill claimed places, or empty them. */
static void chan_fill_places(volt_chan *c, uint32_t position, unsigned char *elems, uint32_t n) {
  volt_chan_ring_ ring = volt_chan_ring_of_(c);
  size_t bytes = c->elem_bytes;
  for (uint32_t i = 0; i < n; i++) {
    volt_chan_fill_(ring, position + i, chan_advance(elems, i * bytes), bytes);
  }
}

static void chan_empty_places(volt_chan *c, uint32_t position, unsigned char *elems, uint32_t n) {
  volt_chan_ring_ ring = volt_chan_ring_of_(c);
  size_t bytes = c->elem_bytes;
  for (uint32_t i = 0; i < n; i++) {
    volt_chan_empty_(ring, position + i, chan_advance(elems, i * bytes), bytes);
  }
}

/* ---- R9: waiters of a select ---- */

/* The need of a waiter whose select has to be decided before it is granted; of all others: 1. */
enum { IN_SELECT = 2 };

static bool chan_is_in_select(const volt_waiter *w) {
  return w->need == IN_SELECT;
}

/* *w has been claimed, and is in a select. Returns true: that has been decided for another branch,
 * and *w is its owner's again. */
static bool chan_dismiss_loser(volt_waiter *w) {
  if (volt_decide_(volt_container_of(w, volt_future, waiter)->decision)) return false;
  volt_waiter_dismiss_(w);
  return true;
}

/* ---- under the lock ---- */

/* Claim the oldest waiters for n elements, or places: each for as many as it wants, if there are.
 * Returns for how many there is nobody; above 0 only if nobody is linked, or the batch is full. */
static uint32_t chan_claim_waiters(volt_chan *c, uint32_t n, volt_chan_batch_ *b) {
  while (n > 0 && c->queue.head && b->count < VOLT_WAKE_BATCH) {
    volt_waiter *w = c->queue.head;
    bool in_select = chan_is_in_select(w);
    volt_claimed_ claimed = volt_fifo_claim_(&c->queue, w);
    if (in_select && chan_dismiss_loser(w)) continue;
    if (volt_chan_wanted_(w) > n) volt_chan_set_moved_(w, n);
    n -= volt_chan_moved_(w);
    b->claimed[b->count++] = claimed;
  }
  return n;
}

/* One element, for the oldest receiver: the usual case of what follows, in fewer steps. */
static void chan_grant_one(volt_chan *c, uint64_t word, const unsigned char *elem) {
  volt_waiter *w = c->queue.head;
  size_t bytes = c->elem_bytes;
  volt_claimed_ claimed = volt_fifo_claim_(&c->queue, w);
  volt_chan_set_moved_(w, 1);
  volt_fifo_unlock_(&c->queue, word);
  volt_chan_move_(volt_chan_elems_of_(w), elem, bytes);
  volt_waiters_grant_(&claimed, 1, VOLT_WAITER_GRANTED_);
}

/* No sender waits. Give the elements to the receivers that wait, and to the ring; leave the lock.
 * Returns how many were sent: at least one. */
static uint32_t chan_send_locked(volt_chan *c, uint64_t word, unsigned char *elems, uint32_t n) {
  if (n == 1 && c->queue.head && !chan_is_in_select(c->queue.head)) {
    chan_grant_one(c, word, elems);
    return 1;
  }
  volt_chan_batch_ b;
  b.count = 0;
  uint32_t elem_bytes = c->elem_bytes;
  uint32_t tail = volt_chan_tail_in_(word);
  uint32_t places = chan_claim_waiters(c, n, &b);
  uint32_t granted = n - places;
  if (c->queue.head) places = 0; /* I3 */
  uint32_t room = c->capacity - volt_chan_len_in_(word);
  if (places > room) places = room;
  if (places > 0) { /* R3 */
    places = volt_chan_ready_places_(volt_chan_ring_of_(c), tail, places);
    if (places + granted == 0) places = 1;
  }
  volt_fifo_unlock_(&c->queue, word + volt_chan_word_(places, places));
  for (unsigned i = 0; i < b.count; i++) {
    volt_waiter *w = b.claimed[i].waiter;
    size_t bytes = (size_t)volt_chan_moved_(w) * elem_bytes;
    VOLT_COPY_(volt_chan_elems_of_(w), elems, bytes);
    elems = chan_advance(elems, bytes);
  }
  if (places > 0) chan_fill_places(c, tail, elems, places); /* R6 */
  volt_waiters_grant_(b.claimed, b.count, VOLT_WAITER_GRANTED_);
  return granted + places;
}

/* There are elements. Take some, give their places to the senders that wait; leave the lock.
 * Returns how many were taken: at least one. */
static uint32_t chan_recv_locked(volt_chan *c, uint64_t word, unsigned char *elems, uint32_t n) {
  volt_chan_batch_ b;
  b.count = 0;
  uint32_t head = volt_chan_head_in_(word);
  uint32_t tail = volt_chan_tail_in_(word);
  if (n > volt_chan_len_in_(word)) n = volt_chan_len_in_(word);
  if (n > VOLT_WAKE_BATCH) n = VOLT_WAKE_BATCH; /* R7 */
  n = volt_chan_ready_elems_(volt_chan_ring_of_(c), head, n);
  uint32_t filled = word & CLOSED ? 0 : n - chan_claim_waiters(c, n, &b);
  word -= volt_chan_word_(0, n - filled);
  volt_fifo_unlock_(&c->queue, word + volt_chan_word_(filled, 0));
  chan_empty_places(c, head, elems, n);
  for (unsigned i = 0; i < b.count; i++) {
    volt_waiter *w = b.claimed[i].waiter;
    uint32_t moved = volt_chan_moved_(w);
    chan_fill_places(c, tail, volt_chan_elems_of_(w), moved);
    tail += moved;
  }
  volt_waiters_grant_(b.claimed, b.count, VOLT_WAITER_GRANTED_); /* R2, R6 */
  return n;
}

/* ---- send and receive ---- */

/* Whether there is room for a sender, or an element for a receiver; no waiter is queued. */
static bool chan_is_possible(const volt_chan *c, const volt_chan_op_ *op, uint64_t word) {
  uint32_t len = volt_chan_len_in_(word);
  return op->sends ? len < c->capacity : len > 0;
}

/* The same under the lock, where waiters may be queued: receivers if there is no element. */
static bool chan_is_possible_locked(const volt_chan *c, const volt_chan_op_ *op, uint64_t word) {
  if (!op->sends || !c->queue.head) return chan_is_possible(c, op, word);
  return volt_chan_len_in_(word) == 0; /* I3 */
}

/* The lock is held, and it is possible: whether it is, also, without waiting for somebody who is
 * still moving an element. */
static bool chan_is_ready(const volt_chan *c, const volt_chan_op_ *op, uint64_t word) {
  volt_chan_ring_ ring = volt_chan_ring_of_(c);
  if (!op->sends) return volt_chan_ready_elems_(ring, volt_chan_head_in_(word), 1) > 0;
  return c->queue.head || volt_chan_ready_places_(ring, volt_chan_tail_in_(word), 1) > 0;
}

static bool chan_is_ended(const volt_chan_op_ *op, uint64_t word) {
  return (word & CLOSED) && (op->sends || volt_chan_len_in_(word) == 0);
}

uint32_t volt_chan_run_unlocked_(volt_chan *c, const volt_chan_op_ *op) {
  uint32_t position = 0;
  uint64_t word;
  uint32_t n;
  if (op->sends) {
    n = volt_chan_claim_places_(c, volt_chan_ring_of_(c), op->n, &position, &word);
    chan_fill_places(c, position, op->elems, n);
  } else {
    n = volt_chan_claim_elems_(c, volt_chan_ring_of_(c), op->n, &position, &word);
    chan_empty_places(c, position, op->elems, n);
  }
  return n;
}

static uint32_t chan_run_locked(volt_chan *c, const volt_chan_op_ *op, uint64_t word) {
  if (op->sends) return chan_send_locked(c, word, op->elems, op->n);
  return chan_recv_locked(c, word, op->elems, op->n);
}

/* The lock is held, and it has to wait. */
static int chan_append(volt_chan *c, const volt_chan_op_ *op, uint64_t word) {
  op->w->data = op->elems;
  volt_fifo_append_(&c->queue, op->w, op->n, op->decision ? IN_SELECT : 1, op->waker);
  volt_fifo_unlock_(&c->queue, word);
  return VOLT_PENDING;
}

static int chan_refuse(volt_chan *c) {
  /* channel:C1 <- channel:C2, channel:P1, fifo:U1: as in channel.c */
  (void)volt_load_acquire(&c->queue.word);
  return VOLT_ECLOSED;
}

/* What an attempt may return beside its result. */
enum { TAKE_THE_LOCK = 100, NOT_READY = 101 };

/* The word says that no waiter is queued. */
static int chan_attempt(volt_chan *c, const volt_chan_op_ *op, uint64_t word, uint32_t *moved) {
  if (chan_is_ended(op, word)) return chan_refuse(c);
  if (!chan_is_possible(c, op, word)) return op->w ? (int)TAKE_THE_LOCK : (int)VOLT_EAGAIN;
  if (op->decision) return TAKE_THE_LOCK; /* R9 */
  *moved = volt_chan_run_unlocked_(c, op);
  return *moved ? (int)VOLT_OK : (int)NOT_READY; /* R3, or the word has changed */
}

/* The lock is held. Leaves it. */
static int chan_attempt_locked(volt_chan *c, const volt_chan_op_ *op, uint64_t word,
                               uint32_t *moved) {
  int result = VOLT_OK;
  if (chan_is_ended(op, word)) {
    result = chan_refuse(c);
  } else if (!chan_is_possible_locked(c, op, word)) {
    if (op->w) return chan_append(c, op, word);
    result = VOLT_EAGAIN;
  } else if (!chan_is_ready(c, op, word)) {
    result = NOT_READY;
  } else if (op->decision && !volt_decide_(op->decision)) {
    result = VOLT_ECANCELED; /* R9; it was never linked */
  } else {
    *moved = chan_run_locked(c, op, word);
    return VOLT_OK;
  }
  volt_fifo_unlock_(&c->queue, word);
  return result;
}

int volt_chan_run_(volt_chan *c, const volt_chan_op_ *op, uint32_t *moved) {
  if (op->w) volt_waiter_check_unused_(name, op->w);
  for (unsigned spins = 0;;) {
    uint64_t word;
    int result = TAKE_THE_LOCK;
    bool locked = volt_fifo_lock_if_queued_(&c->queue, &word);
    if (!locked) {
      result = chan_attempt(c, op, word, moved);
      /* channel:L1 <- fifo:U1: that it has to wait stays true, and "somebody waits" becomes it,
       * in one step; channel:P1 <- channel:C1, channel:P1, fifo:U1: as in channel.c */
      locked = result == TAKE_THE_LOCK &&
               volt_cas_acquire(&c->queue.word, &word, word | QUEUED | LOCKED);
    }
    if (locked) result = chan_attempt_locked(c, op, word, moved);
    if (result == NOT_READY) {
      volt_pause_(&spins);
    } else if (result != TAKE_THE_LOCK) {
      return result;
    }
  }
}

int volt_chan_send_slow_(volt_chan *c, volt_waiter *w, const void *elem, volt_waker waker) {
  const volt_chan_op_ op = volt_chan_send_op_(w, elem, 1, waker);
  uint32_t moved;
  return volt_chan_run_(c, &op, &moved);
}

int volt_chan_recv_slow_(volt_chan *c, volt_waiter *w, void *elem, volt_waker waker) {
  const volt_chan_op_ op = volt_chan_recv_op_(w, elem, 1, waker);
  uint32_t moved;
  return volt_chan_run_(c, &op, &moved);
}

int volt_chan_try_send_slow_(volt_chan *c, const void *elem) {
  return volt_chan_send_slow_(c, NULL, elem, volt_chan_no_waker_);
}

int volt_chan_try_recv_slow_(volt_chan *c, void *elem) {
  return volt_chan_recv_slow_(c, NULL, elem, volt_chan_no_waker_);
}

bool volt_chan_cancel_send(volt_chan *c, volt_waiter *w) {
  return volt_fifo_cancel_(&c->queue, name, w);
}

bool volt_chan_cancel_recv(volt_chan *c, volt_waiter *w) {
  return volt_fifo_cancel_(&c->queue, name, w);
}

int volt_chan_try_send(volt_chan *c, const void *elem) {
  return volt_chan_try_send_(c, elem, c->elem_bytes);
}

int volt_chan_try_recv(volt_chan *c, void *elem) {
  return volt_chan_try_recv_(c, elem, c->elem_bytes);
}

int volt_chan_send(volt_chan *c, volt_waiter *w, const void *elem, volt_waker waker) {
  return volt_chan_send_(c, w, elem, c->elem_bytes, waker);
}

int volt_chan_recv(volt_chan *c, volt_waiter *w, void *elem, volt_waker waker) {
  return volt_chan_recv_(c, w, elem, c->elem_bytes, waker);
}

/* ---- life and inspection ---- */

/* Bytes from slot to slot, and how many slots as a power of two. */
static void chan_layout(uint32_t capacity, size_t elem_bytes, size_t *stride, uint32_t *shift) {
  *stride = sizeof(volt_chan_slot) + ((elem_bytes + 7) & ~(size_t)7);
  *shift = 0;
  while ((UINT32_C(1) << *shift) < capacity) *shift += 1;
}

size_t volt_chan_bytes(uint32_t capacity, size_t elem_bytes) {
  size_t stride;
  uint32_t shift;
  if (capacity == 0 || capacity > VOLT_CHAN_MAX || elem_bytes > UINT32_MAX / 2) return 0;
  chan_layout(capacity, elem_bytes, &stride, &shift);
  return stride > SIZE_MAX >> shift ? 0 : stride << shift;
}

int volt_chan_init(volt_chan *c, uint32_t capacity, size_t elem_bytes, void *mem,
                   size_t mem_bytes) {
  size_t bytes = volt_chan_bytes(capacity, elem_bytes);
  if (bytes == 0 || mem_bytes < bytes || !mem || (uintptr_t)mem % 8 != 0) return VOLT_EINVAL;
  size_t stride;
  chan_layout(capacity, elem_bytes, &stride, &c->shift);
  volt_fifo_init_(&c->queue, 0);
  c->slots = (unsigned char *)mem;
  c->capacity = capacity;
  c->elem_bytes = (uint32_t)elem_bytes;
  c->stride = (uint32_t)stride;
  volt_store_relaxed(&c->closing, 0); /* not shared yet */
  volt_store_relaxed(&c->senders, 0);
  volt_fifo_init_(&c->watchers, 0);
  for (uint32_t i = 0; i < UINT32_C(1) << c->shift; i++) {
    volt_chan_slot *slot = VOLT_CONSTRUCT_(volt_chan_slot, c->slots + (size_t)i * stride);
    volt_store_relaxed(&slot->sequence, 0); /* not shared yet */
  }
  return VOLT_OK;
}

uint32_t volt_chan_len(const volt_chan *c) {
  return volt_chan_len_in_(volt_load_relaxed(&c->queue.word)); /* a snapshot */
}

uint32_t volt_chan_capacity(const volt_chan *c) {
  return c->capacity;
}

uint32_t volt_chan_waiters(const volt_chan *c) {
  return volt_fifo_count_(&c->queue);
}

bool volt_chan_is_closed(const volt_chan *c) {
  /* channel:C1 <- channel:C2, channel:P1, fifo:U1: as in channel.c */
  return (volt_load_acquire(&c->queue.word) & CLOSED) != 0;
}
