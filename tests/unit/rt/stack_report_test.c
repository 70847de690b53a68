/* A fiber that overflows its stack is named, and the process ends by the fault; all other faults are
 * the program's as they were. */
#define _GNU_SOURCE /* sigaltstack, SA_ONSTACK */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <volt/fiber.h>

#include "death.h"
#include "require.h"
#include "rt/fiber/fiber.h"
#include "sanitizer.h"
#include "unit.h"

static volatile unsigned depth_wanted; /* no compiler knows it */

/* So deep, or until there is no stack left. */
static __attribute__((noinline)) unsigned recurse(unsigned depth) {
  volatile char frame[512];
  frame[depth % sizeof frame] = (char)depth;
  return depth == depth_wanted ? 0 : recurse(depth + 1) + (unsigned)frame[depth % sizeof frame];
}

static int overflow(void *arg) {
  (void)arg;
  depth_wanted = UINT32_MAX;
  return (int)recurse(0);
}

static volatile int *volatile nowhere;

static int write_nowhere(void *arg) {
  (void)arg;
  return *nowhere = 1;
}

/* The frame of a leaf in libc does not fit any more: printf() of a long number needs some KiB. */
static __attribute__((noinline)) int print_on(char *bottom) {
  char text[32];
  volatile char frame[256];
  frame[0] = 1;
  if ((char *)frame - bottom > 2048) return print_on(bottom) + frame[0];
  return snprintf(text, sizeof text, "%.3000Lf", (long double)depth_wanted / 3);
}

static int overflow_in_libc(void *arg) {
  (void)arg;
  const volt_fiber *f = (const volt_fiber *)(void *)volt_fiber_self();
  return print_on(f->stack.bottom);
}

static int deep_and_back(void *arg) {
  (void)arg;
  size_t frames = 200 * 1024 / 640; /* in a build without optimisation they have some more */
  depth_wanted = (unsigned)frames;
  return (int)(recurse(0) & 1);
}

/* ---- run a fiber ---- */

typedef struct scene {
  volt_fiber_fn *fn;
  size_t stack_bytes;
  const char *name;
  unsigned flags; /* of the runtime, beside VOLT_RT_STACK_REPORT */
  unsigned without;
} scene;

static volt_rt *create(unsigned flags) {
  volt_rt *rt;
  volt_rt_config config = {.workers = 1, .flags = flags};
  REQUIRE(volt_rt_create(&rt, &config) == VOLT_OK);
  return rt;
}

static void finish(volt_rt *rt, volt_task *t) {
  REQUIRE(t && volt_spawn(rt, t) == VOLT_OK);
  (void)volt_rt_run(rt);
  REQUIRE(volt_task_join(t) == VOLT_OK);
  volt_task_detach(t);
}

/* In a fiber, on this thread. */
static void run_in(volt_rt *rt, const scene *s) {
  volt_fiber_config config = {.stack_bytes = s->stack_bytes, .name = s->name};
  finish(rt, volt_fiber_new(rt, s->fn, NULL, &config));
}

static void run(void *arg) {
  const scene *s = arg;
  volt_rt *rt = create(VOLT_RT_BY_HAND | (VOLT_RT_STACK_REPORT & ~s->without));
  run_in(rt, s);
  volt_rt_destroy(rt);
}

/* In a fiber, on a worker's thread. */
static void run_on_worker(void *arg) {
  const scene *s = arg;
  volt_fiber_config config = {.stack_bytes = s->stack_bytes, .name = s->name};
  volt_rt *rt = create(VOLT_RT_STACK_REPORT);
  volt_task *t = volt_fiber_new(rt, s->fn, NULL, &config);
  REQUIRE(t && volt_spawn(rt, t) == VOLT_OK);
  (void)volt_task_join(t);
}

/* ---- overflows ---- */

