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
 *   result = volt_task_join(&f->task);     what fetch_poll has returned
 *   use(f->bytes);
 *   volt_task_detach(&f->task);                                       gives the memory back
 *
 * The caller that spawns a task holds its handle until it detaches it. A task may be in memory of
 * the caller's too (volt_task_init()); that memory is the caller's again once the task has ended,
 * which a join waits for. A task has ended when it has returned and every wake that was on its way
 * to it has arrived: nothing refers to its memory any more.
 *
 * A cancel asks a task to end: its next await returns VOLT_ECANCELED (volt/async.h), and what the
 * task returns in the end is its result.
 *
 * A task must not block its worker: it awaits a future, tries a lock, or has the blocking pool
 * compute (volt_blocking_future()). Debug builds abort when a task makes a call of volt that can
 * block, also if it need not wait; others report once for each runtime that one has blocked
 * (volt_rt_hooks). Tasks do not begin in the order in which they
 * were spawned: where the order counts, the spawner polls the task's first future, and the task
 * awaits that.
 *
 * A group is a set of tasks that end together; or a server fills it for ever and takes tasks one by
 * one as they end:
 *
 *   volt_group_init(&g);                 if a task fails, the others are cancelled; a task from the
 *                                        pool is freed as it ends
 *   volt_group_init_how(&g, VOLT_GROUP_KEEP_GOING);                    the same, but none cancelled
 *   volt_group_init_how(&g, VOLT_GROUP_KEEP_GOING | VOLT_GROUP_KEEP_RESULTS);    kept until taken
 *
 *   static int serve_poll(volt_task *t, volt_ctx *ctx) {
 *     struct server *self = volt_container_of(t, struct server, task);
 *     VOLT_TASK_BEGIN(self);
 *     for (;;) {
 *       self->either[0] = volt_chan_recv_future(&self->accept, self->connections, &self->fd);
 *       self->either[1] = volt_group_is_empty(&self->group)
 *                             ? NULL
 *                             : volt_group_next_future(&self->next, &self->group, &self->ended);
 *       VOLT_AWAIT_RESULT(self, self->result,
 *                         volt_select_future(&self->select, self->either, 2, VOLT_SELECT_FAIR));
 *       if (self->result != VOLT_OK) break;
 *       if (volt_select_winner(&self->select) == 0) {
 *         struct request *r = VOLT_TASK_NEW(self->rt, struct request, request_poll);
 *         if (r) r->fd = self->fd;
 *         int spawned = volt_group_spawn(&self->group, self->rt, r ? &r->task : NULL);
 *         if (spawned != VOLT_OK) refuse(self->fd, r, spawned);
 *       } else {
 *         if (volt_task_result(self->ended) < 0) self->failed += 1;
 *         volt_task_detach(self->ended);
 *       }
 *     }
 *     VOLT_FINALLY(self);
 *     volt_group_cancel(&self->group);
 *     VOLT_AWAIT_RESULT(self, self->result, volt_group_wait_future(&self->next, &self->group));
 *     volt_group_destroy(&self->group);
 *     VOLT_TASK_END(self);
 *   } */
#ifndef VOLT_TASK_H
#define VOLT_TASK_H

#include "async.h"
#include "detail/holders.h"
#include "detail/short_lock.h"

typedef struct volt_rt volt_rt;
typedef struct volt_task volt_task;

/* Runs the task until it waits. Returns VOLT_PENDING, or the result of the task: negative if it has
 * failed. */
typedef int volt_task_fn(volt_task *t, volt_ctx *ctx);

typedef struct volt_task_link {
  VOLT_PLAIN(struct volt_task_link *) next;
  VOLT_PLAIN(struct volt_task_link *) prev;
} volt_task_link;

/* Members are private. The struct that has it does not move while the task has not ended. */
struct volt_task {
  VOLT_ATOMIC(uint64_t) state;
  volt_task_fn *poll;
  volt_rt *rt;
  VOLT_PLAIN(volt_task *) next; /* in the injection queue */
  volt_task_link entry;         /* in the registry of tasks that have not ended */
  volt_task_link sibling;       /* among the tasks of its group */
  VOLT_PLAIN(void *) joiner;    /* the waiter that joins it, or its group */
  volt_frame frame;             /* with what is small of the task's own */
  VOLT_PLAIN(uint32_t) polls;   /* after which it has waited */
  VOLT_PLAIN(uint32_t) since;   /* when the last one ended: in 1.05 ms, by its worker's last look */
  VOLT_TASK_HOLDS_
};
VOLT_SIZE_AT_MOST_(volt_task, 104);

