/* select_undo_test.c: what a branch had done when another one took the decision is undone, and what
 * is the caller's already is not; a branch that was queued before it came into a select. */
#include "select_channel.h"

/* The tick was due when the element came: it is due again. */
static void a_tick_is_not_used_up(void **state) {
  (void)state;
  volt_interval interval;
  volt_interval_init(&interval, &timers, 100, 100, VOLT_INTERVAL_BURST);
  branches[1] = branches[0];
  branches[0] = volt_interval_tick(&interval);
  select_of(2, VOLT_SELECT_BIASED);
  expect_pending();
  send(0, 7);
  assert_int_equal(volt_timers_expire(&timers, 100), 1);
  expect_poll(VOLT_OK, 1);
  assert_int_equal(in[0], 7);
  assert_int_equal(volt_interval_due_ns(&interval), 0); /* none has been reported */
  volt_future *tick = volt_interval_tick(&interval);
  assert_result(poller_poll(&p, tick), VOLT_OK);
  assert_int_equal(volt_interval_due_ns(&interval), 100);
  tick = volt_interval_tick(&interval);
  assert_result(poller_poll(&p, tick), VOLT_PENDING); /* 200 is still to come */
  volt_future_cancel(tick);
}

/* A permit that the caller has seen is the caller's, whatever it is put into afterwards. */
static void what_was_seen_is_not_given_back(void **state) {
  (void)state;
  volt_sem_release(&sem, 1);
  assert_result(poller_poll(&p, volt_sem_acquire_future(&permit, &sem, 1)), VOLT_OK);
  volt_timeout_future(&timeout, &permit, &timers, 10);
  p.ctx.cancel = VOLT_CTX_CANCEL_ONCE;
  assert_result(poller_poll(&p, &timeout.future), VOLT_ECANCELED);
  assert_int_equal(volt_sem_available(&sem), 0);
}

/* Kept by one select, and then in one that keeps nothing: one of them moves an element. */
static void kept_branches_get_a_decision(void **state) {
  (void)state;
  select_of(2, VOLT_SELECT_FAIR | VOLT_SELECT_KEEP);
  expect_pending();
  volt_future_cancel(&s.future);
  assert_int_equal(volt_chan_waiters(&chan[0]), 1);
  select_of(2, VOLT_SELECT_BIASED);
  expect_pending();
  send(1, 7);
  send(0, 8);
  expect_poll(VOLT_OK, 1);
  expect_only(2, 1);
  assert_int_equal(in[1], 7);
  assert_int_equal(in[0], 0);
  expect_received(0, 8);
}

/* The same, and the element came before the select did. */
static void granted_before_it_is_selected(void **state) {
  (void)state;
  assert_result(poller_poll(&p, branches[1]), VOLT_PENDING);
  send(1, 7);
  select_of(2, VOLT_SELECT_BIASED);
  expect_poll(VOLT_OK, 1);
  expect_only(2, 1);
  assert_int_equal(in[1], 7);
  expect_empty(0);
}

/* Of a join, a leader and one that finds it done have succeeded. */
static void a_join_counts_every_success(void **state) {
  (void)state;
  volt_barrier barrier = VOLT_BARRIER_INIT(1);
  volt_once once = VOLT_ONCE_INIT;
  volt_future leads;
  volt_future done;
  volt_waiter w = VOLT_WAITER_INIT;
  assert_result(volt_once_begin(&once, &w, (volt_waker){NULL, NULL}), VOLT_OK);
  volt_once_done(&once);
  volt_future *all[] = {volt_barrier_wait_future(&leads, &barrier),
                        volt_once_begin_future(&done, &once),
                        volt_sem_acquire_future(&permit, &sem, 1)};
  volt_join join;
  volt_future *f_all = volt_join_future(&join, all, 3, VOLT_JOIN_FAIL_FAST);
  assert_result(poller_poll(&p, f_all), VOLT_PENDING);
  volt_sem_release(&sem, 1);
  assert_result(poller_poll(&p, f_all), VOLT_OK);
  volt_barrier_destroy(&barrier);
  volt_once_destroy(&once);
}

