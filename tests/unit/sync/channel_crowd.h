/* channel_crowd.h: a channel of uint32_t with many hand-polled waiters around it. Waiter i has the
 * hostile waker i, named i, which writes in the crowd's log, and an element of its own. */
#ifndef VOLT_TEST_CHANNEL_CROWD_H
#define VOLT_TEST_CHANNEL_CROWD_H

#include "fake_waker.h"
#include "unit.h"

#define CHANNEL_CROWD_MAX 100
#define CHANNEL_CROWD_CAPACITY 128
#define NO_ELEMENT UINT32_C(0xdeadbeef)

typedef struct channel_crowd {
  volt_chan chan;
  wake_log log;
  uint32_t elems[CHANNEL_CROWD_MAX];
  volt_waiter waiters[CHANNEL_CROWD_MAX];
  hostile_waker wakers[CHANNEL_CROWD_MAX];
  uint64_t memory[2 * CHANNEL_CROWD_CAPACITY];
} channel_crowd;

static inline void channel_crowd_init(channel_crowd *c, uint32_t capacity) {
  size_t bytes = volt_chan_bytes(capacity, sizeof(uint32_t));
  assert_in_range(bytes, 1, sizeof c->memory);
  memset(c->memory, 0xee, sizeof c->memory); /* its content does not matter */
  assert_result(volt_chan_init(&c->chan, capacity, sizeof(uint32_t), c->memory, bytes), VOLT_OK);
  wake_log_init(&c->log);
  memset(c->waiters, 0, sizeof c->waiters);
  for (uint32_t i = 0; i < CHANNEL_CROWD_MAX; i++) {
    c->elems[i] = NO_ELEMENT;
    hostile_waker_init(&c->wakers[i], i, &c->log, NULL, c);
  }
}

static inline void channel_crowd_expect_chan(channel_crowd *c, uint32_t waiters, uint32_t len) {
  assert_int_equal(volt_chan_waiters(&c->chan), waiters);
  assert_int_equal(volt_chan_len(&c->chan), len);
}

/* Nobody is left waiting, and nothing in the ring. */
static inline void channel_crowd_destroy(channel_crowd *c) {
  channel_crowd_expect_chan(c, 0, 0);
  volt_chan_destroy(&c->chan, NULL, NULL);
}

/* Waiter i sends this element, which stays in its memory. Returns what send returned. */
static inline int channel_crowd_send(channel_crowd *c, uint32_t i, uint32_t elem) {
  c->elems[i] = elem;
  return volt_chan_send_waiter(&c->chan, &c->waiters[i], &c->elems[i],
                               hostile_waker_of(&c->wakers[i]));
}

static inline int channel_crowd_recv(channel_crowd *c, uint32_t i) {
  c->elems[i] = NO_ELEMENT;
  return volt_chan_recv_waiter(&c->chan, &c->waiters[i], &c->elems[i],
                               hostile_waker_of(&c->wakers[i]));
}

/* Waiters first, first + 1, ... queue; a sender's element is its number. */
static inline void channel_crowd_queue_senders(channel_crowd *c, uint32_t first, uint32_t count) {
  for (uint32_t i = first; i < first + count; i++) {
    assert_result(channel_crowd_send(c, i, i), VOLT_PENDING);
  }
}

static inline void channel_crowd_queue_receivers(channel_crowd *c, uint32_t first, uint32_t count) {
  for (uint32_t i = first; i < first + count; i++) {
    assert_result(channel_crowd_recv(c, i), VOLT_PENDING);
  }
}

static inline int channel_crowd_try_send(channel_crowd *c, uint32_t elem) {
  return volt_chan_try_send(&c->chan, &elem);
}

/* Elements first, first + 1, ... are put into the ring. */
static inline void channel_crowd_fill(channel_crowd *c, uint32_t first, uint32_t count) {
  for (uint32_t i = first; i < first + count; i++) {
    assert_result(channel_crowd_try_send(c, i), VOLT_OK);
  }
}

static inline void channel_crowd_expect_try_recv(channel_crowd *c, int result, uint32_t elem) {
  uint32_t got = NO_ELEMENT;
  assert_result(volt_chan_try_recv(&c->chan, &got), result);
  assert_int_equal(got, result == VOLT_OK ? elem : NO_ELEMENT);
}

/* The next elements are first, first + 1, ... */
static inline void channel_crowd_drain(channel_crowd *c, uint32_t first, uint32_t count) {
  for (uint32_t i = first; i < first + count; i++) channel_crowd_expect_try_recv(c, VOLT_OK, i);
}

static inline bool channel_crowd_cancel_send(channel_crowd *c, uint32_t i) {
  return volt_chan_cancel_send(&c->chan, &c->waiters[i]);
}

static inline bool channel_crowd_cancel_recv(channel_crowd *c, uint32_t i) {
  return volt_chan_cancel_recv(&c->chan, &c->waiters[i]);
}

/* Waiter i has this result, and its waker has been called so often. */
static inline void channel_crowd_expect(channel_crowd *c, uint32_t i, int result, uint32_t wakes) {
  assert_result(volt_waiter_result(&c->waiters[i]), result);
  assert_int_equal(hostile_waker_calls(&c->wakers[i]), wakes);
}

static inline void channel_crowd_expect_run(channel_crowd *c, uint32_t first, uint32_t count,
                                            int result, uint32_t wakes) {
  for (uint32_t i = first; i < first + count; i++) channel_crowd_expect(c, i, result, wakes);
}

/* The memory of waiter i holds this element; that of waiters first, first + 1, ... the run. */
static inline void channel_crowd_expect_elem(channel_crowd *c, uint32_t i, uint32_t elem) {
  assert_int_equal(c->elems[i], elem);
}

static inline void channel_crowd_expect_elems(channel_crowd *c, uint32_t first, uint32_t count,
                                              uint32_t elem) {
  for (uint32_t i = 0; i < count; i++) channel_crowd_expect_elem(c, first + i, elem + i);
}

#endif
