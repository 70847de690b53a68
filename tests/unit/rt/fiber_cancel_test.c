/* fiber_cancel_test.c: how a wait of a fiber ends other than by what it waits for: cancel, shield,
 * deadline, the end of the runtime. And waits within the poll of another wait. */
#include "fiber_scene.h"
#include "thread_team.h"

/* What a fiber has got from its calls. */
typedef struct calls {
  int result[6];
  volt_token *token;
} calls;

static calls got;

static int begin_calls(void **state) {
  memset((void *)&got, 0, sizeof got);
  return scene_begin(state);
}

#define CALLS_TEST(name) cmocka_unit_test_setup_teardown(name, begin_calls, scene_end)

static void cancel(volt_task *t) {
  assert_true(volt_task_cancel(t));
  assert_true(volt_task_is_cancelled(t));
  by_hand_run(&h);
}

static void release(uint32_t permits) {
  volt_sem_release(&sem, permits);
  by_hand_run(&h);
}

static void expect_results(const int *want, size_t count) {
  for (size_t i = 0; i < count; i++) assert_result(got.result[i], want[i]);
}

#define EXPECT_RESULTS(...)                              \
  do {                                                   \
    const int want_[] = {__VA_ARGS__};                   \
    expect_results(want_, sizeof want_ / sizeof *want_); \
  } while (0)

/* ---- cancel ---- */

static int waits_twice(void *arg) {
  (void)arg;
  got.result[0] = await_permit();
  got.result[1] = await_permit();
  return got.result[0];
}

static void the_wait_it_is_in_is_cancelled(void **state) {
  (void)state;
  volt_task *t = start_fiber(waits_twice, NULL);
  cancel(t);
  assert_result(volt_task_result(t), VOLT_PENDING); /* the second goes on */
  release(1);
  EXPECT_RESULTS(VOLT_ECANCELED, VOLT_OK);
  expect_end(t, VOLT_ECANCELED);
}

static void before_it_begins_a_cancel_meets_its_first_wait(void **state) {
  (void)state;
  volt_task *t = spawn_fiber(waits_twice, NULL);
  cancel(t);
  release(1);
  EXPECT_RESULTS(VOLT_ECANCELED, VOLT_OK);
  expect_end(t, VOLT_ECANCELED);
}

static void a_call_that_need_not_wait_does_not_look(void **state) {
  (void)state;
  volt_task *t = spawn_fiber(waits_twice, NULL);
  volt_sem_release(&sem, 1);
  cancel(t);
  EXPECT_RESULTS(VOLT_OK, VOLT_ECANCELED);
  expect_end(t, VOLT_OK);
}

static int yields_twice(void *arg) {
  (void)arg;
  got.result[0] = volt_fiber_yield();
  got.result[1] = volt_fiber_yield();
  return VOLT_OK;
}

static void a_yield_is_cancelled(void **state) {
  (void)state;
  volt_task *t = spawn_fiber(yields_twice, NULL);
  cancel(t);
  EXPECT_RESULTS(VOLT_ECANCELED, VOLT_OK);
  expect_end(t, VOLT_OK);
}

static int awaits_ready_ones(void *arg) {
  (void)arg;
  for (;;) {
    int result = await_permit();
    if (result != VOLT_OK) return result;
    volt_sem_release(&sem, 1);
  }
}

static void a_loop_that_never_waits_ends_when_it_has_to_let_others_run(void **state) {
  (void)state;
  volt_sem_release(&sem, 1);
  volt_task *t = spawn_fiber(awaits_ready_ones, NULL);
  cancel(t);
  expect_end(t, VOLT_ECANCELED);
  assert_int_equal(volt_sem_available(&sem), 1);
}

static void a_grant_that_is_not_polled_is_given_back(void **state) {
  (void)state;
  volt_task *t = start_fiber(waits_twice, NULL);
  volt_sem_release(&sem, 1);
  cancel(t); /* the permit goes to the second wait */
  EXPECT_RESULTS(VOLT_ECANCELED, VOLT_OK);
  expect_end(t, VOLT_ECANCELED);
}

static int cancels_itself(void *arg) {
  (void)arg;
  REQUIRE(volt_task_cancel(volt_fiber_self()));
  got.result[0] = await_permit(); /* it waits; the cancel is of its next poll */
  got.result[1] = await_permit();
  return VOLT_OK;
}

static void it_may_cancel_itself(void **state) {
  (void)state;
  volt_task *t = start_fiber(cancels_itself, NULL);
  release(1);
  EXPECT_RESULTS(VOLT_ECANCELED, VOLT_OK);
  expect_end(t, VOLT_OK);
}

/* ---- shield ---- */

