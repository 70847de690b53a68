/* cond_test.c: condition variables, polled by hand. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include <sys/mman.h>

#include "death.h"
#include "fake_waker.h"
#include "family.h"
#include "futex_hook.h"
#include "poller.h"
#include "unit.h"

FAMILY(cond, volt_cond it[1] = {VOLT_COND_INIT}; volt_mutex m[1] = {VOLT_MUTEX_INIT};
       volt_mutex_lock(m), volt_cond_wait_waiter(it, m, w, waker),
       volt_cond_wait_until(it, m, past), volt_cond_wait_future(f, it, m), volt_cond_signal(it),
       volt_cond_destroy(it))

enum { MANY = 100 };

static volt_cond cond;
static volt_mutex mutex;
static wake_log wakes;
static volt_waiter waiters[MANY];
static fake_waker wakers[MANY];

static int set_up(void **state) {
  (void)state;
  volt_cond_init(&cond);
  volt_mutex_init(&mutex);
  wake_log_init(&wakes);
  memset(waiters, 0, sizeof waiters);
  for (uint32_t i = 0; i < MANY; i++) fake_waker_init(&wakers[i], i, &wakes);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  volt_cond_destroy(&cond);
  volt_mutex_destroy(&mutex);
  return 0;
}

static void lock(void) {
  assert_result(volt_mutex_try_lock(&mutex), VOLT_OK);
}

/* Waiter i waits, the mutex is free again. */
static void queue(uint32_t i) {
  lock();
  assert_result(volt_cond_wait_waiter(&cond, &mutex, &waiters[i], fake_waker_of(&wakers[i])),
                VOLT_PENDING);
  assert_false(volt_mutex_is_locked(&mutex));
}

static void queue_run(uint32_t count) {
  for (uint32_t i = 0; i < count; i++) queue(i);
}

static void expect(uint32_t i, int result, uint32_t calls) {
  assert_result(volt_waiter_result(&waiters[i]), result);
  assert_int_equal(fake_waker_calls(&wakers[i]), calls);
}

static void expect_counts(uint32_t on_cond, uint32_t on_mutex) {
  assert_int_equal(volt_cond_waiters(&cond), on_cond);
  assert_int_equal(volt_mutex_waiters(&mutex), on_mutex);
}

/* ---- signal ---- */

static void zero_is_valid(void **state) {
  (void)state;
  static volt_cond zero;
  static const volt_cond from_macro = VOLT_COND_INIT;
  volt_cond_signal(&zero);
  volt_cond_broadcast(&zero);
  assert_int_equal(volt_cond_waiters(&zero), 0);
  assert_null(from_macro.mutex);
  volt_cond_destroy(&zero);
}

static void a_signal_without_waiters_is_not_stored(void **state) {
  (void)state;
  volt_cond_signal(&cond);
  volt_cond_broadcast(&cond);
  queue(0);
  expect(0, VOLT_PENDING, 0);
  assert_true(volt_cond_cancel(&cond, &waiters[0]));
}

static void a_signal_grants_a_free_mutex(void **state) {
  (void)state;
  queue_run(2);
  volt_cond_signal(&cond);
  expect(0, VOLT_OK, 1);
  expect(1, VOLT_PENDING, 0);
  assert_true(volt_mutex_is_locked(&mutex));
  expect_counts(1, 0);
  volt_mutex_unlock(&mutex);
  expect(1, VOLT_PENDING, 0);
  volt_cond_signal(&cond);
  expect(1, VOLT_OK, 1);
  volt_mutex_unlock(&mutex);
}

static void a_signal_queues_behind_the_holder(void **state) {
  (void)state;
  queue_run(2);
  lock();
  assert_result(volt_mutex_lock_waiter(&mutex, &waiters[2], fake_waker_of(&wakers[2])),
                VOLT_PENDING);
  volt_cond_signal(&cond);
  expect(0, VOLT_PENDING, 0);
  expect_counts(1, 2);
  volt_mutex_unlock(&mutex);
  expect(2, VOLT_OK, 1); /* who came to the mutex before */
  volt_mutex_unlock(&mutex);
  expect(0, VOLT_OK, 1);
  volt_mutex_unlock(&mutex);
  expect(1, VOLT_PENDING, 0);
  assert_true(volt_cond_cancel(&cond, &waiters[1]));
}

