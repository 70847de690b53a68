/* semaphore_all_test.c: requests for all permits of a limit that changes; and what changes the
 * limit, in every state. Polled by hand. */
#include "semaphore_crowd.h"

static void all_at_once(void **state) {
  (void)state;
  begin(3);
  assert_result(ask_all(0), VOLT_OK);
  assert_int_equal(volt_sem_taken(&waiters[0]), 3);
  expect(0, VOLT_ECANCELED); /* it was not queued */
  expect_sem(3, 0, 0);
  volt_sem_release(&sem, 4);
  assert_result(ask_all(0), VOLT_OK); /* one is there beside the limit */
  assert_int_equal(volt_sem_taken(&waiters[0]), 3);
  expect_sem(3, 1, 0);
}

static void all_in_the_order_of_arrival(void **state) {
  (void)state;
  begin(3);
  take(2);
  assert_result(ask_all(0), VOLT_PENDING);
  assert_result(ask(1, 1), VOLT_PENDING);
  assert_result(ask_all(2), VOLT_PENDING);
  assert_result(volt_sem_try_acquire(&sem, 1), VOLT_EAGAIN);
  volt_sem_release(&sem, 1);
  expect(0, VOLT_PENDING);
  volt_sem_release(&sem, 1);
  expect(0, VOLT_OK);
  assert_int_equal(volt_sem_taken(&waiters[0]), 3);
  expect(1, VOLT_PENDING);
  volt_sem_release(&sem, 3);
  expect(1, VOLT_OK);
  expect(2, VOLT_PENDING);
  volt_sem_release(&sem, 1);
  expect(2, VOLT_OK);
  volt_sem_release(&sem, 3);
  expect_sem(3, 3, 0);
}

static void all_of_a_limit_that_grows(void **state) {
  (void)state;
  begin(2);
  take(1);
  assert_result(ask_all(0), VOLT_PENDING);
  volt_sem_set_limit(&sem, 4);
  expect(0, VOLT_PENDING);
  volt_sem_release(&sem, 1);
  expect(0, VOLT_OK);
  assert_int_equal(volt_sem_taken(&waiters[0]), 4);
  volt_sem_set_limit(&sem, 5); /* afterwards: somebody else's */
  expect_sem(5, 1, 0);
  volt_sem_release(&sem, 4);
  expect_sem(5, 5, 0);
}

static void all_of_a_limit_that_shrinks(void **state) {
  (void)state;
  begin(5);
  take(2);
  assert_result(ask_all(0), VOLT_PENDING); /* has three */
  volt_sem_set_limit(&sem, 2);
  expect(0, VOLT_PENDING);
  volt_sem_release(&sem, 1);
  expect(0, VOLT_PENDING); /* one is held */
  volt_sem_release(&sem, 1);
  expect(0, VOLT_OK);
  assert_int_equal(volt_sem_taken(&waiters[0]), 2);
  expect_sem(2, 0, 0);
  volt_sem_set_limit(&sem, 1);
  expect_sem(1, 0, 1);
  volt_sem_release(&sem, 2);
  expect_sem(1, 1, 0);
}

static void all_of_none(void **state) {
  (void)state;
  begin(0);
  assert_result(ask_all(0), VOLT_OK);
  assert_int_equal(volt_sem_taken(&waiters[0]), 0);
  volt_sem_set_limit(&sem, 2);
  take(2);
  volt_sem_set_limit(&sem, 0);
  assert_result(ask_all(0), VOLT_PENDING);
  assert_result(ask_all(1), VOLT_PENDING);
  assert_result(ask(2, 1), VOLT_PENDING);
  volt_sem_release(&sem, 1);
  expect(0, VOLT_PENDING);
  volt_sem_release(&sem, 1);
  expect(0, VOLT_OK);
  expect(1, VOLT_OK);
  expect(2, VOLT_PENDING);
  assert_int_equal(volt_sem_taken(&waiters[1]), 0);
  assert_true(volt_sem_cancel(&sem, &waiters[2]));
  expect_sem(0, 0, 0);
}

/* The one before it gets the last that there is: nothing is left to wait for. */
static void all_of_none_behind_one(void **state) {
  (void)state;
  begin(0);
  assert_result(ask(0, 1), VOLT_PENDING);
  assert_result(ask_all(1), VOLT_PENDING);
  assert_result(ask(2, 1), VOLT_PENDING);
  volt_sem_release(&sem, 1); /* beside the limit */
  expect(0, VOLT_OK);
  expect(1, VOLT_OK);
  assert_int_equal(volt_sem_taken(&waiters[1]), 0);
  expect(2, VOLT_PENDING);
  assert_true(volt_sem_cancel(&sem, &waiters[2]));
}

