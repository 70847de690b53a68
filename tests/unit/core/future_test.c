/* future_test.c: every sentence of volt/future.h, on every primitive. */
#include <errno.h>

#include "death.h"
#include "fake_waker.h"
#include "thread_team.h"
#include "unit.h"

static volt_sem sem;
static volt_mutex mutex;
static volt_rwlock rw;
static volt_future f;
static fake_waker a;
static fake_waker b;

/* Everything is taken; f is a future that was never given an operation. */
static int set_up(void **state) {
  (void)state;
  volt_sem_init(&sem, 0);
  volt_mutex_init(&mutex);
  volt_rwlock_init(&rw);
  memset(&f, 0, sizeof f);
  fake_waker_init(&a, 0, NULL);
  fake_waker_init(&b, 1, NULL);
  return 0;
}

static int poll_with(volt_future *future, fake_waker *waker) {
  return volt_future_poll(future, fake_waker_of(waker));
}

/* f waits for n permits, its waker is a. */
static void wait_for(uint32_t n) {
  volt_future_made(volt_sem_acquire_future(&f, &sem, n));
  assert_result(poll_with(&f, &a), VOLT_PENDING);
}

static void expect_calls(uint32_t calls_of_a, uint32_t calls_of_b) {
  assert_int_equal(fake_waker_calls(&a), calls_of_a);
  assert_int_equal(fake_waker_calls(&b), calls_of_b);
}

/* ---- poll ---- */

static void nothing_happens_before_the_first_poll(void **state) {
  (void)state;
  volt_sem_release(&sem, 1);
  memset(&f, 0xee, sizeof f); /* its content is overwritten */
  assert_ptr_equal(volt_sem_acquire_future(&f, &sem, 1), &f);
  assert_int_equal(volt_sem_available(&sem), 1);
  assert_result(poll_with(&f, &a), VOLT_OK);
  assert_int_equal(volt_sem_available(&sem), 0);
  expect_calls(0, 0);
}

static void a_result_stands(void **state) {
  (void)state;
  volt_sem_release(&sem, 3);
  volt_future_made(volt_sem_acquire_future(&f, &sem, 1));
  for (int i = 0; i < 3; i++) assert_result(poll_with(&f, i % 2 ? &b : &a), VOLT_OK);
  assert_int_equal(volt_sem_available(&sem), 2);
  assert_result(volt_future_wait_until(&f, PAST_DEADLINE), VOLT_OK);
  assert_int_equal(volt_sem_available(&sem), 2);

  assert_result(volt_sem_try_acquire(&sem, 2), VOLT_OK);
  wait_for(1);
  volt_sem_release(&sem, 1);
  for (int i = 0; i < 3; i++) assert_result(poll_with(&f, i % 2 ? &b : &a), VOLT_OK);
  expect_calls(1, 0);
  assert_int_equal(volt_sem_available(&sem), 0);
}

static void polls_that_nobody_was_woken_for(void **state) {
  (void)state;
  wait_for(2);
  for (int i = 0; i < 5; i++) assert_result(poll_with(&f, &a), VOLT_PENDING);
  assert_int_equal(volt_sem_waiters(&sem), 1); /* queued once */
  volt_sem_release(&sem, 1);
  assert_result(poll_with(&f, &a), VOLT_PENDING);
  expect_calls(0, 0);
  volt_sem_release(&sem, 1);
  expect_calls(1, 0);
  assert_result(poll_with(&f, &a), VOLT_OK);
  expect_calls(1, 0);
}

static void the_place_in_the_queue_is_kept(void **state) {
  (void)state;
  volt_future second;
  wait_for(1);
  volt_future_made(volt_sem_acquire_future(&second, &sem, 1));
  assert_result(poll_with(&second, &b), VOLT_PENDING);
  assert_result(poll_with(&f, &b), VOLT_PENDING);
  assert_result(poll_with(&f, &a), VOLT_PENDING);
  volt_sem_release(&sem, 1);
  expect_calls(1, 0);
  assert_result(poll_with(&second, &b), VOLT_PENDING);
  assert_result(poll_with(&f, &a), VOLT_OK);
  volt_future_cancel(&second);
}

