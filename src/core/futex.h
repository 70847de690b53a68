/* futex.h: the whole operating-system layer: sleep on a word, wake its sleepers; a thread's own
 * word. futex.c is Linux; the model checker brings its own. */
#ifndef VOLT_CORE_FUTEX_H
#define VOLT_CORE_FUTEX_H

#include <volt/base.h>
#include <volt/detail/atomic.h>

/* Sleep while *word is seen.
 * deadline_ns: as volt_now_ns(); VOLT_NO_DEADLINE: for ever.
 * Returns VOLT_ETIMEDOUT if the deadline has passed, else VOLT_OK: woken, or *word is something
 * else, or for no reason at all. errno is left alone. */
VOLT_API int volt_futex_wait32_(VOLT_ATOMIC(uint32_t) *word, uint32_t seen, uint64_t deadline_ns);

/* Wake up to count threads that sleep on the word at this address. The word itself is not touched:
 * it may be gone by now, and whoever sleeps there instead sees a wake for no reason. */
void volt_futex_wake32_(VOLT_ATOMIC(uint32_t) *word, int count);

/* Let other threads run. */
void volt_yield_(void);

/* A pointer of this thread's own, NULL at first. */
void **volt_thread_slot_(void);

/* Why this thread must not block: it runs tasks, and others wait for it to go on. blocks(): it is
 * about to, in this call. */
typedef struct volt_no_block_ {
  void (*blocks)(struct volt_no_block_ *self, const char *call);
} volt_no_block_;

/* NULL: it may. */
VOLT_API volt_no_block_ **volt_thread_may_not_block_(void);

/* The calls of volt_once_call() that this thread is in, the innermost first; NULL at first. */
void **volt_thread_calls_(void);

/* The state of this thread's random numbers, 0 at first. */
VOLT_API uint64_t *volt_thread_random_(void);

#endif
