/* time_test.c: every sentence of volt/time.h, by a virtual clock that the test moves. */
#include "alloc_count.h"
#include "death.h"
#include "fake_waker.h"
#include "poller.h"

static volt_timers timers;
static volt_sleep_op nap;
static volt_timeout timeout;
static volt_sem sem;
static volt_future f; /* of one permit of sem */
static fake_waker a;
static fake_waker b;
static poller p;

static const volt_waker nobody = {NULL, NULL};

static int set_up(void **state) {
  (void)state;
  volt_timers_init_virtual(&timers, nobody);
  volt_sem_init(&sem, 0);
  volt_future_made(volt_sem_acquire_future(&f, &sem, 1));
  memset((void *)&nap, 0xee, sizeof nap); /* content is overwritten */
  memset((void *)&timeout, 0xee, sizeof timeout);
  fake_waker_init(&a, 0, NULL);
  fake_waker_init(&b, 1, NULL);
  poller_init(&p);
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
  assert_int_equal(volt_timers_now_ns(&timers), now_ns);
}

static void expect_poll(volt_future *future, fake_waker *waker, int result) {
  assert_result(volt_future_poll(future, fake_waker_of(waker)), result);
}

static void expect_calls(uint32_t calls_of_a, uint32_t calls_of_b) {
  assert_int_equal(fake_waker_calls(&a), calls_of_a);
  assert_int_equal(fake_waker_calls(&b), calls_of_b);
}

static void expect_earliest(uint64_t earliest_ns) {
  assert_int_equal(volt_timers_earliest_ns(&timers), earliest_ns);
}

/* ---- sleep ---- */

static void a_sleep_is_ready_at_its_deadline(void **state) {
  (void)state;
  assert_ptr_equal(volt_sleep_future(&nap, &timers, 100), &nap.future);
  expect_earliest(VOLT_NO_DEADLINE); /* not before the first poll */
  expect_poll(&nap.future, &a, VOLT_PENDING);
  expect_earliest(100);
  go_on_to(99);
  expect_poll(&nap.future, &a, VOLT_PENDING);
  expect_calls(0, 0);
  go_on_to(100);
  expect_calls(1, 0);
  for (int i = 0; i < 3; i++) expect_poll(&nap.future, &b, VOLT_OK);
  expect_calls(1, 0);
}

static void a_time_that_has_come_needs_no_timer(void **state) {
  (void)state;
  go_on_to(100);
  const uint64_t deadlines[] = {0, 99, 100};
  for (size_t i = 0; i < sizeof deadlines / sizeof deadlines[0]; i++) {
    volt_future_made(volt_sleep_future(&nap, &timers, deadlines[i]));
    expect_poll(&nap.future, &a, VOLT_OK);
    expect_earliest(VOLT_NO_DEADLINE);
  }
  volt_future_made(volt_sleep_future(&nap, &timers, 100));
  assert_result(poller_poll(&p, &nap.future), VOLT_OK);
  poller_expect(&p, 0, 0, 0);
  volt_future_made(volt_sleep_future(&nap, &timers, 101));
  expect_poll(&nap.future, &a, VOLT_PENDING);
  volt_future_cancel(&nap.future);
}

static void the_time_comes_before_the_first_poll(void **state) {
  (void)state;
  volt_future_made(volt_sleep_future(&nap, &timers, 100));
  go_on_to(100);
  expect_poll(&nap.future, &a, VOLT_OK);
  expect_calls(0, 0);
}

static void no_deadline_never_comes(void **state) {
  (void)state;
  volt_future_made(volt_sleep_future(&nap, &timers, VOLT_NO_DEADLINE));
  expect_poll(&nap.future, &a, VOLT_PENDING);
  go_on_to(VOLT_NO_DEADLINE - 1);
  expect_poll(&nap.future, &a, VOLT_PENDING);
  expect_calls(0, 0);
  volt_future_cancel(&nap.future);
}

static void no_deadline_never_comes_at_the_end_of_time(void **state) {
  (void)state;
  go_on_to(UINT64_MAX);
  volt_future_made(volt_sleep_future(&nap, &timers, VOLT_NO_DEADLINE));
  expect_poll(&nap.future, &a, VOLT_PENDING);
  volt_future_cancel(&nap.future);
}

