/* mutex_test.c: every sentence of volt/mutex.h. */
#include <errno.h>
#include <stdlib.h>

#include "fake_waker.h"
#include "family.h"
#include "ledger.h"
#include "thread_team.h"
#include "unit.h"

FAMILY(mutex, volt_mutex it[1] = {VOLT_MUTEX_INIT};
       volt_mutex_lock(it), volt_mutex_lock_waiter(it, w, waker), volt_mutex_lock_until(it, past),
       volt_mutex_lock_future(f, it), volt_mutex_unlock(it), volt_mutex_unlock(it);
       volt_mutex_destroy(it))

enum { MANY = 100 };

static volt_mutex mutex;
static wake_log wakes;
static volt_waiter waiters[MANY];
static hostile_waker wakers[MANY];

static int set_up(void **state) {
  (void)state;
  volt_mutex_init(&mutex);
  wake_log_init(&wakes);
  memset(waiters, 0, sizeof waiters);
  for (uint32_t i = 0; i < MANY; i++) hostile_waker_init(&wakers[i], i, &wakes, NULL, &mutex);
  return 0;
}

/* The lock is held, and waiters 0..count-1 queue for it. */
static void lock_and_queue(uint32_t count) {
  assert_result(volt_mutex_try_lock(&mutex), VOLT_OK);
  for (uint32_t i = 0; i < count; i++) {
    assert_result(volt_mutex_lock_waiter(&mutex, &waiters[i], hostile_waker_of(&wakers[i])),
                  VOLT_PENDING);
  }
}

static void expect(uint32_t i, int result, uint32_t calls) {
  assert_result(volt_waiter_result(&waiters[i]), result);
  assert_int_equal(hostile_waker_calls(&wakers[i]), calls);
}

/* ---- begin, try, lock, unlock ---- */

static void three_ways_to_begin(void **state) {
  (void)state;
  volt_mutex by_macro = VOLT_MUTEX_INIT;
  volt_mutex zero;
  volt_mutex by_call;
  memset(&zero, 0, sizeof zero);
  memset(&by_call, 0xee, sizeof by_call);
  volt_mutex_init(&by_call);
  volt_mutex *all[] = {&by_macro, &zero, &by_call};
  for (int i = 0; i < 3; i++) {
    assert_false(volt_mutex_is_locked(all[i]));
    assert_int_equal(volt_mutex_waiters(all[i]), 0);
    assert_result(volt_mutex_try_lock(all[i]), VOLT_OK);
    assert_result(volt_mutex_lock_waiter(all[i], &waiters[0], hostile_waker_of(&wakers[0])),
                  VOLT_PENDING);
    volt_mutex_unlock(all[i]);
    expect(0, VOLT_OK, (uint32_t)i + 1);
    volt_mutex_unlock(all[i]);
    volt_mutex_destroy(all[i]);
  }
}

static void try_locks_if_free(void **state) {
  (void)state;
  for (int i = 0; i < 1000; i++) {
    assert_result(volt_mutex_try_lock(&mutex), VOLT_OK); /* never fails spuriously */
    assert_true(volt_mutex_is_locked(&mutex));
    assert_result(volt_mutex_try_lock(&mutex), VOLT_EAGAIN); /* not recursive */
    volt_mutex_unlock(&mutex);
    assert_false(volt_mutex_is_locked(&mutex));
  }
}

static void lock_takes_at_once(void **state) {
  (void)state;
  assert_result(volt_mutex_lock_waiter(&mutex, &waiters[0], hostile_waker_of(&wakers[0])), VOLT_OK);
  assert_true(volt_mutex_is_locked(&mutex));
  expect(0, VOLT_ECANCELED, 0); /* *w was not used */
  volt_mutex_unlock(&mutex);
  expect(0, VOLT_ECANCELED, 0);
}

