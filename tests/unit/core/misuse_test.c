/* misuse_test.c: what must abort, and that it says what, where and the values. Each act runs in a
 * child process. */
#include <stdio.h>

#include "core/os/check.h"
#include "core/wait/permits.h"
#include "death.h"
#include "fake_waker.h"
#include "futex_hook.h"
#include "unit.h"

static volt_sem sem;
static volt_mutex mutex;
static volt_rwlock rw;
static volt_waiter waiter;
static volt_waiter second;

static const volt_waker nobody = {NULL, NULL};

static int set_up(void **state) {
  (void)state;
  volt_sem_init(&sem, 0);
  volt_mutex_init(&mutex);
  volt_rwlock_init(&rw);
  memset(&waiter, 0, sizeof waiter);
  memset(&second, 0, sizeof second);
  return 0;
}

static void queue_on_sem(volt_waiter *w, uint32_t n) {
  assert_result(volt_sem_acquire_waiter(&sem, w, n, nobody), VOLT_PENDING);
}

/* ---- the death test itself ---- */

static void do_nothing(void *arg) {
  (void)arg;
}

static void say_something_else(void *arg) {
  volt_panic_((const char *)arg, "something %s", "else");
}

static void a_death_test_can_fail(void **state) {
  (void)state;
  char here[] = "here";
  assert_death(say_something_else, here, "volt: here: something else\n");
  print_message("two complaints are due now:\n");
  assert_false(death_of(do_nothing, NULL, (const char *const[]){NULL}));
  assert_false(death_of(say_something_else, here, (const char *const[]){"this", NULL}));
}

static void say_very_much(void *arg) {
  volt_panic_((const char *)arg, "%s", (const char *)arg);
}

static void last_words_are_cut_to_fit(void **state) {
  (void)state;
  char much[3000];
  memset(much, 'x', sizeof much - 1);
  much[sizeof much - 1] = '\0';
  assert_death(say_very_much, much, "volt: xxxx", "xxx\n");
  much[100] = '\0';
  assert_death(say_very_much, much, "xxx: xxx", "xxx\n");
}

/* ---- semaphore ---- */

static void init_above_the_maximum(void *arg) {
  volt_sem_init((volt_sem *)arg, VOLT_SEM_MAX + 1);
}

static void release_one(void *arg) {
  volt_sem_release((volt_sem *)arg, 1);
}

static void release_half(void *arg) {
  volt_sem_release((volt_sem *)arg, 0x40000000);
}

static void release_the_maximum(void *arg) {
  volt_sem_release((volt_sem *)arg, VOLT_SEM_MAX);
}

static void release_above_the_maximum(void *arg) {
  volt_sem_release((volt_sem *)arg, UINT32_MAX);
}

static void destroy_sem(void *arg) {
  volt_sem_destroy((volt_sem *)arg);
}

static void too_many_permits_to_begin_with(void **state) {
  (void)state;
  assert_death(init_above_the_maximum, &sem, "volt_sem_init", death_address(&sem), "2147483648",
               "2147483647");
}

static void release_past_the_maximum(void **state) {
  (void)state;
  volt_sem_init(&sem, VOLT_SEM_MAX);
  assert_death(release_one, &sem, "volt_sem", death_address(&sem), "release past VOLT_SEM_MAX",
               "1 given back", "2147483647 there", "at most 2147483647");
  volt_sem_init(&sem, 0x40000000);
  assert_death(release_half, &sem, "volt_sem", death_address(&sem), "release past VOLT_SEM_MAX",
               "1073741824 given back", "1073741824 there");
  assert_death(release_the_maximum, &sem, "release past VOLT_SEM_MAX", "2147483647 given back");
  assert_death(release_above_the_maximum, &sem, "release past VOLT_SEM_MAX",
               "4294967295 given back");
  volt_sem_init(&sem, 0);
  assert_death(release_above_the_maximum, &sem, "release past VOLT_SEM_MAX", "0 there");
}

static void release_past_the_maximum_with_waiters(void **state) {
  (void)state;
  volt_sem_init(&sem, 2);
  queue_on_sem(&waiter, 3);
  queue_on_sem(&second, 1);
  assert_death(release_the_maximum, &sem, "volt_sem", death_address(&sem),
               "release past VOLT_SEM_MAX", "2147483647 given back", "2 there");
  assert_death(release_above_the_maximum, &sem, "release past VOLT_SEM_MAX",
               "4294967295 given back");
}

