/* notify_test.c: every sentence of volt/notify.h, polled by hand. */
#include "death.h"
#include "fake_waker.h"
#include "family.h"
#include "poller.h"
#include "unit.h"

FAMILY(notify, volt_notify it[1] = {VOLT_NOTIFY_INIT}, volt_notify_wait_waiter(it, w, waker),
       volt_notify_wait_until(it, past), volt_notify_wait_future(f, it), volt_notify_one(it),
       volt_notify_destroy(it))

enum { MANY = 100 };

static volt_notify n;
static volt_waiter w[MANY];
static fake_waker wakers[MANY];
static wake_log wakes;

static int set_up(void **state) {
  (void)state;
  memset((void *)&n, 0xee, sizeof n);
  volt_notify_init(&n);
  memset((void *)w, 0, sizeof w);
  wake_log_init(&wakes);
  for (uint32_t i = 0; i < MANY; i++) fake_waker_init(&wakers[i], i, &wakes);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  volt_notify_destroy(&n);
  return 0;
}

static int wait_as(uint32_t i) {
  return volt_notify_wait_waiter(&n, &w[i], fake_waker_of(&wakers[i]));
}

static void queue(uint32_t first, uint32_t count) {
  for (uint32_t i = first; i < first + count; i++) assert_result(wait_as(i), VOLT_PENDING);
}

static void expect(uint32_t i, int result, uint32_t calls) {
  assert_result(volt_waiter_result(&w[i]), result);
  assert_int_equal(fake_waker_calls(&wakers[i]), calls);
}

/* ---- one ---- */

static void one_is_stored(void **state) {
  (void)state;
  volt_notify_one(&n);
  assert_result(wait_as(0), VOLT_OK);
  expect(0, VOLT_ECANCELED, 0); /* it was not used */
  assert_result(wait_as(0), VOLT_PENDING);
  assert_true(volt_notify_cancel(&n, &w[0]));
}

static void at_most_one_is_stored(void **state) {
  (void)state;
  for (int i = 0; i < 3; i++) volt_notify_one(&n);
  assert_result(wait_as(0), VOLT_OK);
  assert_result(volt_notify_wait_until(&n, PAST_DEADLINE), VOLT_ETIMEDOUT);
}

static void one_wakes_the_oldest(void **state) {
  (void)state;
  queue(0, 3);
  assert_int_equal(volt_notify_waiters(&n), 3);
  for (uint32_t i = 0; i < 3; i++) {
    volt_notify_one(&n);
    expect(i, VOLT_OK, 1);
    assert_int_equal(volt_notify_waiters(&n), 2 - i);
  }
  assert_true(wake_log_is_run(&wakes, 0, 3));
  assert_result(wait_as(0), VOLT_PENDING); /* nothing was stored */
  assert_true(volt_notify_cancel(&n, &w[0]));
}

/* ---- all ---- */

static void all_wakes_all_and_stores_nothing(void **state) {
  (void)state;
  static const uint32_t counts[] = {0, 1, 2, 31, 32, 33, 64, 65, MANY};
  for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
    set_up(NULL);
    queue(0, counts[c]);
    volt_notify_all(&n);
    for (uint32_t i = 0; i < counts[c]; i++) expect(i, VOLT_OK, 1);
    assert_true(wake_log_is_run(&wakes, 0, counts[c]));
    assert_result(volt_notify_wait_until(&n, PAST_DEADLINE), VOLT_ETIMEDOUT);
  }
}

static void all_leaves_what_is_stored(void **state) {
  (void)state;
  volt_notify_one(&n);
  volt_notify_all(&n);
  assert_result(wait_as(0), VOLT_OK);
}

/* A waker that uses the notify while the others have not been told. */
static void reenter(hostile_waker *self) {
  volt_notify *notify = (volt_notify *)self->object;
  assert_int_equal(volt_notify_waiters(notify) > 0, self->n);
  self->result = volt_notify_wait_waiter(notify, self->other, (volt_waker){NULL, NULL});
  volt_notify_one(notify);
}

static void a_waker_may_use_it(void **state) {
  (void)state;
  static const uint32_t others[] = {0, 5, 31, 32, 70};
  for (size_t c = 0; c < sizeof others / sizeof *others; c++) {
    set_up(NULL);
    volt_waiter first = VOLT_WAITER_INIT, newcomer = VOLT_WAITER_INIT;
    hostile_waker hostile;
    hostile_waker_init(&hostile, 1000, NULL, reenter, &n);
    hostile.other = &newcomer;
    hostile.n = others[c] >= 32; /* some are served, and still linked */
    assert_result(volt_notify_wait_waiter(&n, &first, hostile_waker_of(&hostile)), VOLT_PENDING);
    queue(0, others[c]);
    volt_notify_all(&n);
    assert_int_equal(hostile_waker_calls(&hostile), 1);
    assert_result(hostile.result, VOLT_PENDING);
    assert_result(volt_waiter_result(&newcomer), VOLT_OK); /* it got the one */
    for (uint32_t i = 0; i < others[c]; i++) expect(i, VOLT_OK, 1);
    assert_int_equal(volt_notify_waiters(&n), 0);
    assert_result(volt_notify_wait_until(&n, PAST_DEADLINE), VOLT_ETIMEDOUT);
  }
}

