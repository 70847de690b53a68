/* bcs_lock.h: a lock that runs closures: batched critical sections in place of lock and unlock.
 *
 * run() executes fn(arg) with the lock to itself and returns when it has. If others are there at
 * the same time, their sections run one after the other on one thread, without a context switch
 * between them, and their threads are woken together. First come, first served.
 *
 *   static void add(void *arg) { total += *(int *)arg; }
 *   volt_bcs_lock lock = VOLT_BCS_LOCK_INIT;
 *   volt_bcs_node node;
 *   volt_bcs_lock_run(&lock, &node, add, &three);
 *
 * What follows from that:
 *   - A section may run on another thread than its caller's: no thread-local data in it.
 *   - A section must not wait for anything that a user of the lock does, in a section or after it:
 *     it may be that user's thread it is running on. It must not run() or destroy() on the same
 *     lock (debug builds abort); it may submit(). It must not throw or longjmp.
 *   - A thread that calls run(), submit(), or polls a future of the lock, may run the sections of
 *     others, and call wakers of others, before the call returns: it must not hold what those need.
 *     A waker that submits again nests in the stack of the one who calls it.
 *
 * No thread is kept serving others: after a batch the role goes to one of the next threads that
 * wait in run(), and that serves the following batch. Behind submit() and futures no thread waits;
 * while there are only such, the one who serves them goes on to their end, and pays what wakes it
 * owes after each batch.
 *
 * All-zero is a valid free lock, over the wait-free queue; VOLT_BCS_LOCK_LOCKFREE_INIT makes one
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
  VOLT_PLAIN(volt_bcs_node *) next; /* where whoever is handed the role begins */
  bool lockfree;                    /* which of the two is in use: fixed from init on */
} volt_bcs_lock;

#define VOLT_BCS_LOCK_INIT \
  { {0}, {0}, NULL, false }
#define VOLT_BCS_LOCK_LOCKFREE_INIT \
  { {0}, {0}, NULL, true }

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
  VOLT_ATOMIC(uint32_t) hold;       /* a future: who may touch what; run: whether it waits */
  VOLT_PLAIN(uint32_t) kind;
  VOLT_PLAIN(bool) flag; /* run: unparked to serve; a future: cancelled in time */
} volt_bcs_job_;

/* A section of its own memory, for what outlives the call. Members are private. Needs no init. */
typedef struct volt_bcs_section {
  volt_bcs_node node;
  volt_bcs_job_ job;
} volt_bcs_section;

VOLT_BEGIN_DECLS

/* Make a free lock: over the wait-free queue, or over the lock-free stack. Not while in use. */
VOLT_API void volt_bcs_lock_init(volt_bcs_lock *lock);
VOLT_API void volt_bcs_lock_init_lockfree(volt_bcs_lock *lock);

/* End its life. No section may be queued or running (aborts). Frees nothing. Who knows that its own
 * section is the last may also free the lock without: nobody touches it any more. */
VOLT_API void volt_bcs_lock_destroy(volt_bcs_lock *lock);

/* Run fn(arg) in the critical section; return when it has run. At once and on this thread if nobody
 * is there; else it may run on another, while this one waits, or serves others first.
 * node: the caller's memory, in no queue, for the duration of the call; its content is overwritten.
 * Threads: any that may block; not from a section of the same lock. Order: fn acquires what this
 *   thread and all earlier sections did; this call acquires what fn did. */
VOLT_API void volt_bcs_lock_run(volt_bcs_lock *lock, volt_bcs_node *node, volt_bcs_fn *fn,
                                void *arg);

/* Have fn(arg) run in the critical section, and do not wait: if nobody is there it runs now, on
 * this thread, and so does all that is submitted meanwhile.
 * section: the caller's memory; content overwritten. It must be in no queue: a debug build aborts
 *   if it is; another build aborts only if it is the last in the queue of a wait-free lock. It is
 *   the caller's again when
 *   waker.wake() is called (which may free it), or, with a zero waker, when a section that came
 *   later has begun; not in fn itself.
 * Wakes: waker, exactly once, on the thread that served, with nothing held; if that is this thread,
 *   before the call returns.
 * Threads: any, also from a section of the same lock. Order: fn acquires what this thread did; wake
 *   acquires what fn did. */
VOLT_API void volt_bcs_lock_submit(volt_bcs_lock *lock, volt_bcs_section *section, volt_bcs_fn *fn,
                                   void *arg, volt_waker waker);

/* A section as a future: nothing happens before it is polled; ready (VOLT_OK) when fn has run.
 * f: not WAITING; its content is overwritten. section: as for submit(), the future's until it is
 *   ready or cancelled. Returns f.
 * Cancel: fn does not run if it has not begun; if it has, it has run when cancel returns, and
 *   whoever needs to know looks at what fn did. Either way cancel waits until the queue is past the
 *   section: for those that came before it, at most. Not from a section of the same lock. */
VOLT_API volt_future *volt_bcs_lock_run_future(volt_future *f, volt_bcs_lock *lock,
                                               volt_bcs_section *section, volt_bcs_fn *fn,
                                               void *arg);

/* Whether a section is queued or running. A snapshot: for assertions. Threads: any. */
VOLT_API bool volt_bcs_lock_is_busy(const volt_bcs_lock *lock);

VOLT_END_DECLS
#endif