static void unlock_hands_it_over(void **state) {
  (void)state;
  lock_and_queue(2);
  assert_int_equal(volt_mutex_waiters(&mutex), 2);
  assert_result(volt_mutex_try_lock(&mutex), VOLT_EAGAIN);
  volt_mutex_unlock(&mutex);
  expect(0, VOLT_OK, 1);
  expect(1, VOLT_PENDING, 0);
  assert_true(volt_mutex_is_locked(&mutex));
  assert_result(volt_mutex_try_lock(&mutex), VOLT_EAGAIN);
  assert_int_equal(volt_mutex_waiters(&mutex), 1);
  volt_mutex_unlock(&mutex);
  expect(1, VOLT_OK, 1);
  assert_true(volt_mutex_is_locked(&mutex));
  assert_result(volt_mutex_try_lock(&mutex),
                VOLT_EAGAIN); /* given, not yet looked at, and no longer to take */
  volt_mutex_unlock(&mutex);
  assert_false(volt_mutex_is_locked(&mutex));
  expect(0, VOLT_OK, 1);
  expect(1, VOLT_OK, 1);
}

static void in_order_of_arrival(void **state) {
  (void)state;
  lock_and_queue(MANY);
  for (uint32_t i = 0; i < MANY; i++) {
    assert_int_equal(volt_mutex_waiters(&mutex), MANY - i);
    volt_mutex_unlock(&mutex);
    assert_true(wake_log_is_run(&wakes, 0, i + 1));
  }
  volt_mutex_unlock(&mutex);
}

/* ---- cancel, set_waker ---- */

static void cancel_of_each(void **state) {
  for (uint32_t gone = 0; gone < 4; gone++) {
    set_up(state);
    lock_and_queue(4);
    assert_true(volt_mutex_cancel(&mutex, &waiters[gone]));
    assert_true(volt_mutex_cancel(&mutex, &waiters[gone]));
    assert_int_equal(volt_mutex_waiters(&mutex), 3);
    for (int i = 0; i < 4; i++) volt_mutex_unlock(&mutex);
    for (uint32_t i = 0; i < 4; i++) {
      if (i == gone)
        expect(i, VOLT_ECANCELED, 0);
      else
        expect(i, VOLT_OK, 1);
    }
    assert_false(volt_mutex_is_locked(&mutex));
  }
}

static void cancel_of_the_only_one_leaves_it_locked(void **state) {
  (void)state;
  lock_and_queue(1);
  assert_true(volt_mutex_cancel(&mutex, &waiters[0]));
  assert_true(volt_mutex_is_locked(&mutex));
  assert_result(volt_mutex_try_lock(&mutex), VOLT_EAGAIN);
  volt_mutex_unlock(&mutex);
  assert_result(volt_mutex_try_lock(&mutex), VOLT_OK);
}

static void cancel_is_too_late(void **state) {
  (void)state;
  lock_and_queue(2);
  volt_mutex_unlock(&mutex);
  assert_false(volt_mutex_cancel(&mutex, &waiters[0]));
  assert_false(volt_mutex_cancel(&mutex, &waiters[0]));
  expect(0, VOLT_OK, 1);
  assert_true(volt_mutex_is_locked(&mutex)); /* the lock is the caller's to unlock */
  volt_mutex_unlock(&mutex);
  expect(1, VOLT_OK, 1);
  volt_mutex_unlock(&mutex);
  assert_false(volt_mutex_is_locked(&mutex));
}

static void set_waker_replaces(void **state) {
  (void)state;
  lock_and_queue(1);
  fake_waker other;
  fake_waker_init(&other, 0, NULL);
  assert_true(volt_waiter_set_waker(&waiters[0], fake_waker_of(&other)));
  volt_mutex_unlock(&mutex);
  expect(0, VOLT_OK, 0);
  assert_int_equal(fake_waker_calls(&other), 1);
  fake_waker late;
  fake_waker_init(&late, 0, NULL);
  assert_false(volt_waiter_set_waker(&waiters[0], fake_waker_of(&late)));
  assert_int_equal(fake_waker_calls(&late), 0);
  assert_int_equal(fake_waker_calls(&other), 1);
  volt_mutex_unlock(&mutex);
}

/* ---- wakers that call back ---- */

static void unlock_it(hostile_waker *self) {
  volt_mutex_unlock((volt_mutex *)self->object);
}

