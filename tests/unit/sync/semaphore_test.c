/* semaphore_test.c: take, queue, release, in order. Polled by hand.
 * ENGINE: all */
#include "crowd.h"
#include "family.h"

FAMILY(semaphore, volt_sem it[1] = {VOLT_SEM_INIT(0)}, volt_sem_acquire_waiter(it, w, 1, waker),
       volt_sem_acquire_until(it, 1, past), volt_sem_acquire_future(f, it, 1),
       volt_sem_release(it, 1), volt_sem_destroy(it))

static crowd c;

/* ---- init and inspection ---- */

static void init_gives_permits(void **state) {
  (void)state;
  const uint32_t permits[] = {0, 1, 7, VOLT_SEM_MAX};
  for (size_t i = 0; i < sizeof permits / sizeof permits[0]; i++) {
    crowd_init(&c, permits[i]);
    assert_int_equal(engine_sem_available(&c.sem), permits[i]);
    assert_int_equal(engine_sem_waiters(&c.sem), 0);
    assert_false(engine_sem_is_closed(&c.sem));
    crowd_destroy(&c, permits[i]);
  }
}

static void available_is_zero_while_somebody_waits(void **state) {
  (void)state;
  crowd_init(&c, 3);
  assert_int_equal(engine_sem_available(&c.sem), 3);
  crowd_queue(&c, 0, 5);
  crowd_expect_sem(&c, 1, 0);
  engine_sem_release(&c.sem, 1);
  crowd_expect_sem(&c, 1, 0);
  engine_sem_release(&c.sem, 4);
  crowd_destroy(&c, 3);
}

static void waiters_counts_them(void **state) {
  (void)state;
  crowd_init(&c, 0);
  for (uint32_t i = 0; i < CROWD_MAX; i++) {
    assert_int_equal(engine_sem_waiters(&c.sem), i);
    crowd_queue(&c, i, 1);
  }
  for (uint32_t i = CROWD_MAX; i > 0; i--) {
    assert_int_equal(engine_sem_waiters(&c.sem), i);
    engine_sem_release(&c.sem, 1);
  }
  crowd_destroy(&c, 0);
}

/* ---- try_acquire ---- */

static void try_takes_what_is_there(void **state) {
  (void)state;
  crowd_init(&c, 5);
  assert_result(engine_sem_try_acquire(&c.sem, 2), VOLT_OK);
  assert_int_equal(engine_sem_available(&c.sem), 3);
  assert_result(engine_sem_try_acquire(&c.sem, 4), VOLT_EAGAIN);
  assert_int_equal(engine_sem_available(&c.sem), 3);
  assert_result(engine_sem_try_acquire(&c.sem, 3), VOLT_OK);
  assert_result(engine_sem_try_acquire(&c.sem, 1), VOLT_EAGAIN);
  crowd_destroy(&c, 0);
}

static void try_never_fails_spuriously(void **state) {
  (void)state;
  crowd_init(&c, 1);
  for (int i = 0; i < 10000; i++) {
    assert_result(engine_sem_try_acquire(&c.sem, 1), VOLT_OK);
    engine_sem_release(&c.sem, 1);
  }
  crowd_destroy(&c, 1);
}

static void try_of_nothing_succeeds_always(void **state) {
  (void)state;
  crowd_init(&c, 0);
  assert_result(engine_sem_try_acquire(&c.sem, 0), VOLT_OK);
  crowd_queue(&c, 0, 1);
  assert_result(engine_sem_try_acquire(&c.sem, 0), VOLT_OK);
  engine_sem_close(&c.sem);
  assert_result(engine_sem_try_acquire(&c.sem, 0), VOLT_OK);
  crowd_destroy(&c, 0);
}

static void try_of_too_much_succeeds_never(void **state) {
  (void)state;
  crowd_init(&c, VOLT_SEM_MAX);
  assert_result(engine_sem_try_acquire(&c.sem, VOLT_SEM_MAX + 1), VOLT_EINVAL);
  assert_result(engine_sem_try_acquire(&c.sem, UINT32_MAX), VOLT_EINVAL);
  assert_int_equal(engine_sem_available(&c.sem), VOLT_SEM_MAX);
  assert_result(engine_sem_try_acquire(&c.sem, VOLT_SEM_MAX), VOLT_OK);
  assert_int_equal(engine_sem_available(&c.sem), 0);
  crowd_destroy(&c, 0);
}

