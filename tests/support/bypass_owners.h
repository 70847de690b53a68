/* bypass_owners.h: a mutex with bypass, and owners that lock it by futures, polled by hand. For the
 * unit tests of src/core/wait/bypass.c: includes what they all need. */
#ifndef VOLT_TEST_BYPASS_OWNERS_H
#define VOLT_TEST_BYPASS_OWNERS_H

#include "fake_waker.h"
#include "unit.h"

enum { OWNERS = 4, K = 2 };
enum { QUEUED = VOLT_WORD_QUEUED_, OPEN = VOLT_WORD_OPEN_, NUDGED = VOLT_WORD_NUDGED_ };

/* One that locks by a future, and counts as a task does. */
struct owner {
  volt_future f;
  volt_ctx ctx;
  uint32_t wakes;
  uint32_t drops;
};

static volt_mutex mutex;
static struct owner owners[OWNERS];
static volt_waiter raw;
static fake_waker raw_waker;

static inline void owner_wake(void *ctx) {
  ((struct owner *)ctx)->wakes += 1;
}

static inline void owner_drop(void *ctx) {
  ((struct owner *)ctx)->drops += 1;
}

static inline void begin(uint32_t k) {
  volt_mutex_init_bypass(&mutex, k);
  memset(&raw, 0, sizeof raw);
  fake_waker_init(&raw_waker, 0, NULL);
  memset(owners, 0, sizeof owners);
  for (int i = 0; i < OWNERS; i++) {
    volt_waker waker = {owner_wake, &owners[i]};
    volt_ctx ctx = VOLT_CTX_INIT(waker);
    owners[i].ctx = ctx;
    owners[i].ctx.drop = owner_drop;
    volt_future_made(volt_mutex_lock_future(&owners[i].f, &mutex));
  }
}

static inline int set_up(void **state) {
  (void)state;
  begin(K);
  return 0;
}

static inline void expect_poll(int i, int result) {
  assert_result(volt_future_poll_ctx(&owners[i].f, &owners[i].ctx), result);
}

/* What its registrations have come to so far. */
static inline void expect_settled(int i, uint32_t registered, uint32_t wakes, uint32_t drops) {
  assert_int_equal(owners[i].ctx.registered, registered);
  assert_int_equal(owners[i].wakes, wakes);
  assert_int_equal(owners[i].drops, drops);
}

static inline void expect_word(uint32_t value, uint64_t flags, uint32_t left) {
  uint64_t word = volt_load_acquire(&mutex.queue.word);
  assert_int_equal(VOLT_WORD_VALUE_(word), value);
  assert_int_equal(VOLT_WORD_FLAGS_(word), flags | left * VOLT_WORD_LEFT_);
  assert_int_equal(volt_mutex_is_locked(&mutex), value != 0);
}

/* The mutex is held, and owners 0 .. count-1 are queued. */
static inline void lock_and_queue(int count) {
  assert_result(volt_mutex_try_lock(&mutex), VOLT_OK);
  for (int i = 0; i < count; i++) expect_poll(i, VOLT_PENDING);
  assert_int_equal(volt_mutex_waiters(&mutex), count);
}

/* The same, and then it was unlocked: owner 0 was nudged. */
static inline void queue_and_nudge(int count) {
  lock_and_queue(count);
  volt_mutex_unlock(&mutex);
  expect_settled(0, 1, 1, 0);
}

static inline void queue_raw(void) {
  assert_result(volt_mutex_lock_waiter(&mutex, &raw, fake_waker_of(&raw_waker)), VOLT_PENDING);
}

static inline void expect_raw(int result, uint32_t wakes) {
  assert_result(volt_waiter_result(&raw), result);
  assert_int_equal(fake_waker_calls(&raw_waker), wakes);
}

static inline void pass(uint32_t times) {
  for (uint32_t i = 0; i < times; i++) {
    assert_result(volt_mutex_try_lock(&mutex), VOLT_OK);
    volt_mutex_unlock(&mutex);
  }
}

static inline void end(void) {
  expect_word(0, 0, 0);
  volt_mutex_destroy(&mutex);
  for (int i = 0; i < OWNERS; i++) {
    assert_int_equal(owners[i].ctx.registered, owners[i].wakes + owners[i].drops);
  }
}

static inline void unlock_and_end(void) {
  volt_mutex_unlock(&mutex);
  end();
}

#endif
