/* futex.h: what the sync library asks of the operating system (three functions), the variables that
 * it keeps for each thread (four, and that of blocker.h), and those that it keeps for the process.
 * futex.c is for Linux; the model checker brings its own. Beside these, base.c reads the clock and
 * writes messages. */
#ifndef VOLT_CORE_OS_FUTEX_H
#define VOLT_CORE_OS_FUTEX_H

#include <volt/base.h>
#include <volt/detail/atomic.h>
#include <volt/detail/fifo.h>

/* ---- the operating system ---- */

/* Sleep if *word is seen, until a wake.
 * deadline_ns: as volt_now_ns(); VOLT_NO_DEADLINE: for ever.
 * Returns VOLT_ETIMEDOUT if the deadline has passed. Returns VOLT_OK after a wake, if *word is not
 *   seen, and sometimes without a reason. errno is left alone. */
VOLT_API int volt_futex_wait32_(VOLT_ATOMIC(uint32_t) *word, uint32_t seen, uint64_t deadline_ns);

/* Wake up to count threads that sleep on the word at this address. The word is not read: its memory
 * may be freed by now. If it is used again, a thread that sleeps there wakes without a reason. */
void volt_futex_wake32_(VOLT_ATOMIC(uint32_t) *word, int count);

/* Let other threads run. */
VOLT_API void volt_yield_(void);

/* ---- variables of this thread: NULL, or 0, at first ---- */

/* The frames of bcs_lock.c that this thread is in, the innermost first. */
void **volt_thread_slot_(void);

/* The calls of volt_once_call() that this thread is in, the innermost first. */
void **volt_thread_calls_(void);

/* The state of this thread's random numbers. */
VOLT_API uint64_t *volt_thread_random_(void);

/* Where this thread says for what it sleeps (blocked.c). NULL: nowhere, because it is about to end.
 * When it ends, volt_blocked_unlink_() is called. */
struct volt_blocked_slot_ *volt_thread_blocked_(void);

/* The number of this thread: the next one, from 0 on, when it first asks. */
uint32_t volt_thread_number_(void);

/* ---- of the process ---- */

/* The FIFO of the fibers that are parked at this address, and at some others (parked.c). All are
 * empty at first, and in the child of a fork(). */
volt_fifo_ *volt_parked_queue_(const void *address);

/* Where such threads are. */
VOLT_API struct volt_blocked_list_ *volt_blocked_list_of_process_(void);

#endif
