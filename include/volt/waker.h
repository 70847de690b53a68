/* waker.h: how the owner of a waiter is made runnable. The only wake type there is.
 *
 * wake(ctx) is called exactly once for every operation that returned VOLT_PENDING and was not
 * cancelled; on the thread that grants, with nothing held: it may call back into the same object.
 * The granting thread waits for it, and so does everybody whose waker comes after it: it should be
 * short, and must not wait for a lock whose holder may be waiting for this very object. A waker
 * that releases runs the wakers of those it satisfies inside itself, and so on: a long chain of
 * them needs as much stack. It must not throw or longjmp.
 *
 * ctx must outlive the waiter: a task that holds a reference, a loop's handle, an eventfd. Never
 * the waiter, and never the future around it: the owner may free those the moment the grant is
 * visible, which is before wake(ctx) runs.
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

#endif