static int cleans_up(void *arg) {
  (void)arg;
  volt_fiber_shield();
  volt_fiber_shield();
  got.result[0] = await_permit();
  volt_fiber_unshield();
  got.result[1] = volt_fiber_yield();
  got.result[2] = await_permit();
  volt_fiber_unshield();
  got.result[3] = await_permit();
  got.result[4] = await_permit();
  return VOLT_OK;
}

static void a_shield_keeps_a_cancel_for_later(void **state) {
  (void)state;
  volt_task *t = start_fiber(cleans_up, NULL);
  cancel(t);
  release(2);
  EXPECT_RESULTS(VOLT_OK, VOLT_OK, VOLT_OK, VOLT_ECANCELED);
  release(1);
  EXPECT_RESULTS(VOLT_OK, VOLT_OK, VOLT_OK, VOLT_ECANCELED, VOLT_OK);
  expect_end(t, VOLT_OK);
}

static void elsewhere_shields_do_nothing(void **state) {
  (void)state;
  volt_fiber_unshield();
  volt_fiber_shield();
}

/* ---- what has to come to its end ---- */

static volt_group group;

static int child(void *arg) {
  (void)arg;
  volt_fiber_shield();
  int result = await_permit();
  volt_fiber_unshield();
  return result;
}

static int parent(void *arg) {
  (void)arg;
  volt_group_init(&group);
  REQUIRE(volt_group_spawn(&group, h.rt, volt_fiber_new(h.rt, child, NULL, NULL)) == VOLT_OK);
  got.result[0] = volt_group_wait(&group);
  trace_note(&seen, 'e');
  got.result[1] = await_permit();
  volt_group_destroy(&group);
  return VOLT_OK;
}

static void a_cancelled_wait_for_a_group_goes_on_until_all_have_ended(void **state) {
  (void)state;
  volt_task *t = start_fiber(parent, NULL);
  cancel(t);
  assert_true(volt_group_is_cancelled(&group));
  expect_trace("");
  release(1); /* to the child */
  expect_trace("e");
  release(1);
  EXPECT_RESULTS(VOLT_ECANCELED, VOLT_OK);
  expect_end(t, VOLT_OK);
}

typedef struct gate {
  volt_parker open;
  VOLT_ATOMIC(uint32_t) began;
} gate;

static int holds(void *arg) {
  gate *g = (gate *)arg;
  volt_store_release(&g->began, 1); /* the test sees that the call runs */
  REQUIRE(volt_park_until(&g->open, 1, VOLT_NO_DEADLINE) == VOLT_OK);
  return 5;
}

static void expect_began(gate *g) {
  WAIT_UNTIL(volt_load_acquire(&g->began) == 1);
}

/* Other tasks run meanwhile: so the fiber is suspended. */
static void run_until_ended(volt_task *t) {
  WAIT_UNTIL((by_hand_run(&h), volt_task_result(t) != VOLT_PENDING));
}

static int calls_out(void *arg) {
  got.result[0] = volt_fiber_offload(holds, arg);
  got.result[1] = await_permit();
  return VOLT_OK;
}

static void a_call_that_runs_is_awaited(void **state) {
  (void)state;
  gate g = {VOLT_PARKER_INIT, 0};
  volt_task *t = start_fiber(calls_out, &g);
  expect_began(&g);
  cancel(t);
  assert_result(volt_task_result(t), VOLT_PENDING);
  volt_unpark(&g.open);
  run_until_ended(t);
  assert_int_equal(got.result[0], 5);
  assert_result(got.result[1], VOLT_ECANCELED);
  expect_end(t, VOLT_OK);
}

/* ---- deadlines ---- */

enum { LATER = 1000 };

static int waits_until(void *arg) {
  volt_future f;
  uint64_t deadline_ns = volt_deadline_ns(LATER);
  REQUIRE(deadline_ns == volt_rt_now_ns(h.rt) + LATER); /* its runtime's clock */
  (void)arg;
  got.result[0] = volt_future_wait_until(volt_sem_acquire_future(&f, &sem, 1), deadline_ns);
  got.result[1] = volt_future_wait(&f);
  return VOLT_OK;
}

static void a_deadline_passes(void **state) {
  (void)state;
  volt_task *t = start_fiber(waits_until, NULL);
  assert_int_equal(by_hand_run(&h), LATER);
  volt_rt_advance(h.rt, LATER - 1);
  by_hand_run(&h);
  assert_result(volt_task_result(t), VOLT_PENDING);
  volt_rt_advance(h.rt, 1);
  assert_int_equal(by_hand_run(&h), VOLT_NO_DEADLINE);
  EXPECT_RESULTS(VOLT_ETIMEDOUT, VOLT_ETIMEDOUT);
  expect_end(t, VOLT_OK);
}

