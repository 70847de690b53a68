/* channel.c: a bounded channel of many senders and many receivers.
 *
 * Algorithm: one 64-bit word (volt/detail/channel.h) holds how many elements there are, at which
 * positions, and whether a waiter is queued. The ring has slots. An element's position is its
 * number since the beginning, and selects the slot; the tail is the position of the next element.
 * One compare-and-swap on the word decides whether an operation can proceed. If so, the operation
 * claims a position in that step, and copies the element afterwards. The sequence number of the
 * slot says when it is empty, for the sender, and when the element is there, for the receiver.
 *   The first thread that has to wait sets QUEUED and LOCKED. While QUEUED is set, all operations
 * go through the lock (fifo.h), as in permits.c. Positions and waiters are claimed under the lock.
 * After the lock is released, the elements are copied, then the waiters are granted, and then their
 * wakers are called.
 *   close() sets CLOSED, by a compare-and-swap or under the lock, and completes all waiters batch by
 * batch. Futures that await the close (watchers) have a FIFO of their own with a monitor (monitor.h),
 * because the channel's holds senders or receivers alone. The first watcher sets WATCHED in the
 * channel's word, for good. The closer sees WATCHED in the step that sets CLOSED, and releases the
 * watchers afterwards. Sends and receives keep the bit, and ignore it.
 *   Senders are a count. When the last sender is dropped, ENDED replaces the count, for good.
 *
 * Source: the ring with a sequence number in each slot is D. Vyukov's bounded queue. There each end
 * has a counter of its own, and the slots stop an operation that comes too early; here the word
 * does.
 *
 * Invariants, whenever the lock is free
 *   I1  0 <= len <= capacity; the elements are at positions tail - len .. tail - 1
 *   I2  QUEUED is set exactly if the FIFO is not empty
 *   I3  If QUEUED is set and CLOSED is not: len = 0 and the waiters are receivers, or
 *       len = capacity and the waiters are senders
 *   I4  each position is claimed once by a sender and once by a receiver
 * Invariants, at all times
 *   I5  a watcher is queued and not completed => the word is WATCHED and not CLOSED, or the closer
 *       is about to release the watchers
 *   I6  ENDED => the channel is closed, or the thread that has set ENDED is about to close it
 *
 * Races
 *   R1  Interleaving: a receiver finds no element; a sender finds no waiter, and puts its element
 *       into the ring; the receiver sleeps. Or the other way round, at a full ring. Prevented by:
 *       both decide by a compare-and-swap on one word, which holds both answers.
 *   R2  Interleaving: a waiter is granted; its owner frees it, or the channel; the granter touches
 *       them. Prevented by: the lock is released before the elements are copied, and the grant is
 *       the last access to the waiter.
 *   R3  Interleaving: a slot is filled while its last element is still being copied out, or emptied
 *       while its element is still being copied in. Prevented by: the claimer of a position waits
 *       for the slot's sequence number. The number is also checked *before* the claim, so a thread
 *       that must wait for a copy in progress holds no claim that others would wait for. Two
 *       callers skip that check: a receive that moves a waiting sender's element into a place that
 *       another thread is still emptying; and a send that finds only losers of selects (R9) among
 *       the waiters, which claims one place.
 *   R4, R5  A cancel, or a new waker, meets a granter: fifo.c R4, R5. A claimed waiter and the
 *       memory of its elements stay where they are until the grant.
 *   R6  Interleaving: a thread claims a place and calls a waker; the waker uses the channel, comes
 *       to that place, and waits for it for ever. Prevented by: a thread copies all that it has
 *       claimed before it grants a waiter.
 *   R7  Interleaving: a receive takes more elements than a batch has senders for; places stay empty
 *       while senders wait (I3). Prevented by: a receive takes no more elements than a batch holds.
 *       A close that finds more waiters than that comes back for the rest.
 *   R8  Interleaving: a thread checks a slot and is stopped before its compare-and-swap; 2^28 sends
 *       later the word is the same again, and the claim succeeds in the middle of a copy. Prevented
 *       by: the check before the claim is a hint, and the one after it counts. After the claim no
 *       other thread has this position, and the slot's sequence number stays at it until the
 *       claimer is done. Sequence numbers wrap, too, after 2^29 >> shift claims of one slot (shift:
 *       log2 of the ring's slots), which is at least 512. A wrong match needs that many claims of
 *       this slot in flight at once, and a thread has at most two.
 *   R9  Interleaving: two branches of one select are granted at once, and the element that one of
 *       them has moved is lost. Prevented by: a granter first takes the select's decision, which
 *       can be taken once. If another thread has it, the waiter is dismissed: unlinked, as if it
 *       were cancelled. A branch that can take effect at once takes the decision under the lock, so
 *       that what it has found is still there.
 *   R10 Interleaving: the channel is closed; a waiting future is polled before the closer has
 *       completed it, and is pending while a new one is refused. Prevented by: the poll completes
 *       it.
 *   R11 Interleaving: a watcher finds the channel open; the channel is closed, and all watchers are
 *       released; the watcher queues, and is never released. Prevented by: a watcher holds the
 *       watchers' lock while it sets WATCHED in a word that is not CLOSED; the closer takes that
 *       lock after it has set CLOSED.
 *   R12 Interleaving: a thread that sees the close destroys the channel before the closer has
 *       released the watchers, or completed the waiters of its next batch. Prevented by: the closer
 *       is counted (closing) before the word is CLOSED, and destroy waits for the count.
 *   R13 Interleaving: the last sender is dropped; another one is added, and finds itself on a
 *       channel that is being closed. Prevented by: both change one count, and ENDED stays.
 *   R14 Interleaving: the channel is closed; a watcher is polled before the closer has released it,
 *       and is pending while a new one is ready. Prevented by: the poll looks at the channel's
 *       word, and completes the watcher itself. */
