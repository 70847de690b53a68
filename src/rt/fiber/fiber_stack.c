/* fiber_stack.c: unwind the stack of a fiber that is suspended.
 *
 * Algorithm: libgcc's unwinder begins at the function that calls it, and goes from frame to frame by
 * the call frame information of each. So a function of assembly calls the collector, and says of its
 * own frame, in that information, that it was called from where the fiber goes on: its caller's pc,
 * stack pointer, frame pointer and saved register are those in volt_switch_. The unwinder leaves
 * this thread's stack there, and goes on in the fiber's. It only reads that: a stack that is nearly
 * full is as good as any, and a shadow stack, or a sanitizer, sees calls and returns of this thread
 * alone. Of the registers that a call preserves the switch has saved four; the function that has
 * switched has saved the others itself, because the switch clobbers them.
 *
 * The fiber's first function has no caller: there the information ends. */
#include "fiber_stack.h"

#include <unwind.h>

#include "../sched/task_run.h"
#include "fiber.h"

#if defined(VOLT_SWITCH_UNWINDS_)

/* Where the C library is not glibc, the unwinder may be missing: then this is not known. */
#if !defined(__GLIBC__)
#pragma weak _Unwind_Backtrace
#pragma weak _Unwind_GetCFA
#pragma weak _Unwind_GetIP
#endif

typedef void fiber_stack_fn(void *arg);

/* Call fn(arg) as if that were called where `at` says. */
void volt_fiber_stack_call_(const volt_switch_ *at, fiber_stack_fn *fn, void *arg);
VOLT_SWITCH_UNWINDS_

typedef struct fiber_stack_walk {
  uintptr_t first; /* where the fiber goes on */
  uintptr_t low, high;
  void **pcs;
  unsigned max;
  unsigned count;
} fiber_stack_walk;

static _Unwind_Reason_Code fiber_stack_step(struct _Unwind_Context *context, void *arg) {
  fiber_stack_walk *walk = (fiber_stack_walk *)arg;
  uintptr_t pc = (uintptr_t)_Unwind_GetIP(context);
  if (walk->count == 0 && pc != walk->first) return _URC_NO_REASON; /* this thread's own frames */
  uintptr_t sp = (uintptr_t)_Unwind_GetCFA(context);
  bool is_inside = walk->count == 0 || (sp >= walk->low && sp <= walk->high);
  if (!is_inside || pc == 0 || walk->count == walk->max) return _URC_END_OF_STACK;
  walk->pcs[walk->count++] = (void *)pc;
  return _URC_NO_REASON;
}

static void fiber_stack_collect(void *arg) {
  (void)_Unwind_Backtrace(fiber_stack_step, arg);
}

unsigned volt_fiber_stack_(volt_task *t, void **pcs, unsigned max) {
  if (t->poll != volt_fiber_poll_) return 0;
  const volt_fiber *f = (const volt_fiber *)(const void *)t;
  if (f->stage != VOLT_FIBER_SUSPENDED_) return 0;
#if !defined(__GLIBC__)
  if (!_Unwind_Backtrace) return 0;
#endif
  fiber_stack_walk walk = {.first = (uintptr_t)f->inside.at[0],
                           .low = (uintptr_t)f->stack.bottom,
                           .high = (uintptr_t)f->stack.bottom + f->stack.bytes,
                           .pcs = pcs,
                           .max = max};
  volt_fiber_stack_call_(&f->inside, fiber_stack_collect, &walk);
  return walk.count;
}

#else

unsigned volt_fiber_stack_(volt_task *t, void **pcs, unsigned max) {
  (void)t;
  (void)pcs;
  (void)max;
  return 0;
}

#endif
