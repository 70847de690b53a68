/* bypass_wait_test.c: what waits for a mutex that may be passed: a branch of a select, a loop, a
 * blocked thread; wakers that use it; misuse. */
#include <errno.h>
#include <stdlib.h>

#include "bypass_owners.h"
#include "death.h"
#include "thread_team.h"

/* ---- select, loop, block_on ---- */

/* A select of owner 0's lock and of a notification; owner 1's ctx polls it. */
static volt_select both;
static volt_future *branches[2];
static volt_future notified;
static volt_notify notify;

static void select_both(unsigned how) {
  volt_notify_init(&notify);
  volt_future_made(volt_notify_wait_future(&notified, &notify));
  branches[0] = &owners[0].f;
  branches[1] = &notified;
  volt_future_made(volt_select_future(&both, branches, 2, how));
}

static int poll_both(void) {
  return volt_future_poll_ctx(&both.future, &owners[1].ctx);
}

static void a_nudged_branch_wins_by_a_look(void **state) {
  (void)state;
  select_both(VOLT_SELECT_FAIR);
  assert_result(volt_mutex_try_lock(&mutex), VOLT_OK);
  assert_result(poll_both(), VOLT_PENDING);
  expect_settled(1, 2, 0, 0);
  volt_mutex_unlock(&mutex);
  expect_settled(1, 2, 1, 0);
  assert_result(volt_mutex_try_lock(&mutex), VOLT_OK);
  assert_result(poll_both(), VOLT_PENDING); /* in vain; the other branch is as it was */
  expect_settled(1, 3, 1, 0);
  volt_mutex_unlock(&mutex);
  assert_result(poll_both(), VOLT_OK);
  assert_int_equal(volt_select_winner(&both), 0);
  expect_settled(1, 3, 2, 1);
  unlock_and_end();
  volt_notify_destroy(&notify);
}

static void a_nudged_branch_that_loses_passes_it_on(void **state) {
  (void)state;
  select_both(VOLT_SELECT_FAIR);
  branches[0] = &notified; /* polled first */
  branches[1] = &owners[0].f;
  volt_future_made(volt_select_future(&both, branches, 2, VOLT_SELECT_BIASED));
  assert_result(volt_mutex_try_lock(&mutex), VOLT_OK);
  assert_result(poll_both(), VOLT_PENDING);
  expect_poll(2, VOLT_PENDING);
  volt_mutex_unlock(&mutex);
  expect_settled(2, 1, 0, 0);
  volt_notify_one(&notify);
  assert_result(poll_both(), VOLT_OK);
  assert_int_equal(volt_select_winner(&both), 0);
  expect_settled(1, 2, 2, 0); /* the notification's and the nudge's */
  expect_settled(2, 1, 1, 0);
  expect_poll(2, VOLT_OK);
  unlock_and_end();
  volt_notify_destroy(&notify);
}

static void a_nudged_branch_that_is_kept(void **state) {
  (void)state;
  for (int held = 0; held < 2; held++) {
    set_up(state);
    select_both(VOLT_SELECT_FAIR);
    branches[0] = &notified;
    branches[1] = &owners[0].f;
    volt_future_made(volt_select_future(&both, branches, 2, VOLT_SELECT_BIASED | VOLT_SELECT_KEEP));
    assert_result(volt_mutex_try_lock(&mutex), VOLT_OK);
    assert_result(poll_both(), VOLT_PENDING);
    volt_mutex_unlock(&mutex);
    if (held) assert_result(volt_mutex_try_lock(&mutex), VOLT_OK);
    volt_notify_one(&notify);
    assert_result(poll_both(), VOLT_OK);
    expect_settled(1, 2, 2, 0);
    if (held) {
      expect_word(1, QUEUED | OPEN, 0);
      volt_mutex_unlock(&mutex);
    }
    expect_word(1, 0, 0); /* it has it, as it would have been granted it */
    expect_settled(1, 2, 2, 0);
    expect_poll(0, VOLT_OK);
    unlock_and_end();
    volt_notify_destroy(&notify);
  }
}

static uint32_t notifications;

static void count_notification(void *arg) {
  (void)arg;
  notifications += 1;
}