#include "channel.h"

#include "../core/future/future_ops.h"
#include "../core/inspect/describe.h"
#include "../core/os/check.h"
#include "../core/park/spin.h"
#include "../core/wait/fifo.h"
#include "../core/wait/monitor.h"

#define QUEUED VOLT_WORD_QUEUED_
#define LOCKED VOLT_WORD_LOCKED_
#define CLOSED VOLT_WORD_CLOSED_
#define WATCHED VOLT_CHAN_WATCHED_

/* For how many volt_cpu_relax_() a thread whose compare-and-swap has failed leaves the word alone:
 * long enough for a burst of operations of another thread in its own cache. Without that pause two
 * cores fetch the cache line from each other for each operation. */
#ifndef VOLT_CHAN_BACKOFF
#define VOLT_CHAN_BACKOFF 64
#endif

/* Claimed waiters, to be granted together when the lock is released. */
typedef struct volt_chan_batch_ {
  volt_claimed_ claimed[VOLT_WAKE_BATCH];
  unsigned count;
} volt_chan_batch_;

/* ---- the beginning of its life ---- */

/* stride: bytes from slot to slot. The ring has 1 << shift slots. */
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

/* ---- the ring ---- */

uint64_t volt_chan_contended_(volt_chan *c) {
  for (unsigned i = 0; i < VOLT_CHAN_BACKOFF; i++) volt_cpu_relax_();
  return volt_load_relaxed(&c->queue.word); /* a guess: the CAS decides */
}

VOLT_NOINLINE void volt_chan_await_sequence_(volt_chan_slot *slot, uint32_t sequence) {
  unsigned spins = 0;
  /* channel:S1 <- channel:S4: the place is empty, its last receiver is done;
   * channel:S3 <- channel:S2: the element is there, and what its sender did before is seen */
  while (volt_load_acquire(&slot->sequence) != sequence) volt_pause_(&spins);
}

/* The elements behind the first bytes of elems; NULL stays NULL: then elements have no bytes. */
static unsigned char *chan_advance(unsigned char *elems, size_t bytes) {
  return bytes > 0 ? elems + bytes : elems;
}

/* Copy elements into n claimed places, from position on. */
static void chan_fill_places(volt_chan *c, uint32_t position, unsigned char *elems, uint32_t n) {
  volt_chan_ring_ ring = volt_chan_ring_of_(c);
  size_t bytes = c->elem_bytes;
  for (uint32_t i = 0; i < n; i++) {
    volt_chan_fill_(ring, position + i, chan_advance(elems, i * bytes), bytes);
  }
}

