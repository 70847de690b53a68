/* timer_driver_test.c: when the driver of a timer queue is told, and what it may do then. */
#include "fake_waker.h"
#include "require.h"
#include "thread_team.h"
#include "unit.h"

enum { TIMERS = 100 };

static volt_timers timers;
static volt_timer timer[TIMERS];
static hostile_waker driver;

static int set_up(void **state) {
  (void)state;
  hostile_waker_init(&driver, 0, NULL, NULL, NULL);
  volt_timers_init(&timers, hostile_waker_of(&driver));
  memset((void *)timer, 0, sizeof timer);
  return 0;
}

static void start(uint32_t i, uint64_t deadline_ns) {
  volt_timer_start(&timers, &timer[i], deadline_ns, (volt_waker){NULL, NULL});
}

static void expect_told(uint32_t calls) {
  assert_int_equal(hostile_waker_calls(&driver), calls);
}

/* ---- when it is told ---- */

static void the_driver_is_told_of_an_earlier_one(void **state) {
  (void)state;
  expect_told(0);
  start(0, 100);
  expect_told(1); /* the first */
  start(1, 101);
  start(2, 100); /* not earlier: after the other one */
  expect_told(1);
  start(3, 99);
  expect_told(2);
  assert_true(volt_timer_cancel(&timers, &timer[3])); /* later now */
  assert_true(volt_timer_cancel(&timers, &timer[1]));
  assert_int_equal(volt_timers_expire(&timers, 100), 2);
  expect_told(2);
  start(4, VOLT_NO_DEADLINE); /* nothing to wait for */
  expect_told(2);
  start(5, 1000);
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
    start(i, TIMERS - i);
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
  start(0, 50);
  assert_result(volt_timer_result(&timer[0]), VOLT_OK);
  start(1, 51);
  assert_result(volt_timer_result(&timer[1]), VOLT_PENDING);
  start(2, 49);
  assert_result(volt_timer_result(&timer[2]), VOLT_OK);
  expect_told(3);
  assert_int_equal(volt_timers_expire(&timers, 51), 1);
  volt_timers_destroy(&timers);
}

/* It is told of that one too, though it has not returned yet: it may have looked already. */
static void start_an_earlier_one(hostile_waker *self) {
  uint64_t earliest_ns = volt_timers_earliest_ns(&timers);
  if (earliest_ns > 50) start((uint32_t)earliest_ns - 1, earliest_ns - 1);
  (void)self;
}

static void the_driver_may_start_an_earlier_one(void **state) {
  (void)state;
  driver.act = start_an_earlier_one;
  start(60, 60);
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
  const volt_waker nobody = {NULL, NULL};
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(the_driver_is_told_of_an_earlier_one, set_up),
      cmocka_unit_test_setup(the_driver_sees_the_earliest, set_up),
      cmocka_unit_test_setup(the_driver_may_expire_at_once, set_up),
      cmocka_unit_test_setup(the_driver_may_start_an_earlier_one, set_up),
      cmocka_unit_test_setup(the_driver_may_cancel_what_expires, set_up),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
