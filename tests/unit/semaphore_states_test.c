/* semaphore_states_test.c: what changes the limit, or asks for everything, in every state that a
 * semaphore can be in: nothing is lost. Polled by hand. */
#include "semaphore_crowd.h"

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
        uint32_t debt = held_in(which) > 4 ? 2 : 0;
        assert_int_equal(volt_sem_limit(&sem), n > debt ? 4 + debt - n : 4);
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
      assert_int_equal(volt_sem_debt(&sem), held_in(which) > 4 ? 2 : 0);
      expect(0, !waits_in(which) ? VOLT_ECANCELED : closed ? VOLT_ECLOSED : VOLT_PENDING);
      leave(held_in(which), closed);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_operation_in_every_state),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
