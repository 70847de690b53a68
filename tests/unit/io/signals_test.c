/* signals_test.c: signals that are received. This process sends them to itself, and blocks them, so
 * each is there when kill() has returned.
 *
 * BACK ENDS: epoll, uring */
#define _GNU_SOURCE /* sigset_t, ... */
#include <volt/process.h>
#include <volt/select.h>

#include "io_kit.h"

static const int both[] = {SIGUSR1, SIGUSR2};

static void raise_both(void) {
  REQUIRE(kill(getpid(), SIGUSR2) == 0 && kill(getpid(), SIGUSR1) == 0);
}

static void open_both(io_kit *k, volt_signals *s) {
  errno = KIT_ERRNO;
  assert_result(volt_signals_open(s, k->rt, both, 2), VOLT_OK);
  assert_int_equal(errno, KIT_ERRNO);
}

static void expect(io_kit *k, kit_way way, volt_signals *s, int number) {
  volt_op op;
  volt_signal signal;
  assert_result(kit_run(k, way, volt_signal_future(&op, s, &signal)), VOLT_OK);
  assert_int_equal(signal.number, number);
  assert_int_equal(signal.sender, getpid());
  assert_int_equal(signal.user, getuid());
  assert_int_equal(signal.code, SI_USER);
}

static void expect_none(io_kit *k, volt_signals *s) {
  volt_op op;
  volt_signal signal;
  kit_one one;
  kit_start(k, &one, BY_TASK, volt_signal_future(&op, s, &signal));
  assert_result(kit_check(k, &one), VOLT_PENDING);
  assert_result(kit_cancel(k, &one), VOLT_ECANCELED);
}

static void they_are_received(void **state) {
  io_kit *k = (io_kit *)*state;
  volt_signals s;
  FOR_EACH_WAY(way) {
    kit_way w = (kit_way)way;
    raise_both(); /* before it is open */
    open_both(k, &s);
    expect(k, w, &s, SIGUSR1);
    expect(k, w, &s, SIGUSR2);
    raise_both();
    raise_both(); /* once each */
    expect(k, w, &s, SIGUSR1);
    expect(k, w, &s, SIGUSR2);
    expect_none(k, &s);
    volt_signals_close(&s);
    volt_signals_close(&s);
  }
}

static void a_waiter_is_woken(void **state) {
  io_kit *k = (io_kit *)*state;
  volt_signals s;
  volt_op op;
  volt_signal signal;
  open_both(k, &s);
  FOR_EACH_WAY(way) {
    kit_one one;
    kit_start(k, &one, (kit_way)way, volt_signal_future(&op, &s, &signal));
    assert_result(kit_check(k, &one), VOLT_PENDING);
    REQUIRE(kill(getpid(), SIGUSR2) == 0);
    assert_result(kit_finish(k, &one), VOLT_OK);
    assert_int_equal(signal.number, SIGUSR2);
  }
  volt_signals_close(&s);
}

/* A cancel and a lost select leave the signal where it is. */
static void one_that_is_not_received_stays(void **state) {
  io_kit *k = (io_kit *)*state;
  volt_signals s;
  volt_op op;
  volt_signal signal;
  open_both(k, &s);
  for (uint64_t seed = 0; seed < 16; seed++) {
    volt_sleep_op nap;
    volt_select select;
    volt_future *const either[] = {volt_signal_future(&op, &s, &signal),
                                   volt_sleep_future(&nap, volt_rt_timers(k->rt), 0)};
    REQUIRE(kill(getpid(), SIGUSR1) == 0);
    volt_select_seed(seed);
    assert_result(kit_run(k, BY_TASK, volt_select_future(&select, either, 2, VOLT_SELECT_FAIR)),
                  VOLT_OK);
    if (volt_select_winner(&select) == 1) expect(k, BY_TASK, &s, SIGUSR1);
    expect_none(k, &s);
  }
  volt_signals_close(&s);
}

static void queued_signals_come_each(void **state) {
  io_kit *k = (io_kit *)*state;
  const int number = SIGRTMIN;
  volt_signals s;
  volt_op op;
  volt_signal signal;
  assert_result(volt_signals_block(&number, 1), VOLT_OK);
  assert_result(volt_signals_open(&s, k->rt, &number, 1), VOLT_OK);
  for (int i = 0; i < 3; i++) {
    REQUIRE(sigqueue(getpid(), number, (union sigval){.sival_int = i}) == 0);
  }
  for (int i = 0; i < 3; i++) {
    assert_result(kit_run(k, BY_TASK, volt_signal_future(&op, &s, &signal)), VOLT_OK);
    assert_int_equal(signal.number, number);
    assert_int_equal(signal.code, SI_QUEUE);
  }
  expect_none(k, &s);
  volt_signals_close(&s);
}

static int open_fails(io_kit *k, int number) {
  volt_signals s;
  memset((void *)&s, 0xff, sizeof s);
  errno = KIT_ERRNO;
  int result = volt_signals_open(&s, k->rt, &number, 1);
  assert_int_equal(errno, KIT_ERRNO);
  volt_signals_close(&s);
  return result;
}

static void what_cannot_be_is_refused(void **state) {
  io_kit *k = (io_kit *)*state;
  static const int wrong[] = {0, -1, 65, 1000, SIGKILL, SIGSTOP};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    errno = KIT_ERRNO;
    assert_result(volt_signals_block(&wrong[i], 1), VOLT_EINVAL);
    assert_int_equal(errno, KIT_ERRNO);
    assert_result(open_fails(k, wrong[i]), VOLT_EINVAL);
  }
  assert_result(open_fails(k, SIGWINCH), VOLT_EINVAL); /* it is not blocked */
  volt_rt *rt;
  volt_signals s;
  volt_rt_config without = {.flags = VOLT_RT_BY_HAND};
  assert_result(volt_rt_create(&rt, &without), VOLT_OK);
  assert_result(volt_signals_open(&s, rt, both, 2), VOLT_EINVAL);
  volt_rt_destroy(rt);
}

/* With workers and a pool: each of their threads blocks it. */
static int does_nothing(void *arg) {
  (void)arg;
  return VOLT_OK;
}

static void a_runtime_with_threads_leaves_them_alone(void **state) {
  (void)state;
  io_kit k;
  volt_signals s;
  volt_op op;
  volt_signal signal;
  volt_blocking call;
  kit_begin(&k, 2);
  open_both(&k, &s);
  assert_result(volt_future_wait(volt_blocking_future(&call, k.rt, does_nothing, NULL)), VOLT_OK);
  for (int i = 0; i < 100; i++) {
    REQUIRE(kill(getpid(), SIGUSR1) == 0);
    assert_result(volt_future_wait(volt_signal_future(&op, &s, &signal)), VOLT_OK);
    assert_int_equal(signal.number, SIGUSR1);
  }
  volt_signals_close(&s);
  kit_end(&k);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      kit_test(they_are_received),
      kit_test(a_waiter_is_woken),
      kit_test(one_that_is_not_received_stays),
      kit_test(queued_signals_come_each),
      kit_test(what_cannot_be_is_refused),
      cmocka_unit_test(a_runtime_with_threads_leaves_them_alone),
  };
  REQUIRE(volt_signals_block(both, 2) == VOLT_OK);
  return kit_main(tests);
}
