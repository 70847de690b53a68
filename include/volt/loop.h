/* loop.h: wait for futures in an event loop that is not of volt (epoll, libuv, a toolkit's).
 *
 * This is for a program without libvolt-rt. With it a bridge (volt/bridge.h) does all of this, and
 * has headers for libuv, GLib, libevent, libev and epoll.
 *
 * A wake comes after the grant, on the granter's thread. By then the loop may have seen that its
 * future is ready, freed it, and begun to end. So what the wake touches must outlive the wake, not
 * only the future, and a loop has to know when no wake is on its way any more. A volt_loop counts
 * the wakes that are to come. It asks the loop to poll by one function of the loop's, notify(): a
 * write to an eventfd, or uv_async_send().
 *
 *   static void notify(void *arg) {
 *     uint64_t one = 1;
 *     (void)!write(*(int *)arg, &one, sizeof one);
 *   }
 *
 *   static volt_loop loop = VOLT_LOOP_INIT(notify, &eventfd);
 *
 *   volt_future_made(volt_sem_acquire_future(&f, &sem, 1));
 *   if (volt_loop_poll(&loop, &f) == VOLT_PENDING) ... notify() will be called: poll f again then
 *
 *   volt_future_cancel(&f);                                  each future that still waits
 *   volt_loop_close(&loop);
 *   close(eventfd);
 *
 * A loop may have one volt_loop for all its futures. When it is notified it polls every future that
 * waits. Of several wakes that come before the next poll, only the first calls notify(). Or a loop
 * has a volt_loop for each future, or for each connection. Then arg says which one was woken, and
 * the loop polls only that; each volt_loop is closed by itself.
 *
 * All-zero is not valid: a poll of a future that has to wait aborts.
 *
 * A future that a loop awaits may be composed (volt/select.h, volt/async.h): it wakes for each of
 * its leaves. A loop that wants to count wakes in its own way calls volt_future_poll_ctx(). */
#ifndef VOLT_LOOP_H
#define VOLT_LOOP_H

#include "future.h"

/* Members are private. word: bit 0 NOTIFIED, bit 1 CLOSED, bits 2 to 63: how many wakes are to
 * come. */
typedef struct volt_loop {
  VOLT_ATOMIC(uint64_t) word;
  VOLT_PLAIN(volt_wake_fn) notify;
  VOLT_PLAIN(void *) arg;
  VOLT_PLAIN(volt_wake_fn) settled; /* set when it is CLOSED */
  VOLT_PLAIN(void *) settled_ctx;
} volt_loop;
VOLT_SIZE_AT_MOST_(volt_loop, 64);

/* A volt_loop that calls notify(arg); these are wake and ctx of volt_loop_init()'s notify. */
#define VOLT_LOOP_INIT(notify, arg) \
  { 0, (notify), (arg), NULL, NULL }

VOLT_BEGIN_DECLS

/* Make *l open, for a loop that is notified by notify.wake(notify.ctx).
 * notify: called on any thread, also on several at once, with no lock held. It should be short, as
 *   every waker. The loop's thread has to see what the notifying thread did before; a write to an
 *   eventfd and its read see to that. notify.ctx must live until *l is settled. A notify.wake that
 *   is NULL aborts. */
VOLT_API void volt_loop_init(volt_loop *l, volt_waker notify);

/* Poll a future for this loop: start it, or ask whether it is ready.
 * f: while it is VOLT_PENDING it must not move, and must be cancelled before it is freed.
 * Returns as volt_future_poll(). VOLT_PENDING: the loop will be notified. It then polls every
 *   future that it waits for; those that were not woken stay VOLT_PENDING. Aborts after
 *   volt_loop_close_then().
 * Wakes: notify, when a future that was polled here is woken, unless notify was called since the
 *   last poll. Notify is called even if that future is ready or freed by then. It is called inside
 *   this call if the future only lets others run (VOLT_YIELD).
 * Cancel: volt_future_cancel(). Threads: the loop's. Order: as volt_future_poll(). */
VOLT_API VOLT_NODISCARD int volt_loop_poll(volt_loop *l, volt_future *f);

/* Whether no wake is to come: no future that was polled for this loop waits, and no thread is in
 * notify or on its way there. If so, *l and what notify touches may be freed, unless the loop polls
 * with *l again, or has closed it.
 * Threads: the loop's. Order: acquires what the threads that notified it did before. */
VOLT_API VOLT_NODISCARD bool volt_loop_is_settled(volt_loop *l);

/* Begin to end: the loop does not poll with *l any more. *l settles when every future that waits
 * has been granted, or has been cancelled before or after this call.
 * settled: called once if this call returns VOLT_PENDING, when no wake is to come any more. It
 *   comes after the last access to *l, so it may free *l and what notify touches. A loop that frees
 *   them itself waits until settled has been called; volt_loop_is_settled() is not enough then.
 *   If the last future is cancelled after this call, settled may be called within that
 *   volt_future_cancel(), and the future is in use until its cancel returns. So a loop whose
 *   settled frees the futures, too, cancels them before it calls this.
 * Returns VOLT_OK (settled already: *l and what notify touches are the caller's, and settled is
 *   never called), or VOLT_PENDING. Closing twice aborts.
 * Wakes: settled, on the thread that wakes or cancels last, with no lock held. If only the loop's
 *   own thread may close its handle (libuv's), settled sends to a second handle, which nothing else
 *   uses: a mark beside the first handle could be seen, and that handle closed, before settled has
 *   sent to it.
 * Threads: the loop's. Order: settled, and VOLT_OK, acquire what every thread that notified the
 *   loop did before. */
VOLT_API VOLT_NODISCARD int volt_loop_close_then(volt_loop *l, volt_waker settled);

/* Close *l as volt_loop_close_then() does, and block this thread until *l is settled, or until
 * deadline_ns (as volt_now_ns()) has passed.
 * volt_loop_close() has no deadline: it waits for as long as that takes.
 * Returns VOLT_OK: *l and what notify touches are the caller's; or VOLT_ETIMEDOUT: *l is open as
 *   before, because a future has not been cancelled or a waker takes long. A fiber that is cancelled
 *   leaves it open, too (volt/base.h).
 * Threads: the loop's, where it may block: not within notify, nor within another waker.
 * Order: VOLT_OK acquires what every thread that notified the loop did before. */
VOLT_API int volt_loop_close_until(volt_loop *l, uint64_t deadline_ns);
VOLT_INLINE int volt_loop_close(volt_loop *l) {
  return volt_loop_close_until(l, VOLT_NO_DEADLINE);
}

VOLT_END_DECLS
#endif
