/* once_test.c: every sentence of volt/once.h, polled by hand. */
#include "death.h"
#include "fake_waker.h"
#include "family.h"
#include "poller.h"
#include "unit.h"

FAMILY(once, volt_once it[1] = {VOLT_ONCE_INIT};
       FAMILY_OK(volt_once_begin_until(it, 0)), volt_once_begin_waiter(it, w, waker),
       volt_once_begin_until(it, past), volt_once_begin_future(f, it), volt_once_done(it),
       if (!volt_once_is_done(it)) volt_once_done(it);
       volt_once_destroy(it))

enum { MANY = 100 };

static volt_once o;
static volt_waiter w[MANY];
static fake_waker wakers[MANY];
static wake_log wakes;

static int set_up(void **state) {
  (void)state;
  memset((void *)&o, 0xee, sizeof o);
  volt_once_init(&o);
  memset((void *)w, 0, sizeof w);
  wake_log_init(&wakes);
  for (uint32_t i = 0; i < MANY; i++) fake_waker_init(&wakers[i], i, &wakes);
  return 0;
}

static int begin(uint32_t i) {
  return volt_once_begin_waiter(&o, &w[i], fake_waker_of(&wakers[i]));
}

static void queue(uint32_t first, uint32_t count) {
  for (uint32_t i = first; i < first + count; i++) assert_result(begin(i), VOLT_PENDING);
}

static void expect(uint32_t i, int result, uint32_t calls) {
  assert_result(volt_once_result(&w[i]), result);
  assert_int_equal(fake_waker_calls(&wakers[i]), calls);
}

static void the_first_does_it(void **state) {
  (void)state;
  static const uint32_t counts[] = {0, 1, 31, 32, 33, 65, MANY - 1};
  for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
    set_up(NULL);
    assert_false(volt_once_is_done(&o));
    assert_result(begin(MANY - 1), VOLT_OK);
    expect(MANY - 1, VOLT_ECANCELED, 0); /* it was not used */
    queue(0, counts[c]);
    assert_int_equal(volt_once_waiters(&o), counts[c]);
    assert_false(volt_once_is_done(&o));
    for (uint32_t i = 0; i < counts[c]; i++) expect(i, VOLT_PENDING, 0);
    volt_once_done(&o);
    assert_true(volt_once_is_done(&o));
    for (uint32_t i = 0; i < counts[c]; i++) expect(i, VOLT_DONE, 1);
    assert_true(wake_log_is_run(&wakes, 0, counts[c]));
    assert_result(begin(0), VOLT_DONE);
    expect(0, counts[c] > 0 ? VOLT_DONE : VOLT_ECANCELED, counts[c] > 0);
    assert_int_equal(volt_once_waiters(&o), 0);
    volt_once_destroy(&o);
  }
}

static void a_failure_is_the_oldest_ones_turn(void **state) {
  (void)state;
  assert_result(begin(9), VOLT_OK);
  queue(0, 3);
  volt_once_failed(&o);
  expect(0, VOLT_OK, 1);
  expect(1, VOLT_PENDING, 0);
  assert_result(begin(4), VOLT_PENDING); /* nobody overtakes */
  volt_once_failed(&o);
  expect(1, VOLT_OK, 1);
  volt_once_done(&o);
  expect(2, VOLT_DONE, 1);
  expect(4, VOLT_DONE, 1);
  expect(0, VOLT_OK, 1);
  volt_once_destroy(&o);
}

static void a_failure_that_nobody_waits_for(void **state) {
  (void)state;
  for (uint32_t i = 0; i < 3; i++) {
    assert_result(begin(i), VOLT_OK);
    volt_once_failed(&o);
    assert_false(volt_once_is_done(&o));
  }
  volt_once_destroy(&o); /* nobody is at it */
}

static void cancel(void **state) {
  (void)state;
  assert_result(begin(9), VOLT_OK);
  queue(0, 3);
  assert_true(volt_once_cancel(&o, &w[0]));
  expect(0, VOLT_ECANCELED, 0);
  volt_once_failed(&o);
  assert_false(volt_once_cancel(&o, &w[1])); /* its turn */
  expect(1, VOLT_OK, 1);
  volt_once_done(&o);
  assert_false(volt_once_cancel(&o, &w[2]));
  expect(2, VOLT_DONE, 1);
  assert_true(volt_once_cancel(&o, &w[7])); /* nothing was ever queued with it */
  volt_once_destroy(&o);
}

