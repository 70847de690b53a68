/* fiber_misuse_test.c: what aborts of fibers, and what it says. */
#include <fenv.h>

#include "core/os/check.h"
#include "core/wait/grant.h"
#include "death.h"
#include "fiber_scene.h"
#include "sanitizer.h"

/* ---- in a fiber ---- */

static int returns_pending(void *arg) {
  (void)arg;
  return VOLT_PENDING;
}
static int ends_shielded(void *arg) {
  (void)arg;
  volt_fiber_shield();
  return VOLT_OK;
}
static int unshields(void *arg) {
  (void)arg;
  volt_fiber_unshield();
  return VOLT_OK;
}
static int destroys(void *arg) {
  (void)arg;
  (void)volt_rt_destroy(h.rt);
  return VOLT_OK;
}
static int shuts_down(void *arg) {
  (void)arg;
  return volt_rt_shutdown(h.rt, PAST_DEADLINE);
}
static int runs(void *arg) {
  (void)arg;
  (void)volt_rt_run(h.rt);
  return VOLT_OK;
}
static int sets_by_a_stray_key(void *arg) {
  const volt_fiber_key stray = {4000000000u};
  return volt_fiber_local_set(stray, &arg);
}
static char
    claims; /* an argument: as a thread of the pool has claimed it, and has not granted it yet */
/* The branch that has lost goes on waiting, on this stack. */
static int leaves_a_future_that_waits(void *arg) {
  volt_sem none = VOLT_SEM_INIT(0), one = VOLT_SEM_INIT(1);
  volt_future f[2], *both[2] = {volt_sem_acquire_future(&f[0], &none, 1),
                                volt_sem_acquire_future(&f[1], &one, 1)};
  volt_select s;
  int result =
      volt_future_wait(volt_select_future(&s, both, 2, VOLT_SELECT_BIASED | VOLT_SELECT_KEEP));
  if (arg == &claims) {
    volt_store_relaxed(&f[0].waiter.state, VOLT_WAITER_CLAIMED_);
  } else if (arg) {
    volt_future_cancel(&f[0]);
  }
  return result;
}
#define FIBER_DIES(name, fn, ...)         \
  static void name(void **state) {        \
    (void)state;                          \
    volt_task *t = spawn_fiber(fn, NULL); \
    assert_death(run, NULL, __VA_ARGS__); \
    drop(t);                              \
  }

static void run(void *arg) {
  (void)arg;
  by_hand_run(&h);
}

/* In the test's own process it has not begun: it must not. */
static int nothing(volt_task *t, volt_ctx *ctx) {
  (void)t;
  (void)ctx;
  return VOLT_OK;
}
static void drop(volt_task *t) {
  t->poll = nothing;
  by_hand_run(&h);
  expect_end(t, VOLT_OK);
}

FIBER_DIES(pending_is_no_result, returns_pending, "volt_fiber", "VOLT_PENDING is not a result")
FIBER_DIES(a_shield_must_be_taken_off, ends_shielded, "volt_fiber", "volt_fiber_unshield()")
FIBER_DIES(an_unshield_needs_a_shield, unshields, "volt_fiber_unshield", "no volt_fiber_shield()")
FIBER_DIES(a_key_must_have_been_made, sets_by_a_stray_key, "volt_fiber_local_set", "key 4000000000",
           "only 0 were made")
FIBER_DIES(it_cannot_destroy_its_runtime, destroys, "volt_rt_destroy", "called from a task")
FIBER_DIES(it_cannot_shut_its_runtime_down, shuts_down, "volt_rt_shutdown", "called from a task")
FIBER_DIES(it_cannot_run_its_runtime, runs, "volt_rt_run", "called from a task")

/* ---- floating-point control ---- */

static int waits_with_another_rounding(void *arg) {
  (void)arg;
  REQUIRE(fesetround(FE_TOWARDZERO) == 0);
  return volt_fiber_yield();
}
static int ends_with_another_rounding(void *arg) {
  (void)arg;
  REQUIRE(fesetround(FE_TOWARDZERO) == 0);
  return VOLT_OK;
}
static int sets_it_back(void *arg) {
  (void)arg;
  int before = fegetround();
  REQUIRE(fesetround(FE_TOWARDZERO) == 0);
  REQUIRE(fesetround(before) == 0);
  return volt_fiber_yield();
}

