/* fiber.c: a task that goes on, on a stack of its own, where it has last waited.
 *
 * Algorithm: the poll function of a fiber prepares the switch, and the worker's loop switches to the
 * fiber's stack (fiber_run.h). There the fiber runs until it has to wait (fiber_wait.c), and switches
 * back: the poll is over, and has returned VOLT_PENDING. So the life of a fiber, its queues, wakes and
 * cancels are those of task.c. A fiber has its stack from its first poll until it has ended.
 *
 * What a thread has of its own, and code on the fiber's stack finds there, is set before a switch,
 * and kept after it: what blocks (blocker.h), errno, and the state of C++ exceptions. A worker asks
 * once where its thread has those. Not kept are the control words of floating-point calculations: a
 * fiber that changes them sets them back before it waits (debug builds check that).
 *
 * Invariants
 *   I1  a fiber runs between volt_fiber_enter_() and volt_fiber_leave_(), on one thread
 *   I2  in the functions of a fiber, nothing that was asked of the thread before a switch is used
 *       after it: a fiber that moves is on another thread then
 *   I3  a cancel is in one place: in the task's state, in f->cancel, or in f->own while a poll shows
 *       it to its future. A call that obeys it takes it away */
#include <errno.h>
#include <string.h>

#include "../../core/os/check.h"
#include "../../core/os/probe.h"
#include "../../core/wait/grant.h"
#include "../host/runtime.h"
#include "../sched/task.h"
#include "../sched/worker.h"
#include "fiber.h"
#include "fiber_run.h"
#include "stack_report.h"

/* Of the C++ library, where there is one: where this thread has the exceptions that it has caught,
 * and how many are uncaught: two words. */
VOLT_SWITCH_WEAK_ void *__cxa_get_globals(void);

/* ---- which fiber ---- */

/* I2: no caller may know that this asks the thread. */
VOLT_SWITCH_OPAQUE_ volt_fiber *volt_fiber_here_(void) {
  volt_blocker_ *b = *volt_thread_blocker_();
  return b && b->block_on == volt_fiber_block_on_ ? volt_container_of(b, volt_fiber, blocker)
                                                  : NULL;
}

volt_fiber *volt_fiber_of_(volt_task *t, const char *call) {
  VOLT_CHECK(t->poll == volt_fiber_poll_, call, "task %p is no fiber", (void *)t);
  return (volt_fiber *)(void *)t;
}

volt_task *volt_fiber_self(void) {
  volt_fiber *f = volt_fiber_here_();
  return f ? volt_fiber_task_(f) : NULL;
}

volt_fiber_fn *volt_fiber_function_(const volt_task *t, const char **name) {
  bool is_fiber = t->poll == volt_fiber_poll_;
  const volt_fiber *f = (const volt_fiber *)(const void *)t;
  *name = is_fiber ? f->name : NULL;
  return is_fiber ? f->fn : NULL;
}

const char *volt_fiber_name(volt_task *t) {
  return volt_fiber_of_(t, "volt_fiber_name")->name;
}

size_t volt_fiber_stack_used(volt_task *t) {
  volt_fiber *f = volt_fiber_of_(t, "volt_fiber_stack_used");
  return f->stack.bottom ? volt_stack_used_(&f->stack) : 0;
}

/* ---- begin, run, end ---- */

VOLT_SWITCH_OPAQUE_ void volt_fiber_entry_(volt_switch_outside_ *outside, volt_switch_ *inside) {
  volt_fiber *f = volt_container_of(inside, volt_fiber, inside);
  (void)outside;
  volt_tools_enter_(&f->tools, &volt_fiber_worker_(f)->fibers.tools);
  f->result = f->fn(f->arg);
  VOLT_CHECK(f->result != VOLT_PENDING, "volt_fiber", "fiber %p '%s': VOLT_PENDING is not a result",
             (void *)f, f->name ? f->name : "");
  volt_fiber_locals_end_(f);
  VOLT_CHECK(f->blocker.shields == 0, "volt_fiber",
             "fiber %p '%s' has ended without volt_fiber_unshield()", (void *)f,
             f->name ? f->name : "");
  volt_fiber_check_control_(f, "volt_fiber");
  f->stage = VOLT_FIBER_ENDED_;
  volt_fiber_leave_(f);
  volt_panic_("volt_fiber", "fiber %p runs after its end", (void *)f);
}

