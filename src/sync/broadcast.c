/* broadcast.c: turns (monitor.h) on a ring of the newest values.
 *
 * Algorithm: sequential, but for the turns. A value's position in the stream is how many were sent
 * before it, and its place in the ring that modulo the capacity; 64 bits do not wrap around. A
 * receiver knows the position it wants next and compares it with what the ring still has; nobody
 * else knows of it. Who has received everything waits; a send opens the queue. A grant says no more
 * than "look".
 *
 * Invariant I1, whenever the lock is free: the ring has the values at the positions
 *   max(0, tail - capacity) .. tail - 1, and whoever is linked and not served is at tail.
 *
 * Races
 *   R1  A receive is given up in the instant in which a value is sent. Closed: the value is in the
 *       ring, and the receiver's position, which only its owner moves, is before it.
 *   R2  A value is overwritten while it is being received. Closed: both are turns.
 *   R3  A receive took a value, or was told that some were lost, in the poll of a select that, it
 *       turns out then, another branch had won. Closed: the position goes back by as much as it had
 *       moved, and so does the count; the next receive tells what was overwritten.
 *
 * Pair: C1 (acquire) <- U1 (release): who sees CLOSED sees what came before close(). */
#include <volt/broadcast.h>

#include "../core/check.h"
#include "../core/fifo.h"
#include "../core/future_ops.h"
#include "../core/monitor.h"

static const char broadcast_name[] = "volt_broadcast";

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
  volt_monitor_destroy_(&b->queue, broadcast_name);
}

void volt_broadcast_close(volt_broadcast *b) {
  volt_monitor_ m;
  volt_monitor_enter_(&m, &b->queue);
  volt_monitor_close_(&m);
  volt_monitor_exit_(&m);
}

static void *broadcast_place_of(const volt_broadcast *b, uint64_t position) {
  return b->ring + (size_t)(position % b->capacity) * b->elem_bytes;
}

int volt_broadcast_send(volt_broadcast *b, const void *elem) {
  volt_monitor_ m;
  volt_monitor_enter_(&m, &b->queue);
  bool closed = volt_monitor_is_closed_(&m);
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
  r->broadcast = b;
  r->next = volt_broadcast_sent(b);
  r->lost = 0;
}

/* I1: the position of the oldest value that is left, of so many. */
static uint64_t broadcast_oldest_of(const volt_broadcast *b, uint64_t tail) {
  return tail > b->capacity ? tail - b->capacity : 0;
}

/* Returns VOLT_EAGAIN: there is nothing for it yet. */
static int broadcast_take(const volt_monitor_ *m, volt_broadcast_receiver *r, void *elem) {
  volt_broadcast *b = r->broadcast;
  uint64_t tail = b->tail;
  uint64_t oldest = broadcast_oldest_of(b, tail);
  VOLT_CHECK(r->next <= tail, broadcast_name,
             "%p: receiver %p is at %llu of %llu: it was subscribed before", (void *)b, (void *)r,
             (unsigned long long)r->next, (unsigned long long)tail);
  if (r->next == tail) return volt_monitor_is_closed_(m) ? VOLT_ECLOSED : VOLT_EAGAIN;
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
  volt_monitor_look_(&m, &r->broadcast->queue);
  int result = broadcast_take(&m, r, elem);
  volt_monitor_unlock_(&m);
  return result;
}

static int broadcast_recv(volt_broadcast_receiver *r, volt_waiter *w, void *elem,
                          volt_waker waker) {
  volt_monitor_ m;
  volt_monitor_look_(&m, &r->broadcast->queue);
  int result = broadcast_take(&m, r, elem);
  if (result == VOLT_EAGAIN) result = volt_monitor_append_(&m, w, waker);
  volt_monitor_unlock_(&m);
  return result;
}

int volt_broadcast_recv(volt_broadcast_receiver *r, volt_waiter *w, void *elem, volt_waker waker) {
  volt_waiter_check_unused_(broadcast_name, w);
  return broadcast_recv(r, w, elem, waker);
}

bool volt_broadcast_cancel(volt_broadcast_receiver *r, volt_waiter *w) {
  return volt_monitor_cancel_(&r->broadcast->queue, broadcast_name, w); /* R1 */
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
  volt_monitor_look_(&m, volt_fifo_to_look_at_(&b->queue));
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

/* ---- future: its object is the receiver ---- */

static volt_broadcast_receiver *broadcast_receiver_of(volt_future *f) {
  return (volt_broadcast_receiver *)f->object;
}

/* Where the value goes. */
static void *broadcast_elem_of(const volt_future *f) {
  return f->waiter.data;
}

/* f->n: by how many positions a poll has moved the receiver, for R3. If it lost more than 2^32 values
 * at once, a part of them stays counted. */
static int broadcast_note_moved(volt_future *f, uint64_t from, int result) {
  uint64_t moved = broadcast_receiver_of(f)->next - from;
  f->n = moved < UINT32_MAX ? (uint32_t)moved : UINT32_MAX;
  return result;
}

static uint32_t broadcast_moved(const volt_future *f) {
  return f->n;
}

static int broadcast_start(volt_future *f, volt_waker waker) {
  uint64_t from = broadcast_receiver_of(f)->next;
  return broadcast_note_moved(
      f, from, broadcast_recv(broadcast_receiver_of(f), &f->waiter, broadcast_elem_of(f), waker));
}

static int broadcast_outcome(volt_future *f) {
  uint64_t from = broadcast_receiver_of(f)->next;
  return broadcast_note_moved(
      f, from, volt_broadcast_try_recv(broadcast_receiver_of(f), broadcast_elem_of(f)));
}

static bool broadcast_cancel(volt_future *f) {
  return volt_broadcast_cancel(broadcast_receiver_of(f), &f->waiter);
}

static bool broadcast_set_waker(volt_future *f, volt_waker waker) {
  return volt_waiter_set_waker(&f->waiter, waker);
}

static void broadcast_give_back(volt_future *f) {
  broadcast_receiver_of(f)->next -=
      broadcast_moved(f); /* R3; by 0 if it was granted, and has not looked: R1 */
  if (f->result == VOLT_ELAGGED) broadcast_receiver_of(f)->lost -= broadcast_moved(f);
}

static bool broadcast_due(volt_future *f) {
  return volt_monitor_complete_counted_(&broadcast_receiver_of(f)->broadcast->queue, broadcast_name,
                                        &f->waiter);
}

static const volt_future_ops_ broadcast_ops = {.name = broadcast_name,
                                               .start = broadcast_start,
                                               .cancel = broadcast_cancel,
                                               .set_waker = broadcast_set_waker,
                                               .give_back = broadcast_give_back,
                                               .outcome = broadcast_outcome,
                                               .due = broadcast_due};

volt_future *volt_broadcast_recv_future(volt_future *f, volt_broadcast_receiver *r, void *elem) {
  f->waiter.data = elem;
  return volt_future_make_(f, &broadcast_ops, r, 0);
}

int volt_broadcast_recv_blocking(volt_broadcast_receiver *r, void *elem, uint64_t deadline_ns) {
  volt_future f;
  return volt_block_on(volt_broadcast_recv_future(&f, r, elem), deadline_ns);
}