static void before_the_deadline_it_is_granted(void **state) {
  (void)state;
  volt_task *t = start_fiber(waits_until, NULL);
  volt_rt_advance(h.rt, LATER - 1);
  release(1);
  EXPECT_RESULTS(VOLT_OK, VOLT_OK);
  expect_end(t, VOLT_OK);
  assert_int_equal(by_hand_run(&h), VOLT_NO_DEADLINE); /* no timer is left */
}

/* Both wakes are under way as the fiber runs: it may end only after both. */
static void the_grant_and_the_deadline_come_together(void **state) {
  (void)state;
  volt_task *t = start_fiber(waits_until, NULL);
  volt_sem_release(&sem, 1);
  volt_rt_advance(h.rt, LATER);
  by_hand_run(&h);
  EXPECT_RESULTS(VOLT_OK, VOLT_OK);
  expect_end(t, VOLT_OK);
  by_hand_expect_live(&h, 0);
}

static void a_wait_with_a_deadline_is_cancelled(void **state) {
  (void)state;
  volt_task *t = start_fiber(waits_until, NULL);
  cancel(t);
  EXPECT_RESULTS(VOLT_ECANCELED, VOLT_ECANCELED);
  expect_end(t, VOLT_OK);
  assert_int_equal(by_hand_run(&h), VOLT_NO_DEADLINE);
}

static int does_not_wait(void *arg) {
  volt_future f;
  (void)arg;
  got.result[0] = volt_future_wait_until(volt_sem_acquire_future(&f, &sem, 1), PAST_DEADLINE);
  got.result[1] = volt_sem_acquire_until(&sem, 1, PAST_DEADLINE);
  got.result[2] = volt_sem_acquire_until(&sem, 1, volt_deadline_ns(0));
  return VOLT_OK;
}

static void a_deadline_that_has_passed_still_tries(void **state) {
  (void)state;
  volt_rt_advance(h.rt, LATER);
  volt_sem_release(&sem, 2);
  run_fiber(does_not_wait, NULL, VOLT_OK);
  EXPECT_RESULTS(VOLT_OK, VOLT_OK, VOLT_ETIMEDOUT);
}

enum { MORE_THAN_ITS_BUDGET = 2 * VOLT_CTX_BUDGET + 2 };

static int does_not_wait_often(void *arg) {
  volt_future f;
  (void)arg;
  for (unsigned i = 0; i < MORE_THAN_ITS_BUDGET; i++) {
    REQUIRE(volt_future_wait_until(volt_sem_acquire_future(&f, &sem, 1), PAST_DEADLINE) == VOLT_OK);
    volt_sem_release(&sem, 1);
  }
  return VOLT_OK;
}

/* Now and then such a call lets others run before it tries. */
static void however_often_a_deadline_has_passed_each_call_tries(void **state) {
  (void)state;
  volt_rt_advance(h.rt, LATER);
  volt_sem_release(&sem, 1);
  run_fiber(does_not_wait_often, NULL, VOLT_OK);
}

static int calls_out_until(void *arg) {
  volt_blocking b;
  got.result[0] =
      volt_future_wait_until(volt_blocking_future(&b, h.rt, holds, arg), volt_deadline_ns(LATER));
  got.result[1] = volt_future_wait(&b.future);
  return VOLT_OK;
}

/* As a thread in volt_future_wait_until(), which waits for it, too. */
static void at_its_deadline_a_call_that_runs_is_awaited(void **state) {
  (void)state;
  gate g = {VOLT_PARKER_INIT, 0};
  volt_task *t = start_fiber(calls_out_until, &g);
  expect_began(&g);
  volt_rt_advance(h.rt, LATER);
  by_hand_run(&h);
  assert_result(volt_task_result(t), VOLT_PENDING);
  volt_unpark(&g.open);
  run_until_ended(t);
  assert_int_equal(got.result[0], 5);
  assert_int_equal(got.result[1], 5);
  expect_end(t, VOLT_OK);
}

static int naps(void *arg) {
  uint64_t now_ns = volt_rt_now_ns(h.rt);
  (void)arg;
  got.result[0] = volt_sleep_until(now_ns + 10);
  trace_note(&seen, '1');
  got.result[1] = volt_sleep_until(now_ns); /* it has come */
  trace_note(&seen, '2');
  got.result[2] = volt_sleep(10);
  return VOLT_OK;
}

static void it_sleeps_by_its_runtimes_clock(void **state) {
  (void)state;
  volt_task *t = start_fiber(naps, NULL);
  expect_trace("");
  volt_rt_advance(h.rt, 10);
  by_hand_run(&h);
  expect_trace("12");
  cancel(t);
  EXPECT_RESULTS(VOLT_OK, VOLT_OK, VOLT_ECANCELED);
  expect_end(t, VOLT_OK);
}

