/* barrier.h: wait until so many have arrived, again and again.
 *
 * The last to arrive opens the barrier for all of them, and is told so: it is the leader, for what
 * only one should do. The barrier is closed again at once, for the next round; nobody has to wait
 * for the others to leave.
 *
 *   volt_barrier b = VOLT_BARRIER_INIT(4);
 *   for (int step = 0; step < steps; step++) {
 *     compute(mine);
 *     if (volt_barrier_wait_blocking(&b, VOLT_NO_DEADLINE) == VOLT_LEADER) report(step);
 *   }
 *
 * Who gives up before it opens has not arrived: the others wait for somebody else instead. Nothing
 * is ever allocated. */
#ifndef VOLT_BARRIER_H
#define VOLT_BARRIER_H

#include "detail/fifo.h"
#include "future.h"

/* Members are private. */
typedef struct volt_barrier {
  volt_fifo_ queue;
  uint32_t count; /* how many open it */
} volt_barrier;
VOLT_SIZE_AT_MOST_(volt_barrier, 64);

/* count: 1 or more. */
#define VOLT_BARRIER_INIT(count) \
  { VOLT_FIFO_INIT_(0), (uint32_t)(count) }

VOLT_BEGIN_DECLS

/* Make *b a barrier that so many open.
 * count: 1 or more (0 aborts). */
VOLT_API void volt_barrier_init(volt_barrier *b, uint32_t count);

/* End its life. Nobody may be waiting (aborts) or use it again; those who were let go may not have
 * been told yet. But none of them may be in a cancel, a set_waker, a further poll or the drop of a
 * future, or a wait with a deadline: these look at the barrier until they return. Waits for a
 * leader that has more than 32 of them to tell; so not from a waker that this barrier calls. */
VOLT_API void volt_barrier_destroy(volt_barrier *b);

/* Arrive: open the barrier if all others are there, else queue *w until it opens.
 * w: the caller's memory, unused or completed; must stay where it is while queued.
 * Returns VOLT_LEADER (the last to arrive: it has opened, and all others have been woken; *w
 *   unused), or VOLT_PENDING (arrived; it completes with VOLT_OK).
 * Wakes: waker, exactly once, with nothing held, on the leader's thread; those beyond the first 32
 *   possibly on another one that uses the barrier meanwhile. Cancel: volt_barrier_cancel().
 * Threads: any; not from a signal handler. Order: whoever leaves acquires what all who arrived
 *   with it did before. */
VOLT_API VOLT_NODISCARD int volt_barrier_wait(volt_barrier *b, volt_waiter *w, volt_waker waker);

/* Arrive; block this thread until the barrier opens or the deadline has passed.
 * deadline_ns: as volt_now_ns(); a time in the past: only as the last to arrive; VOLT_NO_DEADLINE:
 *   for ever.
 * Returns VOLT_LEADER, VOLT_OK, or VOLT_ETIMEDOUT: not arrived. Threads: any that may block. */
VOLT_API int volt_barrier_wait_blocking(volt_barrier *b, uint64_t deadline_ns);

/* Arriving as a future: nothing happens before it is polled. Polls as VOLT_LEADER, or VOLT_OK. An
 * async function that wants to know which of them awaits it with VOLT_AWAIT_RESULT; both are
 * successes, with which VOLT_AWAIT goes on.
 * Dropped before it opens, it has not arrived; dropped later, it was there all the same. A branch
 * of a select opens the barrier only if it wins: if another branch has taken effect already, it has
 * not arrived, and polls as VOLT_ECANCELED. One that has arrived and waits may be one of those who
 * open it, though another branch wins in the same instant. (With VOLT_SELECT_KEEP, or inside a join
 * or an async function, it opens it in any case.)
 * f: not WAITING; its content is overwritten. Returns f. */
VOLT_API volt_future *volt_barrier_wait_future(volt_future *f, volt_barrier *b);

/* Leave before it opens.
 * w: last passed to volt_barrier_wait() on this barrier (or never used).
 * Returns true: not arrived, no wake will come; the others wait on. Returns false: it has opened,
 *   and *w was one of those who opened it; its one wake has come or will come.
 * Threads: the owner of *w; that wake may come from within. */
VOLT_API bool volt_barrier_cancel(volt_barrier *b, volt_waiter *w);

/* How many have arrived and wait. A snapshot. Threads: any. */
VOLT_API uint32_t volt_barrier_waiters(const volt_barrier *b);

VOLT_END_DECLS
#endif
