/* fiber_test.c: the life of a fiber: made, run, suspended, joined; what is on its stack and what it
 * has of the thread. How it is cancelled is in fiber_cancel_test.c. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#endif
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "fiber_scene.h"
#include "sanitizer.h"
#include "thread_team.h"

/* ---- run and wait ---- */

static int doubles(void *arg) {
  return 2 * *(int *)arg;
}

static void a_function_runs_with_its_argument(void **state) {
  (void)state;
  int seven = 7;
  run_fiber(doubles, &seven, 14);
}

static int adds_permits(void *arg) {
  int sum = *(int *)arg;
  char text[32];
  for (int i = 1; i <= 3; i++) {
    int result = await_permit();
    if (result != VOLT_OK) return result;
    sum += i;
    trace_note(&seen, (char)('0' + i));
  }
  snprintf(text, sizeof text, "%d", sum);
  return text[0] == '1' && text[1] == '6' ? sum : -1;
}

static void locals_live_across_waits(void **state) {
  (void)state;
  int ten = 10;
  volt_task *t = start_fiber(adds_permits, &ten);
  expect_trace("");
  volt_sem_release(&sem, 1);
  by_hand_run(&h);
  expect_trace("1");
  volt_sem_release(&sem, 2);
  by_hand_run(&h);
  expect_trace("123");
  expect_end(t, 16);
}

static int yields(void *arg) {
  const char *letters = (const char *)arg;
  for (; *letters; letters++) {
    trace_note(&seen, *letters);
    REQUIRE(volt_fiber_yield() == VOLT_OK);
  }
  return VOLT_OK;
}

typedef struct spelling {
  volt_task task;
  const char *letters;
} spelling;

static int spells(volt_task *t, volt_ctx *ctx) {
  spelling *self = volt_container_of(t, spelling, task);
  VOLT_TASK_BEGIN(self);
  for (; *self->letters; self->letters++) {
    trace_note(&seen, *self->letters);
    VOLT_YIELD(self);
  }
  VOLT_TASK_END(self);
}

static void fibers_and_tasks_yield_to_each_other(void **state) {
  (void)state;
  volt_task *abc = spawn_fiber(yields, (void *)(uintptr_t) "abc");
  spelling *digits = VOLT_TASK_NEW(h.rt, spelling, spells);
  assert_non_null(digits);
  digits->letters = "123";
  assert_result(volt_spawn(h.rt, &digits->task), VOLT_OK);
  volt_task *xyz = spawn_fiber(yields, (void *)(uintptr_t) "xyz");
  by_hand_run(&h);
  expect_trace("a1xb2yc3z");
  expect_end(abc, VOLT_OK);
  expect_end(&digits->task, VOLT_OK);
  expect_end(xyz, VOLT_OK);
}

static void yield_elsewhere_does_nothing(void **state) {
  (void)state;
  assert_result(volt_fiber_yield(), VOLT_OK);
}

static int awaits_many(void *arg) {
  for (unsigned i = 0; i < 3 * VOLT_CTX_BUDGET; i++) {
    if (i % VOLT_CTX_BUDGET == 0) trace_note(&seen, *(char *)arg);
    REQUIRE(await_permit() == VOLT_OK);
  }
  return VOLT_OK;
}

static void awaits_that_are_ready_have_a_budget(void **state) {
  (void)state;
  char a = 'a';
  char b = 'b';
  volt_sem_release(&sem, 6 * VOLT_CTX_BUDGET);
  volt_task *first = spawn_fiber(awaits_many, &a);
  volt_task *second = spawn_fiber(awaits_many, &b);
  by_hand_run(&h);
  expect_trace("aabbab");
  expect_end(first, VOLT_OK);
  expect_end(second, VOLT_OK);
}

static int polls_twice(void *arg) {
  volt_future f;
  (void)arg;
  REQUIRE(volt_future_wait(volt_sem_acquire_future(&f, &sem, 1)) == VOLT_OK);
  REQUIRE(volt_future_wait(&f) == VOLT_OK); /* it is ready for good */
  return VOLT_OK;
}

