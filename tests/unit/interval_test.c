/* interval_test.c: every sentence of volt/time.h on intervals, by a virtual clock. Each case is a
 * table of moments: when the tick was awaited, and for which time it was due, computed by hand. */
#include "alloc_count.h"
#include "death.h"
#include "fake_waker.h"
#include "poller.h"

static volt_timers timers;
static volt_interval every;
static fake_waker a;

static const volt_waker nobody = {NULL, NULL};

static int set_up(void **state) {
  (void)state;
  volt_timers_init_virtual(&timers, nobody);
  memset((void *)&every, 0xee, sizeof every); /* content is overwritten */
  fake_waker_init(&a, 0, NULL);
  return 0;
}

/* No timer may be left behind. */
static int tear_down(void **state) {
  (void)state;
  volt_timers_destroy(&timers);
  return 0;
}

static void go_on_to(uint64_t now_ns) {
  (void)volt_timers_expire(&timers, now_ns);
}

static int poll_tick(void) {
  return volt_future_poll(&every.future, fake_waker_of(&a));
}

static void want_tick(void) {
  assert_ptr_equal(volt_interval_tick(&every), &every.future);
}

/* Awaited from now on, the tick comes at that time and not before; at once if that has passed. */
static void expect_tick(uint64_t due_ns) {
  want_tick();
  if (due_ns > volt_timers_now_ns(&timers)) {
    assert_result(poll_tick(), VOLT_PENDING);
    assert_int_equal(volt_timers_earliest_ns(&timers), due_ns);
    go_on_to(due_ns - 1);
    assert_result(poll_tick(), VOLT_PENDING);
    go_on_to(due_ns);
  }
  for (int i = 0; i < 2; i++) assert_result(poll_tick(), VOLT_OK);
  assert_int_equal(volt_interval_due_ns(&every), due_ns);
}

static void ticks_come_in_time(void **state) {
  for (int missed = VOLT_INTERVAL_BURST; missed <= VOLT_INTERVAL_DELAY; missed++) {
    set_up(state);
    volt_interval_init(&every, &timers, 7, 10, (enum volt_interval_missed)missed);
    for (uint64_t i = 0; i < 10; i++) expect_tick(7 + 10 * i);
    assert_int_equal(fake_waker_calls(&a), 10);
  }
}

/* The clock goes to now_ns, and the next tick is due then. */
typedef struct moment {
  uint64_t now_ns;
  uint64_t due_ns;
} moment;

static void expect_moments(enum volt_interval_missed missed, const moment *all, size_t count) {
  volt_interval_init(&every, &timers, 0, 10, missed);
  for (size_t i = 0; i < count; i++) {
    if (all[i].now_ns > volt_timers_now_ns(&timers)) go_on_to(all[i].now_ns);
    expect_tick(all[i].due_ns);
  }
}

#define EXPECT_MOMENTS(missed, ...)                            \
  do {                                                         \
    const moment all[] = {__VA_ARGS__};                        \
    expect_moments((missed), all, sizeof all / sizeof all[0]); \
  } while (0)

static void burst_makes_up_for_all(void **state) {
  (void)state;
  EXPECT_MOMENTS(VOLT_INTERVAL_BURST, {0, 0}, {35, 10}, {35, 20}, {35, 30}, {35, 40}, {60, 50},
                 {60, 60}, {60, 70});
}

static void skip_stays_in_step(void **state) {
  (void)state;
  EXPECT_MOMENTS(VOLT_INTERVAL_SKIP, {0, 0}, {35, 10}, {35, 40}, {69, 50}, {69, 70}, {95, 80},
                 {99, 100});
}

/* Late by a whole period exactly: the tick that is due in this instant counts as missed. */
static void skip_when_late_by_a_whole_period(void **state) {
  (void)state;
  EXPECT_MOMENTS(VOLT_INTERVAL_SKIP, {0, 0}, {20, 10}, {20, 30}, {60, 40}, {60, 70});
}

static void delay_starts_anew(void **state) {
  (void)state;
  EXPECT_MOMENTS(VOLT_INTERVAL_DELAY, {0, 0}, {35, 10}, {35, 45}, {51, 55}, {85, 65}, {85, 95});
}

/* Less than a period late: the next is not missed, and stays where it is. */
static void a_little_late(void **state) {
  for (int missed = VOLT_INTERVAL_BURST; missed <= VOLT_INTERVAL_DELAY; missed++) {
    set_up(state);
    EXPECT_MOMENTS((enum volt_interval_missed)missed, {0, 0}, {19, 10}, {29, 20}, {29, 30});
  }
}

static void a_start_that_has_passed(void **state) {
  const uint64_t next[] = {15, 105, 110}; /* at 100, after 5 */
  for (int missed = VOLT_INTERVAL_BURST; missed <= VOLT_INTERVAL_DELAY; missed++) {
    set_up(state);
    go_on_to(100);
    volt_interval_init(&every, &timers, 5, 10, (enum volt_interval_missed)missed);
    expect_tick(5);
    expect_tick(next[missed]);
  }
}

