/* latch_test.c: every sentence of volt/latch.h, polled by hand. */
#include "death.h"
#include "fake_waker.h"
#include "family.h"
#include "poller.h"
#include "require.h"
#include "thread_team.h"
#include "unit.h"

FAMILY(latch, volt_latch it[1] = {VOLT_LATCH_INIT(1)}, volt_latch_wait_waiter(it, w, waker),
       volt_latch_wait_until(it, past), volt_latch_wait_future(f, it), volt_latch_done(it),
       volt_latch_destroy(it))

enum { MANY = 100 };

static volt_latch l;
static volt_waiter w[MANY];
static fake_waker wakers[MANY];
static wake_log wakes;

static void begin(uint32_t count) {
  memset((void *)&l, 0xee, sizeof l);
  volt_latch_init(&l, count);
  memset((void *)w, 0, sizeof w);
  wake_log_init(&wakes);
  for (uint32_t i = 0; i < MANY; i++) fake_waker_init(&wakers[i], i, &wakes);
}

static int wait_as(uint32_t i) {
  return volt_latch_wait_waiter(&l, &w[i], fake_waker_of(&wakers[i]));
}

static void queue(uint32_t first, uint32_t count) {
  for (uint32_t i = first; i < first + count; i++) assert_result(wait_as(i), VOLT_PENDING);
}

static void expect(uint32_t i, int result, uint32_t calls) {
  assert_result(volt_waiter_result(&w[i]), result);
  assert_int_equal(fake_waker_calls(&wakers[i]), calls);
}

static void expect_latch(uint32_t count, uint32_t waiters) {
  assert_int_equal(volt_latch_count(&l), count);
  assert_int_equal(volt_latch_waiters(&l), waiters);
  assert_result(volt_latch_try_wait(&l), count == 0 ? VOLT_OK : VOLT_EAGAIN);
}

static void open_at_zero(void **state) {
  (void)state;
  begin(2);
  expect_latch(2, 0);
  volt_latch_done(&l);
  expect_latch(1, 0);
  volt_latch_done(&l);
  expect_latch(0, 0);
  assert_result(wait_as(0), VOLT_OK);
  expect(0, VOLT_ECANCELED, 0); /* it was not used */
  assert_result(volt_latch_wait_until(&l, PAST_DEADLINE), VOLT_OK);
  volt_latch_destroy(&l);
}

static void the_last_count_lets_all_go(void **state) {
  (void)state;
  static const uint32_t counts[] = {1, 2, 31, 32, 33, 64, 65, MANY};
  for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
    begin(10);
    queue(0, counts[c]);
    volt_latch_count_down(&l, 4);
    volt_latch_add(&l, 3);
    volt_latch_count_down(&l, 0);
    volt_latch_add(&l, 0);
    expect_latch(9, counts[c]);
    volt_latch_count_down(&l, 8);
    for (uint32_t i = 0; i < counts[c]; i++) expect(i, VOLT_PENDING, 0);
    volt_latch_done(&l);
    for (uint32_t i = 0; i < counts[c]; i++) expect(i, VOLT_OK, 1);
    assert_true(wake_log_is_run(&wakes, 0, counts[c]));
    expect_latch(0, 0);
    volt_latch_destroy(&l);
  }
}

static void shut_again(void **state) {
  (void)state;
  begin(0);
  for (uint32_t round = 1; round <= 3; round++) {
    assert_result(volt_latch_try_wait(&l), VOLT_OK);
    volt_latch_add(&l, round);
    queue(0, 2);
    expect_latch(round, 2);
    volt_latch_count_down(&l, round);
    expect(0, VOLT_OK, round);
    expect(1, VOLT_OK, round);
  }
  volt_latch_destroy(&l);
}

static void up_to_the_maximum(void **state) {
  (void)state;
  begin(1);
  volt_latch_add(&l, VOLT_LATCH_MAX - 1);
  queue(0, 1);
  expect_latch(VOLT_LATCH_MAX, 1);
  volt_latch_count_down(&l, VOLT_LATCH_MAX);
  expect(0, VOLT_OK, 1);
  volt_latch_add(&l, VOLT_LATCH_MAX);
  volt_latch_destroy(&l); /* the count may be anything */
}