static void a_future_that_is_ready_is_ready_again(void **state) {
  (void)state;
  volt_task *t = start_fiber(polls_twice, NULL);
  volt_sem_release(&sem, 1);
  by_hand_run(&h);
  expect_end(t, VOLT_OK);
}

/* ---- which one ---- */

static int says_who(void *arg) {
  *(volt_task **)arg = volt_fiber_self();
  return await_permit();
}

static void it_knows_itself_and_its_name(void **state) {
  (void)state;
  volt_task *self = NULL;
  const volt_fiber_config config = {.name = "fetch"};
  volt_task *t = volt_fiber_new(h.rt, says_who, &self, &config);
  assert_non_null(t);
  assert_string_equal(volt_fiber_name(t), "fetch");
  assert_result(volt_spawn(h.rt, t), VOLT_OK);
  assert_null(self);
  by_hand_run(&h);
  assert_ptr_equal(self, t);
  assert_null(volt_fiber_self()); /* the fiber waits, and this is its worker's thread */
  volt_sem_release(&sem, 1);
  by_hand_run(&h);
  expect_end(t, VOLT_OK);
}

static int asks_self(volt_task *t, volt_ctx *ctx) {
  (void)t;
  (void)ctx;
  REQUIRE(volt_fiber_self() == NULL);
  return VOLT_OK;
}

static void a_task_between_two_polls_of_a_fiber_is_none(void **state) {
  (void)state;
  volt_task *fiber = start_fiber(adds_permits, &(int){10});
  volt_task *task = (volt_task *)volt_task_new(h.rt, sizeof *task, asks_self);
  assert_non_null(task);
  assert_result(volt_spawn(h.rt, task), VOLT_OK);
  by_hand_run(&h);
  expect_end(task, VOLT_OK);
  volt_sem_release(&sem, 3);
  by_hand_run(&h);
  expect_end(fiber, 16);
}

/* ---- joins, groups, memory ---- */

static int joins_by_await(void *arg) {
  volt_future f;
  return volt_future_wait(volt_task_join_future(&f, (volt_task *)arg));
}

static int joins_by_blocking_call(void *arg) {
  return volt_task_join((volt_task *)arg);
}

typedef struct joiner {
  volt_task task;
  volt_future f;
  volt_task *other;
} joiner;

static int joins(volt_task *t, volt_ctx *ctx) {
  joiner *self = volt_container_of(t, joiner, task);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT_RESULT(self, self->task.frame.result, volt_task_join_future(&self->f, self->other));
  VOLT_RETURN(self, self->task.frame.result);
  VOLT_TASK_END(self);
}

static void fibers_and_tasks_join_each_other(void **state) {
  (void)state;
  int ten = 10;
  volt_task *t = start_fiber(adds_permits, &ten);
  volt_task *second = start_fiber(joins_by_await, t);
  joiner *third = VOLT_TASK_NEW(h.rt, joiner, joins);
  assert_non_null(third);
  third->other = second;
  assert_result(volt_spawn(h.rt, &third->task), VOLT_OK);
  volt_task *fourth = start_fiber(joins_by_blocking_call, &third->task);
  by_hand_expect_live(&h, 4);
  volt_sem_release(&sem, 3);
  by_hand_run(&h);
  expect_end(fourth, 16);
  expect_end(&third->task, 16);
  expect_end(second, 16);
  expect_end(t, 16);
}

static int fails(void *arg) {
  (void)arg;
  return VOLT_EINVAL;
}

static int waits(void *arg) {
  (void)arg;
  return await_permit();
}