static void release_past_the_maximum_when_closed(void **state) {
  (void)state;
  volt_sem_init(&sem, VOLT_SEM_MAX);
  volt_sem_close(&sem);
  assert_death(release_one, &sem, "release past VOLT_SEM_MAX", death_address(&sem));
}

static void destroy_with_waiters(void **state) {
  (void)state;
  queue_on_sem(&waiter, 1);
  queue_on_sem(&second, 1);
  assert_death(destroy_sem, &sem, "volt_sem", death_address(&sem), "destroyed", "2 waiters");
}

/* ---- mutex ---- */

static void unlock_mutex(void *arg) {
  volt_mutex_unlock((volt_mutex *)arg);
}

static void destroy_mutex(void *arg) {
  volt_mutex_destroy((volt_mutex *)arg);
}

static void unlock_of_a_free_mutex(void **state) {
  (void)state;
  assert_death(unlock_mutex, &mutex, "volt_mutex", death_address(&mutex), "not locked");
  assert_result(volt_mutex_try_lock(&mutex), VOLT_OK);
  volt_mutex_unlock(&mutex);
  assert_death(unlock_mutex, &mutex, "volt_mutex", death_address(&mutex), "not locked");
}

static void destroy_of_a_mutex_in_use(void **state) {
  (void)state;
  assert_result(volt_mutex_try_lock(&mutex), VOLT_OK);
  assert_death(destroy_mutex, &mutex, "volt_mutex", death_address(&mutex), "destroyed", "locked");
  assert_result(volt_mutex_lock_waiter(&mutex, &waiter, nobody), VOLT_PENDING);
  assert_death(destroy_mutex, &mutex, "volt_mutex", death_address(&mutex), "destroyed",
               "1 waiters");
}

/* ---- rwlock ---- */

static void read_unlock(void *arg) {
  volt_rwlock_read_unlock((volt_rwlock *)arg);
}

static void write_unlock(void *arg) {
  volt_rwlock_write_unlock((volt_rwlock *)arg);
}

static void downgrade(void *arg) {
  volt_rwlock_downgrade((volt_rwlock *)arg);
}

static void destroy_rwlock(void *arg) {
  volt_rwlock_destroy((volt_rwlock *)arg);
}

static void unlock_of_a_free_rwlock(void **state) {
  (void)state;
  const char *at = death_address(&rw);
  assert_death(read_unlock, &rw, "volt_rwlock", at, "read unlock", "not locked");
  assert_death(write_unlock, &rw, "volt_rwlock", at, "write unlock", "not locked");
  assert_death(downgrade, &rw, "volt_rwlock", at, "downgrade", "not locked");
}

static void unlock_of_what_a_reader_holds(void **state) {
  (void)state;
  const char *at = death_address(&rw);
  for (int i = 0; i < 2; i++) {
    assert_result(volt_rwlock_try_read(&rw), VOLT_OK);
    assert_death(write_unlock, &rw, "volt_rwlock", at, "write unlock", "read-locked");
    assert_death(downgrade, &rw, "volt_rwlock", at, "downgrade", "read-locked");
  }
  assert_result(volt_rwlock_write_waiter(&rw, &waiter, nobody), VOLT_PENDING);
  assert_death(write_unlock, &rw, "volt_rwlock", at, "not locked like that");
  assert_death(downgrade, &rw, "volt_rwlock", at, "not locked like that");
}

static void unlock_of_what_a_writer_holds(void **state) {
  (void)state;
  assert_result(volt_rwlock_try_write(&rw), VOLT_OK);
  assert_death(read_unlock, &rw, "volt_rwlock", death_address(&rw), "read unlock",
               "locked for writing");
}

/* A reader queued behind the writer: what it would be given is not there to give. */
static void read_unlock_of_what_a_writer_holds(void **state) {
  (void)state;
  assert_result(volt_rwlock_try_write(&rw), VOLT_OK);
  assert_result(volt_rwlock_read_waiter(&rw, &waiter, nobody), VOLT_PENDING);
  assert_death(read_unlock, &rw, "volt_rwlock", death_address(&rw), "not locked like that");
  volt_rwlock_write_unlock(&rw);
  assert_result(volt_waiter_result(&waiter), VOLT_OK);
  volt_rwlock_read_unlock(&rw);
}

static void read_by_future(void *arg) {
  volt_future f;
  (void)volt_future_poll(volt_rwlock_read_future(&f, (volt_rwlock *)arg), nobody);
}

static void read_until(void *arg) {
  ignore_result(volt_rwlock_read_until((volt_rwlock *)arg, 0));
}

