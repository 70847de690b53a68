/* message_test.c: what a message says beside the mistake: the name of the object, where the call
 * stands, who holds what, and from where the call came. And that a lock that is locked again by its
 * holder is a mistake. */
#include <pthread.h>
#include <stdio.h>

#include <volt/select.h>

#include "death.h"
#include "unit.h"

static volt_mutex mutex;
static volt_rwlock rw;
static volt_sem sem;

static int set_up(void **state) {
  (void)state;
  volt_mutex_init(&mutex);
  volt_rwlock_init(&rw);
  volt_sem_init_bounded(&sem, 1);
  return 0;
}

/* "message_test.c:LINE", of the line that many above this call. Static memory, good for four. */
static const char *place_above(unsigned line, unsigned above) {
  static char places[4][48];
  static unsigned next;
  char *place = places[next++ % 4];
  (void)snprintf(place, sizeof places[0], "message_test.c:%u", line - above);
  return place;
}
#define ABOVE(n) place_above(__LINE__, (n))

/* ---- the name, and where the call stands ---- */

static void unlock(void *arg) {
  (void)arg;
  volt_mutex_unlock(&mutex);
}

static void write_unlock(void *arg) {
  (void)arg;
  volt_rwlock_write_unlock(&rw);
}

static void release(void *arg) {
  (void)arg;
  volt_sem_release(&sem, 1);
}
static const char *release_place(void) {
  return ABOVE(3);
}

static void a_message_has_the_name(void **state) {
  (void)state;
  assert_death(unlock, NULL, "volt: volt_mutex: ", death_address(&mutex), DEATH_NOT "'");
  assert_result(volt_name(&mutex, "orders"), VOLT_OK);
  assert_death(unlock, NULL, " 'orders': unlocked, but it is not locked");
  volt_unname(&mutex);
}

static void a_message_has_the_place(void **state) {
  (void)state;
  if (!VOLT_SIGHT) skip();
  assert_death(release, NULL, "at ", release_place());
  assert_death(unlock, NULL, "unlocked, but it is not locked", "; at ", "message_test.c:");
  assert_death(write_unlock, NULL, "; at ", "message_test.c:");
}

static void a_message_has_the_calls(void **state) {
  (void)state;
#ifdef __GLIBC__
  assert_death(unlock, NULL, "volt: called from ", "unit.message+0x", "addr2line");
#endif
}

/* ---- the holder ---- */

static void *unlock_elsewhere(void *arg) {
  unlock(arg);
  return NULL;
}

static void on_another_thread(void) {
  pthread_t other;
  assert_int_equal(pthread_create(&other, NULL, unlock_elsewhere, NULL), 0);
  assert_int_equal(pthread_join(other, NULL), 0);
}

/* The mutex was taken from its holder, which does not know. */
static void unlock_of_what_another_has_unlocked(void **state) {
  (void)state;
  if (!VOLT_SIGHT) skip();
  volt_mutex_lock(&mutex);
  const char *taken = ABOVE(1);
  on_another_thread();
  assert_death(unlock, NULL, "unlocked, but it is not locked", "this party took it at", taken,
               "another has released it at", "message_test.c:");
}

/* ---- locked again ---- */

static volt_mutex
    kept; /* no test unlocks it elsewhere: from then on nothing is known of a holder */

static void lock_again(void *arg) {
  (void)arg;
  volt_mutex_lock(&kept);
}

static void lock_again_by_block_on(void *arg) {
  volt_future f;
  (void)arg;
  ignore_result(volt_future_wait(volt_mutex_lock_future(&f, &kept)));
}

static void read_what_is_written(void *arg) {
  (void)arg;
  volt_rwlock_read(&rw);
}

static void write_again(void *arg) {
  (void)arg;
  ignore_result(volt_rwlock_write_until(&rw, VOLT_NO_DEADLINE));
}

