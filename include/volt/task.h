/* task.h: tasks: functions that run on the workers of a runtime and wait without a thread.
 *
 * A task is the caller's struct with volt_task as its first member, and a poll function over it. It
 * holds what lives across an await, arguments and results included: they pass by value. The macros
 * and their limits are those of volt/async.h.
 *
 *   struct fetch { volt_task task; volt_future permit; int i; int bytes; };
 *
 *   static int fetch_poll(volt_task *t, volt_ctx *ctx) {
 *     struct fetch *self = volt_container_of(t, struct fetch, task);
 *     VOLT_TASK_BEGIN(self);
 *     for (self->i = 0; self->i < 10; self->i++) {
 *       VOLT_AWAIT(self, volt_sem_acquire_future(&self->permit, &pool, 1));
 *       ...
 *       volt_sem_release(&pool, 1);
 *     }
 *     VOLT_TASK_END(self);
 *   }
 *
 *   struct fetch *f = VOLT_TASK_NEW(rt, struct fetch, fetch_poll);    zeroed, from the pool
 *   int result = volt_spawn(rt, &f->task);                            VOLT_ENOMEM if f is NULL
 *   ...
 *   result = volt_task_join_blocking(&f->task, VOLT_NO_DEADLINE);     what fetch_poll has returned
 *   use(f->bytes);
 *   volt_task_detach(&f->task);                                       gives the memory back
 *
 * Whoever spawns a task holds its handle until they detach it. Memory of one's own serves as well
 * (volt_task_init()): it is the caller's again once the task has ended, which a join tells. A task
 * has ended when it has returned and every wake that was on its way to it has arrived: nothing
 * refers to its memory any more.
 *
 * Cancel asks; the task obeys at its next await, which returns VOLT_ECANCELED (volt/async.h), and
 * what it returns in the end is the outcome.
 *
 * A task must not block its worker (debug builds abort when it does so by a call of volt): it
 * awaits a future, takes a lock by try, computes in the blocking pool. Tasks do not begin in the
 * order in which they were spawned: where the order counts, the spawner polls the task's first
 * future, and the task awaits that. */
#ifndef VOLT_TASK_H
#define VOLT_TASK_H

#include "async.h"

typedef struct volt_rt volt_rt;
typedef struct volt_task volt_task;

/* Runs the task until it waits (VOLT_PENDING) or has ended (its result; negative: failed). */
typedef int volt_task_fn(volt_task *t, volt_ctx *ctx);

typedef struct volt_task_link {
  VOLT_PLAIN(struct volt_task_link *) next;
  VOLT_PLAIN(struct volt_task_link *) prev;
} volt_task_link;

/* Members are private. The caller's struct, all of it zero but this, does not move. */
struct volt_task {
  VOLT_ATOMIC(uint64_t) state;
  volt_task_fn *poll;
  volt_rt *rt;
  VOLT_PLAIN(volt_task *) next; /* in the injection queue */
  volt_task_link live;          /* among the tasks of the runtime that have not ended */
  volt_task_link sibling;       /* among the tasks of its group */
  VOLT_PLAIN(void *) joiner;    /* the waiter of who joins it, or its group */
  VOLT_PLAIN(int32_t) result;
  uint16_t shard; /* of the live tasks */
  uint16_t block; /* size class of its memory in the pool; 0: the caller's */
  volt_frame frame;
};

/* Members are private. */
typedef struct volt_short_lock {
  VOLT_ATOMIC(uint32_t) word;
} volt_short_lock;

/* Members are private. */
typedef struct volt_group {
  volt_short_lock lock;              /* for all that follows */
  VOLT_PLAIN(uint64_t) count;        /* tasks that have not ended */
  VOLT_PLAIN(int32_t) result;        /* the first failure */
  VOLT_PLAIN(uint32_t) is_cancelled; /* no more are taken */
  VOLT_PLAIN(volt_waiter *) waiter;  /* of who waits for all */
  volt_task_link running;
  volt_task_link cancelled; /* those that were told to end */
} volt_group;

VOLT_BEGIN_DECLS

/* ---- make ---- */

/* Memory for a task of this runtime: bytes of it, all zero, ready to be filled in and spawned.
 * bytes: at least sizeof(volt_task): the whole struct. Threads: any.
 * Returns NULL if there is no memory. Give it back by volt_task_detach(), spawned or not, before
 *   the runtime is destroyed. */
VOLT_API VOLT_NODISCARD void *volt_task_new(volt_rt *rt, size_t bytes, volt_task_fn *poll);

#define VOLT_TASK_NEW(rt, type, poll) \
  ((type *)volt_task_new((rt), sizeof(type) + 0 * offsetof(type, task), (poll)))