/* Copy elements out of n claimed places, from position on. */
static void chan_empty_places(volt_chan *c, uint32_t position, unsigned char *elems, uint32_t n) {
  volt_chan_ring_ ring = volt_chan_ring_of_(c);
  size_t bytes = c->elem_bytes;
  for (uint32_t i = 0; i < n; i++) {
    volt_chan_empty_(ring, position + i, chan_advance(elems, i * bytes), bytes);
  }
}

/* ---- R9: waiters of a select ---- */

/* The need of a waiter that is in a select, whose decision comes before a grant. All others: 1. */
enum { IN_SELECT = 2 };

static bool chan_is_in_select(const volt_waiter *w) {
  return w->need == IN_SELECT;
}

/* *w is claimed, and in a select. Returns true: the select is decided for another branch, and *w is
 * its owner's again. Returns false: *w has the decision, and is to be granted. */
static bool chan_dismiss_loser(volt_waiter *w) {
  if (volt_decide_(volt_container_of(w, volt_future, waiter)->decision)) return false;
  volt_waiter_dismiss_(w);
  volt_count_(VOLT_KIND_CHANNEL_, VOLT_COUNTER_CANCELS_);
  return true;
}

/* ---- under the lock ---- */

/* Claim the oldest waiters for n elements, or for n places. Each gets as many as it wants, or what
 * is left of n. Returns how many no waiter gets: above 0 only if the FIFO is empty or the batch is
 * full. */
static uint32_t chan_claim_waiters(volt_chan *c, uint32_t n, volt_chan_batch_ *b) {
  while (n > 0 && c->queue.head && b->count < VOLT_WAKE_BATCH) {
    volt_waiter *w = c->queue.head;
    bool in_select = chan_is_in_select(w);
    volt_claimed_ claimed = volt_fifo_claim_(&c->queue, w);
    if (in_select && chan_dismiss_loser(w)) continue;
    if (volt_chan_wanted_(w) > n) volt_chan_set_moved_(w, n);
    n -= volt_chan_moved_(w);
    b->claimed[b->count++] = claimed;
    volt_count_claims_(VOLT_KIND_CHANNEL_, 1, false);
  }
  return n;
}

/* The usual case of chan_send_locked(): one element, for the oldest receiver. */
static void chan_grant_one(volt_chan *c, uint64_t word, const unsigned char *elem) {
  volt_waiter *w = c->queue.head;
  size_t bytes = c->elem_bytes;
  volt_claimed_ claimed = volt_fifo_claim_(&c->queue, w);
  volt_chan_set_moved_(w, 1);
  volt_fifo_unlock_(&c->queue, word);
  volt_count_claims_(VOLT_KIND_CHANNEL_, 1, false);
  volt_chan_move_(volt_chan_elems_of_(w), elem, bytes);
  volt_claimed_grant_(claimed, VOLT_WAITER_GRANTED_); /* R2 */
}

/* Any other case of chan_send_locked(). */
static VOLT_NOINLINE uint32_t chan_send_batch(volt_chan *c, uint64_t word, unsigned char *elems,
                                              uint32_t n) {
  volt_chan_batch_ b;
  b.count = 0;
  uint32_t elem_bytes = c->elem_bytes;
  uint32_t tail = volt_chan_tail_in_(word);
  uint32_t places = chan_claim_waiters(c, n, &b);
  uint32_t granted = n - places;
  if (c->queue.head) places = 0; /* I3: the batch is full, and receivers still wait */
  uint32_t room = c->capacity - volt_chan_len_in_(word);
  if (places > room) places = room;
  if (places > 0) {
    places = volt_chan_ready_places_(volt_chan_ring_of_(c), tail, places);
    if (places + granted == 0) places = 1; /* R3: all waiters were losers of selects */
  }
  volt_fifo_unlock_(&c->queue, word + volt_chan_word_(places, places));
  for (unsigned i = 0; i < b.count; i++) {
    volt_waiter *w = b.claimed[i].waiter;
    size_t bytes = (size_t)volt_chan_moved_(w) * elem_bytes;
    VOLT_COPY_(volt_chan_elems_of_(w), elems, bytes);
    elems = chan_advance(elems, bytes);
  }
  if (places > 0) chan_fill_places(c, tail, elems, places); /* R6: before the grants */
  volt_waiters_grant_(b.claimed, b.count, VOLT_WAITER_GRANTED_);
  return granted + places;
}

