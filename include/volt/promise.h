/* promise.h: a future of one's own, for an operation that is not volt's.
 *
 * The operation may belong to a library with callbacks, to a device, or to a thread that computes.
 * A promise is embedded in the struct of the operation. A task, thread or loop awaits its future.
 * The operation completes the promise, once, from any thread. Three functions begin and end the
 * operation, and each of them may be missing:
 *
 *   struct fetch { volt_promise promise; struct request *request; };
 *
 *   static void when_done(void *arg, int status) {                the library's callback
 *     struct fetch *f = arg;
 *     volt_promise_complete(&f->promise, status == 200 ? VOLT_OK : VOLT_EINVAL);
 *   }
 *   static int fetch_start(volt_promise *p) {
 *     struct fetch *f = volt_container_of(p, struct fetch, promise);
 *     f->request = request_begin(when_done, f);
 *     return f->request ? VOLT_PENDING : VOLT_ENOMEM;
 *   }
 *   static bool fetch_cancel(volt_promise *p) {
 *     return request_abort(volt_container_of(p, struct fetch, promise)->request);
 *   }
 *   static const volt_promise_ops ops = {.start = fetch_start, .cancel = fetch_cancel};
 *
 *   struct fetch fetch = {.promise = VOLT_PROMISE_INIT(&ops)};
 *   volt_future f;
 *   int r = volt_future_wait_until(volt_promise_future(&f, &fetch.promise), deadline_ns);
 *
 * All-zero is an idle promise without functions: its operation begins by itself.
 * (fetch may be on this stack only if request_abort() never fails: see Lifetime.) The future is
 * like any other: for threads, tasks and loops, in a select, with a timeout.
 *
 * Life: a promise is idle at first. The first poll of a future calls start(), and the promise is
 * begun. volt_promise_complete() makes it complete. When a future has polled the result, the
 * promise is idle again, and the next future begins another operation. Without start() the
 * operation begins by itself: it may complete before a future is polled, and then the result is
 * kept. One future waits at a time.
 *
 * Giving up: a future that is cancelled, times out, or loses a select, asks cancel() to stop the
 * operation. If cancel() returns true, volt_promise_complete() is not called any more. Otherwise
 * the operation goes on without the future, which is ready at once all the same.
 *   With discard(), each operation ends in one of two ways: a future polls its result, or discard()
 * gets the result. If the operation was stopped, the result is VOLT_ECANCELED.
 *   Without discard(), a promise whose operation was stopped is idle. If a result still comes, it
 * is kept for another future.
 *
 * Lifetime: the promise may be freed in three cases:
 * - when a future has polled the result, also while volt_promise_complete() is still returning;
 * - within discard();
 * - while it is idle, if no future waits and no operation that began by itself will complete it.
 *
 * An operation that cancel() cannot stop needs memory that outlives it. The frame of a task that
 * may end before is not such memory. Nor is the memory of the future, because its owner may still
 * be cancelling it while discard() runs. */
#ifndef VOLT_PROMISE_H
#define VOLT_PROMISE_H

#include "detail/fifo.h"
#include "future.h"

typedef struct volt_promise volt_promise;

/* What an operation does for its promise. The functions are called with nothing held. */
typedef struct volt_promise_ops {
  /* Begin the operation. The first poll of a future calls it, on its thread. The future is queued
   * already, so the promise may be completed within.
   * Returns VOLT_PENDING: volt_promise_complete() was called once, or will be. Or returns the
   *   result: volt_promise_complete() was not called and will not be (aborts if it was). NULL: the
   *   operation begins by itself. */
  int (*start)(volt_promise *p);
  /* Stop the operation, because the future was given up. Called on the thread that gave it up.
   * Returns true: volt_promise_complete() was not called and will not be (aborts if it was).
   * Returns false: it was called, or will be. NULL: like a function that returns false. */
  bool (*cancel)(volt_promise *p);
  /* Free what came with the result, because the operation has ended and no future takes the result.
   * Called on the thread that gives the future up or on the thread that completes the promise, on
   * the later of the two. It is the last access to *p, so it may free *p.
   * result: of volt_promise_complete(); or VOLT_ECANCELED if cancel() has stopped the operation.
   * NULL: the result is kept for another future. */
  void (*discard)(volt_promise *p, int result);
} volt_promise_ops;

/* Members are private. */
struct volt_promise {
  volt_fifo_ queue; /* the waiter of the future */
  const volt_promise_ops *ops;
  VOLT_PLAIN(uint32_t) state; /* idle, begun, given up, or complete */
  VOLT_PLAIN(int) result;     /* if complete */
};
VOLT_SIZE_AT_MOST_(volt_promise, 64);

/* An idle promise. ops: as of volt_promise_init(). */
#define VOLT_PROMISE_INIT(ops) \
  { VOLT_FIFO_INIT_(0), (ops), 0, 0 }

VOLT_BEGIN_DECLS

/* ---- life ---- */

/* Make *p an idle promise.
 * ops: the caller's, lives as long as *p; NULL: none of the three functions. */
VOLT_API void volt_promise_init(volt_promise *p, const volt_promise_ops *ops);

/* End its life. Frees nothing. A result that is kept is lost, and not discarded. Aborts if a future
 * waits, if an operation that start() has begun is under way, or if discard() has not yet got the
 * result of an operation that was given up. */
VOLT_API void volt_promise_destroy(volt_promise *p);

/* ---- the operation's side ---- */

/* Complete the promise, because the operation is over. If a future waits, it completes. If none
 * does, the result is kept for a future that comes. If the operation was given up, this calls
 * discard().
 * result: what the future polls as; not VOLT_PENDING (aborts).
 *   Aborts if an earlier result was not polled yet, or if there is a start() and it was not called.
 * Wakes: the future's waker, on this thread, with nothing held; or discard() is called here.
 * Threads: any; not from a signal handler, which has to pass the result to a thread.
 * Order: releases what this thread did before to the poll that returns the result. */
VOLT_API void volt_promise_complete(volt_promise *p, int result);

/* ---- the waiting side ---- */

/* Awaiting the result as a future.
 * f: not WAITING; its content is overwritten; in memory of its own (see Lifetime above).
 * Returns f. It polls as start() returned, or as the promise was completed. The first poll aborts
 *   if another future waits, or if the operation was given up and has not completed yet.
 * Cancel: volt_future_cancel() asks cancel(), and does not wait for the operation. A result that
 *   came first, or that the future of a select polled before another branch won, goes to discard(),
 *   or is kept if there is none. */
VOLT_API VOLT_NODISCARD volt_future *volt_promise_future(volt_future *f, volt_promise *p);

VOLT_END_DECLS
#endif