/* ---- another waker ---- */

static void a_future_moves_to_another_task(void **state) {
  (void)state;
  wait_for(1);
  assert_result(poll_with(&f, &b), VOLT_PENDING);
  volt_sem_release(&sem, 1);
  expect_calls(0, 1); /* the replaced one is never called */
  assert_result(poll_with(&f, &a), VOLT_OK);
  expect_calls(0, 1);
}

/* The same function with another ctx, the same ctx with another function: both are other wakers. */
static void other_wake(void *ctx) {
  ((fake_waker *)ctx)->name += 1;
}

static void either_half_makes_another_waker(void **state) {
  (void)state;
  volt_waker other = {other_wake, &a};
  wait_for(1);
  assert_result(volt_future_poll(&f, other), VOLT_PENDING);
  volt_sem_release(&sem, 1);
  expect_calls(0, 0);
  assert_int_equal(a.name, 1);
  assert_result(volt_future_poll(&f, other), VOLT_OK);
}

static void the_grant_comes_before_the_move(void **state) {
  (void)state;
  wait_for(1);
  volt_sem_release(&sem, 1);
  assert_result(poll_with(&f, &b), VOLT_OK); /* not pending: b will not be called */
  expect_calls(1, 0);
}

static void the_close_comes_before_the_move(void **state) {
  (void)state;
  wait_for(1);
  volt_sem_close(&sem);
  assert_result(poll_with(&f, &b), VOLT_ECLOSED);
  assert_result(poll_with(&f, &a), VOLT_ECLOSED);
  expect_calls(1, 0);
}

/* ---- cancel ---- */

static void cancel_of_a_zero_future(void **state) {
  (void)state;
  volt_future init = VOLT_FUTURE_INIT;
  volt_future_cancel(&init);
  volt_future_cancel(&init);
  volt_future_cancel(&f);
  volt_future_cancel(&f);
}

static void poll_once(void *arg) {
  (void)volt_future_poll((volt_future *)arg, fake_waker_of(&a));
}

static void poll_of_a_zero_future_aborts(void **state) {
  (void)state;
  assert_death(poll_once, &f, "volt_future_poll", death_address(&f), "never given an operation");
  volt_future_cancel(&f);
  assert_death(poll_once, &f, "volt_future_poll", death_address(&f), "never given an operation");
}

static void cancel_before_the_first_poll(void **state) {
  (void)state;
  volt_sem_release(&sem, 1);
  volt_future_made(volt_sem_acquire_future(&f, &sem, 1));
  volt_future_cancel(&f);
  assert_result(poll_with(&f, &a), VOLT_ECANCELED);
  volt_future_cancel(&f);
  assert_result(poll_with(&f, &a), VOLT_ECANCELED);
  assert_result(volt_future_wait(&f), VOLT_ECANCELED);
  assert_int_equal(volt_sem_available(&sem), 1);
}

static void cancel_while_it_waits(void **state) {
  (void)state;
  wait_for(1);
  volt_future_cancel(&f);
  assert_int_equal(volt_sem_waiters(&sem), 0);
  volt_future_cancel(&f);
  assert_result(poll_with(&f, &a), VOLT_ECANCELED);
  volt_sem_release(&sem, 1);
  expect_calls(0, 0);
  assert_int_equal(volt_sem_available(&sem), 1);
  volt_future_cancel(&f);
  assert_int_equal(volt_sem_available(&sem), 1);
}

static void cancel_of_one_served_in_part(void **state) {
  (void)state;
  volt_future next;
  wait_for(3);
  volt_future_made(volt_sem_acquire_future(&next, &sem, 2));
  assert_result(poll_with(&next, &b), VOLT_PENDING);
  volt_sem_release(&sem, 2);
  volt_future_cancel(&f);
  expect_calls(0, 1); /* what it had gathered went to the next */
  assert_result(poll_with(&next, &b), VOLT_OK);
  assert_int_equal(volt_sem_available(&sem), 0);
}

