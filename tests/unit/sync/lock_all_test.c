/* lock_all_test.c: every sentence of volt/lock_all.h, polled by hand. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#endif
#include <sys/mman.h>
#include <unistd.h>

#include "death.h"
#include "fake_waker.h"
#include "poller.h"

static volt_mutex mutexes[3];
static volt_sem sem;
static volt_lockable items[4];
static volt_lock_all_op op;
static fake_waker woken;

/* The third mutex, two permits, the first and the second mutex. */
static void fill(volt_lockable *to) {
  const volt_lockable all[] = {{.mutex = &mutexes[2]},
                               {.sem = &sem, .permits = 2},
                               {.mutex = &mutexes[0]},
                               {.mutex = &mutexes[1]}};
  memcpy((void *)to, all, sizeof all);
}

static volt_lockable mine[4];
static volt_lockable *filled(void) {
  fill(mine);
  return mine;
}

static int set_up(void **state) {
  (void)state;
  memset((void *)mutexes, 0, sizeof mutexes);
  volt_sem_init_bounded(&sem, 2);
  fill(items);
  fake_waker_init(&woken, 0, NULL);
  return 0;
}

static void expect_locked(unsigned mask, uint32_t free) {
  for (unsigned i = 0; i < 3; i++) {
    assert_int_equal(volt_mutex_is_locked(&mutexes[i]), (mask >> i) & 1);
    assert_int_equal(volt_mutex_waiters(&mutexes[i]), 0);
  }
  assert_int_equal(volt_sem_available(&sem), free);
  assert_int_equal(volt_sem_waiters(&sem), 0);
}

static int tear_down(void **state) {
  (void)state;
  expect_locked(0, 2);
  for (unsigned i = 0; i < 3; i++) volt_mutex_destroy(&mutexes[i]);
  volt_sem_destroy(&sem);
  return 0;
}

static void all_are_locked(void **state) {
  (void)state;
  assert_result(volt_try_lock_all(items, 4), VOLT_OK);
  expect_locked(7, 0);
  volt_unlock_all(items, 4);
  expect_locked(0, 2);
  assert_result(volt_lock_all(items, 4), VOLT_OK);
  expect_locked(7, 0);
  volt_unlock_all(items, 4);
  assert_result(volt_lock_all_until(items, 2, PAST_DEADLINE), VOLT_OK);
  volt_unlock_all(items, 2);
  assert_result(volt_try_lock_all(NULL, 0), VOLT_OK);
  assert_result(volt_lock_all(NULL, 0), VOLT_OK);
  assert_result(volt_future_poll(volt_lock_all_future(&op, NULL, 0), fake_waker_of(&woken)),
                VOLT_OK);
}

static void they_are_in_the_order_of_addresses(void **state) {
  (void)state;
  assert_result(volt_try_lock_all(items, 4), VOLT_OK);
  for (unsigned i = 1; i < 4; i++) {
    uintptr_t before =
        (uintptr_t)(items[i - 1].mutex ? (void *)items[i - 1].mutex : (void *)items[i - 1].sem);
    uintptr_t it = (uintptr_t)(items[i].mutex ? (void *)items[i].mutex : (void *)items[i].sem);
    assert_true(before < it);
  }
  volt_unlock_all(items, 4);
}

/* A list that is in order is not written: it stands in memory that cannot be. */
static void a_list_in_order_is_only_read(void **state) {
  (void)state;
  size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
  void *page = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_true(page != MAP_FAILED);
  volt_lockable *fixed = (volt_lockable *)page;
  assert_result(volt_try_lock_all(items, 4), VOLT_OK); /* it is in order now */
  volt_unlock_all(items, 4);
  memcpy(page, (const void *)items, sizeof items);
  assert_int_equal(mprotect(page, bytes, PROT_READ), 0);
  assert_result(volt_try_lock_all(fixed, 4), VOLT_OK);
  volt_unlock_all(fixed, 4);
  assert_result(volt_lock_all(fixed, 4), VOLT_OK);
  volt_unlock_all(fixed, 4);
  assert_result(volt_future_poll(volt_lock_all_future(&op, fixed, 4), fake_waker_of(&woken)),
                VOLT_OK);
  volt_unlock_all(fixed, 4);
  assert_int_equal(munmap(page, bytes), 0);
}