static void a_fiber_that_fails_cancels_its_group(void **state) {
  (void)state;
  volt_group group;
  volt_future f;
  volt_group_init(&group);
  assert_result(volt_group_spawn(&group, h.rt, new_fiber(waits, NULL)), VOLT_OK);
  by_hand_run(&h);
  assert_result(volt_group_spawn(&group, h.rt, new_fiber(fails, NULL)), VOLT_OK);
  assert_result(volt_rt_run_until(h.rt, volt_group_wait_future(&f, &group), VOLT_NO_DEADLINE),
                VOLT_EINVAL);
  volt_group_destroy(&group);
  by_hand_expect_live(&h, 0);
}

static int has_a_group(void *arg) {
  volt_group group;
  (void)arg;
  volt_group_init(&group);
  for (int i = 0; i < 3; i++) {
    REQUIRE(volt_group_spawn(&group, h.rt, volt_fiber_new(h.rt, waits, NULL, NULL)) == VOLT_OK);
  }
  trace_note(&seen, 'w');
  int result = volt_group_wait(&group);
  trace_note(&seen, 'd');
  volt_group_destroy(&group);
  return result;
}

static void a_fiber_waits_for_a_group(void **state) {
  (void)state;
  volt_task *t = start_fiber(has_a_group, NULL);
  expect_trace("w");
  volt_sem_release(&sem, 3);
  by_hand_run(&h);
  expect_trace("wd");
  expect_end(t, VOLT_OK);
}

static void spawned_alone_its_memory_is_given_back(void **state) {
  (void)state;
  run_fiber(doubles, &(int){1}, 2);
  uint64_t before = by_hand_held(&h);
  for (int i = 0; i < 100; i++) {
    assert_result(volt_fiber_spawn(h.rt, waits, NULL), VOLT_OK);
    volt_sem_release(&sem, 1);
    by_hand_run(&h);
  }
  assert_int_equal(by_hand_held(&h), before);
  by_hand_expect_live(&h, 0);
}

static void detached_unspawned_it_is_freed(void **state) {
  (void)state;
  volt_task_detach(new_fiber(fails, NULL)); /* else the runtime's end aborts */
}

static void after_shutdown_none_is_spawned(void **state) {
  (void)state;
  assert_result(volt_rt_shutdown(h.rt, VOLT_NO_DEADLINE), VOLT_OK);
  assert_result(volt_fiber_spawn(h.rt, waits, NULL), VOLT_ECLOSED);
}

/* ---- stacks ---- */

static void it_has_a_stack_while_it_runs(void **state) {
  (void)state;
  volt_task *t = spawn_fiber(waits, NULL);
  assert_int_equal(by_hand_stats(&h).fibers, 0);
  assert_int_equal(by_hand_stats(&h).fiber_stacks, 0);
  assert_int_equal(volt_fiber_stack_used(t), 0);
  by_hand_run(&h);
  assert_int_equal(by_hand_stats(&h).fibers, 1);
  assert_int_equal(by_hand_stats(&h).fiber_stacks, 1);
  assert_true(volt_fiber_stack_used(t) > 0);
  volt_sem_release(&sem, 1);
  by_hand_run(&h);
  assert_int_equal(by_hand_stats(&h).fibers, 0);
  assert_int_equal(by_hand_stats(&h).fiber_stacks, 0);
  assert_int_equal(volt_fiber_stack_used(t), 0);
  expect_end(t, VOLT_OK);
}

enum { FRAME = 1024 };

/* Returns depth: each call has about a kilobyte, and waits in between. */
static int recurses(int depth) {
  volatile char frame[FRAME];
  frame[0] = (char)depth;
  frame[FRAME - 1] = (char)depth;
  if (depth == 0) return 0;
  if (depth % 50 == 0) REQUIRE(volt_fiber_yield() == VOLT_OK);
  int below = recurses(depth - 1);
  REQUIRE(frame[0] == (char)depth && frame[FRAME - 1] == (char)depth);
  return below + 1;
}

static int recurses_deeply(void *arg) {
  return recurses(*(int *)arg);
}

static void a_deep_recursion_of_200_kib_lives(void **state) {
  (void)state;
  int depth = 200;
  volt_task *t[3];
  for (int i = 0; i < 3; i++) t[i] = spawn_fiber(recurses_deeply, &depth);
  by_hand_run(&h);
  for (int i = 0; i < 3; i++) expect_end(t[i], depth);
}

