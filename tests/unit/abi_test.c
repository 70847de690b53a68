/* abi_test.c: what a binding to another language relies on: sizes, alignment, and a symbol with the
 * promised signature for every function, those with an inline body included. Those of the channels
 * and of what stands on monitor.h are in abi_family_test.c; tests/compile/exports.sh counts both. */
#include <volt/runtime.h>

#include "abi.h"
#include "fake_waker.h"
#include "unit.h"

/* Called through these, no compiler can use the inline body. */
static bool (*volatile const is_ok)(int) = volt_is_ok;

static int (*volatile const sem_try)(volt_sem *, uint32_t) = volt_sem_try_acquire;
static int (*volatile const sem_acquire)(volt_sem *, volt_waiter *, uint32_t,
                                         volt_waker) = volt_sem_acquire;
static int (*volatile const sem_blocking)(volt_sem *, uint32_t,
                                          uint64_t) = volt_sem_acquire_blocking;
static void (*volatile const sem_release)(volt_sem *, uint32_t) = volt_sem_release;

static int (*volatile const mutex_try)(volt_mutex *) = volt_mutex_try_lock;
static int (*volatile const mutex_lock)(volt_mutex *, volt_waiter *, volt_waker) = volt_mutex_lock;
static int (*volatile const mutex_blocking)(volt_mutex *, uint64_t) = volt_mutex_lock_blocking;
static void (*volatile const mutex_no_deadline)(volt_mutex *) = volt_mutex_lock_no_deadline;
static void (*volatile const mutex_unlock)(volt_mutex *) = volt_mutex_unlock;

static int (*volatile const rw_try_read)(volt_rwlock *) = volt_rwlock_try_read;
static int (*volatile const rw_read)(volt_rwlock *, volt_waiter *, volt_waker) = volt_rwlock_read;
static int (*volatile const rw_read_blocking)(volt_rwlock *, uint64_t) = volt_rwlock_read_blocking;
static void (*volatile const rw_read_no_deadline)(volt_rwlock *) = volt_rwlock_read_no_deadline;
static void (*volatile const rw_read_unlock)(volt_rwlock *) = volt_rwlock_read_unlock;
static int (*volatile const rw_try_write)(volt_rwlock *) = volt_rwlock_try_write;
static int (*volatile const rw_write)(volt_rwlock *, volt_waiter *, volt_waker) = volt_rwlock_write;
static int (*volatile const rw_write_blocking)(volt_rwlock *,
                                               uint64_t) = volt_rwlock_write_blocking;
static void (*volatile const rw_write_no_deadline)(volt_rwlock *) = volt_rwlock_write_no_deadline;
static void (*volatile const rw_write_unlock)(volt_rwlock *) = volt_rwlock_write_unlock;

