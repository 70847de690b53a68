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

int main(void) {
  const struct CMUnitTest tests[] = {
      A_TEST(a_tick_is_not_used_up),        A_TEST(what_was_seen_is_not_given_back),
      A_TEST(kept_branches_get_a_decision), A_TEST(granted_before_it_is_selected),
      A_TEST(a_join_counts_every_success),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
