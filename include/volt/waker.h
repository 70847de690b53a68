/* waker.h: how the owner of a waiter is made runnable. It is the only wake type of volt.
 *
 * wake(ctx) is called exactly once for every operation that has returned VOLT_PENDING and was not
 * cancelled. The granting thread calls it, and holds no lock then, so wake() may use the same
 * object again. The granting thread waits for it, and so do the wakers that it calls afterwards.
 * So wake() should be short, and must not wait for a lock whose holder may wait for this object.
 * It must not throw or longjmp. If wake() releases something, the wakers of the waiters that this
 * satisfies run inside it, and so on: a long chain of such wakers needs a deep stack.
 *
 * ctx must outlive the wake, not only the waiter. The grant comes first: from then on the owner may
 * see the result, free the waiter, and end. Then wake(ctx) runs. So ctx must live until wake(ctx)
 * has returned, or until the owner knows that there is no wake: because the operation did not
 * return VOLT_PENDING; because a cancel came before the grant and says so; or because a new waker
 * did. So ctx is never the waiter, nor the future around it. It may be
 *   - something that lives as long as the program;
 *   - the parker of a thread that waits for the wake (volt/park.h);
 *   - something that counts its wakes, as a task does, and a volt_loop (volt/loop.h). An owner that
 *     may end before the wake uses a volt_loop, or counts wakes by a volt_ctx (volt/future.h).
 *
 * A zero waker ({NULL, NULL}) wakes no thread. It is for an owner that polls. */
#ifndef VOLT_WAKER_H
#define VOLT_WAKER_H

#include "base.h"

typedef void (*volt_wake_fn)(void *ctx);

typedef struct volt_waker {
  volt_wake_fn wake;
  void *ctx;
} volt_waker;
VOLT_SIZE_AT_MOST_(volt_waker, 2 * sizeof(void *));

#endif
