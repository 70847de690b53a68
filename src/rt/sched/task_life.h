/* task_life.h: what other files of the runtime use of task.c, and what task.c uses of them. */
#ifndef VOLT_RT_SCHED_TASK_LIFE_H
#define VOLT_RT_SCHED_TASK_LIFE_H

#include <volt/task.h>

#include "../../core/future/future_ops.h"
#include "thread.h"

/* Make what a worker hands to the polls of its tasks, one after the other. */
void volt_task_ctx_init_(volt_ctx *ctx);

/* Make a new task ACTIVE. group: its group, or NULL. */
void volt_task_begin_(volt_task *t, volt_rt *rt, volt_group *group);

/* Queue it. It is in the registry already. */
void volt_task_start_(volt_task *t);

/* Undo volt_task_begin_(): the spawn failed. */
void volt_task_not_begun_(volt_task *t);

/* Ask a task to end, and keep it from ending until volt_task_deliver_(). The caller knows that it
 * has not ENDED.
 * Returns false: the task has returned already, and nothing was done. *schedule: the task waited,
 *   so volt_task_deliver_() must queue it. */
bool volt_task_ask_(volt_task *t, bool *schedule);
void volt_task_deliver_(volt_task *t, bool schedule);

/* For an inspector, which has pinned the runtime and locked the registry that t is in: if t waits,
 * keep it so until volt_task_release_(), which is called without the lock. What t awaits stays as
 * it is until then.
 * Returns whether t waited. *state: of t, before. */
bool volt_task_claim_(volt_task *t, uint64_t *state);
void volt_task_release_(volt_task *t);

/* ---- what task.c uses: worker.c, registry.c, pool.c, group.c ---- */

/* Whether this thread runs the tasks of rt. Then rt does not end before this thread stops doing
 * so. */
static inline bool volt_rt_is_here_(volt_rt *rt) {
  return volt_thread_here_()->rt == rt;
}

/* Queue a task that has become ACTIVE, behind the tasks that are ready: on this worker if this
 * thread is one of the task's runtime. */
void volt_rt_schedule_(volt_task *t);

/* The same, before the tasks that are ready on this worker. here: this thread's, of the task's
 * runtime. */
void volt_rt_schedule_next_(volt_here_ *here, volt_task *t);

/* The registry of tasks that have not ended: lock the one that a task is in, unlink the task, and
 * unlock. The runtime lives while a task is counted there, so a thread that is no
 * worker uses the runtime for the last time as it counts a task off. */
typedef struct volt_registry volt_registry;
volt_registry *volt_registry_lock_(volt_rt *rt, unsigned shard);
void volt_registry_unlink_(volt_task *t);
void volt_registry_link_again_(volt_task *t); /* where it was, before the unlock */
void volt_registry_unlock_(volt_registry *registry);
void volt_registry_count_off_and_unlock_(volt_registry *registry);

void volt_pool_free_(volt_task *t);

/* A task that has ENDED: its group gives the handle to a caller, as if the task had been spawned
 * alone; or takes it back. */
void volt_task_ungroup_(volt_task *t);
void volt_task_regroup_(volt_task *t);

/* A task of the group has ended. First take it out of the tasks that have not: returns whether the
 * group keeps it. Then, when its memory is settled, count it off. kept: the task if the group keeps
 * it, else NULL: its memory may be gone. */
bool volt_group_ended_(volt_group *g, volt_task *t);
void volt_group_count_off_(volt_group *g, volt_task *kept);

#endif