/* What a group does when one of its tasks fails, and with tasks that have ended. */
enum volt_group_how {
  VOLT_GROUP_FAIL_FAST = 0,    /* the first failure cancels the others */
  VOLT_GROUP_KEEP_GOING = 1,   /* a failure is that task's alone */
  VOLT_GROUP_KEEP_RESULTS = 2, /* added to either: each is kept until it is taken */
};

/* Members are private. */
typedef struct volt_group {
  volt_short_lock lock;              /* for all that follows */
  uint32_t how;                      /* of volt_group_how */
  VOLT_PLAIN(uint64_t) count;        /* tasks that have not ended */
  VOLT_PLAIN(int32_t) result;        /* the first failure */
  VOLT_PLAIN(uint32_t) is_cancelled; /* no more tasks are added */
  VOLT_PLAIN(volt_waiter *) waiter;  /* that waits for all, or for the next */
  volt_task_link running;
  volt_task_link cancelled; /* those that were asked to end */
  volt_task_link ended;     /* those that are kept, the oldest first */
} volt_group;

/* A handle to cancel one task of a group alone. It does not own the task or keep it: the task ends,
 * and is freed, as without the handle. All-zero: of no task. Members are private. */
typedef struct volt_group_member {
  volt_task_link link; /* behind its task, among those of the group */
  volt_group *group;
  VOLT_PLAIN(volt_task *) task; /* NULL: it has ended, was asked to, or was dropped */
} volt_group_member;

/* 0, if at is: where the task is in its struct. */
#define VOLT_TASK_NOT_FIRST_ "the first member of the struct is not `volt_task task`"
#if defined(__cplusplus)
template <size_t at>
struct volt_task_first_ {
  static_assert(at == 0, VOLT_TASK_NOT_FIRST_);
  enum : size_t { is = at };
};
#define VOLT_TASK_FIRST_(at) volt_task_first_<(at)>::is
#else
#define VOLT_TASK_FIRST_(at)                          \
  (0 * sizeof(struct {                                \
     _Static_assert((at) == 0, VOLT_TASK_NOT_FIRST_); \
     int unused;                                      \
   }))
#endif

VOLT_BEGIN_DECLS

/* ---- make and spawn ---- */

/* Allocate a task of this runtime.
 * bytes: the size of the caller's struct, at least sizeof(volt_task) (aborts). poll: its function.
 * Returns the memory, all zero, to be filled in and spawned; NULL if there is none. The caller
 *   gives it back by volt_task_detach(), spawned or not: volt_rt_destroy() aborts if it has not.
 * Threads: any. */
VOLT_API VOLT_NODISCARD void *volt_task_new(volt_rt *rt, size_t bytes, volt_task_fn *poll);

/* The same for a struct of this type, whose first member is `volt_task task` (an error of the
 * compiler). */
#define VOLT_TASK_NEW(rt, type, poll) \
  ((type *)volt_task_new((rt), sizeof(type) + VOLT_TASK_FIRST_(offsetof(type, task)), (poll)))

/* Prepare a task in memory of the caller's. Sets *t only: the caller clears the rest of its struct.
 * Threads: one, which then spawns it. */
VOLT_API void volt_task_init(volt_task *t, volt_task_fn *poll);

/* Let a task run: next on this worker, if a worker of rt calls this and its polls are short
 * (volt/runtime.h); else on any worker.
 * t: initialised, and not spawned before (aborts).
 * Returns VOLT_OK; VOLT_ECLOSED if the runtime is shutting down: nothing has happened, and the task
 *   may be detached; VOLT_ENOMEM if t is NULL, so the result of volt_task_new() need not be tested.
 * Threads: any. Order: the task acquires what this thread did before. */
VOLT_API VOLT_NODISCARD int volt_spawn(volt_rt *rt, volt_task *t);

/* ---- join ---- */

/* Wait for a task to end. One join at a time (aborts).
 * f: the caller's memory. t: not of a group (aborts); not detached before this is ready or
 * cancelled.
 * Returns f: polls as the task's result.
 * Wakes: once, as the task ends. If a task of the same runtime is woken, it runs behind the tasks
 *   that are ready by then.
 * Cancel: stops waiting, not the task.
 * Threads: any. Order: acquires what the task did. */
VOLT_API VOLT_NODISCARD volt_future *volt_task_join_future(volt_future *f, volt_task *t);

/* The same; block this thread until the task has ended or deadline_ns (as volt_now_ns()) has
 * passed.
 * volt_task_join() has no deadline: it waits for as long as that takes.
 * Returns the task's result, or VOLT_ETIMEDOUT: the task had not ended by deadline_ns, and may be
 *   joined again. If the task itself may return VOLT_ETIMEDOUT, ask volt_task_result().
 * Threads: any that may block: not a worker. Order: acquires what the task did. */