static void try_fails_while_anybody_queues(void **state) {
  (void)state;
  crowd_init(&c, 4);
  crowd_queue(&c, 0, 5); /* the four are set aside for it */
  assert_result(engine_sem_try_acquire(&c.sem, 1), VOLT_EAGAIN);
  crowd_queue(&c, 1, 1);
  engine_sem_release(&c.sem, 1);
  crowd_expect(&c, 0, VOLT_OK, 1);
  assert_result(engine_sem_try_acquire(&c.sem, 1), VOLT_EAGAIN); /* one served, one still waits */
  engine_sem_release(&c.sem, 1);
  crowd_expect(&c, 1, VOLT_OK, 1);
  assert_result(engine_sem_try_acquire(&c.sem, 1),
                VOLT_EAGAIN); /* served, not yet polled: it was handed over */
  engine_sem_release(&c.sem, 1);
  assert_result(engine_sem_try_acquire(&c.sem, 1), VOLT_OK);
  crowd_destroy(&c, 0);
}

/* ---- acquire ---- */

static void acquire_takes_at_once(void **state) {
  (void)state;
  crowd_init(&c, 3);
  assert_result(crowd_ask(&c, 0, 2), VOLT_OK);
  assert_result(crowd_ask(&c, 0, 1), VOLT_OK); /* *w was not used: it can be again */
  crowd_expect(&c, 0, VOLT_ECANCELED, 0);      /* nothing was ever queued with it */
  engine_sem_release(&c.sem, 3);
  crowd_expect(&c, 0, VOLT_ECANCELED, 0);
  crowd_destroy(&c, 3);
}

static void acquire_queues(void **state) {
  (void)state;
  crowd_init(&c, 0);
  crowd_queue(&c, 0, 1);
  crowd_expect(&c, 0, VOLT_PENDING, 0);
  crowd_expect(&c, 0, VOLT_PENDING, 0); /* looking changes nothing */
  engine_sem_release(&c.sem, 1);
  crowd_expect(&c, 0, VOLT_OK, 1);
  crowd_expect_sem(&c, 0, 0);
  crowd_destroy(&c, 0);
}

static void acquire_of_nothing_does_not_queue(void **state) {
  (void)state;
  crowd_init(&c, 0);
  assert_result(crowd_ask(&c, 0, 0), VOLT_OK);
  crowd_queue(&c, 1, 1);
  assert_result(crowd_ask(&c, 0, 0), VOLT_OK);
  crowd_expect(&c, 0, VOLT_ECANCELED, 0);
  crowd_expect_sem(&c, 1, 0);
  assert_result(engine_sem_acquire_until(&c.sem, 0, VOLT_NO_DEADLINE), VOLT_OK);
  assert_true(crowd_cancel(&c, 1));
  crowd_destroy(&c, 0);
}

static void acquire_of_too_much_is_invalid(void **state) {
  (void)state;
  crowd_init(&c, VOLT_SEM_MAX);
  assert_result(crowd_ask(&c, 0, VOLT_SEM_MAX + 1), VOLT_EINVAL);
  assert_result(crowd_ask(&c, 0, UINT32_MAX), VOLT_EINVAL);
  assert_result(engine_sem_acquire_until(&c.sem, VOLT_SEM_MAX + 1, VOLT_NO_DEADLINE), VOLT_EINVAL);
  crowd_expect(&c, 0, VOLT_ECANCELED, 0); /* nothing was queued */
  crowd_expect_sem(&c, 0, VOLT_SEM_MAX);
  assert_result(engine_sem_try_acquire(&c.sem, VOLT_SEM_MAX), VOLT_OK);

  crowd_queue(&c, 1, 1); /* and the same while somebody waits */
  assert_result(crowd_ask(&c, 0, VOLT_SEM_MAX + 1), VOLT_EINVAL);
  assert_result(engine_sem_acquire_until(&c.sem, UINT32_MAX, PAST_DEADLINE), VOLT_EINVAL);
  crowd_expect_sem(&c, 1, 0);
  engine_sem_release(&c.sem, 1);
  crowd_expect(&c, 1, VOLT_OK, 1);
  crowd_expect(&c, 0, VOLT_ECANCELED, 0);
  crowd_destroy(&c, 0);
}

static void acquire_of_the_maximum_works(void **state) {
  (void)state;
  crowd_init(&c, VOLT_SEM_MAX);
  assert_result(crowd_ask(&c, 0, VOLT_SEM_MAX), VOLT_OK);
  engine_sem_release(&c.sem, VOLT_SEM_MAX - 1);
  crowd_queue(&c, 0, VOLT_SEM_MAX);
  engine_sem_release(&c.sem, 1);
  crowd_expect(&c, 0, VOLT_OK, 1);
  crowd_queue(&c, 1, VOLT_SEM_MAX);
  engine_sem_release(&c.sem, VOLT_SEM_MAX);
  crowd_expect(&c, 1, VOLT_OK, 1);
  crowd_destroy(&c, 0);
}

