/* blocking.h: what a future that stands on a call of the blocking pool is made of, for those with a
 * table of their own. Each as the function of volt_future_ops_ of that name. */
#ifndef VOLT_RT_BLOCKING_BLOCKING_H
#define VOLT_RT_BLOCKING_BLOCKING_H

#include <volt/park.h>
#include <volt/runtime.h>

#include "../sched/short_lock.h"
#include "../sched/thread.h"

VOLT_BEGIN_DECLS

VOLT_API int volt_blocking_start_(volt_future *f, volt_waker waker);
VOLT_API bool volt_blocking_cancel_(volt_future *f);
VOLT_API bool volt_blocking_set_waker_(volt_future *f, volt_waker waker);
VOLT_API int volt_blocking_outcome_(volt_future *f);

/* If the call has not begun, it never will. Returns whether that is so. */
VOLT_API bool volt_blocking_remove_(volt_blocking *b);

/* unrun(arg) is called if fn is never called, before the future is ready. */
VOLT_API void volt_blocking_make_(volt_blocking *b, volt_rt *rt, int (*fn)(void *arg),
                                  void (*unrun)(void *arg), void *arg);

VOLT_END_DECLS

/* ---- the pool of a runtime ---- */

typedef struct volt_blocking_pool {
  volt_short_lock lock;
  VOLT_PLAIN(volt_blocking *) head; /* under the lock, like all that follows */
  VOLT_PLAIN(volt_blocking *) tail;
  VOLT_PLAIN(uint64_t) queued;
  VOLT_PLAIN(uint64_t) running; /* calls that were taken, until their owners were woken */
  VOLT_PLAIN(uint32_t) threads;
  VOLT_PLAIN(uint32_t) idle_count;
  VOLT_PLAIN(struct volt_blocking_thread *) idle; /* the thread that has become idle last */
  VOLT_PLAIN(uint32_t) is_closed;
  VOLT_PLAIN(volt_parker *) closer;
  VOLT_PLAIN(uint32_t) late;       /* owners that are to come, of calls that are done */
  VOLT_PLAIN(uint32_t) any_left;   /* whether there is a thread to join, */
  VOLT_PLAIN(volt_thread_) left;   /* which is the one that has ended last */
  VOLT_ATOMIC(uint32_t) last_name; /* threads so far, for their names */
} volt_blocking_pool;

void volt_blocking_pool_init_(volt_blocking_pool *pool);

/* Whether a call is queued or runs. When the last one is done, a thread that runs a runtime of
 * virtual time by hand is roused. */
bool volt_blocking_pool_is_busy_(volt_blocking_pool *pool);

/* Wait until every call has returned and every thread has ended. */
void volt_blocking_pool_close_(volt_blocking_pool *pool);

/* Whether this thread is one of the pool of rt. */
bool volt_blocking_is_here_(volt_rt *rt);

#endif