/* Each of them is taken by another, in turn: nothing is kept, however it is asked for. */
static void none_is_kept(void **state) {
  (void)state;
  for (unsigned i = 0; i < 4; i++) {
    volt_lockable taken = filled()[i];
    uint32_t free = taken.sem ? 0 : 2;
    unsigned mask = taken.mutex ? 1u << (taken.mutex - mutexes) : 0;
    assert_result(volt_try_lock_all(&taken, 1), VOLT_OK);
    assert_result(volt_try_lock_all(items, 4), VOLT_EAGAIN);
    expect_locked(mask, free);
    assert_result(volt_lock_all_until(items, 4, PAST_DEADLINE), VOLT_ETIMEDOUT);
    assert_result(volt_lock_all_until(items, 4, volt_deadline_us(100)), VOLT_ETIMEDOUT);
    expect_locked(mask, free);
    assert_result(volt_future_poll(volt_lock_all_future(&op, items, 4), fake_waker_of(&woken)),
                  VOLT_PENDING);
    volt_future_cancel(&op.future);
    expect_locked(mask, free);
    volt_unlock_all(&taken, 1);
  }
}

static void a_future_waits_for_one_after_the_other(void **state) {
  (void)state;
  assert_result(volt_try_lock_all(items, 4), VOLT_OK);
  assert_result(volt_future_poll(volt_lock_all_future(&op, filled(), 4), fake_waker_of(&woken)),
                VOLT_PENDING);
  for (unsigned i = 0; i < 4; i++) {
    assert_int_equal(fake_waker_calls(&woken), i);
    volt_unlock_all(&items[i], 1);
    assert_int_equal(fake_waker_calls(&woken), i + 1);
    assert_result(volt_future_poll(&op.future, fake_waker_of(&woken)),
                  i < 3 ? VOLT_PENDING : VOLT_OK);
  }
  expect_locked(7, 0);
  volt_unlock_all(mine, 4);
}

static void a_grant_that_no_poll_has_seen_is_given_back(void **state) {
  (void)state;
  assert_result(volt_try_lock_all(items, 4), VOLT_OK);
  assert_result(volt_future_poll(volt_lock_all_future(&op, filled(), 4), fake_waker_of(&woken)),
                VOLT_PENDING);
  volt_unlock_all(items, 4);
  volt_future_cancel(&op.future);
  expect_locked(0, 2);
  assert_result(volt_future_poll(&op.future, fake_waker_of(&woken)), VOLT_ECANCELED);
}

static void a_select_that_it_loses_gives_back(void **state) {
  (void)state;
  volt_select s;
  volt_future other;
  volt_notify first = VOLT_NOTIFY_INIT;
  assert_result(volt_try_lock_all(&items[3], 1), VOLT_OK); /* the last one is held */
  volt_future *const branches[] = {volt_notify_wait_future(&other, &first),
                                   volt_lock_all_future(&op, filled(), 4)};
  volt_future_made(volt_select_future(&s, branches, 2, VOLT_SELECT_BIASED));
  assert_result(volt_future_poll(&s.future, fake_waker_of(&woken)), VOLT_PENDING);
  volt_notify_one(&first);
  assert_result(volt_future_poll(&s.future, fake_waker_of(&woken)), VOLT_OK);
  assert_int_equal(volt_select_winner(&s), 0);
  volt_unlock_all(&items[3], 1);
  expect_locked(0, 2);
}

static void a_closed_semaphore_ends_it(void **state) {
  (void)state;
  volt_sem closed = VOLT_SEM_INIT(0);
  volt_lockable two[] = {{.mutex = &mutexes[0]}, {.sem = &closed, .permits = 1}};
  assert_result(volt_future_poll(volt_lock_all_future(&op, two, 2), fake_waker_of(&woken)),
                VOLT_PENDING);
  volt_sem_close(&closed);
  assert_result(volt_future_poll(&op.future, fake_waker_of(&woken)), VOLT_ECLOSED);
  expect_locked(0, 2);
  assert_result(volt_try_lock_all(two, 2), VOLT_ECLOSED);
  assert_result(volt_lock_all(two, 2), VOLT_ECLOSED);
  expect_locked(0, 2);
  volt_sem_destroy(&closed);
}

static void more_permits_than_there_can_be(void **state) {
  (void)state;
  volt_lockable two[] = {{.mutex = &mutexes[0]}, {.sem = &sem, .permits = VOLT_SEM_MAX + 1}};
  assert_result(volt_try_lock_all(two, 2), VOLT_EINVAL);
  assert_result(volt_lock_all(two, 2), VOLT_EINVAL);
  assert_result(volt_future_poll(volt_lock_all_future(&op, two, 2), fake_waker_of(&woken)),
                VOLT_EINVAL);
  expect_locked(0, 2);
}

