/* broadcast_select_test.c: a receive that loses a select leaves its receiver where it was. */
#include "fake_waker.h"
#include "unit.h"

enum { CAPACITY = 4 };

static volt_broadcast b;
static uint32_t memory[CAPACITY];
static volt_broadcast_receiver r;
static uint32_t got;
static volt_future f;
static fake_waker a;
static volt_sem sem;
static volt_future permit;
static volt_chan chan;
static uint64_t chan_memory[4];
static uint32_t from_chan;
static volt_future receive;
static volt_timers timers; /* virtual */
static volt_timeout timeout;
static volt_join join;
static volt_select s;

static int set_up(void **state) {
  (void)state;
  int result = volt_broadcast_init(&b, CAPACITY, sizeof got, memory, sizeof memory);
  assert_result(result, VOLT_OK);
  volt_broadcast_subscribe(&b, &r);
  result = volt_chan_init(&chan, 1, sizeof from_chan, chan_memory, sizeof chan_memory);
  assert_result(result, VOLT_OK);
  volt_sem_init(&sem, 0);
  volt_timers_init_virtual(&timers, (volt_waker){NULL, NULL});
  fake_waker_init(&a, 0, NULL);
  volt_future_made(volt_broadcast_recv_future(&f, &r, &got));
  volt_future_made(volt_chan_recv_future(&receive, &chan, &from_chan));
  volt_future_made(volt_sem_acquire_future(&permit, &sem, 1));
  got = 0;
  from_chan = 0;
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  volt_broadcast_destroy(&b);
  volt_chan_destroy(&chan, NULL, NULL);
  volt_timers_destroy(&timers);
  return 0;
}

static void send_numbers(uint32_t from, uint32_t to) {
  for (uint32_t i = from; i <= to; i++) assert_result(volt_broadcast_send(&b, &i), VOLT_OK);
}

static void send_to_chan(void) {
  const uint32_t five = 5;
  assert_result(volt_chan_try_send(&chan, &five), VOLT_OK);
}

/* What r receives are the numbers from first to last. */
static void expect_numbers(uint32_t first, uint32_t last) {
  for (uint32_t i = first; i <= last; i++) {
    assert_result(volt_broadcast_try_recv(&r, &got), VOLT_OK);
    assert_int_equal(got, i);
  }
  assert_result(volt_broadcast_try_recv(&r, &got), VOLT_EAGAIN);
}

static void expect_poll(volt_future *polled, int result) {
  assert_result(volt_future_poll(polled, fake_waker_of(&a)), result);
}

/* A select of two that both are ready when it is polled again, after `before` values, which are not there
 * any more, and numbers 1 to sent; the channel has won. */
static void lose_to_the_channel_after(uint64_t before, volt_future *loser, uint32_t sent) {
  volt_future *branches[] = {loser, &receive};
  volt_future_made(volt_select_future(&s, branches, 2, VOLT_SELECT_BIASED));
  expect_poll(&s.future, VOLT_PENDING);
  b.tail += before; /* to send so many takes too long */
  send_numbers(1, sent);
  send_to_chan();
  expect_poll(&s.future, VOLT_OK);
  assert_int_equal(volt_select_winner(&s), 1);
  assert_int_equal(from_chan, 5);
  expect_poll(loser, VOLT_ECANCELED);
}

static void lose_to_the_channel(volt_future *loser, uint32_t sent) {
  lose_to_the_channel_after(0, loser, sent);
}

static void not_looked_at_it_loses_nothing(void **state) {
  (void)state;
  volt_future *branches[] = {&permit, &f};
  volt_future_made(volt_select_future(&s, branches, 2, VOLT_SELECT_BIASED));
  expect_poll(&s.future, VOLT_PENDING);
  send_numbers(1, 2);
  volt_sem_release(&sem, 1);
  expect_poll(&s.future, VOLT_OK);
  assert_int_equal(volt_select_winner(&s), 0);
  assert_int_equal(got, 0);
  expect_numbers(1, 2);
}

