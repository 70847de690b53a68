/* promise_test.c: every sentence of volt/promise.h, polled by hand. */
#include "death.h"
#include "fake_waker.h"
#include "family.h"
#include "thread_team.h"
#include "unit.h"

FAMILY_OF_FUTURES(promise, volt_promise it[1] = {VOLT_PROMISE_INIT(NULL)},
                  volt_promise_future(f, it), volt_promise_complete(it, VOLT_OK),
                  volt_promise_destroy(it))

/* An operation that does what it is told to. */
static struct {
  volt_promise promise;
  int at_once;   /* what start() returns */
  int within;    /* what start() completes with, unless it is VOLT_PENDING */
  bool stopped;  /* what cancel() returns */
  int at_cancel; /* what cancel() completes with, unless it is VOLT_PENDING */
  int starts, cancels, discards;
  int discarded;
} op;

static volt_future f;
static volt_future g;
static fake_waker a;

static int start(volt_promise *p) {
  assert_ptr_equal(p, &op.promise);
  op.starts += 1;
  if (op.within != VOLT_PENDING) volt_promise_complete(p, op.within);
  return op.at_once;
}

static bool cancel(volt_promise *p) {
  op.cancels += 1;
  if (op.at_cancel != VOLT_PENDING) volt_promise_complete(p, op.at_cancel);
  return op.stopped;
}

static void discard(volt_promise *p, int result) {
  op.discards += 1;
  op.discarded = result;
  memset((void *)p, 0xee, sizeof *p); /* the last access */
}

static const volt_promise_ops all = {start, cancel, discard};
static const volt_promise_ops keeping = {start, cancel, NULL};

static void make(const volt_promise_ops *ops) {
  memset((void *)&op, 0xee, sizeof op);
  op.at_once = op.within = op.at_cancel = VOLT_PENDING;
  op.stopped = false;
  op.starts = op.cancels = op.discards = 0;
  volt_promise_init(&op.promise, ops);
  volt_future_made(volt_promise_future(&f, &op.promise));
  volt_future_made(volt_promise_future(&g, &op.promise));
  fake_waker_init(&a, 0, NULL);
}

static int poll(volt_future *future) {
  return volt_future_poll(future, fake_waker_of(&a));
}

static void expect_calls(int starts, int cancels, int discards) {
  assert_int_equal(op.starts, starts);
  assert_int_equal(op.cancels, cancels);
  assert_int_equal(op.discards, discards);
}

static void begun_by_the_first_poll(void **state) {
  (void)state;
  make(&all);
  expect_calls(0, 0, 0);
  for (int i = 0; i < 3; i++) assert_result(poll(&f), VOLT_PENDING);
  expect_calls(1, 0, 0);
  volt_promise_complete(&op.promise, VOLT_ENOMEM);
  assert_int_equal(fake_waker_calls(&a), 1);
  for (int i = 0; i < 3; i++) assert_result(poll(&f), VOLT_ENOMEM);
  expect_calls(1, 0, 0);
  volt_promise_destroy(&op.promise);
}

static void the_next_future_begins_another(void **state) {
  (void)state;
  make(&all);
  for (int i = 1; i < 4; i++) {
    volt_future_made(volt_promise_future(&f, &op.promise));
    assert_result(poll(&f), VOLT_PENDING);
    volt_promise_complete(&op.promise, VOLT_OK);
    assert_result(poll(&f), VOLT_OK);
    expect_calls(i, 0, 0);
  }
  volt_promise_destroy(&op.promise);
}

static void ready_at_once(void **state) {
  (void)state;
  const int results[] = {VOLT_OK, VOLT_ENOMEM};
  for (int i = 0; i < 2; i++) {
    make(&all);
    op.at_once = results[i];
    assert_result(poll(&f), results[i]);
    assert_result(poll(&f), results[i]);
    expect_calls(1, 0, 0);
    assert_int_equal(fake_waker_calls(&a), 0);
    volt_promise_destroy(&op.promise);
  }
}

static void completed_within_start(void **state) {
  (void)state;
  make(&all);
  op.within = VOLT_OK;
  assert_result(poll(&f), VOLT_PENDING); /* and woken */
  assert_int_equal(fake_waker_calls(&a), 1);
  assert_result(poll(&f), VOLT_OK);
  volt_promise_destroy(&op.promise);
}

