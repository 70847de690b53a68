/* fiber_switch.h: how a processor goes on on another stack. A file for each kind of processor has
 *
 *   volt_switch_prepare_(inside, bottom, bytes)   the first volt_switch_in_() to *inside begins
 *                                                 volt_fiber_entry_() on that stack
 *   volt_switch_in_(from, to)    on a thread's stack: go on where the fiber stands
 *   volt_switch_out_(from, to)   on a fiber's: go on where its thread stands. Each returns when a
 *                                switch goes back to its *from
 *   volt_switch_control_()       the words that control floating-point calculations, which are not
 *                                switched
 *   volt_switch_has_shadow_()    whether this thread has a shadow stack, which is not switched
 *   VOLT_SWITCH_UNWINDS_         the function volt_fiber_stack_call_() (fiber_stack.c); not defined:
 *                                the stack of a suspended fiber cannot be unwound
 *
 * A switch is inline, has no call and no return, and pushes nothing. A processor predicts where a
 * return goes by the calls that it has seen. A switch that is called, or that returns, makes it
 * mispredict every return up to the two loops; the worker's loop therefore switches itself
 * (fiber_run.h). The compiler saves what is alive around a switch, as around a call: volt_switch_out_()
 * clobbers every register that may be clobbered; volt_switch_in_() saves those which a call
 * preserves, because the worker's loop keeps its variables there for all tasks. */
#ifndef VOLT_RT_FIBER_FIBER_SWITCH_H
#define VOLT_RT_FIBER_FIBER_SWITCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <volt/detail/base.h>

/* Where a fiber that does not run goes on: pc, sp, frame pointer, and the register that neither gcc
 * nor clang lets inline assembly clobber (x86-64: rbx; aarch64: x19). gdb's script knows this. */
typedef struct volt_switch_ {
  void *at[4];
} volt_switch_;

/* Where a thread goes on whose fiber runs: the same, and the other registers that a call
 * preserves. */
typedef struct volt_switch_outside_ {
  void *at[14];
} volt_switch_outside_;

/* The first function on a fiber's stack. It is entered by a switch, and gets what that has. It does
 * not return. fiber.c */
VOLT_NORETURN void volt_fiber_entry_(volt_switch_outside_ *outside, volt_switch_ *inside);

/* A function that may be suspended. Its callers know nothing of what it does, so they keep no address
 * that is the thread's across its call. */
#if defined(__clang__)
#define VOLT_SWITCH_OPAQUE_ __attribute__((noinline))
#else
#define VOLT_SWITCH_OPAQUE_ __attribute__((noipa))
#endif

/* A function that does nothing but switch, and that ThreadSanitizer does not look at. */
#if defined(__clang__)
#define VOLT_SWITCH_APART_ __attribute__((unused, noinline, disable_sanitizer_instrumentation))
#else
#define VOLT_SWITCH_APART_ __attribute__((unused, noipa, no_sanitize_thread))
#endif

/* NULL where no library has it. */
#define VOLT_SWITCH_WEAK_ __attribute__((weak))

#if defined(VOLT_FIBER_UCONTEXT)
#include "fiber_switch_ucontext.h"
#elif defined(__x86_64__) && !defined(__ILP32__)
#include "fiber_switch_x86_64.h"
#elif defined(__aarch64__) && !defined(__ILP32__)
#include "fiber_switch_aarch64.h"
#else
#include "fiber_switch_ucontext.h"
#endif

#endif