/* It is found before anything is locked, so also if another has what comes before. */
static void impossible_permits_are_refused_at_once(void **state) {
  (void)state;
  volt_lockable one = {.mutex = &mutexes[0]};
  volt_sem unbounded = VOLT_SEM_INIT(1);
  volt_lockable two[] = {one, {.sem = &sem, .permits = 3}};
  volt_lockable open[] = {one, {.sem = &unbounded, .permits = VOLT_SEM_MAX}};
  assert_result(volt_try_lock_all(&one, 1), VOLT_OK);
  assert_result(volt_try_lock_all(two, 2), VOLT_EINVAL);
  assert_result(volt_lock_all(two, 2), VOLT_EINVAL);
  assert_result(volt_lock_all_until(two, 2, PAST_DEADLINE), VOLT_EINVAL);
  assert_result(volt_future_poll(volt_lock_all_future(&op, two, 2), fake_waker_of(&woken)),
                VOLT_EINVAL);
  volt_future_made(volt_lock_all_future(&op, two, 2));
  volt_future_cancel(&op.future);
  assert_result(volt_try_lock_all(open, 2), VOLT_EAGAIN); /* more may be released */
  volt_sem_set_limit(&sem, 3);
  assert_result(volt_try_lock_all(two, 2), VOLT_EAGAIN);
  volt_unlock_all(&one, 1);
  assert_result(volt_try_lock_all(two, 2), VOLT_OK);
  volt_unlock_all(two, 2);
  volt_sem_set_limit(&sem, 2);
  volt_sem_destroy(&unbounded);
}

#if VOLT_SIGHT
/* The place that is noted is that of this call, not of one before. */
static void it_is_noted_where_the_call_stands(void **state) {
  (void)state;
  volt_lockable one = {.mutex = &mutexes[0]};
  const volt_holder_ *holder = &mutexes[0].holder;
  volt_mutex_lock(&mutexes[0]);
  volt_mutex_unlock(&mutexes[0]);
  const uint32_t before = __LINE__;
  assert_result(volt_lock_all(&one, 1), VOLT_OK);
  assert_int_equal(volt_load_relaxed(&holder->line), before + 1); /* relaxed: its own */
  volt_unlock_all(&one, 1);
  assert_result(volt_try_lock_all(&one, 1), VOLT_OK);
  assert_int_equal(volt_load_relaxed(&holder->line), before + 4);
  volt_unlock_all(&one, 1);
  assert_result(volt_lock_all_until(&one, 1, PAST_DEADLINE), VOLT_OK);
  assert_int_equal(volt_load_relaxed(&holder->line), before + 7);
  assert_non_null(strstr(volt_load_relaxed(&holder->file), "lock_all_test.c"));
  volt_unlock_all(&one, 1);
  assert_result((volt_lock_all_until)(&one, 1, PAST_DEADLINE), VOLT_OK); /* does not say */
  assert_int_equal(volt_load_relaxed(&holder->line), 0);
  assert_null(volt_load_relaxed(&holder->file));
  volt_unlock_all(&one, 1);
}
#endif

/* ---- misuse ---- */

static void twice(void *arg) {
  volt_lockable both[] = {
      {.mutex = &mutexes[1]}, {.sem = &sem, .permits = 1}, {.mutex = &mutexes[1]}};
  (void)arg;
  ignore_result(volt_try_lock_all(both, 3));
}
static void permits_twice(void *arg) {
  volt_lockable both[] = {{.sem = &sem, .permits = 1}, {.sem = &sem, .permits = 1}};
  (void)arg;
  ignore_result(volt_lock_all(both, 2));
}
static void neither(void *arg) {
  volt_lockable none[] = {{.mutex = &mutexes[1]}, {.permits = 1}};
  (void)arg;
  ignore_result(volt_lock_all(none, 2));
}
static void both_of_one(void *arg) {
  volt_lockable both[] = {{.mutex = &mutexes[1], .sem = &sem}};
  (void)arg;
  volt_future_made(volt_lock_all_future(&op, both, 1));
}
static void too_many(void *arg) {
  (void)arg;
  ignore_result(volt_try_lock_all(items, VOLT_LOCK_ALL_MAX + 1));
}

static void misuse_aborts(void **state) {
  (void)state;
  assert_death(twice, NULL, "volt_lock_all", death_address(&mutexes[1]), "twice");
  assert_death(permits_twice, NULL, death_address(&sem), "twice");
  assert_death(neither, NULL, "item 1 has no mutex and no semaphore");
  assert_death(both_of_one, NULL, "item 0 has a mutex and a semaphore");
  assert_death(too_many, NULL, "65 objects, at most 64");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
    TEST(all_are_locked),
    TEST(they_are_in_the_order_of_addresses),
    TEST(a_list_in_order_is_only_read),
    TEST(none_is_kept),
    TEST(a_future_waits_for_one_after_the_other),
    TEST(a_grant_that_no_poll_has_seen_is_given_back),
    TEST(a_select_that_it_loses_gives_back),
    TEST(a_closed_semaphore_ends_it),
    TEST(more_permits_than_there_can_be),
    TEST(impossible_permits_are_refused_at_once),
#if VOLT_SIGHT
    TEST(it_is_noted_where_the_call_stands),
#endif
    TEST(misuse_aborts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
