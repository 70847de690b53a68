/* waiter.h: the waiter, the one node that every pending operation of volt is.
 *
 * A waiter lives in its owner's memory (a thread's stack, a task's frame) and is linked into the
 * FIFO of the object that it waits for. So no wait allocates memory. All-zero is a valid waiter.
 *
 *   volt_waiter w = VOLT_WAITER_INIT;
 *   switch (volt_sem_acquire_waiter(&sem, &w, 1, waker)) {
 *     case VOLT_OK:      ... the caller has the permit, w was not used
 *     case VOLT_PENDING: ... w is queued: it must stay alive, and where it is, until waker.wake()
 *                        has been called or volt_waiter_result(&w) is not VOLT_PENDING
 *   }
 *
 * The life of a waiter is the same for every primitive:
 *
 *   unused -> queued -> claimed -> granted      a release serves it; then waker.wake() is called. A close
 *                   |                           ends in the same way; so does a request to a budget that
 *                   |                           has become impossible (refused)
 *                   `-> cancelled               its owner gives up; its waker is not called
 *
 * The grant is the last access to the waiter. A thread that sees it owns the memory again, and sees
 * all that the granting thread did before. The wake comes after the grant, and touches only the
 * waker's ctx, which has to outlive the wake (volt/waker.h).
 *
 * While a waiter is queued it must not move, and must not be initialised again. If it was copied or
 * moved, its next use aborts: asking for its result, cancelling it, polling it. If it was
 * initialised again, queueing it again aborts, or the next access by another thread. */
#ifndef VOLT_WAITER_H
#define VOLT_WAITER_H

#include "detail/atomic.h"
#include "detail/holders.h"
#include "waker.h"

typedef struct volt_waiter volt_waiter;

/* Members are private. */
struct volt_waiter {
  VOLT_PLAIN(volt_waiter *) next; /* in the FIFO, older to younger */
  VOLT_PLAIN(volt_waiter *) prev;
  VOLT_PLAIN(void *) queue; /* the FIFO it was last queued in */
  VOLT_PLAIN(volt_wake_fn) wake;
  VOLT_PLAIN(void *) ctx;
  VOLT_PLAIN(void *) data; /* each primitive's own; so is want: the table in detail/fifo.h */
  VOLT_ATOMIC(uint32_t) state;
  VOLT_PLAIN(uint32_t) want;
  VOLT_PLAIN(uint32_t) need;  /* above 0 exactly while it is in a FIFO */
  VOLT_PLAIN(uint16_t) place; /* where it was when it was queued; 0 if it was made anew since */
  VOLT_PLAIN(uint8_t) use;    /* debug builds: a count of uses */
  uint8_t future;             /* the state of the future that it is part of */
  VOLT_WAITER_WHO_
};
VOLT_SIZE_AT_MOST_(volt_waiter, 64);

#ifdef __cplusplus
#define VOLT_WAITER_INIT \
  {}
#else
#define VOLT_WAITER_INIT \
  { 0 }
#endif

VOLT_BEGIN_DECLS

/* What has become of the last operation that queued *w.
 * Returns VOLT_PENDING (not completed yet), VOLT_OK (granted), VOLT_ECLOSED (the object was closed
 *   instead), VOLT_EINVAL (a budget: a limit was lowered under what it asks for) or VOLT_ECANCELED
 *   (cancelled, or never queued). A result may be VOLT_PENDING for a
 *   while after the object says that it is open, or closed. To know at once, ask the object, or
 *   cancel.
 *   Aborts if *w is a copy of a queued waiter, or was moved while it was queued.
 * Threads: the owner of *w. Order: a result other than VOLT_PENDING acquires what the granting
 * thread did before. */
VOLT_API int volt_waiter_result(volt_waiter *w);

/* Replace the waker of a queued waiter. Not for a waiter of a condition variable or of a timer:
 * these have volt_cond_set_waker() and volt_timer_set_waker().
 * Returns true: the old waker will not be called. Returns false: *w is not queued any more; if it
 *   was granted, the old waker has been called or will be.
 *   Aborts if *w is a copy of a queued waiter, or was moved while it was queued.
 * Threads: the owner of *w. The object that it waits for must live until this call has returned. */
VOLT_API VOLT_NODISCARD bool volt_waiter_set_waker(volt_waiter *w, volt_waker waker);

VOLT_END_DECLS
#endif
