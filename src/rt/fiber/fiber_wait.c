/* fiber_wait.c: how a fiber waits: its calls suspend it. The invariants are in fiber.c.
 *
 * Algorithm: a wait polls its future with the waker of the fiber's task, as any task does, and
 * switches to the worker's loop until the task is polled again. A cancel is shown to the future only
 * if it has to wait: a call that need not wait does not look.
 *
 * The poll of a future may wait itself: a call on the blocking pool that is cancelled must come to
 * its end. That suspends the fiber in the middle of the outer poll. So a fiber polls with a
 * volt_ctx of its own, and not with its worker's, which others use meanwhile. What that has
 * registered is added to the poll of the task that runs, before each switch.
 *
 * The budget of a fiber is for all its waits since it was suspended last. When it is spent, the next
 * poll does not try: it asks to be polled again, behind the others. A cancel ends that call, as it
 * does a yield, because a loop that never waits would not see it otherwise.
 *
 * Race
 *   R1  Interleaving: the deadline has passed already, and the budget is spent; the future is given
 *       up although it is ready. Prevented by: a poll that asks to be polled again is repeated
 *       before the deadline counts.
 *
 * Labels: fiber */
#include <errno.h>

#include "../../core/future/future_ops.h"
#include "../../core/os/check.h"
#include "../../core/os/futex.h"
#include "../../core/park/call.h"
#include "../../core/park/spin.h"
#include "../host/runtime.h"
#include "fiber_run.h"

/* ---- switch ---- */

static inline void fiber_suspend(volt_fiber *f) {
  volt_fiber_check_control_(f, "volt_future_wait");
  f->stage = VOLT_FIBER_SUSPENDED_;
  volt_fiber_leave_(f);
}

/* Whether a cancel has come that a call may obey now. */
static inline bool fiber_may_obey(const volt_fiber *f) {
  bool has_come = f->cancel != VOLT_CTX_GO_ON || f->blocker.kept_cancel;
  return has_come && f->blocker.shields == 0;
}

/* I3 */
static uint32_t fiber_take_cancel(volt_fiber *f) {
  f->cancel = VOLT_CTX_GO_ON;
  f->blocker.kept_cancel = false;
  return VOLT_CTX_CANCEL_ONCE;
}

/* The waits of a fiber poll with f->own. What they have registered there is the running poll's. */
static inline void fiber_add_registered(volt_fiber *f) {
  f->ctx->registered += f->own.registered;
  f->own.registered = 0;
}

/* The frame of its task says what it awaits, for an inspector, as that of a function does. */
static inline void fiber_suspend_wait(volt_fiber *f, volt_future *future) {
  volt_fiber_task_(f)->frame.awaiting = future;
  fiber_add_registered(f);
  if (f->own.yield) f->ctx->yield = true;
  f->own.yield = false;
  fiber_suspend(f);
  f->own.budget = VOLT_CTX_BUDGET;
}

/* Poll with the cancel, which the future may obey. I3 */
static VOLT_NOINLINE int fiber_poll_cancelled(volt_fiber *f, volt_future *future) {
  f->own.cancel = fiber_take_cancel(f);
  int result = volt_future_poll_ctx(future, &f->own);
  if (f->own.cancel != VOLT_CTX_GO_ON) f->cancel = f->own.cancel;
  f->own.cancel = VOLT_CTX_GO_ON;
  return result;
}

static inline int fiber_poll_future(volt_fiber *f, volt_future *future) {
  if (VOLT_LIKELY(!fiber_may_obey(f))) return volt_future_poll_ctx(future, &f->own);
  return fiber_poll_cancelled(f, future);
}

/* The first poll does not show a cancel: a call that need not wait does not look. */
static VOLT_SWITCH_OPAQUE_ int fiber_await_alone(volt_fiber *f, volt_future *future) {
  int result = volt_future_poll_ctx(future, &f->own);
  if (result == VOLT_PENDING && fiber_may_obey(f)) result = fiber_poll_cancelled(f, future);
  while (result == VOLT_PENDING) {
    fiber_suspend_wait(f, future);
    result = fiber_poll_future(f, future);
  }
  fiber_add_registered(f);
  return result;
}

