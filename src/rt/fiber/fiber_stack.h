/* fiber_stack.h: which functions a fiber is in while it is suspended. */
#ifndef VOLT_RT_FIBER_FIBER_STACK_H
#define VOLT_RT_FIBER_FIBER_STACK_H

#include <volt/task.h>

/* The stack of a fiber that waits, innermost first: where it goes on, and then return addresses. The
 * caller has claimed its task (inspect.h), or runs its runtime by hand.
 * pcs: for at most max addresses.
 * Returns how many: 0 if t is no fiber or has not begun, or if this is not known for this kind of
 *   processor.
 * Threads: any; not in a signal handler. Takes 3 KiB of the caller's stack, nothing of the
 *   fiber's. */
VOLT_API unsigned volt_fiber_stack_(volt_task *t, void **pcs, unsigned max);

#endif
