/* barrier_test.c: every sentence of volt/barrier.h, polled by hand. */
#include "death.h"
#include "fake_waker.h"
#include "family.h"
#include "poller.h"
#include "unit.h"

FAMILY(barrier, volt_barrier it[1] = {VOLT_BARRIER_INIT(2)}, volt_barrier_wait_waiter(it, w, waker),
       volt_barrier_wait_until(it, past), volt_barrier_wait_future(f, it),
       FAMILY_OK(volt_barrier_wait_until(it, 0)), volt_barrier_destroy(it))

enum { MANY = 100 };

static volt_barrier b;
static volt_waiter w[MANY];
static fake_waker wakers[MANY];
static wake_log wakes;

static void begin(uint32_t count) {
  memset((void *)&b, 0xee, sizeof b);
  volt_barrier_init(&b, count);
  memset((void *)w, 0, sizeof w);
  wake_log_init(&wakes);
  for (uint32_t i = 0; i < MANY; i++) fake_waker_init(&wakers[i], i, &wakes);
}

static int arrive(uint32_t i) {
  return volt_barrier_wait_waiter(&b, &w[i], fake_waker_of(&wakers[i]));
}

static void queue(uint32_t first, uint32_t count) {
  for (uint32_t i = first; i < first + count; i++) assert_result(arrive(i), VOLT_PENDING);
}

static void expect(uint32_t i, int result, uint32_t calls) {
  assert_result(volt_waiter_result(&w[i]), result);
  assert_int_equal(fake_waker_calls(&wakers[i]), calls);
}

static void the_last_one_leads(void **state) {
  (void)state;
  static const uint32_t counts[] = {1, 2, 3, 32, 33, 34, 65, 66, MANY};
  for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
    uint32_t last = counts[c] - 1;
    begin(counts[c]);
    for (uint32_t round = 1; round <= 3; round++) { /* for ever */
      wake_log_init(&wakes);
      queue(0, last);
      assert_int_equal(volt_barrier_waiters(&b), last);
      for (uint32_t i = 0; i < last; i++) expect(i, VOLT_PENDING, round - 1);
      assert_result(arrive(last), VOLT_LEADER);
      for (uint32_t i = 0; i < last; i++) expect(i, VOLT_OK, round);
      expect(last, VOLT_ECANCELED, 0); /* it was not used */
      assert_true(wake_log_is_run(&wakes, 0, last));
      assert_int_equal(volt_barrier_waiters(&b), 0);
    }
    volt_barrier_destroy(&b);
  }
}

static void who_leaves_has_not_arrived(void **state) {
  (void)state;
  begin(3);
  queue(0, 2);
  assert_true(volt_barrier_cancel(&b, &w[0]));
  expect(0, VOLT_ECANCELED, 0);
  queue(2, 1);
  assert_int_equal(volt_barrier_waiters(&b), 2);
  assert_result(arrive(3), VOLT_LEADER);
  expect(1, VOLT_OK, 1);
  expect(2, VOLT_OK, 1);
  expect(0, VOLT_ECANCELED, 0);
  assert_false(volt_barrier_cancel(&b, &w[1]));
  assert_true(volt_barrier_cancel(&b, &w[7])); /* nothing was ever queued with it */
  volt_barrier_destroy(&b);
}

static void set_waker_replaces(void **state) {
  (void)state;
  begin(2);
  queue(0, 1);
  assert_true(volt_waiter_set_waker(&w[0], fake_waker_of(&wakers[7])));
  assert_result(arrive(1), VOLT_LEADER);
  expect(0, VOLT_OK, 0);
  assert_int_equal(fake_waker_calls(&wakers[7]), 1);
  assert_false(volt_waiter_set_waker(&w[0], fake_waker_of(&wakers[8])));
  volt_barrier_destroy(&b);
}