static void a_stack_is_as_large_as_asked_for(void **state) {
  (void)state;
  int depth = 3000;
  const volt_fiber_config config = {.stack_bytes = 4000000};
  volt_task *t = volt_fiber_new(h.rt, recurses_deeply, &depth, &config);
  assert_non_null(t);
  assert_result(volt_spawn(h.rt, t), VOLT_OK);
  by_hand_run(&h);
  expect_end(t, depth);
}

/* The system's code relies on the alignment of the stack, as for variable arguments. */
static int formats_numbers(void *arg) {
  char text[64];
  _Alignas(16) char aligned[16];
  REQUIRE((uintptr_t)aligned % 16 == 0);
  snprintf(text, sizeof text, "%.3f %s", *(double *)arg, "is aligned");
  return strcmp(text, "1.500 is aligned") == 0 ? VOLT_OK : VOLT_EINVAL;
}

static void its_stack_is_aligned(void **state) {
  (void)state;
  double number = 1.5;
  run_fiber(formats_numbers, &number, VOLT_OK);
}

enum { MANY = 1000 };

static void many_wait_at_once(void **state) {
  (void)state;
  static volt_task *t[MANY];
  for (int i = 0; i < MANY; i++) t[i] = start_fiber(waits, NULL);
  assert_int_equal(by_hand_stats(&h).fibers, MANY);
  volt_sem_release(&sem, MANY);
  by_hand_run(&h);
  for (int i = 0; i < MANY; i++) expect_end(t[i], VOLT_OK);
}

/* ---- configs, and where there are no stacks ---- */

static void a_wrong_config_is_refused(void **state) {
  (void)state;
  assert_null(volt_fiber_new(h.rt, fails, NULL, &(volt_fiber_config){.stack_bytes = 16383}));
  assert_null(volt_fiber_new(h.rt, fails, NULL, &(volt_fiber_config){.stack_bytes = 67108865}));
  assert_null(volt_fiber_new(h.rt, fails, NULL, &(volt_fiber_config){.flags = 2}));
  assert_null(volt_fiber_new(h.rt, fails, NULL, &(volt_fiber_config){.reserved = {0, 1}}));
  const volt_fiber_config least = {.stack_bytes = 16384, .flags = VOLT_FIBER_MOVES};
  const volt_fiber_config most = {.stack_bytes = 67108864};
  volt_task *t = volt_fiber_new(h.rt, fails, NULL, &least);
  assert_non_null(t);
  volt_task_detach(t);
  t = volt_fiber_new(h.rt, fails, NULL, &most);
  assert_non_null(t);
  volt_task_detach(t);
}

static void fibers_work_here(void **state) {
  (void)state;
  assert_null(volt_fiber_supported());
}

static void notes(void *arg) {
  trace_note(&seen, *(char *)arg);
}