static void a_broadcast_wakes_one_after_the_other(void **state) {
  (void)state;
  queue_run(MANY);
  lock();
  volt_cond_broadcast(&cond);
  expect_counts(0, MANY);
  assert_int_equal(wake_log_count(&wakes), 0); /* no herd */
  for (uint32_t i = 0; i < MANY; i++) {
    volt_mutex_unlock(&mutex);
    assert_true(wake_log_is_run(&wakes, 0, i + 1));
  }
  volt_mutex_unlock(&mutex);
  expect_counts(0, 0);
}

static void a_broadcast_grants_a_free_mutex(void **state) {
  (void)state;
  queue_run(3);
  volt_cond_broadcast(&cond);
  assert_true(wake_log_is_run(&wakes, 0, 1));
  expect_counts(0, 2);
  for (int i = 0; i < 3; i++) volt_mutex_unlock(&mutex);
  assert_true(wake_log_is_run(&wakes, 0, 3));
}

static void another_mutex_after_the_first(void **state) {
  (void)state;
  volt_mutex other = VOLT_MUTEX_INIT;
  queue(0);
  volt_cond_signal(&cond);
  assert_result(volt_mutex_try_lock(&other), VOLT_OK); /* waiter 0 has the first */
  assert_result(volt_cond_wait_waiter(&cond, &other, &waiters[1], fake_waker_of(&wakers[1])),
                VOLT_PENDING);
  volt_mutex_unlock(&mutex);
  volt_cond_signal(&cond);
  expect(1, VOLT_OK, 1);
  volt_mutex_unlock(&other);
  volt_mutex_destroy(&other);
}

/* ---- cancel, new wakers ---- */

static void cancel_before_a_signal(void **state) {
  (void)state;
  queue_run(3);
  assert_true(volt_cond_cancel(&cond, &waiters[1]));
  assert_true(volt_cond_cancel(&cond, &waiters[1])); /* again: the same */
  expect(1, VOLT_ECANCELED, 0);
  expect_counts(2, 0);
  volt_cond_signal(&cond);
  volt_mutex_unlock(&mutex);
  volt_cond_signal(&cond);
  volt_mutex_unlock(&mutex);
  expect(0, VOLT_OK, 1);
  expect(2, VOLT_OK, 1);
}

static void cancel_passes_a_signal_on(void **state) {
  (void)state;
  queue_run(2);
  lock();
  volt_cond_signal(&cond);
  expect_counts(1, 1);
  assert_true(volt_cond_cancel(&cond, &waiters[0]));
  expect(0, VOLT_ECANCELED, 0);
  expect_counts(0, 1); /* waiter 1, for the mutex */
  volt_mutex_unlock(&mutex);
  expect(1, VOLT_OK, 1);
  volt_mutex_unlock(&mutex);
}

/* fifo.h: both FIFOs are whole after a signal has taken one from here to there. */
static void cancel_behind_others_there(void **state) {
  (void)state;
  volt_waiter first = VOLT_WAITER_INIT;
  queue(0);
  lock();
  assert_result(volt_mutex_lock_waiter(&mutex, &first, (volt_waker){NULL, NULL}), VOLT_PENDING);
  volt_cond_signal(&cond);
  assert_true(volt_cond_cancel(&cond, &waiters[0]));
  volt_mutex_unlock(&mutex);
  assert_result(volt_waiter_result(&first), VOLT_OK);
  expect_counts(0, 0);
  volt_mutex_unlock(&mutex);
}

static void cancel_of_who_stayed(void **state) {
  (void)state;
  queue_run(2);
  volt_cond_signal(&cond);
  volt_mutex_unlock(&mutex);
  memset((void *)&waiters[0], 0xee, sizeof waiters[0]); /* it is its owner's */
  assert_true(volt_cond_cancel(&cond, &waiters[1]));
  expect_counts(0, 0);
  queue(2);
  assert_true(volt_cond_cancel(&cond, &waiters[2]));
}

static void cancel_does_not_pass_a_broadcast_on(void **state) {
  (void)state;
  queue(0);
  lock();
  assert_result(volt_mutex_lock_waiter(&mutex, &waiters[2], fake_waker_of(&wakers[2])),
                VOLT_PENDING);
  volt_cond_broadcast(&cond); /* waiter 0 goes behind it */
  assert_result(volt_cond_wait_waiter(&cond, &mutex, &waiters[1], fake_waker_of(&wakers[1])),
                VOLT_PENDING);
  expect(2, VOLT_OK, 1);
  assert_true(volt_cond_cancel(&cond, &waiters[0]));
  expect_counts(1, 0); /* waiter 1 came later */
  volt_mutex_unlock(&mutex);
  expect(1, VOLT_PENDING, 0);
  assert_true(volt_cond_cancel(&cond, &waiters[1]));
}