static void a_cancelled_tick_is_not_used_up(void **state) {
  (void)state;
  volt_interval_init(&every, &timers, 10, 10, VOLT_INTERVAL_BURST);
  for (int polled = 0; polled < 2; polled++) {
    want_tick();
    if (polled) assert_result(poll_tick(), VOLT_PENDING);
    volt_future_cancel(&every.future);
    assert_result(poll_tick(), VOLT_ECANCELED);
    assert_int_equal(volt_timers_earliest_ns(&timers), VOLT_NO_DEADLINE);
  }
  expect_tick(10);
  want_tick();
  assert_result(poll_tick(), VOLT_PENDING);
  go_on_to(20); /* its wake has come, and nobody looks */
  volt_future_cancel(&every.future);
  assert_int_equal(volt_interval_due_ns(&every), 10);
  expect_tick(20);
  assert_int_equal(fake_waker_calls(&a), 2);
}

static void near_the_end_of_time(void **state) {
  for (int missed = VOLT_INTERVAL_BURST; missed <= VOLT_INTERVAL_DELAY; missed++) {
    set_up(state);
    uint64_t last = VOLT_NO_DEADLINE - 5;
    volt_interval_init(&every, &timers, last, 10, (enum volt_interval_missed)missed);
    expect_tick(last);
    want_tick(); /* would be due after the end: it never comes */
    assert_result(poll_tick(), VOLT_PENDING);
    go_on_to(VOLT_NO_DEADLINE - 1);
    assert_result(poll_tick(), VOLT_PENDING);
    volt_future_cancel(&every.future);

    set_up(state);
    volt_interval_init(&every, &timers, 0, UINT64_MAX, (enum volt_interval_missed)missed);
    expect_tick(0);
    want_tick();
    assert_result(poll_tick(), VOLT_PENDING);
    assert_int_equal(volt_timers_earliest_ns(&timers), VOLT_NO_DEADLINE);
    volt_future_cancel(&every.future);
  }
}

static void late_near_the_end_of_time(void **state) {
  uint64_t now = VOLT_NO_DEADLINE - 3;
  for (int missed = VOLT_INTERVAL_SKIP; missed <= VOLT_INTERVAL_DELAY; missed++) {
    set_up(state);
    volt_interval_init(&every, &timers, 10, 10, (enum volt_interval_missed)missed);
    go_on_to(now);
    expect_tick(10);
    want_tick();
    assert_result(poll_tick(), VOLT_PENDING);
    assert_int_equal(volt_timers_earliest_ns(&timers), VOLT_NO_DEADLINE);
    volt_future_cancel(&every.future);
  }
}

static void a_tick_is_counted(void **state) {
  (void)state;
  poller p;
  poller_init(&p);
  volt_interval_init(&every, &timers, 10, 10, VOLT_INTERVAL_BURST);
  want_tick();
  assert_result(poller_poll(&p, &every.future), VOLT_PENDING);
  p.ctx.cancel = VOLT_CTX_CANCEL_ONCE;
  assert_result(poller_poll(&p, &every.future), VOLT_ECANCELED);
  poller_expect_dropped(&p, 1);
  want_tick();
  assert_result(poller_poll(&p, &every.future), VOLT_PENDING);
  go_on_to(10);
  assert_result(poller_poll(&p, &every.future), VOLT_OK);
  poller_expect(&p, 2, 1, 1);
}

static void nothing_is_allocated(void **state) {
  (void)state;
  uint64_t before = alloc_count_allocations();
  volt_interval_init(&every, &timers, 0, 10, VOLT_INTERVAL_SKIP);
  for (uint64_t i = 0; i < 100; i++) expect_tick(10 * i);
  assert_int_equal(alloc_count_allocations() - before, 0);
}

/* ---- misuse ---- */

static void init_without_a_period(void *arg) {
  volt_interval_init((volt_interval *)arg, &timers, 0, 0, VOLT_INTERVAL_BURST);
}

static void init_strangely(void *arg) {
  volt_interval_init((volt_interval *)arg, &timers, 0, 1, (enum volt_interval_missed)3);
}

static void tick_once_more(void *arg) {
  volt_interval_tick((volt_interval *)arg);
}

static void misuse_aborts(void **state) {
  (void)state;
  const char *at = death_address(&every);
  assert_death(init_without_a_period, &every, "volt_interval_init", at, "a period of 0 ns");
  assert_death(init_strangely, &every, "volt_interval_init", at, "missed is 3");
  volt_interval_init(&every, &timers, 10, 10, VOLT_INTERVAL_BURST);
  want_tick();
  want_tick(); /* not polled: nothing has begun */
  assert_result(poll_tick(), VOLT_PENDING);
  assert_death(tick_once_more, &every, "volt_interval_tick", at, "its last tick is pending");
  volt_future_cancel(&every.future);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(ticks_come_in_time),      TEST(burst_makes_up_for_all),
      TEST(skip_stays_in_step),      TEST(skip_when_late_by_a_whole_period),
      TEST(delay_starts_anew),       TEST(a_little_late),
      TEST(a_start_that_has_passed), TEST(a_cancelled_tick_is_not_used_up),
      TEST(near_the_end_of_time),    TEST(late_near_the_end_of_time),
      TEST(a_tick_is_counted),       TEST(nothing_is_allocated),
      TEST(misuse_aborts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
