/* semaphore_limit_test.c: a limit that changes, and excess; and a limit that says how much may be
 * released. Polled by hand. */
#include "death.h"
#include "rng.h"
#include "semaphore_crowd.h"

/* ---- the limit ---- */

static void it_begins_with_what_there_is(void **state) {
  (void)state;
  static volt_sem zero;
  volt_sem three = VOLT_SEM_INIT(3);
  assert_int_equal(volt_sem_limit(&zero), 0);
  assert_int_equal(volt_sem_limit(&three), 3);
  begin(VOLT_SEM_MAX);
  expect_sem(VOLT_SEM_MAX, VOLT_SEM_MAX, 0);
  volt_sem_destroy(&three);
}

static void growing_releases(void **state) {
  (void)state;
  begin(1);
  volt_sem_set_limit(&sem, 4);
  expect_sem(4, 4, 0);
  take(4);
  assert_result(ask(0, 1), VOLT_PENDING);
  assert_result(ask(1, 2), VOLT_PENDING);
  volt_sem_set_limit(&sem, 6);
  expect(0, VOLT_OK);
  expect(1, VOLT_PENDING); /* it has one of two */
  volt_sem_set_limit(&sem, 7);
  expect(1, VOLT_OK);
  expect_sem(7, 0, 0);
  volt_sem_release(&sem, 7);
  expect_sem(7, 7, 0);
}

static void growing_serves_more_than_a_batch(void **state) {
  (void)state;
  begin(0);
  for (uint32_t i = 0; i < WAITERS; i++) assert_result(ask(i, 1), VOLT_PENDING);
  volt_sem_set_limit(&sem, WAITERS + 2);
  assert_true(wake_log_is_run(&wakes, 0, WAITERS));
  expect_sem(WAITERS + 2, 2, 0);
}

static void shrinking_takes_from_the_pool(void **state) {
  (void)state;
  begin(5);
  volt_sem_set_limit(&sem, 2);
  expect_sem(2, 2, 0);
  volt_sem_set_limit(&sem, 2);
  expect_sem(2, 2, 0);
  volt_sem_set_limit(&sem, 0);
  expect_sem(0, 0, 0);
}

static void shrinking_makes_debt(void **state) {
  (void)state;
  begin(5);
  take(4);
  volt_sem_set_limit(&sem, 2);
  expect_sem(2, 0, 2);
  assert_result(volt_sem_try_acquire(&sem, 1), VOLT_EAGAIN);
  assert_result(volt_sem_try_acquire(&sem, 0), VOLT_OK);
  volt_sem_release(&sem, 1);
  expect_sem(2, 0, 1);
  assert_result(volt_sem_try_acquire(&sem, 1), VOLT_EAGAIN);
  volt_sem_release(&sem, 1);
  expect_sem(2, 0, 0);
  volt_sem_release(&sem, 2);
  expect_sem(2, 2, 0);
}

static void debt_before_waiters(void **state) {
  (void)state;
  begin(4);
  take(4);
  volt_sem_set_limit(&sem, 1);
  assert_result(ask(0, 1), VOLT_PENDING); /* who queues takes the excess along */
  expect_sem(1, 0, 3);
  volt_sem_release(&sem, 2);
  expect(0, VOLT_PENDING);
  expect_sem(1, 0, 1);
  volt_sem_release(&sem, 1);
  expect(0, VOLT_PENDING);
  volt_sem_release(&sem, 1);
  expect(0, VOLT_OK);
  volt_sem_release(&sem, 1);
  expect_sem(1, 1, 0);
}

static void debt_made_while_somebody_waits(void **state) {
  (void)state;
  begin(4);
  take(3);
  assert_result(ask(0, 2), VOLT_PENDING); /* has one */
  assert_result(ask(1, 1), VOLT_PENDING);
  volt_sem_set_limit(&sem, 2);
  expect_sem(2, 0, 2);
  volt_sem_set_limit(&sem, 3);
  expect_sem(3, 0, 1);
  assert_true(volt_sem_cancel(&sem, &waiters[0])); /* what was set aside repays it */
  expect_sem(3, 0, 0);
  expect(1, VOLT_PENDING);
  assert_true(volt_sem_cancel(&sem, &waiters[1]));
  expect_sem(3, 0, 0);
  volt_sem_release(&sem, 3);
  expect_sem(3, 3, 0);
}

