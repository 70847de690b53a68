/* broadcast.c: the monitor (monitor.h) on a ring of the newest values.
 *
 * Algorithm: every operation holds the lock, so each of them is sequential code. The position of a
 * value is how many values were sent before it. Its place in the ring is its position modulo the
 * capacity. Positions have 64 bits and do not wrap. A receiver has the position of the value that
 * it receives next, and compares it with the positions that are in the ring. The broadcast does not
 * know its receivers, but for those that wait. A receiver that has received every value waits. A
 * send releases all waiters. A grant says only that there is something to receive.
 *
 * Invariant I1, whenever the lock is free: the ring has the values at the positions
 *   max(0, tail - capacity) .. tail - 1, and the receiver of a waiter that is linked and not
 *   released is at the position tail.
 *
 * Races
 *   R1  Interleaving: a value is sent; the receiver gives up before it has seen its grant; it
 *       misses the value. Prevented by: the value is in the ring, and the receiver's position,
 *       which only its owner changes, is still before it.
 *   R2  Interleaving: a value is overwritten while a receiver copies it. Prevented by: both happen
 *       under the lock.
 *   R3  Interleaving: a poll of a select receives a value, or VOLT_ELAGGED; then it turns out that
 *       another branch has won; the value, or the report of the loss, is lost. Prevented by: the
 *       receiver's position goes back by as much as the poll has moved it, and so does its count of
 *       lost values. If a value is overwritten meanwhile, the next receive reports that. */
#include <volt/broadcast.h>

#include "../core/future/future_ops.h"
#include "../core/inspect/describe.h"
#include "../core/os/check.h"
#include "../core/park/spin.h"
#include "../core/wait/fifo.h"
#include "../core/wait/monitor.h"

size_t volt_broadcast_bytes(uint32_t capacity, size_t elem_bytes) {
  if (capacity == 0 || elem_bytes > SIZE_MAX / capacity) return 0;
  return capacity * elem_bytes;
}

int volt_broadcast_init(volt_broadcast *b, uint32_t capacity, size_t elem_bytes, void *mem,
                        size_t mem_bytes) {
  size_t bytes = volt_broadcast_bytes(capacity, elem_bytes);
  if (bytes == 0 || mem_bytes < bytes || !mem) return VOLT_EINVAL;
  volt_fifo_init_(&b->queue, 0);
  b->ring = (unsigned char *)mem;
  b->elem_bytes = elem_bytes;
  b->capacity = capacity;
  b->tail = 0;
  return VOLT_OK;
}

void volt_broadcast_destroy(volt_broadcast *b) {
  volt_unname_at_end_(b);
  volt_monitor_destroy_(&b->queue, VOLT_KIND_BROADCAST_);
}

void volt_broadcast_close(volt_broadcast *b) {
  volt_monitor_ m;
  volt_monitor_enter_(&m, &b->queue, VOLT_KIND_BROADCAST_);
  volt_monitor_close_(&m);
  volt_monitor_exit_(&m);
}

/* All-zero memory has no places. */
static void broadcast_check(const volt_broadcast *b) {
  VOLT_CHECK(b->capacity > 0, volt_kind_api_(VOLT_KIND_BROADCAST_),
             "%p was not initialised: volt_broadcast_init()", (const void *)b);
}

static void *broadcast_place_of(const volt_broadcast *b, uint64_t position) {
  return b->ring + (size_t)(position % b->capacity) * b->elem_bytes;
}

int volt_broadcast_send(volt_broadcast *b, const void *elem) {
  volt_monitor_ m;
  volt_monitor_enter_(&m, &b->queue, VOLT_KIND_BROADCAST_);
  bool closed = volt_monitor_is_closed_(&m);
  broadcast_check(b);
  if (!closed) {
    VOLT_COPY_(broadcast_place_of(b, b->tail), elem, b->elem_bytes);
    b->tail += 1;
    volt_monitor_release_all_counted_(&m); /* I1 */
  }
  volt_monitor_exit_(&m);
  return closed ? VOLT_ECLOSED : VOLT_OK;
}