static void a_later_waiter_gets_nothing_of_a_broadcast(void **state) {
  (void)state;
  queue_run(2);
  lock();
  volt_cond_broadcast(&cond);
  volt_mutex_unlock(&mutex); /* waiter 0 has it, and waits again */
  expect(0, VOLT_OK, 1);
  assert_result(volt_cond_wait_waiter(&cond, &mutex, &waiters[0], fake_waker_of(&wakers[0])),
                VOLT_PENDING);
  expect(1, VOLT_OK, 1);
  assert_false(volt_cond_cancel(&cond, &waiters[1])); /* too late */
  volt_mutex_unlock(&mutex);
  expect(0, VOLT_PENDING, 1);
  assert_true(volt_cond_cancel(&cond, &waiters[0]));
}

static void cancel_too_late(void **state) {
  (void)state;
  queue(0);
  volt_cond_signal(&cond);
  assert_false(volt_cond_cancel(&cond, &waiters[0]));
  assert_true(volt_mutex_is_locked(&mutex));
  volt_mutex_unlock(&mutex);
  volt_waiter unused = VOLT_WAITER_INIT;
  assert_true(volt_cond_cancel(&cond, &unused));
}

static void wakers_are_replaced_here_and_there(void **state) {
  (void)state;
  queue(0);
  assert_true(volt_cond_set_waker(&cond, &waiters[0], fake_waker_of(&wakers[1])));
  lock();
  volt_cond_signal(&cond);
  assert_true(volt_cond_set_waker(&cond, &waiters[0], fake_waker_of(&wakers[2])));
  volt_mutex_unlock(&mutex);
  assert_true(wake_log_is_run(&wakes, 2, 1));
  assert_false(volt_cond_set_waker(&cond, &waiters[0], fake_waker_of(&wakers[3])));
  volt_mutex_unlock(&mutex);
}

/* ---- a waker that comes back ---- */

static void unlock_and_wait_again(hostile_waker *h) {
  volt_mutex_unlock(&mutex);
  lock();
  h->result = volt_cond_wait_waiter(&cond, &mutex, h->other, fake_waker_of(&wakers[9]));
}

static void a_waker_may_wait_again(void **state) {
  (void)state;
  hostile_waker h;
  hostile_waker_init(&h, 5, &wakes, unlock_and_wait_again, NULL);
  h.other = &waiters[9];
  lock();
  (void)volt_cond_wait_waiter(&cond, &mutex, &waiters[0], hostile_waker_of(&h));
  volt_cond_signal(&cond);
  assert_result(h.result, VOLT_PENDING);
  expect_counts(1, 0);
  assert_true(volt_cond_cancel(&cond, &waiters[9]));
}

/* ---- blocking ---- */

static void a_deadline_leaves_the_mutex_locked(void **state) {
  (void)state;
  lock();
  assert_result(volt_cond_wait_until(&cond, &mutex, PAST_DEADLINE), VOLT_ETIMEDOUT);
  assert_true(volt_mutex_is_locked(&mutex));
  expect_counts(0, 0);
  volt_mutex_unlock(&mutex);
}

static void signal_it(hostile_waker *h) {
  (void)h;
  volt_mutex_unlock(&mutex); /* it was this waker's */
  volt_cond_signal(&cond);
}

/* The wait unlocks; the next holder signals at once, from its waker. */
static void a_signal_ends_a_blocking_wait(void **state) {
  (void)state;
  hostile_waker h;
  hostile_waker_init(&h, 5, &wakes, signal_it, NULL);
  lock();
  assert_result(volt_mutex_lock_waiter(&mutex, &waiters[0], hostile_waker_of(&h)), VOLT_PENDING);
  assert_result(volt_cond_wait(&cond, &mutex), VOLT_OK);
  assert_true(volt_mutex_is_locked(&mutex));
  volt_mutex_unlock(&mutex);
}

/* On a page of its own, which cannot be touched any more once it is freed. */
typedef struct freed_cond {
  volt_cond *cond;
  size_t bytes;
  unsigned sleeps;
} freed_cond;

/* The waiter sleeps: others broadcast, and free the condition variable; then its deadline passes.
 * It sleeps again, for the mutex. */