VOLT_API int volt_task_join_until(volt_task *t, uint64_t deadline_ns);
VOLT_INLINE int volt_task_join(volt_task *t) {
  return volt_task_join_until(t, VOLT_NO_DEADLINE);
}

/* Give up the handle: no thread will join. A task from the pool is freed, at once or when it has
 * ended. Memory of the caller's must stay for ever, unless the task was joined or was in a group.
 * A detached handle must not be used again: to detach, join, cancel or spawn it aborts, unless its
 * memory is another task's by then.
 * Threads: the handle's holder. */
VOLT_API void volt_task_detach(volt_task *t);

/* ---- cancel ---- */

/* Ask a task to end: the await that it is in, or comes to next, returns VOLT_ECANCELED. If it is
 * being polled at this moment, that is an await of its next poll, which follows at once.
 * t: spawned and not detached (aborts).
 * Returns true: asked, and what the task returns is its result; false: it has returned already.
 * Threads: any, while the handle is held. */
VOLT_API bool volt_task_cancel(volt_task *t);

/* ---- inspection ---- */

/* Look at the result of a task.
 * Returns VOLT_PENDING until the task has ended, then its result.
 * Threads: any, while the handle is held. Order: acquires what the task did. */
VOLT_API int volt_task_result(volt_task *t);

/* Say whether the task was ever asked to end, also if an await has obeyed.
 * Threads: the handle's holder, or the task. */
VOLT_API bool volt_task_is_cancelled(volt_task *t);

/* ---- groups: make and end ---- */

/* Begin an empty group: the first task of it that fails (a negative result) cancels all others. The
 * group holds the handles of its tasks. Memory from the pool is freed as each task ends; memory of
 * the caller's is the caller's once the group has been waited for. All-zero is not valid.
 * Threads: one, before any other call. */
VOLT_API void volt_group_init(volt_group *g);

/* The same with another policy.
 * how: VOLT_GROUP_FAIL_FAST (as volt_group_init()) or VOLT_GROUP_KEEP_GOING (no failure cancels
 *   anything); either with or without VOLT_GROUP_KEEP_RESULTS; any other value aborts. With
 *   VOLT_GROUP_KEEP_RESULTS a task that has ended stays in the group, memory and result, until it
 *   is taken (volt_group_next_future()) or the group is destroyed. Without it the group holds
 *   nothing of a task that has ended. */
VOLT_API void volt_group_init_how(volt_group *g, unsigned how);

/* End the group's life, and detach the tasks that were kept and not taken. Aborts if a task of it
 * has not ended. Every other call that was given the group, or a member of it, must have
 * returned. */
VOLT_API void volt_group_destroy(volt_group *g);

/* ---- groups: spawn and wait ---- */

/* Spawn a task into the group.
 * Returns as volt_spawn(), or VOLT_ECANCELED if the group was cancelled. On failure nothing has
 *   happened, and the handle is still the caller's.
 * Threads: any, also a task of the group. Order: as volt_spawn(). */
VOLT_API VOLT_NODISCARD int volt_group_spawn(volt_group *g, volt_rt *rt, volt_task *t);

/* Wait until every task of the group has ended. Only one future of a group may wait at a time, this
 * or volt_group_next_future() (aborts). Tasks that the group keeps stay in it, to be taken.
 * Returns f: polls as VOLT_OK, or as the result of the first task that failed; VOLT_ECANCELED if
 *   the task that awaits it was cancelled.
 * Cancel: if the task that awaits this is cancelled, so is the group, and this goes on waiting
 *   until all have ended: no child outlives its parent. A function that is dropped with
 *   volt_future_cancel() while it awaits this blocks until they have ended; in a fiber it
 *   suspends, and on a worker it aborts.
 *   volt_future_cancel() of this future only stops waiting.
 * Order: acquires what the tasks did. */
VOLT_API VOLT_NODISCARD volt_future *volt_group_wait_future(volt_future *f, volt_group *g);

/* The same; block this thread until then or until deadline_ns (as volt_now_ns()).
 * volt_group_wait() has no deadline: it waits for as long as that takes.
 * Returns VOLT_OK, the result of the first task that failed, or VOLT_ETIMEDOUT: not all have ended,
 *   or all have, and the first that failed did so with VOLT_ETIMEDOUT: volt_group_count() is 0 then.
 * Threads: any that may block. */