static void cancel_of_an_unpolled_grant_gives_it_back(void **state) {
  (void)state;
  wait_for(2);
  volt_sem_release(&sem, 2);
  expect_calls(1, 0);
  volt_future_cancel(&f);
  assert_int_equal(volt_sem_available(&sem), 2);
  volt_future_cancel(&f); /* once */
  assert_int_equal(volt_sem_available(&sem), 2);
  assert_result(poll_with(&f, &a), VOLT_ECANCELED);
  expect_calls(1, 0);
}

static void cancel_of_an_unpolled_grant_serves_the_next(void **state) {
  (void)state;
  volt_future next;
  wait_for(1);
  volt_future_made(volt_sem_acquire_future(&next, &sem, 1));
  assert_result(poll_with(&next, &b), VOLT_PENDING);
  volt_sem_release(&sem, 1);
  expect_calls(1, 0);
  volt_future_cancel(&f);
  expect_calls(1, 1);
  assert_result(poll_with(&next, &b), VOLT_OK);
  assert_int_equal(volt_sem_available(&sem), 0);
}

static void cancel_of_a_polled_grant_keeps_it(void **state) {
  (void)state;
  wait_for(1);
  volt_sem_release(&sem, 1);
  assert_result(poll_with(&f, &a), VOLT_OK);
  volt_future_cancel(&f);
  volt_future_cancel(&f);
  assert_int_equal(volt_sem_available(&sem), 0); /* the caller's */
  assert_result(poll_with(&f, &a), VOLT_OK);

  volt_sem_release(&sem, 1);
  volt_future_made(volt_sem_acquire_future(&f, &sem, 1));
  assert_result(poll_with(&f, &a), VOLT_OK); /* at once, without queueing */
  volt_future_cancel(&f);
  assert_int_equal(volt_sem_available(&sem), 0);
}

static void cancel_of_a_closed_one_gives_nothing_back(void **state) {
  (void)state;
  wait_for(1);
  volt_sem_close(&sem);
  expect_calls(1, 0);
  volt_future_cancel(&f);
  assert_int_equal(volt_sem_available(&sem), 0);
  assert_result(poll_with(&f, &a), VOLT_ECANCELED);
  expect_calls(1, 0);
}

static void a_future_is_used_again(void **state) {
  (void)state;
  for (uint32_t i = 0; i < 100; i++) {
    wait_for(1);
    if (i % 2) volt_sem_release(&sem, 1);
    volt_future_cancel(&f);
    if (i % 2) assert_result(volt_sem_try_acquire(&sem, 1), VOLT_OK);
    assert_int_equal(volt_sem_waiters(&sem), 0);
    assert_int_equal(volt_sem_available(&sem), 0);
  }
  expect_calls(50, 0);
}

/* ---- every primitive ---- */

static void mutex_futures(void **state) {
  (void)state;
  volt_future next;
  assert_ptr_equal(volt_mutex_lock_future(&f, &mutex), &f);
  assert_false(volt_mutex_is_locked(&mutex));
  assert_result(poll_with(&f, &a), VOLT_OK);
  assert_true(volt_mutex_is_locked(&mutex));
  volt_future_made(volt_mutex_lock_future(&f, &mutex));
  volt_future_made(volt_mutex_lock_future(&next, &mutex));
  assert_result(poll_with(&f, &a), VOLT_PENDING);
  assert_result(poll_with(&next, &b), VOLT_PENDING);
  volt_mutex_unlock(&mutex);
  expect_calls(1, 0);
  volt_future_cancel(&f); /* dropped unpolled: unlocked again */
  expect_calls(1, 1);
  volt_future_cancel(&next);
  assert_false(volt_mutex_is_locked(&mutex));
  volt_mutex_destroy(&mutex);
}