/* The same, but it gives up for one that has been served, and is too late. */
static void give_up_for_another(hostile_waker *self) {
  self->result = volt_notify_cancel((volt_notify *)self->object, self->other);
}

static void too_late_before_it_is_told(void **state) {
  (void)state;
  volt_waiter first = VOLT_WAITER_INIT;
  hostile_waker hostile;
  hostile_waker_init(&hostile, 1000, NULL, give_up_for_another, &n);
  hostile.other = &w[40];
  assert_result(volt_notify_wait_waiter(&n, &first, hostile_waker_of(&hostile)), VOLT_PENDING);
  queue(0, 50);
  volt_notify_all(&n);
  assert_false(hostile.result);
  for (uint32_t i = 0; i < 50; i++) expect(i, VOLT_OK, 1);
}

/* ---- cancel, set_waker ---- */

static void cancel_in_time(void **state) {
  (void)state;
  queue(0, 3);
  assert_true(volt_notify_cancel(&n, &w[0]));
  expect(0, VOLT_ECANCELED, 0);
  assert_true(volt_notify_cancel(&n, &w[0])); /* it says so again */
  volt_notify_one(&n);
  expect(1, VOLT_OK, 1);
  assert_false(volt_notify_cancel(&n, &w[1]));
  assert_true(volt_notify_cancel(&n, &w[2]));
  assert_true(volt_notify_cancel(&n, &w[9])); /* nothing was ever queued with it */
}

static void set_waker_replaces(void **state) {
  (void)state;
  queue(0, 1);
  assert_true(volt_waiter_set_waker(&w[0], fake_waker_of(&wakers[7])));
  volt_notify_all(&n);
  expect(0, VOLT_OK, 0);
  assert_int_equal(fake_waker_calls(&wakers[7]), 1);
  assert_false(volt_waiter_set_waker(&w[0], fake_waker_of(&wakers[8])));
}

/* ---- future ---- */

static void all_counts_from_when_the_future_is_made(void **state) {
  (void)state;
  volt_future f;
  poller p;
  poller_init(&p);
  volt_notify_all(&n);
  volt_future_made(volt_notify_wait_future(&f, &n));
  assert_result(poller_poll(&p, &f), VOLT_PENDING); /* that was before */
  volt_future_cancel(&f);
  poller_expect(&p, 1, 0, 1);
  volt_future_made(volt_notify_wait_future(&f, &n));
  volt_notify_all(&n);
  assert_result(poller_poll(&p, &f), VOLT_OK);
  assert_int_equal(volt_notify_waiters(&n), 0);
  poller_expect(&p, 1, 0, 1);
}

static void one_counts_because_it_is_stored(void **state) {
  (void)state;
  volt_future f;
  volt_future_made(volt_notify_wait_future(&f, &n));
  volt_notify_one(&n);
  assert_result(volt_future_wait_until(&f, PAST_DEADLINE), VOLT_OK);
  volt_future_cancel(&f);
  assert_result(volt_notify_wait_until(&n, PAST_DEADLINE), VOLT_ETIMEDOUT);
}

static void its_place_is_that_of_its_poll(void **state) {
  (void)state;
  volt_future f;
  volt_future_made(volt_notify_wait_future(&f, &n));
  queue(0, 1);
  assert_result(volt_future_poll(&f, fake_waker_of(&wakers[1])), VOLT_PENDING);
  volt_notify_one(&n);
  expect(0, VOLT_OK, 1);
  assert_result(volt_future_poll(&f, fake_waker_of(&wakers[1])), VOLT_PENDING);
  volt_notify_one(&n);
  assert_result(volt_future_poll(&f, fake_waker_of(&wakers[1])), VOLT_OK);
  assert_true(wake_log_is_run(&wakes, 0, 2));
}

/* Two find nothing, then there are two notifications: one is stored, the other forgotten. */
static void two_that_were_not_polled(void **state) {
  (void)state;
  volt_future f[2];
  for (int i = 0; i < 2; i++) volt_future_made(volt_notify_wait_future(&f[i], &n));
  volt_notify_one(&n);
  volt_notify_one(&n);
  assert_result(volt_future_poll(&f[0], fake_waker_of(&wakers[0])), VOLT_OK);
  assert_result(volt_future_poll(&f[1], fake_waker_of(&wakers[1])), VOLT_PENDING);
  volt_future_cancel(&f[1]);
}