static void one_reader_too_many(void **state) {
  (void)state;
  volt_store_relaxed(&rw.queue.word, VOLT_WORD_(VOLT_RWLOCK_MAX_READERS));
  assert_int_equal(volt_rwlock_readers(&rw), VOLT_RWLOCK_MAX_READERS);
  assert_result(volt_rwlock_try_read(&rw), VOLT_EAGAIN);
  assert_death(read_until, &rw, "volt_rwlock", death_address(&rw), "too many holders");
  assert_death(read_by_future, &rw, "volt_rwlock", death_address(&rw), "too many holders");
  volt_rwlock_read_unlock(&rw);
  assert_result(volt_rwlock_try_read(&rw), VOLT_OK);
}

static void destroy_of_an_rwlock_in_use(void **state) {
  (void)state;
  const char *at = death_address(&rw);
  assert_result(volt_rwlock_try_read(&rw), VOLT_OK);
  assert_death(destroy_rwlock, &rw, "volt_rwlock", at, "destroyed", "locked");
  assert_result(volt_rwlock_write_waiter(&rw, &waiter, nobody), VOLT_PENDING);
  assert_death(destroy_rwlock, &rw, "volt_rwlock", at, "destroyed", "1 waiters");
  assert_true(volt_rwlock_cancel(&rw, &waiter));
  volt_rwlock_read_unlock(&rw);
  assert_result(volt_rwlock_try_write(&rw), VOLT_OK);
  assert_death(destroy_rwlock, &rw, "volt_rwlock", at, "destroyed", "locked");
}

/* ---- waiters ---- */

static void acquire_with(void *arg) {
  ignore_result(volt_sem_acquire_waiter(&sem, (volt_waiter *)arg, 1, nobody));
}

static void lock_with(void *arg) {
  ignore_result(volt_mutex_lock_waiter(&mutex, (volt_waiter *)arg, nobody));
}

static void read_with(void *arg) {
  ignore_result(volt_rwlock_read_waiter(&rw, (volt_waiter *)arg, nobody));
}

static void use_of_a_queued_waiter(void **state) {
  (void)state;
  const char *at = death_address(&waiter);
  queue_on_sem(&waiter, 1);
  assert_result(volt_mutex_try_lock(&mutex), VOLT_OK);
  assert_result(volt_rwlock_try_write(&rw), VOLT_OK);
  assert_death(acquire_with, &waiter, "volt_sem", at, "already queued", "state 1");
  assert_death(lock_with, &waiter, "volt_mutex", at, "already queued", "state 1");
  assert_death(read_with, &waiter, "volt_rwlock", at, "already queued", "state 1");
}

static void use_of_a_waiter_full_of_garbage(void **state) {
  (void)state;
  memset(&waiter, 0xa5, sizeof waiter);
  assert_death(acquire_with, &waiter, "volt_sem", death_address(&waiter), "not initialised",
               "state 2779096485");
}

static volt_sem other_sem;

static void cancel_on_another(void *arg) {
  ignore_result(volt_sem_cancel(&other_sem, (volt_waiter *)arg));
}

static void cancel_on_the_mutex(void *arg) {
  ignore_result(volt_mutex_cancel(&mutex, (volt_waiter *)arg));
}

static void cancel_on_the_rwlock(void *arg) {
  ignore_result(volt_rwlock_cancel(&rw, (volt_waiter *)arg));
}

static void cancel_on_the_wrong_object(void **state) {
  (void)state;
  const char *at = death_address(&waiter);
  const char *on = death_address(&sem);
  volt_sem_init(&other_sem, 0);
  queue_on_sem(&waiter, 1);
  assert_death(cancel_on_another, &waiter, "volt_sem", at, on, death_address(&other_sem));
  assert_death(cancel_on_the_mutex, &waiter, "volt_mutex", at, on, death_address(&mutex));
  assert_death(cancel_on_the_rwlock, &waiter, "volt_rwlock", at, on, death_address(&rw));
}

/* ---- futures ---- */

static volt_future future;

static void poll_future(void *arg) {
  (void)volt_future_poll((volt_future *)arg, nobody);
}

static void block_on_future(void *arg) {
  ignore_result(volt_future_wait((volt_future *)arg));
}

static void poll_without_an_operation(void **state) {
  (void)state;
  memset(&future, 0, sizeof future);
  const char *at = death_address(&future);
  assert_death(poll_future, &future, "volt_future_poll", at, "never given an operation");
  assert_death(block_on_future, &future, at, "never given an operation");
  volt_future_made(volt_sem_acquire_future(&future, &sem, 1));
  future.waiter.future = 77;
  assert_death(poll_future, &future, "volt_future_poll", at, "never given an operation");
}