static void rwlock_futures(void **state) {
  (void)state;
  volt_future reader;
  volt_future writer;
  assert_ptr_equal(volt_rwlock_read_future(&reader, &rw), &reader);
  assert_ptr_equal(volt_rwlock_write_future(&writer, &rw), &writer);
  assert_int_equal(volt_rwlock_readers(&rw), 0);
  assert_result(poll_with(&reader, &a), VOLT_OK);
  assert_result(poll_with(&writer, &b), VOLT_PENDING);
  volt_future_made(volt_rwlock_read_future(&f, &rw));
  assert_result(poll_with(&f, &a), VOLT_PENDING); /* behind the writer */
  volt_rwlock_read_unlock(&rw);
  expect_calls(0, 1);
  volt_future_cancel(&writer); /* granted, dropped unpolled: unlocked, to the reader */
  expect_calls(1, 1);
  assert_int_equal(volt_rwlock_readers(&rw), 1);
  volt_future_cancel(&f);
  assert_int_equal(volt_rwlock_readers(&rw), 0);
  volt_future_made(volt_rwlock_write_future(&writer, &rw));
  assert_result(poll_with(&writer, &b), VOLT_OK);
  assert_result(volt_rwlock_try_read(&rw), VOLT_EAGAIN);
  volt_future_cancel(&writer);
  assert_result(volt_rwlock_try_read(&rw), VOLT_EAGAIN); /* polled: ours to unlock */
  volt_rwlock_write_unlock(&rw);
  volt_rwlock_destroy(&rw);
}

/* One array, one poll, one cancel for all of them. */
static void a_mixture(void **state) {
  (void)state;
  volt_future all[4];
  assert_result(volt_mutex_try_lock(&mutex), VOLT_OK);
  assert_result(volt_rwlock_try_write(&rw), VOLT_OK);
  volt_future_made(volt_sem_acquire_future(&all[0], &sem, 1));
  volt_future_made(volt_mutex_lock_future(&all[1], &mutex));
  volt_future_made(volt_rwlock_read_future(&all[2], &rw));
  volt_future_made(volt_rwlock_write_future(&all[3], &rw));
  for (int i = 0; i < 4; i++) assert_result(poll_with(&all[i], &a), VOLT_PENDING);
  volt_mutex_unlock(&mutex);
  volt_rwlock_write_unlock(&rw);
  const int want[] = {VOLT_PENDING, VOLT_OK, VOLT_OK, VOLT_PENDING};
  for (int i = 0; i < 4; i++) assert_result(poll_with(&all[i], &a), want[i]);
  expect_calls(2, 0);
  for (int i = 0; i < 4; i++) volt_future_cancel(&all[i]);
  assert_true(volt_mutex_is_locked(&mutex));
  assert_int_equal(volt_rwlock_readers(&rw), 1);
  assert_int_equal(volt_sem_waiters(&sem), 0);
  volt_mutex_unlock(&mutex);
  volt_rwlock_read_unlock(&rw);
}

/* ---- block_on ---- */

static void block_on_takes_at_once(void **state) {
  (void)state;
  volt_sem_release(&sem, 2);
  volt_future_made(volt_sem_acquire_future(&f, &sem, 1));
  assert_result(volt_future_wait_until(&f, PAST_DEADLINE), VOLT_OK);
  volt_future_made(volt_sem_acquire_future(&f, &sem, 1));
  assert_result(volt_future_wait(&f), VOLT_OK);
  assert_int_equal(volt_sem_available(&sem), 0);
}

static void block_on_times_out(void **state) {
  (void)state;
  const uint64_t deadlines[] = {0, PAST_DEADLINE, volt_deadline_ns(100000)};
  for (size_t i = 0; i < sizeof deadlines / sizeof deadlines[0]; i++) {
    volt_sem_release(&sem, 1);
    volt_future_made(volt_sem_acquire_future(&f, &sem, 2));
    assert_result(volt_future_wait_until(&f, deadlines[i]), VOLT_ETIMEDOUT);
    assert_true(volt_now_ns() >= deadlines[i]);
    assert_int_equal(volt_sem_waiters(&sem), 0);
    assert_int_equal(volt_sem_available(&sem), 1); /* what was set aside is back */
    volt_sem_release(&sem, 1);
    assert_result(volt_future_wait(&f), VOLT_ETIMEDOUT); /* it stands */
    assert_result(poll_with(&f, &a), VOLT_ETIMEDOUT);
    volt_future_cancel(&f);
    assert_result(poll_with(&f, &a), VOLT_ETIMEDOUT);
    assert_result(volt_sem_try_acquire(&sem, 2), VOLT_OK);
  }
  expect_calls(0, 0);
}

