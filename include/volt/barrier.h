/* barrier.h: wait until a number of callers have arrived, again and again.
 *
 * The last caller to arrive opens the barrier for all of them. Its wait returns VOLT_LEADER, so it
 * can do what only one caller should do. The barrier is closed again at once, ready for the next
 * round: no caller has to wait until the others have returned.
 *
 *   volt_barrier b = VOLT_BARRIER_INIT(4);
 *   for (int step = 0; step < steps; step++) {
 *     compute(mine);
 *     if (volt_barrier_wait(&b) == VOLT_LEADER) report(step);
 *   }
 *
 * A caller that gives up before the barrier opens has not arrived: the others wait for another
 * caller instead. All-zero is not valid: to wait aborts. Nothing is ever allocated. */
#ifndef VOLT_BARRIER_H
#define VOLT_BARRIER_H

#include "detail/fifo.h"
#include "future.h"

/* Members are private. */
typedef struct volt_barrier {
  volt_fifo_ queue;
  uint32_t count; /* how many arrivals open it */
} volt_barrier;
VOLT_SIZE_AT_MOST_(volt_barrier, 64);

/* A barrier that so many arrivals open. count: 1 or more. */
#define VOLT_BARRIER_INIT(count) \
  { VOLT_FIFO_INIT_(0), (uint32_t)(count) }

VOLT_BEGIN_DECLS

/* Make *b a barrier that so many arrivals open.
 * count: 1 or more (0 aborts). */
VOLT_API void volt_barrier_init(volt_barrier *b, uint32_t count);

/* End its life; frees nothing. No waiter may wait for the barrier to open (aborts), and no thread
 * may use *b again. Waiters of a round that has opened need not have been woken yet. But a cancel,
 * a set_waker, a further poll or the drop of a future, and a wait with a deadline must have
 * returned, because they read *b. Waits for a leader that has more than 32 waiters to wake. So it
 * must not be called by a waker that this barrier calls. */
VOLT_API void volt_barrier_destroy(volt_barrier *b);

/* Arrive: open the barrier if all others have arrived, else queue *w until it opens.
 * w: the caller's memory, unused or completed; must stay where it is while queued.
 * Returns VOLT_LEADER (the last to arrive: the barrier has opened, and all others have been woken;
 *   *w unused), or VOLT_PENDING (arrived; it completes with VOLT_OK).
 * Wakes: waker, exactly once, with nothing held, on the leader's thread; waiters beyond the first
 *   32 possibly on another thread that uses the barrier meanwhile. Cancel: volt_barrier_cancel().
 * Threads: any; not from a signal handler. Order: each caller of a round, once complete, acquires
 *   what all callers of that round did before they arrived. */
VOLT_API VOLT_NODISCARD int volt_barrier_wait_waiter(volt_barrier *b, volt_waiter *w,
                                                     volt_waker waker);

/* Arrive; block this thread until the barrier opens or the deadline has passed.
 * deadline_ns: as volt_now_ns(); a time in the past: arrive only as the last one;
 *   VOLT_NO_DEADLINE: for ever.
 * volt_barrier_wait() has no deadline: it waits for as long as that takes.
 * Returns VOLT_LEADER, VOLT_OK, or VOLT_ETIMEDOUT: not arrived. Threads: any that may block. */
VOLT_API int volt_barrier_wait_until(volt_barrier *b, uint64_t deadline_ns);
VOLT_INLINE int volt_barrier_wait(volt_barrier *b) {
  return volt_barrier_wait_until(b, VOLT_NO_DEADLINE);
}

/* The same as volt_barrier_wait_waiter() as a future: nothing happens before it is polled. Polls as
 * VOLT_LEADER or VOLT_OK. Both are successes, with which VOLT_AWAIT goes on; an async function
 * learns which one by VOLT_AWAIT_RESULT. A future that is dropped before the barrier opens has not
 * arrived. One that is dropped later has. A branch of a select opens the barrier only if it wins:
 * if another branch has taken effect already, it has not arrived, and polls as VOLT_ECANCELED. A
 * branch that has arrived and waits may count as arrived although another branch wins in the same
 * instant. (With VOLT_SELECT_KEEP, or inside a join or an async function, a branch opens the
 * barrier in any case.)
 * f: not WAITING; its content is overwritten. Returns f. */
VOLT_API VOLT_NODISCARD volt_future *volt_barrier_wait_future(volt_future *f, volt_barrier *b);

/* Give up waiting.
 * w: last passed to volt_barrier_wait_waiter() on this barrier (or never used).
 * Returns true: not arrived, no wake will come; the others wait on. Returns false: the barrier has
 *   opened, and *w had arrived; its one wake has come or will come.
 * Threads: the owner of *w. That wake may come from within this call. */
VOLT_API bool volt_barrier_cancel(volt_barrier *b, volt_waiter *w);

/* How many callers have arrived and wait. A snapshot. Threads: any. */
VOLT_API uint32_t volt_barrier_waiters(const volt_barrier *b);

VOLT_END_DECLS
#endif