/* A join was ready when it turned out that an element had won: its permits are given back. */
static void a_join_gives_back(void **state) {
  for (uint32_t how = VOLT_JOIN_ALL; how <= VOLT_JOIN_FAIL_FAST; how++) {
    set_up(state);
    volt_future second;
    volt_join join;
    volt_future *both[] = {volt_sem_acquire_future(&permit, &sem, 1), NULL,
                           volt_sem_acquire_future(&second, &sem, 1)};
    branches[1] = branches[0];
    branches[0] = volt_join_future(&join, both, 3, how);
    select_of(2, VOLT_SELECT_BIASED);
    expect_pending();
    volt_sem_release(&sem, 2);
    send(0, 7);
    expect_poll(VOLT_OK, 1);
    expect_only(2, 1);
    assert_int_equal(in[0], 7);
    assert_int_equal(volt_sem_available(&sem), 2);
    assert_result(poller_poll(&p, &permit), VOLT_ECANCELED);
    assert_result(poller_poll(&p, &second), VOLT_ECANCELED);
    expect_empty(0);
    tear_down(state);
  }
}

/* It was not: what one of its branches got before stays that one's. */
static void a_join_that_was_not_ready_gives_nothing_back(void **state) {
  (void)state;
  volt_future second;
  volt_join join;
  volt_future *both[] = {volt_sem_acquire_future(&permit, &sem, 1),
                         volt_sem_acquire_future(&second, &sem, 1)};
  branches[1] = branches[0];
  branches[0] = volt_join_future(&join, both, 2, VOLT_JOIN_ALL);
  select_of(2, VOLT_SELECT_BIASED);
  expect_pending();
  volt_sem_release(&sem, 1);
  expect_pending();
  send(0, 7);
  expect_poll(VOLT_OK, 1);
  expect_only(2, 1);
  assert_int_equal(volt_sem_available(&sem), 0);
  assert_result(poller_poll(&p, &permit), VOLT_OK);
  assert_result(poller_poll(&p, &second), VOLT_ECANCELED);
}

/* It is of all, not of the first: what a join receives is not decided by the select it is in. */
static void a_join_receives_with_all_its_branches(void **state) {
  (void)state;
  volt_join join;
  volt_future *both[] = {branches[0], branches[1]};
  branches[0] = volt_join_future(&join, both, 2, VOLT_JOIN_ALL);
  add_permit(1);
  select_of(2, VOLT_SELECT_BIASED);
  expect_pending();
  send(0, 7);
  send(1, 8);
  expect_poll(VOLT_OK, 0);
  expect_only(2, 0);
  assert_int_equal(in[0], 7);
  assert_int_equal(in[1], 8);
}

static struct {
  volt_async async;
  volt_future inner;
} fn;

static int sends_then_waits(volt_async *a, volt_ctx *ctx) {
  (void)a;
  VOLT_ASYNC_BEGIN(&fn);
  send(0, 7);
  VOLT_AWAIT(&fn, volt_sem_acquire_future(&fn.inner, &sem, 1));
  VOLT_ASYNC_END(&fn);
}

/* Two have received: one before it came into the select, and one by its decision, while the
 * branches were looked at. That one has won, wherever it is. */
static void what_was_decided_has_won(void **state) {
  for (uint32_t at = 0; at < 2; at++) { /* of the one that received before */
    set_up(state);
    volt_future *here = branches[0];
    volt_future *before = branches[1];
    assert_result(poller_poll(&p, before), VOLT_PENDING);
    send(1, 8);
    memset((void *)&fn, 0, sizeof fn);
    volt_future *calls = volt_async_future(&fn.async, sends_then_waits);
    branches[0] = at == 0 ? before : here;
    branches[1] = at == 0 ? here : calls;
    branches[2] = at == 0 ? calls : before;
    select_of(3, VOLT_SELECT_FAIR);
    s.first = at == 0 ? 1 : 0; /* the one that is decided, the function, the other */
    expect_poll(VOLT_OK, at == 0 ? 1 : 0);
    assert_int_equal(in[0], 7);
    assert_int_equal(in[1], 8);
    assert_result(poller_poll(&p, before), VOLT_OK);
    tear_down(state);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      A_TEST(a_tick_is_not_used_up),
      A_TEST(what_was_seen_is_not_given_back),
      A_TEST(kept_branches_get_a_decision),
      A_TEST(granted_before_it_is_selected),
      A_TEST(a_join_counts_every_success),
      A_TEST(a_join_gives_back),
      A_TEST(a_join_that_was_not_ready_gives_nothing_back),
      A_TEST(a_join_receives_with_all_its_branches),
      A_TEST(what_was_decided_has_won),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