/* In this process there is no address space for a stack meanwhile. */
static void without_a_stack_it_is_unrun(void **state) {
  (void)state;
  struct rlimit limit;
  if (UNDER_ASAN || UNDER_TSAN) skip(); /* they map memory, too */
  assert_int_equal(getrlimit(RLIMIT_AS, &limit), 0);
  char letter = 'u';
  const volt_fiber_config config = {.unrun = notes};
  volt_task *told = volt_fiber_new(h.rt, waits, &letter, &config);
  assert_non_null(told);
  assert_result(volt_spawn(h.rt, told), VOLT_OK);
  volt_task *untold = spawn_fiber(waits, NULL);
  const struct rlimit none = {.rlim_cur = 4096, .rlim_max = limit.rlim_max};
  assert_int_equal(setrlimit(RLIMIT_AS, &none), 0);
  void *more = mmap(NULL, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (more == MAP_FAILED) by_hand_run(&h);
  assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
  if (more != MAP_FAILED) { /* this system, or its emulator, does not limit that */
    volt_sem_release(&sem, 2);
    by_hand_run(&h);
    expect_end(told, VOLT_OK);
    expect_end(untold, VOLT_OK);
    skip();
  }
  expect_trace("u");
  expect_end(told, VOLT_ENOMEM);
  expect_end(untold, VOLT_ENOMEM);
  assert_int_equal(by_hand_stats(&h).fibers, 0);
}

/* ---- errno ---- */

static int keeps_errno(void *arg) {
  REQUIRE(errno == 0);
  for (int i = 0; i < 3; i++) {
    errno = *(int *)arg + i;
    REQUIRE(volt_fiber_yield() == VOLT_OK);
    REQUIRE(errno == *(int *)arg + i);
  }
  return VOLT_OK;
}

static void errno_is_each_fibers_own(void **state) {
  (void)state;
  int ten = 10;
  int twenty = 20;
  volt_task *first = spawn_fiber(keeps_errno, &ten);
  volt_task *second = spawn_fiber(keeps_errno, &twenty);
  errno = 99;
  volt_rt_run(h.rt);
  assert_int_equal(errno, 99); /* the caller's */
  errno = 0;
  expect_end(first, VOLT_OK);
  expect_end(second, VOLT_OK);
}

/* ---- another thread runs the runtime ---- */

static void run_on_thread(void *arg, uint32_t index) {
  (void)arg;
  (void)index;
  errno = 77;
  volt_rt_run(h.rt);
  REQUIRE(errno == 77);
}

static void by_hand_it_runs_wherever_its_runtime_does(void **state) {
  (void)state;
  int ten = 10;
  volt_task *t = spawn_fiber(keeps_errno, &ten);
  volt_task *waiter = start_fiber(adds_permits, &ten);
  for (int i = 0; i < 3; i++) {
    volt_sem_release(&sem, 1);
    thread_team_run(1, run_on_thread, NULL);
  }
  expect_trace("123");
  expect_end(t, VOLT_OK);
  expect_end(waiter, 16);
}

/* ---- to another worker ---- */

static int rehomes(void *arg) {
  (void)arg;
  REQUIRE(volt_fiber_rehome(1) == VOLT_EINVAL);
  return volt_fiber_rehome(0);
}

static void by_hand_there_is_one_worker(void **state) {
  (void)state;
  run_fiber(rehomes, NULL, VOLT_OK);
  assert_result(volt_fiber_rehome(0), VOLT_EINVAL); /* no fiber */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      A_TEST(a_function_runs_with_its_argument),
      A_TEST(locals_live_across_waits),
      A_TEST(fibers_and_tasks_yield_to_each_other),
      A_TEST(yield_elsewhere_does_nothing),
      A_TEST(awaits_that_are_ready_have_a_budget),
      A_TEST(a_future_that_is_ready_is_ready_again),
      A_TEST(it_knows_itself_and_its_name),
      A_TEST(a_task_between_two_polls_of_a_fiber_is_none),
      A_TEST(fibers_and_tasks_join_each_other),
      A_TEST(a_fiber_that_fails_cancels_its_group),
      A_TEST(a_fiber_waits_for_a_group),
      A_TEST(spawned_alone_its_memory_is_given_back),
      A_TEST(detached_unspawned_it_is_freed),
      A_TEST(after_shutdown_none_is_spawned),
      A_TEST(it_has_a_stack_while_it_runs),
      A_TEST(a_deep_recursion_of_200_kib_lives),
      A_TEST(a_stack_is_as_large_as_asked_for),
      A_TEST(its_stack_is_aligned),
      A_TEST(many_wait_at_once),
      A_TEST(a_wrong_config_is_refused),
      A_TEST(fibers_work_here),
      A_TEST(without_a_stack_it_is_unrun),
      A_TEST(errno_is_each_fibers_own),
      A_TEST(by_hand_it_runs_wherever_its_runtime_does),
      A_TEST(by_hand_there_is_one_worker),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
