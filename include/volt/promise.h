/* promise.h: a future of one's own: the result of what is not volt's, say a library with callbacks,
 * a device, or a thread that computes.
 *
 * A promise is embedded in the struct of the operation. A task, thread or loop awaits its future;
 * the operation completes it, once, from any thread. Three functions begin and end the operation,
 * and each of them may be missing:
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
 * The future is like any other: for threads, tasks, loops, in a select, with a timeout.
 *
 * Life: idle; begun, by start(), when a future is polled for the first time; complete, by
 * volt_promise_complete(); and when a future has polled the result, idle again, so that the next
 * future begins another operation. Without start() the operation begins by itself: it may complete
 * before a future is polled, and the result is kept. One future waits at a time.
 *
 * Giving up: a future that is cancelled, timed out, or loses a select, asks cancel() to stop the
 * operation. If that says that it has, nobody will complete it. Else the operation goes on without
 * the future, which is ready all the same, at once. With discard(), an operation that was begun ends
 * once: a future polls its result, or discard() gets it, VOLT_ECANCELED if it was stopped. Without
 * discard() the promise is idle when it was stopped, and a result that still comes is kept for
 * another future.
 *
 * Lifetime: the promise may be freed when a future has polled the result, also while
 * volt_promise_complete() is still returning; within discard(); and, idle, when no future waits. An
 * operation that cancel() cannot stop needs memory that outlives it: not the frame of a task that may
 * end before, and not that of the future, whose owner is still cancelling it while discard() runs. */
#ifndef VOLT_PROMISE_H
#define VOLT_PROMISE_H

#include "future.h"
#include "wait_queue.h"

typedef struct volt_promise volt_promise;

/* What an operation does for its promise. Called with nothing held. */
typedef struct volt_promise_ops {
  /* Begin. By the poll of a future, which waits already: it may be completed within.
   * Returns VOLT_PENDING: volt_promise_complete() is called once from now on; or the result, and it
   *   is not called. NULL: it begins by itself. */
  int (*start)(volt_promise *p);
  /* The future was given up: stop it. On the thread that gave it up.
   * Returns true: volt_promise_complete() was not called and will not be; false: it was, or will be.
   *   NULL: false. */
  bool (*cancel)(volt_promise *p);
  /* It has ended, and no future takes the result: give back what it has brought. On the thread that
   * gives up, or that completes, whichever comes later; the last access to *p, which may be freed.
   * result: as completed; VOLT_ECANCELED if cancel() has stopped it. NULL: a result is kept. */
  void (*discard)(volt_promise *p, int result);
} volt_promise_ops;

/* Members are private. */
struct volt_promise {
  volt_wait_queue queue; /* of the one that waits */
  const volt_promise_ops *ops;
  VOLT_PLAIN(uint32_t) state; /* idle, begun, given up, or complete */
  VOLT_PLAIN(int) result;     /* in complete */
};

/* An idle one; ops: as of volt_promise_init(). */
#define VOLT_PROMISE_INIT(ops) \
  { VOLT_WAIT_QUEUE_INIT_(0), (ops), 0, 0 }

VOLT_BEGIN_DECLS

/* Make *p an idle promise. ops: lives as long as it; NULL: none of the three functions. */
VOLT_API void volt_promise_init(volt_promise *p, const volt_promise_ops *ops);

/* End its life. Aborts if a future waits, or an operation is under way that start() has begun. */
VOLT_API void volt_promise_destroy(volt_promise *p);

/* The operation is over: tell the future that waits, or keep the result for one that comes, or
 * discard it if it was given up.
 * result: what the future polls as; not VOLT_PENDING (aborts).
 * Aborts if it was completed and not polled yet, or not begun.
 * Wakes: the future's waker, on this thread, with nothing held; or discard() is called here.
 * Threads: any; not from a signal handler: tell a thread by other means there. Order: releases what
 *   this thread did before to who polls the result. */
VOLT_API void volt_promise_complete(volt_promise *p, int result);

/* Awaiting the result as a future.
 * f: not WAITING; its content is overwritten; in memory of its own (see Lifetime above).
 * Returns f. It polls as start() returned or as it was completed; aborts if another future waits, or
 *   the operation was given up and has not completed yet.
 * Cancel: volt_future_cancel() asks cancel(), and does not wait. A result that came first, or that a
 *   select has polled in vain, is discarded, or kept. */
VOLT_API volt_future *volt_promise_future(volt_future *f, volt_promise *p);

VOLT_END_DECLS
#endif