/* The lock is held, and no sender is queued. Send to the receivers that are queued, then into the
 * ring. Releases the lock. Returns how many elements were sent: at least one. */
static uint32_t chan_send_locked(volt_chan *c, uint64_t word, unsigned char *elems, uint32_t n) {
  VOLT_PROBE2(chan__send, c, n);
  if (n != 1 || !c->queue.head || chan_is_in_select(c->queue.head)) {
    return chan_send_batch(c, word, elems, n);
  }
  chan_grant_one(c, word, elems);
  return 1;
}

/* The lock is held, and the oldest element is there. Receive up to n, and move elements of the
 * senders that are queued into their places. Releases the lock. Returns how many elements were
 * received: at least one. */
static uint32_t chan_recv_locked(volt_chan *c, uint64_t word, unsigned char *elems, uint32_t n) {
  volt_chan_batch_ b;
  b.count = 0;
  uint32_t head = volt_chan_head_in_(word);
  uint32_t tail = volt_chan_tail_in_(word);
  if (n > volt_chan_len_in_(word)) n = volt_chan_len_in_(word);
  if (n > VOLT_WAKE_BATCH) n = VOLT_WAKE_BATCH; /* R7 */
  n = volt_chan_ready_elems_(volt_chan_ring_of_(c), head, n);
  VOLT_PROBE2(chan__recv, c, n);
  uint32_t filled = word & CLOSED ? 0 : n - chan_claim_waiters(c, n, &b);
  word = word - volt_chan_word_(0, n) + volt_chan_word_(filled, filled);
  volt_fifo_unlock_(&c->queue, word);
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

/* Whether there is room to send, or an element to receive, if no waiter is queued. */
static bool chan_is_possible(const volt_chan *c, const volt_chan_op_ *op, uint64_t word) {
  uint32_t len = volt_chan_len_in_(word);
  return op->sends ? len < c->capacity : len > 0;
}

/* The same under the lock, with the waiters that are queued. */
static bool chan_is_possible_locked(const volt_chan *c, const volt_chan_op_ *op, uint64_t word) {
  if (!op->sends || !c->queue.head) return chan_is_possible(c, op, word);
  return volt_chan_len_in_(word) == 0; /* I3: receivers are queued */
}

/* The lock is held, and the operation is possible: whether it can proceed without waiting for a
 * copy in progress (R3). */
static bool chan_is_ready(const volt_chan *c, const volt_chan_op_ *op, uint64_t word) {
  volt_chan_ring_ ring = volt_chan_ring_of_(c);
  if (!op->sends) return volt_chan_ready_elems_(ring, volt_chan_head_in_(word), 1) > 0;
  return c->queue.head || volt_chan_ready_places_(ring, volt_chan_tail_in_(word), 1) > 0;
}

/* Whether the channel is closed for this operation: at once for a send, for a receive when no
 * element is left. */
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

/* The lock is held. Queue the operation's waiter. Releases the lock. */
static int chan_append(volt_chan *c, const volt_chan_op_ *op, uint64_t word) {
  op->w->data = op->elems;
  volt_chan_append_(c, op->w, op->n, op->decision ? IN_SELECT : 1, op->waker, word);
  return VOLT_PENDING;
}

/* The channel is closed for this operation. Returns VOLT_ECLOSED. */
static int chan_refuse(volt_chan *c) {
  /* channel:C1 <- channel:C2, channel:P1, fifo:U1: the caller sees what came before the close */
  (void)volt_load_acquire(&c->queue.word);
  return VOLT_ECLOSED;
}

/* What an attempt returns beside results. NOT_READY: try again a little later. */
enum { TAKE_THE_LOCK = 100, NOT_READY = 101 };

/* Try without the lock: the word says that no waiter is queued. */
static int chan_attempt(volt_chan *c, const volt_chan_op_ *op, uint64_t word, uint32_t *moved) {
  if (chan_is_ended(op, word)) return chan_refuse(c);
  if (!chan_is_possible(c, op, word)) {
    volt_chan_check_init_(c);
    return op->w ? (int)TAKE_THE_LOCK : (int)VOLT_EAGAIN;
  }
  if (op->decision) return TAKE_THE_LOCK; /* R9: the decision is taken under the lock */
  *moved = volt_chan_run_unlocked_(c, op);
  return *moved ? (int)VOLT_OK : (int)NOT_READY; /* R3, or the word changes */
}

/* Try under the lock; waiters may be queued. Releases the lock. */
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
    result = VOLT_ECANCELED; /* R9; the waiter was never queued */
  } else {
    *moved = chan_run_locked(c, op, word);
    return VOLT_OK;
  }
  volt_fifo_unlock_(&c->queue, word);
  return result;
}