static void it_begins_by_itself(void **state) {
  (void)state;
  make(NULL);
  volt_promise_complete(&op.promise, VOLT_EINVAL);
  assert_result(poll(&f), VOLT_EINVAL);
  assert_result(poll(&g), VOLT_PENDING); /* taken */
  volt_promise_complete(&op.promise, VOLT_OK);
  assert_result(poll(&g), VOLT_OK);
  volt_promise_destroy(&op.promise);
}

/* ---- giving up ---- */

static void given_up_before_it_is_polled(void **state) {
  (void)state;
  make(&all);
  volt_future_cancel(&f);
  expect_calls(0, 0, 0);
  volt_promise_destroy(&op.promise);
}

static void stopped_by_cancel(void **state) {
  (void)state;
  make(&all);
  op.stopped = true;
  assert_result(poll(&f), VOLT_PENDING);
  volt_future_cancel(&f);
  expect_calls(1, 1, 1);
  assert_result(op.discarded, VOLT_ECANCELED);

  make(&keeping);
  op.stopped = true;
  assert_result(poll(&f), VOLT_PENDING);
  volt_future_cancel(&f);
  expect_calls(1, 1, 0);
  assert_result(poll(&f), VOLT_ECANCELED);
  assert_int_equal(fake_waker_calls(&a), 0);
  assert_result(poll(&g), VOLT_PENDING);
  expect_calls(2, 1, 0);
  volt_future_cancel(&g);
  volt_promise_destroy(&op.promise);
}

static void it_cannot_be_stopped(void **state) {
  (void)state;
  make(&all);
  assert_result(poll(&f), VOLT_PENDING);
  volt_future_cancel(&f);
  expect_calls(1, 1, 0);
  memset((void *)&f, 0xee, sizeof f);
  volt_promise_complete(&op.promise, VOLT_EAGAIN);
  expect_calls(1, 1, 1);
  assert_result(op.discarded, VOLT_EAGAIN);
  assert_int_equal(fake_waker_calls(&a), 0);
}

static void completed_by_cancel(void **state) {
  (void)state;
  make(&all);
  op.at_cancel = VOLT_ECANCELED;
  assert_result(poll(&f), VOLT_PENDING);
  volt_future_cancel(&f);
  expect_calls(1, 1, 1);
  assert_result(op.discarded, VOLT_ECANCELED);
  assert_int_equal(fake_waker_calls(&a), 0);
}

static void completed_and_not_polled(void **state) {
  (void)state;
  make(&all);
  assert_result(poll(&f), VOLT_PENDING);
  volt_promise_complete(&op.promise, VOLT_OK);
  volt_future_cancel(&f);
  expect_calls(1, 0, 1);
  assert_result(op.discarded, VOLT_OK);
}

static void kept_for_another_future(void **state) {
  (void)state;
  make(&keeping);
  assert_result(poll(&f), VOLT_PENDING);
  volt_future_cancel(&f);
  assert_result(poll(&g), VOLT_PENDING);
  expect_calls(1, 1, 0); /* it goes on */
  volt_future_cancel(&g);
  volt_promise_complete(&op.promise, VOLT_ENOMEM);
  volt_future_made(volt_promise_future(&f, &op.promise));
  assert_result(poll(&f), VOLT_ENOMEM);
  expect_calls(1, 2, 0);
  volt_promise_destroy(&op.promise);
}

/* In a select: the loser is stopped, discarded, or kept. */
static int in_a_select(volt_sem *sem) {
  volt_select s;
  volt_future permit;
  volt_future *branches[] = {volt_sem_acquire_future(&permit, sem, 1), &f};
  volt_future *either = volt_select_future(&s, branches, 2, VOLT_SELECT_BIASED);
  assert_result(poll(either), VOLT_PENDING);
  volt_sem_release(sem, 1);
  return poll(either);
}

static void it_loses_a_select(void **state) {
  (void)state;
  volt_sem sem = VOLT_SEM_INIT(0);
  make(&all);
  op.stopped = true;
  assert_result(in_a_select(&sem), VOLT_OK);
  expect_calls(1, 1, 1);
  assert_result(op.discarded, VOLT_ECANCELED);
  make(&keeping);
  op.at_cancel = VOLT_EAGAIN;
  assert_result(in_a_select(&sem), VOLT_OK);
  assert_result(poll(&g), VOLT_EAGAIN);
  make(&all);
  op.at_cancel = VOLT_OK;
  assert_result(in_a_select(&sem), VOLT_OK);
  expect_calls(1, 1, 1);
}