static void a_fiber_that_overflows_is_named(void **state) {
  (void)state;
  scene s = {.fn = overflow, .name = "fetch"};
  char function[64];
  (void)snprintf(function, sizeof function, "(its function is at %#zx)",
                 (size_t)(uintptr_t)overflow);
  for (s.stack_bytes = 16 * 1024; s.stack_bytes <= 1024 * 1024; s.stack_bytes *= 4) {
    char size[80];
    (void)snprintf(size, sizeof size, "volt: fiber 'fetch' has overflowed its stack of %zu KiB",
                   s.stack_bytes / 1024);
    assert_death_by(SIGSEGV, run, &s, size, function);
    assert_death_by(SIGSEGV, run_on_worker, &s, size, function);
  }
}

static void one_without_a_name(void **state) {
  (void)state;
  scene s = {.fn = overflow};
  assert_death_by(SIGSEGV, run, &s, "volt: fiber 0x", " has overflowed its stack of ");
}

static void in_a_leaf_that_libc_calls(void **state) {
  (void)state;
  scene s = {.fn = overflow_in_libc, .name = "printer", .stack_bytes = 64 * 1024};
  assert_death_by(SIGSEGV, run, &s, "volt: fiber 'printer' has overflowed its stack of 64 KiB");
}

static void what_fits_lives(void **state) {
  (void)state;
  scene s = {.fn = deep_and_back, .stack_bytes = 256 * 1024};
  run(&s);
}

/* ---- what is no overflow of a fiber ---- */

/* Dies by the fault, and nothing is said of a fiber: handlers of this test say "passed on". */
static void expect_passed_on(void (*act)(void *arg), void *arg, const char *words) {
  assert_death_by(SIGSEGV, act, arg, words, DEATH_NOT "volt: fiber");
}

static void say(const char *words) {
  if (write(STDERR_FILENO, words, strlen(words)) < 0) abort();
}

static void plain_handler(int number) {
  say("passed on, plain\n");
  (void)signal(number, SIG_DFL);
}

static void *expected_address;

static void info_handler(int number, siginfo_t *info, void *context) {
  if (info->si_addr == expected_address && context) say("passed on, with its address\n");
  (void)signal(number, SIG_DFL);
}

static void install(void (*plain)(int), void (*info)(int, siginfo_t *, void *), int flags) {
  struct sigaction now;
  memset(&now, 0, sizeof now);
  now.sa_flags = flags | (info ? SA_SIGINFO : 0);
  if (info) {
    now.sa_sigaction = info;
  } else {
    now.sa_handler = plain;
  }
  REQUIRE(sigaction(SIGSEGV, &now, NULL) == 0);
}

static scene bad_pointer = {.fn = write_nowhere, .name = "fetch"};

static void bad_pointer_below_plain(void *arg) {
  install(plain_handler, NULL, 0);
  run(arg);
}

static void bad_pointer_below_info(void *arg) {
  install(NULL, info_handler, SA_ONSTACK);
  run(arg);
}

static void bad_pointer_below_once(void *arg) {
  install(plain_handler, NULL, (int)SA_RESETHAND);
  run(arg);
}

static void another_fault_is_the_programs(void **state) {
  (void)state;
  expect_passed_on(run, &bad_pointer, "");
  expect_passed_on(run_on_worker, &bad_pointer, "");
  expect_passed_on(bad_pointer_below_plain, &bad_pointer, "passed on, plain");
  expect_passed_on(bad_pointer_below_info, &bad_pointer, "passed on, with its address");
  expect_passed_on(bad_pointer_below_once, &bad_pointer, "passed on, plain");
}

static int overflow_poll(volt_task *t, volt_ctx *ctx) {
  (void)t;
  (void)ctx;
  return overflow(NULL);
}

/* The stack of the thread itself. */
static void overflow_without_fiber(void *arg) {
  (void)arg;
  static volt_task task;
  volt_task_init(&task, overflow_poll);
  finish(create(VOLT_RT_STACK_REPORT | VOLT_RT_BY_HAND), &task);
}

static void overflow_of_worker(void *arg) {
  (void)arg;
  static volt_task task;
  volt_task_init(&task, overflow_poll);
  volt_rt *rt = create(VOLT_RT_STACK_REPORT);
  REQUIRE(volt_spawn(rt, &task) == VOLT_OK);
  (void)volt_task_join(&task);
}