static void cancel_of_a_sleep(void **state) {
  (void)state;
  volt_future_made(volt_sleep_future(&nap, &timers, 100));
  volt_future_cancel(&nap.future); /* before the first poll */
  expect_poll(&nap.future, &a, VOLT_ECANCELED);
  volt_future_made(volt_sleep_future(&nap, &timers, 100));
  expect_poll(&nap.future, &a, VOLT_PENDING);
  volt_future_cancel(&nap.future);
  expect_earliest(VOLT_NO_DEADLINE);
  go_on_to(100);
  expect_poll(&nap.future, &a, VOLT_ECANCELED);
  expect_calls(0, 0);
  volt_future_made(volt_sleep_future(&nap, &timers, 200));
  expect_poll(&nap.future, &a, VOLT_PENDING);
  go_on_to(200);
  volt_future_cancel(&nap.future); /* too late for its wake */
  expect_poll(&nap.future, &a, VOLT_ECANCELED);
  expect_calls(1, 0);
}

static void a_sleep_moves_to_another_waker(void **state) {
  (void)state;
  volt_future_made(volt_sleep_future(&nap, &timers, 100));
  expect_poll(&nap.future, &a, VOLT_PENDING);
  expect_poll(&nap.future, &b, VOLT_PENDING);
  go_on_to(100);
  expect_calls(0, 1);
  expect_poll(&nap.future, &a, VOLT_OK); /* and the expiry comes before the move */
  expect_calls(0, 1);
}

static void block_on_a_sleep(void **state) {
  (void)state;
  volt_future_made(volt_sleep_future(&nap, &timers, 100));
  assert_result(volt_future_wait_until(&nap.future, PAST_DEADLINE), VOLT_ETIMEDOUT);
  expect_earliest(VOLT_NO_DEADLINE);
  volt_timers real;
  volt_timers_init(&real, nobody);
  volt_future_made(volt_sleep_future(&nap, &real, volt_now_ns()));
  assert_result(volt_future_wait(&nap.future), VOLT_OK);
  volt_future_made(volt_sleep_future(&nap, &real, volt_deadline_ns(UINT64_C(3600000000000))));
  expect_poll(&nap.future, &a, VOLT_PENDING); /* by the real clock it has not come */
  volt_future_cancel(&nap.future);
  volt_timers_destroy(&real);
}

/* ---- timeout ---- */

static volt_future *time_out_at(uint64_t deadline_ns) {
  volt_future *made = volt_timeout_future(&timeout, &f, &timers, deadline_ns);
  assert_ptr_equal(made, &timeout.future);
  return made;
}

/* What is left when it is ready: no timer, nobody in the queue, so many permits. */
static void expect_left(int result_of_inner, uint32_t available) {
  expect_earliest(VOLT_NO_DEADLINE);
  assert_result(volt_future_poll(&f, nobody), result_of_inner);
  assert_int_equal(volt_sem_waiters(&sem), 0);
  assert_int_equal(volt_sem_available(&sem), available);
}

static void the_inner_one_is_first(void **state) {
  for (int closed = 0; closed < 2; closed++) {
    set_up(state);
    volt_future *t = time_out_at(100);
    expect_poll(t, &a, VOLT_PENDING);
    expect_earliest(100);
    go_on_to(99);
    if (closed) volt_sem_close(&sem);
    if (!closed) volt_sem_release(&sem, 1);
    expect_calls(1, 0);
    int want = closed ? VOLT_ECLOSED : VOLT_OK;
    for (int i = 0; i < 2; i++) expect_poll(t, &a, want);
    expect_left(want, 0);
    go_on_to(100);
    expect_calls(1, 0);
    expect_poll(t, &a, want);
  }
}

static void the_deadline_is_first(void **state) {
  (void)state;
  volt_future *t = time_out_at(100);
  expect_poll(t, &a, VOLT_PENDING);
  go_on_to(100);
  expect_calls(1, 0);
  for (int i = 0; i < 2; i++) expect_poll(t, &a, VOLT_ETIMEDOUT);
  expect_left(VOLT_ECANCELED, 0);
  volt_sem_release(&sem, 1);
  expect_calls(1, 0);
  expect_poll(t, &a, VOLT_ETIMEDOUT);
}

