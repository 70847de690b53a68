/* loop_test.c: every sentence of volt/loop.h, by hand. */
#include "death.h"
#include "fake_waker.h"
#include "thread_team.h"
#include "unit.h"

static volt_loop loop;
static volt_sem sem;
static volt_future f[3];
static fake_waker told;
static fake_waker settled;

static int set_up(void **state) {
  (void)state;
  memset((void *)&loop, 0xee, sizeof loop);
  fake_waker_init(&told, 0, NULL);
  fake_waker_init(&settled, 1, NULL);
  volt_loop_init(&loop, fake_waker_of(&told));
  volt_sem_init(&sem, 0);
  for (unsigned i = 0; i < 3; i++) volt_future_made(volt_sem_acquire_future(&f[i], &sem, 1));
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  volt_sem_destroy(&sem);
  return 0;
}

static void wait_for(unsigned count) {
  for (unsigned i = 0; i < count; i++) assert_result(volt_loop_poll(&loop, &f[i]), VOLT_PENDING);
}

static void expect_told(uint32_t calls) {
  assert_int_equal(fake_waker_calls(&told), calls);
}

static void ready_at_once(void **state) {
  (void)state;
  volt_sem_release(&sem, 1);
  assert_true(volt_loop_is_settled(&loop));
  assert_result(volt_loop_poll(&loop, &f[0]), VOLT_OK);
  assert_true(volt_loop_is_settled(&loop));
  expect_told(0);
}

static void told_and_polled(void **state) {
  (void)state;
  wait_for(1);
  assert_false(volt_loop_is_settled(&loop));
  volt_sem_release(&sem, 1);
  expect_told(1);
  assert_true(volt_loop_is_settled(&loop));
  assert_result(volt_loop_poll(&loop, &f[0]), VOLT_OK);
  expect_told(1);
}

/* Until it polls. */
static void told_once_for_many(void **state) {
  (void)state;
  wait_for(3);
  volt_sem_release(&sem, 1);
  volt_sem_release(&sem, 1);
  expect_told(1);
  assert_result(volt_loop_poll(&loop, &f[0]), VOLT_OK);
  volt_sem_release(&sem, 1);
  expect_told(2);
  assert_result(volt_loop_poll(&loop, &f[1]), VOLT_OK);
  assert_result(volt_loop_poll(&loop, &f[2]), VOLT_OK);
  assert_true(volt_loop_is_settled(&loop));
}

static void polled_again_counts_nothing(void **state) {
  (void)state;
  wait_for(1);
  wait_for(1);
  volt_future_cancel(&f[0]);
  assert_true(volt_loop_is_settled(&loop));
  expect_told(0);
}

/* The wake that tells it has begun, and has not returned. */
static void is_not_settled(void *arg) {
  (void)arg;
  assert_result(volt_waiter_result(&f[0].waiter), VOLT_OK);
  assert_false(volt_loop_is_settled(&loop));
}

static void not_settled_while_it_is_told(void **state) {
  (void)state;
  volt_loop_init(&loop, (volt_waker){is_not_settled, NULL});
  wait_for(1);
  volt_sem_release(&sem, 1);
  assert_true(volt_loop_is_settled(&loop));
}

static void moved_to_another_loop(void **state) {
  (void)state;
  volt_loop other = VOLT_LOOP_INIT(fake_waker_of(&settled).wake, &settled);
  wait_for(1);
  assert_result(volt_loop_poll(&other, &f[0]), VOLT_PENDING);
  assert_true(volt_loop_is_settled(&loop));
  volt_sem_release(&sem, 1);
  expect_told(0);
  assert_int_equal(fake_waker_calls(&settled), 1);
  assert_result(volt_loop_poll(&other, &f[0]), VOLT_OK);
}

/* Each leaf of a select wakes, or is given up. */
static void a_select(void **state) {
  (void)state;
  volt_select s;
  volt_future *branches[] = {&f[0], &f[1]};
  volt_future *either = volt_select_future(&s, branches, 2, VOLT_SELECT_BIASED);
  assert_result(volt_loop_poll(&loop, either), VOLT_PENDING);
  volt_sem_release(&sem, 2);
  expect_told(1);
  assert_result(volt_loop_poll(&loop, either), VOLT_OK);
  assert_true(volt_loop_is_settled(&loop));
}

/* It lets others run: the loop is told inside the poll. */
static int run_and_run(volt_async *a, volt_ctx *ctx) {
  (void)a;
  if (ctx->budget == VOLT_CTX_BUDGET && fake_waker_calls(&told) == 0) {
    ctx->yield = true;
    return VOLT_PENDING;
  }
  return VOLT_OK;
}

static void lets_others_run(void **state) {
  (void)state;
  volt_async a;
  volt_future_made(volt_async_future(&a, run_and_run));
  assert_result(volt_loop_poll(&loop, &a.future), VOLT_PENDING);
  expect_told(1);
  assert_true(volt_loop_is_settled(&loop));
  assert_result(volt_loop_poll(&loop, &a.future), VOLT_OK);
}

/* ---- the end ---- */

static void closed_when_settled(void **state) {
  (void)state;
  assert_result(volt_loop_close_then(&loop, fake_waker_of(&settled)), VOLT_OK);
  assert_int_equal(fake_waker_calls(&settled), 0);
}