static void wakers_unlock(void **state) {
  (void)state;
  for (uint32_t i = 0; i < MANY; i++) wakers[i].act = unlock_it;
  lock_and_queue(MANY);
  volt_mutex_unlock(&mutex);
  assert_true(wake_log_is_run(&wakes, 0, MANY));
  assert_false(volt_mutex_is_locked(&mutex));
}

static void lock_again(hostile_waker *self) {
  self->act = NULL;
  self->result = volt_mutex_lock_waiter(&mutex, self->other, hostile_waker_of(self));
}

static void wakers_lock_again(void **state) {
  (void)state;
  wakers[0].act = lock_again;
  wakers[0].other = &waiters[0];
  lock_and_queue(2);
  volt_mutex_unlock(&mutex);
  assert_result(wakers[0].result, VOLT_PENDING); /* granted, and queued once more, behind 1 */
  volt_mutex_unlock(&mutex);
  expect(1, VOLT_OK, 1);
  expect(0, VOLT_PENDING, 1);
  volt_mutex_unlock(&mutex);
  expect(0, VOLT_OK, 2);
  volt_mutex_unlock(&mutex);
}

static void cancel_the_next(hostile_waker *self) {
  self->n = volt_mutex_cancel(&mutex, self->other);
}

static void wakers_cancel(void **state) {
  (void)state;
  wakers[0].act = cancel_the_next;
  wakers[0].other = &waiters[1];
  lock_and_queue(3);
  volt_mutex_unlock(&mutex);
  assert_int_equal(wakers[0].n, 1);
  expect(1, VOLT_ECANCELED, 0);
  volt_mutex_unlock(&mutex);
  expect(2, VOLT_OK, 1);
  volt_mutex_unlock(&mutex);
}

/* Lock, see that we are the last user, unlock, free. */
static void unlock_and_free(hostile_waker *self) {
  volt_mutex *m = (volt_mutex *)self->object;
  volt_mutex_unlock(m);
  volt_mutex_destroy(m);
  memset(m, 0xee, sizeof *m);
  free(m);
}

static void the_granted_one_frees_it(void **state) {
  (void)state;
  volt_mutex *m = (volt_mutex *)calloc(1, sizeof *m);
  assert_non_null(m);
  assert_result(volt_mutex_try_lock(m), VOLT_OK);
  hostile_waker_init(&wakers[0], 0, &wakes, unlock_and_free, m);
  assert_result(volt_mutex_lock_waiter(m, &waiters[0], hostile_waker_of(&wakers[0])), VOLT_PENDING);
  volt_mutex_unlock(m);
  expect(0, VOLT_OK, 1);
}

/* ---- threads ---- */

static void lock_blocking_keeps_its_deadline(void **state) {
  (void)state;
  assert_result(volt_mutex_lock_until(&mutex, PAST_DEADLINE), VOLT_OK); /* it was free */
  assert_result(volt_mutex_lock_until(&mutex, PAST_DEADLINE), VOLT_ETIMEDOUT);
  assert_result(volt_mutex_lock_until(&mutex, 0), VOLT_ETIMEDOUT);
  uint64_t deadline_ns = volt_deadline_ns(100000);
  assert_result(volt_mutex_lock_until(&mutex, deadline_ns), VOLT_ETIMEDOUT);
  assert_true(volt_now_ns() >= deadline_ns);
  assert_int_equal(volt_mutex_waiters(&mutex), 0);
  volt_mutex_unlock(&mutex);
  assert_false(volt_mutex_is_locked(&mutex)); /* none of those took it */
}

static uint32_t plain;

static void count_up(void *arg, uint32_t index) {
  (void)arg;
  for (int i = 0; i < 500; i++) {
    if (index % 2) {
      volt_mutex_lock(&mutex);
    } else {
      REQUIRE(volt_mutex_lock_until(&mutex, VOLT_NO_DEADLINE) == VOLT_OK);
    }
    plain += 1;
    volt_mutex_unlock(&mutex);
  }
}

