/* cond.h: a condition variable on a volt_mutex.
 *
 * A caller that holds the mutex and finds a condition false waits here. The mutex is unlocked while
 * it waits, and is held again when the wait is over. A caller that makes the condition true
 * signals.
 *
 *   volt_mutex_lock(&m);
 *   while (count == 0) volt_cond_wait(&not_empty, &m);
 *   count -= 1;
 *   volt_mutex_unlock(&m);
 *
 * A signal moves the oldest waiter from here to the FIFO of the mutex, or grants it the mutex if
 * that is free. A broadcast moves all waiters, in order. A waiter is woken only when it holds the
 * mutex. So a broadcast to a thousand waiters wakes one at a time, each by the unlock of the one
 * before.
 *
 * A signal does nothing if no waiter is queued, and costs a load then. Change the condition with
 * the mutex held; signal then, or later without it. Other threads may lock the mutex between the
 * signal and the wake, so check the condition again after a wait. There are no spurious wakes. But
 * a signal whose waiter gives up passes on to the waiter that is the oldest by then.
 *
 * Tasks, threads and event loops wait in the same FIFO. All waiters that are queued at one time
 * must use the same mutex. All-zero is a valid condition variable. Nothing is ever allocated. */
#ifndef VOLT_COND_H
#define VOLT_COND_H

#include "detail/fifo.h"
#include "future.h"
#include "mutex.h"

/* Members are private. */
typedef struct volt_cond {
  volt_fifo_ queue;
  VOLT_PLAIN(volt_mutex *) mutex; /* of the waiters that are queued */
} volt_cond;
VOLT_SIZE_AT_MOST_(volt_cond, 64);

/* A condition variable without waiters. */
#define VOLT_COND_INIT \
  { VOLT_FIFO_INIT_(0), NULL }

VOLT_BEGIN_DECLS

/* Make *c a condition variable without waiters. */
VOLT_API void volt_cond_init(volt_cond *c);

/* End its life; frees nothing. Afterwards the memory is the caller's.
 * No waiter may wait for a signal (aborts), and no thread may use *c again. A blocking wait that a
 * broadcast or a signal has reached does not touch *c any more, even if its deadline passes later.
 * So "broadcast, unlock, destroy, free" is safe. An operation with a waiter or a future must have
 * completed, or its cancel must have returned, because a cancel reads *c.
 * Waits a moment for threads whose deadline has just passed, until they are out of the FIFO.
 * Threads: any. */
VOLT_API void volt_cond_destroy(volt_cond *c);

/* Queue *w and unlock *m, in one step: a signal by a thread that has locked the mutex after this
 * call unlocked it finds *w. The wait completes (VOLT_OK) with the mutex held for the owner of *w.
 * m: held by the caller (aborts if it is not locked); the same for all waiters that are queued now
 *   (aborts).
 * w: the caller's memory, unused or completed; must stay where it is while queued.
 * Returns VOLT_PENDING: the caller does not hold the mutex any more.
 * Wakes: waker, exactly once, when the mutex is held for the waiter: on the thread that unlocks the
 *   mutex, or, if it is free, on the thread that signals; with nothing of volt's held. This may be
 *   before this call returns. This call itself wakes the next waiter of the mutex, as
 *   volt_mutex_unlock() does.
 * Cancel: volt_cond_cancel(). Threads: any; not from a signal handler.
 * Order: releases as an unlock; the grant acquires what the last holder of the mutex did. */
VOLT_API int volt_cond_wait_waiter(volt_cond *c, volt_mutex *m, volt_waiter *w, volt_waker waker);

/* Wait; block this thread until it is signalled or the deadline has passed, and then until it has
 * the mutex again, which no deadline ends.
 * m: held by the caller; the same for all waiters that are queued now (aborts).
 * deadline_ns: as volt_now_ns(); a time in the past: do not wait for a signal; VOLT_NO_DEADLINE:
 *   for ever.
 * volt_cond_wait() has no deadline: it waits for as long as that takes.
 * Returns VOLT_OK or VOLT_ETIMEDOUT (no signal was taken). Either way the mutex is held.
 * Threads: any that may block. */
VOLT_API int volt_cond_wait_until(volt_cond *c, volt_mutex *m, uint64_t deadline_ns);
VOLT_INLINE int volt_cond_wait(volt_cond *c, volt_mutex *m) {
  return volt_cond_wait_until(c, m, VOLT_NO_DEADLINE);
}

/* The same as volt_cond_wait_waiter() as a future. It begins with this call, not with the first
 * poll: this call queues *f and unlocks *m. It polls as VOLT_OK with the mutex held. If it is
 * cancelled, dropped or times out, its owner does not hold the mutex. If it was granted, but no
 * poll has returned that, the signal is passed on and the mutex is unlocked.
 * m: held by the caller; the same for all waiters that are queued now (aborts).
 * f: not WAITING; overwritten; must not move from now on until it is ready or cancelled.
 * Returns f. */
VOLT_API VOLT_NODISCARD volt_future *volt_cond_wait_future(volt_future *f, volt_cond *c,
                                                           volt_mutex *m);

/* Move the oldest waiter to the end of the FIFO of the mutex. Does nothing if there is no waiter.
 * Wakes: that waiter, if the mutex is free, on this thread, with nothing held.
 * Threads: any, with the mutex held or not; not from a signal handler. If the caller holds it, this
 *   call does not touch *c after the mutex is unlocked. */
VOLT_API void volt_cond_signal(volt_cond *c);

/* Move all waiters that are queued now to the end of the FIFO of the mutex, oldest first. It takes
 * a step for each of them, and does not hold up the mutex or its FIFO meanwhile.
 * Wakes: the oldest, if the mutex is free, on this thread, with nothing held. Threads: any. */
VOLT_API void volt_cond_broadcast(volt_cond *c);

/* Give up waiting.
 * w: last passed to volt_cond_wait_waiter() on this condition variable (or never used).
 * Returns true: cancelled, no wake will come, the caller does not hold the mutex; if a signal had
 *   moved *w to the mutex, that signal is passed on. Returns false: too late, the mutex is the
 *   caller's to unlock, and its one wake has come or will come. Either way the memory of *w is the
 *   caller's.
 * Threads: the owner of *w. A signal that is passed on may wake another waiter on this thread. */
VOLT_API VOLT_NODISCARD bool volt_cond_cancel(volt_cond *c, volt_waiter *w);

/* Replace the waker of a queued waiter.
 * w: last passed to volt_cond_wait_waiter() on this condition variable.
 * Returns true: replaced. Returns false: the mutex has been granted to it, and the old waker has
 *   been or will be called; or it was cancelled.
 * Threads: the owner of *w. */
VOLT_API VOLT_NODISCARD bool volt_cond_set_waker(volt_cond *c, volt_waiter *w, volt_waker waker);

/* How many waiters wait for a signal now. A snapshot. Threads: any. */
VOLT_API uint32_t volt_cond_waiters(const volt_cond *c);

VOLT_END_DECLS
#endif