static void a_threads_own_stack_is_no_fibers(void **state) {
  (void)state;
  expect_passed_on(overflow_without_fiber, NULL, "");
  expect_passed_on(overflow_of_worker, NULL, "");
}

static void send(void *arg) {
  (void)arg;
  volt_rt *rt = create(VOLT_RT_STACK_REPORT | VOLT_RT_BY_HAND);
  (void)raise(SIGSEGV);
  volt_rt_destroy(rt);
}

static void send_where_ignored(void *arg) {
  (void)signal(SIGSEGV, SIG_IGN);
  send(arg);
  (void)signal(SIGABRT, SIG_DFL);
  abort();
}

static void a_signal_that_was_sent(void **state) {
  (void)state;
  assert_death_by(SIGSEGV, send, NULL, "");
  assert_death_by(SIGABRT, send_where_ignored, NULL, "");
}

/* ---- handlers that come and go ---- */

static void overflow_below_plain(void *arg) {
  install(plain_handler, NULL, SA_ONSTACK);
  run(arg);
}

/* The report comes first; then the fault again, for the handler that was there before. */
static void the_handler_before_gets_the_fault_too(void **state) {
  (void)state;
  scene s = {.fn = overflow, .name = "fetch"};
  assert_death_by(SIGSEGV, overflow_below_plain, &s, "volt: fiber 'fetch' has overflowed",
                  "passed on, plain");
}

static struct sigaction below;

static void chain(int number, siginfo_t *info, void *context) {
  say("above\n");
  below.sa_sigaction(number, info, context);
}

static void install_above(void) {
  REQUIRE(sigaction(SIGSEGV, NULL, &below) == 0);
  REQUIRE(below.sa_flags & SA_SIGINFO);
  install(NULL, chain, SA_ONSTACK);
}

static void run_below_chain(void *arg) {
  volt_rt *rt = create(VOLT_RT_STACK_REPORT | VOLT_RT_BY_HAND);
  install_above();
  run_in(rt, arg);
}

/* The first runtime has gone, and the handler of the program is above the report's. */
static void run_below_chain_again(void *arg) {
  volt_rt *rt = create(VOLT_RT_STACK_REPORT | VOLT_RT_BY_HAND);
  install_above();
  volt_rt_destroy(rt);
  run(arg);
}

static void a_handler_above_that_calls_it(void **state) {
  (void)state;
  scene s = {.fn = overflow, .name = "fetch"};
  assert_death_by(SIGSEGV, run_below_chain, &s, "above\nvolt: fiber 'fetch' has overflowed");
  assert_death_by(SIGSEGV, run_below_chain_again, &s, "above\nvolt: fiber 'fetch' has overflowed");
  expect_passed_on(run_below_chain, &bad_pointer, "above");
  expect_passed_on(run_below_chain_again, &bad_pointer, "above");
}

static void expect_handler(void (*wanted)(int)) {
  struct sigaction now;
  assert_int_equal(sigaction(SIGSEGV, NULL, &now), 0);
  assert_true(now.sa_handler == wanted);
}

static void the_last_runtime_takes_it_away(void **state) {
  (void)state;
  install(plain_handler, NULL, 0);
  volt_rt *first = create(VOLT_RT_STACK_REPORT | VOLT_RT_BY_HAND);
  volt_rt *second = create(VOLT_RT_STACK_REPORT | VOLT_RT_BY_HAND);
  volt_rt_destroy(first);
  struct sigaction now;
  assert_int_equal(sigaction(SIGSEGV, NULL, &now), 0);
  assert_true(now.sa_handler != plain_handler && now.sa_flags & SA_ONSTACK);
  volt_rt_destroy(second);
  expect_handler(plain_handler);
  install(SIG_DFL, NULL, 0);
}

static void without_the_flag(void **state) {
  (void)state;
  scene s = {.fn = overflow, .name = "fetch", .without = VOLT_RT_STACK_REPORT};
  assert_death_by(SIGSEGV, run, &s, VOLT_DEBUG ? "volt: fiber" : DEATH_NOT "volt: fiber");
}

/* ---- the high water ---- */

static unsigned used_quarters;

