/* select_channel_test.c: selects whose branches are sends and receives: an element is moved for one
 * branch only, whatever is ready in the same instant, and the books of whoever polls balance. */
#include "select_channel.h"

/* ---- one direction ---- */

static void what_is_there_is_received_by_one(void **state) {
  for (unsigned how = VOLT_SELECT_FAIR; how <= VOLT_SELECT_BIASED; how++) {
    for (uint32_t i = 0; i < CHANNELS; i++) {
      set_up(state);
      send(i, 7);
      select_of(CHANNELS, how);
      expect_poll(VOLT_OK, i);
      expect_only(CHANNELS, i);
      assert_int_equal(in[i], 7);
      for (uint32_t j = 0; j < CHANNELS; j++) expect_empty(j);
      tear_down(state);
    }
  }
}

static void all_are_there_one_is_received(void **state) {
  for (unsigned how = VOLT_SELECT_FAIR; how <= VOLT_SELECT_BIASED; how++) {
    for (int turn = 0; turn < 20; turn++) {
      set_up(state);
      for (uint32_t i = 0; i < CHANNELS; i++) send(i, 10 + i);
      select_of(CHANNELS, how);
      assert_result(poller_poll(&p, &s.future), VOLT_OK);
      uint32_t winner = volt_select_winner(&s);
      assert_true(winner < CHANNELS && (how == VOLT_SELECT_FAIR || winner == 0));
      expect_only(CHANNELS, winner);
      for (uint32_t i = 0; i < CHANNELS; i++) {
        assert_int_equal(in[i], i == winner ? 10 + i : 0);
        if (i != winner) expect_received(i, 10 + i);
      }
      tear_down(state);
    }
  }
}

static void who_waits_gets_the_first_that_comes(void **state) {
  for (uint32_t i = 0; i < CHANNELS; i++) {
    set_up(state);
    select_of(CHANNELS, VOLT_SELECT_FAIR);
    expect_pending();
    poller_expect(&p, CHANNELS, 0, 0);
    for (uint32_t j = 0; j < CHANNELS; j++) assert_int_equal(volt_chan_waiters(&chan[j]), 1);
    send(i, 7);
    poller_expect(&p, CHANNELS, 1, 0);
    assert_int_equal(in[i], 7); /* handed over, whenever it is polled */
    expect_poll(VOLT_OK, i);
    poller_expect(&p, CHANNELS, 1, CHANNELS - 1);
    expect_only(CHANNELS, i);
    for (uint32_t j = 0; j < CHANNELS; j++) expect_empty(j);
    tear_down(state);
  }
}

/* Two become ready in the same instant: the second finds that it is decided, and keeps its own. */
static void two_in_one_instant(void **state) {
  for (unsigned how = VOLT_SELECT_FAIR; how <= VOLT_SELECT_BIASED; how++) {
    for (uint32_t i = 0; i < CHANNELS * CHANNELS; i++) {
      uint32_t first = i / CHANNELS;
      uint32_t second = i % CHANNELS;
      set_up(state);
      select_of(CHANNELS, how);
      expect_pending();
      send(first, 7);
      send(second, 8);
      expect_poll(VOLT_OK, first);
      expect_only(CHANNELS, first);
      assert_int_equal(in[first], 7);
      expect_received(second, 8);
      if (first != second) assert_int_equal(in[second], 0);
      for (uint32_t j = 0; j < CHANNELS; j++) expect_empty(j);
      tear_down(state);
    }
  }
}

/* The one that is dismissed has the next behind it: that one is served. */
static void who_waits_behind_a_select_is_served(void **state) {
  (void)state;
  volt_waiter w = VOLT_WAITER_INIT;
  uint32_t elem = 0;
  select_of(2, VOLT_SELECT_FAIR);
  expect_pending();
  assert_result(volt_chan_recv_waiter(&chan[1], &w, &elem, fake_waker_of(&other)), VOLT_PENDING);
  send(0, 7);
  send(1, 8);
  assert_result(volt_waiter_result(&w), VOLT_OK);
  assert_int_equal(elem, 8);
  assert_int_equal(fake_waker_calls(&other), 1);
  expect_poll(VOLT_OK, 0);
  poller_expect(&p, 2, 1, 1);
}