static void locked_again_by_its_holder(void **state) {
  (void)state;
  if (!VOLT_SIGHT) skip();
  volt_mutex_lock(&kept);
  const char *taken = ABOVE(1);
  assert_death(lock_again, NULL, "volt_mutex_lock", "locked again by the one that holds it", taken);
  assert_death(lock_again_by_block_on, NULL, "locked again by the one that holds it", taken);
  volt_mutex_unlock(&kept);
  volt_rwlock_write(&rw);
  assert_death(read_what_is_written, NULL, "volt_rwlock", "locked again by the one that holds it");
  assert_death(write_again, NULL, "volt_rwlock", "locked again by the one that holds it");
  volt_rwlock_write_unlock(&rw);
}

/* With a deadline it only times out. */
static void with_a_deadline_it_times_out(void **state) {
  (void)state;
  volt_mutex_lock(&mutex);
  assert_result(volt_mutex_lock_until(&mutex, PAST_DEADLINE), VOLT_ETIMEDOUT);
  volt_mutex_unlock(&mutex);
}

/* A mutex may be unlocked by another than the one that has locked it. */
static void what_was_passed_on_may_be_locked_again(void **state) {
  (void)state;
  volt_mutex_lock(&mutex);
  on_another_thread(); /* from here on, its holder is not known */
  volt_mutex_lock(&mutex);
  pthread_t other;
  assert_int_equal(pthread_create(&other, NULL, unlock_elsewhere, NULL), 0);
  volt_mutex_lock(&mutex); /* until the other has unlocked it */
  assert_int_equal(pthread_join(other, NULL), 0);
  volt_mutex_unlock(&mutex);
}

/* ---- futures that cannot be ---- */

static volt_future *both[2];
static volt_select inner, outer;
static volt_future permit;

static void poll_outer(void *arg) {
  (void)arg;
  (void)volt_future_poll(&outer.future, (volt_waker){NULL, NULL});
}

static void a_select_that_is_its_own_branch(void **state) {
  (void)state;
  if (!VOLT_SIGHT) skip();
  both[0] = volt_sem_acquire_future(&permit, &sem, 1);
  assert_result(volt_sem_try_acquire(&sem, 1), VOLT_OK);
  both[1] = &outer.future;
  volt_future_made(volt_select_future(&outer, both, 2, VOLT_SELECT_BIASED));
  assert_death(poll_outer, NULL, "volt_select", death_address(&outer.future), "awaits itself");
  volt_future *const through[1] = {volt_select_future(&inner, both, 2, VOLT_SELECT_BIASED)};
  volt_future_made(volt_select_future(&outer, through, 1, VOLT_SELECT_BIASED));
  assert_death(poll_outer, NULL, "volt_select", death_address(&outer.future), "awaits itself");
}

static void poll_garbage(void *arg) {
  (void)volt_future_poll((volt_future *)arg, (volt_waker){NULL, NULL});
}

static void cancel_garbage(void *arg) {
  volt_future_cancel((volt_future *)arg);
}

static void a_future_of_garbage(void **state) {
  (void)state;
  if (!VOLT_SIGHT) skip();
  volt_future garbage;
  memset(&garbage, 0xa5, sizeof garbage);
  assert_death(poll_garbage, &garbage, "volt_future_poll", "was never given an operation");
  assert_death(cancel_garbage, &garbage, "volt_future_cancel", "was never given an operation");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(a_message_has_the_name, set_up),
      cmocka_unit_test_setup(a_message_has_the_place, set_up),
      cmocka_unit_test_setup(a_message_has_the_calls, set_up),
      cmocka_unit_test_setup(unlock_of_what_another_has_unlocked, set_up),
      cmocka_unit_test_setup(locked_again_by_its_holder, set_up),
      cmocka_unit_test_setup(with_a_deadline_it_times_out, set_up),
      cmocka_unit_test_setup(what_was_passed_on_may_be_locked_again, set_up),
      cmocka_unit_test_setup(a_select_that_is_its_own_branch, set_up),
      cmocka_unit_test_setup(a_future_of_garbage, set_up),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
