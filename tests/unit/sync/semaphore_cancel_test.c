/* semaphore_cancel_test.c: giving up, at every moment, with its outcome; and close, and
 * everything after it.
 * ENGINE: all */
#include "crowd.h"
#include "thread_team.h"

static crowd c;

/* ---- before it is queued, and long after ---- */

static void never_used(void **state) {
  (void)state;
  crowd_init(&c, 1);
  assert_true(crowd_cancel(&c, 0));
  assert_true(crowd_cancel(&c, 0));
  crowd_expect(&c, 0, VOLT_ECANCELED, 0);
  assert_result(crowd_ask(&c, 0, 1), VOLT_OK); /* taken without *w */
  assert_true(crowd_cancel(&c, 0));
  crowd_expect_sem(&c, 0, 0); /* and not given back */
  crowd_destroy(&c, 0);
}

static void twice(void **state) {
  (void)state;
  crowd_init(&c, 0);
  crowd_queue(&c, 0, 1);
  assert_true(crowd_cancel(&c, 0));
  assert_true(crowd_cancel(&c, 0));
  crowd_expect(&c, 0, VOLT_ECANCELED, 0);
  crowd_expect_sem(&c, 0, 0);
  engine_sem_release(&c.sem, 1);
  crowd_expect(&c, 0, VOLT_ECANCELED, 0); /* no wake comes */
  crowd_destroy(&c, 1);
}

static void granted(void **state) {
  (void)state;
  crowd_init(&c, 0);
  crowd_queue(&c, 0, 3);
  engine_sem_release(&c.sem, 3);
  assert_false(crowd_cancel(&c, 0));
  assert_false(crowd_cancel(&c, 0));
  crowd_expect(&c, 0, VOLT_OK, 1);
  crowd_expect_sem(&c, 0, 0); /* the permits are the caller's ... */
  engine_sem_release(&c.sem, 3);
  crowd_destroy(&c, 3); /* ... to release */
}

static void granted_while_others_wait(void **state) {
  (void)state;
  crowd_init(&c, 0);
  crowd_queue_run(&c, 0, 3, 1);
  engine_sem_release(&c.sem, 1);
  assert_false(crowd_cancel(&c, 0));
  crowd_expect(&c, 0, VOLT_OK, 1);
  crowd_expect_run(&c, 1, 2, VOLT_PENDING, 0);
  engine_sem_release(&c.sem, 2);
  crowd_expect_run(&c, 1, 2, VOLT_OK, 1);
  crowd_destroy(&c, 0);
}

static void closed(void **state) {
  (void)state;
  crowd_init(&c, 0);
  crowd_queue(&c, 0, 1);
  engine_sem_close(&c.sem);
  assert_false(crowd_cancel(&c, 0));
  crowd_expect(&c, 0, VOLT_ECLOSED, 1);
  crowd_destroy(&c, 0);
}

/* ---- queued ---- */

static void the_only_one(void **state) {
  (void)state;
  crowd_init(&c, 0);
  crowd_queue(&c, 0, 1);
  assert_true(crowd_cancel(&c, 0));
  crowd_expect_sem(&c, 0, 0);
  engine_sem_release(&c.sem, 1);
  assert_result(engine_sem_try_acquire(&c.sem, 1), VOLT_OK);
  crowd_destroy(&c, 0);
}

/* Cancel one of five: the other four are served in order, all at once and one by one. */
static void cancel_one_of_five(uint32_t gone, bool at_once) {
  crowd_init(&c, 0);
  crowd_queue_run(&c, 0, 5, 1);
  assert_true(crowd_cancel(&c, gone));
  crowd_expect_sem(&c, 4, 0);
  if (at_once) {
    engine_sem_release(&c.sem, 4);
  } else {
    for (int i = 0; i < 4; i++) engine_sem_release(&c.sem, 1);
  }
  uint32_t at = 0;
  for (uint32_t i = 0; i < 5; i++) {
    if (i == gone) {
      crowd_expect(&c, i, VOLT_ECANCELED, 0);
    } else {
      crowd_expect(&c, i, VOLT_OK, 1);
      assert_int_equal(wake_log_at(&c.log, at++), i);
    }
  }
  crowd_destroy(&c, 0);
}

static void head_middle_and_tail(void **state) {
  (void)state;
  for (uint32_t gone = 0; gone < 5; gone++) {
    cancel_one_of_five(gone, true);
    cancel_one_of_five(gone, false);
  }
}