/* ---- memory that is used behind the queue's back: invocation ids ---- */

#if VOLT_DEBUG

/* The library is waking the owner of the first of two: the second is claimed, and its grant comes
 * next. */
static futex_outcome use_it_meanwhile(void *arg, const futex_call *call) {
  if (!call->is_wait) ((volt_waiter *)arg)->use ^= 1;
  return FUTEX_RETURN_0;
}

static void release_for_two(void *arg) {
  volt_store_relaxed(&waiter.state, VOLT_WAITER_AWAITED_);
  futex_hook_set(use_it_meanwhile, arg);
  volt_sem_release(&sem, 2);
}

static void a_claimed_waiter_is_used(void **state) {
  (void)state;
  queue_on_sem(&waiter, 1);
  queue_on_sem(&second, 1);
  char ids[64];
  (void)snprintf(ids, sizeof ids, "invocation %u, was %u", (unsigned)(second.use ^ 1),
                 (unsigned)second.use);
  assert_death(release_for_two, &second, death_address(&second), "re-used", ids);
}

#endif

/* ---- memory that is copied, moved or made anew while it waits ---- */

static void cancel_future(void *arg) {
  volt_future_cancel((volt_future *)arg);
}

static void ask_for_result(void *arg) {
  (void)volt_waiter_result((volt_waiter *)arg);
}

static void replace_waker(void *arg) {
  ignore_result(volt_waiter_set_waker((volt_waiter *)arg, nobody));
}

static void cancel_waiter(void *arg) {
  (void)!volt_sem_cancel(&sem, (volt_waiter *)arg);
}

static void release_for_all(void *arg) {
  (void)arg;
  volt_sem_release(&sem, 3);
}

static void a_waiting_waiter_is_copied(void **state) {
  (void)state;
  queue_on_sem(&waiter, 1);
  volt_waiter copy = waiter;
  assert_death(ask_for_result, &copy, "volt_waiter_result", death_address(&copy),
               "copied or moved");
  assert_death(cancel_waiter, &copy, "volt_waiter_result", death_address(&copy), "copied or moved");
  assert_death(replace_waker, &copy, "volt_waiter_result", death_address(&copy), "copied or moved");
  assert_true(volt_sem_cancel(&sem, &waiter));
  copy = waiter; /* it waits no more */
  assert_result(volt_waiter_result(&copy), VOLT_ECANCELED);
}

static void a_waiting_waiter_is_made_anew(void **state) {
  (void)state;
  queue_on_sem(&waiter, 1);
  memset((void *)&waiter, 0, sizeof waiter);
  assert_death(release_for_all, NULL, "grant", death_address(&waiter), "moved or made anew");
}

static void a_waiting_future_is_copied(void **state) {
  (void)state;
  volt_future_made(volt_sem_acquire_future(&future, &sem, 1));
  assert_result(volt_future_poll(&future, nobody), VOLT_PENDING);
  volt_future copy = future;
  const char *at = death_address(&copy.waiter);
  assert_death(poll_future, &copy, "volt_waiter_result", at, "copied or moved");
  assert_death(cancel_future, &copy, "volt_waiter_result", at, "copied or moved");
  volt_sem_release(&sem, 1);
  assert_result(volt_future_poll(&future, nobody), VOLT_OK);
  copy = future; /* a result may be */
  assert_result(volt_future_poll(&copy, nobody), VOLT_OK);
}

/* Alone, and between two others: whoever comes to it next says so. */
static void a_waiting_future_is_made_anew(void **state) {
  (void)state;
  for (unsigned others = 0; others < 2; others++) {
    volt_sem_init(&sem, 0);
    memset((void *)&waiter, 0, sizeof waiter);
    memset((void *)&second, 0, sizeof second);
    if (others) queue_on_sem(&waiter, 1);
    volt_future_made(volt_sem_acquire_future(&future, &sem, 1));
    assert_result(volt_future_poll(&future, nobody), VOLT_PENDING);
    if (others) queue_on_sem(&second, 1);
    volt_future_made(volt_sem_acquire_future(&future, &sem, 1));
    const char *at = death_address(&future.waiter);
    assert_death(release_for_all, NULL, "grant", at, "moved or made anew");
    if (!others) {
      assert_death(release_one, &sem, "grant", at, "moved or made anew"); /* just what it wants */
      assert_death(poll_future, &future, "volt_waiter", at, "made anew", death_address(&sem));
      continue;
    }
    assert_result(volt_future_poll(&future, nobody), VOLT_PENDING); /* the chain is broken now */
    assert_death(release_for_all, NULL, "volt_waiter", "neighbour", "moved or made anew");
  }
}

