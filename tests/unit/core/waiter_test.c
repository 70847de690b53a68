/* waiter_test.c: the life of a waiter, and what its result says at every point of it. */
#include <stdlib.h>

#include "fake_waker.h"
#include "require.h"
#include "thread_team.h"
#include "unit.h"

static void all_zero_is_unused(void **state) {
  (void)state;
  volt_waiter zero;
  memset(&zero, 0, sizeof zero);
  volt_waiter init = VOLT_WAITER_INIT;
  static volt_waiter in_bss;
  assert_result(volt_waiter_result(&zero), VOLT_ECANCELED); /* nothing was ever queued with it */
  assert_result(volt_waiter_result(&init), VOLT_ECANCELED);
  assert_result(volt_waiter_result(&in_bss), VOLT_ECANCELED);

  volt_sem sem = VOLT_SEM_INIT(0);
  fake_waker waker;
  fake_waker_init(&waker, 0, NULL);
  assert_result(volt_sem_acquire_waiter(&sem, &zero, 1, fake_waker_of(&waker)), VOLT_PENDING);
  volt_sem_release(&sem, 1);
  assert_result(volt_waiter_result(&zero), VOLT_OK);
}

static void unused_queued_granted(void **state) {
  (void)state;
  volt_sem sem = VOLT_SEM_INIT(0);
  volt_waiter w = VOLT_WAITER_INIT;
  fake_waker waker;
  fake_waker_init(&waker, 0, NULL);
  assert_result(volt_sem_acquire_waiter(&sem, &w, 2, fake_waker_of(&waker)), VOLT_PENDING);
  assert_result(volt_waiter_result(&w), VOLT_PENDING);
  volt_sem_release(&sem, 1); /* served in part: still queued */
  assert_result(volt_waiter_result(&w), VOLT_PENDING);
  assert_int_equal(fake_waker_calls(&waker), 0);
  volt_sem_release(&sem, 1);
  assert_result(volt_waiter_result(&w), VOLT_OK);
  assert_result(volt_waiter_result(&w), VOLT_OK);
  assert_int_equal(fake_waker_calls(&waker), 1);
}

static void unused_queued_cancelled(void **state) {
  (void)state;
  volt_sem sem = VOLT_SEM_INIT(0);
  volt_waiter w = VOLT_WAITER_INIT;
  fake_waker waker;
  fake_waker_init(&waker, 0, NULL);
  assert_result(volt_sem_acquire_waiter(&sem, &w, 1, fake_waker_of(&waker)), VOLT_PENDING);
  assert_true(volt_sem_cancel(&sem, &w));
  assert_result(volt_waiter_result(&w), VOLT_ECANCELED);
  volt_sem_release(&sem, 1);
  assert_int_equal(fake_waker_calls(&waker), 0); /* no wake will come */
}

static void unused_queued_closed(void **state) {
  (void)state;
  volt_sem sem = VOLT_SEM_INIT(0);
  volt_waiter w = VOLT_WAITER_INIT;
  fake_waker waker;
  fake_waker_init(&waker, 0, NULL);
  assert_result(volt_sem_acquire_waiter(&sem, &w, 1, fake_waker_of(&waker)), VOLT_PENDING);
  volt_sem_close(&sem);
  assert_result(volt_waiter_result(&w), VOLT_ECLOSED);
  assert_int_equal(fake_waker_calls(&waker), 1);
}

/* One waiter on one primitive after the other, completed in every way. */
static void one_waiter_for_every_primitive(void **state) {
  (void)state;
  volt_sem sem = VOLT_SEM_INIT(0);
  volt_mutex mutex = VOLT_MUTEX_INIT;
  volt_rwlock rw = VOLT_RWLOCK_INIT;
  volt_waiter w = VOLT_WAITER_INIT;
  fake_waker waker;
  fake_waker_init(&waker, 0, NULL);
  assert_result(volt_mutex_try_lock(&mutex), VOLT_OK);
  assert_result(volt_rwlock_try_read(&rw), VOLT_OK);
  for (uint32_t i = 0; i < 10; i++) {
    assert_result(volt_sem_acquire_waiter(&sem, &w, 1, fake_waker_of(&waker)), VOLT_PENDING);
    volt_sem_release(&sem, 1);
    assert_result(volt_waiter_result(&w), VOLT_OK);
    assert_result(volt_mutex_lock_waiter(&mutex, &w, fake_waker_of(&waker)), VOLT_PENDING);
    assert_true(volt_mutex_cancel(&mutex, &w));
    assert_result(volt_waiter_result(&w), VOLT_ECANCELED);
    assert_result(volt_rwlock_write_waiter(&rw, &w, fake_waker_of(&waker)), VOLT_PENDING);
    volt_rwlock_read_unlock(&rw);
    assert_result(volt_waiter_result(&w), VOLT_OK);
    volt_rwlock_downgrade(&rw);
    assert_int_equal(fake_waker_calls(&waker), 2 * (i + 1));
  }
}

/* ---- the grant comes before the wake, and after it only the owner touches the waiter ---- */

static void look_at_result(hostile_waker *self) {
  self->result = volt_waiter_result(self->other);
}

static void the_grant_is_visible_before_the_wake(void **state) {
  (void)state;
  volt_sem sem = VOLT_SEM_INIT(0);
  volt_waiter w = VOLT_WAITER_INIT;
  hostile_waker waker;
  hostile_waker_init(&waker, 0, NULL, look_at_result, &sem);
  waker.other = &w;
  assert_result(volt_sem_acquire_waiter(&sem, &w, 1, hostile_waker_of(&waker)), VOLT_PENDING);
  volt_sem_release(&sem, 1);
  assert_result(waker.result, VOLT_OK);
  assert_result(volt_sem_acquire_waiter(&sem, &w, 1, hostile_waker_of(&waker)), VOLT_PENDING);
  volt_sem_close(&sem);
  assert_result(waker.result, VOLT_ECLOSED);
}