static void acquire_sets_aside_what_is_there(void **state) {
  (void)state;
  crowd_init(&c, 3);
  crowd_queue(&c, 0, 5);
  crowd_expect_sem(&c, 1, 0);
  engine_sem_release(&c.sem, 1);
  crowd_expect(&c, 0, VOLT_PENDING, 0);
  engine_sem_release(&c.sem, 1);
  crowd_expect(&c, 0, VOLT_OK, 1);
  crowd_destroy(&c, 0);
}

static void a_newcomer_queues_behind(void **state) {
  (void)state;
  crowd_init(&c, 2);
  crowd_queue(&c, 0, 3);
  crowd_queue(&c, 1, 1); /* there were permits enough for it */
  engine_sem_release(&c.sem, 1);
  crowd_expect(&c, 0, VOLT_OK, 1);
  crowd_expect(&c, 1, VOLT_PENDING, 0);
  engine_sem_release(&c.sem, 1);
  crowd_expect(&c, 1, VOLT_OK, 1);
  crowd_destroy(&c, 0);
}

/* ---- release ---- */

static void release_to_nobody_goes_to_the_pool(void **state) {
  (void)state;
  crowd_init(&c, 0);
  engine_sem_release(&c.sem, 2);
  engine_sem_release(&c.sem, 3);
  crowd_expect_sem(&c, 0, 5);
  crowd_destroy(&c, 5);
}

static void release_of_nothing_does_nothing(void **state) {
  (void)state;
  crowd_init(&c, 1);
  engine_sem_release(&c.sem, 0);
  crowd_expect_sem(&c, 0, 1);
  crowd_queue(&c, 0, 2);
  engine_sem_release(&c.sem, 0);
  crowd_expect(&c, 0, VOLT_PENDING, 0);
  crowd_expect_sem(&c, 1, 0);
  engine_sem_release(&c.sem, 1);
  crowd_destroy(&c, 0);
}

static void release_serves_several(void **state) {
  (void)state;
  crowd_init(&c, 0);
  crowd_queue(&c, 0, 1);
  crowd_queue(&c, 1, 2);
  crowd_queue(&c, 2, 3);
  crowd_queue(&c, 3, 1);
  engine_sem_release(&c.sem, 6);
  crowd_expect_run(&c, 0, 3, VOLT_OK, 1);
  crowd_expect(&c, 3, VOLT_PENDING, 0);
  crowd_expect_sem(&c, 1, 0);
  assert_true(wake_log_is_run(&c.log, 0, 3));
  engine_sem_release(&c.sem, 1);
  crowd_destroy(&c, 0);
}

static void release_leaves_the_surplus_in_the_pool(void **state) {
  (void)state;
  crowd_init(&c, 0);
  crowd_queue_run(&c, 0, 2, 1);
  engine_sem_release(&c.sem, 5);
  crowd_expect_run(&c, 0, 2, VOLT_OK, 1);
  crowd_expect_sem(&c, 0, 3);
  assert_result(engine_sem_try_acquire(&c.sem, 3), VOLT_OK);
  crowd_destroy(&c, 0);
}

static void release_serves_in_parts(void **state) {
  (void)state;
  crowd_init(&c, 0);
  crowd_queue(&c, 0, 5);
  engine_sem_release(&c.sem, 2);
  crowd_expect(&c, 0, VOLT_PENDING, 0);
  engine_sem_release(&c.sem, 2);
  crowd_expect(&c, 0, VOLT_PENDING, 0);
  crowd_expect_sem(&c, 1, 0);
  engine_sem_release(&c.sem, 1);
  crowd_expect(&c, 0, VOLT_OK, 1);
  crowd_destroy(&c, 0);
}

static void release_finishes_one_and_begins_the_next(void **state) {
  (void)state;
  crowd_init(&c, 0);
  crowd_queue_run(&c, 0, 3, 3);
  engine_sem_release(&c.sem, 5);
  crowd_expect(&c, 0, VOLT_OK, 1);
  crowd_expect(&c, 1, VOLT_PENDING, 0);
  engine_sem_release(&c.sem, 1); /* the two were the second one's already */
  crowd_expect(&c, 1, VOLT_OK, 1);
  crowd_expect(&c, 2, VOLT_PENDING, 0);
  engine_sem_release(&c.sem, 4);
  crowd_expect(&c, 2, VOLT_OK, 1);
  crowd_destroy(&c, 1);
}

