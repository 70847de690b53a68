/* inspect.h: look at the tasks of a runtime while they wait. inspect.c says how. */
#ifndef VOLT_RT_INSPECT_INSPECT_H
#define VOLT_RT_INSPECT_INSPECT_H

#include <volt/fiber.h>
#include <volt/runtime.h>

typedef enum volt_seen_how_ {
  VOLT_SEEN_WAITS_,  /* claimed: what it awaits stays as it is until it is released */
  VOLT_SEEN_RUNS_,   /* on `worker` */
  VOLT_SEEN_QUEUED_, /* ready, in some queue; or just about to run or to wait */
  VOLT_SEEN_ENDS_    /* it has returned; a wake is still on its way to it */
} volt_seen_how_;

enum { VOLT_SEEN_NAME_ = 32 };

/* A task, as it was seen. Unless it is claimed, *task may be gone: use the copies only. */
typedef struct volt_seen_ {
  volt_task *task;
  volt_task_fn *poll;
  const struct volt_site_ *site; /* volt/detail/await.h: its file and function, no more of it may be
                                  * there; NULL: not known */
  volt_fiber_fn *fn;             /* of a fiber; NULL: it is none */
  uint64_t since_ns;             /* when it began to wait, as volt_rt_now_ns(), give or take some
                                  * polls of its worker; 0: it has not waited yet */
  int64_t registrations;         /* that are open, of a task that waits or ends: wakers that may
                                  * still be called, and calls that cancel it at this moment. 0:
                                  * nothing can wake it, but a cancel. -1: not known */
  uint32_t line;                 /* of its await; if it is not claimed: of the last one, a hint */
  uint32_t polls;                /* after which it has waited; the same as at another look: it has
                                  * waited all the time */
  volt_seen_how_ how;
  char name[VOLT_SEEN_NAME_]; /* of a fiber, maybe cut; "": none. inspect.c R4 */
  unsigned worker;
  bool is_cancelled;
} volt_seen_;

enum { VOLT_SEEN_BATCH_ = 64 };

/* Is given `count` tasks. Those that are claimed are released when it returns, so it must not wait,
 * or call what may. After that it is called with (NULL, 0): then no task is claimed, no lock is
 * held, and it may take its time, though the runtime cannot be destroyed meanwhile. Returns whether
 * to go on. */
typedef bool volt_see_(void *ctx, const volt_seen_ *seen, unsigned count);

/* Show every task that has not ended to see, at most `batch` at a time (1 to VOLT_SEEN_BATCH_).
 * Tasks that are spawned or end meanwhile may be shown or not. Every other is shown once.
 * rt: pinned by the caller. Takes 8 KiB of stack.
 * Returns VOLT_OK; VOLT_ETIMEDOUT if a lock of the runtime was not to be had within 50 ms, so some
 *   tasks were not shown; VOLT_ECANCELED if see has said to stop.
 * Threads: any, workers of rt too. */
int volt_inspect_(volt_rt *rt, unsigned batch, volt_see_ *see, void *ctx);

/* One step of what a claimed task awaits. */
typedef struct volt_stop_ {
  unsigned depth;
  const struct volt_site_ *site; /* of the task or async function that awaits; NULL: not known, or
                                  * this is a future within another */
  uint32_t line;                 /* of its await; 0: as above */
  volt_future *future;           /* what is awaited; NULL: nothing, or the next stop is */
  bool calls;                    /* what is awaited is the coroutine of the next stop */
} volt_stop_;

/* Returns whether to go on. */
typedef bool volt_walk_fn_(void *ctx, const volt_stop_ *stop);

/* Walk through what a claimed task awaits: async functions, and the branches of selects and joins,
 * outermost first, depth first. At most 64 deep. */
void volt_walk_(volt_task *t, volt_walk_fn_ *fn, void *ctx);

/* Runtimes of this process: the first, or the one after `after`, pinned: volt_rt_destroy() of it
 * waits for volt_rt_unpin_(). The pin of `after`, unless that is NULL, ends. Returns NULL: no
 * more. */
volt_rt *volt_rt_pin_next_(volt_rt *after);

/* Returns false: there is no such runtime, or it is about to be gone. */
bool volt_rt_pin_(volt_rt *rt);
void volt_rt_unpin_(volt_rt *rt);

/* What a worker does. For hints: the answers of two calls may not go together. */
typedef struct volt_worker_seen_ {
  const volt_task *task; /* that it polls; NULL: none. It may be gone */
  uint64_t instance;     /* of its poll: another one in each */
  uint64_t checked_ns;   /* at the clock, as volt_now_ns(): some polls ago, or before this one */
  bool is_parked;
  uint32_t queued; /* in its queues */
  int tid;         /* of its thread; 0: not known */
} volt_worker_seen_;

/* worker: below the number of workers. rt: pinned by the caller. */
void volt_worker_see_(volt_rt *rt, unsigned worker, volt_worker_seen_ *seen);

#endif
