/* timer_waker_test.c: volt_timer_set_waker(), the clock of a queue of timers, and the waker of its
 * driver. */
#include "alloc_count.h"
#include "death.h"
#include "fake_waker.h"
#include "require.h"
#include "thread_team.h"
#include "unit.h"

enum { TIMERS = 100 }; /* more than expire() takes out at once */

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

/* ==== the driver: when it is woken, and what it may do then ==== */

static void start_unheard(uint32_t i, uint64_t deadline_ns) {
  volt_timer_start(&timers, &timer[i], deadline_ns, (volt_waker){NULL, NULL});
}

static void expect_told(uint32_t calls) {
  assert_int_equal(hostile_waker_calls(&driver), calls);
}

/* ---- when it is told ---- */

static void the_driver_is_told_of_an_earlier_one(void **state) {
  (void)state;
  expect_told(0);
  start_unheard(0, 100);
  expect_told(1); /* the first */
  start_unheard(1, 101);
  start_unheard(2, 100); /* not earlier: after the other one */
  expect_told(1);
  start_unheard(3, 99);
  expect_told(2);
  assert_true(volt_timer_cancel(&timers, &timer[3])); /* later now */
  assert_true(volt_timer_cancel(&timers, &timer[1]));
  assert_int_equal(volt_timers_expire(&timers, 100), 2);
  expect_told(2);
  start_unheard(4, VOLT_NO_DEADLINE); /* nothing to wait for */
  expect_told(2);
  start_unheard(5, 1000);
  expect_told(3);
  assert_true(volt_timer_cancel(&timers, &timer[4]));
  assert_true(volt_timer_cancel(&timers, &timer[5]));
  expect_told(3);
  volt_timers_destroy(&timers);
}

static void note_earliest(hostile_waker *self) {
  self->n = (uint32_t)volt_timers_earliest_ns(&timers);
}

static void the_driver_sees_the_earliest(void **state) {
  (void)state;
  driver.act = note_earliest;
  for (uint32_t i = 0; i < TIMERS; i++) {
    start_unheard(i, TIMERS - i);
    expect_told(i + 1);
    assert_int_equal(driver.n, TIMERS - i);
  }
  assert_int_equal(volt_timers_expire(&timers, TIMERS), TIMERS);
  volt_timers_destroy(&timers);
}

/* Called with nothing held: it may do itself what it is told to. */
static void expire_now(hostile_waker *self) {
  (void)volt_timers_expire(&timers, self->n);
}

static void the_driver_may_expire_at_once(void **state) {
  (void)state;
  driver.act = expire_now;
  driver.n = 50;
  start_unheard(0, 50);
  assert_result(volt_timer_result(&timer[0]), VOLT_OK);
  start_unheard(1, 51);
  assert_result(volt_timer_result(&timer[1]), VOLT_PENDING);
  start_unheard(2, 49);
  assert_result(volt_timer_result(&timer[2]), VOLT_OK);
  expect_told(3);
  assert_int_equal(volt_timers_expire(&timers, 51), 1);
  volt_timers_destroy(&timers);
}

/* It is told of that one too, though it has not returned yet: it may have looked already. */
static void start_an_earlier_one(hostile_waker *self) {
  uint64_t earliest_ns = volt_timers_earliest_ns(&timers);
  if (earliest_ns > 50) start_unheard((uint32_t)earliest_ns - 1, earliest_ns - 1);
  (void)self;
}

static void the_driver_may_start_an_earlier_one(void **state) {
  (void)state;
  driver.act = start_an_earlier_one;
  start_unheard(60, 60);
  expect_told(11);
  assert_int_equal(volt_timers_earliest_ns(&timers), 50);
  assert_int_equal(volt_timers_expire(&timers, 60), 11);
  volt_timers_destroy(&timers);
}

/* ---- no foreign code between the claim of a timer and its grant ----
 *
 * expire() runs a section, and whoever runs sections may come to serve others, the one that tells
 * the driver among them. Who serves here is decided by a section that waits for a go of the
 * test's. */

enum { FILLERS = 100 }; /* sections: more than a server serves before it hands over to another */

static volt_timer due;
static volt_timer filler[FILLERS];
static fake_waker due_waker;
static volt_bcs_node holding_node;
static VOLT_ATOMIC(uint32_t) holding;

/* In a section, on the helper's thread: fill the queue, and wait until the other's is behind. */
static void hold(void *arg) {
  (void)arg;
  for (uint32_t i = 0; i < FILLERS; i++) { /* the first is earlier than the other thread's */
    volt_timer_start(&timers, &filler[i], i == 0 ? 10 : 30, nobody);
  }
  uintptr_t last = volt_load_relaxed(&timers.lock.queue.tail);
  (void)volt_fetch_add_release(&holding, 1);
  WAIT_UNTIL(volt_load_relaxed(&timers.lock.queue.tail) != last);
}

static void hold_the_queue(void *arg, uint32_t index) {
  (void)arg;
  (void)index;
  volt_bcs_lock_run(&timers.lock, &holding_node, hold, NULL);
}

/* A timer that is out of the queue must have been told: whoever still had to tell it may be this
 * very thread, further up, and cancel() would wait for it for ever. */
static void cancel_what_is_due(hostile_waker *self) {
  bool queued = volt_timers_earliest_ns(&timers) <= 20;
  REQUIRE(queued || volt_timer_result(&due) != VOLT_PENDING);
  self->result = volt_timer_cancel(&timers, &due);
}

static void the_driver_may_cancel_what_expires(void **state) {
  (void)state;
  fake_waker_init(&due_waker, 0, NULL);
  volt_timer_start(&timers, &due, 20, fake_waker_of(&due_waker));
  driver.act = cancel_what_is_due; /* when it is told of the first filler */
  thread_team t;
  thread_team_start(&t, 1, hold_the_queue, NULL);
  WAIT_UNTIL(volt_load_acquire(&holding) != 0);
  (void)volt_timers_expire(&timers, 20);
  thread_team_join(&t);
  (void)volt_timers_expire(&timers, 30);
  expect_told(2);
  assert_int_equal(fake_waker_calls(&due_waker), driver.result ? 0 : 1);
  for (uint32_t i = 0; i < FILLERS; i++) assert_result(volt_timer_result(&filler[i]), VOLT_OK);
  volt_timers_destroy(&timers);
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
      cmocka_unit_test_setup(the_driver_is_told_of_an_earlier_one, set_up),
      cmocka_unit_test_setup(the_driver_sees_the_earliest, set_up),
      cmocka_unit_test_setup(the_driver_may_expire_at_once, set_up),
      cmocka_unit_test_setup(the_driver_may_start_an_earlier_one, set_up),
      cmocka_unit_test_setup(the_driver_may_cancel_what_expires, set_up),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
