/* crowd.h: a semaphore of the engine under test with many hand-polled waiters around it.
 * Waiter i has the hostile waker i, named i, which writes in the crowd's log. */
#ifndef VOLT_TEST_CROWD_H
#define VOLT_TEST_CROWD_H

#include "engine.h"
#include "fake_waker.h"
#include "unit.h"

#define CROWD_MAX 100

typedef struct crowd {
  engine_sem sem;
  wake_log log;
  volt_waiter waiters[CROWD_MAX];
  hostile_waker wakers[CROWD_MAX];
} crowd;

static inline void crowd_init(crowd *c, uint32_t permits) {
  engine_sem_init(&c->sem, permits);
  wake_log_init(&c->log);
  memset(c->waiters, 0, sizeof c->waiters);
  for (uint32_t i = 0; i < CROWD_MAX; i++) {
    hostile_waker_init(&c->wakers[i], i, &c->log, NULL, c);
  }
}

/* Nobody may be left waiting, and these permits are in the pool. */
static inline void crowd_destroy(crowd *c, uint32_t permits) {
  assert_int_equal(engine_sem_waiters(&c->sem), 0);
  assert_int_equal(engine_sem_available(&c->sem), permits);
  engine_sem_destroy(&c->sem);
}

/* Waiter i asks for n permits. Returns what acquire returned. */
static inline int crowd_ask(crowd *c, uint32_t i, uint32_t n) {
  return engine_sem_acquire_waiter(&c->sem, &c->waiters[i], n, hostile_waker_of(&c->wakers[i]));
}

/* Waiter i asks for n permits, and has to queue. */
static inline void crowd_queue(crowd *c, uint32_t i, uint32_t n) {
  assert_result(crowd_ask(c, i, n), VOLT_PENDING);
}

/* Waiters first, first + 1, ... queue for n permits each. */
static inline void crowd_queue_run(crowd *c, uint32_t first, uint32_t count, uint32_t n) {
  for (uint32_t i = first; i < first + count; i++) crowd_queue(c, i, n);
}

static inline bool crowd_cancel(crowd *c, uint32_t i) {
  return engine_sem_cancel(&c->sem, &c->waiters[i]);
}

static inline int crowd_result(crowd *c, uint32_t i) {
  return volt_waiter_result(&c->waiters[i]);
}

/* Waiter i has this result and its waker has been called so often. */
static inline void crowd_expect(crowd *c, uint32_t i, int result, uint32_t wakes) {
  assert_result(crowd_result(c, i), result);
  assert_int_equal(hostile_waker_calls(&c->wakers[i]), wakes);
}

static inline void crowd_expect_run(crowd *c, uint32_t first, uint32_t count, int result,
                                    uint32_t wakes) {
  for (uint32_t i = first; i < first + count; i++) crowd_expect(c, i, result, wakes);
}

/* So many wait and so many permits are in the pool. */
static inline void crowd_expect_sem(crowd *c, uint32_t waiters, uint32_t available) {
  assert_int_equal(engine_sem_waiters(&c->sem), waiters);
  assert_int_equal(engine_sem_available(&c->sem), available);
}

#endif
