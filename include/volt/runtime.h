/* runtime.h: what runs tasks: workers that steal from each other, their clock, threads for calls
 * that block.
 *
 *   volt_rt *rt;
 *   int result = volt_rt_create(&rt, NULL);
 *   ... volt_spawn(rt, ...), join ...
 *   volt_rt_destroy(rt);
 *
 * Each worker takes what it has woken last (at most three times in a row), else the oldest of its
 * own 256, else what came from outside, else half of another's; then it sleeps. A task that awaits
 * what is ready for 128 times in a row is put behind the others. Timers are driven by a worker that
 * sleeps, or by those that run, between polls: a poll that takes long delays them only if no worker
 * is idle.
 *
 * In a loop of one's own: VOLT_RT_BY_HAND starts no worker; volt_rt_run() runs what is ready, and
 * the config's waker says when there is more; or volt_rt_run_until(), which sleeps. In tests, with
 * VOLT_RT_VIRTUAL_CLOCK, nothing sleeps: volt_rt_advance() is what makes time pass, and
 * volt_rt_run_until(), by as much as there is nothing else to do. */
#ifndef VOLT_RUNTIME_H
#define VOLT_RUNTIME_H

#include "task.h"
#include "time.h"

enum volt_rt_flags {
  VOLT_RT_BY_HAND = 1,      /* no worker threads: volt_rt_run() */
  VOLT_RT_VIRTUAL_CLOCK = 2 /* volt_rt_advance() */
};

#define VOLT_RT_WORKERS_MAX 48

/* Where the runtime gets memory from. alloc may fail; what it gives is aligned as by malloc(). Any
 * thread may call them, several at a time. */
typedef struct volt_rt_allocator {
  void *(*alloc)(size_t bytes, void *ctx);
  void (*free)(void *memory, size_t bytes, void *ctx);
  void *ctx;
} volt_rt_allocator;

/* What the user is told of. Any of them may be NULL. They may block; they do not call the runtime. */
typedef struct volt_rt_hooks {
  /* On each worker and each thread of the blocking pool, first and last of all (but for destructors
   * of thread-specific values). name: as the system shows it, "volt-w0"; valid until thread_stop
   * has returned. A thread of the pool has the signal mask of the thread that created the runtime,
   * a worker has all signals blocked but those of faults: thread_start may change either. */
  void (*thread_start)(const char *name, void *ctx);
  void (*thread_stop)(const char *name, void *ctx);
  /* A call of volt is about to put a worker to sleep, which keeps all its tasks waiting: each time,
   * on that worker, in every build. call: as "volt_block_on", or whose blocking call it is, as
   * "volt_sem". t: the task that runs (a waker that is called as it ends runs for it: then it is
   * not to be touched any more), or NULL: outside of all tasks.
   * Debug builds tell also of a call that has to look again, but not to sleep.
   * NULL: debug builds abort; others say so on standard error, once in the life of a runtime. A
   * hook that does nothing silences that. */
  void (*blocks)(const char *call, volt_task *t, void *ctx);
  void *ctx;
} volt_rt_hooks;

/* All-zero: the defaults. A later version of 0.x takes members from reserved: who has cleared the
 * struct, or named its members, has the defaults for those. */
typedef struct volt_rt_config {
  uint32_t workers; /* 1..48; 0: as many as CPUs that this process may use */
  unsigned flags;   /* of volt_rt_flags */
  volt_waker waker; /* BY_HAND: called, on whichever thread, when volt_rt_run() has something to do
                     * again: once for each time that it has returned */
  const int *cpus;  /* pin worker i to cpus[i % cpu_count]; NULL: not pinned */
  uint32_t cpu_count;
  uint32_t blocking_max;       /* threads for blocking calls; 0: 512 */
  uint64_t blocking_idle_ns;   /* how long such a thread waits for more to do; 0: 10 s */
  uint64_t seed;               /* of whom to steal from, and of fair selects; 0: from the clock */
  volt_rt_allocator allocator; /* alloc NULL: malloc() and free() */
  volt_rt_hooks hooks;
  const char *thread_prefix; /* of the names of threads: "<prefix>-w0", ... for workers, "-b0", ...
                              * for those of the blocking pool; 15 bytes in all, the prefix is cut;
                              * NULL: "volt"; copied */
  uint64_t reserved[6];      /* zero */
} volt_rt_config;

/* Counts since the worker began; read while it runs, so not of one instant. */
typedef struct volt_worker_stats {
  uint64_t polls;
  uint64_t lifo_hits; /* polls of the task that was woken last */
  uint64_t steals;    /* times that it found something to steal */
  uint64_t stolen;    /* tasks that it stole */
  uint64_t injected;  /* tasks that it took from the injection queue */
  uint64_t overflows; /* times that its ring was full and half of it was moved there */
  uint64_t parks;
  uint32_t queued; /* tasks in its ring now */
} volt_worker_stats;

