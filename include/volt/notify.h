/* notify.h: wake one waiter, or all, because something has happened.
 *
 * volt_notify_one() wakes the oldest waiter. If no waiter is queued, the notification is stored,
 * and the next wait returns at once. At most one notification is stored. volt_notify_all() wakes
 * all waiters that are queued now, and stores nothing.
 *
 * A notification does not say what has happened. So the program has a condition of its own, and
 * checks it between making the future and awaiting it. Then it misses no volt_notify_all(), and, if
 * it is the only one to wait, no volt_notify_one():
 *
 *   for (;;) {
 *     volt_future_made(volt_notify_wait_future(&self->f, &changed));
 *     if (is_true(condition)) break;
 *     VOLT_AWAIT(self, &self->f);
 *   }
 *
 * If several tasks wait for volt_notify_one(), that is not enough: a future is queued by its first
 * poll, and of two notifications that come while no waiter is queued only one is stored. So poll
 * the future once before the check, and cancel it if it is not awaited:
 *
 *   for (;;) {
 *     volt_future_made(volt_notify_wait_future(&self->f, &changed));
 *     volt_future_poll(&self->f, no_waker);      queued, or ready with the stored one
 *     if (is_true(condition)) break;
 *     VOLT_AWAIT(self, &self->f);
 *   }
 *   volt_future_cancel(&self->f);                passes on a volt_notify_one() that it has got
 *
 * A thread or an event loop with a waiter of its own does the same: it calls volt_notify_wait_waiter(),
 * then checks the condition, and then waits, or calls volt_notify_cancel().
 *
 * All-zero is a valid notify. Nothing is ever allocated. */
#ifndef VOLT_NOTIFY_H
#define VOLT_NOTIFY_H

#include "detail/fifo.h"
#include "future.h"

/* Members are private. */
typedef struct volt_notify {
  volt_fifo_ queue; /* the word's value: how often all were notified, and whether one is stored */
} volt_notify;
VOLT_SIZE_AT_MOST_(volt_notify, 64);

/* A notify with nothing stored. */
#define VOLT_NOTIFY_INIT \
  { VOLT_FIFO_INIT_(0) }

VOLT_BEGIN_DECLS

/* Make *n a notify with nothing stored. */
VOLT_API void volt_notify_init(volt_notify *n);

/* End its life; frees nothing. No waiter may be queued (aborts), and no thread may use *n again.
 * Waits for a volt_notify_all() that has more than 32 waiters to wake. So it must not be called by
 * a waker that this notify calls. */
VOLT_API void volt_notify_destroy(volt_notify *n);

/* Wake the oldest waiter; if no waiter is queued, store the notification for the next one. If one
 * is stored already, it stays the only one. A future is not queued before its first poll.
 * Wakes: that waiter, with nothing held, on this thread. Threads: any; not from a signal handler.
 * Order: releases what this thread did before to the waiter that gets the notification. */
VOLT_API void volt_notify_one(volt_notify *n);

/* Wake all waiters that are queued now. Futures that were made and not polled yet become ready,
 * too.
 * Wakes: all waiters, oldest first, with nothing held, on this thread; those beyond the first 32
 *   possibly on another thread that uses the notify meanwhile.
 * Threads: any; not from a signal handler.
 * Order: releases what this thread did before to each waiter that it wakes. */
VOLT_API void volt_notify_all(volt_notify *n);

/* Take what is stored, or queue *w for a notification.
 * w: the caller's memory, unused or completed; must stay where it is while queued.
 * Returns VOLT_OK (one was stored; *w unused) or VOLT_PENDING (queued).
 * Wakes: waker, exactly once, on the thread that notifies (or cancels), with nothing held.
 * Cancel: volt_notify_cancel(). Threads: any. Order: acquires what the notifier did. */
VOLT_API VOLT_NODISCARD int volt_notify_wait_waiter(volt_notify *n, volt_waiter *w,
                                                    volt_waker waker);

/* Wait; block this thread until it is notified or the deadline has passed. It is queued by this
 * call, so it misses a volt_notify_all() that comes between a check of the condition and this call.
 * (To miss none, make a future before the check, and wait with volt_future_wait_until().)
 * deadline_ns: as volt_now_ns(); a time in the past: do not wait; VOLT_NO_DEADLINE: for ever.
 * volt_notify_wait() has no deadline: it waits for as long as that takes.
 * Returns VOLT_OK, or VOLT_ETIMEDOUT: no notification was taken. Threads: any that may block. */
VOLT_API int volt_notify_wait_until(volt_notify *n, uint64_t deadline_ns);
VOLT_INLINE int volt_notify_wait(volt_notify *n) {
  return volt_notify_wait_until(n, VOLT_NO_DEADLINE);
}

/* The same as volt_notify_wait_waiter() as a future. It is queued when it is first polled, but a
 * volt_notify_all() makes it ready from now on. If it is dropped after a volt_notify_one() has
 * reached it and before a poll has returned that, the notification is passed on to the next waiter.
 * f: not WAITING; its content is overwritten. Returns f. */
VOLT_API VOLT_NODISCARD volt_future *volt_notify_wait_future(volt_future *f, volt_notify *n);

/* Give up waiting.
 * w: last passed to volt_notify_wait_waiter() on this notify (or never used).
 * Returns true: cancelled, no wake will come, no notification was taken. Returns false: too late,
 *   it was notified; its one wake has come or will come. If that was a volt_notify_one() and is of
 *   no use to the caller, the caller passes it on by calling volt_notify_one().
 * Threads: the owner of *w. That wake may come from within this call. */
VOLT_API VOLT_NODISCARD bool volt_notify_cancel(volt_notify *n, volt_waiter *w);

/* How many waiters are queued now. A snapshot. Threads: any. */
VOLT_API uint32_t volt_notify_waiters(const volt_notify *n);

VOLT_END_DECLS
#endif