/* The rest has one form only; that it converts to these types is the test. */
static any_fn *const others[] = {
    /* base.h */
    FN(const char *(*)(int), volt_strerror),
    FN(const char *(*)(int), volt_strresult),
    FN(uint64_t (*)(void), volt_now_ns),
    FN(uint64_t (*)(uint64_t), volt_deadline_ns),
    FN(uint64_t (*)(uint64_t), volt_deadline_us),
    FN(uint64_t (*)(uint64_t), volt_deadline_ms),
    FN(uint64_t (*)(uint64_t), volt_deadline_s),
    FN(const char *(*)(void), volt_version),
    /* waiter.h */
    FN(int (*)(volt_waiter *), volt_waiter_result),
    FN(bool (*)(volt_waiter *, volt_waker), volt_waiter_set_waker),
    /* park.h */
    FN(int (*)(volt_parker *, uint32_t, uint64_t), volt_park_until),
    FN(void (*)(volt_parker *), volt_unpark),
    FN(void (*)(volt_parker *, volt_unpark_list *), volt_unpark_later),
    FN(void (*)(volt_unpark_list *), volt_unpark_all),
    FN(volt_waker (*)(volt_parker *), volt_parker_waker),
    /* bcs_queue.h */
    FN(void (*)(volt_bcs_lockfree *), volt_bcs_lockfree_init),
    FN(void (*)(volt_bcs_lockfree *, uintptr_t), volt_bcs_lockfree_init_state),
    FN(void (*)(volt_bcs_waitfree *), volt_bcs_waitfree_init),
    FN(void (*)(volt_bcs_waitfree *, uintptr_t), volt_bcs_waitfree_init_state),
    FN(void (*)(volt_bcs_waitfree_stub *), volt_bcs_waitfree_stub_init),
    FN(void (*)(volt_bcs_waitfree_stub *, uintptr_t), volt_bcs_waitfree_stub_init_state),
    FN(uintptr_t (*)(volt_bcs_lockfree *), volt_bcs_lockfree_state),
    FN(uintptr_t (*)(volt_bcs_waitfree *), volt_bcs_waitfree_state),
    FN(uintptr_t (*)(volt_bcs_waitfree_stub *), volt_bcs_waitfree_stub_state),
    FN(void (*)(volt_bcs_lockfree *, volt_bcs_node *, const volt_bcs_ops *, void *),
       volt_bcs_lockfree_submit_ops),
    FN(void (*)(volt_bcs_waitfree *, volt_bcs_node *, const volt_bcs_ops *, void *),
       volt_bcs_waitfree_submit_ops),
    FN(void (*)(volt_bcs_waitfree_stub *, volt_bcs_node *, const volt_bcs_ops *, void *),
       volt_bcs_waitfree_stub_submit_ops),
    /* bcs_lock.h */
    FN(void (*)(volt_bcs_lock *), volt_bcs_lock_init),
    FN(void (*)(volt_bcs_lock *), volt_bcs_lock_init_lockfree),
    FN(void (*)(volt_bcs_lock *, volt_bcs_node *, volt_bcs_fn *, void *), volt_bcs_lock_run),
    FN(void (*)(volt_bcs_lock *, volt_bcs_section *, volt_bcs_fn *, void *, volt_waker),
       volt_bcs_lock_submit),
    FN(volt_future *(*)(volt_future *, volt_bcs_lock *, volt_bcs_section *, volt_bcs_fn *, void *),
       volt_bcs_lock_run_future),
    FN(bool (*)(const volt_bcs_lock *), volt_bcs_lock_is_busy),
    FN(void (*)(volt_bcs_lock *), volt_bcs_lock_destroy),
    /* mpsc.h */
    FN(void (*)(volt_mpsc *), volt_mpsc_init),
    FN(void (*)(volt_mpsc *, volt_bcs_node *), volt_mpsc_push),
    FN(int (*)(volt_mpsc *, volt_bcs_node **), volt_mpsc_pop),
    FN(void (*)(volt_actor *), volt_actor_init),
    FN(void (*)(volt_actor *, volt_bcs_node *), volt_actor_submit),
    FN(void (*)(volt_actor *, volt_bcs_handle *, void *), volt_actor_run),
    FN(void (*)(volt_actor *), volt_actor_stop),
    /* timer.h */
    FN(void (*)(volt_timers *, volt_waker), volt_timers_init),
    FN(void (*)(volt_timers *, volt_waker), volt_timers_init_virtual),
    FN(uint64_t (*)(volt_timers *), volt_timers_now_ns),
    FN(void (*)(volt_timers *), volt_timers_destroy),
    FN(void (*)(volt_timers *, volt_timer *, uint64_t, volt_waker), volt_timer_start),
    FN(bool (*)(volt_timers *, volt_timer *), volt_timer_cancel),
    FN(bool (*)(volt_timers *, volt_timer *, volt_waker), volt_timer_set_waker),
    FN(int (*)(volt_timer *), volt_timer_result),
    FN(size_t (*)(volt_timers *, uint64_t), volt_timers_expire),
    FN(uint64_t (*)(volt_timers *), volt_timers_earliest_ns),
    /* future.h */
    FN(int (*)(volt_future *, volt_waker), volt_future_poll),
    FN(int (*)(volt_future *, volt_ctx *), volt_future_poll_ctx),
    FN(void (*)(volt_future *), volt_future_cancel),
    FN(int (*)(volt_future *, uint64_t), volt_block_on),
    /* promise.h */
    FN(void (*)(volt_promise *, const volt_promise_ops *), volt_promise_init),
    FN(void (*)(volt_promise *), volt_promise_destroy),
    FN(void (*)(volt_promise *, int), volt_promise_complete),
    FN(volt_future *(*)(volt_future *, volt_promise *), volt_promise_future),
    /* loop.h */
    FN(void (*)(volt_loop *, volt_waker), volt_loop_init),
    FN(int (*)(volt_loop *, volt_future *), volt_loop_poll),
    FN(bool (*)(volt_loop *), volt_loop_is_settled),
    FN(int (*)(volt_loop *, volt_waker), volt_loop_close),
    FN(int (*)(volt_loop *, uint64_t), volt_loop_close_blocking),
    /* async.h */
    FN(volt_future *(*)(volt_async *, volt_async_fn *), volt_async_future),
    FN(void (*)(volt_frame *, int), volt_frame_leave_slow_),
    FN(int (*)(volt_frame *, volt_ctx *), volt_frame_poll_shielded_slow_),
    FN(bool (*)(const volt_frame *, volt_ctx *), volt_frame_yields_slow_),
    FN(bool (*)(volt_frame *, volt_ctx *), volt_frame_yielded_slow_),
    FN(void (*)(const volt_frame *, const char *), volt_frame_check_slow_),
    /* select.h */
    FN(volt_future *(*)(volt_select *, volt_future *const *, uint32_t, unsigned),
       volt_select_future),
    FN(uint32_t (*)(const volt_select *), volt_select_winner),
    FN(void (*)(uint64_t), volt_select_seed),
    FN(volt_future *(*)(volt_join *, volt_future *const *, uint32_t, unsigned), volt_join_future),
    /* time.h */
    FN(volt_future *(*)(volt_sleep *, volt_timers *, uint64_t), volt_sleep_until),
    FN(volt_future *(*)(volt_timeout *, volt_future *, volt_timers *, uint64_t),
       volt_timeout_future),
    FN(void (*)(volt_interval *, volt_timers *, uint64_t, uint64_t, enum volt_interval_missed),
       volt_interval_init),
    FN(volt_future *(*)(volt_interval *), volt_interval_tick),
    FN(uint64_t (*)(const volt_interval *), volt_interval_due_ns),
    /* semaphore.h */
    FN(void (*)(volt_sem *, uint32_t), volt_sem_init),
    FN(void (*)(volt_sem *, uint32_t), volt_sem_init_bounded),
    FN(int (*)(volt_sem *, volt_waiter *, uint32_t, volt_waker), volt_sem_acquire_slow_),
    FN(int (*)(volt_sem *, uint32_t, uint64_t), volt_sem_acquire_blocking_slow_),
    FN(void (*)(volt_sem *, uint32_t), volt_sem_release_slow_),
    FN(volt_future *(*)(volt_future *, volt_sem *, uint32_t), volt_sem_acquire_future),
    FN(bool (*)(volt_sem *, volt_waiter *), volt_sem_cancel),
    FN(uint32_t (*)(volt_sem *), volt_sem_drain),
    FN(int (*)(volt_sem *, volt_waiter *, volt_waker), volt_sem_acquire_all),
    FN(uint32_t (*)(const volt_waiter *), volt_sem_taken),
    FN(int (*)(volt_sem *, uint32_t *, uint64_t), volt_sem_acquire_all_blocking),
    FN(volt_future *(*)(volt_future *, volt_sem *), volt_sem_acquire_all_future),
    FN(uint32_t (*)(const volt_future *), volt_sem_future_taken),
    FN(void (*)(volt_sem *, uint32_t), volt_sem_set_limit),
    FN(uint32_t (*)(const volt_sem *), volt_sem_limit),
    FN(void (*)(volt_sem *, uint32_t), volt_sem_forget),
    FN(uint32_t (*)(volt_sem *, uint32_t), volt_sem_forget_up_to),
    FN(uint32_t (*)(const volt_sem *), volt_sem_debt),
    FN(void (*)(volt_sem *), volt_sem_close),
    FN(void (*)(volt_sem *), volt_sem_destroy),
    FN(uint32_t (*)(const volt_sem *), volt_sem_available),
    FN(uint32_t (*)(const volt_sem *), volt_sem_waiters),
    FN(bool (*)(const volt_sem *), volt_sem_is_closed),
    /* mutex.h */
    FN(void (*)(volt_mutex *), volt_mutex_init),
    FN(int (*)(volt_mutex *, volt_waiter *, volt_waker), volt_mutex_lock_slow_),
    FN(int (*)(volt_mutex *, uint64_t), volt_mutex_lock_blocking_slow_),
    FN(void (*)(volt_mutex *), volt_mutex_unlock_slow_),
    FN(volt_future *(*)(volt_future *, volt_mutex *), volt_mutex_lock_future),
    FN(bool (*)(volt_mutex *, volt_waiter *), volt_mutex_cancel),
    FN(void (*)(volt_mutex *), volt_mutex_destroy),
    FN(bool (*)(const volt_mutex *), volt_mutex_is_locked),
    FN(uint32_t (*)(const volt_mutex *), volt_mutex_waiters),
    /* rwlock.h */
    FN(void (*)(volt_rwlock *), volt_rwlock_init),
    FN(int (*)(volt_rwlock *, volt_waiter *, uint32_t, volt_waker), volt_rwlock_lock_slow_),
    FN(int (*)(volt_rwlock *, uint32_t, uint64_t), volt_rwlock_lock_blocking_slow_),
    FN(void (*)(volt_rwlock *, uint32_t, const char *), volt_rwlock_unlock_slow_),
    FN(volt_future *(*)(volt_future *, volt_rwlock *), volt_rwlock_read_future),
    FN(volt_future *(*)(volt_future *, volt_rwlock *), volt_rwlock_write_future),
    FN(void (*)(volt_rwlock *), volt_rwlock_downgrade),
    FN(bool (*)(volt_rwlock *, volt_waiter *), volt_rwlock_cancel),
    FN(void (*)(volt_rwlock *), volt_rwlock_destroy),
    FN(uint32_t (*)(const volt_rwlock *), volt_rwlock_readers),
    FN(uint32_t (*)(const volt_rwlock *), volt_rwlock_waiters),
    /* task.h */
    FN(void *(*)(volt_rt *, size_t, volt_task_fn *), volt_task_new),
    FN(void (*)(volt_task *, volt_task_fn *), volt_task_init),
    FN(int (*)(volt_rt *, volt_task *), volt_spawn),
    FN(volt_future *(*)(volt_future *, volt_task *), volt_task_join_future),
    FN(int (*)(volt_task *, uint64_t), volt_task_join_blocking),
    FN(int (*)(volt_task *), volt_task_result),
    FN(bool (*)(volt_task *), volt_task_cancel),
    FN(bool (*)(volt_task *), volt_task_is_cancelled),
    FN(void (*)(volt_task *), volt_task_detach),
    FN(void (*)(volt_group *), volt_group_init),
    FN(void (*)(volt_group *, unsigned), volt_group_init_how),
    FN(void (*)(volt_group *), volt_group_destroy),
    FN(int (*)(volt_group *, volt_rt *, volt_task *), volt_group_spawn),
    FN(void (*)(volt_group *), volt_group_cancel),
    FN(volt_future *(*)(volt_future *, volt_group *), volt_group_wait_future),
    FN(int (*)(volt_group *, uint64_t), volt_group_wait_blocking),
    FN(int (*)(volt_group *), volt_group_result),
    FN(bool (*)(volt_group *), volt_group_is_cancelled),
    FN(uint64_t (*)(volt_group *), volt_group_count),
    FN(bool (*)(volt_group *), volt_group_is_empty),
    FN(volt_future *(*)(volt_future *, volt_group *, volt_task **), volt_group_next_future),
    FN(int (*)(volt_group *, volt_task **), volt_group_try_next),
    FN(int (*)(volt_group *, volt_task **, uint64_t), volt_group_next_blocking),
    FN(int (*)(volt_group *, volt_rt *, volt_task *, volt_group_member *), volt_group_spawn_member),
    FN(bool (*)(volt_group_member *), volt_group_member_cancel),
    FN(void (*)(volt_group_member *), volt_group_member_drop),
    /* runtime.h */
    FN(int (*)(volt_rt **, const volt_rt_config *), volt_rt_create),
    FN(int (*)(volt_rt *, uint64_t), volt_rt_shutdown),
    FN(int (*)(volt_rt *), volt_rt_shutdown_background),
    FN(uint64_t (*)(volt_rt *), volt_rt_destroy),
    FN(volt_rt *(*)(void), volt_rt_current),
    FN(volt_timers *(*)(volt_rt *), volt_rt_timers),
    FN(uint64_t (*)(volt_rt *), volt_rt_now_ns),
    FN(void (*)(volt_rt *, uint64_t), volt_rt_advance),
    FN(uint64_t (*)(volt_rt *), volt_rt_run),
    FN(int (*)(volt_rt *, volt_future *, uint64_t), volt_rt_run_until),
    FN(volt_future *(*)(volt_blocking *, volt_rt *, int (*)(void *), void *), volt_blocking_future),
    FN(void (*)(volt_rt *, volt_rt_stats_of *), volt_rt_stats),
    FN(int (*)(volt_rt *, uint32_t, volt_worker_stats *), volt_rt_worker_stats),
};