#if VOLT_DEBUG

static int wait_in_it(volt_async *a, volt_ctx *ctx) {
  (void)a;
  return volt_future_poll_ctx(&future, ctx);
}

static void a_waiting_function_is_copied(void **state) {
  (void)state;
  volt_async function;
  volt_future_made(volt_sem_acquire_future(&future, &sem, 1));
  volt_future_made(volt_async_future(&function, wait_in_it));
  assert_result(volt_future_poll(&function.future, nobody), VOLT_PENDING);
  volt_async copy = function;
  const char *at = death_address(&copy.future);
  assert_death(poll_future, &copy.future, "volt_future", at, "copied or moved");
  assert_death(cancel_future, &copy.future, "volt_future", at, "copied or moved");
  volt_sem_release(&sem, 1);
  assert_result(volt_future_poll(&function.future, nobody), VOLT_OK);
}

static void every_use_has_a_number_of_its_own(void **state) {
  (void)state;
  queue_on_sem(&waiter, 1);
  queue_on_sem(&second, 1);
  uint8_t first_use = waiter.use;
  assert_int_not_equal(first_use, 0);
  assert_int_not_equal(first_use, second.use);
  volt_sem_release(&sem, 1);
  assert_int_equal(waiter.use, first_use);
  queue_on_sem(&waiter, 1);
  assert_int_not_equal(waiter.use, first_use);
  assert_int_not_equal(waiter.use, second.use);
}

/* A waiter that is linked here has been cleared and queued there. */
static void a_queued_waiter_is_queued_elsewhere(void **state) {
  (void)state;
  queue_on_sem(&waiter, 1);
  memset(&waiter, 0, sizeof waiter);
  volt_sem_init(&other_sem, 0);
  assert_result(volt_sem_acquire_waiter(&other_sem, &waiter, 1, nobody), VOLT_PENDING);
  assert_death(release_one, &sem, "broken invariant", "queue");
}

#endif

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup(a_death_test_can_fail, set_up),
    cmocka_unit_test_setup(last_words_are_cut_to_fit, set_up),
    cmocka_unit_test_setup(too_many_permits_to_begin_with, set_up),
    cmocka_unit_test_setup(release_past_the_maximum, set_up),
    cmocka_unit_test_setup(release_past_the_maximum_with_waiters, set_up),
    cmocka_unit_test_setup(release_past_the_maximum_when_closed, set_up),
    cmocka_unit_test_setup(destroy_with_waiters, set_up),
    cmocka_unit_test_setup(unlock_of_a_free_mutex, set_up),
    cmocka_unit_test_setup(destroy_of_a_mutex_in_use, set_up),
    cmocka_unit_test_setup(unlock_of_a_free_rwlock, set_up),
    cmocka_unit_test_setup(unlock_of_what_a_reader_holds, set_up),
    cmocka_unit_test_setup(unlock_of_what_a_writer_holds, set_up),
    cmocka_unit_test_setup(read_unlock_of_what_a_writer_holds, set_up),
    cmocka_unit_test_setup(one_reader_too_many, set_up),
    cmocka_unit_test_setup(destroy_of_an_rwlock_in_use, set_up),
    cmocka_unit_test_setup(use_of_a_queued_waiter, set_up),
    cmocka_unit_test_setup(use_of_a_waiter_full_of_garbage, set_up),
    cmocka_unit_test_setup(cancel_on_the_wrong_object, set_up),
    cmocka_unit_test_setup(poll_without_an_operation, set_up),
    cmocka_unit_test_setup(a_waiting_waiter_is_copied, set_up),
    cmocka_unit_test_setup(a_waiting_waiter_is_made_anew, set_up),
    cmocka_unit_test_setup(a_waiting_future_is_copied, set_up),
    cmocka_unit_test_setup(a_waiting_future_is_made_anew, set_up),
#if VOLT_DEBUG
    cmocka_unit_test_setup(a_claimed_waiter_is_used, set_up),
    cmocka_unit_test_setup(a_waiting_function_is_copied, set_up),
    cmocka_unit_test_setup(every_use_has_a_number_of_its_own, set_up),
    cmocka_unit_test_setup(a_queued_waiter_is_queued_elsewhere, set_up),
#endif
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