/* A waker that arrives for the next round while others of this one have not been told. */
static void arrive_again(hostile_waker *self) {
  self->result =
      volt_barrier_wait_waiter((volt_barrier *)self->object, self->other, (volt_waker){NULL, NULL});
}

static void the_next_round_begins_at_once(void **state) {
  (void)state;
  static const uint32_t counts[] = {2, 3, 33, 34, 35, 70};
  for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
    begin(counts[c]);
    volt_waiter first = VOLT_WAITER_INIT;
    hostile_waker hostile;
    hostile_waker_init(&hostile, 1000, NULL, arrive_again, &b);
    hostile.other = &first; /* it has been told: its memory is its owner's */
    assert_result(volt_barrier_wait_waiter(&b, &first, hostile_waker_of(&hostile)), VOLT_PENDING);
    queue(0, counts[c] - 2);
    assert_result(arrive(MANY - 1), VOLT_LEADER);
    assert_result(hostile.result, VOLT_PENDING);
    for (uint32_t i = 0; i + 2 < counts[c]; i++) expect(i, VOLT_OK, 1);
    assert_int_equal(volt_barrier_waiters(&b), 1);
    queue(0, counts[c] - 2);
    assert_result(arrive(MANY - 1), VOLT_LEADER);
    assert_result(volt_waiter_result(&first), VOLT_OK);
    volt_barrier_destroy(&b);
  }
}

static void give_up_for_another(hostile_waker *self) {
  self->result = volt_barrier_cancel((volt_barrier *)self->object, self->other);
}

static void open_is_open_for_all(void **state) {
  (void)state;
  begin(52);
  volt_waiter first = VOLT_WAITER_INIT;
  hostile_waker hostile;
  hostile_waker_init(&hostile, 1000, NULL, give_up_for_another, &b);
  hostile.other = &w[45];
  hostile.result = true;
  assert_result(volt_barrier_wait_waiter(&b, &first, hostile_waker_of(&hostile)), VOLT_PENDING);
  queue(0, 50);
  assert_result(arrive(50), VOLT_LEADER);
  assert_false(hostile.result);
  for (uint32_t i = 0; i < 50; i++) expect(i, VOLT_OK, 1);
  volt_barrier_destroy(&b);
}

/* ---- threads and futures ---- */

static void blocking(void **state) {
  (void)state;
  begin(2);
  assert_result(volt_barrier_wait_until(&b, PAST_DEADLINE), VOLT_ETIMEDOUT);
  assert_result(volt_barrier_wait_until(&b, PAST_DEADLINE), VOLT_ETIMEDOUT);
  assert_int_equal(volt_barrier_waiters(&b), 0);
  queue(0, 1);
  assert_result(volt_barrier_wait_until(&b, PAST_DEADLINE), VOLT_LEADER);
  expect(0, VOLT_OK, 1);
  volt_barrier_destroy(&b);
}

static void futures(void **state) {
  (void)state;
  begin(2);
  volt_future f[2];
  poller p;
  poller_init(&p);
  volt_future_made(volt_barrier_wait_future(&f[0], &b));
  volt_future_made(volt_barrier_wait_future(&f[1], &b));
  assert_int_equal(volt_barrier_waiters(&b), 0); /* nothing happens before the first poll */
  assert_result(poller_poll(&p, &f[0]), VOLT_PENDING);
  assert_result(poller_poll(&p, &f[1]), VOLT_LEADER);
  assert_result(poller_poll(&p, &f[1]), VOLT_LEADER); /* it stands */
  poller_expect(&p, 1, 1, 0);
  assert_result(poller_poll(&p, &f[0]), VOLT_OK);
  volt_barrier_destroy(&b);
}