#if VOLT_DEBUG && !defined(VOLT_FIBER_UCONTEXT)
FIBER_DIES(rounding_must_be_set_back_before_a_wait, waits_with_another_rounding, "volt_future_wait",
           "floating-point control words", "set them back before")
FIBER_DIES(rounding_must_be_set_back_before_the_end, ends_with_another_rounding, "volt_fiber",
           "floating-point control words", "set them back before")
#else
static void rounding_must_be_set_back_before_a_wait(void **state) {
  (void)state;
  (void)waits_with_another_rounding;
  skip(); /* debug builds look */
}
static void rounding_must_be_set_back_before_the_end(void **state) {
  (void)state;
  (void)ends_with_another_rounding;
  skip();
}
#endif

static void rounding_may_change_between_waits(void **state) {
  (void)state;
  run_fiber(sets_it_back, NULL, VOLT_OK);
}

/* ---- elsewhere ---- */

static int awaits(volt_task *t, volt_ctx *ctx) {
  (void)t;
  (void)ctx;
  return await_permit();
}
static int naps(volt_task *t, volt_ctx *ctx) {
  (void)t;
  (void)ctx;
  return volt_sleep_until(VOLT_NO_DEADLINE);
}
static int zero(void *arg) {
  (void)arg;
  return 0;
}
static int blocks(volt_task *t, volt_ctx *ctx) {
  (void)t;
  (void)ctx;
  return volt_fiber_offload(zero, NULL);
}

static void run_task(void *arg) {
  volt_task t;
  volt_task_init(&t, ((volt_task *)arg)->poll);
  ignore_result(volt_spawn(h.rt, &t));
  by_hand_run(&h);
}

/* What would block the worker of a plain task is reported, as any blocking call. */
static void a_plain_task_must_not_wait(void **state) {
  (void)state;
#if VOLT_DEBUG
  volt_task t;
  volt_task_init(&t, awaits);
  assert_death(run_task, &t, "volt_future_wait_until", "await a future instead");
  volt_task_init(&t, naps);
  assert_death(run_task, &t, "volt_sleep_until", "await a future instead");
  volt_task_init(&t, blocks);
  assert_death(run_task, &t, "volt_fiber_offload", "await a future instead");
#else
  (void)run_task;
  (void)awaits;
  (void)naps;
  (void)blocks;
  skip(); /* said once, and it blocks */
#endif
}

static void a_future_must_not_wait_on_its_stack(void **state) {
  (void)state;
  volt_task *t = spawn_fiber(leaves_a_future_that_waits, &h); /* it cancels it */
  by_hand_run(&h);
  expect_end(t, VOLT_OK);
  if (!VOLT_DEBUG || UNDER_ASAN) skip();
  t = spawn_fiber(leaves_a_future_that_waits, NULL);
  assert_death(run, NULL, "volt_fiber", death_address(t), "a future on its stack waits",
               "cancel it first");
  drop(t);
  t = spawn_fiber(leaves_a_future_that_waits, &claims);
  assert_death(run, NULL, "volt_fiber", death_address(t), "a future on its stack waits",
               "cancel it first");
  drop(t);
}

static void name_a_task(void *arg) {
  (void)volt_fiber_name((volt_task *)arg);
}
static void ask_a_tasks_stack(void *arg) {
  (void)volt_fiber_stack_used((volt_task *)arg);
}

static void a_task_is_no_fiber(void **state) {
  (void)state;
  volt_task t;
  volt_task_init(&t, nothing);
  assert_death(name_a_task, &t, "volt_fiber_name", death_address(&t), "is no fiber");
  assert_death(ask_a_tasks_stack, &t, "volt_fiber_stack_used", death_address(&t), "is no fiber");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      A_TEST(pending_is_no_result),
      A_TEST(a_shield_must_be_taken_off),
      A_TEST(an_unshield_needs_a_shield),
      A_TEST(a_key_must_have_been_made),
      A_TEST(it_cannot_destroy_its_runtime),
      A_TEST(it_cannot_shut_its_runtime_down),
      A_TEST(it_cannot_run_its_runtime),
      A_TEST(rounding_must_be_set_back_before_a_wait),
      A_TEST(rounding_must_be_set_back_before_the_end),
      A_TEST(rounding_may_change_between_waits),
      A_TEST(a_plain_task_must_not_wait),
      A_TEST(a_future_must_not_wait_on_its_stack),
      A_TEST(a_task_is_no_fiber),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
