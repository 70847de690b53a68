/* timer_waker_test.c: volt_timer_set_waker(), and the clock of a queue of timers. */
#include "alloc_count.h"
#include "death.h"
#include "fake_waker.h"
#include "unit.h"

enum { TIMERS = 40 }; /* more than expire() takes out at once */

static volt_timers timers;
static volt_timer timer[TIMERS];
static fake_waker a;
static fake_waker b;
static hostile_waker driver;

static const volt_waker nobody = {NULL, NULL};

static int set_up(void **state) {
  (void)state;
  hostile_waker_init(&driver, 0, NULL, NULL, NULL);
  volt_timers_init(&timers, hostile_waker_of(&driver));
  memset((void *)timer, 0, sizeof timer);
  fake_waker_init(&a, 0, NULL);
  fake_waker_init(&b, 1, NULL);
  return 0;
}

/* No timer may be left behind. */
static int tear_down(void **state) {
  (void)state;
  volt_timers_destroy(&timers);
  return 0;
}

static void start(uint32_t i, uint64_t deadline_ns) {
  volt_timer_start(&timers, &timer[i], deadline_ns, fake_waker_of(&a));
}

static bool set_waker(uint32_t i, fake_waker *waker) {
  return volt_timer_set_waker(&timers, &timer[i], fake_waker_of(waker));
}

static void expect_calls(uint32_t calls_of_a, uint32_t calls_of_b) {
  assert_int_equal(fake_waker_calls(&a), calls_of_a);
  assert_int_equal(fake_waker_calls(&b), calls_of_b);
}

/* ---- set_waker ---- */

static void the_last_waker_given_is_called(void **state) {
  (void)state;
  start(0, 100);
  assert_true(set_waker(0, &b));
  assert_true(set_waker(0, &a));
  assert_true(set_waker(0, &b));
  assert_true(set_waker(0, &b));
  assert_result(volt_timer_result(&timer[0]), VOLT_PENDING);
  assert_int_equal(volt_timers_earliest_ns(&timers), 100); /* it is where it was */
  assert_int_equal(hostile_waker_calls(&driver), 1);
  assert_int_equal(volt_timers_expire(&timers, 100), 1);
  expect_calls(0, 1);
}

static void each_in_the_heap_has_its_own(void **state) {
  (void)state;
  for (uint32_t i = 0; i < TIMERS; i++) start(i, 100 + i * 7 % TIMERS);
  for (uint32_t i = 0; i < TIMERS; i += 3) assert_true(set_waker(i, &b));
  assert_int_equal(volt_timers_expire(&timers, 100 + TIMERS), TIMERS);
  expect_calls(TIMERS - (TIMERS + 2) / 3, (TIMERS + 2) / 3);
}

static void it_has_expired(void **state) {
  (void)state;
  start(0, 100);
  assert_int_equal(volt_timers_expire(&timers, 100), 1);
  assert_false(set_waker(0, &b));
  expect_calls(1, 0);
  assert_result(volt_timer_result(&timer[0]), VOLT_OK);
  (void)volt_timers_expire(&timers, UINT64_MAX);
  expect_calls(1, 0);
}

static void it_does_not_run(void **state) {
  (void)state;
  assert_false(set_waker(0, &b)); /* never started */
  start(0, 100);
  assert_true(volt_timer_cancel(&timers, &timer[0]));
  assert_false(set_waker(0, &b));
  assert_result(volt_timer_result(&timer[0]), VOLT_ECANCELED);
  (void)volt_timers_expire(&timers, UINT64_MAX);
  expect_calls(0, 0);
}

static void a_replaced_one_can_be_cancelled(void **state) {
  (void)state;
  start(0, 100);
  assert_true(set_waker(0, &b));
  assert_true(volt_timer_cancel(&timers, &timer[0]));
  (void)volt_timers_expire(&timers, UINT64_MAX);
  expect_calls(0, 0);
}

static void a_zero_waker_wakes_nobody(void **state) {
  (void)state;
  start(0, 100);
  assert_true(volt_timer_set_waker(&timers, &timer[0], nobody));
  assert_int_equal(volt_timers_expire(&timers, 100), 1);
  expect_calls(0, 0);
  assert_result(volt_timer_result(&timer[0]), VOLT_OK);
}

/* All are due; the first waker replaces that of another. What set_waker() says is borne out. */
static void replace_the_nth(hostile_waker *self) {
  self->result = set_waker(self->n, &b);
}