/* ---- first come, first served ---- */

static void a_big_request_blocks_the_small_ones_behind(void **state) {
  (void)state;
  crowd_init(&c, 0);
  crowd_queue(&c, 0, 10);
  crowd_queue_run(&c, 1, 3, 1);
  for (int i = 0; i < 9; i++) {
    engine_sem_release(&c.sem, 1);
    crowd_expect_run(&c, 0, 4, VOLT_PENDING, 0);
  }
  engine_sem_release(&c.sem, 1);
  crowd_expect(&c, 0, VOLT_OK, 1);
  crowd_expect_run(&c, 1, 3, VOLT_PENDING, 0);
  engine_sem_release(&c.sem, 3);
  assert_true(wake_log_is_run(&c.log, 0, 4));
  crowd_destroy(&c, 0);
}

static void one_by_one_in_order(void **state) {
  (void)state;
  crowd_init(&c, 0);
  crowd_queue_run(&c, 0, CROWD_MAX, 1);
  for (uint32_t i = 0; i < CROWD_MAX; i++) {
    engine_sem_release(&c.sem, 1);
    crowd_expect(&c, i, VOLT_OK, 1);
    assert_true(wake_log_is_run(&c.log, 0, i + 1));
  }
  crowd_destroy(&c, 0);
}

/* Far more than one batch of wakes holds. */
static void one_release_serves_many(void **state) {
  (void)state;
  const uint32_t counts[] = {31, 32, 33, 64, 65, CROWD_MAX};
  for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
    crowd_init(&c, 0);
    crowd_queue_run(&c, 0, counts[i], 2);
    engine_sem_release(&c.sem, 2 * counts[i] + 7);
    crowd_expect_run(&c, 0, counts[i], VOLT_OK, 1);
    assert_true(wake_log_is_run(&c.log, 0, counts[i]));
    crowd_destroy(&c, 7);
  }
}

static void one_release_serves_as_many_as_it_can(void **state) {
  (void)state;
  const uint32_t served[] = {1, 31, 32, 33, 63, 64, 65, CROWD_MAX - 1};
  for (size_t i = 0; i < sizeof served / sizeof served[0]; i++) {
    uint32_t left = CROWD_MAX - served[i];
    crowd_init(&c, 0);
    crowd_queue_run(&c, 0, CROWD_MAX, 2);
    engine_sem_release(&c.sem, 2 * served[i] + 1); /* and half of what the next one wants */
    crowd_expect_run(&c, 0, served[i], VOLT_OK, 1);
    crowd_expect_run(&c, served[i], left, VOLT_PENDING, 0);
    crowd_expect_sem(&c, left, 0);
    engine_sem_release(&c.sem, 2 * left - 1);
    crowd_expect_run(&c, served[i], left, VOLT_OK, 1);
    assert_true(wake_log_is_run(&c.log, 0, CROWD_MAX));
    crowd_destroy(&c, 0);
  }
}

/* ---- wakers ---- */

static void set_waker_replaces(void **state) {
  (void)state;
  crowd_init(&c, 0);
  crowd_queue_run(&c, 0, 3, 1);
  fake_waker other;
  fake_waker_init(&other, 77, &c.log);
  assert_true(engine_sem_set_waker(&c.sem, &c.waiters[1], fake_waker_of(&other)));
  crowd_expect(&c, 1, VOLT_PENDING, 0);
  engine_sem_release(&c.sem, 3);
  crowd_expect(&c, 0, VOLT_OK, 1);
  crowd_expect(&c, 1, VOLT_OK, 0); /* the replaced waker was not called */
  assert_int_equal(fake_waker_calls(&other), 1);
  assert_int_equal(wake_log_at(&c.log, 1), 77); /* its place in the queue is the old one */
  crowd_expect(&c, 2, VOLT_OK, 1);
  crowd_destroy(&c, 0);
}

static void set_waker_is_too_late(void **state) {
  (void)state;
  crowd_init(&c, 0);
  crowd_queue(&c, 0, 1);
  engine_sem_release(&c.sem, 1);
  fake_waker other;
  fake_waker_init(&other, 77, NULL);
  assert_false(engine_sem_set_waker(&c.sem, &c.waiters[0], fake_waker_of(&other)));
  crowd_expect(&c, 0, VOLT_OK, 1);

  crowd_queue(&c, 1, 1);
  engine_sem_close(&c.sem);
  assert_false(engine_sem_set_waker(&c.sem, &c.waiters[1], fake_waker_of(&other)));
  crowd_expect(&c, 1, VOLT_ECLOSED, 1);
  assert_int_equal(fake_waker_calls(&other), 0);
  crowd_destroy(&c, 0);
}

