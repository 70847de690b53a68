/* select_channel_mixed_test.c: selects of sends and receives with everything else: permits, sleeps,
 * timeouts, selects, functions that clean up. What can be given back gives way to an element. */
#include "select_channel.h"

/* ---- with other things ---- */

static void a_permit_in_the_same_instant_is_given_back(void **state) {
  for (uint32_t first = 0; first < 4; first++) {
    set_up(state);
    uint32_t at = first % 2; /* of the permit */
    bool element_first = first / 2 == 0;
    branches[1 - at] = volt_chan_recv_future(&f[0], &chan[0], &in[0]);
    add_permit(at);
    select_of(2, VOLT_SELECT_BIASED);
    expect_pending();
    if (element_first) send(0, 7);
    volt_sem_release(&sem, 1);
    if (!element_first) send(0, 7);
    expect_poll(VOLT_OK, 1 - at); /* what is moved is moved */
    expect_only(2, 1 - at);
    assert_int_equal(in[0], 7);
    assert_int_equal(volt_sem_available(&sem), 1);
    expect_empty(0);
    tear_down(state);
  }
}

static void a_permit_that_wins_leaves_the_element(void **state) {
  (void)state;
  add_permit(1);
  select_of(2, VOLT_SELECT_FAIR);
  expect_pending();
  volt_sem_release(&sem, 1);
  expect_poll(VOLT_OK, 1);
  expect_only(2, 1);
  send(0, 7);
  assert_int_equal(in[0], 0);
  expect_received(0, 7);
}

static void sleep_in_the_same_instant(void **state) {
  for (int first = 0; first < 3; first++) {
    set_up(state);
    branches[1] = branches[0];
    branches[0] = volt_sleep_future(&nap, &timers, 10);
    select_of(2, VOLT_SELECT_BIASED);
    expect_pending();
    if (first == 0) send(1 - 1, 7);
    assert_int_equal(volt_timers_expire(&timers, 10), 1);
    if (first == 1) send(0, 7);
    bool received = first < 2;
    expect_poll(VOLT_OK, received ? 1 : 0);
    expect_only(2, received ? 1 : 0);
    assert_int_equal(in[0], received ? 7 : 0);
    expect_empty(0);
    tear_down(state);
  }
}

/* The timeout of a branch. What is given back does not take effect, whatever its timeout says. */
static void a_timeout_is_a_branch(void **state) {
  for (int how = 0; how < 4; how++) {
    set_up(state);
    branches[0] =
        volt_timeout_future(&timeout, volt_sem_acquire_future(&permit, &sem, 1), &timers, 10);
    if (how == 3) {
      volt_future *inner = volt_chan_recv_future(&f[0], &chan[0], &in[0]);
      branches[0] = volt_timeout_future(&timeout, inner, &timers, 10);
    }
    select_of(2, VOLT_SELECT_BIASED);
    expect_pending();
    if (how != 3) send(1, 7);
    if (how == 3) send(0, 7);
    if (how == 1) volt_sem_release(&sem, 1);
    if (how >= 2) assert_int_equal(volt_timers_expire(&timers, 10), 1);
    expect_poll(VOLT_OK, how == 3 ? 0 : 1);
    assert_int_equal(in[how == 3 ? 0 : 1], 7);
    if (how == 1) assert_int_equal(volt_sem_available(&sem), 1);
    expect_empty(0);
    expect_empty(1);
    tear_down(state);
  }
}

static void a_select_inside_a_timeout(void **state) {
  for (int received = 0; received < 2; received++) {
    set_up(state);
    select_of(2, VOLT_SELECT_FAIR);
    volt_future_made(volt_timeout_future(&timeout, &s.future, &timers, 10));
    assert_result(poller_poll(&p, &timeout.future), VOLT_PENDING);
    if (received) send(1, 7);
    assert_int_equal(volt_timers_expire(&timers, 10), 1);
    assert_result(poller_poll(&p, &timeout.future), received ? VOLT_OK : VOLT_ETIMEDOUT);
    assert_int_equal(volt_select_winner(&s), received ? 1 : UINT32_MAX);
    expect_only(2, received ? 1 : UINT32_MAX);
    assert_int_equal(in[1], received ? 7 : 0);
    expect_empty(0);
    expect_empty(1);
    tear_down(state);
  }
}

