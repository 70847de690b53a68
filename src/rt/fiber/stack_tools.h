/* stack_tools.h: what AddressSanitizer, ThreadSanitizer and Valgrind have to know of switches
 * between stacks. Without them every function here does nothing.
 *
 * AddressSanitizer has a second stack for each stack, with the variables whose use it checks after
 * their function has returned. Before a switch it gets to know the stack that is entered; after it,
 * on that stack, which second stack to use. ThreadSanitizer has a state for each thread, with the
 * functions that it is in; each fiber gets one of its own. Valgrind takes a large step of the stack
 * pointer for a switch if it knows both stacks.
 *
 * volt_tools_leave_() and volt_tools_enter_() stand in functions that ThreadSanitizer does not look
 * at (VOLT_SWITCHES_), because it changes its state there before the switch itself. They are always
 * inline, so without such a tool there is no call beside the switch. */
#ifndef VOLT_RT_FIBER_STACK_TOOLS_H
#define VOLT_RT_FIBER_STACK_TOOLS_H

#include "stack.h"

#if defined(__SANITIZE_ADDRESS__)
#define VOLT_TOOLS_ASAN_ 1
#endif
#if defined(__SANITIZE_THREAD__) && !defined(VOLT_TOOLS_TSAN_) /* not bench/simulation */
#define VOLT_TOOLS_TSAN_ 1
#endif
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define VOLT_TOOLS_ASAN_ 1
#endif
#if __has_feature(thread_sanitizer) && !defined(VOLT_TOOLS_TSAN_)
#define VOLT_TOOLS_TSAN_ 1
#endif
#endif
#ifndef VOLT_TOOLS_ASAN_
#define VOLT_TOOLS_ASAN_ 0
#endif
#ifndef VOLT_TOOLS_TSAN_
#define VOLT_TOOLS_TSAN_ 0
#endif

#if VOLT_TOOLS_ASAN_
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if VOLT_TOOLS_TSAN_
#include <sanitizer/tsan_interface.h>
#endif
#if defined(__has_include)
#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#endif
#endif

/* One stack's own; a worker has one for its thread's stack, which sets nothing else. */
typedef struct volt_stack_tools_ {
  unsigned valgrind_id;
#if VOLT_TOOLS_ASAN_
  void *fake_stack;
  const void *bottom; /* of the stack */
  size_t bytes;
#endif
#if VOLT_TOOLS_TSAN_
  void *thread; /* a fiber, to ThreadSanitizer */
#endif
} volt_stack_tools_;

/* A stack gets a fiber; its fiber has ended, and the thread is on another stack. */
static VOLT_INLINED_ void volt_tools_begin_(volt_stack_tools_ *tools, const volt_stack_ *stack,
                                            const char *name) {
#if VOLT_TOOLS_ASAN_
  tools->fake_stack = NULL;
  tools->bottom = stack->bottom;
  tools->bytes = stack->bytes;
#endif
#if VOLT_TOOLS_TSAN_
  tools->thread = __tsan_create_fiber(0);
  if (name) __tsan_set_fiber_name(tools->thread, name);
#endif
#ifdef VALGRIND_STACK_REGISTER
  /* it shows no frame within 512 bytes of what it knows as the end */
  char *end = stack->bottom + stack->bytes + 512;
  tools->valgrind_id = VALGRIND_STACK_REGISTER(stack->bottom, end);
  (void)VALGRIND_MAKE_MEM_UNDEFINED(stack->bottom, stack->bytes);
#endif
  (void)tools, (void)stack, (void)name;
}
static VOLT_INLINED_ void volt_tools_end_(volt_stack_tools_ *tools) {
#if VOLT_TOOLS_TSAN_
  __tsan_destroy_fiber(tools->thread);
#endif
#ifdef VALGRIND_STACK_REGISTER
  VALGRIND_STACK_DEREGISTER(tools->valgrind_id);
#endif
  (void)tools;
}

/* Right before a switch from one stack to another, and right after it, on the other; `from` may be
 * gone then if it was left for good: it is never entered again. */
static VOLT_INLINED_ void volt_tools_leave_(volt_stack_tools_ *from, volt_stack_tools_ *to,
                                            bool for_good) {
#if VOLT_TOOLS_ASAN_
  __sanitizer_start_switch_fiber(for_good ? NULL : &from->fake_stack, to->bottom, to->bytes);
#endif
#if VOLT_TOOLS_TSAN_
  from->thread = __tsan_get_current_fiber(); /* of a worker by hand, maybe another thread's now */
  __tsan_switch_to_fiber(to->thread, 0);
#endif
  (void)from, (void)to, (void)for_good;
}
static VOLT_INLINED_ void volt_tools_enter_(volt_stack_tools_ *to, volt_stack_tools_ *from) {
#if VOLT_TOOLS_ASAN_
  const void *bottom;
  size_t bytes;
  __sanitizer_finish_switch_fiber(to->fake_stack, &bottom, &bytes);
  from->bottom = bottom;
  from->bytes = bytes;
#endif
  (void)to, (void)from;
}

/* Nothing there is in use any more, so nothing there is wrong to write. */
static inline void volt_tools_forget_(void *bottom, size_t bytes) {
#if VOLT_TOOLS_ASAN_
  __asan_unpoison_memory_region(bottom, bytes);
#endif
#ifdef VALGRIND_STACK_REGISTER
  (void)VALGRIND_MAKE_MEM_UNDEFINED(bottom, bytes); /* it forbids what is below the stack pointer */
#endif
  (void)bottom, (void)bytes;
}

#endif