static void a_loop_checks(void **state) {
  (void)state;
  volt_loop loop;
  volt_waker waker = {count_notification, NULL};
  volt_future *f = &owners[0].f;
  notifications = 0;
  volt_loop_init(&loop, waker);
  assert_result(volt_mutex_try_lock(&mutex), VOLT_OK);
  assert_result(volt_loop_poll(&loop, f), VOLT_PENDING);
  volt_mutex_unlock(&mutex);
  assert_int_equal(notifications, 1);
  assert_true(volt_loop_is_settled(&loop));
  assert_result(volt_mutex_try_lock(&mutex), VOLT_OK);
  assert_result(volt_loop_poll(&loop, f), VOLT_PENDING); /* in vain */
  assert_false(volt_loop_is_settled(&loop));
  volt_mutex_unlock(&mutex);
  assert_int_equal(notifications, 2);
  assert_true(volt_loop_is_settled(&loop));
  assert_result(volt_loop_poll(&loop, f), VOLT_OK);
  unlock_and_end();
}

static void a_deadline_of_block_on(void **state) {
  (void)state;
  lock_and_queue(0);
  assert_result(volt_future_wait_until(&owners[0].f, PAST_DEADLINE), VOLT_ETIMEDOUT);
  expect_word(1, 0, 0);
  volt_mutex_unlock(&mutex);
  assert_result(volt_future_wait_until(&owners[1].f, PAST_DEADLINE), VOLT_OK);
  unlock_and_end();
}

/* ---- wakers use the mutex ---- */

static void take_unlock_and_free(void *arg) {
  volt_mutex *m = (volt_mutex *)arg;
  volt_waker no_waker = {NULL, NULL};
  assert_result(volt_future_poll(&owners[0].f, no_waker), VOLT_OK);
  volt_mutex_unlock(m);
  volt_mutex_destroy(m);
  memset(m, 0xee, sizeof *m);
  free(m);
}

static void the_nudged_one_frees_it(void **state) {
  (void)state;
  volt_mutex *m = (volt_mutex *)malloc(sizeof *m);
  assert_non_null(m);
  volt_mutex_init_bypass(m, 1);
  assert_result(volt_mutex_try_lock(m), VOLT_OK);
  volt_waker waker = {take_unlock_and_free, m};
  assert_result(volt_future_poll(volt_mutex_lock_future(&owners[0].f, m), waker), VOLT_PENDING);
  volt_mutex_unlock(m);
}

static void pass_and_look(void *arg) {
  owner_wake(arg);
  pass(1);
  expect_poll(1, VOLT_OK);
}

static void a_waker_passes_and_looks(void **state) {
  (void)state;
  lock_and_queue(1);
  owners[1].ctx.waker.wake = pass_and_look;
  expect_poll(1, VOLT_PENDING);
  volt_mutex_unlock(&mutex);        /* nudges 0 */
  volt_future_cancel(&owners[0].f); /* nudges 1, inside this call */
  expect_poll(0, VOLT_ECANCELED);
  expect_settled(1, 1, 1, 0);
  unlock_and_end();
}

/* ---- threads ---- */

static VOLT_ATOMIC(int) got;

static void lock_and_unlock(void *arg, uint32_t index) {
  (void)index;
  int result = volt_mutex_lock_until(&mutex, *(const uint64_t *)arg);
  if (result == VOLT_OK) volt_mutex_unlock(&mutex);
  volt_store_release(&got, result);
}

static bool word_is(uint32_t value, uint64_t flags, uint32_t left) {
  return volt_load_acquire(&mutex.queue.word) ==
         (VOLT_WORD_(value) | flags | left * VOLT_WORD_LEFT_);
}

static void a_blocked_thread_looks_in_vain(void **state) {
  (void)state;
  uint64_t deadline_ns = VOLT_NO_DEADLINE;
  thread_team t;
  for (int i = 0; i < 20; i++) {
    assert_result(volt_mutex_try_lock(&mutex), VOLT_OK);
    thread_team_start(&t, 1, lock_and_unlock, &deadline_ns);
    WAIT_UNTIL(volt_mutex_waiters(&mutex) == 1);
    volt_mutex_unlock(&mutex);
    if (volt_mutex_try_lock(&mutex) == VOLT_OK) { /* before the thread, or after it */
      WAIT_UNTIL(word_is(1, QUEUED | OPEN, 0) || volt_mutex_waiters(&mutex) == 0);
      volt_mutex_unlock(&mutex);
    }
    thread_team_join(&t);
    assert_result(volt_load_acquire(&got), VOLT_OK);
    expect_word(0, 0, 0);
  }
}

