/* futex.h: what the sync library asks of the operating system: three functions. futex.c is for Linux; the
 * model checker brings its own. Beside these, base.c reads the clock, message.c writes messages, and
 * locals.c has variables of threads. */
#ifndef VOLT_CORE_OS_FUTEX_H
#define VOLT_CORE_OS_FUTEX_H

#include <volt/base.h>
#include <volt/detail/atomic.h>

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

#endif