/* The same in memory of the caller's, which is the caller's to clear: this sets *t only. */
VOLT_API void volt_task_init(volt_task *t, volt_task_fn *poll);

/* ---- spawn ---- */

/* Let it run. From a worker of this runtime, on that worker next; from elsewhere, on any.
 * Returns VOLT_OK; VOLT_ECLOSED if the runtime is shutting down: then nothing has happened, the
 *   task may be detached; VOLT_ENOMEM if t is NULL.
 * Threads: any. Order: releases to the task what this thread did. */
VOLT_API VOLT_NODISCARD int volt_spawn(volt_rt *rt, volt_task *t);

/* ---- the handle ---- */

/* A future that is ready when the task has ended, with its result. One at a time. A task that
 * awaits it runs after those that are ready by then.
 * t: not detached before this is ready, or cancelled.
 * Cancel: stops waiting, not the task. Order: acquires what the task did. */
VOLT_API volt_future *volt_task_join_future(volt_future *f, volt_task *t);

/* Block this thread until the task has ended. Returns its result, or VOLT_ETIMEDOUT: then it has
 * not ended by deadline_ns and may be joined again. (A task that returns VOLT_ETIMEDOUT has that
 * result: volt_task_result() tells.) Not on a worker. */
VOLT_API int volt_task_join_blocking(volt_task *t, uint64_t deadline_ns);

/* VOLT_PENDING until it has ended, then its result. Order: acquires what the task did. */
VOLT_API int volt_task_result(volt_task *t);

/* Ask it to end: the await it is in, or comes to next, returns VOLT_ECANCELED. (If it is being
 * polled just now: the next in its next poll, which follows at once.)
 * Returns true: asked (what it returns is the outcome); false: it has returned already. */
VOLT_API bool volt_task_cancel(volt_task *t);

/* Whether it was asked to end, whatever has come of it. Threads: the handle's holder, or the
 * task. */
VOLT_API bool volt_task_is_cancelled(volt_task *t);

/* Give up the handle: nobody will join. A task from the pool is freed, at once or when it has
 * ended; memory of the caller's is never free to use again without a join (or a group).
 * A handle that is used again (detached, joined, cancelled or spawned) aborts, for as long as the
 * memory is not another task's. */
VOLT_API void volt_task_detach(volt_task *t);

/* ---- groups: tasks that end together ---- */

/* An empty group. The first task of it that fails (a negative result) cancels all others. The group
 * holds the handles: memory from the pool is freed as each task ends, memory of the caller's is the
 * caller's once the group has been waited for. All-zero is not valid. */
VOLT_API void volt_group_init(volt_group *g);

/* End its life: aborts if a task of it has not ended. */
VOLT_API void volt_group_destroy(volt_group *g);

/* Spawn t into the group, from anywhere, also from a task of the group.
 * Returns as volt_spawn(), or VOLT_ECANCELED if the group was cancelled. On failure nothing has
 * happened and the handle is still the caller's. */
VOLT_API VOLT_NODISCARD int volt_group_spawn(volt_group *g, volt_rt *rt, volt_task *t);

/* Cancel all tasks of the group, and take no more. */
VOLT_API void volt_group_cancel(volt_group *g);

/* A future that is ready when every task of the group has ended. One at a time.
 * Returns f: polls as VOLT_OK, or as the first task that failed; VOLT_ECANCELED if the task that
 *   awaits it was cancelled.
 * Cancel: if the task that awaits this is cancelled, so is the group, and this goes on waiting until
 *   all have ended: no child outlives its parent. A function that is dropped with
 *   volt_future_cancel() while it awaits this blocks until they have ended (aborts on a worker).
 *   volt_future_cancel() of this future only stops waiting. */
VOLT_API volt_future *volt_group_wait_future(volt_future *f, volt_group *g);

/* The same for a thread. VOLT_ETIMEDOUT: not all have ended. */
VOLT_API int volt_group_wait_blocking(volt_group *g, uint64_t deadline_ns);

/* VOLT_OK, or the result of the first task that has failed so far. */
VOLT_API int volt_group_result(volt_group *g);

/* Whether it was cancelled, by a call or by the first failure. */
VOLT_API bool volt_group_is_cancelled(volt_group *g);

/* How many have not ended. A snapshot. */
VOLT_API uint64_t volt_group_count(volt_group *g);

VOLT_END_DECLS

#define VOLT_TASK_BEGIN(self) VOLT_FRAME_BEGIN_(&(self)->task.frame)
#define VOLT_TASK_END(self) VOLT_FRAME_END_(self)

#endif