/* The deadline has passed. As on a thread, a leaf is given up (a group that is waited for goes on);
 * what is composed and must come to its end first is cancelled at each poll, as by a volt_timeout,
 * until it has. */
static VOLT_SWITCH_OPAQUE_ int fiber_give_up(volt_fiber *f, volt_future *future) {
  bool is_leaf = future->ops->set_waker != NULL;
  if (is_leaf || !future->ops->ends_itself) return volt_future_give_up_(future);
  for (;;) {
    f->own.cancel = VOLT_CTX_CANCEL_ONCE;
    int result = volt_future_poll_branch_(future, &f->own);
    f->own.cancel = VOLT_CTX_GO_ON;
    if (result == VOLT_ECANCELED) volt_future_set_result_(future, VOLT_ETIMEDOUT);
    if (result != VOLT_PENDING) return volt_future_result_(future);
    fiber_suspend_wait(f, future);
  }
}

/* The wake of the timer goes to the task, and not to a frame. */
static volt_future *fiber_nap(volt_fiber *f, volt_sleep_op *nap, uint64_t deadline_ns) {
  nap->timer.section.node.data = NULL; /* debug builds look there whether it is queued */
  return volt_sleep_future(nap, volt_rt_timers(volt_fiber_task_(f)->rt), deadline_ns);
}

static VOLT_SWITCH_OPAQUE_ int fiber_await_until_alone(volt_fiber *f, volt_future *future,
                                                       uint64_t deadline_ns) {
  volt_sleep_op nap;
  volt_future *time = fiber_nap(f, &nap, deadline_ns);
  int result = volt_future_poll_ctx(future, &f->own);
  if (result == VOLT_PENDING && fiber_may_obey(f)) result = fiber_poll_cancelled(f, future);
  if (result == VOLT_PENDING &&
      f->own.yield) { /* its budget was spent: it may not have tried. R1 */
    fiber_suspend_wait(f, future);
    result = fiber_poll_future(f, future);
  }
  while (result == VOLT_PENDING && volt_future_poll_branch_(time, &f->own) == VOLT_PENDING) {
    fiber_suspend_wait(f, future);
    result = fiber_poll_future(f, future);
  }
  if (result == VOLT_PENDING) result = fiber_give_up(f, future);
  volt_future_cancel(time);
  fiber_add_registered(f);
  return result;
}

static inline int fiber_await_either(volt_fiber *f, volt_future *future, uint64_t deadline_ns) {
  if (deadline_ns == VOLT_NO_DEADLINE) return fiber_await_alone(f, future);
  return fiber_await_until_alone(f, future, deadline_ns);
}

/* Within a poll that an outer wait makes: what that shows to its future is not for this one. */
static VOLT_NOINLINE int fiber_await_within(volt_fiber *f, volt_future *future,
                                            uint64_t deadline_ns) {
  volt_decision_ *decision = f->own.decision;
  uint32_t cancel = f->own.cancel;
  f->own.decision = NULL;
  f->own.cancel = VOLT_CTX_GO_ON;
  int result = fiber_await_either(f, future, deadline_ns);
  f->own.decision = decision;
  f->own.cancel = cancel;
  return result;
}

static inline int fiber_await(volt_fiber *f, volt_future *future, uint64_t deadline_ns) {
  bool is_alone = !f->own.decision && f->own.cancel == VOLT_CTX_GO_ON;
  if (VOLT_UNLIKELY(!is_alone)) return fiber_await_within(f, future, deadline_ns);
  return fiber_await_either(f, future, deadline_ns);
}

int volt_fiber_block_on_(volt_blocker_ *self, volt_future *future, uint64_t deadline_ns) {
  return fiber_await(volt_container_of(self, volt_fiber, blocker), future, deadline_ns);
}

uint64_t volt_fiber_now_ns_(volt_blocker_ *self) {
  volt_fiber *f = volt_container_of(self, volt_fiber, blocker);
  return volt_rt_now_ns(volt_fiber_task_(f)->rt);
}

