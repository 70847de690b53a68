/* waker.h: how the owner of a waiter is made runnable. The only wake type there is.
 *
 * wake(ctx) is called exactly once for every operation that returned VOLT_PENDING and was not
 * cancelled; on the thread that grants, with nothing held: it may call back into the same object.
 * It should be short: the granting thread waits for it. It must not throw or longjmp.
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