static void a_dropped_future(void **state) {
  (void)state;
  begin(2);
  volt_future f;
  poller p;
  poller_init(&p);
  assert_result(poller_poll(&p, volt_barrier_wait_future(&f, &b)), VOLT_PENDING);
  volt_future_cancel(&f);
  poller_expect(&p, 1, 0, 1);
  queue(0, 1); /* the dropped one has not arrived */
  assert_true(volt_barrier_cancel(&b, &w[0]));

  assert_result(poller_poll(&p, volt_barrier_wait_future(&f, &b)), VOLT_PENDING);
  assert_result(arrive(0), VOLT_LEADER);
  volt_future_cancel(&f); /* it was there all the same */
  poller_expect(&p, 2, 1, 1);
  assert_result(poller_poll(&p, &f), VOLT_ECANCELED);
  queue(0, 1);
  assert_result(arrive(1), VOLT_LEADER);
  volt_barrier_destroy(&b);
}

/* VOLT_LEADER is a success, and goes through what is composed. */
static void composed(void **state) {
  (void)state;
  begin(2);
  volt_sem sem = VOLT_SEM_INIT(0);
  volt_future f[2];
  volt_future *branches[2] = {volt_barrier_wait_future(&f[0], &b),
                              volt_sem_acquire_future(&f[1], &sem, 1)};
  volt_select s;
  queue(0, 1);
  volt_future_made(volt_select_future(&s, branches, 2, VOLT_SELECT_BIASED));
  assert_result(volt_future_wait_until(&s.future, PAST_DEADLINE), VOLT_LEADER);
  assert_int_equal(volt_select_winner(&s), 0);
  assert_result(volt_future_poll(&f[1], fake_waker_of(&wakers[2])), VOLT_ECANCELED);

  volt_timers timers;
  volt_timers_init_virtual(&timers, fake_waker_of(&wakers[3]));
  volt_timeout timeout;
  queue(0, 1);
  volt_future_made(
      volt_timeout_future(&timeout, volt_barrier_wait_future(&f[0], &b), &timers, 100));
  assert_result(volt_future_wait_until(&timeout.future, PAST_DEADLINE), VOLT_LEADER);
  volt_timers_destroy(&timers);
  volt_barrier_destroy(&b);
}

/* ---- life ---- */

/* ---- in a select, beside a channel ---- */

static volt_chan chan;
static uint64_t place[4];
static uint64_t received;
static const uint64_t seven = 7;

static void send_seven(void *ctx) {
  (void)ctx;
  assert_result(volt_chan_try_send(&chan, &seven), VOLT_OK);
}

/* A branch that sends to its neighbour, then waits for ever. */
struct sender {
  volt_async async;
  volt_future f;
  volt_token never;
};

static int send_then_wait(volt_async *a, volt_ctx *ctx) {
  struct sender *self = volt_container_of(a, struct sender, async);
  VOLT_ASYNC_BEGIN(self);
  send_seven(NULL);
  VOLT_AWAIT(self, volt_token_wait_future(&self->f, &self->never));
  VOLT_ASYNC_END(self);
}

/* It leads: nothing that its wakers do makes it a loser. */
static void the_leader_has_won_the_select(void **state) {
  (void)state;
  begin(2);
  received = 0;
  assert_result(volt_chan_init(&chan, 1, sizeof seven, place, sizeof place), VOLT_OK);
  assert_result(volt_barrier_wait_waiter(&b, &w[0], (volt_waker){send_seven, NULL}), VOLT_PENDING);
  volt_future f[2];
  volt_future *branches[2] = {volt_chan_recv_future(&f[0], &chan, &received),
                              volt_barrier_wait_future(&f[1], &b)};
  volt_select s;
  volt_future_made(volt_select_future(&s, branches, 2, VOLT_SELECT_BIASED));
  assert_result(volt_future_poll(&s.future, (volt_waker){NULL, NULL}), VOLT_LEADER);
  assert_int_equal(volt_select_winner(&s), 1);
  assert_int_equal(received, 0);
  assert_result(volt_chan_try_recv(&chan, &received), VOLT_OK);
  assert_int_equal(received, seven);
  volt_chan_destroy(&chan, NULL, NULL);
}