static void debt_when_the_last_waiter_leaves(void **state) {
  (void)state;
  begin(2);
  take(2);
  assert_result(ask(0, 1), VOLT_PENDING);
  volt_sem_set_limit(&sem, 0);
  expect_sem(0, 0, 2);
  assert_true(volt_sem_cancel(&sem, &waiters[0]));
  expect_sem(0, 0, 2); /* now it is in the word */
  volt_sem_set_limit(&sem, 3);
  expect_sem(3, 1, 0);
}

static void from_most_to_none_and_back(void **state) {
  (void)state;
  begin(VOLT_SEM_MAX);
  take(VOLT_SEM_MAX);
  volt_sem_set_limit(&sem, 0);
  expect_sem(0, 0, VOLT_SEM_MAX);
  volt_sem_set_limit(&sem, VOLT_SEM_MAX);
  expect_sem(VOLT_SEM_MAX, 0, 0);
  volt_sem_set_limit(&sem, 0);
  volt_sem_release(&sem, VOLT_SEM_MAX);
  expect_sem(0, 0, 0);
}

static void a_request_beyond_the_limit_waits_for_more(void **state) {
  (void)state;
  begin(2);
  assert_result(ask(0, 3), VOLT_PENDING);
  volt_sem_set_limit(&sem, 3);
  expect(0, VOLT_OK);
}

/* ---- forget, drain ---- */

static void forgetting(void **state) {
  (void)state;
  begin(5);
  take(4);
  volt_sem_forget(&sem, 0);
  volt_sem_forget(&sem, 3);
  expect_sem(2, 1, 0);
  volt_sem_release(&sem, 1);
  expect_sem(2, 2, 0);
}

static void forgetting_repays_first(void **state) {
  (void)state;
  begin(4);
  take(3);
  volt_sem_set_limit(&sem, 1);
  expect_sem(1, 0, 2);
  volt_sem_forget(&sem, 1);
  expect_sem(1, 0, 1);
  volt_sem_forget(&sem, 2); /* one repays */
  expect_sem(0, 0, 0);
  volt_sem_set_limit(&sem, 2);
  expect_sem(2, 2, 0);
  take(2);
  volt_sem_set_limit(&sem, 0);
  assert_result(ask(0, 1), VOLT_PENDING);
  volt_sem_forget(&sem, 2); /* the excess is in the queue; nobody gets any of it */
  expect_sem(0, 0, 0);
  expect(0, VOLT_PENDING);
  volt_sem_set_limit(&sem, 1);
  expect(0, VOLT_OK);
}

/* Permits beside the limit do not count in it. */
static void forgetting_more_than_the_limit(void **state) {
  (void)state;
  begin(0);
  volt_sem_release(&sem, 5);
  take(1);
  volt_sem_forget(&sem, 1);
  expect_sem(0, 4, 0);
  volt_sem_set_limit(&sem, 2);
  expect_sem(2, 6, 0);
  take(5);
  volt_sem_forget(&sem, 3);
  expect_sem(0, 1, 0);
  volt_sem_release(&sem, 2);
  expect_sem(0, 3, 0);
}

static void draining(void **state) {
  (void)state;
  begin(5);
  take(2);
  assert_int_equal(volt_sem_drain(&sem), 3);
  assert_int_equal(volt_sem_drain(&sem), 0);
  expect_sem(5, 0, 0);
  volt_sem_set_limit(&sem, 4);
  assert_int_equal(volt_sem_drain(&sem), 0); /* in excess */
  volt_sem_release(&sem, 5);
  expect_sem(4, 4, 0);
  take(3);
  assert_result(ask(0, 2), VOLT_PENDING);
  assert_int_equal(volt_sem_drain(&sem), 0); /* somebody waits */
  assert_true(volt_sem_cancel(&sem, &waiters[0]));
  assert_int_equal(volt_sem_drain(&sem), 1);
}

static void forgetting_what_there_is(void **state) {
  (void)state;
  begin(5);
  take(2);
  assert_int_equal(volt_sem_forget_up_to(&sem, 0), 0);
  assert_int_equal(volt_sem_forget_up_to(&sem, 1), 1);
  expect_sem(4, 2, 0);
  assert_int_equal(volt_sem_forget_up_to(&sem, 7), 2);
  expect_sem(2, 0, 0);
  assert_int_equal(volt_sem_forget_up_to(&sem, 7), 0); /* two are held */
  volt_sem_set_limit(&sem, 1);
  assert_int_equal(volt_sem_forget_up_to(&sem, 1), 0); /* in excess */
  expect_sem(1, 0, 1);
  volt_sem_release(&sem, 2);
  expect_sem(1, 1, 0);
  assert_result(ask(0, 2), VOLT_PENDING);
  assert_int_equal(volt_sem_forget_up_to(&sem, 1), 0); /* set aside for who waits */
  volt_sem_close(&sem);
  assert_int_equal(volt_sem_forget_up_to(&sem, UINT32_MAX), 1);
  expect_sem(0, 0, 0);
}