/* The decision is the outermost one's. */
static void a_select_inside_a_select(void **state) {
  for (unsigned how = VOLT_SELECT_FAIR; how <= VOLT_SELECT_BIASED; how++) {
    for (uint32_t i = 0; i < CHANNELS * CHANNELS; i++) {
      set_up(state);
      uint32_t first = i / CHANNELS;
      uint32_t second = i % CHANNELS;
      volt_select outer;
      select_of(2, how);
      volt_future *both[] = {&s.future, branches[2]};
      volt_future_made(volt_select_future(&outer, both, 2, how));
      assert_result(poller_poll(&p, &outer.future), VOLT_PENDING);
      send(first, 7);
      send(second, 8);
      assert_result(poller_poll(&p, &outer.future), VOLT_OK);
      assert_int_equal(volt_select_winner(&outer), first < 2 ? 0 : 1);
      assert_int_equal(volt_select_winner(&s), first < 2 ? first : UINT32_MAX);
      expect_only(CHANNELS, first);
      assert_int_equal(in[first], 7);
      expect_received(second, 8);
      for (uint32_t j = 0; j < CHANNELS; j++) expect_empty(j);
      tear_down(state);
    }
  }
}

/* A permit of the inner select and an element of the outer one: the permit is given back. */
static void an_inner_permit_is_given_back(void **state) {
  for (unsigned how = VOLT_SELECT_BIASED; how <= (VOLT_SELECT_BIASED | VOLT_SELECT_KEEP);
       how += VOLT_SELECT_KEEP) {
    set_up(state);
    volt_select outer;
    add_permit(0);
    select_of(1, how);
    volt_future *both[] = {&s.future, branches[1]};
    volt_future_made(volt_select_future(&outer, both, 2, VOLT_SELECT_BIASED));
    assert_result(poller_poll(&p, &outer.future), VOLT_PENDING);
    volt_sem_release(&sem, 1);
    send(1, 7);
    assert_result(poller_poll(&p, &outer.future), VOLT_OK);
    assert_int_equal(volt_select_winner(&outer), 1);
    assert_int_equal(in[1], 7);
    assert_int_equal(volt_sem_available(&sem), 1);
    tear_down(state);
  }
}

/* ---- async functions ---- */

static struct {
  volt_async async;
  volt_future inner;
  uint32_t got;
  uint32_t *at;
} fn;

static int sends_then_waits(volt_async *a, volt_ctx *ctx) {
  (void)a;
  VOLT_ASYNC_BEGIN(&fn);
  send(0, 7);
  VOLT_AWAIT(&fn, volt_sem_acquire_future(&fn.inner, &sem, 1));
  VOLT_ASYNC_END(&fn);
}

static void begin_function(uint32_t at, volt_async_fn *poll) {
  memset((void *)&fn, 0, sizeof fn);
  branches[at] = volt_async_future(&fn.async, poll);
}

/* While the branches are looked at, one that is queued is granted: those that are looked at after
 * it take nothing, neither what is there nor a place to wait in. */
static void decided_while_the_branches_are_looked_at(void **state) {
  for (int there = 0; there < 2; there++) {
    set_up(state);
    if (there) send(2, 8);
    begin_function(1, sends_then_waits);
    select_of(3, VOLT_SELECT_BIASED);
    if (there) { /* it is seen at once that it is decided */
      expect_poll(VOLT_OK, 0);
      poller_expect(&p, 2, 1, 1);
    } else {
      expect_pending();
      poller_expect(&p, 3, 1, 0);
      expect_poll(VOLT_OK, 0);
      poller_expect(&p, 3, 1, 2);
    }
    assert_int_equal(in[0], 7);
    assert_int_equal(volt_chan_len(&chan[2]), there);
    expect_only(3, 0);
    assert_int_equal(in[2], 0);
    if (there) expect_received(2, 8);
    expect_empty(2);
    tear_down(state);
  }
}