static void every_function_has_a_symbol(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) assert_true(others[i] != NULL);
}

static void twin_of_is_ok(void **state) {
  (void)state;
  assert_true(is_ok(VOLT_OK));
  assert_false(is_ok(VOLT_PENDING));
}

static void twins_of_the_semaphore(void **state) {
  (void)state;
  volt_sem sem = VOLT_SEM_INIT(2);
  volt_waiter w = VOLT_WAITER_INIT;
  fake_waker waker;
  fake_waker_init(&waker, 0, NULL);
  assert_result(sem_try(&sem, 1), VOLT_OK);
  assert_result(sem_try(&sem, 2), VOLT_EAGAIN);
  assert_result(sem_blocking(&sem, 1, PAST_DEADLINE), VOLT_OK);
  assert_result(sem_blocking(&sem, 1, PAST_DEADLINE), VOLT_ETIMEDOUT);
  assert_result(sem_acquire(&sem, &w, 1, fake_waker_of(&waker)), VOLT_PENDING);
  sem_release(&sem, 2);
  assert_int_equal(fake_waker_calls(&waker), 1);
  assert_result(sem_acquire(&sem, &w, 1, fake_waker_of(&waker)), VOLT_OK);
  sem_release(&sem, 3);
  assert_int_equal(volt_sem_available(&sem), 3);
}

