/* blocking.h: what a future that stands on a call of the blocking pool is made of, for those with a
 * table of their own. Each as the function of volt_future_ops_ of that name. */
#ifndef VOLT_RT_BLOCKING_BLOCKING_H
#define VOLT_RT_BLOCKING_BLOCKING_H

#include <volt/runtime.h>

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
#endif