static void all_of_none_behind_several(void **state) {
  (void)state;
  begin(0);
  assert_result(ask(0, 1), VOLT_PENDING);
  assert_result(ask(1, 2), VOLT_PENDING);
  assert_result(ask_all(2), VOLT_PENDING);
  volt_sem_release(&sem, 2);
  expect(1, VOLT_PENDING); /* it lacks one */
  expect(2, VOLT_PENDING);
  volt_sem_release(&sem, 1);
  expect(1, VOLT_OK);
  expect(2, VOLT_OK);
  expect_sem(0, 0, 0);
}

/* Repaying comes first, and a batch is full when it is their turn. */
static void all_of_none_behind_a_batch(void **state) {
  (void)state;
  begin(1);
  take(1);
  volt_sem_set_limit(&sem, 0);
  for (uint32_t i = 0; i < 32; i++) assert_result(ask(i, 1), VOLT_PENDING);
  assert_result(ask_all(32), VOLT_PENDING);
  assert_result(ask_all(33), VOLT_PENDING);
  volt_sem_release(&sem, 33);
  for (uint32_t i = 0; i < 34; i++) expect(i, VOLT_OK);
  expect_sem(0, 0, 0);
}

/* The others' permits disappear: what is left is all. */
static void all_when_the_rest_is_forgotten(void **state) {
  (void)state;
  begin(3);
  take(2);
  assert_result(ask_all(0), VOLT_PENDING);
  volt_sem_forget(&sem, 2);
  expect(0, VOLT_OK);
  assert_int_equal(volt_sem_taken(&waiters[0]), 1);
  expect_sem(1, 0, 0);
}

/* What is forgotten repays all that they waited for: there is none. */
static void all_of_none_when_the_debt_is_forgotten(void **state) {
  (void)state;
  begin(2);
  take(2);
  assert_result(ask_all(0), VOLT_PENDING);
  volt_sem_set_limit(&sem, 0);
  volt_sem_forget(&sem, 1);
  expect(0, VOLT_PENDING);
  volt_sem_forget(&sem, 1);
  expect(0, VOLT_OK);
  assert_int_equal(volt_sem_taken(&waiters[0]), 0);
  expect_sem(0, 0, 0);
}

static void all_given_up(void **state) {
  (void)state;
  begin(3);
  take(1);
  assert_result(ask_all(0), VOLT_PENDING);
  assert_result(ask(1, 1), VOLT_PENDING);
  assert_true(volt_sem_cancel(&sem, &waiters[0]));
  expect(1, VOLT_OK); /* of what it had gathered */
  expect_sem(3, 1, 0);
  uint32_t taken = 77;
  assert_result(volt_sem_acquire_all_until(&sem, &taken, PAST_DEADLINE), VOLT_ETIMEDOUT);
  assert_int_equal(taken, 0);
  volt_sem_release(&sem, 2);
  assert_result(volt_sem_acquire_all(&sem, &taken), VOLT_OK);
  assert_int_equal(taken, 3);
}

/* The memory of one that wanted all wants two, then. */
static void a_waiter_is_used_for_both(void **state) {
  (void)state;
  begin(1);
  assert_result(ask_all(0), VOLT_OK);
  assert_result(ask_all(0), VOLT_PENDING);
  volt_sem_release(&sem, 1);
  assert_result(volt_waiter_result(&waiters[0]), VOLT_OK);
  assert_result(ask(0, 2), VOLT_PENDING);
  volt_sem_release(&sem, 1);
  assert_result(volt_waiter_result(&waiters[0]), VOLT_PENDING);
  volt_sem_release(&sem, 1);
  assert_result(volt_waiter_result(&waiters[0]), VOLT_OK);
}

static void as_a_future(void **state) {
  (void)state;
  volt_future f;
  begin(3);
  take(1);
  volt_future_made(volt_sem_acquire_all_future(&f, &sem));
  assert_result(volt_future_poll(&f, fake_waker_of(&wakers[0])), VOLT_PENDING);
  volt_future_cancel(&f);
  expect_sem(3, 2, 0);
  volt_future_made(volt_sem_acquire_all_future(&f, &sem));
  assert_result(volt_future_poll(&f, fake_waker_of(&wakers[0])), VOLT_PENDING);
  volt_sem_set_limit(&sem, 2);
  volt_sem_release(&sem, 1);
  assert_int_equal(fake_waker_calls(&wakers[0]), 1);
  volt_future_cancel(&f); /* granted, and not seen: given back */
  expect_sem(2, 2, 0);
  volt_future_made(volt_sem_acquire_all_future(&f, &sem));
  assert_result(volt_future_poll(&f, fake_waker_of(&wakers[0])), VOLT_OK);
  assert_int_equal(volt_sem_future_taken(&f), 2);
}

/* ==== every state ====
 *
 * What changes the limit, or asks for everything, loses nothing in any state that a semaphore can
 * be in. */

