/* fiber_futex.h: a fiber waits for a word to change, as a thread does by a futex. */
#ifndef VOLT_CORE_PARK_FIBER_FUTEX_H
#define VOLT_CORE_PARK_FIBER_FUTEX_H

#include "blocker.h"
#include "call.h"

/* What it awaits. It is on the stack of its fiber, which stays as it is while an inspector has its
 * task. */
typedef struct volt_fiber_futex_future_ {
  volt_future future;
  const volt_call_ *call;
} volt_fiber_futex_future_;

/* Suspend the fiber that runs here if *word is seen, until a wake.
 * fiber: its blocker. call: for an inspector (sleepers.h). deadline_ns: on its clock.
 * Returns VOLT_OK after a wake, if *word is not seen, and sometimes without a reason;
 *   VOLT_ETIMEDOUT; or VOLT_ECANCELED. */
int volt_fiber_futex_wait_(volt_blocker_ *fiber, const volt_call_ *call,
                           VOLT_ATOMIC(uint32_t) *word, uint32_t seen, uint64_t deadline_ns);

/* Wake the fiber that waits for the word at this address. The word is not read: its memory may be
 * freed by now. If it is used again, a fiber that waits there wakes without a reason. The caller
 * has changed the word before. Calls a waker, so no lock may be held; not from a signal handler. */
void volt_fiber_futex_wake_(const VOLT_ATOMIC(uint32_t) *word);

#endif