typedef struct volt_rt_stats_of {
  uint32_t workers;
  uint32_t parked;
  uint32_t searching;
  uint64_t live;      /* tasks that have not ended */
  uint64_t spawned;   /* so far */
  uint64_t cancelled; /* by shutdown */
  uint64_t injected;  /* tasks in the injection queue now */
  uint32_t blocking_threads;
  uint32_t blocking_idle;
  uint64_t blocking_queued;
} volt_rt_stats_of;

/* Members are private. */
typedef struct volt_blocking {
  volt_future future;
  volt_rt *rt;
  int (*fn)(void *arg);
  void *arg;
  VOLT_PLAIN(struct volt_blocking *) next; /* in the queue; under the pool's lock */
  VOLT_PLAIN(struct volt_blocking *) prev;
  VOLT_PLAIN(uint32_t) stage;
  VOLT_PLAIN(int32_t) result;
} volt_blocking;

VOLT_BEGIN_DECLS

/* ---- life ---- */

/* Start a runtime. config: NULL for the defaults; copied.
 * Returns VOLT_OK; VOLT_EINVAL (too many workers, unknown flags, BY_HAND with more than one);
 *   VOLT_ENOMEM (no memory, or a worker's thread could not be started): then *rt is NULL and
 *   nothing is left behind. A worker that cannot be pinned to its CPU is VOLT_EINVAL. */
VOLT_API VOLT_NODISCARD int volt_rt_create(volt_rt **rt, const volt_rt_config *config);

/* Take no more tasks, cancel those there are, and wait until they have ended, at most until
 * deadline_ns (as volt_now_ns(), also of a runtime whose clock is virtual). May be called again.
 * Returns VOLT_OK: no task is left; VOLT_ETIMEDOUT: some have not ended yet (volt_rt_stats().live).
 * By hand: it runs them.
 * Threads: any that is no worker of it, several at once: each waits for all tasks, or until its own
 *   deadline. By hand one at a time, and none in volt_rt_run(): aborts. From a call on the blocking
 *   pool: a task that awaits that call ends only after it, so with a deadline. */
VOLT_API int volt_rt_shutdown(volt_rt *rt, uint64_t deadline_ns);

/* Shut down, wait for ever, stop the threads, free everything. NULL is fine. When it returns, each
 * thread that the runtime has started has ended and was joined: the process has the threads that it
 * had before, and the library may be unloaded.
 * Returns how many tasks had not ended and were cancelled. Aborts if the handle of a task from the
 *   pool, or a timer, is left.
 * Threads: one; not a worker of it or a thread of its blocking pool, which it would wait for: aborts.
 *   Every other call that was given rt has returned, but for wakes, which take care of themselves,
 *   and volt_rt_shutdown(), which has begun before this: that is waited for. To destroy it twice
 *   aborts only if the first has not come to its end. */
VOLT_API uint64_t volt_rt_destroy(volt_rt *rt);

/* Give it up, instead of volt_rt_destroy(), and wait for nothing: for a process that is about to
 * end although a call that blocks does not. Takes no more tasks, and cancels those there are; to
 * wait a while for what does end, call volt_rt_shutdown() with a deadline before this.
 * What is left behind is its threads, and a detached one that waits for them: calls that run go on
 *   to their end, calls that are queued are made, tasks end at their next await, or when the call
 *   that they await returns. Their memory, that of each volt_blocking, and what they use must live
 *   as long; so must the allocator and the hooks. When the last has ended, that thread frees the
 *   runtime; what never ends stays until the process ends. Memory of tasks from the pool whose handle
 *   is held stays as well, and so does the runtime if a timer is left: the handle is good for join,
 *   result and cancel, and is never detached.
 * Not promised: that anything has ended or was freed by any moment, so the library must not be
 *   unloaded; and what static objects of the program are worth to its threads during exit().
 * Returns VOLT_OK: rt is not the caller's any more; VOLT_ENOMEM: no thread to wait for the others
 *   could be started: tasks are cancelled, and rt is the caller's still.
 * Threads: any, also a worker of it or a thread of its pool. Not by hand (aborts): a runtime that is
 *   run by hand need not be destroyed before the process ends. Else as volt_rt_destroy(). */
VOLT_API VOLT_NODISCARD int volt_rt_shutdown_background(volt_rt *rt);

/* The runtime whose task this thread runs just now, or NULL: on a worker thread always, its hooks
 * aside; by hand while the thread is in volt_rt_run() (or in a shutdown that runs tasks), else NULL;
 * on a thread of the blocking pool NULL. */