/* The same, and each was polled once before it looked; then both are awaited. */
static void two_that_were_polled(void **state) {
  (void)state;
  const volt_waker nobody = {NULL, NULL};
  volt_future f[2];
  poller p[2];
  for (int i = 0; i < 2; i++) {
    poller_init(&p[i]);
    assert_result(volt_future_poll(volt_notify_wait_future(&f[i], &n), nobody), VOLT_PENDING);
  }
  assert_result(poller_poll(&p[1], &f[1]), VOLT_PENDING);
  volt_notify_one(&n);
  volt_notify_one(&n);
  for (int i = 0; i < 2; i++) assert_result(poller_poll(&p[i], &f[i]), VOLT_OK);
  poller_expect(&p[0], 0, 0, 0);
  poller_expect(&p[1], 1, 1, 0);
}

static void dropped_it_passes_one_on(void **state) {
  (void)state;
  volt_future f;
  volt_future_made(volt_notify_wait_future(&f, &n));
  assert_result(volt_future_poll(&f, fake_waker_of(&wakers[9])), VOLT_PENDING);
  queue(0, 1);
  volt_notify_one(&n);
  expect(0, VOLT_PENDING, 0);
  volt_future_cancel(&f);
  expect(0, VOLT_OK, 1);
  assert_int_equal(fake_waker_calls(&wakers[9]), 1);
}

static void dropped_it_does_not_pass_all_on(void **state) {
  (void)state;
  volt_future f;
  volt_future_made(volt_notify_wait_future(&f, &n));
  assert_result(volt_future_poll(&f, fake_waker_of(&wakers[9])), VOLT_PENDING);
  volt_notify_all(&n);
  volt_future_cancel(&f);
  assert_result(volt_notify_wait_until(&n, PAST_DEADLINE), VOLT_ETIMEDOUT);

  volt_future_made(volt_notify_wait_future(&f, &n)); /* nor if it was never polled */
  volt_notify_all(&n);
  volt_future_cancel(&f);
  assert_result(volt_notify_wait_until(&n, PAST_DEADLINE), VOLT_ETIMEDOUT);
}

/* Two branches of a select are ready at once: what the loser took is stored again. */
static void a_loser_gives_it_back(void **state) {
  (void)state;
  volt_sem sem = VOLT_SEM_INIT(0);
  volt_future f[2];
  volt_future *branches[2] = {volt_sem_acquire_future(&f[0], &sem, 1),
                              volt_notify_wait_future(&f[1], &n)};
  volt_select s;
  volt_future_made(volt_select_future(&s, branches, 2, VOLT_SELECT_BIASED));
  assert_result(volt_future_poll(&s.future, fake_waker_of(&wakers[0])), VOLT_PENDING);
  volt_notify_one(&n);
  volt_sem_release(&sem, 1);
  assert_result(volt_future_poll(&s.future, fake_waker_of(&wakers[0])), VOLT_OK);
  assert_int_equal(volt_select_winner(&s), 0);
  assert_result(wait_as(1), VOLT_OK);
}

/* ---- life ---- */

static void all_zero_is_valid(void **state) {
  (void)state;
  static volt_notify zero;
  static const volt_notify initialised = VOLT_NOTIFY_INIT;
  assert_memory_equal((const void *)&zero, (const void *)&initialised, sizeof zero);
  assert_result(volt_notify_wait_until(&zero, PAST_DEADLINE), VOLT_ETIMEDOUT);
  volt_notify_one(&zero);
  assert_result(volt_notify_wait(&zero), VOLT_OK);
  volt_notify_destroy(&zero);
}

static void destroy_it(void *arg) {
  volt_notify_destroy((volt_notify *)arg);
}
static void wait_again(void *arg) {
  ignore_result(volt_notify_wait_waiter((volt_notify *)arg, &w[0], (volt_waker){NULL, NULL}));
}

static void misuse_aborts(void **state) {
  (void)state;
  queue(0, 2);
  assert_death(destroy_it, &n, "volt_notify", death_address(&n), "destroyed while 2");
  assert_death(wait_again, &n, "volt_notify", death_address(&w[0]), "already queued");
  volt_notify_all(&n);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      FAMILY_TEST(notify),
      TEST(one_is_stored),
      TEST(at_most_one_is_stored),
      TEST(one_wakes_the_oldest),
      TEST(all_wakes_all_and_stores_nothing),
      TEST(all_leaves_what_is_stored),
      TEST(a_waker_may_use_it),
      TEST(too_late_before_it_is_told),
      TEST(cancel_in_time),
      TEST(set_waker_replaces),
      TEST(all_counts_from_when_the_future_is_made),
      TEST(one_counts_because_it_is_stored),
      TEST(its_place_is_that_of_its_poll),
      TEST(two_that_were_not_polled),
      TEST(two_that_were_polled),
      TEST(dropped_it_passes_one_on),
      TEST(dropped_it_does_not_pass_all_on),
      TEST(a_loser_gives_it_back),
      TEST(all_zero_is_valid),
      TEST(misuse_aborts),
  };
  return cmocka_run_group_tests_name("notify", tests, NULL, NULL);
}