/* A waker that counts up again, and waits, while others have not been told. */
static void shut_and_wait(hostile_waker *self) {
  volt_latch *latch = (volt_latch *)self->object;
  assert_result(volt_latch_try_wait(latch), VOLT_OK);
  volt_latch_add(latch, 1);
  self->result = volt_latch_wait_waiter(latch, self->other, (volt_waker){NULL, NULL});
}

static void let_go_is_let_go(void **state) {
  (void)state;
  static const uint32_t others[] = {0, 5, 31, 32, 70};
  for (size_t c = 0; c < sizeof others / sizeof *others; c++) {
    begin(1);
    volt_waiter first = VOLT_WAITER_INIT;
    hostile_waker hostile;
    hostile_waker_init(&hostile, 1000, NULL, shut_and_wait, &l);
    hostile.other = &first; /* it has been told: its memory is its owner's */
    assert_result(volt_latch_wait_waiter(&l, &first, hostile_waker_of(&hostile)), VOLT_PENDING);
    queue(0, others[c]);
    volt_latch_done(&l);
    assert_result(hostile.result, VOLT_PENDING);
    for (uint32_t i = 0; i < others[c]; i++) expect(i, VOLT_OK, 1);
    expect_latch(1, 1);
    volt_latch_done(&l);
    assert_result(volt_waiter_result(&first), VOLT_OK);
    volt_latch_destroy(&l);
  }
}

static void cancel_in_time(void **state) {
  (void)state;
  begin(1);
  queue(0, 3);
  assert_true(volt_latch_cancel(&l, &w[1]));
  expect(1, VOLT_ECANCELED, 0);
  volt_latch_done(&l);
  expect(0, VOLT_OK, 1);
  expect(1, VOLT_ECANCELED, 0);
  expect(2, VOLT_OK, 1);
  assert_false(volt_latch_cancel(&l, &w[2]));
  assert_true(volt_latch_cancel(&l, &w[7])); /* nothing was ever queued with it */
  volt_latch_destroy(&l);
}

static void set_waker_replaces(void **state) {
  (void)state;
  begin(1);
  queue(0, 1);
  assert_true(volt_waiter_set_waker(&w[0], fake_waker_of(&wakers[7])));
  volt_latch_done(&l);
  expect(0, VOLT_OK, 0);
  assert_int_equal(fake_waker_calls(&wakers[7]), 1);
  assert_false(volt_waiter_set_waker(&w[0], fake_waker_of(&wakers[8])));
  volt_latch_destroy(&l);
}

static void futures_and_deadlines(void **state) {
  (void)state;
  begin(1);
  volt_future f;
  poller p;
  poller_init(&p);
  assert_result(volt_latch_wait_until(&l, PAST_DEADLINE), VOLT_ETIMEDOUT);
  assert_result(poller_poll(&p, volt_latch_wait_future(&f, &l)), VOLT_PENDING);
  volt_future_cancel(&f);
  poller_expect(&p, 1, 0, 1);
  expect_latch(1, 0);
  assert_result(poller_poll(&p, volt_latch_wait_future(&f, &l)), VOLT_PENDING);
  volt_latch_done(&l);
  poller_expect(&p, 2, 1, 1);
  assert_result(poller_poll(&p, &f), VOLT_OK);
  assert_result(poller_poll(&p, volt_latch_wait_future(&f, &l)), VOLT_OK);
  volt_latch_add(&l, 1);
  assert_result(poller_poll(&p, volt_latch_wait_future(&f, &l)), VOLT_PENDING);
  volt_latch_done(&l);
  volt_future_cancel(&f); /* dropped unpolled: nothing was taken */
  expect_latch(0, 0);
  volt_latch_destroy(&l);
}