static void give_up_for_another(hostile_waker *self) {
  self->result = volt_once_cancel((volt_once *)self->object, self->other);
}

static void too_late_before_it_is_told(void **state) {
  (void)state;
  volt_waiter first = VOLT_WAITER_INIT;
  hostile_waker hostile;
  hostile_waker_init(&hostile, 1000, NULL, give_up_for_another, &o);
  hostile.other = &w[45];
  hostile.result = true;
  assert_result(begin(99), VOLT_OK);
  assert_result(volt_once_begin_waiter(&o, &first, hostile_waker_of(&hostile)), VOLT_PENDING);
  queue(0, 50);
  volt_once_done(&o);
  assert_false(hostile.result);
  for (uint32_t i = 0; i < 50; i++) expect(i, VOLT_DONE, 1);
  volt_once_destroy(&o);
}

static void set_waker_replaces(void **state) {
  (void)state;
  assert_result(begin(9), VOLT_OK);
  queue(0, 1);
  assert_true(volt_waiter_set_waker(&w[0], fake_waker_of(&wakers[7])));
  volt_once_done(&o);
  expect(0, VOLT_DONE, 0);
  assert_int_equal(fake_waker_calls(&wakers[7]), 1);
  assert_false(volt_waiter_set_waker(&w[0], fake_waker_of(&wakers[8])));
  volt_once_destroy(&o);
}

static void blocking(void **state) {
  (void)state;
  assert_result(volt_once_begin_until(&o, PAST_DEADLINE), VOLT_OK);
  assert_result(volt_once_begin_until(&o, PAST_DEADLINE), VOLT_ETIMEDOUT);
  volt_once_failed(&o);
  assert_result(volt_once_begin(&o), VOLT_OK);
  volt_once_done(&o);
  assert_result(volt_once_begin_until(&o, PAST_DEADLINE), VOLT_DONE);
  volt_once_destroy(&o);
}

/* ---- call ---- */

static int attempts;

static int do_it(void *arg) {
  attempts += 1;
  return *(const int *)arg;
}

static void calls(void **state) {
  (void)state;
  int results[] = {VOLT_ENOMEM, 17, VOLT_OK, VOLT_EINVAL};
  attempts = 0;
  assert_result(volt_once_call(&o, do_it, &results[0]), VOLT_ENOMEM);
  assert_int_equal(volt_once_call(&o, do_it, &results[1]), 17);
  assert_false(volt_once_is_done(&o));
  assert_result(volt_once_call(&o, do_it, &results[2]), VOLT_OK);
  assert_true(volt_once_is_done(&o));
  assert_result(volt_once_call(&o, do_it, &results[3]), VOLT_OK);
  assert_int_equal(attempts, 3);
  volt_once_destroy(&o);
}

/* ---- future ---- */

static void futures(void **state) {
  (void)state;
  volt_future f[3];
  poller p;
  poller_init(&p);
  for (int i = 0; i < 3; i++) volt_future_made(volt_once_begin_future(&f[i], &o));
  assert_result(poller_poll(&p, &f[1]), VOLT_OK); /* the first that is polled */
  assert_result(poller_poll(&p, &f[0]), VOLT_PENDING);
  assert_result(poller_poll(&p, &f[2]), VOLT_PENDING);
  volt_once_failed(&o);
  assert_result(poller_poll(&p, &f[0]), VOLT_OK);
  volt_once_done(&o);
  assert_result(poller_poll(&p, &f[2]), VOLT_DONE);
  poller_expect(&p, 2, 2, 0);
  assert_result(poller_poll(&p, &f[0]), VOLT_OK); /* it stands */
  assert_result(poller_poll(&p, volt_once_begin_future(&f[0], &o)), VOLT_DONE);
  volt_once_destroy(&o);
}

