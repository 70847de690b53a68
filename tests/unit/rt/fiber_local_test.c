/* fiber_local_test.c: values of each fiber: by key, destroyed as it ends. And calls on the blocking
 * pool. */
#include <pthread.h>

#include "fiber_scene.h"
#include "thread_team.h"

static volt_fiber_key numbers;
static volt_fiber_key letters; /* whose values are noted when they are destroyed */
static volt_fiber_key waiters; /* whose destructor waits */
static volt_fiber_key again;   /* whose destructor sets it again */

static void note_letter(void *value) {
  trace_note(&seen, *(char *)value);
}
static void wait_first(void *value) {
  REQUIRE(await_permit() == VOLT_OK);
  note_letter(value);
}
static void set_again(void *value) {
  note_letter(value);
  REQUIRE(volt_fiber_local_set(again, value) == VOLT_OK);
}

static int make_keys(void **state) {
  (void)state;
  assert_result(volt_fiber_key_new(&numbers, NULL), VOLT_OK);
  assert_result(volt_fiber_key_new(&letters, note_letter), VOLT_OK);
  assert_result(volt_fiber_key_new(&waiters, wait_first), VOLT_OK);
  assert_result(volt_fiber_key_new(&again, set_again), VOLT_OK);
  return 0;
}

static int has_a_number(void *arg) {
  REQUIRE(volt_fiber_local(numbers) == NULL);
  REQUIRE(volt_fiber_local_set(numbers, arg) == VOLT_OK);
  for (int i = 0; i < 3; i++) {
    REQUIRE(volt_fiber_yield() == VOLT_OK);
    REQUIRE(volt_fiber_local(numbers) == arg);
  }
  REQUIRE(volt_fiber_local_set(numbers, NULL) == VOLT_OK);
  REQUIRE(volt_fiber_local(numbers) == NULL);
  return VOLT_OK;
}

static void each_fiber_has_its_own_value(void **state) {
  (void)state;
  int one = 1;
  int two = 2;
  volt_task *first = spawn_fiber(has_a_number, &one);
  volt_task *second = spawn_fiber(has_a_number, &two);
  by_hand_run(&h);
  expect_end(first, VOLT_OK);
  expect_end(second, VOLT_OK);
}

static int has_letters(void *arg) {
  char *text = (char *)arg;
  REQUIRE(volt_fiber_local_set(letters, &text[0]) == VOLT_OK);
  REQUIRE(volt_fiber_local_set(waiters, &text[1]) == VOLT_OK);
  REQUIRE(volt_fiber_local_set(numbers, &text[2]) == VOLT_OK); /* has no destructor */
  return 7;
}

static void at_its_end_values_are_destroyed_in_it(void **state) {
  (void)state;
  char text[] = "abc";
  volt_task *t = start_fiber(has_letters, text);
  expect_trace("a");
  assert_result(volt_task_result(t), VOLT_PENDING); /* the second destructor waits */
  volt_sem_release(&sem, 1);
  by_hand_run(&h);
  expect_trace("ab");
  expect_end(t, 7);
}

static int has_one_that_comes_again(void *arg) {
  return volt_fiber_local_set(again, arg);
}

static void a_destructor_that_sets_a_value_is_called_four_times(void **state) {
  (void)state;
  char text[] = "r";
  run_fiber(has_one_that_comes_again, text, VOLT_OK);
  expect_trace("rrrr");
}

static void elsewhere_there_are_none(void **state) {
  (void)state;
  assert_null(volt_fiber_local(numbers));
  assert_result(volt_fiber_local_set(numbers, &sem), VOLT_EINVAL);
}

static volt_fiber_key last;

static int has_many(void *arg) {
  const volt_fiber_key none = {0};
  REQUIRE(volt_fiber_local_set(none, arg) == VOLT_EINVAL);
  REQUIRE(volt_fiber_local(none) == NULL);
  REQUIRE(volt_fiber_local_set(numbers, arg) == VOLT_OK);
  REQUIRE(volt_fiber_local(last) == NULL);
  REQUIRE(volt_fiber_local_set(last, arg) == VOLT_OK); /* room for it has to be made */
  REQUIRE(volt_fiber_local(numbers) == arg && volt_fiber_local(last) == arg);
  REQUIRE(volt_fiber_local(letters) == NULL);
  return VOLT_OK;
}

static void there_are_1024_keys(void **state) {
  (void)state;
  volt_fiber_key key;
  for (int i = 5; i <= 1024; i++) assert_result(volt_fiber_key_new(&last, NULL), VOLT_OK);
  assert_result(volt_fiber_key_new(&key, NULL), VOLT_ENOMEM);
  int one = 1;
  run_fiber(has_many, &one, VOLT_OK);
}

/* ---- calls on the blocking pool ---- */

typedef struct call {
  pthread_t thread;
  int error;
  int result;
} call;

static int notes_its_thread(void *arg) {
  call *c = (call *)arg;
  c->thread = pthread_self();
  c->error = errno;
  errno = 6;
  return c->result;
}

static int calls_out(void *arg) {
  errno = 5;
  int result = volt_fiber_offload(notes_its_thread, arg);
  REQUIRE(errno == 6);
  return result;
}

static void a_call_is_made_on_another_thread(void **state) {
  (void)state;
  call c = {.result = 3};
  volt_task *t = spawn_fiber(calls_out, &c);
  WAIT_UNTIL((by_hand_run(&h), volt_task_result(t) != VOLT_PENDING));
  assert_false(pthread_equal(c.thread, pthread_self()));
  assert_int_equal(c.error, 5);
  expect_end(t, 3);
}

static void a_thread_makes_the_call_itself(void **state) {
  (void)state;
  call c = {.result = 4};
  assert_int_equal(calls_out(&c), 4);
  assert_true(pthread_equal(c.thread, pthread_self()));
  assert_int_equal(c.error, 5);
  errno = 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      A_TEST(each_fiber_has_its_own_value),
      A_TEST(at_its_end_values_are_destroyed_in_it),
      A_TEST(a_destructor_that_sets_a_value_is_called_four_times),
      A_TEST(elsewhere_there_are_none),
      A_TEST(there_are_1024_keys),
      A_TEST(a_call_is_made_on_another_thread),
      A_TEST(a_thread_makes_the_call_itself),
  };
  return cmocka_run_group_tests(tests, make_keys, NULL);
}
