/* once.h: do something once: the first caller does it, the others wait until it is done.
 *
 *   static volt_once ready = VOLT_ONCE_INIT;
 *   int result = volt_once_call(&ready, open_database, &database);
 *   if (result != VOLT_OK) return result;         it failed here: the next caller tries again
 *
 * A task, or code that does it in more than one step, begins it and ends it by separate calls:
 *
 *   VOLT_AWAIT_RESULT(self, r, volt_once_begin_future(&self->f, &ready));
 *   if (r == VOLT_OK) {                           we are the initialiser; else VOLT_DONE
 *     ...
 *     volt_once_done(&ready);                     or volt_once_failed(&ready)
 *   }
 *
 * The caller that does it is the initialiser. If it fails, the oldest waiter becomes the
 * initialiser. After it is done, each volt_once_call() costs one load. A task should ask
 * volt_once_is_done() before it makes the future: that is one load, too.
 * All-zero is a once that has not begun. Nothing is ever allocated. */
#ifndef VOLT_ONCE_H
#define VOLT_ONCE_H

#include "detail/fifo.h"
#include "future.h"

/* Members are private. */
typedef struct volt_once {
  volt_fifo_ queue; /* the word's value: FRESH, BEGUN or DONE */
} volt_once;
VOLT_SIZE_AT_MOST_(volt_once, 64);

/* A once that has not begun. */
#define VOLT_ONCE_INIT \
  { VOLT_FIFO_INIT_(0) }

/* Private. */
enum { VOLT_ONCE_FRESH_ = 0, VOLT_ONCE_BEGUN_ = 1, VOLT_ONCE_DONE_ = 2 };

/* Does it. Returns VOLT_OK: it is done; anything else: it failed. */
typedef int volt_once_fn(void *arg);

VOLT_BEGIN_DECLS

/* Make *o a once that has not begun. */
VOLT_API void volt_once_init(volt_once *o);

/* End its life; frees nothing. There must be no initialiser and no waiter (either aborts), and no
 * thread may use *o again. Released waiters need not have been woken yet. But a cancel, a
 * set_waker, a further poll or the drop of a future, and a wait with a deadline must have returned,
 * because they read *o. Waits for a volt_once_done() that has more than 32 waiters to wake. So it
 * must not be called by a waker that this once calls. */
VOLT_API void volt_once_destroy(volt_once *o);

/* Private: if it is not done yet. */
VOLT_API int volt_once_call_slow_(volt_once *o, volt_once_fn *fn, void *arg);

/* Whether it is done.
 * Threads: any. Order: true acquires what was done before volt_once_done(). */
VOLT_INLINE bool volt_once_is_done(const volt_once *o) {
  /* once:T1 <- fifo:U1: a thread that sees DONE sees what the initialiser did */
  return VOLT_WORD_VALUE_(volt_load_acquire(&o->queue.word)) == VOLT_ONCE_DONE_;
}

/* Do it by calling fn(arg), unless it is done. While another caller does it, block this thread; if
 * that caller fails and no waiter is older, this caller becomes the initialiser and calls fn.
 * fn: must return. It must not call volt_once_call() for the same *o, not even through another once
 *   (aborts). It must not wait for *o in any other way (it would wait for itself, for ever).
 * Returns VOLT_OK: it is done; else what fn returned to this call: it is not done.
 * Wakes: as volt_once_done() or volt_once_failed(), after fn. Threads: any that may block.
 * Order: VOLT_OK acquires what fn did. */
VOLT_INLINE VOLT_NODISCARD int volt_once_call(volt_once *o, volt_once_fn *fn, void *arg) {
  return VOLT_LIKELY(volt_once_is_done(o)) ? (int)VOLT_OK : volt_once_call_slow_(o, fn, arg);
}

