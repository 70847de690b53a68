/* semaphore_crowd.h: one semaphore and those who wait for it, by number; all polled by hand. */
#ifndef VOLT_TEST_SEMAPHORE_CROWD_H
#define VOLT_TEST_SEMAPHORE_CROWD_H

#include "fake_waker.h"
#include "unit.h"

enum { WAITERS = 40 };

static volt_sem sem;
static wake_log wakes;
static volt_waiter waiters[WAITERS];
static fake_waker wakers[WAITERS];

/* Anew, with so many permits. */
static inline void begin(uint32_t permits) {
  volt_sem_init(&sem, permits);
  wake_log_init(&wakes);
  memset(waiters, 0, sizeof waiters);
  for (uint32_t i = 0; i < WAITERS; i++) fake_waker_init(&wakers[i], i, &wakes);
}

static inline void take(uint32_t n) {
  assert_result(volt_sem_try_acquire(&sem, n), VOLT_OK);
}

static inline int ask(uint32_t i, uint32_t n) {
  return volt_sem_acquire_waiter(&sem, &waiters[i], n, fake_waker_of(&wakers[i]));
}

static inline int ask_all(uint32_t i) {
  return volt_sem_acquire_all_waiter(&sem, &waiters[i], fake_waker_of(&wakers[i]));
}

/* Waiter i is told this, or not yet; if it was told, its waker was called once. */
static inline void expect(uint32_t i, int result) {
  assert_result(volt_waiter_result(&waiters[i]), result);
  bool told = result == VOLT_OK || result == VOLT_ECLOSED;
  assert_int_equal(fake_waker_calls(&wakers[i]), told ? 1 : 0);
}

static inline void expect_sem(uint32_t limit, uint32_t available, uint32_t excess) {
  assert_int_equal(volt_sem_limit(&sem), limit);
  assert_int_equal(volt_sem_available(&sem), available);
  assert_int_equal(volt_sem_excess(&sem), excess);
}

#endif