static void a_dropped_future_passes_its_turn_on(void **state) {
  (void)state;
  volt_future f;
  poller p;
  poller_init(&p);
  assert_result(begin(9), VOLT_OK);
  assert_result(poller_poll(&p, volt_once_begin_future(&f, &o)), VOLT_PENDING);
  queue(0, 1);
  volt_once_failed(&o);
  expect(0, VOLT_PENDING, 0);
  volt_future_cancel(&f);
  expect(0, VOLT_OK, 1);
  assert_result(poller_poll(&p, &f), VOLT_ECANCELED);

  assert_result(poller_poll(&p, volt_once_begin_future(&f, &o)), VOLT_PENDING);
  volt_once_done(&o);
  volt_future_cancel(&f); /* nothing is to be passed on */
  assert_true(volt_once_is_done(&o));
  volt_once_destroy(&o);
}

/* VOLT_DONE is a success for a select: the other branch has lost. What a loser began, another one
 * may. */
static void selected(void **state) {
  (void)state;
  volt_sem sem = VOLT_SEM_INIT(0);
  volt_future f[2];
  volt_future *branches[2] = {volt_sem_acquire_future(&f[0], &sem, 1),
                              volt_once_begin_future(&f[1], &o)};
  volt_select s;
  assert_result(begin(9), VOLT_OK);
  volt_future_made(volt_select_future(&s, branches, 2, VOLT_SELECT_BIASED));
  assert_result(volt_future_poll(&s.future, fake_waker_of(&wakers[0])), VOLT_PENDING);
  volt_sem_release(&sem, 1);
  volt_once_failed(&o); /* both in the same instant */
  assert_result(volt_future_poll(&s.future, fake_waker_of(&wakers[0])), VOLT_OK);
  assert_int_equal(volt_select_winner(&s), 0);
  assert_result(begin(1), VOLT_OK);
  volt_once_done(&o);

  volt_future_made(volt_sem_acquire_future(&f[0], &sem, 1));
  volt_future_made(volt_once_begin_future(&f[1], &o));
  volt_future_made(volt_select_future(&s, branches, 2, VOLT_SELECT_BIASED));
  assert_result(volt_future_wait_until(&s.future, PAST_DEADLINE), VOLT_DONE);
  assert_int_equal(volt_select_winner(&s), 1);
  assert_int_equal(volt_sem_waiters(&sem), 0);
  volt_once_destroy(&o);
}

/* Sends, so that the channel's branch of the select takes effect. */
struct sender {
  volt_async async;
  volt_chan *chan;
};

static int send_poll(volt_async *async, volt_ctx *ctx) {
  struct sender *self = volt_container_of(async, struct sender, async);
  (void)ctx;
  int number = 4711;
  VOLT_ASYNC_BEGIN(self);
  VOLT_RETURN(self, volt_chan_try_send(self->chan, &number));
  VOLT_ASYNC_END(self);
}

/* A branch that is ready with VOLT_DONE when another has taken effect has nothing to give back. */
static void a_loser_that_was_done(void **state) {
  (void)state;
  static uint64_t memory[8];
  volt_chan chan;
  assert_result(volt_chan_init(&chan, 1, sizeof(int), memory, sizeof memory), VOLT_OK);
  assert_result(begin(0), VOLT_OK);
  volt_once_done(&o);
  int got = 0;
  struct sender sender = {.chan = &chan};
  volt_future recv, once;
  memset((void *)&once, 0xff, sizeof once);
  volt_future *both[2] = {volt_async_future(&sender.async, send_poll),
                          volt_once_begin_future(&once, &o)};
  volt_join join;
  volt_future *branches[2] = {volt_chan_recv_future(&recv, &chan, &got),
                              volt_join_future(&join, both, 2, VOLT_JOIN_ALL)};
  volt_select s;
  volt_future_made(volt_select_future(&s, branches, 2, VOLT_SELECT_BIASED));
  assert_result(volt_future_wait(&s.future), VOLT_OK);
  assert_int_equal(volt_select_winner(&s), 0);
  assert_int_equal(got, 4711);
  assert_true(volt_once_is_done(&o));
  volt_chan_destroy(&chan, NULL, NULL);
  volt_once_destroy(&o);
}