/* Become the initialiser, or queue *w until it is done or this caller becomes the initialiser.
 * w: the caller's memory, unused or completed; must stay where it is while queued.
 * Returns VOLT_OK (the caller is the initialiser and must call volt_once_done() or
 *   volt_once_failed(); *w unused), VOLT_DONE (it has been done; *w unused), or VOLT_PENDING
 *   (queued; the result will be volt_once_result(w)).
 * Wakes: waker, exactly once, on the thread of the initialiser before, with nothing held.
 * Cancel: volt_once_cancel(). Threads: any; not from a signal handler.
 * Order: VOLT_DONE acquires what the initialiser did; VOLT_OK, what those that failed did. */
VOLT_API VOLT_NODISCARD int volt_once_begin_waiter(volt_once *o, volt_waiter *w, volt_waker waker);

/* The same as volt_once_begin_waiter(), but block this thread until it is done, or the caller
 * becomes the initialiser, or the deadline has passed.
 * deadline_ns: as volt_now_ns(); a time in the past: do not wait; VOLT_NO_DEADLINE: for ever.
 * volt_once_begin() has no deadline: it waits for as long as that takes.
 * Returns VOLT_OK (the caller is the initialiser), VOLT_DONE, or VOLT_ETIMEDOUT.
 * Threads: any that may block. */
VOLT_API VOLT_NODISCARD int volt_once_begin_until(volt_once *o, uint64_t deadline_ns);
VOLT_INLINE VOLT_NODISCARD int volt_once_begin(volt_once *o) {
  return volt_once_begin_until(o, VOLT_NO_DEADLINE);
}

/* The result of the last volt_once_begin_waiter() that queued *w. (volt_waiter_result() says only
 * that it has completed.)
 * Returns VOLT_PENDING while it is queued; VOLT_OK: the caller is the initialiser, as from
 *   volt_once_begin_waiter(); VOLT_DONE; VOLT_ECANCELED if it was cancelled, or nothing was ever queued
 *   with it.
 * Threads: the owner of *w. Order: as volt_once_begin_waiter(). */
VOLT_API int volt_once_result(volt_waiter *w);

/* The same as volt_once_begin_waiter() as a future: nothing happens before it is polled. Polls as
 * VOLT_OK (the caller is the initialiser) or VOLT_DONE. Both are successes, with which VOLT_AWAIT
 * goes on; VOLT_AWAIT_RESULT says which. If it is dropped after its owner has become the
 * initialiser and before a poll has returned that, the next waiter becomes it, as by
 * volt_once_failed().
 * f: not WAITING; its content is overwritten. Returns f. */
VOLT_API VOLT_NODISCARD volt_future *volt_once_begin_future(volt_future *f, volt_once *o);

/* Say that it is done. Called by the initialiser, on any thread (aborts if there is none).
 * Wakes: all waiters, oldest first, with nothing held, on this thread; those beyond the first 32
 *   possibly on another thread that uses the once meanwhile.
 * Threads: any. Order: releases what this thread did before to each thread that finds it done. */
VOLT_API void volt_once_done(volt_once *o);

/* Say that it failed. Called by the initialiser, on any thread (aborts if there is none). The
 * oldest waiter becomes the initialiser, or, if there is no waiter, the next caller.
 * Wakes: that waiter, with nothing held, on this thread. Threads: any. */
VOLT_API void volt_once_failed(volt_once *o);

/* Give up waiting.
 * w: last passed to volt_once_begin_waiter() on this once (or never used).
 * Returns true: cancelled, no wake will come. Returns false: too late, see volt_once_result(): if
 *   the caller is the initialiser, it must call volt_once_done() or volt_once_failed(). The one
 *   wake of *w has come or will come.
 * Threads: the owner of *w. That wake may come from within this call. */
VOLT_API VOLT_NODISCARD bool volt_once_cancel(volt_once *o, volt_waiter *w);

/* How many waiters are queued now. A snapshot. Threads: any. */
VOLT_API uint32_t volt_once_waiters(const volt_once *o);

VOLT_END_DECLS
#endif
