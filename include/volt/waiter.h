/* waiter.h: the waiter, the one node every pending operation of volt is.
 *
 * A waiter lives in its owner's memory (a thread's stack, a task's frame) and is linked into the
 * queue of the object it waits on: no wait ever allocates. All-zero is a valid, unused waiter; so
 * is one whose last operation has completed.
 *
 *   volt_waiter w = VOLT_WAITER_INIT;
 *   switch (volt_sem_acquire(&sem, &w, 1, waker)) {
 *     case VOLT_OK:      ... the permit is ours, w was not used
 *     case VOLT_PENDING: ... w is queued: keep it alive, and where it is, until waker.wake() has
 *                        been called or volt_waiter_result(&w) is no longer VOLT_PENDING
 *   }
 *
 * The life of a waiter, the same for every primitive:
 *   unused -> queued -> claimed -> granted      a release has served it; then waker.wake() is
 *                    called -> cancelled               its owner gave up; no wake will come
 * The grant is the last access to the waiter: whoever sees it owns the memory again, and sees
 * everything the granting thread did before. The wake comes after the grant, and touches only the
 * waker's ctx, which has to outlive the wake (volt/waker.h).
 *
 * A waiter must not move, nor be initialised again, while it is queued. A waiter that was copied or
 * moved aborts when its result is asked for, or when it is cancelled or polled. A waiter that was
 * initialised again aborts when it is queued again, or when another thread comes to it. */
#ifndef VOLT_WAITER_H
#define VOLT_WAITER_H

#include "detail/atomic.h"
#include "waker.h"

typedef struct volt_waiter volt_waiter;

/* Members are private. */
struct volt_waiter {
  VOLT_PLAIN(volt_waiter *) next; /* in the FIFO, older to younger */
  VOLT_PLAIN(volt_waiter *) prev;
  VOLT_PLAIN(void *) queue; /* the wait queue it was last queued on */
  VOLT_PLAIN(volt_wake_fn) wake;
  VOLT_PLAIN(void *) ctx;
  VOLT_PLAIN(void *) data; /* a value in or out, for primitives that hand one over */
  VOLT_ATOMIC(uint32_t) state;
  VOLT_PLAIN(uint32_t) want; /* what it asked for */
  VOLT_PLAIN(uint32_t) need; /* what is still missing; above 0 exactly while it is linked */
  VOLT_PLAIN(uint32_t) id;   /* where it was queued; debug builds: and which use of it that is */
};
VOLT_SIZE_AT_MOST_(volt_waiter, 96);

#ifdef __cplusplus
#define VOLT_WAITER_INIT \
  {}
#else
#define VOLT_WAITER_INIT \
  { 0 }
#endif

VOLT_BEGIN_DECLS

/* What has become of the last operation that queued *w.
 * Returns VOLT_PENDING until *w has been told; VOLT_OK once granted; VOLT_ECLOSED if the object was
 *   closed instead; VOLT_ECANCELED if it was cancelled, or nothing was ever queued with it. It may
 *   be VOLT_PENDING for a while after the object says that it is open or closed: to know at once,
 *   ask the object, or cancel.
 *   Aborts if *w is a copy of one that is queued, or was moved.
 * Threads: the owner of *w. Order: a result other than VOLT_PENDING acquires what the granting
 * thread did before. */
VOLT_API int volt_waiter_result(volt_waiter *w);

/* Replace the waker of a queued waiter. The same for every object but two: a waiter of a condition
 * variable or of a timer has volt_cond_set_waker() or volt_timer_set_waker().
 * Returns true: replaced, the old one will not be called. Returns false: *w is not queued any more;
 *   if it has completed, the old waker has been or will be called.
 *   Aborts if *w is a copy of one that is queued, or was moved.
 * Threads: the owner of *w. The object it is queued on must live until this has returned. */
VOLT_API VOLT_NODISCARD bool volt_waiter_set_waker(volt_waiter *w, volt_waker waker);

VOLT_END_DECLS
#endif
