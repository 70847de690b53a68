/* semaphore_bounded_test.c: more is released than there is, and a limit says so. Polled by hand. */
#include "death.h"
#include "rng.h"
#include "semaphore_crowd.h"

static void begin_bounded(uint32_t permits) {
  begin(permits);
  volt_sem_init_bounded(&sem, permits);
}

/* ---- what is released and was held ---- */

static void it_is_a_semaphore(void **state) {
  (void)state;
  static volt_sem two = VOLT_SEM_INIT_BOUNDED(2);
  assert_result(volt_sem_try_acquire(&two, 2), VOLT_OK);
  assert_result(volt_sem_try_acquire(&two, 1), VOLT_EAGAIN);
  volt_sem_release(&two, 1);
  volt_sem_release(&two, 0);
  volt_sem_release(&two, 1);
  assert_int_equal(volt_sem_limit(&two), 2);
  assert_int_equal(volt_sem_available(&two), 2);
  assert_int_equal(volt_sem_debt(&two), 0);
  volt_sem_close(&two);
  assert_int_equal(volt_sem_drain(&two), 2);
  volt_sem_release(&two, 2);
  assert_result(volt_sem_try_acquire(&two, 1), VOLT_ECLOSED);
  volt_sem_destroy(&two);
  begin_bounded(VOLT_SEM_MAX);
  take(VOLT_SEM_MAX);
  volt_sem_release(&sem, VOLT_SEM_MAX);
  expect_sem(VOLT_SEM_MAX, VOLT_SEM_MAX, 0);
}

static void what_is_held_goes_to_the_waiters(void **state) {
  (void)state;
  begin_bounded(WAITERS);
  take(WAITERS);
  for (uint32_t i = 0; i < WAITERS; i++) assert_result(ask(i, 1), VOLT_PENDING);
  volt_sem_release(&sem, WAITERS); /* more than a batch */
  assert_true(wake_log_is_run(&wakes, 0, WAITERS));
  volt_sem_release(&sem, WAITERS);
  expect_sem(WAITERS, WAITERS, 0);
}

static void debt_is_held(void **state) {
  (void)state;
  begin_bounded(5);
  take(5);
  volt_sem_set_limit(&sem, 1);
  assert_result(ask(0, 1), VOLT_PENDING);
  volt_sem_release(&sem, 3);
  expect_sem(1, 0, 1);
  assert_true(volt_sem_cancel(&sem, &waiters[0]));
  volt_sem_release(&sem, 2);
  expect_sem(1, 1, 0);
}

/* ---- more than that ---- */

static void release(void *arg) {
  volt_sem_release(&sem, *(uint32_t *)arg);
}

/* So many are held: no more than that can be released. */
static void expect_held(uint32_t held) {
  uint32_t more = held + 1;
  assert_death(release, &more, "volt_sem", "more than is held", "given back", death_address(&sem));
}

static void beyond_the_limit(void **state) {
  (void)state;
  begin_bounded(2);
  expect_held(0);
  take(1);
  expect_held(1);
  uint32_t two = 2;
  assert_death(release, &two, "2 given back, 1 there, limit 2");
  begin_bounded(0);
  expect_held(0);
  begin_bounded(VOLT_SEM_MAX);
  uint32_t one = 1;
  assert_death(release, &one, "release past VOLT_SEM_MAX"); /* of any semaphore */
}

static void beyond_a_limit_that_has_changed(void **state) {
  (void)state;
  begin_bounded(3);
  take(2);
  volt_sem_set_limit(&sem, 1); /* a debt of 1 */
  expect_held(2);
  volt_sem_release(&sem, 1);
  expect_held(1);
  volt_sem_set_limit(&sem, 4);
  expect_held(1);
  volt_sem_forget(&sem, 1);
  expect_held(0);
  take(2);
  volt_sem_forget(&sem, 1);
  expect_held(1);
  assert_int_equal(volt_sem_forget_up_to(&sem, 1), 1);
  expect_held(1);
  assert_int_equal(volt_sem_limit(&sem), 1);
}

static void beyond_the_limit_while_others_wait(void **state) {
  (void)state;
  begin_bounded(3);
  take(2);
  assert_result(ask(0, 3), VOLT_PENDING);
  expect_held(2); /* one is set aside */
  volt_sem_set_limit(&sem, 1);
  expect_held(2);
  assert_true(volt_sem_cancel(&sem, &waiters[0]));
  expect_held(2); /* and still bounded, after the queue */
  volt_sem_close(&sem);
  expect_held(2);
}

