/* cond.h: a condition variable on a volt_mutex.
 *
 * Who holds the mutex and finds that something is not so yet waits here: the mutex is unlocked
 * while it waits, and held again when the wait is over. Who makes it so signals.
 *
 *   volt_mutex_lock_no_deadline(&m);
 *   while (count == 0) volt_cond_wait_blocking(&not_empty, &m, VOLT_NO_DEADLINE);
 *   count -= 1;
 *   volt_mutex_unlock(&m);
 *
 * A signal takes the oldest waiter from here into the queue of the mutex, or gives it the mutex if
 * that is free; a broadcast takes all of them, in order. Nobody is woken before the mutex is his:
 * a broadcast to a thousand waiters wakes one at a time, each by the unlock of the one before.
 *
 * A signal when nobody waits does nothing, and costs a load. It needs the mutex only as far as the
 * condition does: change the condition with the mutex held, and signal then or later. Before the
 * mutex is the waiter's others may have it: so look at the condition again. Nobody is woken for no
 * reason; but a signal whose waiter gives up goes to whoever is the oldest then.
 *
 * Tasks, threads and event loops wait in the same FIFO. All that wait at one time must have come
 * with the same mutex. All-zero is a valid condition variable. Nothing is ever allocated. */
#ifndef VOLT_COND_H
#define VOLT_COND_H

#include "detail/fifo.h"
#include "future.h"
#include "mutex.h"

/* Members are private. */
typedef struct volt_cond {
  volt_fifo_ queue;
  VOLT_PLAIN(volt_mutex *) mutex; /* of those who wait */
} volt_cond;
VOLT_SIZE_AT_MOST_(volt_cond, 64);

#define VOLT_COND_INIT \
  { VOLT_FIFO_INIT_(0), NULL }

VOLT_BEGIN_DECLS

/* Make *c a condition variable that nobody waits for. */
VOLT_API void volt_cond_init(volt_cond *c);

/* End its life; frees nothing. Afterwards the memory is the caller's.
 * No waiter may wait for a signal (aborts), and no thread may use *c again. A blocking wait that a
 * broadcast or a signal has reached does not touch *c any more, also if its deadline passes later.
 * So "broadcast, unlock, destroy, free" is safe. A waiter or a future of the caller's own must have
 * completed, or its cancel must have returned, because a cancel looks into *c.
 * Waits for threads whose deadline has just passed to leave the FIFO, which is a moment.
 * Threads: any. */
VOLT_API void volt_cond_destroy(volt_cond *c);

/* Queue *w and unlock *m, in one step: a signal that comes after the mutex was locked by another
 * finds *w. The wait completes (VOLT_OK) with the mutex held for the owner of *w.
 * m: held by the caller (aborts if it is free); the same for all who wait now (aborts).
 * w: the caller's memory, unused or completed; must stay where it is while queued.
 * Returns VOLT_PENDING: from here on the mutex is not the caller's.
 * Wakes: waker, exactly once, when the mutex is the waiter's: on the thread that unlocks it, or on
 *   the one that signals if it is free; with nothing of volt's held. Perhaps before this returns.
 *   This call wakes whoever waits for the mutex, as volt_mutex_unlock() does.
 * Cancel: volt_cond_cancel(). Threads: any; not from a signal handler.
 * Order: releases as an unlock; the grant acquires what the last holder of the mutex did. */
VOLT_API int volt_cond_wait(volt_cond *c, volt_mutex *m, volt_waiter *w, volt_waker waker);

/* Wait; block this thread until signalled, or deadline_ns (as volt_now_ns()) has passed; then until
 * the mutex is locked again, which no deadline ends.
 * m: held by the caller; the same for all who wait now (aborts).
 * Returns VOLT_OK or VOLT_ETIMEDOUT (no signal was taken). Either way the mutex is held.
 * Threads: any that may block. */
VOLT_API int volt_cond_wait_blocking(volt_cond *c, volt_mutex *m, uint64_t deadline_ns);

/* Waiting as a future, which begins here and not with the first poll: *f is queued and *m unlocked
 * by this call, as by volt_cond_wait(). It polls as VOLT_OK with the mutex held. Cancelled, dropped
 * or timed out, it leaves the mutex alone: not held, in whatever state it was. A grant that nobody
 * has polled is undone: the signal is passed on and the mutex unlocked.
 * m: held by the caller; the same for all who wait now (aborts).
 * f: not WAITING; overwritten; must not move from now on until it is ready or cancelled.
 * Returns f. */
VOLT_API volt_future *volt_cond_wait_future(volt_future *f, volt_cond *c, volt_mutex *m);

/* Let the oldest waiter have the mutex in its turn. Nothing happens if nobody waits.
 * Wakes: that waiter, if the mutex is free, on this thread, with nothing held.
 * Threads: any, with the mutex held or not; not from a signal handler. With it held, the condition
 *   variable is not touched any more once the mutex is unlocked. */
VOLT_API void volt_cond_signal(volt_cond *c);

/* Let everybody who waits now have the mutex, oldest first, one after the other. Takes a step for
 * each of them; while it does, neither the mutex nor its queue is held up.
 * Wakes: the oldest, if the mutex is free, on this thread, with nothing held. Threads: any. */
VOLT_API void volt_cond_broadcast(volt_cond *c);

/* Give up waiting.
 * w: last passed to volt_cond_wait() on this condition variable (or never used).
 * Returns true: cancelled, no wake will come, the mutex is not the caller's; a signal that had
 *   taken *w to the mutex already is passed on. Returns false: too late, the mutex is the caller's
 *   to unlock, and its one wake has come or will come. Either way the memory of *w is the caller's.
 * Threads: the owner of *w. May wake another on this thread, through what is passed on. */
VOLT_API VOLT_NODISCARD bool volt_cond_cancel(volt_cond *c, volt_waiter *w);

/* Replace the waker of a queued waiter. Returns true: replaced. Returns false: the mutex has been
 * granted to it, and the old waker has been or will be called; or it was cancelled.
 * Threads: the owner of *w. */
VOLT_API VOLT_NODISCARD bool volt_cond_set_waker(volt_cond *c, volt_waiter *w, volt_waker waker);

/* How many wait now for a signal. A snapshot. Threads: any. */
VOLT_API uint32_t volt_cond_waiters(const volt_cond *c);

VOLT_END_DECLS
#endif