/* The same, given up before it is polled again. */
static void decided_and_given_up(void **state) {
  (void)state;
  begin_function(1, sends_then_waits);
  select_of(3, VOLT_SELECT_BIASED);
  expect_pending();
  volt_future_cancel(&s.future);
  expect_poll(VOLT_OK, 0);
  expect_only(3, 0);
  poller_expect(&p, 3, 1, 2);
  send(2, 8);
  expect_received(2, 8);
}

/* The same, and another poller comes. */
static void decided_and_polled_by_another(void **state) {
  (void)state;
  begin_function(1, sends_then_waits);
  select_of(3, VOLT_SELECT_BIASED);
  expect_pending();
  assert_result(volt_future_poll(&s.future, fake_waker_of(&other)), VOLT_OK);
  expect_only(3, 0);
  poller_expect(&p, 3, 1, 2);
  send(2, 8);
  expect_received(2, 8);
}

static int receives_and_cleans_up(volt_async *a, volt_ctx *ctx) {
  (void)a;
  VOLT_ASYNC_BEGIN(&fn);
  VOLT_AWAIT(&fn, volt_chan_recv_future(&fn.inner, &chan[1], &fn.got));
  VOLT_FINALLY(&fn);
  VOLT_AWAIT(&fn, volt_sem_acquire_future(&fn.inner, &sem, 1));
  VOLT_ASYNC_END(&fn);
}

/* A branch that has to come to its end is awaited, and the element that won stays won. */
static void the_loser_cleans_up(void **state) {
  for (int given_up = 0; given_up < 2; given_up++) {
    set_up(state);
    begin_function(1, receives_and_cleans_up);
    select_of(2, VOLT_SELECT_BIASED);
    expect_pending();
    send(0, 7);
    assert_result(poller_poll(&p, &s.future), VOLT_PENDING);
    if (given_up) {
      volt_future_cancel(&s.future);
    } else {
      volt_sem_release(&sem, 1);
    }
    assert_int_equal(in[0], 7);
    expect_poll(VOLT_OK, 0); /* an element that was moved is not lost without a word */
    tear_down(state);
  }
}

/* A permit has won, and is given back if the whole is given up, or has no more time, before the
 * loser has cleaned up. */
static void a_permit_and_a_loser_that_cleans_up(void **state) {
  for (int timed = 0; timed < 2; timed++) {
    set_up(state);
    volt_sem more;
    volt_sem_init(&more, 0);
    begin_function(1, receives_and_cleans_up);
    branches[0] = volt_sem_acquire_future(&permit, &more, 1);
    select_of(2, VOLT_SELECT_BIASED);
    volt_future_made(volt_timeout_future(&timeout, &s.future, &timers, 10));
    volt_future *whole = timed ? &timeout.future : &s.future;
    assert_result(poller_poll(&p, whole), VOLT_PENDING);
    volt_sem_release(&more, 1);
    assert_result(poller_poll(&p, whole), VOLT_PENDING);
    assert_int_equal(volt_sem_available(&more), 0);
    if (timed) assert_int_equal(volt_timers_expire(&timers, 10), 1);
    if (timed) assert_result(poller_poll(&p, whole), VOLT_PENDING);
    if (timed) volt_sem_release(&sem, 1);
    if (!timed) volt_future_cancel(whole);
    assert_result(poller_poll(&p, whole), timed ? VOLT_ETIMEDOUT : VOLT_ECANCELED);
    assert_int_equal(volt_sem_available(&more), 1);
    expect_branch(0, VOLT_ECANCELED);
    tear_down(state);
  }
}

/* The inner select has an element, and waits for its loser to clean up; nothing else can win. */
static void an_inner_loser_cleans_up(void **state) {
  (void)state;
  volt_select outer;
  begin_function(1, receives_and_cleans_up);
  select_of(2, VOLT_SELECT_BIASED);
  volt_future *both[] = {&s.future, branches[2]};
  volt_future_made(volt_select_future(&outer, both, 2, VOLT_SELECT_BIASED));
  assert_result(poller_poll(&p, &outer.future), VOLT_PENDING);
  send(0, 7);
  assert_result(poller_poll(&p, &outer.future), VOLT_PENDING);
  send(2, 8);
  assert_result(poller_poll(&p, &outer.future), VOLT_PENDING);
  volt_sem_release(&sem, 1);
  assert_result(poller_poll(&p, &outer.future), VOLT_OK);
  assert_int_equal(volt_select_winner(&outer), 0);
  assert_int_equal(in[0], 7);
  assert_int_equal(in[2], 0);
  expect_received(2, 8);
}