/* Its first poll. Returns false: there is no stack. */
static bool fiber_begin(volt_fiber *f, volt_worker *w) {
  if (volt_stack_take_(w->rt, f->stack_bytes, &f->stack) != VOLT_OK) {
    f->stage = VOLT_FIBER_ENDED_;
    if (f->unrun) f->unrun(f->arg);
    return false;
  }
  volt_tools_begin_(&f->tools, &f->stack, f->name);
  volt_switch_prepare_(&f->inside, f->stack.bottom, f->stack.bytes);
  if (!(f->flags & VOLT_FIBER_MOVES)) volt_homed_settle_(&f->homed);
  volt_worker_count_(&w->fibers.begun, 1);
  return true;
}

/* Debug builds: a future that waits must not be on the stack that ends, because its granter would
 * write there. So look for a waiter that is queued, in what was used of the stack; all of that was 0
 * when the fiber began. (A sanitizer for addresses sees that write itself, and this search too.) */
#if VOLT_DEBUG && !VOLT_STACK_IS_WATCHED_
static bool fiber_is_waiter(const volt_fiber *f, const volt_waiter *w) {
  bool is_queued = w->queue && volt_waiter_is_in_place_(w);
#if VOLT_SIGHT
  if (w->who != ((uintptr_t)f | VOLT_WHO_TASK_)) return false;
#else
  (void)f;
#endif
  uint32_t state = volt_load_relaxed(&w->state); /* a copy, or its own */
  return is_queued && (state == VOLT_WAITER_PENDING_ || state == VOLT_WAITER_CLAIMED_);
}

static void fiber_check_stack(const volt_fiber *f) {
  const char *top = f->stack.bottom + f->stack.bytes;
  size_t used = volt_stack_used_(&f->stack) / sizeof(void *) * sizeof(void *);
  for (size_t at = used; at >= sizeof(volt_waiter); at -= sizeof(void *)) {
    const volt_waiter *w = (const volt_waiter *)(const void *)(top - at);
    VOLT_CHECK(
        !fiber_is_waiter(f, w), "volt_fiber",
        "%p '%s' has ended, and a future on its stack waits (its waiter is %p, queued in %p): "
        "cancel it first",
        (const void *)f, f->name ? f->name : "", (const void *)w, w->queue);
  }
}
#else
#define fiber_check_stack(f) ((void)0)
#endif

static VOLT_NOINLINE int fiber_end(volt_fiber *f, volt_worker *w) {
  fiber_check_stack(f);
  volt_stack_report_used_(f);
  volt_tools_end_(&f->tools);
  volt_stack_give_(w->rt, &f->stack);
  volt_worker_count_(&w->fibers.ended, 1);
  return f->result;
}

/* The first fiber that this thread polls as this worker. */
static void fiber_ask_thread(volt_worker_fibers_ *here) {
  here->blocker = volt_thread_blocker_();
  here->error = &errno;
  here->error_before = errno;
  here->exceptions = __cxa_get_globals ? (void **)__cxa_get_globals() : NULL;
  if (!here->exceptions) return;
  memcpy(here->exceptions_before, here->exceptions, sizeof here->exceptions_before);
  memset(here->exceptions, 0, sizeof here->exceptions_before);
}

void volt_worker_end_fibers_(volt_worker *w) {
  volt_worker_fibers_ *here = &w->fibers;
  if (!here->blocker) return;
  *here->error = here->error_before;
  if (here->exceptions) {
    memcpy(here->exceptions, here->exceptions_before, sizeof here->exceptions_before);
  }
  here->blocker = NULL;
}

static inline int fiber_prepare(volt_fiber *f, volt_ctx *ctx, volt_worker_fibers_ *here) {
  f->ctx = ctx;
  f->stage = VOLT_FIBER_RUNS_;
  if (VOLT_UNLIKELY(ctx->cancel != VOLT_CTX_GO_ON)) {
    f->cancel = ctx->cancel; /* I3 */
    ctx->cancel = VOLT_CTX_GO_ON;
  }
  *here->blocker = &f->blocker;
  *here->error = f->saved_errno;
  if (VOLT_UNLIKELY(f->flags & VOLT_FIBER_HAS_EXCEPTIONS_)) {
    memcpy(here->exceptions, f->exceptions, sizeof f->exceptions);
    f->flags &= ~(uint32_t)VOLT_FIBER_HAS_EXCEPTIONS_;
  }
#if VOLT_DEBUG
  here->control = volt_switch_control_();
#endif
  return VOLT_FIBER_READY_;
}