static void twins_of_the_mutex(void **state) {
  (void)state;
  volt_mutex mutex = VOLT_MUTEX_INIT;
  volt_waiter w = VOLT_WAITER_INIT;
  fake_waker waker;
  fake_waker_init(&waker, 0, NULL);
  assert_result(mutex_try(&mutex), VOLT_OK);
  assert_result(mutex_try(&mutex), VOLT_EAGAIN);
  assert_result(mutex_blocking(&mutex, PAST_DEADLINE), VOLT_ETIMEDOUT);
  assert_result(mutex_lock(&mutex, &w, fake_waker_of(&waker)), VOLT_PENDING);
  mutex_unlock(&mutex);
  assert_int_equal(fake_waker_calls(&waker), 1);
  mutex_unlock(&mutex);
  assert_result(mutex_lock(&mutex, &w, fake_waker_of(&waker)), VOLT_OK);
  mutex_unlock(&mutex);
  assert_result(mutex_blocking(&mutex, PAST_DEADLINE), VOLT_OK);
  mutex_unlock(&mutex);
  mutex_no_deadline(&mutex);
  assert_result(mutex_try(&mutex), VOLT_EAGAIN);
  mutex_unlock(&mutex);
  assert_false(volt_mutex_is_locked(&mutex));
}

static void twins_of_the_rwlock(void **state) {
  (void)state;
  volt_rwlock rw = VOLT_RWLOCK_INIT;
  volt_waiter w = VOLT_WAITER_INIT;
  fake_waker waker;
  fake_waker_init(&waker, 0, NULL);
  assert_result(rw_try_read(&rw), VOLT_OK);
  assert_result(rw_read(&rw, &w, fake_waker_of(&waker)), VOLT_OK);
  assert_result(rw_read_blocking(&rw, PAST_DEADLINE), VOLT_OK);
  assert_result(rw_try_write(&rw), VOLT_EAGAIN);
  assert_result(rw_write_blocking(&rw, PAST_DEADLINE), VOLT_ETIMEDOUT);
  for (int i = 0; i < 3; i++) rw_read_unlock(&rw);
  rw_read_no_deadline(&rw);
  assert_result(rw_try_write(&rw), VOLT_EAGAIN);
  rw_read_unlock(&rw);
  rw_write_no_deadline(&rw);
  assert_result(rw_try_read(&rw), VOLT_EAGAIN);
  rw_write_unlock(&rw);
  assert_result(rw_try_write(&rw), VOLT_OK);
  assert_result(rw_try_read(&rw), VOLT_EAGAIN);
  assert_result(rw_read_blocking(&rw, PAST_DEADLINE), VOLT_ETIMEDOUT);
  assert_result(rw_write(&rw, &w, fake_waker_of(&waker)), VOLT_PENDING);
  rw_write_unlock(&rw);
  assert_int_equal(fake_waker_calls(&waker), 1);
  assert_result(rw_read(&rw, &w, fake_waker_of(&waker)), VOLT_PENDING);
  rw_write_unlock(&rw);
  assert_int_equal(fake_waker_calls(&waker), 2);
  rw_read_unlock(&rw);
  assert_result(rw_write(&rw, &w, fake_waker_of(&waker)), VOLT_OK);
  rw_write_unlock(&rw);
  assert_result(rw_write_blocking(&rw, PAST_DEADLINE), VOLT_OK);
  rw_write_unlock(&rw);
}

