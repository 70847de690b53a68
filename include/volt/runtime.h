/* runtime.h: what runs tasks: workers that steal from each other, their clock, threads for calls
 * that block.
 *
 *   volt_rt *rt;
 *   int result = volt_rt_create(&rt, NULL);
 *   ... volt_spawn(rt, ...), join ...
 *   volt_rt_destroy(rt);
 *
 * A worker takes the task that it has woken last (at most three times in a row), else the oldest in
 * its queue of 256, else one that another thread has woken or spawned, else half of another
 * worker's queue. If there is none, it sleeps. A fiber that has begun is queued where only its own
 * worker takes it. A worker whose polls take more than 2 us on average puts what it wakes into its
 * queue, where others may take it. A task that awaits what is ready 128 times in one poll is put
 * behind the others. A worker that sleeps drives the timers, or, if none sleeps, those that run do
 * so between polls: a poll that takes long delays timers only if no worker is idle.
 *
 * In the caller's own event loop: VOLT_RT_BY_HAND starts no worker; volt_rt_run() runs the tasks
 * that are ready, and the config's waker is called when there is more to run. A bridge
 * (volt/bridge.h) does that in loops that exist. volt_rt_run_until() runs tasks until a future is
 * ready, and sleeps while no task is ready. In tests, with VOLT_RT_VIRTUAL_CLOCK, no task sleeps in
 * real time: volt_rt_advance() makes time pass, and so does volt_rt_run_until() when nothing else
 * can happen. */
#ifndef VOLT_RUNTIME_H
#define VOLT_RUNTIME_H

#include "task.h"
#include "time.h"

enum volt_rt_flags {
  VOLT_RT_BY_HAND = 1,       /* no worker threads: volt_rt_run() */
  VOLT_RT_VIRTUAL_CLOCK = 2, /* volt_rt_advance() */
  /* For tests: a fiber with VOLT_FIBER_MOVES is resumed by another worker each time. */
  VOLT_RT_FIBERS_WANDER = 4,
  /* A fiber that overflows its stack is named on standard error before the process ends. Debug
   * builds do so without this flag, and builds for AddressSanitizer never. Each worker gets an
   * alternate signal stack, unless it has one. SIGSEGV gets a handler, which leaves all other
   * faults to the handler that was there before. */
  VOLT_RT_STACK_REPORT = 8,
  /* No guards below the stacks of fibers, so an overflow is not detected: for more than 8,000
   * fibers at once where the system has no guards in page tables (before Linux 6.13). */
  VOLT_RT_FIBER_NO_GUARDS = 16
};

#define VOLT_RT_WORKERS_MAX 48

/* Where the runtime gets memory. alloc may return NULL; the memory is aligned as by malloc(). The
 * runtime calls both on any thread, on several at a time. */
typedef struct volt_rt_allocator {
  void *(*alloc)(size_t bytes, void *ctx);
  void (*free)(void *memory, size_t bytes, void *ctx);
  void *ctx;
} volt_rt_allocator;

/* Functions of the caller's, called as threads begin, end and block. Any of them may be NULL. They
 * may block, and must not call the runtime. */
typedef struct volt_rt_hooks {
  /* Called on each worker and each thread of the blocking pool, thread_start before all else there,
   * thread_stop after all else but the destructors of thread-specific values.
   * name: as the system shows it, "volt-w0"; valid until thread_stop has returned.
   * A thread of the pool has the signal mask of the thread that created the runtime, a worker has
   * all signals blocked but those of faults: thread_start may change either. */
  void (*thread_start)(const char *name, void *ctx);
  void (*thread_stop)(const char *name, void *ctx);
  /* Called each time a call of volt is about to put a worker to sleep, which keeps all its tasks
   * waiting; on that worker, in every build. Debug builds call it also if the call need not wait.
   * call: a name, as "volt_future_wait_until".
   * t: the task that runs; NULL: none. t must not be used if it has ended: a waker that is called
   *   as a task ends still runs for that task.
   * If this hook is NULL, debug builds abort, and others write a line on standard error, once in
   * the life of a runtime. A hook that does nothing silences that. */
  void (*blocks)(const char *call, volt_task *t, void *ctx);
  void *ctx;
} volt_rt_hooks;

