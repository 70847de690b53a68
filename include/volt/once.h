/* once.h: something is done once: the first who comes does it, the others wait.
 *
 *   static volt_once ready = VOLT_ONCE_INIT;
 *   int result = volt_once_call(&ready, open_database, &database);
 *   if (result != VOLT_OK) return result;         it failed here: the next caller tries again
 *
 * A task, or who initialises in more than one step, begins and ends it by itself:
 *
 *   VOLT_AWAIT_RESULT(self, r, volt_once_begin_future(&self->f, &ready));
 *   if (r == VOLT_OK) {                           our turn; else VOLT_DONE
 *     ...
 *     volt_once_done(&ready);                     or volt_once_failed(&ready)
 *   }
 *
 * If the one who does it fails, it is the turn of the oldest waiter. Once it is done, asking costs
 * one load. All-zero is a once that nobody has begun. Nothing is ever allocated. */
#ifndef VOLT_ONCE_H
#define VOLT_ONCE_H

#include "detail/fifo.h"
#include "future.h"

/* Members are private. */
typedef struct volt_once {
  volt_fifo_ queue; /* the value of its word is how far it is */
} volt_once;
VOLT_SIZE_AT_MOST_(volt_once, 64);

#define VOLT_ONCE_INIT \
  { VOLT_FIFO_INIT_(0) }

/* Private. */
enum { VOLT_ONCE_FRESH_ = 0, VOLT_ONCE_BEGUN_ = 1, VOLT_ONCE_DONE_ = 2 };

/* Does it. Returns VOLT_OK: it is done. Anything else: it is not. */
typedef int volt_once_fn(void *arg);

VOLT_BEGIN_DECLS

/* Make *o a once that nobody has begun. */
VOLT_API void volt_once_init(volt_once *o);

/* End its life. Nobody may be at it, wait for it (both abort) or use it again; those who were let
 * go may not have been told yet. But none of them may be in a cancel, a set_waker, a further poll
 * or the drop of a future, or a wait with a deadline: these look at the once until they return.
 * Waits for who has more than 32 of them to tell; so not from a waker that this once calls. */
VOLT_API void volt_once_destroy(volt_once *o);

/* Private: unless it is done already. */
VOLT_API int volt_once_call_slow_(volt_once *o, volt_once_fn *fn, void *arg);

/* Whether it is done.
 * Threads: any. Order: true acquires what was done before volt_once_done(). */
VOLT_INLINE bool volt_once_is_done(const volt_once *o) {
  /* once:T1 <- fifo:U1: who sees that it is done sees what was done */
  return VOLT_WORD_VALUE_(volt_load_acquire(&o->queue.word)) == VOLT_ONCE_DONE_;
}

/* Do it by calling fn(arg), unless somebody else does or did; block this thread while somebody
 * does. If that one fails, it is this one's turn, if nobody has waited longer.
 * fn: must return. It must not call volt_once_call() for the same *o, not even through another once
 *   (aborts). It must not wait for *o in any other way (it would wait for itself, for ever).
 * Returns VOLT_OK: it is done; else what fn has returned, called by this thread: it is not done.
 * Wakes: as volt_once_done() or volt_once_failed(), after fn. Threads: any that may block.
 * Order: VOLT_OK acquires what fn did. */
VOLT_INLINE VOLT_NODISCARD int volt_once_call(volt_once *o, volt_once_fn *fn, void *arg) {
  return VOLT_LIKELY(volt_once_is_done(o)) ? (int)VOLT_OK : volt_once_call_slow_(o, fn, arg);
}

/* Begin to do it, or queue *w until it is done, or our turn.
 * w: the caller's memory, unused or completed; must stay where it is while queued.
 * Returns VOLT_OK (our turn: volt_once_done() or volt_once_failed() has to follow; *w unused),
 *   VOLT_DONE (nothing is left to do; *w unused), or VOLT_PENDING (queued: volt_once_result()).
 * Wakes: waker, exactly once, on the thread that ends it, with nothing held.
 * Cancel: volt_once_cancel(). Threads: any; not from a signal handler.
 * Order: VOLT_DONE acquires what was done; VOLT_OK, what those did who failed before. */
VOLT_API VOLT_NODISCARD int volt_once_begin(volt_once *o, volt_waiter *w, volt_waker waker);

/* The same; block this thread until it is done, our turn, or the deadline has passed.
 * deadline_ns: as volt_now_ns(); a time in the past: do not wait; VOLT_NO_DEADLINE: for ever.
 * Returns VOLT_OK (our turn), VOLT_DONE, or VOLT_ETIMEDOUT. Threads: any that may block. */
VOLT_API VOLT_NODISCARD int volt_once_begin_blocking(volt_once *o, uint64_t deadline_ns);

/* What has become of the last volt_once_begin() that queued *w. volt_waiter_result() knows only
 * that it has completed.
 * Returns VOLT_PENDING while it is queued; VOLT_OK: it is our turn, as from volt_once_begin();
 *   VOLT_DONE; VOLT_ECANCELED if it was cancelled, or nothing was ever queued with it.
 * Threads: the owner of *w. Order: as volt_once_begin(). */
VOLT_API int volt_once_result(volt_waiter *w);

/* volt_once_begin() as a future: nothing happens before it is polled. Polls as VOLT_OK (our turn)
 * or VOLT_DONE. Both are successes: VOLT_AWAIT goes on, VOLT_AWAIT_RESULT says which. Dropped after
 * its turn has come, it passes that on, as volt_once_failed() does.
 * f: not WAITING; its content is overwritten. Returns f. */
VOLT_API volt_future *volt_once_begin_future(volt_future *f, volt_once *o);

/* It is done; by whoever has the turn (aborts if nobody has), on any thread.
 * Wakes: everybody who waits, oldest first, with nothing held, on this thread; those beyond the
 *   first 32 possibly on another one that uses the once meanwhile.
 * Threads: any. Order: releases what this thread did before to whoever finds it done. */
VOLT_API void volt_once_done(volt_once *o);

/* It was not done; by whoever has the turn (aborts if nobody has), on any thread. It is the oldest
 * waiter's turn, or that of the next who comes.
 * Wakes: that waiter, with nothing held, on this thread. Threads: any. */
VOLT_API void volt_once_failed(volt_once *o);

/* Give up waiting.
 * w: last passed to volt_once_begin() on this once (or never used).
 * Returns true: cancelled, no wake will come. Returns false: too late, see volt_once_result(): if
 *   it is our turn, it has to be ended. The one wake of *w has come or will come.
 * Threads: the owner of *w; that wake may come from within. */
VOLT_API VOLT_NODISCARD bool volt_once_cancel(volt_once *o, volt_waiter *w);

/* How many wait now. A snapshot. Threads: any. */
VOLT_API uint32_t volt_once_waiters(const volt_once *o);

VOLT_END_DECLS
#endif