/* It received, and then it turned out that a channel had won. */
static void undone_it_goes_back(void **state) {
  for (uint32_t sent = 1; sent <= CAPACITY; sent++) {
    set_up(state);
    lose_to_the_channel(&f, sent);
    expect_numbers(1, sent);
    assert_int_equal(volt_broadcast_lost(&r), 0);
    tear_down(state);
  }
}

/* The same, and what it received is overwritten before it receives again. */
static void undone_and_overwritten(void **state) {
  (void)state;
  lose_to_the_channel(&f, 1);
  send_numbers(2, CAPACITY + 1);
  assert_result(volt_broadcast_try_recv(&r, &got), VOLT_ELAGGED);
  assert_int_equal(volt_broadcast_lost(&r), 1);
  expect_numbers(2, CAPACITY + 1);
}

/* It was told that it is too slow, and then it turned out that a channel had won: it is told by the
 * next receive. */
static void undone_it_is_told_again(void **state) {
  for (uint32_t lost = 1; lost <= CAPACITY + 1; lost++) {
    for (uint32_t more = 0; more < 2; more++) {
      set_up(state);
      lose_to_the_channel(&f, CAPACITY + lost);
      assert_int_equal(volt_broadcast_lost(&r), 0);
      send_numbers(CAPACITY + lost + 1, CAPACITY + lost + more);
      assert_result(volt_broadcast_try_recv(&r, &got), VOLT_ELAGGED);
      assert_int_equal(volt_broadcast_lost(&r), lost + more);
      expect_numbers(lost + more + 1, CAPACITY + lost + more);
      tear_down(state);
    }
  }
}

/* It was too slow by more than it can take back: by 2^32. */
static void undone_after_very_many_it_is_told_again(void **state) {
  (void)state;
  const uint64_t lost = UINT64_C(1) << 32;
  lose_to_the_channel_after(lost, &f, CAPACITY);
  assert_result(volt_broadcast_try_recv(&r, &got), VOLT_ELAGGED);
  assert_int_equal(volt_broadcast_lost(&r), lost);
  expect_numbers(1, CAPACITY);
}

/* The same inside of a timeout, of a select, of a join. */
static void undone_through_what_it_is_in(void **state) {
  volt_select inner;
  volt_future *one[] = {&f};
  for (int in = 0; in < 3; in++) {
    set_up(state);
    volt_future *loser = volt_timeout_future(&timeout, &f, &timers, 10);
    if (in == 1) loser = volt_select_future(&inner, one, 1, VOLT_SELECT_BIASED);
    if (in == 2) loser = volt_join_future(&join, one, 1, VOLT_JOIN_ALL);
    lose_to_the_channel(loser, CAPACITY + 2);
    expect_poll(&f, VOLT_ECANCELED);
    assert_int_equal(volt_broadcast_lost(&r), 0);
    assert_result(volt_broadcast_try_recv(&r, &got), VOLT_ELAGGED);
    assert_int_equal(volt_broadcast_lost(&r), 2);
    expect_numbers(3, CAPACITY + 2);
    tear_down(state);
  }
}

/* That it is too slow is a result like another: it wins, and is told once. */
static void who_is_too_slow_may_win(void **state) {
  (void)state;
  volt_future *branches[] = {&f, &receive};
  volt_future_made(volt_select_future(&s, branches, 2, VOLT_SELECT_BIASED));
  expect_poll(&s.future, VOLT_PENDING);
  send_numbers(1, CAPACITY + 1);
  expect_poll(&s.future, VOLT_ELAGGED);
  assert_int_equal(volt_select_winner(&s), 0);
  volt_future_cancel(&s.future); /* it has been seen */
  assert_int_equal(volt_broadcast_lost(&r), 1);
  expect_numbers(2, CAPACITY + 1);
  send_to_chan();
  assert_int_equal(from_chan, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(not_looked_at_it_loses_nothing),
      TEST(undone_it_goes_back),
      TEST(undone_and_overwritten),
      TEST(undone_it_is_told_again),
      TEST(undone_after_very_many_it_is_told_again),
      TEST(undone_through_what_it_is_in),
      TEST(who_is_too_slow_may_win),
  };
  return cmocka_run_group_tests_name("broadcasts in selects", tests, NULL, NULL);
}