static futex_outcome free_it_asleep(void *arg, const futex_call *call) {
  freed_cond *freed = arg;
  if (!call->is_wait) return FUTEX_REAL;
  freed->sleeps += 1;
  if (freed->sleeps > 1) {
    volt_mutex_unlock(&mutex);
    return FUTEX_RETURN_0;
  }
  lock();
  volt_cond_broadcast(freed->cond);
  volt_cond_destroy(freed->cond);
  assert_int_equal(mprotect(freed->cond, freed->bytes, PROT_NONE), 0);
  return FUTEX_ETIMEDOUT;
}

static void freed_after_a_broadcast(void **state) {
  (void)state;
  freed_cond freed = {NULL, sizeof(volt_cond), 0};
  void *page = mmap(NULL, freed.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_true(page != MAP_FAILED);
  freed.cond = page;
  volt_cond_init(freed.cond);
  lock();
  futex_hook_set(free_it_asleep, &freed);
  int result = volt_cond_wait_until(freed.cond, &mutex, volt_deadline_s(60));
  futex_hook_set(NULL, NULL);
  assert_result(result, VOLT_OK);
  assert_int_equal(freed.sleeps, 2);
  assert_true(volt_mutex_is_locked(&mutex));
  volt_mutex_unlock(&mutex);
  assert_int_equal(munmap(page, freed.bytes), 0);
}

/* ---- futures ---- */

static void a_future_waits_from_the_start(void **state) {
  (void)state;
  volt_future f;
  lock();
  assert_ptr_equal(volt_cond_wait_future(&f, &cond, &mutex), &f);
  assert_false(volt_mutex_is_locked(&mutex));
  expect_counts(1, 0);
  volt_cond_signal(&cond); /* before it is polled */
  assert_result(volt_future_poll(&f, fake_waker_of(&wakers[0])), VOLT_OK);
  assert_int_equal(fake_waker_calls(&wakers[0]), 0);
  assert_true(volt_mutex_is_locked(&mutex));
  volt_future_cancel(&f); /* what a poll has returned is the caller's */
  assert_true(volt_mutex_is_locked(&mutex));
  volt_mutex_unlock(&mutex);
}

static void a_future_is_woken(void **state) {
  (void)state;
  volt_future f;
  poller p, q;
  poller_init(&p);
  poller_init(&q);
  lock();
  volt_future_made(volt_cond_wait_future(&f, &cond, &mutex));
  assert_result(poller_poll(&p, &f), VOLT_PENDING);
  poller_expect(&p, 1, 0, 0);
  assert_result(poller_poll(&q, &f), VOLT_PENDING);
  poller_expect_dropped(&p, 1);
  volt_cond_signal(&cond);
  poller_expect(&q, 1, 1, 0);
  assert_result(poller_poll(&q, &f), VOLT_OK);
  volt_mutex_unlock(&mutex);
}

static void a_future_dropped_unpolled(void **state) {
  (void)state;
  volt_future f;
  lock();
  volt_future_made(volt_cond_wait_future(&f, &cond, &mutex));
  volt_future_cancel(&f);
  assert_false(volt_mutex_is_locked(&mutex));
  expect_counts(0, 0);
  assert_result(volt_future_poll(&f, fake_waker_of(&wakers[0])), VOLT_ECANCELED);
}

static void a_future_dropped_after_its_grant(void **state) {
  (void)state;
  volt_future f;
  lock();
  volt_future_made(volt_cond_wait_future(&f, &cond, &mutex));
  assert_result(volt_future_poll(&f, fake_waker_of(&wakers[50])), VOLT_PENDING);
  queue_run(2);
  volt_cond_signal(&cond);
  assert_int_equal(fake_waker_calls(&wakers[50]), 1);
  volt_future_cancel(&f);
  expect(0, VOLT_OK, 1); /* the signal was passed on, and the mutex */
  expect(1, VOLT_PENDING, 0);
  volt_mutex_unlock(&mutex);
  assert_true(volt_cond_cancel(&cond, &waiters[1]));
}

static void a_future_dropped_after_a_broadcast(void **state) {
  (void)state;
  volt_future f;
  lock();
  volt_future_made(volt_cond_wait_future(&f, &cond, &mutex));
  volt_cond_broadcast(&cond);
  assert_true(volt_mutex_is_locked(&mutex));
  assert_result(volt_mutex_lock_waiter(&mutex, &waiters[1], fake_waker_of(&wakers[1])),
                VOLT_PENDING);
  volt_future_cancel(&f);
  expect(1, VOLT_OK, 1);
  assert_result(volt_cond_wait_waiter(&cond, &mutex, &waiters[0], fake_waker_of(&wakers[0])),
                VOLT_PENDING);
  expect(0, VOLT_PENDING, 0);
  assert_true(volt_cond_cancel(&cond, &waiters[0]));
}

static void block_on_times_out_without_the_mutex(void **state) {
  (void)state;
  volt_future f;
  lock();
  assert_result(volt_future_wait_until(volt_cond_wait_future(&f, &cond, &mutex), PAST_DEADLINE),
                VOLT_ETIMEDOUT);
  assert_false(volt_mutex_is_locked(&mutex));
}

static void in_a_select(void **state) {
  (void)state;
  volt_sem sem = VOLT_SEM_INIT(1);
  volt_future wait, permit;
  volt_select select;
  lock();
  volt_future *branches[] = {volt_sem_acquire_future(&permit, &sem, 1),
                             volt_cond_wait_future(&wait, &cond, &mutex)};
  volt_future_made(volt_select_future(&select, branches, 2, VOLT_SELECT_BIASED));
  assert_result(volt_future_wait(&select.future), VOLT_OK);
  assert_int_equal(volt_select_winner(&select), 0);
  assert_false(volt_mutex_is_locked(&mutex)); /* although it was never polled */
  expect_counts(0, 0);
  volt_sem_destroy(&sem);
}

/* ---- misuse ---- */

static void wait_unlocked(void *arg) {
  (void)arg;
  (void)volt_cond_wait_waiter(&cond, &mutex, &waiters[0], fake_waker_of(&wakers[0]));
}

static volt_mutex second_mutex;

static void wait_with_two(void *arg) {
  (void)arg;
  queue(0);
  ignore_result(volt_mutex_try_lock(&second_mutex));
  (void)volt_cond_wait_waiter(&cond, &second_mutex, &waiters[1], fake_waker_of(&wakers[1]));
}

static void destroy_waited_for(void *arg) {
  (void)arg;
  queue_run(3);
  volt_cond_destroy(&cond);
}

static void wait_twice(void *arg) {
  (void)arg;
  queue(0);
  queue(0);
}

static void cancel_elsewhere(void *arg) {
  (void)arg;
  static volt_cond other;
  queue(0);
  ignore_result(volt_cond_cancel(&other, &waiters[0]));
}

static void misuse_aborts(void **state) {
  (void)state;
  assert_death(wait_unlocked, NULL, "volt_cond", "which is not locked", death_address(&mutex));
  assert_death(wait_with_two, NULL, "volt_cond", death_address(&mutex),
               death_address(&second_mutex));
  assert_death(destroy_waited_for, NULL, "volt_cond", "3 waiters");
  assert_death(wait_twice, NULL, "volt_cond", "already queued");
  assert_death(cancel_elsewhere, NULL, "volt_cond", "waits for something else",
               death_address(&waiters[0]));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      FAMILY_TEST(cond),
      TEST(zero_is_valid),
      TEST(a_signal_without_waiters_is_not_stored),
      TEST(a_signal_grants_a_free_mutex),
      TEST(a_signal_queues_behind_the_holder),
      TEST(a_broadcast_wakes_one_after_the_other),
      TEST(a_broadcast_grants_a_free_mutex),
      TEST(another_mutex_after_the_first),
      TEST(cancel_before_a_signal),
      TEST(cancel_passes_a_signal_on),
      TEST(cancel_behind_others_there),
      TEST(cancel_of_who_stayed),
      TEST(cancel_does_not_pass_a_broadcast_on),
      TEST(a_later_waiter_gets_nothing_of_a_broadcast),
      TEST(cancel_too_late),
      TEST(wakers_are_replaced_here_and_there),
      TEST(a_waker_may_wait_again),
      TEST(a_deadline_leaves_the_mutex_locked),
      TEST(a_signal_ends_a_blocking_wait),
      TEST(freed_after_a_broadcast),
      TEST(a_future_waits_from_the_start),
      TEST(a_future_is_woken),
      TEST(a_future_dropped_unpolled),
      TEST(a_future_dropped_after_its_grant),
      TEST(a_future_dropped_after_a_broadcast),
      TEST(block_on_times_out_without_the_mutex),
      TEST(in_a_select),
      TEST(misuse_aborts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