static void it_wins_a_select(void **state) {
  (void)state;
  volt_sem sem = VOLT_SEM_INIT(0);
  volt_select s;
  make(&all);
  volt_future *branches[] = {volt_sem_acquire_future(&g, &sem, 1), &f};
  volt_future *either = volt_select_future(&s, branches, 2, VOLT_SELECT_BIASED);
  assert_result(poll(either), VOLT_PENDING);
  volt_promise_complete(&op.promise, VOLT_OK);
  assert_result(poll(either), VOLT_OK);
  assert_int_equal(volt_sem_waiters(&sem), 0);
  expect_calls(1, 0, 0);
  volt_promise_destroy(&op.promise);
}

static void a_thread_blocks(void **state) {
  (void)state;
  make(&keeping);
  op.stopped = true;
  assert_result(volt_future_wait_until(&f, volt_deadline_ns(100000)), VOLT_ETIMEDOUT);
  expect_calls(1, 1, 0);
  volt_promise_destroy(&op.promise);
}

static void complete_it_there(void *arg, uint32_t index) {
  (void)index;
  volt_promise_complete((volt_promise *)arg, VOLT_OK);
}

static void completed_by_another_thread(void **state) {
  (void)state;
  thread_team team;
  make(NULL);
  thread_team_start(&team, 1, complete_it_there, &op.promise);
  assert_result(volt_future_wait(&f), VOLT_OK);
  memset((void *)&op.promise, 0xee, sizeof op.promise); /* while complete() may still return */
  thread_team_join(&team);
}

/* ---- misuse ---- */

static void complete(void *arg) {
  volt_promise_complete((volt_promise *)arg, VOLT_OK);
}

static void complete_with_pending(void *arg) {
  volt_promise_complete((volt_promise *)arg, VOLT_PENDING);
}

static void poll_it(void *arg) {
  (void)poll((volt_future *)arg);
}

static void cancel_it(void *arg) {
  volt_future_cancel((volt_future *)arg);
}

static void destroy_it(void *arg) {
  volt_promise_destroy((volt_promise *)arg);
}

static void misuse(void **state) {
  (void)state;
  const char *at = death_address(&op.promise);
  make(&all);
  assert_death(complete, &op.promise, "volt_promise", at, "not begun");
  assert_death(complete_with_pending, &op.promise, "volt_promise", at, "VOLT_PENDING");
  op.at_once = op.within = VOLT_OK;
  assert_death(poll_it, &f, "volt_promise", at, "although start() has returned");
  op.at_once = op.within = VOLT_PENDING;
  assert_result(poll(&f), VOLT_PENDING);
  assert_death(poll_it, &g, "volt_promise", at, "two futures");
  assert_death(destroy_it, &op.promise, "volt_promise", at, "under way");
  op.stopped = true;
  op.at_cancel = VOLT_OK;
  assert_death(cancel_it, &f, "volt_promise", at, "cancel() said");
  op.stopped = false;
  op.at_cancel = VOLT_PENDING;
  volt_future_cancel(&f);
  assert_death(poll_it, &g, "volt_promise", at, "given up");
  make(NULL);
  volt_promise_complete(&op.promise, VOLT_OK);
  assert_death(complete, &op.promise, "volt_promise", at, "completed twice");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FAMILY_TEST(promise),
      cmocka_unit_test(begun_by_the_first_poll),
      cmocka_unit_test(the_next_future_begins_another),
      cmocka_unit_test(ready_at_once),
      cmocka_unit_test(completed_within_start),
      cmocka_unit_test(it_begins_by_itself),
      cmocka_unit_test(given_up_before_it_is_polled),
      cmocka_unit_test(stopped_by_cancel),
      cmocka_unit_test(it_cannot_be_stopped),
      cmocka_unit_test(completed_by_cancel),
      cmocka_unit_test(completed_and_not_polled),
      cmocka_unit_test(kept_for_another_future),
      cmocka_unit_test(it_loses_a_select),
      cmocka_unit_test(it_wins_a_select),
      cmocka_unit_test(a_thread_blocks),
      cmocka_unit_test(completed_by_another_thread),
      cmocka_unit_test(misuse),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
