/* fiber_scene.h: fibers on a runtime by hand: what the unit tests of fibers have in common. What runs
 * in a fiber uses REQUIRE: cmocka's assertions would leave its stack by longjmp. */
#ifndef VOLT_TEST_FIBER_SCENE_H
#define VOLT_TEST_FIBER_SCENE_H

#include <errno.h>

#include <volt/fiber.h>

#include "by_hand.h"

static by_hand h;
static volt_sem sem;
static trace seen;

static inline int scene_begin(void **state) {
  (void)state;
  by_hand_begin(&h);
  volt_sem_init(&sem, 0);
  trace_begin(&seen);
  return 0;
}

static inline int scene_end(void **state) {
  (void)state;
  by_hand_end(&h, 0);
  return 0;
}

#define A_TEST(name) cmocka_unit_test_setup_teardown(name, scene_begin, scene_end)

static inline volt_task *new_fiber(volt_fiber_fn *fn, void *arg) {
  volt_task *t = volt_fiber_new(h.rt, fn, arg, NULL);
  assert_non_null(t);
  return t;
}

/* It has not run yet. */
static inline volt_task *spawn_fiber(volt_fiber_fn *fn, void *arg) {
  volt_task *t = new_fiber(fn, arg);
  assert_result(volt_spawn(h.rt, t), VOLT_OK);
  return t;
}

/* It runs until it waits, or ends. */
static inline volt_task *start_fiber(volt_fiber_fn *fn, void *arg) {
  volt_task *t = spawn_fiber(fn, arg);
  by_hand_run(&h);
  return t;
}

static inline void expect_end(volt_task *t, int result) {
  assert_int_equal(volt_task_result(t), result);
  volt_task_detach(t);
}

static inline void run_fiber(volt_fiber_fn *fn, void *arg, int result) {
  expect_end(start_fiber(fn, arg), result);
}

/* Wait for a permit of sem. */
static inline int await_permit(void) {
  volt_future f;
  return volt_future_wait(volt_sem_acquire_future(&f, &sem, 1));
}

static inline void expect_trace(const char *text) {
  assert_string_equal(seen.text, text);
}

#endif
