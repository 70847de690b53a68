/* bcs_lock.h: a lock that runs closures: batched critical sections in place of lock and unlock.
 *
 * run() executes fn(arg) with the lock to itself and returns when it has. If several threads come
 * at the same time, one of them, the combiner, runs the sections of all, one after the other,
 * without a context switch between them; the others are woken together. First come, first served.
 *
 *   static void add(void *arg) { total += *(int *)arg; }
 *   volt_bcs_lock lock = VOLT_BCS_LOCK_INIT;
 *   volt_bcs_node node;
 *   volt_bcs_lock_run(&lock, &node, add, &three);
 *
 * What follows from that:
 *   - A section may run on another thread than its caller's. So it uses no thread-local data.
 *   - A section must not wait for anything that another user of the lock does, because it may run
 *     on that user's thread. It must not run() or destroy() on the same lock (debug builds abort).
 *     It may submit(). It must not throw or longjmp. Where fibers use the lock it must not wait at
 *     all, because it may run in a fiber, which would be suspended as the combiner.
 *   - A thread that calls run() or submit(), or polls a future of the lock, may run the sections of
 *     others, and call their wakers, before the call returns. It must not hold what those need.
 *     A waker that submits again nests in the stack of its caller.
 *
 * No thread is kept running sections of others. After a batch the combiner passes its role to one
 * of the next threads that wait in run(), and that thread runs the following batch. No thread waits
 * behind submit() or a future. While there are only such sections, the combiner runs them to their
 * end, and calls the wakers that are due after each batch.
 *
 * All-zero is a valid free lock, over the wait-free queue. VOLT_BCS_LOCK_LOCKFREE_INIT makes one
 * over the lock-free stack, whose batches are put in order before they run. */
#ifndef VOLT_BCS_LOCK_H
#define VOLT_BCS_LOCK_H

#include "bcs_queue.h"
#include "future.h"
#include "park.h"

/* Members are private. */
typedef struct volt_bcs_lock {
  volt_bcs_waitfree queue;
  volt_bcs_lockfree stack;
  VOLT_PLAIN(volt_bcs_node *) next; /* where the next combiner begins */
  bool lockfree;                    /* which of the two is in use; fixed by init */
  bool brief;                       /* a fiber in run() waits awake, as a thread does */
} volt_bcs_lock;

#define VOLT_BCS_LOCK_INIT \
  { {0}, {0}, NULL, false, false }
#define VOLT_BCS_LOCK_LOCKFREE_INIT \
  { {0}, {0}, NULL, true, false }

/* What runs in the critical section. */
typedef void volt_bcs_fn(void *arg);

/* Members are private. What a node of the lock carries. */
typedef struct volt_bcs_job_ {
  VOLT_PLAIN(volt_bcs_fn *) fn;
  VOLT_PLAIN(void *) arg;
  VOLT_PLAIN(volt_wake_fn) wake; /* submitted: the waker */
  VOLT_PLAIN(void *) ctx;
  VOLT_PLAIN(volt_waiter *) waiter; /* a future: its waiter */
  volt_parker parker;               /* run: its thread */
  VOLT_ATOMIC(uint32_t) hold;       /* a future: marks of owner and combiner; run: if it waits */
  VOLT_PLAIN(uint32_t) kind;
  VOLT_PLAIN(bool) flag; /* run: unparked as the combiner; a future: cancelled in time */
} volt_bcs_job_;

/* A section that may outlive the call that submits it. Members are private. Needs no init. */
typedef struct volt_bcs_section {
  volt_bcs_node node;
  volt_bcs_job_ job;
} volt_bcs_section;

VOLT_BEGIN_DECLS

/* Make a free lock: over the wait-free queue, or over the lock-free stack.
 * Threads: one, while no other uses the lock. */
VOLT_API void volt_bcs_lock_init(volt_bcs_lock *lock);
VOLT_API void volt_bcs_lock_init_lockfree(volt_bcs_lock *lock);

/* End its life. No section may be queued or running (aborts). Frees nothing. A caller that knows
 * that its own section was the last may also free the lock without this call: no thread uses the
 * lock any more.
 * Threads: one, while no other uses the lock. */
VOLT_API void volt_bcs_lock_destroy(volt_bcs_lock *lock);

/* Run fn(arg) in the critical section; return when it has run. If no other thread uses the lock, it
 * runs at once and on this thread. Else it may run on another thread while this one waits, or after
 * this one has run sections of others.
 * node: the caller's memory, in no queue, for the duration of the call; its content is overwritten.
 * Wakes: wakers of sections that it has run for others, on this thread, with nothing held.
 * Threads: any that may block; not from a section of the same lock. Order: fn acquires what this
 *   thread and all earlier sections did; this call acquires what fn did. */
VOLT_API void volt_bcs_lock_run(volt_bcs_lock *lock, volt_bcs_node *node, volt_bcs_fn *fn,
                                void *arg);

/* Have fn(arg) run in the critical section, and do not wait for it. If no other thread uses the
 * lock, it runs now, on this thread, and so does all that is submitted meanwhile.
 * section: the caller's memory; its content is overwritten. It must be in no queue: a debug build
 *   aborts if it is; another build aborts only if it is the last in the queue of a wait-free lock.
 *   It is the caller's again when waker.wake() is called (which may free it), or, with a zero
 *   waker, when a section that came later has begun; not in fn itself.
 * Wakes: waker, exactly once, on the thread that ran fn, with nothing held; if that is this thread,
 *   before the call returns.
 * Threads: any, also from a section of the same lock. Order: fn acquires what this thread did; wake
 *   acquires what fn did. */
VOLT_API void volt_bcs_lock_submit(volt_bcs_lock *lock, volt_bcs_section *section, volt_bcs_fn *fn,
                                   void *arg, volt_waker waker);

/* A section as a future: nothing happens before it is polled; ready (VOLT_OK) when fn has run.
 * f: not WAITING; its content is overwritten. section: as for submit(), the future's until it is
 *   ready or cancelled.
 * Returns f.
 * Cancel: if fn has not begun, it does not run. If it has begun, it has run when cancel returns; a
 *   caller that needs to know which looks at what fn did. In both cases cancel waits until the
 *   queue is past the section: for the sections that came before it, at most. Not from a section of
 *   the same lock.
 * Threads: the future's owner, one at a time. Order: as volt_bcs_lock_run(). */
VOLT_API VOLT_NODISCARD volt_future *volt_bcs_lock_run_future(volt_future *f, volt_bcs_lock *lock,
                                                              volt_bcs_section *section,
                                                              volt_bcs_fn *fn, void *arg);

/* Whether a section is queued or running. A snapshot: for assertions. Threads: any. */
VOLT_API bool volt_bcs_lock_is_busy(const volt_bcs_lock *lock);

VOLT_END_DECLS
#endif