static void forget(void *arg) {
  volt_sem_forget(&sem, *(uint32_t *)arg);
}

static void forgotten_too_many(void **state) {
  (void)state;
  uint32_t two = 2;
  uint32_t three = 3;
  begin_bounded(2);
  take(1);
  assert_death(forget, &two, "more than is held", "2 given back, 1 there, limit 2");
  take(1);
  volt_sem_set_limit(&sem, 1);
  assert_death(forget, &three, "3 given back, -1 there, limit 1"); /* in debt */
  assert_result(ask(0, 1), VOLT_PENDING);
  assert_death(forget, &three, "3 given back, -1 there, limit 1");
  volt_sem_forget(&sem, 2);
  assert_true(volt_sem_cancel(&sem, &waiters[0]));
  expect_sem(0, 0, 0);
}

/* A future that is dropped gives back what it was granted: once. */
static void a_dropped_future(void **state) {
  (void)state;
  volt_future f;
  begin_bounded(1);
  take(1);
  volt_sem_acquire_future(&f, &sem, 1);
  assert_result(volt_future_poll(&f, fake_waker_of(&wakers[0])), VOLT_PENDING);
  volt_sem_release(&sem, 1);
  volt_future_cancel(&f);
  expect_sem(1, 1, 0);
  expect_held(0);
}

/* ---- random operations, and a count of what is held ---- */

enum { STEPS = 3000, SEEDS = 10, MOST = 6 };

static uint32_t held_alone; /* not by a waiter */

/* What waiter i was granted is released like the rest. */
static void collect(void) {
  for (uint32_t i = 0; i < MOST; i++) {
    if (volt_waiter_result(&waiters[i]) != VOLT_OK) continue;
    held_alone += waiters[i].want;
    memset(&waiters[i], 0, sizeof waiters[i]);
  }
}

static void step(rng *r) {
  uint32_t n = rng_below(r, MOST + 1);
  uint32_t i = rng_below(r, MOST);
  uint32_t some = n < held_alone ? n : held_alone;
  wake_log_init(&wakes);
  switch (rng_below(r, 8)) {
    case 0: volt_sem_set_limit(&sem, n); break;
    case 1:
      held_alone -= some;
      volt_sem_forget(&sem, some);
      break;
    case 2: held_alone += volt_sem_drain(&sem); break;
    case 3: (void)volt_sem_forget_up_to(&sem, n); break;
    case 4:
      if (volt_waiter_result(&waiters[i]) == VOLT_PENDING) {
        assert_true(volt_sem_cancel(&sem, &waiters[i]));
      } else if (ask(i, n) == VOLT_OK) {
        held_alone += n;
      }
      break;
    case 5:
      if (volt_waiter_result(&waiters[i]) != VOLT_PENDING && ask_all(i) == VOLT_OK) {
        held_alone += volt_sem_taken(&waiters[i]);
      }
      break;
    default: held_alone -= some; volt_sem_release(&sem, some);
  }
  collect();
}

static void what_is_held_can_be_released(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= SEEDS; seed++) {
    rng r = rng_seeded(seed);
    begin_bounded(MOST / 2);
    held_alone = 0;
    for (uint32_t i = 0; i < STEPS; i++) {
      step(&r);
      if (i % (STEPS / 10) == 0) expect_held(held_alone);
    }
    for (uint32_t i = 0; i < MOST; i++) {
      if (volt_waiter_result(&waiters[i]) != VOLT_PENDING) continue;
      assert_true(volt_sem_cancel(&sem, &waiters[i]));
      collect();
    }
    volt_sem_release(&sem, held_alone);
    expect_sem(volt_sem_limit(&sem), volt_sem_limit(&sem), 0);
    expect_held(0);
  }
}

static void init_too_many(void *arg) {
  (void)arg;
  volt_sem_init_bounded(&sem, VOLT_SEM_MAX + 1);
}

static void misuse_aborts(void **state) {
  (void)state;
  assert_death(init_too_many, NULL, "volt_sem_init", "2147483648 permits");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(it_is_a_semaphore),
      cmocka_unit_test(what_is_held_goes_to_the_waiters),
      cmocka_unit_test(debt_is_held),
      cmocka_unit_test(beyond_the_limit),
      cmocka_unit_test(beyond_a_limit_that_has_changed),
      cmocka_unit_test(beyond_the_limit_while_others_wait),
      cmocka_unit_test(forgotten_too_many),
      cmocka_unit_test(a_dropped_future),
      cmocka_unit_test(what_is_held_can_be_released),
      cmocka_unit_test(misuse_aborts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