VOLT_API int volt_group_wait_until(volt_group *g, uint64_t deadline_ns);
VOLT_INLINE int volt_group_wait(volt_group *g) {
  return volt_group_wait_until(g, VOLT_NO_DEADLINE);
}

/* Take one task of the group that has ended: the one that ended first, or, if none has ended yet,
 * the next that does. Only one future of a group may wait at a time, this or
 * volt_group_wait_future() (aborts).
 * g: made with VOLT_GROUP_KEEP_RESULTS (else aborts). t: the caller's memory, which must stay until
 *   the future is ready or cancelled; *t is NULL until then.
 * Returns f: polls as VOLT_OK: *t has ended and left the group, and its handle is the caller's, to
 *   ask for volt_task_result(), and to detach if it is from the pool; or as VOLT_EEMPTY: no task
 *   was in the group when the future was first polled, and *t is NULL.
 * Cancel: no task is cancelled. A task that was taken and not polled is the first to be taken
 *   again, and *t is NULL.
 * Order: VOLT_OK acquires what the task did. */
VOLT_API VOLT_NODISCARD volt_future *volt_group_next_future(volt_future *f, volt_group *g,
                                                            volt_task **t);

/* The same without waiting.
 * Returns VOLT_OK, VOLT_EAGAIN (no task has ended), or VOLT_EEMPTY; *t is NULL unless VOLT_OK.
 * Threads: any. */
VOLT_API VOLT_NODISCARD int volt_group_try_next(volt_group *g, volt_task **t);

/* The same; block this thread until a task has ended or deadline_ns (as volt_now_ns()) has passed.
 * volt_group_next() has no deadline: it waits for as long as that takes.
 * Returns VOLT_OK, VOLT_ETIMEDOUT (no task has ended), or VOLT_EEMPTY; *t is NULL unless VOLT_OK.
 * Threads: any that may block. */
VOLT_API VOLT_NODISCARD int volt_group_next_until(volt_group *g, volt_task **t,
                                                  uint64_t deadline_ns);
VOLT_INLINE VOLT_NODISCARD int volt_group_next(volt_group *g, volt_task **t) {
  return volt_group_next_until(g, t, VOLT_NO_DEADLINE);
}

/* ---- groups: cancel ---- */

/* Ask all tasks of the group to end, and add no more.
 * Threads: any, before the group is destroyed. */
VOLT_API void volt_group_cancel(volt_group *g);

/* Spawn as volt_group_spawn(), with a handle to cancel this task alone.
 * m: the caller's memory, content overwritten. It must not move or be freed before the task has
 *   ended (at the latest when the group is empty), or volt_group_member_drop() has returned.
 * Returns as volt_group_spawn(); on failure *m is of no task. */
VOLT_API VOLT_NODISCARD int volt_group_spawn_member(volt_group *g, volt_rt *rt, volt_task *t,
                                                    volt_group_member *m);

/* Ask that task to end, as volt_task_cancel(). If it then returns VOLT_ECANCELED, that is no
 * failure in the group. May be called any number of times, also when the task has ended and its
 * memory is gone or used again.
 * Returns true: asked; false: the task has returned, or was asked before, by this or with its
 *   group; or *m is of no task.
 * Threads: any, before the group is destroyed. */
VOLT_API bool volt_group_member_cancel(volt_group_member *m);

/* Give up the handle: afterwards the memory of *m is the caller's. The task goes on.
 * Threads: any, before the group is destroyed. */
VOLT_API void volt_group_member_drop(volt_group_member *m);

/* ---- groups: inspection ---- */

/* Look at the result of a group so far.
 * Returns VOLT_OK, or the result of the first task that has failed. Threads: any. */
VOLT_API int volt_group_result(volt_group *g);

/* Say whether the group was cancelled, by a call or by the first failure. Threads: any. */
VOLT_API bool volt_group_is_cancelled(volt_group *g);

/* Count the tasks that have not ended. A snapshot. Threads: any. */
VOLT_API uint64_t volt_group_count(volt_group *g);

/* Say whether nothing is in the group: no task that has not ended, and none that is kept. A
 * snapshot. Threads: any. */
VOLT_API bool volt_group_is_empty(volt_group *g);

VOLT_END_DECLS

/* The first and the last statement of a task's function, as VOLT_ASYNC_BEGIN() and _END(). */
#define VOLT_TASK_BEGIN(self) VOLT_FRAME_BEGIN_(self, (self)->task)
#define VOLT_TASK_END(self) VOLT_FRAME_END_(self)

/* As VOLT_ASYNC_SHOWS(). its: the address of the volt_task. */
#define VOLT_TASK_SHOWS(self, inside) VOLT_FRAME_SHOWS_(self, (self)->task, inside)

#endif