enum { MANY = 70 };

static hostile_waker wakers[MANY];
static volt_waiter *waiters[MANY];

/* The first wake of a batch finds all of the batch granted, and frees their memory. */
static void free_all_granted(hostile_waker *self) {
  (void)self;
  for (int i = 0; i < MANY; i++) {
    if (!waiters[i] || volt_waiter_result(waiters[i]) == VOLT_PENDING) continue;
    memset(waiters[i], 0xee, sizeof *waiters[i]);
    free(waiters[i]);
    waiters[i] = NULL;
  }
}

static void queue_on_heap(volt_sem *sem) {
  for (uint32_t i = 0; i < MANY; i++) {
    hostile_waker_init(&wakers[i], i, NULL, free_all_granted, sem);
    waiters[i] = (volt_waiter *)calloc(1, sizeof *waiters[i]);
    assert_non_null(waiters[i]);
    assert_result(volt_sem_acquire_waiter(sem, waiters[i], 1, hostile_waker_of(&wakers[i])),
                  VOLT_PENDING);
  }
}

static void nothing_touches_it_after_the_grant(void **state) {
  (void)state;
  volt_sem sem = VOLT_SEM_INIT(0);
  queue_on_heap(&sem);
  volt_sem_release(&sem, MANY);
  for (int i = 0; i < MANY; i++) {
    assert_null(waiters[i]);
    assert_int_equal(hostile_waker_calls(&wakers[i]), 1);
  }
  queue_on_heap(&sem);
  volt_sem_close(&sem);
  for (int i = 0; i < MANY; i++) {
    assert_null(waiters[i]);
    assert_int_equal(hostile_waker_calls(&wakers[i]), 1);
  }
  volt_sem_destroy(&sem);
}

static void nothing_touches_it_after_a_cancel(void **state) {
  (void)state;
  volt_sem sem = VOLT_SEM_INIT(0);
  queue_on_heap(&sem);
  for (int i = MANY - 1; i >= 0; i--) {
    assert_true(volt_sem_cancel(&sem, waiters[i]));
    memset(waiters[i], 0xee, sizeof *waiters[i]);
    free(waiters[i]);
    waiters[i] = NULL;
  }
  volt_sem_release(&sem, 1);
  assert_int_equal(volt_sem_available(&sem), 1);
  for (int i = 0; i < MANY; i++) assert_int_equal(hostile_waker_calls(&wakers[i]), 0);
}

/* The same with memory that is used for something else at once. */
static volt_waiter in_place[MANY];

static void overwrite_all_granted(hostile_waker *self) {
  (void)self;
  for (int i = 0; i < MANY; i++) {
    if (volt_waiter_result(&in_place[i]) == VOLT_PENDING) continue;
    memset(&in_place[i], 0, sizeof in_place[i]);
  }
}

static void its_memory_is_used_for_something_else(void **state) {
  (void)state;
  volt_sem sem = VOLT_SEM_INIT(0);
  for (uint32_t i = 0; i < MANY; i++) {
    hostile_waker_init(&wakers[i], i, NULL, overwrite_all_granted, &sem);
    volt_waker waker = hostile_waker_of(&wakers[i]);
    assert_result(volt_sem_acquire_waiter(&sem, &in_place[i], 1, waker), VOLT_PENDING);
  }
  volt_sem_release(&sem, MANY);
  for (int i = 0; i < MANY; i++) assert_int_equal(hostile_waker_calls(&wakers[i]), 1);
  assert_int_equal(volt_sem_available(&sem), 0);
}

/* ---- order ---- */

struct past {
  volt_sem sem;
  uint32_t plain;
};

static void write_and_release(void *arg, uint32_t index) {
  struct past *p = (struct past *)arg;
  (void)index;
  p->plain = 42;
  volt_sem_release(&p->sem, 1);
}

static void write_and_close(void *arg, uint32_t index) {
  struct past *p = (struct past *)arg;
  (void)index;
  p->plain = 42;
  volt_sem_close(&p->sem);
}

static void a_result_acquires_the_past(void **state) {
  (void)state;
  for (int i = 0; i < 200; i++) {
    struct past p = {VOLT_SEM_INIT(0), 0};
    volt_waiter w = VOLT_WAITER_INIT;
    volt_waker nobody = {NULL, NULL};
    thread_team t;
    assert_result(volt_sem_acquire_waiter(&p.sem, &w, 1, nobody), VOLT_PENDING);
    thread_team_start(&t, 1, i % 2 ? write_and_release : write_and_close, &p);
    WAIT_UNTIL(volt_waiter_result(&w) != VOLT_PENDING);
    assert_int_equal(p.plain, 42);
    thread_team_join(&t);
    assert_result(volt_waiter_result(&w), i % 2 ? VOLT_OK : VOLT_ECLOSED);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_zero_is_unused),
      cmocka_unit_test(unused_queued_granted),
      cmocka_unit_test(unused_queued_cancelled),
      cmocka_unit_test(unused_queued_closed),
      cmocka_unit_test(one_waiter_for_every_primitive),
      cmocka_unit_test(the_grant_is_visible_before_the_wake),
      cmocka_unit_test(nothing_touches_it_after_the_grant),
      cmocka_unit_test(nothing_touches_it_after_a_cancel),
      cmocka_unit_test(its_memory_is_used_for_something_else),
      cmocka_unit_test(a_result_acquires_the_past),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