static void joined(void **state) {
  (void)state;
  begin(1);
  volt_latch other = VOLT_LATCH_INIT(1);
  volt_future f[2];
  volt_future *branches[2] = {volt_latch_wait_future(&f[0], &l),
                              volt_latch_wait_future(&f[1], &other)};
  volt_join j;
  volt_future_made(volt_join_future(&j, branches, 2, VOLT_JOIN_ALL));
  assert_result(volt_future_poll(&j.future, fake_waker_of(&wakers[0])), VOLT_PENDING);
  volt_latch_done(&other);
  assert_result(volt_future_poll(&j.future, fake_waker_of(&wakers[0])), VOLT_PENDING);
  volt_latch_done(&l);
  assert_result(volt_future_poll(&j.future, fake_waker_of(&wakers[0])), VOLT_OK);
  volt_latch_destroy(&l);
  volt_latch_destroy(&other);
}

/* ---- life ---- */

static void all_zero_is_open(void **state) {
  (void)state;
  static volt_latch zero;
  assert_result(volt_latch_try_wait(&zero), VOLT_OK);
  volt_latch_add(&zero, 1);
  assert_result(volt_latch_try_wait(&zero), VOLT_EAGAIN);
  volt_latch_destroy(&zero);
}

static bool opened;

static void wait_or_open(void *arg, uint32_t index) {
  (void)arg;
  if (index > 0) {
    volt_latch_wait(&l);
    REQUIRE(opened);
    return;
  }
  WAIT_UNTIL(volt_latch_waiters(&l) == 2);
  opened = true;
  volt_latch_done(&l);
}

static void without_a_deadline(void **state) {
  (void)state;
  begin(1);
  thread_team_run(3, wait_or_open, NULL);
  volt_latch_wait(&l);
  volt_latch_destroy(&l);
}

/* Called through these, no compiler can use the inline body. */
static void (*volatile const add)(volt_latch *, uint32_t) = volt_latch_add;
static void (*volatile const count_down)(volt_latch *, uint32_t) = volt_latch_count_down;
static void (*volatile const done)(volt_latch *) = volt_latch_done;
static int (*volatile const try_wait)(volt_latch *) = volt_latch_try_wait;

static void every_function_has_a_symbol(void **state) {
  (void)state;
  begin(0);
  assert_result(try_wait(&l), VOLT_OK);
  add(&l, 3);
  count_down(&l, 2);
  assert_result(try_wait(&l), VOLT_EAGAIN);
  done(&l);
  assert_result(try_wait(&l), VOLT_OK);
  volt_latch_destroy(&l);
}

static void down_too_far(void *arg) {
  volt_latch_count_down((volt_latch *)arg, 5);
}
static void up_too_far(void *arg) {
  volt_latch_add((volt_latch *)arg, VOLT_LATCH_MAX);
}
static void destroy_it(void *arg) {
  volt_latch_destroy((volt_latch *)arg);
}
static void wait_twice(void *arg) {
  ignore_result(volt_latch_wait_waiter((volt_latch *)arg, &w[0], (volt_waker){NULL, NULL}));
}

static void misuse_aborts(void **state) {
  (void)state;
  begin(4);
  assert_death(down_too_far, &l, "volt_latch", death_address(&l), "counted down by 5 from 4");
  assert_death(up_too_far, &l, "volt_latch", death_address(&l), "4294967295 added to 4");
  queue(0, 1);
  assert_death(down_too_far, &l, "counted down by 5 from 4");
  assert_death(destroy_it, &l, "volt_latch", death_address(&l), "destroyed while 1");
  assert_death(wait_twice, &l, "volt_latch", death_address(&w[0]), "already queued");
  volt_latch_count_down(&l, 4);
  assert_death(down_too_far, &l, "counted down by 5 from 0");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FAMILY_TEST(latch),
      cmocka_unit_test(open_at_zero),
      cmocka_unit_test(the_last_count_lets_all_go),
      cmocka_unit_test(shut_again),
      cmocka_unit_test(up_to_the_maximum),
      cmocka_unit_test(let_go_is_let_go),
      cmocka_unit_test(cancel_in_time),
      cmocka_unit_test(set_waker_replaces),
      cmocka_unit_test(futures_and_deadlines),
      cmocka_unit_test(joined),
      cmocka_unit_test(without_a_deadline),
      cmocka_unit_test(all_zero_is_open),
      cmocka_unit_test(every_function_has_a_symbol),
      cmocka_unit_test(misuse_aborts),
  };
  return cmocka_run_group_tests_name("latch", tests, NULL, NULL);
}