static void sizes(void **state) {
  (void)state;
  assert_true(sizeof(volt_sem) <= 64);
  assert_true(sizeof(volt_mutex) <= 64);
  assert_true(sizeof(volt_rwlock) <= 64);
  assert_true(sizeof(volt_waiter) <= 96);
  assert_int_equal(sizeof(volt_waker), 2 * sizeof(void *));
}

/* malloc() can place them, and the hot word comes first. */
static void alignment(void **state) {
  (void)state;
  assert_true(_Alignof(volt_sem) <= _Alignof(max_align_t));
  assert_true(_Alignof(volt_mutex) <= _Alignof(max_align_t));
  assert_true(_Alignof(volt_rwlock) <= _Alignof(max_align_t));
  assert_true(_Alignof(volt_waiter) <= _Alignof(max_align_t));
  assert_true(_Alignof(volt_future) <= _Alignof(max_align_t));
  assert_int_equal(offsetof(volt_fifo_, word), 0);
  assert_int_equal(offsetof(volt_sem, queue), 0);
  assert_int_equal(offsetof(volt_mutex, queue), 0);
  assert_int_equal(offsetof(volt_rwlock, queue), 0);
}

static void a_line_of_its_own(void **state) {
  (void)state;
  struct {
    char before;
    VOLT_CACHE_ALIGNED volt_mutex mutex;
    VOLT_CACHE_ALIGNED char after;
  } s;
  assert_int_equal((uintptr_t)&s.mutex % VOLT_CACHE_LINE, 0);
  assert_true((uintptr_t)&s.after - (uintptr_t)&s.mutex >= VOLT_CACHE_LINE);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_function_has_a_symbol),
      cmocka_unit_test(twin_of_is_ok),
      cmocka_unit_test(twins_of_the_semaphore),
      cmocka_unit_test(twins_of_the_mutex),
      cmocka_unit_test(twins_of_the_rwlock),
      cmocka_unit_test(sizes),
      cmocka_unit_test(alignment),
      cmocka_unit_test(a_line_of_its_own),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
