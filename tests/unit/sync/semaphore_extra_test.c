/* semaphore_extra_test.c: what only the library's semaphore has: the initialiser, the all-zero
 * state, futures; and what happens in the very moment a thread goes to sleep. */
#define _GNU_SOURCE /* sigaction, pthread_kill */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>

#include "fake_waker.h"
#include "futex_hook.h"
#include "unit.h"

static volt_sem in_bss;

static void three_ways_to_begin(void **state) {
  (void)state;
  volt_sem by_macro = VOLT_SEM_INIT(3);
  assert_int_equal(volt_sem_available(&by_macro), 3);
  volt_sem most = VOLT_SEM_INIT(VOLT_SEM_MAX);
  assert_int_equal(volt_sem_available(&most), VOLT_SEM_MAX);
  volt_sem by_call;
  memset(&by_call, 0xee, sizeof by_call);
  volt_sem_init(&by_call, 3);
  assert_int_equal(volt_sem_available(&by_call), 3);
  assert_int_equal(volt_sem_waiters(&by_call), 0);
  assert_int_equal(volt_sem_available(&in_bss), 0);
  assert_int_equal(volt_sem_waiters(&in_bss), 0);
  assert_false(volt_sem_is_closed(&in_bss));
}

static void all_zero_has_no_permits(void **state) {
  (void)state;
  volt_sem *sem = (volt_sem *)calloc(1, sizeof *sem);
  assert_non_null(sem);
  assert_result(volt_sem_try_acquire(sem, 1), VOLT_EAGAIN);
  volt_waiter w = VOLT_WAITER_INIT;
  fake_waker waker;
  fake_waker_init(&waker, 0, NULL);
  assert_result(volt_sem_acquire_waiter(sem, &w, 1, fake_waker_of(&waker)), VOLT_PENDING);
  volt_sem_release(sem, 2);
  assert_int_equal(fake_waker_calls(&waker), 1);
  assert_int_equal(volt_sem_available(sem), 1);
  volt_sem_destroy(sem);
  free(sem);
}

static void destroy_leaves_permits_and_memory_alone(void **state) {
  (void)state;
  volt_sem sem = VOLT_SEM_INIT(5);
  assert_result(volt_sem_try_acquire(&sem, 2), VOLT_OK);
  volt_sem_destroy(&sem); /* permits may be out */
  volt_sem_init(&sem, 1);
  assert_int_equal(volt_sem_available(&sem), 1);
  volt_sem_close(&sem);
  volt_sem_destroy(&sem);
}

/* Permits have no owner. */
static void one_acquires_another_releases(void **state) {
  (void)state;
  volt_sem sem = VOLT_SEM_INIT(1);
  assert_result(volt_sem_try_acquire(&sem, 1), VOLT_OK);
  volt_sem_release(&sem, 3);
  assert_int_equal(volt_sem_available(&sem), 3);
}

/* ---- futures ---- */

static volt_waker nobody(void) {
  volt_waker waker = {NULL, NULL};
  return waker;
}

static void futures_of_nothing_and_of_too_much(void **state) {
  (void)state;
  volt_sem sem = VOLT_SEM_INIT(0);
  volt_future f;
  assert_ptr_equal(volt_sem_acquire_future(&f, &sem, 0), &f);
  assert_result(volt_future_poll(&f, nobody()), VOLT_OK);
  volt_future_made(volt_sem_acquire_future(&f, &sem, VOLT_SEM_MAX + 1));
  assert_result(volt_future_poll(&f, nobody()), VOLT_EINVAL);
  assert_result(volt_future_poll(&f, nobody()), VOLT_EINVAL);
  volt_future_cancel(&f);
  assert_result(volt_future_poll(&f, nobody()), VOLT_EINVAL);
  assert_int_equal(volt_sem_waiters(&sem), 0);
  assert_int_equal(volt_sem_available(&sem), 0);
}

static void futures_of_nothing_never_wait(void **state) {
  (void)state;
  volt_sem sem = VOLT_SEM_INIT(0);
  volt_future first;
  volt_future f;
  volt_future_made(volt_sem_acquire_future(&first, &sem, 1));
  assert_result(volt_future_poll(&first, nobody()), VOLT_PENDING);
  volt_future_made(volt_sem_acquire_future(&f, &sem, 0));
  assert_result(volt_future_poll(&f, nobody()), VOLT_OK);
  assert_int_equal(volt_sem_waiters(&sem), 1);
  volt_sem_close(&sem);
  volt_future_made(volt_sem_acquire_future(&f, &sem, 0));
  assert_result(volt_future_poll(&f, nobody()), VOLT_OK);
}

static void futures_of_a_closed_one(void **state) {
  (void)state;
  volt_sem sem = VOLT_SEM_INIT(1);
  volt_future waiting;
  volt_future late;
  volt_future_made(volt_sem_acquire_future(&waiting, &sem, 2));
  assert_result(volt_future_poll(&waiting, nobody()), VOLT_PENDING);
  volt_sem_close(&sem);
  assert_result(volt_future_poll(&waiting, nobody()), VOLT_ECLOSED);
  volt_future_made(volt_sem_acquire_future(&late, &sem, 1));
  assert_result(volt_future_poll(&late, nobody()), VOLT_ECLOSED);
  assert_result(volt_future_wait(&late), VOLT_ECLOSED);
  volt_future_cancel(&waiting);
  volt_future_cancel(&late);
  assert_int_equal(volt_sem_available(&sem), 1);
}