static void one_at_a_time(void **state) {
  (void)state;
  plain = 0;
  thread_team_run(4, count_up, NULL);
  assert_int_equal(plain, 4 * 500);
  assert_false(volt_mutex_is_locked(&mutex));
}

static void lock_and_leave(void *arg, uint32_t index) {
  (void)arg;
  (void)index;
  REQUIRE(volt_mutex_lock_until(&mutex, VOLT_NO_DEADLINE) == VOLT_OK);
  plain = 42;
}

static void one_thread_locks_another_unlocks(void **state) {
  (void)state;
  thread_team_run(1, lock_and_leave, NULL);
  assert_true(volt_mutex_is_locked(&mutex));
  volt_mutex_unlock(&mutex);
  thread_team t;
  assert_result(volt_mutex_try_lock(&mutex), VOLT_OK);
  thread_team_start(&t, 1, lock_and_leave, NULL);
  WAIT_UNTIL(volt_mutex_waiters(&mutex) == 1);
  plain = 0;
  volt_mutex_unlock(&mutex);
  thread_team_join(&t);
  assert_int_equal(plain, 42);
  assert_true(volt_mutex_is_locked(&mutex));
  volt_mutex_unlock(&mutex);
}

struct shared {
  volt_mutex mutex;
  uint32_t users;
};

static void use_and_maybe_free(void *arg, uint32_t index) {
  struct shared *s = (struct shared *)arg;
  (void)index;
  REQUIRE(volt_mutex_lock_until(&s->mutex, VOLT_NO_DEADLINE) == VOLT_OK);
  uint32_t left = --s->users;
  volt_mutex_unlock(&s->mutex);
  if (left > 0) return;
  volt_mutex_destroy(&s->mutex);
  memset(s, 0xee, sizeof *s);
  free(s);
}

static void the_last_user_frees_it(void **state) {
  (void)state;
  for (int i = 0; i < 300; i++) {
    struct shared *s = (struct shared *)calloc(1, sizeof *s);
    assert_non_null(s);
    s->users = 3;
    thread_team_run(3, use_and_maybe_free, s);
  }
}

static void errno_is_never_set(void **state) {
  (void)state;
  errno = 4711;
  lock_and_queue(2);
  assert_result(volt_mutex_lock_until(&mutex, PAST_DEADLINE), VOLT_ETIMEDOUT);
  assert_true(volt_waiter_set_waker(&waiters[0], hostile_waker_of(&wakers[0])));
  assert_true(volt_mutex_cancel(&mutex, &waiters[1]));
  volt_mutex_unlock(&mutex);
  volt_mutex_unlock(&mutex);
  volt_mutex_destroy(&mutex);
  assert_int_equal(errno, 4711);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FAMILY_TEST(mutex),
      cmocka_unit_test_setup(three_ways_to_begin, set_up),
      cmocka_unit_test_setup(try_locks_if_free, set_up),
      cmocka_unit_test_setup(lock_takes_at_once, set_up),
      cmocka_unit_test_setup(unlock_hands_it_over, set_up),
      cmocka_unit_test_setup(in_order_of_arrival, set_up),
      cmocka_unit_test_setup(cancel_of_each, set_up),
      cmocka_unit_test_setup(cancel_of_the_only_one_leaves_it_locked, set_up),
      cmocka_unit_test_setup(cancel_is_too_late, set_up),
      cmocka_unit_test_setup(set_waker_replaces, set_up),
      cmocka_unit_test_setup(wakers_unlock, set_up),
      cmocka_unit_test_setup(wakers_lock_again, set_up),
      cmocka_unit_test_setup(wakers_cancel, set_up),
      cmocka_unit_test_setup(the_granted_one_frees_it, set_up),
      cmocka_unit_test_setup(lock_blocking_keeps_its_deadline, set_up),
      cmocka_unit_test_setup(one_at_a_time, set_up),
      cmocka_unit_test_setup(one_thread_locks_another_unlocks, set_up),
      cmocka_unit_test_setup(the_last_user_frees_it, set_up),
      cmocka_unit_test_setup(errno_is_never_set, set_up),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
