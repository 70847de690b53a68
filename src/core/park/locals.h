/* locals.h: the variables that the sync library keeps for each thread (four, and that of blocker.h), and
 * those that it keeps for the process. The model checker brings its own. */
#ifndef VOLT_CORE_PARK_LOCALS_H
#define VOLT_CORE_PARK_LOCALS_H

#include <volt/base.h>
#include <volt/detail/atomic.h>
#include <volt/detail/fifo.h>

/* ---- variables of this thread: NULL, or 0, at first ---- */

/* The frames of bcs_lock.c that this thread is in, the innermost first. */
void **volt_thread_slot_(void);

/* The calls of volt_once_call() that this thread is in, the innermost first. */
void **volt_thread_calls_(void);

/* The state of this thread's random numbers. */
VOLT_API uint64_t *volt_thread_random_(void);

/* Where this thread says for what it sleeps (sleepers.c). NULL: nowhere, because it is about to end.
 * When it ends, volt_sleeper_unlink_() is called. */
struct volt_sleeper_slot_ *volt_thread_sleeper_(void);

/* The number of this thread: the next one, from 0 on, when it first asks. */
uint32_t volt_thread_number_(void);

/* ---- of the process ---- */

/* The FIFO of the fibers that are parked at this address, and at some others (fiber_futex.c). All are
 * empty at first, and in the child of a fork(). */
volt_fifo_ *volt_fiber_futex_queue_(const void *address);

/* Where such threads are. */
VOLT_API struct volt_sleeper_list_ *volt_sleepers_of_process_(void);

#endif