static void all_in_every_direction(void **state) {
  (void)state;
  for (uint32_t stride = 1; stride < 7; stride++) { /* 7 is prime: every stride visits all */
    crowd_init(&c, 0);
    crowd_queue_run(&c, 0, 7, 2);
    for (uint32_t i = 0; i < 7; i++) {
      assert_true(crowd_cancel(&c, i * stride % 7));
      crowd_expect_sem(&c, 6 - i, 0);
    }
    engine_sem_release(&c.sem, 1);
    assert_int_equal(wake_log_count(&c.log), 0);
    crowd_destroy(&c, 1);
  }
}

static void the_place_is_lost(void **state) {
  (void)state;
  crowd_init(&c, 0);
  crowd_queue_run(&c, 0, 3, 1);
  assert_true(crowd_cancel(&c, 0));
  crowd_queue(&c, 0, 1); /* the same memory, now the youngest */
  engine_sem_release(&c.sem, 2);
  crowd_expect_run(&c, 1, 2, VOLT_OK, 1);
  crowd_expect(&c, 0, VOLT_PENDING, 0);
  engine_sem_release(&c.sem, 1);
  crowd_expect(&c, 0, VOLT_OK, 1);
  crowd_destroy(&c, 0);
}

/* ---- with permits set aside ---- */

static void gathered_permits_go_back_to_the_pool(void **state) {
  (void)state;
  crowd_init(&c, 2);
  crowd_queue(&c, 0, 5); /* takes the two */
  engine_sem_release(&c.sem, 1);
  assert_true(crowd_cancel(&c, 0));
  crowd_expect(&c, 0, VOLT_ECANCELED, 0);
  crowd_destroy(&c, 3);
}

static void gathered_permits_complete_the_next(void **state) {
  (void)state;
  crowd_init(&c, 2);
  crowd_queue(&c, 0, 3);
  crowd_queue(&c, 1, 2);
  assert_true(crowd_cancel(&c, 0));
  crowd_expect(&c, 0, VOLT_ECANCELED, 0);
  crowd_expect(&c, 1, VOLT_OK, 1);
  crowd_destroy(&c, 0);
}

static void gathered_permits_go_as_far_as_they_go(void **state) {
  (void)state;
  crowd_init(&c, 6);
  crowd_queue(&c, 0, 7);
  crowd_queue(&c, 1, 1);
  crowd_queue(&c, 2, 3);
  crowd_queue(&c, 3, 4); /* two are left for it */
  crowd_queue(&c, 4, 1);
  assert_true(crowd_cancel(&c, 0));
  crowd_expect_run(&c, 1, 2, VOLT_OK, 1);
  crowd_expect_run(&c, 3, 2, VOLT_PENDING, 0);
  assert_true(wake_log_is_run(&c.log, 1, 2));
  crowd_expect_sem(&c, 2, 0);
  engine_sem_release(&c.sem, 2);
  crowd_expect(&c, 3, VOLT_OK, 1);
  crowd_expect(&c, 4, VOLT_PENDING, 0);
  engine_sem_release(&c.sem, 1);
  crowd_destroy(&c, 0);
}

static void gathered_permits_leave_a_surplus(void **state) {
  (void)state;
  crowd_init(&c, 6);
  crowd_queue(&c, 0, 7);
  crowd_queue_run(&c, 1, 2, 1);
  assert_true(crowd_cancel(&c, 0));
  crowd_expect_run(&c, 1, 2, VOLT_OK, 1);
  crowd_destroy(&c, 4);
}

static void gathered_permits_serve_more_than_a_batch(void **state) {
  (void)state;
  crowd_init(&c, 90);
  crowd_queue(&c, 0, 91);
  crowd_queue_run(&c, 1, 99, 1);
  assert_true(crowd_cancel(&c, 0));
  crowd_expect_run(&c, 1, 90, VOLT_OK, 1);
  crowd_expect_run(&c, 91, 9, VOLT_PENDING, 0);
  assert_true(wake_log_is_run(&c.log, 1, 90));
  engine_sem_release(&c.sem, 9);
  crowd_destroy(&c, 0);
}

