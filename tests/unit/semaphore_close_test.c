/* semaphore_close_test.c: close, and everything after it.
 * ENGINE: all */
#include "crowd.h"

static crowd c;

static void close_is_seen(void **state) {
  (void)state;
  crowd_init(&c, 2);
  assert_false(engine_sem_is_closed(&c.sem));
  engine_sem_close(&c.sem);
  assert_true(engine_sem_is_closed(&c.sem));
  crowd_destroy(&c, 2);
}

static void nothing_can_be_acquired_after(void **state) {
  (void)state;
  crowd_init(&c, 2);
  engine_sem_close(&c.sem);
  assert_result(engine_sem_try_acquire(&c.sem, 1), VOLT_ECLOSED);
  assert_result(crowd_ask(&c, 0, 1), VOLT_ECLOSED);
  assert_result(crowd_ask(&c, 0, 3), VOLT_ECLOSED);
  crowd_expect(&c, 0, VOLT_ECANCELED, 0); /* nothing was queued with it */
  assert_result(engine_sem_acquire_blocking(&c.sem, 1, VOLT_NO_DEADLINE), VOLT_ECLOSED);
  assert_result(engine_sem_acquire_blocking(&c.sem, 3, VOLT_NO_DEADLINE), VOLT_ECLOSED);
  assert_result(engine_sem_acquire_blocking(&c.sem, 3, PAST_DEADLINE), VOLT_ECLOSED);
  assert_int_equal(wake_log_count(&c.log), 0);
  crowd_destroy(&c, 2);
}

static void nothing_is_still_nothing(void **state) {
  (void)state;
  crowd_init(&c, 0);
  engine_sem_close(&c.sem);
  assert_result(engine_sem_try_acquire(&c.sem, 0), VOLT_OK);
  assert_result(crowd_ask(&c, 0, 0), VOLT_OK);
  assert_result(engine_sem_acquire_blocking(&c.sem, 0, PAST_DEADLINE), VOLT_OK);
  crowd_destroy(&c, 0);
}

static void every_waiter_is_told_oldest_first(void **state) {
  (void)state;
  const uint32_t counts[] = {1, 2, 31, 32, 33, 64, CROWD_MAX};
  for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
    crowd_init(&c, 0);
    crowd_queue_run(&c, 0, counts[i], 3);
    engine_sem_close(&c.sem);
    crowd_expect_run(&c, 0, counts[i], VOLT_ECLOSED, 1);
    assert_true(wake_log_is_run(&c.log, 0, counts[i]));
    assert_true(engine_sem_is_closed(&c.sem));
    crowd_destroy(&c, 0);
  }
}

static void the_waiters_can_be_used_again(void **state) {
  (void)state;
  crowd_init(&c, 0);
  crowd_queue(&c, 0, 1);
  engine_sem_close(&c.sem);
  assert_result(crowd_ask(&c, 0, 1), VOLT_ECLOSED);
  engine_sem_destroy(&c.sem);
  engine_sem_init(&c.sem, 0); /* a new life, and an open one */
  assert_false(engine_sem_is_closed(&c.sem));
  crowd_queue(&c, 0, 1);
  engine_sem_release(&c.sem, 1);
  crowd_expect(&c, 0, VOLT_OK, 2);
  crowd_destroy(&c, 0);
}

static void permits_stay(void **state) {
  (void)state;
  crowd_init(&c, 5);
  assert_result(engine_sem_try_acquire(&c.sem, 2), VOLT_OK);
  engine_sem_close(&c.sem);
  crowd_expect_sem(&c, 0, 3);
  crowd_destroy(&c, 3);
}

static void permits_set_aside_come_back(void **state) {
  (void)state;
  crowd_init(&c, 2);
  crowd_queue(&c, 0, 5);
  crowd_queue(&c, 1, 1);
  engine_sem_release(&c.sem, 1);
  engine_sem_close(&c.sem);
  crowd_expect_run(&c, 0, 2, VOLT_ECLOSED, 1);
  crowd_destroy(&c, 3);
}

static void permits_set_aside_come_back_past_a_batch(void **state) {
  (void)state;
  crowd_init(&c, 4);
  crowd_queue_run(&c, 0, CROWD_MAX, 5);
  engine_sem_close(&c.sem);
  crowd_expect_run(&c, 0, CROWD_MAX, VOLT_ECLOSED, 1);
  crowd_destroy(&c, 4);
}

static void release_still_works(void **state) {
  (void)state;
  crowd_init(&c, 2);
  assert_result(engine_sem_try_acquire(&c.sem, 2), VOLT_OK);
  engine_sem_close(&c.sem);
  engine_sem_release(&c.sem, 1);
  crowd_expect_sem(&c, 0, 1);
  engine_sem_release(&c.sem, 1);
  crowd_expect_sem(&c, 0, 2);
  engine_sem_release(&c.sem, 0);
  assert_true(engine_sem_is_closed(&c.sem));
  assert_result(engine_sem_try_acquire(&c.sem, 1), VOLT_ECLOSED);
  crowd_destroy(&c, 2);
}

static void closing_twice_does_nothing_more(void **state) {
  (void)state;
  crowd_init(&c, 1);
  crowd_queue_run(&c, 0, 2, 2);
  engine_sem_close(&c.sem);
  engine_sem_close(&c.sem);
  engine_sem_close(&c.sem);
  crowd_expect_run(&c, 0, 2, VOLT_ECLOSED, 1);
  assert_int_equal(wake_log_count(&c.log), 2);
  assert_true(engine_sem_is_closed(&c.sem));
  crowd_destroy(&c, 1);
}

static void neither_granted_nor_cancelled_ones_hear_of_it(void **state) {
  (void)state;
  crowd_init(&c, 0);
  crowd_queue_run(&c, 0, 4, 1);
  engine_sem_release(&c.sem, 1);
  assert_true(crowd_cancel(&c, 2));
  engine_sem_close(&c.sem);
  crowd_expect(&c, 0, VOLT_OK, 1);
  crowd_expect(&c, 1, VOLT_ECLOSED, 1);
  crowd_expect(&c, 2, VOLT_ECANCELED, 0);
  crowd_expect(&c, 3, VOLT_ECLOSED, 1);
  engine_sem_release(&c.sem, 1);
  crowd_destroy(&c, 1);
}

static void the_last_waker_is_called(void **state) {
  (void)state;
  crowd_init(&c, 0);
  crowd_queue(&c, 0, 1);
  fake_waker other;
  fake_waker_init(&other, 0, NULL);
  assert_true(engine_sem_set_waker(&c.sem, &c.waiters[0], fake_waker_of(&other)));
  engine_sem_close(&c.sem);
  crowd_expect(&c, 0, VOLT_ECLOSED, 0);
  assert_int_equal(fake_waker_calls(&other), 1);
  crowd_destroy(&c, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(close_is_seen),
      cmocka_unit_test(nothing_can_be_acquired_after),
      cmocka_unit_test(nothing_is_still_nothing),
      cmocka_unit_test(every_waiter_is_told_oldest_first),
      cmocka_unit_test(the_waiters_can_be_used_again),
      cmocka_unit_test(permits_stay),
      cmocka_unit_test(permits_set_aside_come_back),
      cmocka_unit_test(permits_set_aside_come_back_past_a_batch),
      cmocka_unit_test(release_still_works),
      cmocka_unit_test(closing_twice_does_nothing_more),
      cmocka_unit_test(neither_granted_nor_cancelled_ones_hear_of_it),
      cmocka_unit_test(the_last_waker_is_called),
  };
  return cmocka_run_group_tests_name("close of " ENGINE_NAME, tests, NULL, NULL);
}