static void a_thread_sleeps_too(void **state) {
  (void)state;
  uint64_t deadline_ns = volt_deadline_ns(1000);
  assert_result(volt_sleep_until(deadline_ns), VOLT_OK);
  assert_true(volt_now_ns() >= deadline_ns);
  deadline_ns = volt_deadline_ns(1000);
  assert_result(volt_sleep(1000), VOLT_OK);
  assert_true(volt_now_ns() >= deadline_ns);
}

/* ---- the end of the runtime ---- */

static void the_runtimes_end_cancels_it(void **state) {
  (void)state;
  by_hand own;
  by_hand_begin(&own);
  for (int i = 0; i < 3; i++) {
    assert_result(volt_fiber_spawn(own.rt, waits_twice, NULL), VOLT_OK);
    by_hand_run(&own);
  }
  volt_sem_release(&sem, 1); /* the first; it waits again */
  assert_result(volt_rt_shutdown(own.rt, volt_deadline_ns(0)), VOLT_ETIMEDOUT);
  assert_int_equal(by_hand_stats(&own).live, 2); /* they ignore it */
  volt_sem_release(&sem, 2);
  by_hand_end(&own, 3);
}

/* ---- a wait within the poll of another ---- */

typedef struct inner {
  volt_async async;
  char letter;
  int result;
} inner;

/* Not a good way to write it, but a way: it waits in its poll, and what polls it waits with it. */
static int inner_poll(volt_async *a, volt_ctx *ctx) {
  inner *self = volt_container_of(a, inner, async);
  (void)ctx;
  trace_note(&seen, self->letter);
  self->result = await_permit();
  trace_note(&seen, (char)(self->letter - 'a' + 'A'));
  return VOLT_OK;
}

static volt_sem never;

static int selects(void *arg) {
  inner in = {.letter = *(char *)arg};
  volt_select select;
  volt_future other;
  volt_future *either[2] = {volt_sem_acquire_future(&other, &never, 1),
                            volt_async_future(&in.async, inner_poll)};
  int result = volt_future_wait(volt_select_future(&select, either, 2, VOLT_SELECT_BIASED));
  REQUIRE(in.result == VOLT_OK && volt_select_winner(&select) == 1);
  return result;
}

static void waits_within_polls_do_not_meet(void **state) {
  (void)state;
  char a = 'a';
  char b = 'b';
  volt_sem_init(&never, 0);
  volt_task *first = start_fiber(selects, &a);
  volt_task *second = start_fiber(selects, &b);
  expect_trace("ab");
  volt_task *task = start_fiber(waits_twice, NULL); /* in no select */
  release(1);
  release(1);
  release(2);
  expect_trace("abAB");
  EXPECT_RESULTS(VOLT_OK, VOLT_OK);
  expect_end(task, VOLT_OK);
  expect_end(first, VOLT_OK);
  expect_end(second, VOLT_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      CALLS_TEST(the_wait_it_is_in_is_cancelled),
      CALLS_TEST(before_it_begins_a_cancel_meets_its_first_wait),
      CALLS_TEST(a_call_that_need_not_wait_does_not_look),
      CALLS_TEST(a_yield_is_cancelled),
      CALLS_TEST(a_loop_that_never_waits_ends_when_it_has_to_let_others_run),
      CALLS_TEST(a_grant_that_is_not_polled_is_given_back),
      CALLS_TEST(it_may_cancel_itself),
      CALLS_TEST(a_shield_keeps_a_cancel_for_later),
      CALLS_TEST(elsewhere_shields_do_nothing),
      CALLS_TEST(a_cancelled_wait_for_a_group_goes_on_until_all_have_ended),
      CALLS_TEST(a_call_that_runs_is_awaited),
      CALLS_TEST(a_deadline_passes),
      CALLS_TEST(before_the_deadline_it_is_granted),
      CALLS_TEST(the_grant_and_the_deadline_come_together),
      CALLS_TEST(a_wait_with_a_deadline_is_cancelled),
      CALLS_TEST(a_deadline_that_has_passed_still_tries),
      CALLS_TEST(however_often_a_deadline_has_passed_each_call_tries),
      CALLS_TEST(at_its_deadline_a_call_that_runs_is_awaited),
      CALLS_TEST(it_sleeps_by_its_runtimes_clock),
      CALLS_TEST(a_thread_sleeps_too),
      CALLS_TEST(the_runtimes_end_cancels_it),
      CALLS_TEST(waits_within_polls_do_not_meet),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