static void one_behind_a_partially_filled_head(void **state) {
  (void)state;
  crowd_init(&c, 2);
  crowd_queue(&c, 0, 3);
  crowd_queue(&c, 1, 1);
  crowd_queue(&c, 2, 1);
  assert_true(crowd_cancel(&c, 1)); /* takes nothing from the head */
  crowd_expect(&c, 0, VOLT_PENDING, 0);
  crowd_expect_sem(&c, 2, 0);
  engine_sem_release(&c.sem, 1);
  crowd_expect(&c, 0, VOLT_OK, 1);
  crowd_expect(&c, 2, VOLT_PENDING, 0);
  engine_sem_release(&c.sem, 1);
  crowd_expect(&c, 2, VOLT_OK, 1);
  crowd_destroy(&c, 0);
}

static void one_head_after_the_other(void **state) {
  (void)state;
  crowd_init(&c, 4);
  crowd_queue_run(&c, 0, 5, 5);
  for (uint32_t i = 0; i < 5; i++) {
    crowd_expect(&c, i, VOLT_PENDING, 0);
    assert_true(crowd_cancel(&c, i)); /* the four go to the next, which wants five, too */
  }
  assert_int_equal(wake_log_count(&c.log), 0);
  crowd_destroy(&c, 4);
}

/* ---- against a release on another thread ---- */

enum { ROUNDS = 300 };

static void release_in_turn(void *arg, uint32_t index) {
  (void)arg;
  (void)index;
  engine_sem_release(&c.sem, 1);
}

static void either_cancelled_or_granted(void **state) {
  (void)state;
  uint32_t grants = 0;
  crowd_init(&c, 0);
  for (uint32_t round = 0; round < ROUNDS; round++) {
    thread_team team;
    crowd_queue(&c, 0, 1);
    thread_team_start(&team, 1, release_in_turn, NULL);
    for (uint32_t i = 0; i < round; i++) (void)engine_sem_available(&c.sem); /* a little later */
    bool cancelled = crowd_cancel(&c, 0);
    int result = crowd_result(&c, 0);
    thread_team_join(&team);
    if (cancelled) {
      assert_result(result, VOLT_ECANCELED);
      assert_result(engine_sem_try_acquire(&c.sem, 1), VOLT_OK); /* the release found nobody */
    } else {
      assert_result(result, VOLT_OK);
      grants += 1;
    }
    assert_int_equal(hostile_waker_calls(&c.wakers[0]), grants);
    assert_int_equal(engine_sem_available(&c.sem), 0);
  }
  crowd_destroy(&c, 0);
}

/* ==== close, and everything after it ==== */

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
  assert_result(engine_sem_acquire_until(&c.sem, 1, VOLT_NO_DEADLINE), VOLT_ECLOSED);
  assert_result(engine_sem_acquire_until(&c.sem, 3, VOLT_NO_DEADLINE), VOLT_ECLOSED);
  assert_result(engine_sem_acquire_until(&c.sem, 3, PAST_DEADLINE), VOLT_ECLOSED);
  assert_int_equal(wake_log_count(&c.log), 0);
  crowd_destroy(&c, 2);
}

static void nothing_is_still_nothing(void **state) {
  (void)state;
  crowd_init(&c, 0);
  engine_sem_close(&c.sem);
  assert_result(engine_sem_try_acquire(&c.sem, 0), VOLT_OK);
  assert_result(crowd_ask(&c, 0, 0), VOLT_OK);
  assert_result(engine_sem_acquire_until(&c.sem, 0, PAST_DEADLINE), VOLT_OK);
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
      cmocka_unit_test(never_used),
      cmocka_unit_test(twice),
      cmocka_unit_test(granted),
      cmocka_unit_test(granted_while_others_wait),
      cmocka_unit_test(closed),
      cmocka_unit_test(the_only_one),
      cmocka_unit_test(head_middle_and_tail),
      cmocka_unit_test(all_in_every_direction),
      cmocka_unit_test(the_place_is_lost),
      cmocka_unit_test(gathered_permits_go_back_to_the_pool),
      cmocka_unit_test(gathered_permits_complete_the_next),
      cmocka_unit_test(gathered_permits_go_as_far_as_they_go),
      cmocka_unit_test(gathered_permits_leave_a_surplus),
      cmocka_unit_test(gathered_permits_serve_more_than_a_batch),
      cmocka_unit_test(one_behind_a_partially_filled_head),
      cmocka_unit_test(one_head_after_the_other),
      cmocka_unit_test(either_cancelled_or_granted),
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
  return cmocka_run_group_tests_name("cancel and close of " ENGINE_NAME, tests, NULL, NULL);
}
