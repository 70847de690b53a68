/* fiber_switch_ucontext.h: fiber_switch.h by swapcontext(), for other processors. Two system calls a
 * switch. at[0]: the ucontext_t, on the stack that was left. */
#ifndef VOLT_RT_FIBER_FIBER_SWITCH_UCONTEXT_H
#define VOLT_RT_FIBER_FIBER_SWITCH_UCONTEXT_H

#include <ucontext.h>

#include "fiber_switch.h"

#define VOLT_SWITCH_IS_CALL_ 1

/* makecontext() passes ints: a pointer is two of them. */
static inline void *volt_switch_join_(unsigned high, unsigned low) {
  return (void *)(uintptr_t)((uint64_t)high << 32 | low);
}

static inline void volt_switch_begin_(unsigned from_high, unsigned from_low, unsigned to_high,
                                      unsigned to_low) {
  volt_fiber_entry_((volt_switch_outside_ *)volt_switch_join_(from_high, from_low),
                    (volt_switch_ *)volt_switch_join_(to_high, to_low));
}

static inline void volt_switch_make_(ucontext_t *first, volt_switch_outside_ *from,
                                     volt_switch_ *to) {
  uint64_t from_bits = (uintptr_t)from;
  uint64_t to_bits = (uintptr_t)to;
  (void)getcontext(first);
  first->uc_stack.ss_sp = to->at[1];
  first->uc_stack.ss_size = (size_t)(uintptr_t)to->at[2];
  first->uc_link = NULL;
  makecontext(first, (void (*)(void))volt_switch_begin_, 4, (unsigned)(from_bits >> 32),
              (unsigned)from_bits, (unsigned)(to_bits >> 32), (unsigned)to_bits);
}

static inline void volt_switch_in_(volt_switch_outside_ *from, volt_switch_ *to) {
  ucontext_t here;
  ucontext_t first;
  from->at[0] = &here;
  ucontext_t *next = (ucontext_t *)to->at[0];
  if (!next) {
    volt_switch_make_(&first, from, to);
    next = &first;
  }
  (void)swapcontext(&here, next);
}

static inline void volt_switch_out_(volt_switch_ *from, volt_switch_outside_ *to) {
  ucontext_t here;
  from->at[0] = &here;
  (void)swapcontext(&here, (ucontext_t *)to->at[0]);
}

/* at[0] NULL: it has not begun. */
static inline void volt_switch_prepare_(volt_switch_ *inside, char *bottom, size_t bytes) {
  inside->at[0] = NULL;
  inside->at[1] = bottom;
  inside->at[2] = (void *)(uintptr_t)bytes;
  inside->at[3] = NULL;
}

/* Both are switched. */
static inline uint64_t volt_switch_control_(void) {
  return 0;
}
static inline bool volt_switch_has_shadow_(void) {
  return false;
}

#endif
