/* promise.h: a future of one's own, for the result of an operation that is not volt's.
 *
 * It may be of a library with callbacks, a device, or a thread that computes.
 *
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
 *   static int start(volt_promise *p) {
 *     struct fetch *f = volt_container_of(p, struct fetch, promise);
 *     f->request = request_begin(when_done, f);
 *     return f->request ? VOLT_PENDING : VOLT_ENOMEM;
 *   }
 *   static bool cancel(volt_promise *p) {
 *     return request_abort(volt_container_of(p, struct fetch, promise)->request);
 *   }
 *   static const volt_promise_ops ops = {start, cancel, NULL};
 *
 *   struct fetch fetch = {VOLT_PROMISE_INIT(&ops), NULL};
 *   volt_future f;
 *   int r = volt_block_on(volt_promise_future(&f, &fetch.promise), deadline_ns);
 *
 * (fetch may be on this stack only if request_abort() never fails: see Lifetime.) The future is as
 * any other: for threads, tasks and loops, in a select, with a timeout.
 *
 * Life: a promise is idle at first. The first poll of a future calls start(), and the promise is
 * begun. volt_promise_complete() makes it complete. When a future has polled the result it is idle
 * again, and the next future begins another operation. Without start() the operation begins by
 * itself: it may complete before a future is polled, and the result is kept. One future waits at a
 * time.
 *
 * Giving up: a future that is cancelled, times out, or loses a select, asks cancel() to stop the
 * operation. If cancel() returns true, volt_promise_complete() is not called any more. Else the
 * operation goes on without the future, which is ready at once all the same.
 *   With discard(), each operation ends in one of two ways: a future polls its result, or discard()
 * gets it; the result is VOLT_ECANCELED if the operation was stopped.
 *   Without discard(), a promise whose operation was stopped is idle. A result that still comes is
 * kept for another future.
 *
 * Lifetime: the promise may be freed when a future has polled the result, also while
 * volt_promise_complete() is still returning; within discard(); and, while it is idle, when no
 * future waits and no operation that began by itself will complete it. An operation that cancel()
 * cannot stop needs memory that outlives it. That is not the frame of a task that may end before.
 * Nor is it the memory of the future: its owner may still be cancelling it while discard() runs. */
#ifndef VOLT_PROMISE_H
#define VOLT_PROMISE_H

#include "detail/fifo.h"
#include "future.h"

typedef struct volt_promise volt_promise;

/* What an operation does for its promise. Called with nothing held. */
typedef struct volt_promise_ops {
  /* Begin the operation. Called by the first poll of a future, on its thread. The future is queued
   * already, so the promise may be completed within.
   * Returns VOLT_PENDING: volt_promise_complete() was called once, or will be. Or returns the
   *   result: it was not called and will not be (aborts if it was). NULL: the operation begins by
   *   itself. */
  int (*start)(volt_promise *p);
  /* The future was given up: stop the operation. Called on the thread that gave the future up.
   * Returns true: volt_promise_complete() was not called and will not be (aborts if it was).
   * Returns false: it was called, or will be. NULL: as one that returns false. */
  bool (*cancel)(volt_promise *p);
  /* The operation has ended, and no future takes the result: free what came with the result. Called
   * on the thread that gives up or on that which completes, whichever comes later. It is the last
   * access to *p, so it may free *p.
   * result: of volt_promise_complete(); or VOLT_ECANCELED if cancel() has stopped the operation.
   * NULL: the result is kept for another future. */
  void (*discard)(volt_promise *p, int result);
} volt_promise_ops;

/* Members are private. */
struct volt_promise {
  volt_fifo_ queue; /* of the one that waits */
  const volt_promise_ops *ops;
  VOLT_PLAIN(uint32_t) state; /* idle, begun, given up, or complete */
  VOLT_PLAIN(int) result;     /* in complete */
};
VOLT_SIZE_AT_MOST_(volt_promise, 64);

/* An idle one; ops: as of volt_promise_init(). */
#define VOLT_PROMISE_INIT(ops) \
  { VOLT_FIFO_INIT_(0), (ops), 0, 0 }

VOLT_BEGIN_DECLS

/* Make *p an idle promise. ops: the caller's, lives as long as *p; NULL: none of the three
 * functions. */
VOLT_API void volt_promise_init(volt_promise *p, const volt_promise_ops *ops);

/* End its life; frees nothing, and discards no result that is kept. Aborts if a future waits, if an
 * operation is under way that start() has begun, or if a future gave an operation up that discard()
 * has yet to get the result of. */
VOLT_API void volt_promise_destroy(volt_promise *p);

/* The operation is over: tell the future that waits, or keep the result for a future that comes, or
 * call discard() if the operation was given up.
 * result: what the future polls as; not VOLT_PENDING (aborts).
 * Aborts if an earlier result has not been polled yet, or if there is a start() and it was not
 *   called.
 * Wakes: the future's waker, on this thread, with nothing held; or discard() is called here.
 * Threads: any; not from a signal handler, which has to tell a thread by other means.
 * Order: releases what this thread did before to the poll that returns the result. */
VOLT_API void volt_promise_complete(volt_promise *p, int result);

/* Awaiting the result as a future.
 * f: not WAITING; its content is overwritten; in memory of its own (see Lifetime above).
 * Returns f. It polls as start() returned, or as the promise was completed. The first poll aborts
 *   if another future waits, or if the operation was given up and has not completed yet.
 * Cancel: volt_future_cancel() asks cancel(), and does not wait for the operation. A result that
 *   came first, or that the future of a select polled before another branch won, goes to discard(),
 *   or is kept if there is none. */
VOLT_API volt_future *volt_promise_future(volt_future *f, volt_promise *p);

VOLT_END_DECLS
#endif