static void a_send_that_waits_is_one_of_them(void **state) {
  for (uint32_t granted = 0; granted < 2; granted++) {
    set_up(state);
    fill(1);
    branches[1] = volt_chan_send_future(&f[1], &chan[1], &out[1]);
    select_of(2, VOLT_SELECT_FAIR);
    expect_pending();
    if (granted == 0) send(0, 7);
    expect_received(1, 1); /* makes room, in the same instant or first */
    if (granted == 1) send(0, 7);
    expect_poll(VOLT_OK, granted);
    expect_only(2, granted);
    expect_received(1, 2);
    if (granted == 1) {
      expect_received(1, out[1]);
      expect_received(0, 7);
    } else {
      assert_int_equal(in[0], 7);
    }
    expect_empty(0);
    expect_empty(1);
    tear_down(state);
  }
}

static void all_send_one_is_sent(void **state) {
  for (int waits = 0; waits < 2; waits++) {
    set_up(state);
    for (uint32_t i = 0; i < CHANNELS; i++) {
      if (waits) fill(i);
      branches[i] = volt_chan_send_future(&f[i], &chan[i], &out[i]);
    }
    select_of(CHANNELS, VOLT_SELECT_BIASED);
    if (waits) {
      expect_pending();
      for (uint32_t i = CHANNELS; i-- > 0;) expect_received(i, 1);
    }
    expect_poll(VOLT_OK, waits ? CHANNELS - 1 : 0);
    expect_only(CHANNELS, volt_select_winner(&s));
    for (uint32_t i = 0; i < CHANNELS; i++) {
      if (waits) expect_received(i, 2);
      if (i == volt_select_winner(&s)) expect_received(i, out[i]);
      expect_empty(i);
    }
    tear_down(state);
  }
}

/* ---- one channel ---- */

static void the_same_channel_twice(void **state) {
  (void)state;
  branches[1] = volt_chan_recv_future(&f[1], &chan[0], &in[1]);
  select_of(2, VOLT_SELECT_BIASED);
  expect_pending();
  assert_int_equal(volt_chan_waiters(&chan[0]), 2);
  send(0, 7);
  send(0, 8);
  expect_poll(VOLT_OK, 0);
  expect_only(2, 0);
  assert_int_equal(in[0], 7);
  assert_int_equal(in[1], 0);
  expect_received(0, 8);
  expect_empty(0);
}

/* A select does not send to itself: each direction meets others only. */
static void both_directions_of_one_channel(void **state) {
  for (int sends_first = 0; sends_first < 2; sends_first++) {
    for (uint32_t len = 0; len <= CAPACITY; len++) {
      set_up(state);
      for (uint32_t elem = 1; elem <= len; elem++) send(0, elem);
      int sends = sends_first ? 0 : 1;
      branches[1 - sends] = volt_chan_recv_future(&f[1 - sends], &chan[0], &in[1 - sends]);
      branches[sends] = volt_chan_send_future(&f[sends], &chan[0], &out[sends]);
      select_of(2, VOLT_SELECT_BIASED);
      uint32_t winner = sends_first ? (len == CAPACITY ? 1 : 0) : (len == 0 ? 1 : 0);
      expect_poll(VOLT_OK, winner);
      expect_only(2, winner);
      bool sent = winner == (uint32_t)sends;
      for (uint32_t elem = sent ? 1 : 2; elem <= len; elem++) expect_received(0, elem);
      if (sent) expect_received(0, out[sends]);
      assert_int_equal(in[1 - sends], sent ? 0 : 1);
      expect_empty(0);
      tear_down(state);
    }
  }
}

/* The receive waits behind another's, to whom the send then hands its element. */
static void a_send_past_its_own_receive(void **state) {
  (void)state;
  volt_waiter w = VOLT_WAITER_INIT;
  uint32_t elem = 0;
  branches[1] = volt_chan_send_future(&f[1], &chan[0], &out[1]);
  assert_result(volt_chan_recv_waiter(&chan[0], &w, &elem, fake_waker_of(&other)), VOLT_PENDING);
  select_of(2, VOLT_SELECT_BIASED);
  expect_poll(VOLT_OK, 1);
  expect_only(2, 1);
  assert_int_equal(elem, out[1]); /* to whoever was first in the FIFO */
  assert_int_equal(in[0], 0);
  expect_empty(0);
}

/* ---- keep ---- */