/* ---- life ---- */

static void all_zero_is_fresh(void **state) {
  (void)state;
  static volt_once zero = VOLT_ONCE_INIT;
  assert_false(volt_once_is_done(&zero));
  assert_result(volt_once_begin_until(&zero, PAST_DEADLINE), VOLT_OK);
  volt_once_done(&zero);
  volt_once_destroy(&zero);
}

/* Called through these, no compiler can use the inline body. */
static bool (*volatile const is_done)(const volt_once *) = volt_once_is_done;
static int (*volatile const call)(volt_once *, volt_once_fn *, void *) = volt_once_call;

static void every_function_has_a_symbol(void **state) {
  (void)state;
  int result = VOLT_OK;
  assert_result(call(&o, do_it, &result), VOLT_OK);
  assert_true(is_done(&o));
}

static void done(void *arg) {
  volt_once_done((volt_once *)arg);
}
static void failed(void *arg) {
  volt_once_failed((volt_once *)arg);
}
static void destroy_it(void *arg) {
  volt_once_destroy((volt_once *)arg);
}
static void begin_twice(void *arg) {
  ignore_result(volt_once_begin_waiter((volt_once *)arg, &w[0], (volt_waker){NULL, NULL}));
}

static volt_once another;
static int call_again(void *arg) {
  return volt_once_call((volt_once *)arg, call_again, arg);
}
static int call_by_another(void *arg) {
  return volt_once_call(&another, call_again, arg);
}
static void call_in_call(void *arg) {
  ignore_result(volt_once_call((volt_once *)arg, call_again, arg));
}
static void call_through_another(void *arg) {
  ignore_result(volt_once_call((volt_once *)arg, call_by_another, arg));
}

static int call_o(void *arg) {
  return volt_once_call(&o, do_it, arg);
}

/* Only the same once is refused, and only inside of it. */
static void a_call_in_a_call(void **state) {
  (void)state;
  int result = VOLT_ENOMEM;
  volt_once_init(&another);
  assert_result(volt_once_call(&another, call_o, &result), VOLT_ENOMEM);
  result = VOLT_OK;
  assert_result(volt_once_call(&another, call_o, &result), VOLT_OK);
  assert_true(volt_once_is_done(&o) && volt_once_is_done(&another));
}

static void misuse_aborts(void **state) {
  (void)state;
  volt_once_init(&another);
  assert_death(call_in_call, &o, "volt_once_call", death_address(&o), "its own function");
  assert_death(call_through_another, &o, "volt_once_call", death_address(&o), "its own function");
  assert_death(done, &o, "volt_once", death_address(&o), "not begun");
  assert_death(failed, &o, "volt_once", death_address(&o), "not begun");
  assert_result(begin(9), VOLT_OK);
  assert_death(destroy_it, &o, "volt_once", death_address(&o), "destroyed while it is begun");
  queue(0, 1);
  assert_death(destroy_it, &o, "volt_once", death_address(&o), "destroyed while 1");
  assert_death(begin_twice, &o, "volt_once", death_address(&w[0]), "already queued");
  volt_once_done(&o);
  assert_death(done, &o, "ended, but it is done");
  assert_death(failed, &o, "ended, but it is done");
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup(name, set_up)
  const struct CMUnitTest tests[] = {
      FAMILY_TEST(once),
      TEST(the_first_does_it),
      TEST(a_failure_is_the_oldest_ones_turn),
      TEST(a_failure_that_nobody_waits_for),
      TEST(cancel),
      TEST(too_late_before_it_is_told),
      TEST(set_waker_replaces),
      TEST(blocking),
      TEST(calls),
      TEST(futures),
      TEST(a_dropped_future_passes_its_turn_on),
      TEST(selected),
      TEST(a_loser_that_was_done),
      TEST(all_zero_is_fresh),
      TEST(every_function_has_a_symbol),
      TEST(a_call_in_a_call),
      TEST(misuse_aborts),
  };
  return cmocka_run_group_tests_name("once", tests, NULL, NULL);
}