extern inline int volt_sleep(uint64_t);

int volt_sleep_until(uint64_t deadline_ns) {
  volt_check_blocks_("volt_sleep_until", deadline_ns);
  volt_fiber *f = volt_fiber_here_();
  if (f) {
    volt_sleep_op nap;
    return fiber_await(f, fiber_nap(f, &nap, deadline_ns), VOLT_NO_DEADLINE);
  }
  volt_parker parker = VOLT_PARKER_INIT;
  const volt_call_ call = {.name = "volt_sleep_until"};
  (void)volt_park_in_(&call, &parker, 1, deadline_ns); /* no thread unparks it */
  return VOLT_OK;
}

static inline bool fiber_obeys(volt_fiber *f) {
  return fiber_may_obey(f) && fiber_take_cancel(f) != VOLT_CTX_GO_ON;
}

/* To be polled again without a wake. */
static VOLT_SWITCH_OPAQUE_ void fiber_step_aside(volt_fiber *f) {
  f->ctx->yield = true;
  fiber_suspend(f);
}

int volt_fiber_yield(void) {
  volt_fiber *f = volt_fiber_here_();
  if (f) {
    if (fiber_obeys(f)) return VOLT_ECANCELED;
    fiber_step_aside(f);
    return fiber_obeys(f) ? VOLT_ECANCELED : VOLT_OK;
  }
  if (!volt_rt_current()) volt_yield_();
  return VOLT_OK;
}

int volt_fiber_rehome(uint32_t worker) {
  volt_fiber *f = volt_fiber_here_();
  if (!f || worker >= volt_fiber_task_(f)->rt->workers) return VOLT_EINVAL;
  bool is_here = volt_fiber_worker_(f)->index == worker;
  if (!is_here && fiber_obeys(f)) return VOLT_ECANCELED;
  f->flags &= ~(unsigned)VOLT_FIBER_MOVES;
  volt_homed_move_(&f->homed, worker);
  if (is_here) return VOLT_OK;
  fiber_step_aside(f); /* this queues it there */
  return VOLT_OK;
}

/* ---- calls that block ---- */

typedef struct fiber_call {
  int (*fn)(void *arg);
  void *arg;
  int error; /* errno: fn finds the caller's, and the caller finds what fn has left */
} fiber_call;

static int fiber_make_call(void *arg) {
  fiber_call *call = (fiber_call *)arg;
  int before = errno;
  errno = call->error;
  int result = call->fn(call->arg);
  call->error = errno;
  errno = before;
  return result;
}

/* Compilers keep the address of errno over calls that they know nothing of: I2. */
static VOLT_SWITCH_OPAQUE_ int fiber_error(void) {
  return errno;
}

static VOLT_SWITCH_OPAQUE_ void fiber_set_error(int error) {
  errno = error;
}

int volt_fiber_offload(int (*fn)(void *arg), void *arg) {
  volt_fiber *f = volt_fiber_here_();
  if (!f) {
    if (*volt_thread_blocker_()) volt_check_may_block_("volt_fiber_offload");
    return fn(arg);
  }
  volt_blocking blocking;
  fiber_call call = {.fn = fn, .arg = arg, .error = fiber_error()};
  volt_rt *rt = volt_fiber_task_(f)->rt;
  int result =
      fiber_await(f, volt_blocking_future(&blocking, rt, fiber_make_call, &call), VOLT_NO_DEADLINE);
  fiber_set_error(call.error);
  return result;
}

/* ---- cancel ---- */

void volt_fiber_shield(void) {
  volt_fiber *f = volt_fiber_here_();
  if (f) f->blocker.shields += 1;
}

void volt_fiber_unshield(void) {
  volt_fiber *f = volt_fiber_here_();
  if (!f) return;
  VOLT_CHECK(f->blocker.shields > 0, "volt_fiber_unshield",
             "fiber %p: there was no volt_fiber_shield()", (void *)f);
  f->blocker.shields -= 1;
}
