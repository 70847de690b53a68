/* waker.h: how the owner of a waiter is made runnable. The only wake type there is.
 *
 * wake(ctx) is called exactly once for every operation that returned VOLT_PENDING and was not
 * cancelled; on the thread that grants, with nothing held: it may call back into the same object.
 * The granting thread waits for it, and so does everybody whose waker comes after it: it should be
 * short, and must not wait for a lock whose holder may be waiting for this very object. A waker
 * that releases runs the wakers of those it satisfies inside itself, and so on: a long chain of
 * them needs as much stack. It must not throw or longjmp.
 *
 * ctx must outlive the wake, not only the waiter. First comes the grant: from then on the owner may
 * see the result, free the waiter, and end. Then wake(ctx) runs. So ctx has to stay until wake(ctx)
 * has returned, or until its owner knows that wake(ctx) is not called: the operation did not return
 * VOLT_PENDING, or a cancel or a new waker came before the grant (and says so). A ctx is never the
 * waiter, nor the future around it. It may be something that lives as long as the program; or the
 * parker of a thread that waits for the wake (volt/park.h); or something that counts its wakes, as
 * a task and a loop do. An owner that may end before the wake uses a volt_loop (volt/loop.h), or
 * counts by a volt_ctx (volt/future.h).
 *
 * A zero waker ({NULL, NULL}) wakes nobody: for an owner that polls. */
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