/* Closed, it stays so. */
static void closed_stays_closed(void **state) {
  (void)state;
  begin(1);
  volt_sem_close(&sem);
  volt_sem_set_limit(&sem, 3);
  assert_true(volt_sem_is_closed(&sem));
  assert_int_equal(volt_sem_drain(&sem), 3);
  assert_true(volt_sem_is_closed(&sem));
  volt_sem_set_limit(&sem, 2);
  volt_sem_forget(&sem, 1);
  expect_sem(2, 0, 0);
  assert_true(volt_sem_is_closed(&sem));
  assert_result(ask(0, 1), VOLT_ECLOSED);
  assert_result(ask_all(0), VOLT_ECLOSED);
}

/* ---- misuse ---- */

static void limit_too_high(void *arg) {
  (void)arg;
  volt_sem_set_limit(&sem, VOLT_SEM_MAX + 1);
}

static void release_too_many(void *arg) {
  volt_sem_set_limit(&sem, *(uint32_t *)arg);
  volt_sem_release(&sem, VOLT_SEM_MAX);
  volt_sem_release(&sem, 1);
}

static void release_too_many_in_debt(void *arg) {
  (void)arg;
  take(3);
  volt_sem_set_limit(&sem, 0); /* a excess of 3 */
  volt_sem_release(&sem, VOLT_SEM_MAX);
  assert_int_equal(volt_sem_available(&sem), VOLT_SEM_MAX - 3);
  volt_sem_release(&sem, 3);
  volt_sem_release(&sem, 1);
}

static void raise_too_much(void *arg) {
  (void)arg;
  volt_sem_release(&sem, 10); /* beside the limit */
  volt_sem_set_limit(&sem, VOLT_SEM_MAX);
}

static void misuse_aborts(void **state) {
  (void)state;
  uint32_t none = 0;
  begin(3);
  assert_death(limit_too_high, NULL, "volt_sem_set_limit", "2147483648 permits",
               death_address(&sem));
  assert_death(release_too_many, &none, "release past VOLT_SEM_MAX", "1 given back");
  assert_death(release_too_many_in_debt, NULL, "release past VOLT_SEM_MAX", "1 given back");
  assert_death(raise_too_much, NULL, "too many permits", "13 there");
}

/* ==== more is released than there is, and a limit says so ==== */

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
  assert_int_equal(volt_sem_excess(&two), 0);
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
  volt_sem_set_limit(&sem, 1); /* a excess of 1 */
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
  assert_death(forget, &three, "3 given back, -1 there, limit 1"); /* in excess */
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
  volt_future_made(volt_sem_acquire_future(&f, &sem, 1));
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

static void a_limit_too_high_aborts(void **state) {
  (void)state;
  assert_death(init_too_many, NULL, "volt_sem_init", "2147483648 permits");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(it_begins_with_what_there_is),
      cmocka_unit_test(growing_releases),
      cmocka_unit_test(growing_serves_more_than_a_batch),
      cmocka_unit_test(shrinking_takes_from_the_pool),
      cmocka_unit_test(shrinking_makes_debt),
      cmocka_unit_test(debt_before_waiters),
      cmocka_unit_test(debt_made_while_somebody_waits),
      cmocka_unit_test(debt_when_the_last_waiter_leaves),
      cmocka_unit_test(from_most_to_none_and_back),
      cmocka_unit_test(a_request_beyond_the_limit_waits_for_more),
      cmocka_unit_test(forgetting),
      cmocka_unit_test(forgetting_repays_first),
      cmocka_unit_test(forgetting_more_than_the_limit),
      cmocka_unit_test(draining),
      cmocka_unit_test(forgetting_what_there_is),
      cmocka_unit_test(closed_stays_closed),
      cmocka_unit_test(misuse_aborts),
      cmocka_unit_test(it_is_a_semaphore),
      cmocka_unit_test(what_is_held_goes_to_the_waiters),
      cmocka_unit_test(debt_is_held),
      cmocka_unit_test(beyond_the_limit),
      cmocka_unit_test(beyond_a_limit_that_has_changed),
      cmocka_unit_test(beyond_the_limit_while_others_wait),
      cmocka_unit_test(forgotten_too_many),
      cmocka_unit_test(a_dropped_future),
      cmocka_unit_test(what_is_held_can_be_released),
      cmocka_unit_test(a_limit_too_high_aborts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