static void a_waker_replaces_that_of_another(void **state) {
  bool outcomes[2] = {false, false};
  for (uint32_t other = 1; other < TIMERS; other++) {
    set_up(state);
    hostile_waker first;
    hostile_waker_init(&first, 0, NULL, replace_the_nth, NULL);
    first.n = other;
    volt_timer_start(&timers, &timer[0], 1, hostile_waker_of(&first));
    for (uint32_t i = 1; i < TIMERS; i++) start(i, 1);
    assert_int_equal(volt_timers_expire(&timers, 1), TIMERS);
    uint32_t replaced = (uint32_t)first.result;
    expect_calls(TIMERS - 1 - replaced, replaced);
    outcomes[replaced] = true;
    volt_timers_destroy(&timers);
  }
  assert_true(outcomes[false] && outcomes[true]);
}

/* ---- the clock ---- */

static void the_real_clock(void **state) {
  (void)state;
  uint64_t before = volt_now_ns();
  uint64_t now = volt_timers_now_ns(&timers);
  assert_true(before <= now && now <= volt_now_ns());
  (void)volt_timers_expire(&timers, UINT64_MAX); /* whatever it is told */
  assert_true(volt_timers_now_ns(&timers) <= volt_now_ns());
  static volt_timers zero = VOLT_TIMERS_INIT;
  assert_true(now <= volt_timers_now_ns(&zero));
}

static void a_virtual_clock_goes_as_it_is_told(void **state) {
  (void)state;
  volt_timers_init_virtual(&timers, hostile_waker_of(&driver));
  assert_int_equal(volt_timers_now_ns(&timers), 0);
  assert_int_equal(volt_timers_expire(&timers, 100), 0);
  assert_int_equal(volt_timers_now_ns(&timers), 100);
  assert_int_equal(volt_timers_expire(&timers, 50), 0); /* not back */
  assert_int_equal(volt_timers_now_ns(&timers), 100);
  assert_int_equal(volt_timers_expire(&timers, UINT64_MAX), 0);
  assert_int_equal(volt_timers_now_ns(&timers), UINT64_MAX);
  volt_timers_init_virtual(&timers, hostile_waker_of(&driver)); /* back to its beginning */
  assert_int_equal(volt_timers_now_ns(&timers), 0);
}

/* What is told is the time before the wakers are called. */
static void look_at_the_clock(hostile_waker *self) {
  *(uint64_t *)self->object = volt_timers_now_ns(&timers);
}

static void a_virtual_queue_is_as_any_other(void **state) {
  (void)state;
  uint64_t seen = 0;
  hostile_waker looks;
  hostile_waker_init(&looks, 0, NULL, look_at_the_clock, &seen);
  volt_timers_init_virtual(&timers, hostile_waker_of(&driver));
  start(0, 200);
  volt_timer_start(&timers, &timer[1], 100, hostile_waker_of(&looks));
  assert_int_equal(hostile_waker_calls(&driver), 2); /* told of each that is the earliest */
  assert_int_equal(volt_timers_expire(&timers, 150), 1);
  assert_int_equal(seen, 150);
  assert_int_equal(volt_timers_earliest_ns(&timers), 200);
  assert_int_equal(volt_timers_expire(&timers, 200), 1);
  expect_calls(1, 0);
}

static void nothing_is_allocated(void **state) {
  (void)state;
  uint64_t before = alloc_count_allocations();
  for (uint64_t i = 0; i < 100; i++) {
    start(0, i);
    assert_true(set_waker(0, &b));
    assert_int_equal(volt_timers_expire(&timers, i), 1);
  }
  assert_int_equal(alloc_count_allocations() - before, 0);
  expect_calls(0, 100);
}

/* ---- misuse ---- */

static void set_waker_on_another_queue(void *arg) {
  volt_timers other = VOLT_TIMERS_INIT;
  assert_true(volt_timer_set_waker(&other, (volt_timer *)arg, nobody));
}

static void cancel_on_another_queue(void *arg) {
  volt_timers other = VOLT_TIMERS_INIT;
  volt_timer_cancel(&other, (volt_timer *)arg);
}

static void of_another_queue(void **state) {
  (void)state;
  start(0, 100);
  const char *at = death_address(&timer[0]);
  const char *on = death_address(&timers);
  assert_death(set_waker_on_another_queue, &timer[0], "volt_timer", at, "is started on", on);
  assert_death(cancel_on_another_queue, &timer[0], "volt_timer", at, "is started on", on);
  assert_true(volt_timer_cancel(&timers, &timer[0]));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(the_last_waker_given_is_called),
      TEST(each_in_the_heap_has_its_own),
      TEST(it_has_expired),
      TEST(it_does_not_run),
      TEST(a_replaced_one_can_be_cancelled),
      TEST(a_zero_waker_wakes_nobody),
      cmocka_unit_test(a_waker_replaces_that_of_another),
      TEST(the_real_clock),
      TEST(a_virtual_clock_goes_as_it_is_told),
      TEST(a_virtual_queue_is_as_any_other),
      TEST(nothing_is_allocated),
      TEST(of_another_queue),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