/* Whatever came first: what is ready is never timed out. */
static void in_the_same_instant_the_inner_one_wins(void **state) {
  for (int order = 0; order < 2; order++) {
    set_up(state);
    volt_future *t = time_out_at(100);
    expect_poll(t, &a, VOLT_PENDING);
    if (order) go_on_to(100);
    volt_sem_release(&sem, 1);
    if (!order) go_on_to(100);
    expect_calls(2, 0); /* once for each of its leaves */
    expect_poll(t, &a, VOLT_OK);
    expect_left(VOLT_OK, 0);
  }
}

/* Waits for f, which is granted after it was looked at, and before the deadline is. */
static int pending_then_granted(volt_async *async, volt_ctx *ctx) {
  bool goes_on = ctx->cancel == VOLT_CTX_GO_ON;
  int result = volt_future_poll_ctx(&f, ctx);
  (void)async;
  if (goes_on && volt_timers_now_ns(&timers) >= 100) volt_sem_release(&sem, 1);
  return result;
}

static void a_grant_after_the_look_is_given_back(void **state) {
  (void)state;
  volt_async async;
  volt_future *inner = volt_async_future(&async, pending_then_granted);
  volt_future_made(volt_timeout_future(&timeout, inner, &timers, 100));
  expect_poll(&timeout.future, &a, VOLT_PENDING);
  go_on_to(100);
  expect_poll(&timeout.future, &a, VOLT_ETIMEDOUT);
  expect_left(VOLT_ECANCELED, 1);
}

static void a_deadline_that_has_passed_polls_the_inner_one_once(void **state) {
  (void)state;
  go_on_to(100);
  volt_sem_release(&sem, 1);
  expect_poll(time_out_at(50), &a, VOLT_OK);
  expect_left(VOLT_OK, 0);
  volt_future_made(volt_sem_acquire_future(&f, &sem, 1));
  expect_poll(time_out_at(100), &a, VOLT_ETIMEDOUT);
  expect_left(VOLT_ECANCELED, 0);
  expect_calls(0, 0);
}

static void a_timeout_without_a_deadline(void **state) {
  (void)state;
  volt_future *t = time_out_at(VOLT_NO_DEADLINE);
  expect_poll(t, &a, VOLT_PENDING);
  go_on_to(VOLT_NO_DEADLINE - 1);
  expect_poll(t, &a, VOLT_PENDING);
  volt_sem_release(&sem, 1);
  expect_poll(t, &a, VOLT_OK);
  expect_left(VOLT_OK, 0);
}

static void cancel_of_a_timeout(void **state) {
  for (int polled = 0; polled < 2; polled++) {
    for (int granted = 0; granted < 2; granted++) {
      for (int expired = 0; expired < 2; expired++) {
        set_up(state);
        volt_future *t = time_out_at(100);
        if (polled) expect_poll(t, &a, VOLT_PENDING);
        if (granted) volt_sem_release(&sem, 1);
        if (expired) go_on_to(100);
        volt_future_cancel(t);
        expect_poll(t, &a, VOLT_ECANCELED);
        expect_left(VOLT_ECANCELED, (uint32_t)granted);
        expect_calls(polled ? (uint32_t)(granted + expired) : 0, 0);
      }
    }
  }
}

static void a_timeout_of_a_timeout(void **state) {
  for (int outer_first = 0; outer_first < 2; outer_first++) {
    set_up(state);
    volt_timeout outer;
    volt_future *t = volt_timeout_future(&outer, time_out_at(outer_first ? 200 : 100), &timers,
                                         outer_first ? 100 : 200);
    expect_poll(t, &a, VOLT_PENDING);
    go_on_to(100);
    expect_poll(t, &a, VOLT_ETIMEDOUT);
    expect_poll(&timeout.future, &a, outer_first ? VOLT_ECANCELED : VOLT_ETIMEDOUT);
    expect_left(VOLT_ECANCELED, 0);
  }
}

static void a_timeout_is_counted(void **state) {
  (void)state;
  volt_future *t = time_out_at(100);
  assert_result(poller_poll(&p, t), VOLT_PENDING);
  poller_expect(&p, 2, 0, 0);
  go_on_to(100);
  poller_expect(&p, 2, 1, 0);
  assert_result(poller_poll(&p, t), VOLT_ETIMEDOUT);
  poller_expect(&p, 2, 1, 1);
}