static void set_waker_twice_and_back(void **state) {
  (void)state;
  crowd_init(&c, 0);
  crowd_queue(&c, 0, 2);
  fake_waker others[2];
  for (uint32_t i = 0; i < 2; i++) {
    fake_waker_init(&others[i], 0, NULL);
    assert_true(engine_sem_set_waker(&c.sem, &c.waiters[0], fake_waker_of(&others[i])));
  }
  engine_sem_release(&c.sem, 1); /* a part changes nothing */
  assert_true(engine_sem_set_waker(&c.sem, &c.waiters[0], hostile_waker_of(&c.wakers[0])));
  engine_sem_release(&c.sem, 1);
  crowd_expect(&c, 0, VOLT_OK, 1);
  assert_int_equal(fake_waker_calls(&others[0]), 0);
  assert_int_equal(fake_waker_calls(&others[1]), 0);
  crowd_destroy(&c, 0);
}

static void a_zero_waker_wakes_nobody(void **state) {
  (void)state;
  crowd_init(&c, 0);
  volt_waker none = {NULL, NULL};
  assert_result(engine_sem_acquire_waiter(&c.sem, &c.waiters[0], 1, none), VOLT_PENDING);
  crowd_queue(&c, 1, 1);
  engine_sem_release(&c.sem, 2);
  crowd_expect(&c, 0, VOLT_OK, 0);
  crowd_expect(&c, 1, VOLT_OK, 1);
  crowd_destroy(&c, 0);
}

static void a_waiter_is_used_again_and_again(void **state) {
  (void)state;
  crowd_init(&c, 0);
  for (uint32_t i = 0; i < 1000; i++) {
    crowd_queue(&c, 0, 1 + i % 3);
    if (i % 2 == 0) {
      engine_sem_release(&c.sem, 1 + i % 3);
      crowd_expect(&c, 0, VOLT_OK, i / 2 + 1);
    } else {
      assert_true(crowd_cancel(&c, 0));
      crowd_expect(&c, 0, VOLT_ECANCELED, i / 2 + 1);
    }
  }
  crowd_destroy(&c, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FAMILY_TEST(semaphore),
      cmocka_unit_test(init_gives_permits),
      cmocka_unit_test(available_is_zero_while_somebody_waits),
      cmocka_unit_test(waiters_counts_them),
      cmocka_unit_test(try_takes_what_is_there),
      cmocka_unit_test(try_never_fails_spuriously),
      cmocka_unit_test(try_of_nothing_succeeds_always),
      cmocka_unit_test(try_of_too_much_succeeds_never),
      cmocka_unit_test(try_fails_while_anybody_queues),
      cmocka_unit_test(acquire_takes_at_once),
      cmocka_unit_test(acquire_queues),
      cmocka_unit_test(acquire_of_nothing_does_not_queue),
      cmocka_unit_test(acquire_of_too_much_is_invalid),
      cmocka_unit_test(acquire_of_the_maximum_works),
      cmocka_unit_test(acquire_sets_aside_what_is_there),
      cmocka_unit_test(a_newcomer_queues_behind),
      cmocka_unit_test(release_to_nobody_goes_to_the_pool),
      cmocka_unit_test(release_of_nothing_does_nothing),
      cmocka_unit_test(release_serves_several),
      cmocka_unit_test(release_leaves_the_surplus_in_the_pool),
      cmocka_unit_test(release_serves_in_parts),
      cmocka_unit_test(release_finishes_one_and_begins_the_next),
      cmocka_unit_test(a_big_request_blocks_the_small_ones_behind),
      cmocka_unit_test(one_by_one_in_order),
      cmocka_unit_test(one_release_serves_many),
      cmocka_unit_test(one_release_serves_as_many_as_it_can),
      cmocka_unit_test(set_waker_replaces),
      cmocka_unit_test(set_waker_is_too_late),
      cmocka_unit_test(set_waker_twice_and_back),
      cmocka_unit_test(a_zero_waker_wakes_nobody),
      cmocka_unit_test(a_waiter_is_used_again_and_again),
  };
  return cmocka_run_group_tests_name("semaphore of " ENGINE_NAME, tests, NULL, NULL);
}