/* ---- receive ---- */

void volt_broadcast_subscribe(volt_broadcast *b, volt_broadcast_receiver *r) {
  broadcast_check(b);
  r->broadcast = b;
  r->next = volt_broadcast_sent(b);
  r->lost = 0;
}

/* I1: the position of the oldest value in the ring, after `tail` sends. */
static uint64_t broadcast_oldest_of(const volt_broadcast *b, uint64_t tail) {
  return tail > b->capacity ? tail - b->capacity : 0;
}

/* The lock is held. Returns VOLT_EAGAIN if *r has received every value. */
static int broadcast_take(volt_broadcast_receiver *r, bool closed, void *elem) {
  volt_broadcast *b = r->broadcast;
  uint64_t tail = b->tail;
  uint64_t oldest = broadcast_oldest_of(b, tail);
  VOLT_CHECK(r->next <= tail, volt_kind_api_(VOLT_KIND_BROADCAST_),
             "%p: receiver %p is at %llu of %llu: it was subscribed before", (void *)b, (void *)r,
             (unsigned long long)r->next, (unsigned long long)tail);
  if (r->next == tail) return closed ? VOLT_ECLOSED : VOLT_EAGAIN;
  if (r->next < oldest) {
    r->lost += oldest - r->next;
    r->next = oldest;
    return VOLT_ELAGGED;
  }
  VOLT_COPY_(elem, broadcast_place_of(b, r->next), b->elem_bytes); /* R2 */
  r->next += 1;
  return VOLT_OK;
}

int volt_broadcast_try_recv(volt_broadcast_receiver *r, void *elem) {
  volt_monitor_ m;
  volt_monitor_lock_(&m, &r->broadcast->queue, VOLT_KIND_BROADCAST_);
  int result = broadcast_take(r, volt_monitor_is_closed_(&m), elem);
  volt_monitor_unlock_(&m);
  return result;
}

static int broadcast_recv(volt_broadcast_receiver *r, volt_waiter *w, void *elem,
                          volt_waker waker) {
  volt_monitor_ m;
  volt_monitor_lock_(&m, &r->broadcast->queue, VOLT_KIND_BROADCAST_);
  int result = broadcast_take(r, volt_monitor_is_closed_(&m), elem);
  if (result == VOLT_EAGAIN) result = volt_monitor_append_(&m, w, waker);
  volt_monitor_unlock_(&m);
  return result;
}

int volt_broadcast_recv_waiter(volt_broadcast_receiver *r, volt_waiter *w, void *elem,
                               volt_waker waker) {
  volt_waiter_check_unused_(VOLT_KIND_BROADCAST_, w);
  return broadcast_recv(r, w, elem, waker);
}

bool volt_broadcast_cancel(volt_broadcast_receiver *r, volt_waiter *w) {
  return volt_monitor_cancel_(&r->broadcast->queue, VOLT_KIND_BROADCAST_, w); /* R1 */
}

uint64_t volt_broadcast_lost(const volt_broadcast_receiver *r) {
  return r->lost;
}

uint64_t volt_broadcast_len(const volt_broadcast_receiver *r) {
  uint64_t tail = volt_broadcast_sent(r->broadcast);
  uint64_t oldest = broadcast_oldest_of(r->broadcast, tail);
  return tail - (r->next > oldest ? r->next : oldest);
}

uint64_t volt_broadcast_lag(const volt_broadcast_receiver *r) {
  uint64_t oldest = broadcast_oldest_of(r->broadcast, volt_broadcast_sent(r->broadcast));
  return oldest > r->next ? oldest - r->next : 0;
}

/* ---- inspection ---- */

uint64_t volt_broadcast_sent(const volt_broadcast *b) {
  volt_monitor_ m;
  volt_monitor_lock_(&m, volt_fifo_to_inspect_(&b->queue), VOLT_KIND_BROADCAST_);
  uint64_t tail = b->tail;
  volt_monitor_unlock_(&m);
  return tail;
}

bool volt_broadcast_is_closed(const volt_broadcast *b) {
  return volt_fifo_is_closed_(&b->queue);
}