/* The first poll of the fiber, or of a fiber by this thread. */
static VOLT_NOINLINE int fiber_poll_first(volt_fiber *f, volt_ctx *ctx) {
  volt_worker *w = volt_container_of(ctx, volt_worker, ctx);
  if (f->stage == VOLT_FIBER_NEW_ && !fiber_begin(f, w)) return VOLT_ENOMEM;
  if (!w->fibers.blocker) fiber_ask_thread(&w->fibers);
  return fiber_prepare(f, ctx, &w->fibers);
}

int volt_fiber_poll_(volt_task *t, volt_ctx *ctx) {
  volt_fiber *f = (volt_fiber *)(void *)t;
  volt_worker_fibers_ *here = &volt_container_of(ctx, volt_worker, ctx)->fibers;
  bool is_usual = f->stage == VOLT_FIBER_SUSPENDED_ && here->blocker;
  return VOLT_LIKELY(is_usual) ? fiber_prepare(f, ctx, here) : fiber_poll_first(f, ctx);
}

/* A fiber that moves is suspended: in tests, it goes on elsewhere. */
static void fiber_move_on(volt_fiber *f) {
  bool wanders = volt_fiber_task_(f)->rt->config.flags & VOLT_RT_FIBERS_WANDER;
  if (wanders) volt_homed_wander_(&f->homed);
}

int volt_fiber_left_(volt_fiber *f, volt_worker *w) {
  VOLT_PROBE5(fiber__switch, f, f->fn, f->stage, f->stack.bottom, f->stack.bytes);
  volt_worker_fibers_ *here = &w->fibers;
  *here->blocker = &w->blocker;
  f->saved_errno = *here->error;
  void **exceptions = here->exceptions;
  if (exceptions && (exceptions[0] || exceptions[1])) {
    memcpy(f->exceptions, exceptions, sizeof f->exceptions);
    memset(exceptions, 0, sizeof f->exceptions);
    f->flags |= VOLT_FIBER_HAS_EXCEPTIONS_;
  }
  if (VOLT_UNLIKELY(f->stage == VOLT_FIBER_ENDED_)) return fiber_end(f, w);
  if (VOLT_UNLIKELY(f->flags & VOLT_FIBER_MOVES)) fiber_move_on(f);
  return VOLT_PENDING;
}

/* ---- make ---- */

const char *volt_fiber_supported(void) {
  return volt_switch_has_shadow_()
             ? "this process has shadow stacks (CET, GCS), which fibers do not switch"
             : NULL;
}

/* So its memory begins with a cache line: pool.c. */
enum {
  FIBER_BYTES = (sizeof(volt_fiber) + VOLT_CACHE_LINE - 1) / VOLT_CACHE_LINE * VOLT_CACHE_LINE
};

static bool fiber_config_is_right(const volt_fiber_config *c) {
  for (size_t i = 0; i < sizeof c->reserved / sizeof *c->reserved; i++) {
    if (c->reserved[i] != 0) return false;
  }
  if (c->flags & ~(unsigned)VOLT_FIBER_MOVES) return false;
  return c->stack_bytes == 0 ||
         (c->stack_bytes >= VOLT_STACK_LEAST_ && c->stack_bytes <= VOLT_STACK_MOST_);
}

static size_t fiber_power_of_two(size_t bytes) {
  size_t power = VOLT_STACK_LEAST_;
  while (power < bytes) power *= 2;
  return power;
}

volt_task *volt_fiber_new(volt_rt *rt, volt_fiber_fn *fn, void *arg,
                          const volt_fiber_config *config) {
  static const volt_fiber_config defaults = {.stack_bytes = 0};
  const volt_fiber_config *c = config ? config : &defaults;
  if (!fiber_config_is_right(c) || volt_fiber_supported()) return NULL;
  volt_fiber *f = (volt_fiber *)volt_task_new(rt, FIBER_BYTES, volt_fiber_poll_);
  if (!f) return NULL;
  f->blocker.block_on = volt_fiber_block_on_;
  f->blocker.now_ns = volt_fiber_now_ns_;
  f->stack_bytes =
      fiber_power_of_two(c->stack_bytes ? c->stack_bytes : rt->config.fiber_stack_bytes);
  volt_task_ctx_init_(&f->own);
  f->own.waker.ctx = volt_fiber_task_(f);
  f->fn = fn;
  f->unrun = c->unrun;
  f->arg = arg;
  f->name = c->name;
  f->flags = c->flags;
  return volt_fiber_task_(f);
}

int volt_fiber_spawn(volt_rt *rt, volt_fiber_fn *fn, void *arg) {
  volt_task *t = volt_fiber_new(rt, fn, arg, NULL);
  if (!t) return VOLT_ENOMEM;
  int result = volt_spawn(rt, t);
  volt_task_detach(t);
  return result;
}