int volt_chan_run_(volt_chan *c, const volt_chan_op_ *op, uint32_t *moved) {
  if (op->w) volt_waiter_check_unused_(VOLT_KIND_CHANNEL_, op->w);
  for (unsigned spins = 0;;) {
    uint64_t word;
    int result = TAKE_THE_LOCK;
    bool locked = volt_fifo_lock_if_queued_(&c->queue, &word);
    if (!locked) {
      result = chan_attempt(c, op, word, moved);
      locked = result == TAKE_THE_LOCK && volt_chan_lock_unqueued_(c, &word);
    }
    if (locked) result = chan_attempt_locked(c, op, word, moved);
    if (result == NOT_READY) {
      volt_pause_(&spins);
    } else if (result != TAKE_THE_LOCK) {
      return result;
    }
  }
}

/* ---- one element ---- */

/* Send *elem to the oldest receiver. Returns false: none is queued, or the lock is not free. */
static bool chan_send_to_receiver(volt_chan *c, const void *elem) {
  uint64_t word = volt_load_relaxed(&c->queue.word);    /* a guess: the CAS decides */
  if (!volt_chan_holds_(word, 0, QUEUED)) return false; /* I3: then receivers are queued */
  /* channel:L1 <- fifo:U1: the FIFO is seen as its last holder left it */
  if (!volt_cas_acquire(&c->queue.word, &word, word | LOCKED)) return false;
  (void)chan_send_locked(c, word, (unsigned char *)(uintptr_t)elem, 1);
  return true;
}

int volt_chan_send_slow_(volt_chan *c, volt_waiter *w, const void *elem, volt_waker waker) {
  if (chan_send_to_receiver(c, elem)) return VOLT_OK;
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
  return volt_fifo_cancel_(&c->queue, VOLT_KIND_CHANNEL_, w);
}

bool volt_chan_cancel_recv(volt_chan *c, volt_waiter *w) {
  return volt_fifo_cancel_(&c->queue, VOLT_KIND_CHANNEL_, w);
}

int volt_chan_try_send(volt_chan *c, const void *elem) {
  return volt_chan_try_send_(c, elem, c->elem_bytes);
}

int volt_chan_try_recv(volt_chan *c, void *elem) {
  return volt_chan_try_recv_(c, elem, c->elem_bytes);
}

int volt_chan_send_waiter(volt_chan *c, volt_waiter *w, const void *elem, volt_waker waker) {
  return volt_chan_send_(c, w, elem, c->elem_bytes, waker);
}

int volt_chan_recv_waiter(volt_chan *c, volt_waiter *w, void *elem, volt_waker waker) {
  return volt_chan_recv_(c, w, elem, c->elem_bytes, waker);
}

/* ---- close ---- */

/* The word is CLOSED, and this close() is counted. */
static void chan_complete_watchers(volt_chan *c) {
  volt_monitor_ t;
  volt_monitor_enter_(&t, &c->watchers, VOLT_KIND_CHANNEL_);
  volt_monitor_release_all_(&t);
  volt_monitor_exit_(&t);
}

/* Count this close(), which uses *c after it has set CLOSED: destroy() waits until D2 (R12). */
static void chan_count_closer(volt_chan *c, bool *counted) {
  if (!*counted) volt_fetch_add_relaxed(&c->closing, 1); /* relaxed: published by C2 or U1 */
  *counted = true;
}

/* The lock is held, and the next word is CLOSED. Complete a batch of waiters. Releases the lock.
 * Returns whether waiters are left (R7). */