/* A channel has moved an element for another branch: it has not arrived. */
static void the_last_to_arrive_has_lost_the_select(void **state) {
  (void)state;
  begin(2);
  received = 0;
  queue(0, 1);
  assert_result(volt_chan_init(&chan, 1, sizeof seven, place, sizeof place), VOLT_OK);
  static struct sender sender;
  volt_token_init(&sender.never);
  volt_future f[2];
  volt_future *branches[3] = {volt_chan_recv_future(&f[0], &chan, &received),
                              volt_async_future(&sender.async, send_then_wait),
                              volt_barrier_wait_future(&f[1], &b)};
  volt_select s;
  volt_future_made(volt_select_future(&s, branches, 3, VOLT_SELECT_BIASED));
  assert_result(volt_future_poll(&s.future, (volt_waker){NULL, NULL}), VOLT_OK);
  assert_int_equal(volt_select_winner(&s), 0);
  assert_int_equal(received, seven);
  assert_result(volt_future_poll(&f[1], (volt_waker){NULL, NULL}), VOLT_ECANCELED);
  expect(0, VOLT_PENDING, 0);
  assert_result(arrive(1), VOLT_LEADER);
  expect(0, VOLT_OK, 1);
  volt_token_destroy(&sender.never);
  volt_chan_destroy(&chan, NULL, NULL);
}

static void initialised_in_place(void **state) {
  (void)state;
  volt_barrier here = VOLT_BARRIER_INIT(2);
  assert_result(volt_barrier_wait_waiter(&here, &w[0], (volt_waker){NULL, NULL}), VOLT_PENDING);
  assert_result(volt_barrier_wait_waiter(&here, &w[1], (volt_waker){NULL, NULL}), VOLT_LEADER);
  volt_barrier_destroy(&here);
}

static void init_of_none(void *arg) {
  volt_barrier_init((volt_barrier *)arg, 0);
}
static void destroy_it(void *arg) {
  volt_barrier_destroy((volt_barrier *)arg);
}
static void arrive_twice(void *arg) {
  ignore_result(volt_barrier_wait_waiter((volt_barrier *)arg, &w[0], (volt_waker){NULL, NULL}));
}
static void arrive_nowhere(void *arg) {
  volt_waiter mine = VOLT_WAITER_INIT;
  ignore_result(volt_barrier_wait_waiter((volt_barrier *)arg, &mine, (volt_waker){NULL, NULL}));
}

static void misuse_aborts(void **state) {
  (void)state;
  begin(3);
  queue(0, 2);
  assert_death(init_of_none, &b, "volt_barrier_init", death_address(&b), "a barrier of 0");
  assert_death(destroy_it, &b, "volt_barrier", death_address(&b), "destroyed while 2");
  assert_death(arrive_twice, &b, "volt_barrier", death_address(&w[0]), "already queued");
  static volt_barrier zero;
  assert_death(arrive_nowhere, &zero, "volt_barrier", death_address(&zero), "of 0");
  assert_result(arrive(2), VOLT_LEADER);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FAMILY_TEST(barrier),
      cmocka_unit_test(the_last_one_leads),
      cmocka_unit_test(who_leaves_has_not_arrived),
      cmocka_unit_test(set_waker_replaces),
      cmocka_unit_test(the_next_round_begins_at_once),
      cmocka_unit_test(open_is_open_for_all),
      cmocka_unit_test(blocking),
      cmocka_unit_test(futures),
      cmocka_unit_test(a_dropped_future),
      cmocka_unit_test(composed),
      cmocka_unit_test(the_leader_has_won_the_select),
      cmocka_unit_test(the_last_to_arrive_has_lost_the_select),
      cmocka_unit_test(initialised_in_place),
      cmocka_unit_test(misuse_aborts),
  };
  return cmocka_run_group_tests_name("barrier", tests, NULL, NULL);
}
