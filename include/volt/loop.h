/* loop.h: an event loop that is not volt's (epoll, libuv, a toolkit's) waits for futures.
 *
 * A wake comes after the grant, on the granter's thread: by then the loop may have seen that its
 * future is ready, freed it, and begun to end. So what the wake touches must outlive the wake, not
 * the future, and a loop has to know when no wake is on its way any more. A volt_loop counts them,
 * and says so. It tells the loop to look by one function of the loop's, say a write to an eventfd,
 * or uv_async_send().
 *
 *   static void tell(void *arg) {
 *     uint64_t one = 1;
 *     (void)!write(*(int *)arg, &one, sizeof one);
 *   }
 *
 *   static volt_loop loop = VOLT_LOOP_INIT(tell, &eventfd);
 *
 *   volt_sem_acquire_future(&f, &sem, 1);
 *   if (volt_loop_poll(&loop, &f) == VOLT_PENDING) ... tell() will be called: poll it again then
 *
 *   volt_future_cancel(&f);                                  each one that still waits
 *   volt_loop_close_blocking(&loop, VOLT_NO_DEADLINE);
 *   close(eventfd);
 *
 * One volt_loop for all futures of a loop: when told, the loop polls all that wait. Wakes that come
 * before it does so are told once. Or one volt_loop for each future, or connection: arg says which
 * one it is, and the cost of being told does not grow with those that wait; each of them is closed
 * for itself.
 *
 * What a loop awaits may be composed (volt/select.h, volt/async.h): such a future wakes for each of
 * its leaves. What is to be counted differently is driven by volt_future_poll_ctx(). */
#ifndef VOLT_LOOP_H
#define VOLT_LOOP_H

#include "future.h"

/* Members are private. word: bit 0 TOLD, bit 1 CLOSED, bits 2..63 wakes to come. */
typedef struct volt_loop {
  VOLT_ATOMIC(uint64_t) word;
  VOLT_PLAIN(volt_wake_fn) tell;
  VOLT_PLAIN(void *) arg;
  VOLT_PLAIN(volt_wake_fn) settled; /* once CLOSED */
  VOLT_PLAIN(void *) settled_ctx;
} volt_loop;

/* One that calls tell(arg): as of volt_loop_init(). */
#define VOLT_LOOP_INIT(tell, arg) \
  { 0, (tell), (arg), NULL, NULL }

VOLT_BEGIN_DECLS

/* Make *l tell a loop by tell.wake(tell.ctx).
 * tell: called on any thread, with nothing held, by several at once; short, as every waker; what
 *   came before it has to be seen by whoever polls because of it, as that of a write to an eventfd
 *   is by the read. Its ctx must live until *l is settled. */
VOLT_API void volt_loop_init(volt_loop *l, volt_waker tell);

/* Poll a future for this loop: start it, or look whether it is ready.
 * Returns as volt_future_poll(). VOLT_PENDING: the loop will be told, after which every future that
 *   it waits for is to be polled; those that were not woken stay VOLT_PENDING.
 * Wakes: tell, when one of the futures that were polled has been woken and tell has not been called
 *   since the last poll; also when its future is ready or gone by now; and inside this call if the
 *   future only lets others run. After volt_loop_close() this aborts.
 * Cancel: volt_future_cancel(). Threads: the loop's. Order: as volt_future_poll(). */
VOLT_API VOLT_NODISCARD int volt_loop_poll(volt_loop *l, volt_future *f);

/* Whether no wake is to come: no future waits that was polled for this loop, and no thread is in
 * tell, or on its way there. If so, and *l is neither polled with again nor closed, it may be freed,
 * and what tell touches.
 * Threads: the loop's. Order: acquires what the threads that told it did before. */
VOLT_API VOLT_NODISCARD bool volt_loop_is_settled(volt_loop *l);

/* Begin to end: it is not polled with any more. Every future that waits has to be cancelled, before
 * or after, or to be granted.
 * settled: called when no wake is to come any more, if this call returns VOLT_PENDING; once, after
 *   the last access to *l: it may free that, and what tell touches. A loop that frees them itself
 *   waits for this call, not for volt_loop_is_settled().
 * Returns VOLT_OK (settled already: all of it is the caller's), or VOLT_PENDING. Closing twice
 *   aborts.
 * Wakes: settled, on the thread that wakes or cancels last, with nothing held. A loop whose handle
 *   only its own thread may close (libuv's) lets settled mark it and then tell the loop.
 * Threads: the loop's. Order: settled, or VOLT_OK, acquires what all did that have told the loop. */
VOLT_API VOLT_NODISCARD int volt_loop_close(volt_loop *l, volt_waker settled);

/* The same, and block this thread until it is settled or deadline_ns (as volt_now_ns()) has passed.
 * Returns VOLT_OK: all of it is the caller's; or VOLT_ETIMEDOUT: it is open as before, because a
 *   future has not been cancelled or a waker takes long.
 * Threads: the loop's, which may block here: not within tell, or another waker. */
VOLT_API int volt_loop_close_blocking(volt_loop *l, uint64_t deadline_ns);

VOLT_END_DECLS
#endif