static bool chan_close_batch(volt_chan *c, uint64_t word, bool *counted) {
  volt_chan_batch_ b;
  b.count = 0;
  while (c->queue.head && b.count < VOLT_WAKE_BATCH) {
    b.claimed[b.count++] = volt_fifo_claim_(&c->queue, c->queue.head);
  }
  bool more = c->queue.head != NULL;
  if (more || (word & WATCHED)) chan_count_closer(c, counted);
  volt_fifo_unlock_(&c->queue, word);
  volt_count_claims_(VOLT_KIND_CHANNEL_, b.count, true);
  volt_waiters_grant_(b.claimed, b.count, VOLT_WAITER_CLOSED_);
  return more;
}

bool volt_chan_complete_closed_(volt_chan *c, volt_waiter *w) {
  /* relaxed: the lock, or the grant, carries what came before the close */
  bool closed = (volt_load_relaxed(&c->queue.word) & CLOSED) != 0;
  if (closed) volt_fifo_complete_(&c->queue, VOLT_KIND_CHANNEL_, w, VOLT_WAITER_CLOSED_); /* R10 */
  return closed;
}

/* Set CLOSED while no waiter is queued. Returns false: a waiter is queued, and the lock is held. */
static bool chan_close_unlocked(volt_chan *c, uint64_t *word, bool *counted) {
  while (!volt_fifo_lock_if_queued_(&c->queue, word)) {
    if (*word & WATCHED) chan_count_closer(c, counted);
    /* channel:C2 -> channel:C1: a thread that sees CLOSED sees what came before */
    if (volt_cas_release(&c->queue.word, word, *word | CLOSED)) return true;
  }
  return false;
}

void volt_chan_close(volt_chan *c) {
  uint64_t word;
  bool counted = false;
  VOLT_PROBE1(close, c);
  bool more = !chan_close_unlocked(c, &word, &counted);
  while (more) {
    more =
        chan_close_batch(c, word | CLOSED, &counted) && volt_fifo_lock_if_queued_(&c->queue, &word);
  }
  if (!counted) return;
  chan_complete_watchers(c);
  /* channel:D2 -> channel:D1: destroy() comes after this, the last access to *c (R12) */
  volt_fetch_add_release(&c->closing, (uint32_t)-1);
}

/* ---- futures that await the close ---- */

/* The watchers' lock is held. Set WATCHED. Returns false: the channel is closed. */
static bool chan_watch(volt_chan *c) {
  for (;;) {
    /* channel:C1 <- channel:C2, channel:P1, fifo:U1: the watcher sees what came before the close */
    uint64_t word = volt_load_acquire(&c->queue.word);
    if (word & CLOSED) return false;
    if (word & WATCHED) return true; /* R11 */
    if (volt_fifo_lock_if_queued_(&c->queue, &word)) {
      volt_fifo_unlock_(&c->queue, word | WATCHED);
    } else {
      /* relaxed, no data: the next round looks whether the bit is set */
      (void)volt_cas_relaxed(&c->queue.word, &word, word | WATCHED);
    }
  }
}

static volt_chan *chan_closed_object(volt_future *f) {
  return volt_container_of(f->object, volt_chan, watchers);
}

static int chan_closed_start(volt_future *f, volt_waker waker) {
  volt_chan *c = chan_closed_object(f);
  volt_monitor_ t;
  volt_monitor_lock_(&t, &c->watchers, VOLT_KIND_CHANNEL_);
  int result = chan_watch(c) ? volt_monitor_append_(&t, &f->waiter, waker) : (int)VOLT_OK;
  volt_monitor_unlock_(&t);
  return result;
}

/* R14 */
static bool chan_closed_due(volt_future *f) {
  volt_chan *c = chan_closed_object(f);
  /* channel:C1 <- channel:C2, channel:P1, fifo:U1: the watcher sees what came before the close */
  bool closed = (volt_load_acquire(&c->queue.word) & CLOSED) != 0;
  if (closed)
    volt_fifo_complete_(&c->watchers, VOLT_KIND_CHANNEL_, &f->waiter, VOLT_WAITER_GRANTED_);
  return closed;
}

static void chan_closed_give_back(volt_future *f) {
  (void)f; /* a grant gives nothing that could be given back */
}

static void chan_closed_describe(volt_future *f, volt_description_ *description) {
  volt_chan *c = chan_closed_object(f);
  description->object = c;
  if (description->is_granted) return;
  volt_describe_queue_(description, &c->watchers, VOLT_ENDS_UNKNOWN_);
  volt_chan_describe_(c, description);
}