enum { EMPTY, SOME, DEBT, ONE_WAITS, ALL_WAITS, WAITS_IN_DEBT, STATES };

/* Four permits: what the pool has, what is held, what is owed, and whom it has queued. */
static void enter(int which, bool closed) {
  begin(4);
  switch (which) {
    case EMPTY: take(4); break;
    case SOME: take(2); break;
    case DEBT:
      volt_sem_set_limit(&sem, 6);
      take(6);
      volt_sem_set_limit(&sem, 4);
      break;
    case ONE_WAITS:
      take(3);
      assert_result(ask(0, 3), VOLT_PENDING);
      break;
    case ALL_WAITS:
      take(3);
      assert_result(ask_all(0), VOLT_PENDING);
      break;
    default:
      volt_sem_set_limit(&sem, 6);
      take(6);
      volt_sem_set_limit(&sem, 4);
      assert_result(ask(0, 1), VOLT_PENDING);
  }
  if (closed) volt_sem_close(&sem);
}

static uint32_t held_in(int which) {
  static const uint32_t held[STATES] = {4, 2, 6, 3, 3, 6};
  return held[which];
}

static bool waits_in(int which) {
  return which == ONE_WAITS || which == ALL_WAITS || which == WAITS_IN_DEBT;
}

/* What must be so, whatever was done: nothing is lost, also when all that is held comes back. */
static void leave(uint32_t held, bool closed) {
  if (volt_waiter_result(&waiters[0]) == VOLT_PENDING) {
    assert_true(volt_sem_cancel(&sem, &waiters[0]));
  }
  volt_sem_release(&sem, held);
  expect_sem(volt_sem_limit(&sem), volt_sem_limit(&sem), 0);
  assert_true(volt_sem_is_closed(&sem) == closed);
  volt_sem_destroy(&sem);
}

/* What waiter 0 holds by now. */
static uint32_t granted(void) {
  return fake_waker_calls(&wakers[0]) && volt_waiter_result(&waiters[0]) == VOLT_OK
             ? volt_sem_taken(&waiters[0])
             : 0;
}

static void every_operation_in_every_state(void **state) {
  (void)state;
  static const uint32_t limits[] = {0, 1, 3, 4, 5, 9, 1000};
  for (int which = 0; which < STATES; which++) {
    for (int closed = 0; closed < 2; closed++) {
      for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        enter(which, closed);
        volt_sem_set_limit(&sem, limits[i]);
        assert_int_equal(volt_sem_limit(&sem), limits[i]);
        leave(held_in(which) + granted(), closed);
      }
      for (uint32_t n = 0; n <= held_in(which); n++) {
        enter(which, closed);
        volt_sem_forget(&sem, n);
        uint32_t excess = held_in(which) > 4 ? 2 : 0;
        assert_int_equal(volt_sem_limit(&sem), n > excess ? 4 + excess - n : 4);
        leave(held_in(which) - n + granted(), closed);
        enter(which, closed);
        volt_sem_release(&sem, n);
        leave(held_in(which) - n + granted(), closed);
      }
      enter(which, closed);
      bool blocked = waits_in(which) && !closed;
      uint32_t there = blocked || held_in(which) > 4 ? 0 : 4 - held_in(which);
      assert_int_equal(volt_sem_available(&sem), there);
      assert_int_equal(volt_sem_drain(&sem), there);
      leave(held_in(which) + there, closed);
      enter(which, closed);
      assert_result(ask_all(1), closed ? VOLT_ECLOSED : VOLT_PENDING);
      if (!closed) assert_true(volt_sem_cancel(&sem, &waiters[1]));
      leave(held_in(which), closed);
      enter(which, closed);
      assert_int_equal(volt_sem_excess(&sem), held_in(which) > 4 ? 2 : 0);
      expect(0, !waits_in(which) ? VOLT_ECANCELED : closed ? VOLT_ECLOSED : VOLT_PENDING);
      leave(held_in(which), closed);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_at_once),
      cmocka_unit_test(all_in_the_order_of_arrival),
      cmocka_unit_test(all_of_a_limit_that_grows),
      cmocka_unit_test(all_of_a_limit_that_shrinks),
      cmocka_unit_test(all_of_none),
      cmocka_unit_test(all_of_none_behind_one),
      cmocka_unit_test(all_of_none_behind_several),
      cmocka_unit_test(all_of_none_behind_a_batch),
      cmocka_unit_test(all_when_the_rest_is_forgotten),
      cmocka_unit_test(all_of_none_when_the_debt_is_forgotten),
      cmocka_unit_test(all_given_up),
      cmocka_unit_test(a_waiter_is_used_for_both),
      cmocka_unit_test(as_a_future),
      cmocka_unit_test(every_operation_in_every_state),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
