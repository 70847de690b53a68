/* fiber_run.h: a worker's loop goes on in a fiber, and the fiber comes back: the two switches, for
 * task_run.h and fiber.c.
 *
 * The loop itself switches, and not the fiber's poll function, because a poll that is called before
 * the switch and returns after it makes the processor mispredict that return, and those of the
 * fiber (fiber_switch.h): that costs more than all the rest. So the poll function of a fiber prepares
 * the switch and returns VOLT_FIBER_READY_. */
#ifndef VOLT_RT_FIBER_FIBER_RUN_H
#define VOLT_RT_FIBER_FIBER_RUN_H

#include "../../core/os/check.h"
#include "../sched/homed.h"
#include "../sched/worker.h"
#include "fiber.h"
#include "fiber_switch.h"
#include "stack_tools.h"

/* A switch is inline; but where it is a call, and where tools look at functions, it is in a function
 * of its own. */
#if defined(VOLT_SWITCH_IS_CALL_) || VOLT_TOOLS_ASAN_ || VOLT_TOOLS_TSAN_
#define VOLT_SWITCHES_ VOLT_SWITCH_APART_
#else
#define VOLT_SWITCHES_ VOLT_INLINED_
#endif

/* Go on in the fiber; return as it waits or has ended. */
static VOLT_SWITCHES_ void volt_fiber_enter_(volt_fiber *f, volt_worker *w) {
  volt_tools_leave_(&w->fibers.tools, &f->tools, false);
  volt_switch_in_(&w->fibers.outside, &f->inside);
  volt_tools_enter_(&w->fibers.tools, &f->tools);
}

/* When the worker of this ctx has looked at the clock last: volt_task.since. */
static inline uint32_t volt_worker_stamp_(const volt_ctx *ctx) {
  return volt_container_of((volt_ctx *)(uintptr_t)ctx, volt_worker, ctx)->stamp;
}

/* The worker of the poll that runs. */
static inline volt_worker *volt_fiber_worker_(const volt_fiber *f) {
  return volt_container_of(f->ctx, volt_worker, ctx);
}

/* Go on in the worker's loop; return as a worker enters the fiber, maybe another. */
static VOLT_SWITCHES_ void volt_fiber_leave_(volt_fiber *f) {
  volt_worker_fibers_ *outside = &volt_fiber_worker_(f)->fibers;
  volt_tools_leave_(&f->tools, &outside->tools, f->stage == VOLT_FIBER_ENDED_);
  volt_switch_out_(&f->inside, &outside->outside);
  volt_tools_enter_(&f->tools, &volt_fiber_worker_(f)->fibers.tools);
}

/* Debug builds: abort, in `call`, if the fiber that runs here has changed the control words of
 * floating-point calculations, because it is about to leave this thread. */
static inline void volt_fiber_check_control_(volt_fiber *f, const char *call) {
#if VOLT_DEBUG
  uint64_t control = volt_switch_control_();
  uint64_t before = volt_fiber_worker_(f)->fibers.control;
  VOLT_CHECK(control == before, call,
             "fiber %p '%s' waits or ends with other floating-point control words (%#llx, not "
             "%#llx): set them back before",
             (void *)f, f->name ? f->name : "", (unsigned long long)control,
             (unsigned long long)before);
#else
  (void)f;
  (void)call;
#endif
}

/* What its poll function returns: switch to it. No task's result is the same, but if a task's was,
 * the function would be another. */
#define VOLT_FIBER_READY_ INT32_MIN

/* The fiber has come back to this worker. Returns VOLT_PENDING, or its result: it has ended. */
int volt_fiber_left_(volt_fiber *f, volt_worker *w);

/* The poll of t has returned result. If t is a fiber that is ready, let it run. Returns what the
 * poll would have returned. */
static inline int volt_fiber_run_(volt_task *t, volt_ctx *ctx, int result) {
  if (result != VOLT_FIBER_READY_ || t->poll != volt_fiber_poll_) return result;
  volt_fiber *f = (volt_fiber *)(void *)t;
  volt_worker *w = volt_container_of(ctx, volt_worker, ctx);
  volt_fiber_enter_(f, w);
  return volt_fiber_left_(f, w);
}

#endif