static const volt_future_ops_ chan_closed_ops = {.operation = "volt_chan_closed",
                                                 .kind = VOLT_KIND_CHANNEL_,
                                                 .start = chan_closed_start,
                                                 .cancel = volt_monitor_future_cancel_,
                                                 .set_waker = volt_monitor_future_set_waker_,
                                                 .give_back = chan_closed_give_back,
                                                 .due = chan_closed_due,
                                                 .poll_ctx = volt_future_poll_leaf_any_,
                                                 .describe = chan_closed_describe};

volt_future *volt_chan_closed_future(volt_future *f, volt_chan *c) {
  return volt_future_make_(f, &chan_closed_ops, &c->watchers, 0);
}

/* ---- counted senders ---- */

#define ENDED UINT32_C(0x80000000)

int volt_chan_add_sender(volt_chan *c) {
  uint32_t seen = volt_load_relaxed(&c->senders); /* a guess: the CAS decides */
  do {
    if (seen & ENDED) return VOLT_ECLOSED;
    VOLT_CHECK(seen < ENDED - 1, volt_kind_api_(VOLT_KIND_CHANNEL_), "%p: too many senders (%u)",
               (void *)c, seen);
    /* relaxed, no data: the count says nothing of other memory */
  } while (!volt_cas_relaxed(&c->senders, &seen, seen + 1));
  return VOLT_OK;
}

void volt_chan_drop_sender(volt_chan *c) {
  uint32_t seen = volt_load_relaxed(&c->senders); /* a guess: the CAS decides */
  do {
    VOLT_CHECK(seen != 0 && !(seen & ENDED), volt_kind_api_(VOLT_KIND_CHANNEL_),
               "%p: a sender is dropped that was never added", (void *)c);
    /* channel:N1 <-> channel:N1: the last sender sees what those dropped before it did, and C2
     * passes that on; R13 */
  } while (!volt_cas_acq_rel(&c->senders, &seen, seen > 1 ? seen - 1 : ENDED));
  if (seen == 1) volt_chan_close(c); /* else *c may be gone */
}

uint32_t volt_chan_senders(const volt_chan *c) {
  return volt_load_relaxed(&c->senders) & ~ENDED; /* a snapshot */
}

/* ---- the end of its life ---- */

void volt_chan_destroy(volt_chan *c, void (*drop)(void *elem, void *ctx), void *ctx) {
  volt_unname_at_end_(c);
  unsigned spins = 0;
  /* channel:D1 <- channel:D2: a close() is done with *c (R12) */
  while (volt_load_acquire(&c->closing) != 0) volt_pause_(&spins);
  volt_monitor_destroy_(&c->watchers, VOLT_KIND_CHANNEL_);
  /* channel:P1 <- channel:P1, fifo:U1: all earlier claims are seen, as by a claim (R8) */
  uint64_t word = volt_load_acquire(&c->queue.word);
  VOLT_CHECK(!(word & VOLT_WORD_QUEUED_), volt_kind_api_(VOLT_KIND_CHANNEL_),
             "%p: destroyed while %u waiters are queued", (void *)c, volt_fifo_count_(&c->queue));
  volt_chan_ring_ ring = volt_chan_ring_of_(c);
  for (uint32_t i = 0; drop && i < volt_chan_len_in_(word); i++) {
    uint32_t position = volt_chan_head_in_(word) + i;
    volt_chan_slot *slot = volt_chan_slot_(ring, position);
    volt_chan_await_sequence_(slot, volt_chan_sequence_(ring, position) + 1);
    drop(volt_chan_elem_(slot), ctx);
  }
}

/* ---- inspection ---- */

void volt_chan_describe_(volt_chan *c, volt_description_ *description) {
  uint64_t word = volt_load_relaxed(&c->queue.word); /* a snapshot */
  volt_describe_state_(description, "%s%u of %u elements", word & CLOSED ? "closed, " : "",
                       volt_chan_len_in_(word), c->capacity);
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
  /* channel:C1 <- channel:C2, channel:P1, fifo:U1: the caller sees what came before the close */
  return (volt_load_acquire(&c->queue.word) & CLOSED) != 0;
}