static void nothing_is_allocated(void **state) {
  (void)state;
  uint64_t before = alloc_count_allocations();
  for (uint64_t i = 0; i < 100; i++) {
    volt_future_made(volt_sem_acquire_future(&f, &sem, 1));
    volt_future *t = time_out_at(10 * i + 10);
    expect_poll(t, &a, VOLT_PENDING);
    if (i % 3 == 0) volt_sem_release(&sem, 1);
    if (i % 3 == 1) go_on_to(10 * i + 10);
    if (i % 3 == 2) volt_future_cancel(t);
    expect_poll(t, &a, i % 3 == 0 ? VOLT_OK : i % 3 == 1 ? VOLT_ETIMEDOUT : VOLT_ECANCELED);
  }
  assert_int_equal(alloc_count_allocations() - before, 0);
}

/* ==== intervals ====
 *
 * Each case is a table of moments: when the tick was awaited, and for which time it was due,
 * computed by hand. */

static volt_interval every;

static int set_up_every(void **state) {
  (void)state;
  volt_timers_init_virtual(&timers, nobody);
  memset((void *)&every, 0xee, sizeof every); /* content is overwritten */
  fake_waker_init(&a, 0, NULL);
  return 0;
}

static int poll_tick(void) {
  return volt_future_poll(&every.future, fake_waker_of(&a));
}

static void want_tick(void) {
  assert_ptr_equal(volt_interval_tick_future(&every), &every.future);
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
    set_up_every(state);
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
    set_up_every(state);
    EXPECT_MOMENTS((enum volt_interval_missed)missed, {0, 0}, {19, 10}, {29, 20}, {29, 30});
  }
}

static void a_start_that_has_passed(void **state) {
  const uint64_t next[] = {15, 105, 110}; /* at 100, after 5 */
  for (int missed = VOLT_INTERVAL_BURST; missed <= VOLT_INTERVAL_DELAY; missed++) {
    set_up_every(state);
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
    set_up_every(state);
    uint64_t last = VOLT_NO_DEADLINE - 5;
    volt_interval_init(&every, &timers, last, 10, (enum volt_interval_missed)missed);
    expect_tick(last);
    want_tick(); /* would be due after the end: it never comes */
    assert_result(poll_tick(), VOLT_PENDING);
    go_on_to(VOLT_NO_DEADLINE - 1);
    assert_result(poll_tick(), VOLT_PENDING);
    volt_future_cancel(&every.future);

    set_up_every(state);
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
    set_up_every(state);
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

static void intervals_allocate_nothing(void **state) {
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
  volt_future_made(volt_interval_tick_future((volt_interval *)arg));
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
  assert_death(tick_once_more, &every, "volt_interval_tick_future", at, "its last tick is pending");
  volt_future_cancel(&every.future);
}

#define INTERVAL_TEST(name) cmocka_unit_test_setup_teardown(name, set_up_every, tear_down)
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(a_sleep_is_ready_at_its_deadline),
      TEST(a_time_that_has_come_needs_no_timer),
      TEST(the_time_comes_before_the_first_poll),
      TEST(no_deadline_never_comes),
      TEST(no_deadline_never_comes_at_the_end_of_time),
      TEST(cancel_of_a_sleep),
      TEST(a_sleep_moves_to_another_waker),
      TEST(block_on_a_sleep),
      TEST(the_inner_one_is_first),
      TEST(the_deadline_is_first),
      TEST(in_the_same_instant_the_inner_one_wins),
      TEST(a_grant_after_the_look_is_given_back),
      TEST(a_deadline_that_has_passed_polls_the_inner_one_once),
      TEST(a_timeout_without_a_deadline),
      TEST(cancel_of_a_timeout),
      TEST(a_timeout_of_a_timeout),
      TEST(a_timeout_is_counted),
      TEST(nothing_is_allocated),
      INTERVAL_TEST(ticks_come_in_time),
      INTERVAL_TEST(burst_makes_up_for_all),
      INTERVAL_TEST(skip_stays_in_step),
      INTERVAL_TEST(skip_when_late_by_a_whole_period),
      INTERVAL_TEST(delay_starts_anew),
      INTERVAL_TEST(a_little_late),
      INTERVAL_TEST(a_start_that_has_passed),
      INTERVAL_TEST(a_cancelled_tick_is_not_used_up),
      INTERVAL_TEST(near_the_end_of_time),
      INTERVAL_TEST(late_near_the_end_of_time),
      INTERVAL_TEST(a_tick_is_counted),
      INTERVAL_TEST(intervals_allocate_nothing),
      INTERVAL_TEST(misuse_aborts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