static void block_on_takes_over_from_a_task(void **state) {
  (void)state;
  wait_for(1);
  assert_result(volt_future_wait_until(&f, PAST_DEADLINE), VOLT_ETIMEDOUT);
  wait_for(1);
  volt_sem_release(&sem, 1);
  assert_result(volt_future_wait_until(&f, PAST_DEADLINE), VOLT_OK);
  wait_for(1);
  volt_sem_close(&sem);
  assert_result(volt_future_wait(&f), VOLT_ECLOSED);
}

static void block_and_count(void *arg, uint32_t index) {
  (void)index;
  *(int *)arg = volt_future_wait(&f);
}

static void block_on_is_granted_by_another_thread(void **state) {
  (void)state;
  int result = VOLT_PENDING;
  thread_team t;
  volt_future_made(volt_mutex_lock_future(&f, &mutex));
  assert_result(volt_mutex_try_lock(&mutex), VOLT_OK);
  thread_team_start(&t, 1, block_and_count, &result);
  WAIT_UNTIL(volt_mutex_waiters(&mutex) == 1);
  volt_mutex_unlock(&mutex);
  thread_team_join(&t);
  assert_result(result, VOLT_OK);
  assert_true(volt_mutex_is_locked(&mutex));

  volt_future_made(volt_sem_acquire_future(&f, &sem, 2));
  thread_team_start(&t, 1, block_and_count, &result);
  WAIT_UNTIL(volt_sem_waiters(&sem) == 1);
  volt_sem_close(&sem);
  thread_team_join(&t);
  assert_result(result, VOLT_ECLOSED);
}

static void errno_is_never_set(void **state) {
  (void)state;
  errno = 4711;
  wait_for(1);
  (void)poll_with(&f, &b);
  assert_result(volt_future_wait_until(&f, volt_deadline_ns(100000)), VOLT_ETIMEDOUT);
  volt_future_cancel(&f);
  assert_int_equal(errno, 4711);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(nothing_happens_before_the_first_poll, set_up),
      cmocka_unit_test_setup(a_result_stands, set_up),
      cmocka_unit_test_setup(polls_that_nobody_was_woken_for, set_up),
      cmocka_unit_test_setup(the_place_in_the_queue_is_kept, set_up),
      cmocka_unit_test_setup(a_future_moves_to_another_task, set_up),
      cmocka_unit_test_setup(either_half_makes_another_waker, set_up),
      cmocka_unit_test_setup(the_grant_comes_before_the_move, set_up),
      cmocka_unit_test_setup(the_close_comes_before_the_move, set_up),
      cmocka_unit_test_setup(cancel_of_a_zero_future, set_up),
      cmocka_unit_test_setup(poll_of_a_zero_future_aborts, set_up),
      cmocka_unit_test_setup(cancel_before_the_first_poll, set_up),
      cmocka_unit_test_setup(cancel_while_it_waits, set_up),
      cmocka_unit_test_setup(cancel_of_one_served_in_part, set_up),
      cmocka_unit_test_setup(cancel_of_an_unpolled_grant_gives_it_back, set_up),
      cmocka_unit_test_setup(cancel_of_an_unpolled_grant_serves_the_next, set_up),
      cmocka_unit_test_setup(cancel_of_a_polled_grant_keeps_it, set_up),
      cmocka_unit_test_setup(cancel_of_a_closed_one_gives_nothing_back, set_up),
      cmocka_unit_test_setup(a_future_is_used_again, set_up),
      cmocka_unit_test_setup(mutex_futures, set_up),
      cmocka_unit_test_setup(rwlock_futures, set_up),
      cmocka_unit_test_setup(a_mixture, set_up),
      cmocka_unit_test_setup(block_on_takes_at_once, set_up),
      cmocka_unit_test_setup(block_on_times_out, set_up),
      cmocka_unit_test_setup(block_on_takes_over_from_a_task, set_up),
      cmocka_unit_test_setup(block_on_is_granted_by_another_thread, set_up),
      cmocka_unit_test_setup(errno_is_never_set, set_up),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