static void settled_by_the_last_cancel(void **state) {
  (void)state;
  wait_for(2);
  assert_result(volt_loop_close_then(&loop, fake_waker_of(&settled)), VOLT_PENDING);
  volt_future_cancel(&f[0]);
  assert_int_equal(fake_waker_calls(&settled), 0);
  volt_future_cancel(&f[1]);
  assert_int_equal(fake_waker_calls(&settled), 1);
  expect_told(0);
}

static void settled_by_the_last_wake(void **state) {
  (void)state;
  wait_for(2);
  volt_future_cancel(&f[1]);
  assert_result(volt_loop_close_then(&loop, fake_waker_of(&settled)), VOLT_PENDING);
  volt_sem_release(&sem, 1);
  assert_int_equal(fake_waker_calls(&settled), 1);
  expect_told(1);
  volt_future_cancel(&f[0]); /* gives back what it was granted */
  assert_int_equal(volt_sem_available(&sem), 1);
  assert_int_equal(fake_waker_calls(&settled), 1);
}

/* It may free the loop. */
static void free_it(void *arg) {
  memset(arg, 0xee, sizeof loop);
  fake_waker_of(&settled).wake(&settled);
}

static void settled_may_free_it(void **state) {
  (void)state;
  wait_for(1);
  assert_result(volt_loop_close_then(&loop, (volt_waker){free_it, &loop}), VOLT_PENDING);
  volt_future_cancel(&f[0]);
  assert_int_equal(fake_waker_calls(&settled), 1);
}

static void nobody_is_told_that_it_is_settled(void **state) {
  (void)state;
  wait_for(1);
  assert_result(volt_loop_close_then(&loop, (volt_waker){NULL, NULL}), VOLT_PENDING);
  volt_future_cancel(&f[0]);
  assert_true(volt_loop_is_settled(&loop));
}

/* A future still waits: open as before. */
static void not_settled_in_time(void **state) {
  (void)state;
  wait_for(1);
  assert_result(volt_loop_close_until(&loop, PAST_DEADLINE), VOLT_ETIMEDOUT);
  volt_sem_release(&sem, 1);
  expect_told(1);
  assert_result(volt_loop_poll(&loop, &f[0]), VOLT_OK);
  assert_result(volt_loop_close_until(&loop, PAST_DEADLINE), VOLT_OK);
  volt_loop_init(&loop, fake_waker_of(&told));
  assert_true(volt_loop_is_settled(&loop));
}

static void release_later(void *arg, uint32_t index) {
  (void)arg;
  (void)index;
  volt_sem_release(&sem, 1);
}

static void closed_by_another_thread_s_wake(void **state) {
  (void)state;
  thread_team team;
  wait_for(1);
  thread_team_start(&team, 1, release_later, NULL);
  assert_result(volt_loop_close(&loop), VOLT_OK);
  memset((void *)&loop, 0xee, sizeof loop);
  expect_told(1);
  thread_team_join(&team);
  volt_future_cancel(&f[0]);
}

/* ---- misuse ---- */

static void poll_it(void *arg) {
  (void)!volt_loop_poll(&loop, (volt_future *)arg);
}

static void close_it(void *arg) {
  (void)arg;
  (void)!volt_loop_close_then(&loop, fake_waker_of(&settled));
}

static void init_with_null(void *arg) {
  volt_loop_init((volt_loop *)arg, (volt_waker){NULL, NULL});
}

static void misuse(void **state) {
  (void)state;
  assert_death(init_with_null, &loop, "volt_loop_init", death_address(&loop),
               "notify.wake is NULL");
  close_it(NULL);
  assert_death(close_it, NULL, "volt_loop", death_address(&loop), "closed twice");
  assert_death(poll_it, &f[0], "volt_loop", death_address(&loop), death_address(&f[0]), "closed");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(ready_at_once, set_up, tear_down),
      cmocka_unit_test_setup_teardown(told_and_polled, set_up, tear_down),
      cmocka_unit_test_setup_teardown(told_once_for_many, set_up, tear_down),
      cmocka_unit_test_setup_teardown(polled_again_counts_nothing, set_up, tear_down),
      cmocka_unit_test_setup_teardown(not_settled_while_it_is_told, set_up, tear_down),
      cmocka_unit_test_setup_teardown(moved_to_another_loop, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_select, set_up, tear_down),
      cmocka_unit_test_setup_teardown(lets_others_run, set_up, tear_down),
      cmocka_unit_test_setup_teardown(closed_when_settled, set_up, tear_down),
      cmocka_unit_test_setup_teardown(settled_by_the_last_cancel, set_up, tear_down),
      cmocka_unit_test_setup_teardown(settled_by_the_last_wake, set_up, tear_down),
      cmocka_unit_test_setup_teardown(settled_may_free_it, set_up, tear_down),
      cmocka_unit_test_setup_teardown(nobody_is_told_that_it_is_settled, set_up, tear_down),
      cmocka_unit_test_setup_teardown(not_settled_in_time, set_up, tear_down),
      cmocka_unit_test_setup_teardown(closed_by_another_thread_s_wake, set_up, tear_down),
      cmocka_unit_test_setup_teardown(misuse, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