static void a_future_dropped_unpolled_gives_all_back(void **state) {
  (void)state;
  volt_sem sem = VOLT_SEM_INIT(0);
  volt_future f;
  volt_future_made(volt_sem_acquire_future(&f, &sem, 3));
  assert_result(volt_future_poll(&f, nobody()), VOLT_PENDING);
  volt_sem_release(&sem, 3);
  assert_int_equal(volt_sem_available(&sem), 0);
  volt_future_cancel(&f);
  assert_int_equal(volt_sem_available(&sem), 3);
}

/* ---- the moment of sleep ---- */

struct scene {
  volt_sem *sem;
  volt_waiter next;
  fake_waker waker;
  uint32_t sleeps;
  void (*before_sleep)(volt_sem *sem);
};

/* The thread is about to sleep: another queues behind it. */
static futex_outcome queue_behind(void *arg, const futex_call *call) {
  struct scene *s = (struct scene *)arg;
  if (!call->is_wait) return FUTEX_REAL;
  s->sleeps += 1;
  if (s->sleeps == 1 &&
      volt_sem_acquire_waiter(s->sem, &s->next, 2, fake_waker_of(&s->waker)) != VOLT_PENDING) {
    return FUTEX_REAL;
  }
  return FUTEX_ETIMEDOUT;
}

static void a_timeout_passes_on_what_was_set_aside(void **state) {
  (void)state;
  volt_sem sem = VOLT_SEM_INIT(2);
  struct scene s = {&sem, VOLT_WAITER_INIT, {0}, 0, NULL};
  fake_waker_init(&s.waker, 0, NULL);
  futex_hook_set(queue_behind, &s);
  int result = volt_sem_acquire_until(&sem, 3, volt_deadline_ns(UINT64_C(3600000000000)));
  futex_hook_set(NULL, NULL);
  assert_result(result, VOLT_ETIMEDOUT);
  assert_int_equal(s.sleeps, 1);
  assert_result(volt_waiter_result(&s.next), VOLT_OK);
  assert_int_equal(fake_waker_calls(&s.waker), 1);
  assert_int_equal(volt_sem_available(&sem), 0);
  volt_sem_destroy(&sem);
}

static void release_one(volt_sem *sem) {
  volt_sem_release(sem, 1);
}

/* The thread is about to sleep, something happens, and only then its deadline passes. */
static futex_outcome act_then_time_out(void *arg, const futex_call *call) {
  struct scene *s = (struct scene *)arg;
  if (!call->is_wait || s->sleeps++ > 0) return FUTEX_REAL;
  s->before_sleep(s->sem);
  return FUTEX_ETIMEDOUT;
}

static void whatever_comes_first_beats_the_deadline(void **state) {
  (void)state;
  volt_sem sem = VOLT_SEM_INIT(0);
  struct scene s = {&sem, VOLT_WAITER_INIT, {0}, 0, release_one};
  futex_hook_set(act_then_time_out, &s);
  int result = volt_sem_acquire_until(&sem, 1, volt_deadline_ns(UINT64_C(3600000000000)));
  futex_hook_set(NULL, NULL);
  assert_result(result, VOLT_OK);
  assert_int_equal(volt_sem_available(&sem), 0);

  s.sleeps = 0;
  s.before_sleep = volt_sem_close;
  futex_hook_set(act_then_time_out, &s);
  result = volt_sem_acquire_until(&sem, 1, volt_deadline_ns(UINT64_C(3600000000000)));
  futex_hook_set(NULL, NULL);
  assert_result(result, VOLT_ECLOSED);
  volt_sem_destroy(&sem);
}

/* A future is given another waker while somebody is at the queue; that somebody serves it. */
static futex_outcome leave_the_lock_and_release(void *arg, const futex_call *call) {
  struct scene *s = (struct scene *)arg;
  if (!call->is_wait || s->sleeps++ > 0) return FUTEX_REAL;
  volt_store_relaxed(&s->sem->queue.word, VOLT_WORD_QUEUED_);
  s->before_sleep(s->sem);
  return FUTEX_RETURN_0;
}