/* It looks in vain, and its deadline passes. */
static void a_blocked_thread_times_out(void **state) {
  (void)state;
  uint64_t deadline_ns = volt_deadline_ns(30000000);
  thread_team t;
  assert_result(volt_mutex_try_lock(&mutex), VOLT_OK);
  thread_team_start(&t, 1, lock_and_unlock, &deadline_ns);
  WAIT_UNTIL(volt_mutex_waiters(&mutex) == 1 || volt_now_ns() >= deadline_ns);
  volt_mutex_unlock(&mutex);
  bool held = volt_mutex_try_lock(&mutex) == VOLT_OK;
  thread_team_join(&t);
  if (held) volt_mutex_unlock(&mutex);
  int result = volt_load_acquire(&got);
  assert_true(result == VOLT_OK || (held && result == VOLT_ETIMEDOUT));
  assert_result(volt_mutex_try_lock(&mutex), VOLT_OK);
  assert_result(volt_mutex_lock_until(&mutex, PAST_DEADLINE), VOLT_ETIMEDOUT);
  unlock_and_end();
}

/* ---- misuse ---- */

static void init_with(void *k) {
  volt_mutex_init_bypass(&mutex, *(const uint32_t *)k);
}

static void queue_on_macro_with_256(void *arg) {
  (void)arg;
  volt_mutex m = VOLT_MUTEX_INIT_BYPASS(256);
  volt_mutex_lock(&m);
  ignore_result(volt_mutex_lock_until(&m, volt_deadline_s(60)));
}

static void unlock(void *arg) {
  (void)arg;
  volt_mutex_unlock(&mutex);
}

static void unlock_fair(void *arg) {
  (void)arg;
  volt_mutex_unlock_fair(&mutex);
}

static void destroy(void *arg) {
  (void)arg;
  volt_mutex_destroy(&mutex);
}

static void poll_a_copy(void *arg) {
  (void)arg;
  struct owner copy = owners[0];
  (void)volt_future_poll_ctx(&copy.f, &copy.ctx);
}

static void misuse_aborts(void **state) {
  (void)state;
  uint32_t k = 256;
  assert_death(init_with, &k, "volt_mutex_init_bypass", "bypass is 256, more than 255");
  assert_death(queue_on_macro_with_256, NULL, "volt_mutex", "bypass is 256");
  assert_death(unlock, NULL, "volt_mutex", "unlocked, but it is not locked");
  assert_death(unlock_fair, NULL, "volt_mutex", "unlocked, but it is not locked");
  queue_and_nudge(1);
  assert_death(unlock, NULL, "volt_mutex", "unlocked, but it is not locked");
  assert_death(unlock_fair, NULL, "volt_mutex", "unlocked, but it is not locked");
  assert_death(destroy, NULL, "volt_mutex", "destroyed while 1 waiters are queued");
  assert_death(poll_a_copy, NULL, "copied or moved");
  expect_poll(0, VOLT_OK);
  assert_death(destroy, NULL, "volt_mutex", "destroyed while it is locked");
  unlock_and_end();
}

static void errno_is_never_set(void **state) {
  (void)state;
  errno = 4711;
  queue_and_nudge(1);
  pass(1);
  expect_poll(0, VOLT_OK);
  assert_result(volt_mutex_lock_until(&mutex, PAST_DEADLINE), VOLT_ETIMEDOUT);
  unlock_and_end();
  assert_int_equal(errno, 4711);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(a_nudged_branch_wins_by_a_look, set_up),
      cmocka_unit_test_setup(a_nudged_branch_that_loses_passes_it_on, set_up),
      cmocka_unit_test_setup(a_nudged_branch_that_is_kept, set_up),
      cmocka_unit_test_setup(a_loop_checks, set_up),
      cmocka_unit_test_setup(a_deadline_of_block_on, set_up),
      cmocka_unit_test_setup(the_nudged_one_frees_it, set_up),
      cmocka_unit_test_setup(a_waker_passes_and_looks, set_up),
      cmocka_unit_test_setup(a_blocked_thread_looks_in_vain, set_up),
      cmocka_unit_test_setup(a_blocked_thread_times_out, set_up),
      cmocka_unit_test_setup(misuse_aborts, set_up),
      cmocka_unit_test_setup(errno_is_never_set, set_up),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