/* How a runtime does I/O: volt_io_auto() and others (volt/io.h). */
typedef struct volt_io_kind volt_io_kind;

/* All-zero: the defaults. A later version of 0.x takes members from reserved: a caller that clears
 * the struct, or names its members, gets the defaults for those. */
typedef struct volt_rt_config {
  uint32_t workers; /* 1..48; 0: as many as CPUs that this process may use */
  unsigned flags;   /* of volt_rt_flags */
  volt_waker waker; /* BY_HAND: called, on whichever thread, when volt_rt_run() has something to do
                     * again: once for each time that it has returned, or is about to */
  const int *cpus;  /* pin worker i to cpus[i % cpu_count]; NULL: not pinned */
  uint32_t cpu_count;
  uint32_t blocking_max;       /* threads for blocking calls; 0: 512 */
  uint64_t blocking_idle_ns;   /* how long such a thread waits for more to do; 0: 10 s */
  uint64_t seed;               /* of choices by chance; 0: by the clock */
  volt_rt_allocator allocator; /* alloc NULL: malloc() and free() */
  volt_rt_hooks hooks;
  const char *thread_prefix; /* of the names of threads: "<prefix>-w0" for a worker, "-b0" for one
                              * of the blocking pool. Copied. NULL: "volt". A name has 15 bytes at
                              * most, so a long prefix is cut */
  const volt_io_kind *io;    /* NULL: none */
  /* Of a fiber whose own config does not say: 16 KiB to 64 MiB, rounded up to a power of two; 0:
   * 256 KiB, in builds for debugging and for sanitizers 1 MiB. */
  uint32_t fiber_stack_bytes;
  uint32_t fiber_stacks_kept; /* free stacks of each size that a worker keeps to itself; 0: 64 */
  uint64_t reserved[4];       /* zero (else VOLT_EINVAL) */
} volt_rt_config;

/* Counts since the worker began. They are read while it runs, so not all at one moment. */
typedef struct volt_worker_stats {
  uint64_t polls;     /* may lag: while it is busy, the last ones, up to 127, are not in it */
  uint64_t lifo_hits; /* polls of the task that this worker has woken last */
  uint64_t steals;    /* times that it found something to steal */
  uint64_t stolen;    /* tasks that it stole */
  uint64_t injected;  /* tasks that it took from the injection queue */
  uint64_t overflows; /* times that its ring was full and half of it was moved there */
  uint64_t parks;
  uint64_t woken;          /* parks that a thread has ended; of the others one may still go on */
  uint64_t wakes;          /* sleeping workers that it has woken */
  uint64_t empty_searches; /* times that it went through all queues and found no task */
  uint64_t checks;         /* how often it looked at its I/O, sleeps there included */
  uint64_t events; /* what it found there; with io_uring, rings of its doorbell are among them */
  uint64_t moved;  /* polls of a task that another worker had polled last */
  /* The longest time for which the worker polled tasks without a look at its I/O: so long may what
   * has completed there have waited. 0 without I/O. */
  uint64_t look_delay_ns;
  uint32_t queued; /* tasks in its ring now */
  uint32_t homed;  /* tasks in its own queues now, which no other worker may take: fibers */
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
  uint64_t fibers;            /* that have begun and have not ended */
  uint64_t fiber_stacks;      /* in use */
  uint64_t fiber_stack_bytes; /* addresses taken for stacks, in use or free */
} volt_rt_stats_of;

