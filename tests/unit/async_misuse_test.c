/* async_misuse_test.c: what aborts in an async function, and what it says. Misuse that is an error
 * of the compiler is in tests/compile/await_misuse.sh. */
#include <stdio.h>

#include "death.h"
#include "fake_waker.h"
#include "poller.h"

typedef struct run {
  volt_async async;
  volt_future first;
  uint32_t i;
} run;

static volt_sem sem;
static fake_waker a;
static run r;

static int set_up(void **state) {
  (void)state;
  volt_sem_init(&sem, 0);
  fake_waker_init(&a, 0, NULL);
  memset((void *)&r, 0, sizeof r);
  return 0;
}

static run *run_of(volt_async *async) {
  return volt_container_of(async, run, async);
}

static void expect_poll(int result) {
  assert_result(volt_future_poll(&r.async.future, fake_waker_of(&a)), result);
}

static int awaits_in_a_switch(volt_async *async, volt_ctx *ctx) {
  run *self = run_of(async);
  VOLT_ASYNC_BEGIN(self);
  switch (self->i) {
    case 4711: break;
    default: VOLT_AWAIT(self, volt_sem_acquire_future(&self->first, &sem, 1));
  }
  VOLT_ASYNC_END(self);
}

static void poll_r(void *arg) {
  (void)arg;
  (void)volt_future_poll(&r.async.future, fake_waker_of(&a));
}

static void an_await_inside_a_switch_aborts_at_the_next_poll(void **state) {
  (void)state;
  volt_async_future(&r.async, awaits_in_a_switch);
  expect_poll(VOLT_PENDING);
  char line[32];
  (void)snprintf(line, sizeof line, "line %u ", (unsigned)r.async.frame.step);
  assert_death(poll_r, NULL, "awaits_in_a_switch", "inside a switch", line);
  volt_sem_release(&sem, 1);
  assert_death(poll_r, NULL, "awaits_in_a_switch", "inside a switch", line);
}

static int one_await(volt_async *async, volt_ctx *ctx) {
  run *self = run_of(async);
  VOLT_ASYNC_BEGIN(self);
  VOLT_AWAIT(self, volt_sem_acquire_future(&self->first, &sem, 1));
  VOLT_ASYNC_END(self);
}

/* As a future it is never polled again: its result stands. */
static void call_it(void *arg) {
  volt_async *async = (volt_async *)arg;
  poller p;
  poller_init(&p);
  (void)async->poll(async, &p.ctx);
}

static void polled_after_it_has_returned(void **state) {
  (void)state;
  volt_sem_release(&sem, 1);
  volt_async_future(&r.async, one_await);
  expect_poll(VOLT_OK);
  assert_death(call_it, &r.async, "one_await", "polled after it has returned", "VOLT_OK");
  volt_sem_close(&sem);
  volt_async_future(&r.async, one_await);
  expect_poll(VOLT_ECLOSED);
  assert_death(call_it, &r.async, "one_await", "polled after it has returned", "VOLT_ECLOSED");
}

static int returns_pending(volt_async *async, volt_ctx *ctx) {
  run *self = run_of(async);
  (void)ctx;
  VOLT_ASYNC_BEGIN(self);
  VOLT_RETURN(self, VOLT_PENDING);
  VOLT_ASYNC_END(self);
}

static void pending_is_not_a_result(void **state) {
  (void)state;
  volt_async_future(&r.async, returns_pending);
  assert_death(poll_r, NULL, "VOLT_RETURN", "VOLT_PENDING");
}

/* Written by hand, it does not obey. */
static int always_pending(volt_async *async, volt_ctx *ctx) {
  (void)async;
  (void)ctx;
  return VOLT_PENDING;
}

static void cancel_r(void *arg) {
  (void)arg;
  volt_future_cancel(&r.async.future);
}

static void block_on_r(void *arg) {
  (void)arg;
  ignore_result(volt_block_on(&r.async.future, PAST_DEADLINE));
}

static void still_pending_when_everything_is_cancelled(void **state) {
  (void)state;
  const char *at = death_address(&r.async);
  volt_async_future(&r.async, always_pending);
  volt_future_cancel(&r.async.future); /* nothing of it has run */
  volt_async_future(&r.async, always_pending);
  expect_poll(VOLT_PENDING);
  assert_death(cancel_r, NULL, "volt_future_cancel", at, "still pending");
  assert_death(block_on_r, NULL, "volt_future_cancel", at, "still pending");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(an_await_inside_a_switch_aborts_at_the_next_poll, set_up),
      cmocka_unit_test_setup(polled_after_it_has_returned, set_up),
      cmocka_unit_test_setup(pending_is_not_a_result, set_up),
      cmocka_unit_test_setup(still_pending_when_everything_is_cancelled, set_up),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