VOLT_API volt_rt *volt_rt_current(void);

/* ---- time ---- */

/* Its timers: for volt_sleep_until() and all of volt/time.h. */
VOLT_API volt_timers *volt_rt_timers(volt_rt *rt);

/* What time it is: volt_now_ns(), or of a virtual clock. */
VOLT_API uint64_t volt_rt_now_ns(volt_rt *rt);

/* Let by_ns pass on a virtual clock, and wake whom that concerns. Threads: any but a worker, one at
 * a time. */
VOLT_API void volt_rt_advance(volt_rt *rt, uint64_t by_ns);

/* ---- by hand ---- */

/* Run tasks until none is ready, or some thousand polls are done.
 * Returns 0: some are ready still, call it again; else the deadline at which there may be more to
 *   do, or VOLT_NO_DEADLINE: the config's waker is called when there is before that. The deadline
 *   is on the runtime's clock, volt_rt_now_ns(): one to sleep until if that is the real one; one to
 *   advance to if it is virtual.
 * Threads: any, one at a time (aborts); not from a task. */
VOLT_API uint64_t volt_rt_run(volt_rt *rt);

/* volt_block_on() for a runtime by hand: run tasks on this thread until the future is ready.
 * When nothing is ready it sleeps until something is. If the clock is virtual it does not: the time of
 * the earliest timer comes at once, but not while a call runs, or is queued, on the blocking pool;
 * that is waited for.
 * f: the caller's; polled on this thread, as by a task. deadline_ns: as volt_rt_now_ns(): of the
 *   virtual clock if that is what it has; VOLT_NO_DEADLINE: none.
 * Returns the future's result; VOLT_ETIMEDOUT: the deadline has passed, the future was cancelled (as
 *   by volt_timeout_future(): if it must come to its end first, that is awaited); VOLT_ECLOSED: the
 *   runtime is shut down, the future has not been polled; VOLT_ESTALLED: the clock is virtual, and no
 *   task is ready, no timer started and no call on the blocking pool, so that nothing in this runtime
 *   can make it ready: the future was cancelled. (What another thread may do is not known, and not
 *   waited for: only a runtime whose clock is real is woken from elsewhere.) If the future, cancelled,
 *   does not come to its end either, it aborts.
 * Other tasks may be ready when it returns, and the config's waker is not called for them: as after a
 * volt_rt_run() that has returned 0.
 * Threads: one at a time, as volt_rt_run(); not from a task. Order: as volt_future_poll(). */
VOLT_API VOLT_NODISCARD int volt_rt_run_until(volt_rt *rt, volt_future *f, uint64_t deadline_ns);

/* ---- calls that block ---- */

/* A future of fn(arg), called on a thread of the blocking pool: its result, which is not
 * VOLT_PENDING, and better none of those below. A thread is started whenever none is idle, up to
 * blocking_max, then calls queue, first come first served; idle threads leave.
 * b: the caller's, until it is ready or cancelled.
 * Returns &b->future: polls as fn's result; VOLT_ENOMEM: no thread could be started at all;
 *   VOLT_ECLOSED: the runtime is being destroyed; VOLT_ECANCELED: it was cancelled in the queue.
 * Wakes: once, on the thread that fn has run on.
 * Cancel: a task that is cancelled before fn was called gets VOLT_ECANCELED, and fn is not called.
 *   If it is cancelled while fn runs, this is awaited all the same and polls as fn's result; the
 *   cancel meets the next await. volt_future_cancel() waits for fn, blocking (not on a worker).
 * Threads: any may poll it, also one that is no worker of rt: a loop, a thread in volt_block_on().
 *   fn runs on the pool's thread all the same, and the wake comes there. rt has to live until the
 *   poll that starts it has returned; from then on volt_rt_destroy() waits for the call and its
 *   wake, and the future may be polled afterwards. A loop that gives up a call that runs would be
 *   blocked by volt_future_cancel(): it polls on until it is ready, or polls with ctx->cancel set
 *   (volt_future_poll_ctx()), which takes it out of the queue if fn was not called yet.
 * Signals: fn has the mask of the thread that created rt, and so has a process that fn starts. */
VOLT_API volt_future *volt_blocking_future(volt_blocking *b, volt_rt *rt, int (*fn)(void *arg),
                                           void *arg);

/* ---- inspection ---- */

VOLT_API void volt_rt_stats(volt_rt *rt, volt_rt_stats_of *stats);

/* worker: 0..workers-1. Returns VOLT_EINVAL for another. */
VOLT_API int volt_rt_worker_stats(volt_rt *rt, uint32_t worker, volt_worker_stats *stats);

VOLT_END_DECLS
#endif