/* Members are private. */
typedef struct volt_blocking {
  volt_future future;
  volt_rt *rt;
  int (*fn)(void *arg);
  void (*unrun)(void *arg); /* called instead of fn if that is never called; or NULL */
  void *arg;
  VOLT_PLAIN(struct volt_blocking *) next; /* in the queue; under the pool's lock */
  VOLT_PLAIN(struct volt_blocking *) prev;
  VOLT_PLAIN(uint32_t) stage;
  VOLT_PLAIN(int32_t) result;
} volt_blocking;

VOLT_BEGIN_DECLS

/* ---- life ---- */

/* Start a runtime. config: NULL for the defaults; copied.
 * Returns VOLT_OK; VOLT_EINVAL (too many workers, unknown flags, BY_HAND with more than one, cpus
 *   with a cpu_count of 0, only one of alloc and free, stacks too small or too large for fibers,
 *   reserved not zero);
 *   VOLT_ENOMEM (no memory, no descriptor, or a worker's thread could not be started); what the
 *   config's io returns: then *rt is NULL and nothing is left behind. A worker that cannot be
 *   pinned to its CPU is VOLT_EINVAL.
 * With io, each worker has a descriptor by which it is woken. volt_rt_destroy() does not close it
 * but keeps it for the next runtime, because a wake that comes late must not be written into
 * another file of that number. */
VOLT_API VOLT_NODISCARD int volt_rt_create(volt_rt **rt, const volt_rt_config *config);

/* Take no more tasks, cancel all that are left, and wait until they have ended, at most until
 * deadline_ns (as volt_now_ns(), also of a runtime whose clock is virtual). May be called again.
 * Returns VOLT_OK: no task is left; VOLT_ETIMEDOUT: some have not ended yet (volt_rt_stats().live).
 * By hand: it runs them.
 * Threads: any that runs no task of it (aborts), several at once: each waits until all tasks have
 *   ended, or until its own deadline. By hand one at a time, and while no thread is in
 *   volt_rt_run() (aborts). A call on the blocking pool may call this, with a deadline: a task that
 *   awaits the call does not end before it. */
VOLT_API int volt_rt_shutdown(volt_rt *rt, uint64_t deadline_ns);

/* Shut down, without a deadline, end the threads, free everything. rt: NULL is fine. When it
 * returns, each thread that the runtime has started has ended and was joined: the process has the
 * threads that it had before, and the library may be unloaded.
 * Returns how many tasks had not ended and were cancelled. Aborts if the handle of a task from the
 *   pool, a timer, or an open descriptor (volt/io.h) is left.
 * Threads: one; not a worker of it or a thread of its blocking pool, which it would wait for
 *   (aborts). Every other call that was given rt must have returned, with two exceptions: wakes,
 *   which take care of themselves, and a volt_rt_shutdown() that has begun before, for which this
 *   waits. A second volt_rt_destroy() aborts while the first is at work; afterwards rt is freed
 *   memory. */
VOLT_API uint64_t volt_rt_destroy(volt_rt *rt);

/* Give the runtime up, instead of volt_rt_destroy(), and wait for nothing: for a process that is
 * about to end although a call on the blocking pool does not. Takes no more tasks, and cancels
 * those there are. To wait a while for those that do end, call volt_rt_shutdown() with a deadline
 * before this. Left behind are the runtime's threads, and one more, detached, that waits for them.
 *   Calls that run go on to their end, calls that are queued are made. A task ends at its next
 *   await, or when the call that it awaits returns. The memory of each task and each volt_blocking,
 *   what they use, the allocator and the hooks must live as long.
 * When the last thread has ended, the detached one frees the runtime. It frees nothing if a task
 *   from the pool is left whose handle is held, or if a timer or an open descriptor is left. Such a
 *   handle may be used for join, result and cancel. At any time a handle may be detached, a timer
 *   cancelled, a descriptor closed. A thread that is not the runtime's own gets nothing new from rt:
 *   no task, no timer, no descriptor. By an open descriptor it may still accept one, or wait with a
 *   deadline.
 * Not promised: that anything has ended or was freed by any moment, so the library must not be
 *   unloaded; nor that static objects of the program can be used by those threads during exit().
 * Returns VOLT_OK: rt is not the caller's any more; VOLT_ENOMEM: no thread to wait for the others
 *   could be started: tasks are cancelled, and rt is still the caller's.
 * Threads: any, also a worker of it or a thread of its pool. Not for a runtime by hand (aborts),
 *   which need not be destroyed before the process ends. Else as volt_rt_destroy(). */