static void keep_receives_one_after_the_other(void **state) {
  (void)state;
  for (uint32_t i = 0; i < CHANNELS; i++) {
    select_of(CHANNELS, VOLT_SELECT_KEEP);
    expect_pending();
    send(i, 7 + i);
    expect_poll(VOLT_OK, i);
    assert_int_equal(in[i], 7 + i);
    branches[i] = NULL;
  }
  for (uint32_t i = 0; i < CHANNELS; i++) expect_empty(i);
}

/* Both are granted, none is lost: the second waits for the next select. */
static void keep_has_both(void **state) {
  (void)state;
  select_of(2, VOLT_SELECT_BIASED | VOLT_SELECT_KEEP);
  expect_pending();
  send(1, 8);
  send(0, 7);
  expect_poll(VOLT_OK, 0);
  branches[0] = NULL;
  select_of(2, VOLT_SELECT_BIASED | VOLT_SELECT_KEEP);
  expect_poll(VOLT_OK, 1);
  assert_int_equal(in[0], 7);
  assert_int_equal(in[1], 8);
}

/* One of an inner select was granted, the other dismissed, when the outer one turns to something
 * else: neither refers to its poller any more, and what was moved is there when it is looked at. */
static void keep_leaves_what_was_decided(void **state) {
  (void)state;
  volt_select outer;
  select_of(2, VOLT_SELECT_BIASED);
  add_permit(2);
  volt_future *both[] = {branches[2], &s.future};
  volt_future_made(volt_select_future(&outer, both, 2, VOLT_SELECT_BIASED | VOLT_SELECT_KEEP));
  assert_result(poller_poll(&p, &outer.future), VOLT_PENDING);
  send(0, 7);
  send(1, 8);
  volt_sem_release(&sem, 1);
  assert_result(poller_poll(&p, &outer.future), VOLT_OK);
  assert_int_equal(volt_select_winner(&outer), 0);
  poller_expect(&p, 3, 2, 1);
  expect_poll(VOLT_OK, 0);
  poller_expect(&p, 3, 2, 1);
  assert_int_equal(in[0], 7);
  expect_received(1, 8);
}

/* ---- given up ---- */

static void given_up_nothing_is_moved(void **state) {
  (void)state;
  fill(1);
  branches[1] = volt_chan_send_future(&f[1], &chan[1], &out[1]);
  select_of(2, VOLT_SELECT_FAIR);
  expect_pending();
  volt_future_cancel(&s.future);
  expect_poll(VOLT_ECANCELED, UINT32_MAX);
  expect_only(2, UINT32_MAX);
  poller_expect_dropped(&p, 2);
  for (uint32_t elem = 1; elem <= CAPACITY; elem++) expect_received(1, elem);
  expect_empty(0);
  expect_empty(1);
}

static void given_up_in_the_instant_of_a_grant(void **state) {
  for (int how = 0; how < 2; how++) {
    set_up(state);
    select_of(2, VOLT_SELECT_FAIR);
    expect_pending();
    send(1, 7);
    send(0, 8);
    if (how == 0) volt_future_cancel(&s.future);
    if (how == 1) p.ctx.cancel = VOLT_CTX_CANCEL_ONCE;
    expect_poll(VOLT_OK, 1);
    expect_only(2, 1);
    assert_int_equal(in[1], 7);
    expect_received(0, 8);
    tear_down(state);
  }
}

static void a_deadline_in_the_instant_of_a_grant(void **state) {
  (void)state;
  select_of(2, VOLT_SELECT_FAIR);
  assert_result(volt_future_wait_until(&s.future, PAST_DEADLINE), VOLT_ETIMEDOUT);
  expect_only(2, UINT32_MAX);
  set_up(state);
  select_of(2, VOLT_SELECT_FAIR);
  expect_pending();
  send(1, 7);
  assert_result(volt_future_wait_until(&s.future, PAST_DEADLINE), VOLT_OK);
  assert_int_equal(volt_select_winner(&s), 1);
  assert_int_equal(in[1], 7);
}

static void given_up_a_receive_that_was_granted_stands(void **state) {
  for (int sends = 0; sends < 2; sends++) {
    set_up(state);
    if (sends) {
      fill(0);
      volt_future_made(volt_chan_send_future(&f[0], &chan[0], &out[0]));
    }
    assert_result(poller_poll(&p, &f[0]), VOLT_PENDING);
    if (sends) expect_received(0, 1);
    if (!sends) send(0, 7);
    volt_future_cancel(&f[0]);
    assert_result(poller_poll(&p, &f[0]), VOLT_OK);
    poller_expect(&p, 1, 1, 0);
    if (sends) {
      expect_received(0, 2);
      expect_received(0, out[0]);
    } else {
      assert_int_equal(in[0], 7);
    }
    expect_empty(0);
    tear_down(state);
  }
}