static int use_some(void *arg) {
  (void)arg;
  const volt_fiber *f = (const volt_fiber *)(void *)volt_fiber_self();
  volatile char *lowest = f->stack.bottom + f->stack.bytes / 8 * (8 - used_quarters * 2);
  *(lowest - f->stack.bytes / 8) = 1;
  size_t used = volt_stack_used_(&f->stack);
  size_t wanted = f->stack.bytes / 8 * (used_quarters * 2 + 1);
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  REQUIRE(used >= wanted && used < wanted + (VOLT_DEBUG ? 1 : page));
  REQUIRE(volt_fiber_stack_used(volt_fiber_self()) == used);
  return VOLT_OK;
}

static void run_and_abort(void *arg) {
  run(arg);
  abort();
}

static void a_fiber_that_was_near_the_end(void **state) {
  (void)state;
  scene s = {.fn = use_some, .name = "fetch", .stack_bytes = 64 * 1024};
  const char *words = "volt: volt_fiber: fiber ";
  for (used_quarters = 0; used_quarters < 3; used_quarters++) {
    assert_death_by(SIGABRT, run_and_abort, &s, DEATH_NOT "volt: ");
  }
  assert_death_by(SIGABRT, run_and_abort, &s, VOLT_DEBUG ? words : DEATH_NOT "volt: ",
                  VOLT_DEBUG ? "'fetch' has used 53 of the 60 KiB of its stack" : "");
}

/* ---- alternate signal stacks ---- */

static char own_stack[64 * 1024];

static int see_stack(void *arg) {
  stack_t *seen = arg;
  return sigaltstack(NULL, seen) == 0 ? VOLT_OK : VOLT_EINVAL;
}

static stack_t seen_by_task;

static int see_poll(volt_task *t, volt_ctx *ctx) {
  (void)t;
  (void)ctx;
  return see_stack(&seen_by_task);
}

static void see(volt_rt *rt) {
  volt_task task;
  volt_task_init(&task, see_poll);
  finish(rt, &task);
}

static void a_thread_with_its_own_signal_stack_keeps_that(void **state) {
  (void)state;
  stack_t before;
  stack_t own = {.ss_sp = own_stack, .ss_size = sizeof own_stack};
  volt_rt *rt = create(VOLT_RT_STACK_REPORT | VOLT_RT_BY_HAND);
  assert_int_equal(sigaltstack(NULL, &before), 0);
  see(rt);
  stack_t after;
  assert_int_equal(sigaltstack(NULL, &after), 0);
  assert_int_equal(after.ss_flags, before.ss_flags);
  if (before.ss_flags & SS_DISABLE) assert_false(seen_by_task.ss_flags & SS_DISABLE);
  assert_int_equal(sigaltstack(&own, NULL), 0);
  see(rt);
  assert_ptr_equal(seen_by_task.ss_sp, own_stack);
  assert_int_equal(sigaltstack(NULL, &after), 0);
  assert_ptr_equal(after.ss_sp, own_stack);
  stack_t none = {.ss_flags = SS_DISABLE};
  assert_int_equal(sigaltstack(&none, NULL), 0);
  volt_rt_destroy(rt);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_fiber_that_overflows_is_named),
      cmocka_unit_test(one_without_a_name),
      cmocka_unit_test(in_a_leaf_that_libc_calls),
      cmocka_unit_test(what_fits_lives),
      cmocka_unit_test(another_fault_is_the_programs),
      cmocka_unit_test(a_threads_own_stack_is_no_fibers),
      cmocka_unit_test(a_signal_that_was_sent),
      cmocka_unit_test(the_handler_before_gets_the_fault_too),
      cmocka_unit_test(a_handler_above_that_calls_it),
      cmocka_unit_test(the_last_runtime_takes_it_away),
      cmocka_unit_test(without_the_flag),
      cmocka_unit_test(a_fiber_that_was_near_the_end),
      cmocka_unit_test(a_thread_with_its_own_signal_stack_keeps_that),
  };
  return UNDER_ASAN ? 0 : cmocka_run_group_tests(tests, NULL, NULL);
}