VOLT_API VOLT_NODISCARD int volt_rt_shutdown_background(volt_rt *rt);

/* ---- time ---- */

/* Find the runtime's timers, for volt_sleep_future() and all of volt/time.h. Threads: any. */
VOLT_API volt_timers *volt_rt_timers(volt_rt *rt);

/* Read the runtime's clock: volt_now_ns(), or its virtual clock. Threads: any. */
VOLT_API uint64_t volt_rt_now_ns(volt_rt *rt);

/* Let by_ns nanoseconds pass on a virtual clock (else aborts). Wakes: what waits for a deadline
 * that has come.
 * Threads: any that runs no task of it (aborts), one at a time. */
VOLT_API void volt_rt_advance(volt_rt *rt, uint64_t by_ns);

/* ---- by hand ---- */

/* Run tasks until none is ready, or some thousand polls are done.
 * Returns 0: some are ready still, call it again; else the deadline at which there may be more to
 *   do, or VOLT_NO_DEADLINE: the config's waker is called when there is before that. The deadline
 *   is on the runtime's clock, volt_rt_now_ns(): one to sleep until if that is the real one; one to
 *   advance to if it is virtual.
 * Threads: any, one at a time (aborts); not from a task. */
VOLT_API uint64_t volt_rt_run(volt_rt *rt);

/* Find a descriptor for the loop around volt_rt_run(). It is readable when volt_rt_run() has
 * something to do because of I/O, and whenever the config's waker is called. It is not readable for
 * a deadline, nor for what volt_rt_run() has left to do when it returned 0. The loop only watches
 * it; volt_rt_run() makes it unreadable again. rt: by hand (else aborts).
 * Returns the descriptor, which is rt's and stays the same; -1: rt does no I/O, or simulates it.
 * Threads: any. */
VOLT_API int volt_rt_io_descriptor(volt_rt *rt);

/* volt_future_wait_until() for a runtime by hand: run tasks on this thread until the future is ready.
 * When no task is ready the thread sleeps until one is. If the clock is virtual it does not sleep:
 * the time of the earliest timer comes at once. But a call that runs, or is queued, on the blocking
 * pool is waited for before time passes.
 * f: the caller's; polled on this thread, as by a task. deadline_ns: as volt_rt_now_ns(), so of the
 *   virtual clock if the runtime has one; VOLT_NO_DEADLINE: none.
 * Returns the future's result, or:
 *   VOLT_ETIMEDOUT: the deadline has passed, and the future was cancelled, as by
 *     volt_timeout_future(): a future that must come to its end first is awaited;
 *   VOLT_ECLOSED: the runtime is shut down, and the future has not been polled;
 *   VOLT_ESTALLED: the clock is virtual, no task is ready, no timer is started and no call is on
 *     the blocking pool, so nothing in this runtime can make the future ready; it was cancelled.
 *     Another thread might have: only a runtime whose clock is real waits for that. If the
 *     cancelled future does not come to its end within a second of real time, this aborts.
 * Other tasks may be ready when this returns, and the config's waker is not called for them: as
 * after a volt_rt_run() that has returned 0.
 * Threads: one at a time, as volt_rt_run(); not from a task. Order: as volt_future_poll(). */
VOLT_API VOLT_NODISCARD int volt_rt_run_until(volt_rt *rt, volt_future *f, uint64_t deadline_ns);

/* ---- calls that block ---- */

