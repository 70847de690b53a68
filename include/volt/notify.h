/* notify.h: tell one waiter, or all, that something has happened.
 *
 * volt_notify_one() wakes the oldest waiter; if nobody waits it is stored, and the next who waits
 * does not have to. At most one is stored. volt_notify_all() wakes everybody who waits now, and
 * stores nothing.
 *
 * What has happened is said elsewhere, and has to be looked at between making the future and
 * awaiting it. Then no volt_notify_all() is missed, and if nobody else waits, no volt_notify_one():
 *
 *   for (;;) {
 *     volt_notify_future(&self->f, &changed);
 *     if (is_true(condition)) break;
 *     VOLT_AWAIT(self, &self->f);
 *   }
 *
 * Where several wait for volt_notify_one() that is not enough: a future is queued by its first
 * poll, and of two notifications that find nobody queued one is forgotten. So poll it once before
 * looking, and cancel what is not awaited:
 *
 *     volt_notify_future(&self->f, &changed);
 *     volt_future_poll(&self->f, nobody);        queued, with a zero waker; or has the stored one
 *     if (is_true(condition)) break;
 *     VOLT_AWAIT(self, &self->f);
 *   }
 *   volt_future_cancel(&self->f);                passes on what it was given alone meanwhile
 *
 * A thread, or a loop, that queues a waiter of its own does the same: volt_notify_wait() first,
 * then the condition, then it waits, or volt_notify_cancel().
 *
 * All-zero is a valid notify. Nothing is ever allocated. */
#ifndef VOLT_NOTIFY_H
#define VOLT_NOTIFY_H

#include "detail/fifo.h"
#include "future.h"

/* Members are private. */
typedef struct volt_notify {
  volt_fifo_ queue; /* the value of its word: how often all were notified, and one stored */
} volt_notify;
VOLT_SIZE_AT_MOST_(volt_notify, 64);

#define VOLT_NOTIFY_INIT \
  { VOLT_FIFO_INIT_(0) }

VOLT_BEGIN_DECLS

/* Make *n a notify with nothing stored. */
VOLT_API void volt_notify_init(volt_notify *n);

/* End its life. Nobody may be waiting (aborts) or use it again. Waits for a volt_notify_all() that
 * has more than 32 waiters to tell; so not from a waker that this notify calls. */
VOLT_API void volt_notify_destroy(volt_notify *n);

/* Wake the oldest waiter; if there is none, store the notification for the next one. One that is
 * stored already stays the only one; a future that was not polled yet is not among the waiters.
 * Wakes: that waiter, with nothing held, on this thread. Threads: any; not from a signal handler.
 * Order: releases what this thread did before to whoever it wakes, or takes what is stored. */
VOLT_API void volt_notify_one(volt_notify *n);

/* Wake everybody who waits, and every future that was made and not polled yet.
 * Wakes: all of them, oldest first, with nothing held, on this thread; those beyond the first 32
 *   possibly on another one that uses the notify meanwhile. Threads, order: as above. */
VOLT_API void volt_notify_all(volt_notify *n);

/* Take what is stored, or queue *w for a notification.
 * w: the caller's memory, unused or completed; must stay where it is while queued.
 * Returns VOLT_OK (there was one stored; *w unused) or VOLT_PENDING (queued).
 * Wakes: waker, exactly once, on the thread that notifies (or cancels), with nothing held.
 * Cancel: volt_notify_cancel(). Threads: any. Order: acquires what the notifier did. */
VOLT_API VOLT_NODISCARD int volt_notify_wait(volt_notify *n, volt_waiter *w, volt_waker waker);

/* Wait; block this thread until notified or the deadline has passed. Queued by this call: a
 * volt_notify_all() between looking and this call is missed (a future that was made before looking,
 * and volt_block_on(), miss none).
 * deadline_ns: as volt_now_ns(); a time in the past: do not wait; VOLT_NO_DEADLINE: for ever.
 * Returns VOLT_OK, or VOLT_ETIMEDOUT: no notification was taken. Threads: any that may block. */
VOLT_API int volt_notify_wait_blocking(volt_notify *n, uint64_t deadline_ns);

/* Waiting as a future. A volt_notify_all() from now on makes it ready, also before it is polled; it
 * takes its place in the FIFO when it is polled. Dropped after volt_notify_one() has woken it, it
 * passes that on to the next.
 * f: not WAITING; its content is overwritten. Returns f. */
VOLT_API volt_future *volt_notify_future(volt_future *f, volt_notify *n);

/* Give up waiting.
 * w: last passed to volt_notify_wait() on this notify (or never used).
 * Returns true: cancelled, no wake will come, no notification was taken. Returns false: too late,
 *   it was notified; its one wake has come or will come. If the notification was volt_notify_one()
 *   and is of no use to the caller, it is for the caller to call that again.
 * Threads: the owner of *w; that wake may come from within. */
VOLT_API VOLT_NODISCARD bool volt_notify_cancel(volt_notify *n, volt_waiter *w);

/* How many wait now. A snapshot. Threads: any. */
VOLT_API uint32_t volt_notify_waiters(const volt_notify *n);

VOLT_END_DECLS
#endif
