/* loop.h: an event loop that is not volt's (epoll, libuv, a toolkit's) waits for futures.
 *
 * A wake comes after the grant, on the granter's thread. By then the loop may have seen that its
 * future is ready, freed it, and begun to end. So what the wake touches must outlive the wake, not
 * only the future, and a loop has to know when no wake is on its way any more. A volt_loop counts
 * the wakes to come, and says when there are none. It tells the loop to poll by calling one
 * function of the loop's: a write to an eventfd, or uv_async_send().
 *
 *   static void tell(void *arg) {
 *     uint64_t one = 1;
 *     (void)!write(*(int *)arg, &one, sizeof one);
 *   }
 *
 *   static volt_loop loop = VOLT_LOOP_INIT(tell, &eventfd);
 *
 *   volt_sem_acquire_future(&f, &sem, 1);
 *   if (volt_loop_poll(&loop, &f) == VOLT_PENDING) ... tell() will be called: poll f again then
 *
 *   volt_future_cancel(&f);                                  each future that still waits
 *   volt_loop_close_blocking(&loop, VOLT_NO_DEADLINE);
 *   close(eventfd);
 *
 * A loop may have one volt_loop for all its futures: when told, it polls every future that waits.
 * Of several wakes that come before the loop polls again, only the first calls tell(). Or a loop
 * has a volt_loop for each future, or for each connection: arg says which one was woken, so the
 * loop polls only that. Each volt_loop is then closed for itself.
 *
 * A future that a loop awaits may be composed (volt/select.h, volt/async.h): it wakes for each of
 * its leaves. A loop that wants to count wakes in its own way calls volt_future_poll_ctx(). */
#ifndef VOLT_LOOP_H
#define VOLT_LOOP_H

#include "future.h"

/* Members are private. word: bit 0 NOTIFIED, bit 1 CLOSED, bits 2..63 wakes to come. */
typedef struct volt_loop {
  VOLT_ATOMIC(uint64_t) word;
  VOLT_PLAIN(volt_wake_fn) notify;
  VOLT_PLAIN(void *) arg;
  VOLT_PLAIN(volt_wake_fn) settled; /* once CLOSED */
  VOLT_PLAIN(void *) settled_ctx;
} volt_loop;
VOLT_SIZE_AT_MOST_(volt_loop, 64);

/* A volt_loop that calls tell(arg); tell and arg as in volt_loop_init(). */
#define VOLT_LOOP_INIT(tell, arg) \
  { 0, (tell), (arg), NULL, NULL }

VOLT_BEGIN_DECLS

/* Make *l tell a loop by tell.wake(tell.ctx).
 * tell: called on any thread, with nothing held, on several threads at once; it should be short, as
 *   every waker. The loop's thread has to see what the telling thread did before tell(); a write to
 *   an eventfd and its read see to that. tell.ctx must live until *l is settled. A tell.wake that
 *   is NULL aborts. */
VOLT_API void volt_loop_init(volt_loop *l, volt_waker tell);

/* Poll a future for this loop: start it, or look whether it is ready.
 * Returns as volt_future_poll(). VOLT_PENDING: the loop will be told. It then polls every future
 *   that it waits for; those that were not woken stay VOLT_PENDING. Aborts after volt_loop_close().
 * Wakes: tell, when a future that was polled here is woken, unless tell was called since the last
 *   poll. Tell is called even if that future is ready or freed by then. It is called inside this
 *   call if the future only lets others run (VOLT_YIELD).
 * Cancel: volt_future_cancel(). Threads: the loop's. Order: as volt_future_poll(). */
VOLT_API VOLT_NODISCARD int volt_loop_poll(volt_loop *l, volt_future *f);

/* Whether no wake is to come: no future that was polled for this loop waits, and no thread is in
 * tell or on its way there. If so, *l and what tell touches may be freed, unless *l is polled with
 * again or was closed.
 * Threads: the loop's. Order: acquires what the threads that told it did before. */
VOLT_API VOLT_NODISCARD bool volt_loop_is_settled(volt_loop *l);

/* Begin to end: *l is not polled with any more. *l settles only when every future that waits has
 * been cancelled, before this call or after it, or has been granted.
 * settled: called once if this call returns VOLT_PENDING, when no wake is to come any more. It
 *   comes after the last access to *l, so it may free *l and what tell touches. A loop that frees
 *   them itself waits until settled has been called; volt_loop_is_settled() is not enough then.
 *   It may be called within the volt_future_cancel() that comes last, if that comes after this call;
 *   that future is in use until its cancel returns. So a loop whose settled frees the futures, too,
 *   cancels them before it calls this.
 * Returns VOLT_OK (settled already: *l and what tell touches are the caller's, and settled is never
 *   called), or VOLT_PENDING. Closing twice aborts.
 * Wakes: settled, on the thread that wakes or cancels last, with nothing held. A loop whose handle
 *   only its own thread may close (libuv's) lets settled set a mark, and then tell the loop.
 * Threads: the loop's. Order: settled, and VOLT_OK, acquire what every thread that told the loop
 *   did before. */
VOLT_API VOLT_NODISCARD int volt_loop_close(volt_loop *l, volt_waker settled);

/* The same, and block this thread until *l is settled or deadline_ns (as volt_now_ns()) has passed.
 * Returns VOLT_OK: *l and what tell touches are the caller's; or VOLT_ETIMEDOUT: *l is open as
 *   before, because a future has not been cancelled or a waker takes long.
 * Threads: the loop's, where it may block: not within tell, nor within another waker. */
VOLT_API int volt_loop_close_blocking(volt_loop *l, uint64_t deadline_ns);

VOLT_END_DECLS
#endif