static void a_future_completes_while_its_waker_is_replaced(void **state) {
  (void)state;
  void (*const acts[])(volt_sem *) = {release_one, volt_sem_close};
  const int results[] = {VOLT_OK, VOLT_ECLOSED};
  for (int i = 0; i < 2; i++) {
    volt_sem sem = VOLT_SEM_INIT(0);
    struct scene s = {&sem, VOLT_WAITER_INIT, {0}, 0, acts[i]};
    fake_waker late;
    volt_future f;
    fake_waker_init(&s.waker, 0, NULL);
    fake_waker_init(&late, 1, NULL);
    volt_future_made(volt_sem_acquire_future(&f, &sem, 1));
    assert_result(volt_future_poll(&f, fake_waker_of(&s.waker)), VOLT_PENDING);
    volt_store_relaxed(&sem.queue.word, VOLT_WORD_QUEUED_ | VOLT_WORD_LOCKED_);
    futex_hook_set(leave_the_lock_and_release, &s);
    int result = volt_future_poll(&f, fake_waker_of(&late));
    futex_hook_set(NULL, NULL);
    assert_int_equal(s.sleeps, 1);
    assert_result(result, results[i]);
    assert_int_equal(fake_waker_calls(&s.waker), 1); /* it came first, and this is not pending */
    assert_int_equal(fake_waker_calls(&late), 0);
    assert_result(volt_future_poll(&f, fake_waker_of(&late)), results[i]);
  }
}

/* ---- what ends a wait ---- */

static volt_token stop = VOLT_TOKEN_INIT;
static int ended_with;

/* As in docs/primitives/semaphore.md. */
static int acquire_or_stop(volt_sem *sem) {
  volt_future permit, stopped;
  volt_select select;
  volt_future *either[] = {volt_token_wait_future(&stopped, &stop),
                           volt_sem_acquire_future(&permit, sem, 1)};
  int result = volt_future_wait(volt_select_future(&select, either, 2, VOLT_SELECT_BIASED));
  return volt_select_winner(&select) == 0 ? VOLT_ECANCELED : result;
}

static void *wait_until_stopped(void *sem) {
  ended_with = acquire_or_stop((volt_sem *)sem);
  return NULL;
}

static void a_token_ends_a_blocking_wait(void **state) {
  (void)state;
  volt_sem sem = VOLT_SEM_INIT(1);
  pthread_t other;
  for (int i = 0; i < 2; i++) {
    assert_int_equal(pthread_create(&other, NULL, wait_until_stopped, &sem), 0);
    if (i == 1) {
      while (volt_sem_waiters(&sem) == 0 || volt_token_waiters(&stop) == 0) sched_yield();
      volt_token_cancel(&stop);
    }
    pthread_join(other, NULL);
    assert_result(ended_with, i == 0 ? VOLT_OK : VOLT_ECANCELED);
    assert_int_equal(volt_sem_waiters(&sem), 0);
    assert_int_equal(volt_token_waiters(&stop), 0);
  }
  volt_sem_destroy(&sem);
  volt_token_destroy(&stop);
}

/* ---- signals ---- */

enum { SIGNALS = 200 };

static volt_sem told;
static pthread_t handling;

static void release_told(int signal) {
  (void)signal;
  volt_sem_release(&told, 1);
}

/* SIGUSR1 is blocked in this thread, which waits in the queue. */
static void *provoke(void *taken) {
  for (uint32_t i = 0; i < SIGNALS; i++) {
    if (pthread_kill(handling, SIGUSR1) != 0) return NULL;
    if (volt_sem_acquire(&told, 1) != VOLT_OK) return NULL;
    volt_store_release((VOLT_ATOMIC(uint32_t) *)taken, i + 1);
  }
  return NULL;
}

/* The signal is blocked wherever a call on the semaphore may be under way. */
static void a_handler_releases_where_the_signal_is_let_in(void **state) {
  (void)state;
  static VOLT_ATOMIC(uint32_t) taken;
  volt_sem_init(&told, 0);
  handling = pthread_self();
  struct sigaction action = {.sa_handler = release_told}, before;
  assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
  sigset_t blocked, outside;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1);
  assert_int_equal(pthread_sigmask(SIG_BLOCK, &blocked, &outside), 0);
  pthread_t other;
  assert_int_equal(pthread_create(&other, NULL, provoke, (void *)&taken), 0);
  for (int i = 0; i < SIGNALS; i++) sigsuspend(&outside); /* each lets one in */
  pthread_join(other, NULL);
  assert_int_equal(volt_load_acquire(&taken), SIGNALS);
  assert_int_equal(volt_sem_available(&told), 0);
  pthread_sigmask(SIG_SETMASK, &outside, NULL);
  sigaction(SIGUSR1, &before, NULL);
  volt_sem_destroy(&told);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(three_ways_to_begin),
      cmocka_unit_test(all_zero_has_no_permits),
      cmocka_unit_test(destroy_leaves_permits_and_memory_alone),
      cmocka_unit_test(one_acquires_another_releases),
      cmocka_unit_test(futures_of_nothing_and_of_too_much),
      cmocka_unit_test(futures_of_nothing_never_wait),
      cmocka_unit_test(futures_of_a_closed_one),
      cmocka_unit_test(a_future_dropped_unpolled_gives_all_back),
      cmocka_unit_test(a_timeout_passes_on_what_was_set_aside),
      cmocka_unit_test(whatever_comes_first_beats_the_deadline),
      cmocka_unit_test(a_future_completes_while_its_waker_is_replaced),
      cmocka_unit_test(a_token_ends_a_blocking_wait),
      cmocka_unit_test(a_handler_releases_where_the_signal_is_let_in),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