uint32_t volt_broadcast_waiters(const volt_broadcast *b) {
  return volt_fifo_count_(&b->queue);
}

/* ---- future; f->object is the receiver, and not the FIFO ---- */

static volt_broadcast_receiver *broadcast_receiver_of(volt_future *f) {
  return (volt_broadcast_receiver *)f->object;
}

/* Where the value goes. */
static void *broadcast_elem_of(const volt_future *f) {
  return f->waiter.data;
}

/* f has a result: note in its argument by how many positions the poll has moved the receiver, for
 * R3. If it lost more than 2^32 values at once, a part of them stays counted. */
static int broadcast_note_moved(volt_future *f, uint64_t from, int result) {
  uint64_t moved = broadcast_receiver_of(f)->next - from;
  volt_future_set_n_(f, moved < UINT32_MAX ? (uint32_t)moved : UINT32_MAX);
  return result;
}

static uint32_t broadcast_moved(const volt_future *f) {
  return volt_future_n_(f);
}

static int broadcast_start(volt_future *f, volt_waker waker) {
  uint64_t from = broadcast_receiver_of(f)->next;
  int result = broadcast_recv(broadcast_receiver_of(f), &f->waiter, broadcast_elem_of(f), waker);
  if (result == VOLT_PENDING) return VOLT_PENDING;
  return broadcast_note_moved(f, from, result);
}

static int broadcast_outcome(volt_future *f) {
  uint64_t from = broadcast_receiver_of(f)->next;
  int result = volt_broadcast_try_recv(broadcast_receiver_of(f), broadcast_elem_of(f));
  return broadcast_note_moved(f, from, result);
}

static bool broadcast_cancel(volt_future *f) {
  return volt_broadcast_cancel(broadcast_receiver_of(f), &f->waiter);
}

static bool broadcast_set_waker(volt_future *f, volt_waker waker) {
  return volt_waiter_set_waker(&f->waiter, waker);
}

static void broadcast_give_back(volt_future *f) {
  if (volt_future_state_(f) != VOLT_FUTURE_READY_) return; /* R1: granted, and received nothing */
  broadcast_receiver_of(f)->next -= broadcast_moved(f);    /* R3 */
  if (volt_future_result_(f) == VOLT_ELAGGED) broadcast_receiver_of(f)->lost -= broadcast_moved(f);
}

static bool broadcast_due(volt_future *f) {
  return volt_monitor_complete_counted_(&broadcast_receiver_of(f)->broadcast->queue,
                                        VOLT_KIND_BROADCAST_, &f->waiter);
}

/* The receiver is its owner's, as the future is. */
static void broadcast_describe(volt_future *f, volt_description_ *description) {
  volt_broadcast *b = ((volt_broadcast_receiver *)f->object)->broadcast;
  description->object = b;
  if (!description->is_granted) volt_describe_queue_(description, &b->queue, VOLT_ENDS_UNKNOWN_);
}

static const volt_future_ops_ broadcast_ops = {.operation = "volt_broadcast_recv",
                                               .kind = VOLT_KIND_BROADCAST_,
                                               .start = broadcast_start,
                                               .cancel = broadcast_cancel,
                                               .set_waker = broadcast_set_waker,
                                               .give_back = broadcast_give_back,
                                               .outcome = broadcast_outcome,
                                               .due = broadcast_due,
                                               .poll_ctx = volt_future_poll_leaf_any_,
                                               .describe = broadcast_describe};

volt_future *volt_broadcast_recv_future(volt_future *f, volt_broadcast_receiver *r, void *elem) {
  f->waiter.data = elem;
  return volt_future_make_(f, &broadcast_ops, r, 0);
}

extern inline int volt_broadcast_recv(volt_broadcast_receiver *, void *);

int volt_broadcast_recv_until(volt_broadcast_receiver *r, void *elem, uint64_t deadline_ns) {
  volt_check_blocks_("volt_broadcast_recv_until", deadline_ns);
  volt_future f;
  return volt_future_wait_until(volt_broadcast_recv_future(&f, r, elem), deadline_ns);
}