/* A future of fn(arg), called on a thread of the blocking pool: its result, which is not
 * VOLT_PENDING, and better none of those below. A thread is started whenever none is idle, up to
 * blocking_max, then calls queue, first come first served; idle threads leave.
 * b: the caller's, until it is ready or cancelled.
 * Returns &b->future: polls as fn's result; VOLT_ENOMEM: no thread could be started at all;
 *   VOLT_ECLOSED: the runtime is being destroyed; VOLT_ECANCELED: it was cancelled in the queue.
 * Wakes: once, on the thread that fn has run on; with VOLT_ENOMEM, on the thread that could not
 *   start one.
 * Cancel: a task that is cancelled before fn was called gets VOLT_ECANCELED, and fn is not called.
 *   If it is cancelled while fn runs, this is awaited all the same and polls as fn's result; the
 *   cancel meets the next await. volt_future_cancel() of a call that runs blocks the thread, or
 *   suspends the fiber, until fn has returned, so a task that is no fiber must not call it.
 * Threads: any may poll it, also one that is no worker of rt: a loop, a thread in
 *   volt_future_wait_until(). rt has to live until the poll that starts the call has returned. From
 *   then on volt_rt_destroy() waits for the call and its wake, and the future may be polled
 *   afterwards. A loop that does not want to be blocked by volt_future_cancel() polls with
 *   ctx->cancel set to
 *   VOLT_CTX_CANCEL_ONCE (volt_future_poll_ctx()): that takes the call out of the queue if fn was
 *   not called yet; else the loop polls until the future is ready.
 * Signals: fn has the mask of the thread that created rt, and so has a process that fn starts. */
VOLT_API VOLT_NODISCARD volt_future *volt_blocking_future(volt_blocking *b, volt_rt *rt,
                                                          int (*fn)(void *arg), void *arg);

/* ---- inspection ---- */

/* Find the runtime whose tasks this thread runs.
 * Returns it, or NULL. On a worker that is the worker's runtime, but NULL in the hooks thread_start
 *   and thread_stop. On another thread it is NULL, also on one of the blocking pool, except while
 *   the thread runs a runtime by hand: in volt_rt_run(), in volt_rt_run_until(), or in a shutdown
 *   that runs tasks.
 * Threads: any. */
VOLT_API volt_rt *volt_rt_current(void);

/* Read which back end does the runtime's I/O: "io_uring", "epoll" or "simulated"; "none" if it does
 * no I/O. Threads: any. */
VOLT_API const char *volt_rt_io_name(volt_rt *rt);

/* Fill *stats. Each number is exact at some moment of the call, not all at the same.
 * Threads: any, before the runtime is destroyed. */
VOLT_API void volt_rt_stats(volt_rt *rt, volt_rt_stats_of *stats);

/* Fill *stats with the counts of one worker.
 * worker: 0..workers-1. Returns VOLT_OK, or VOLT_EINVAL if there is no such worker.
 * Threads: any, before the runtime is destroyed. */
VOLT_API int volt_rt_worker_stats(volt_rt *rt, uint32_t worker, volt_worker_stats *stats);

/* ---- private: memory for the frames of coroutines (volt/coro.hpp) ---- */

/* Stands before each frame. */
typedef struct volt_block_ {
  volt_rt *rt;         /* from whose pool it is; NULL: from malloc() */
  uint32_t block;      /* its size class there */
  uint32_t is_foreign; /* rt is no runtime: the frame's owner frees it by other means */
} volt_block_;

/* Private: memory from the pool of the runtime whose tasks this thread runs; else of the one that
 * volt_rt_alloc_for_() has named; else from malloc(). NULL: there is none. */
VOLT_API void *volt_rt_alloc_(size_t bytes);
VOLT_API void volt_rt_free_(void *memory);

/* Private: a thread that runs no tasks allocates for rt from now on. NULL: for none. Returns which
 * it was before. */
VOLT_API volt_rt *volt_rt_alloc_for_(volt_rt *rt);

VOLT_END_DECLS
#endif