/* ---- closed ---- */

static void a_closed_channel_wins(void **state) {
  (void)state;
  select_of(2, VOLT_SELECT_FAIR);
  expect_pending();
  volt_chan_close(&chan[1]);
  expect_poll(VOLT_ECLOSED, 1);
  expect_branch(0, VOLT_ECANCELED);
  poller_expect(&p, 2, 1, 1);
}

/* An element that was moved goes before the news that another channel is closed. */
static void closed_in_the_instant_of_a_grant(void **state) {
  for (int closed_first = 0; closed_first < 2; closed_first++) {
    for (uint32_t closed = 0; closed < 2; closed++) {
      set_up(state);
      select_of(2, VOLT_SELECT_BIASED);
      expect_pending();
      if (closed_first) volt_chan_close(&chan[closed]);
      send(1 - closed, 7);
      if (!closed_first) volt_chan_close(&chan[closed]);
      expect_poll(VOLT_OK, 1 - closed);
      assert_int_equal(in[1 - closed], 7);
      expect_empty(1 - closed);
      tear_down(state);
    }
  }
}

/* ==== what a branch had done when another one won is undone ====
 *
 * What is the owner's already is not; and a branch that was queued before it came into a select. */

/* The tick was due when the element came: it is due again. */
static void a_tick_is_not_used_up(void **state) {
  (void)state;
  volt_interval interval;
  volt_interval_init(&interval, &timers, 100, 100, VOLT_INTERVAL_BURST);
  branches[1] = branches[0];
  branches[0] = volt_interval_tick_future(&interval);
  select_of(2, VOLT_SELECT_BIASED);
  expect_pending();
  send(0, 7);
  assert_int_equal(volt_timers_expire(&timers, 100), 1);
  expect_poll(VOLT_OK, 1);
  assert_int_equal(in[0], 7);
  assert_int_equal(volt_interval_due_ns(&interval), 0); /* none has been reported */
  volt_future *tick = volt_interval_tick_future(&interval);
  assert_result(poller_poll(&p, tick), VOLT_OK);
  assert_int_equal(volt_interval_due_ns(&interval), 100);
  tick = volt_interval_tick_future(&interval);
  assert_result(poller_poll(&p, tick), VOLT_PENDING); /* 200 is still to come */
  volt_future_cancel(tick);
}

/* A permit that the caller has seen is the caller's, whatever it is put into afterwards. */
static void what_was_seen_is_not_given_back(void **state) {
  (void)state;
  volt_sem_release(&sem, 1);
  assert_result(poller_poll(&p, volt_sem_acquire_future(&permit, &sem, 1)), VOLT_OK);
  volt_future_made(volt_timeout_future(&timeout, &permit, &timers, 10));
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
  assert_result(volt_once_begin_waiter(&once, &w, (volt_waker){NULL, NULL}), VOLT_OK);
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
      A_TEST(what_is_there_is_received_by_one),
      A_TEST(all_are_there_one_is_received),
      A_TEST(who_waits_gets_the_first_that_comes),
      A_TEST(two_in_one_instant),
      A_TEST(who_waits_behind_a_select_is_served),
      A_TEST(a_send_that_waits_is_one_of_them),
      A_TEST(all_send_one_is_sent),
      A_TEST(the_same_channel_twice),
      A_TEST(both_directions_of_one_channel),
      A_TEST(a_send_past_its_own_receive),
      A_TEST(keep_receives_one_after_the_other),
      A_TEST(keep_has_both),
      A_TEST(keep_leaves_what_was_decided),
      A_TEST(given_up_nothing_is_moved),
      A_TEST(given_up_in_the_instant_of_a_grant),
      A_TEST(a_deadline_in_the_instant_of_a_grant),
      A_TEST(given_up_a_receive_that_was_granted_stands),
      A_TEST(a_closed_channel_wins),
      A_TEST(closed_in_the_instant_of_a_grant),
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
  return cmocka_run_group_tests_name("select over channels", tests, NULL, NULL);
}
