/* futex.h: what the sync library asks of the operating system (three functions), and the variables
 * that it keeps for each thread (four). futex.c is for Linux; the model checker brings its own.
 * Beside these, base.c reads the clock and writes messages. */
#ifndef VOLT_CORE_FUTEX_H
#define VOLT_CORE_FUTEX_H

#include <volt/base.h>
#include <volt/detail/atomic.h>

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
void volt_yield_(void);

/* ---- variables of this thread: NULL, or 0, at first ---- */

/* The frames of bcs_lock.c that this thread is in, the innermost first. */
void **volt_thread_slot_(void);

/* A thread that runs tasks must not block, because the other tasks wait for it. blocks() is called
 * if it is about to block, in `call`. */
typedef struct volt_no_block_ {
  void (*blocks)(struct volt_no_block_ *self, const char *call);
} volt_no_block_;

/* NULL: this thread may block. */
VOLT_API volt_no_block_ **volt_thread_may_not_block_(void);

/* The calls of volt_once_call() that this thread is in, the innermost first. */
void **volt_thread_calls_(void);

/* The state of this thread's random numbers. */
VOLT_API uint64_t *volt_thread_random_(void);

/* The number of this thread: the next one, from 0 on, when it first asks. */
uint32_t volt_thread_number_(void);

#endif