/* The same, and nothing of the outer one is queued yet: what is there stays there. */
static void an_inner_loser_cleans_up_at_once(void **state) {
  (void)state;
  volt_select outer;
  volt_future *pair[] = {NULL, &f[0]};
  begin_function(1, receives_and_cleans_up);
  pair[0] = branches[1];
  volt_future_made(volt_select_future(&s, pair, 2, VOLT_SELECT_BIASED));
  volt_future *both[] = {&s.future, branches[2]};
  volt_future_made(volt_select_future(&outer, both, 2, VOLT_SELECT_BIASED));
  send(0, 7);
  send(2, 8);
  assert_result(poller_poll(&p, &outer.future), VOLT_PENDING);
  volt_sem_release(&sem, 1);
  assert_result(poller_poll(&p, &outer.future), VOLT_OK);
  assert_int_equal(volt_select_winner(&outer), 0);
  assert_int_equal(in[0], 7);
  assert_int_equal(in[2], 0);
  expect_received(2, 8);
}

/* The same with a permit, which is there all the time. */
static void an_inner_loser_cleans_up_beside_a_permit(void **state) {
  (void)state;
  volt_select outer;
  volt_sem more;
  volt_sem_init(&more, 0);
  volt_future_made(volt_sem_acquire_future(&permit, &more, 1));
  begin_function(1, receives_and_cleans_up);
  select_of(2, VOLT_SELECT_BIASED);
  volt_future *both[] = {&s.future, &permit};
  volt_future_made(volt_select_future(&outer, both, 2, VOLT_SELECT_BIASED));
  assert_result(poller_poll(&p, &outer.future), VOLT_PENDING);
  send(0, 7);
  volt_sem_release(&more, 1);
  (void)poller_poll(&p, &outer.future);
  volt_sem_release(&sem, 1);
  assert_result(poller_poll(&p, &outer.future), VOLT_OK);
  assert_int_equal(volt_select_winner(&outer), 0);
  assert_int_equal(in[0], 7);
  assert_int_equal(volt_sem_available(&more), 1);
}

/* The same, and its loser needs what an outer branch has got: that one is ended without delay. */
static void an_inner_loser_needs_what_an_outer_one_got(void **state) {
  (void)state;
  volt_select outer;
  volt_future_made(volt_sem_acquire_future(&permit, &sem, 1));
  begin_function(1, receives_and_cleans_up);
  select_of(2, VOLT_SELECT_BIASED);
  volt_future *both[] = {&s.future, &permit};
  volt_future_made(volt_select_future(&outer, both, 2, VOLT_SELECT_BIASED));
  assert_result(poller_poll(&p, &outer.future), VOLT_PENDING);
  send(0, 7);
  volt_sem_release(&sem, 1);
  (void)poller_poll(&p, &outer.future);
  assert_result(poller_poll(&p, &outer.future), VOLT_OK);
  assert_int_equal(volt_select_winner(&outer), 0);
  assert_int_equal(in[0], 7);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      A_TEST(a_permit_in_the_same_instant_is_given_back),
      A_TEST(a_permit_that_wins_leaves_the_element),
      A_TEST(sleep_in_the_same_instant),
      A_TEST(a_timeout_is_a_branch),
      A_TEST(a_select_inside_a_timeout),
      A_TEST(a_select_inside_a_select),
      A_TEST(an_inner_permit_is_given_back),
      A_TEST(decided_while_the_branches_are_looked_at),
      A_TEST(decided_and_given_up),
      A_TEST(decided_and_polled_by_another),
      A_TEST(the_loser_cleans_up),
      A_TEST(a_permit_and_a_loser_that_cleans_up),
      A_TEST(an_inner_loser_cleans_up),
      A_TEST(an_inner_loser_cleans_up_at_once),
      A_TEST(an_inner_loser_cleans_up_beside_a_permit),
      A_TEST(an_inner_loser_needs_what_an_outer_one_got),
  };
  return cmocka_run_group_tests_name("select over channels and other things", tests, NULL, NULL);
}
