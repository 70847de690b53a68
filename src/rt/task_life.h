/* task_life.h: what the runtime's files know of a task, and what task.c needs of the runtime. */
#ifndef VOLT_RT_TASK_LIFE_H
#define VOLT_RT_TASK_LIFE_H

#include <volt/task.h>

#include "../core/future_ops.h"
#include "thread.h"

/* What has become of a task that was polled. */
typedef enum volt_ran_ {
  VOLT_RAN_WAITS_, /* it waits, or has ended: nothing of it may be touched */
  VOLT_RAN_AGAIN_  /* it is to be polled again, after the others */
} volt_ran_;

/* Poll a task that is ACTIVE and in nobody's queue. */
volt_ran_ volt_task_run_(volt_task *t);

/* Make a new task ACTIVE. group: its group, or NULL. */
void volt_task_begin_(volt_task *t, volt_rt *rt, volt_group *group);

/* Queue it, once it is in the registry of tasks. */
void volt_task_start_(volt_task *t);

/* It could not be spawned: as if it had never begun. */
void volt_task_not_begun_(volt_task *t);

/* Ask it to end, and keep it from ending until volt_task_deliver_(). By whoever knows that it has
 * not ENDED.
 * Returns false: too late, nothing was done; *schedule: it waits no more, deliver has to queue
 * it. */
bool volt_task_ask_(volt_task *t, bool *schedule);
void volt_task_deliver_(volt_task *t, bool schedule);

/* ---- what task.c needs: runtime.c, worker.c, registry.c, pool.c, group.c ---- */

/* Whether this thread is a worker of rt, which keeps rt from ending. */
static inline bool volt_rt_is_here_(volt_rt *rt) {
  return volt_thread_here_()->rt == rt;
}

/* On its own worker: before the tasks that are ready there, or after them. */
typedef enum volt_rt_order_ { VOLT_RT_NEXT_, VOLT_RT_LAST_ } volt_rt_order_;

/* Queue a task that has become ACTIVE. */
void volt_rt_schedule_(volt_task *t, volt_rt_order_ order);

/* The registry of tasks that have not ended which t is in: lock it; link t, or unlink it; unlock it.
 * While a task is counted in it the runtime lives. So a thread that is no worker uses the runtime
 * for the last time as it counts a task off, which unlocks the registry too. */
typedef struct volt_registry volt_registry;
volt_registry *volt_registry_lock_(volt_rt *rt, unsigned shard);
void volt_registry_link_(volt_registry *registry, volt_task *t);
void volt_registry_unlink_(volt_task *t);
void volt_registry_unlock_(volt_registry *registry);
void volt_registry_count_off_and_unlock_(volt_registry *registry);

void volt_pool_free_(volt_rt *rt, volt_task *t);

/* It has ended and its group lets it go: it is its holder's, as if it had been spawned alone; or the
 * group's again. */
void volt_task_ungroup_(volt_task *t);
void volt_task_regroup_(volt_task *t);

/* A task of the group has ended: first it leaves those that have not. Returns whether the group keeps
 * it. Then, when its memory is settled, without it: kept: the task, or NULL. */
bool volt_group_ended_(volt_group *g, volt_task *t);
void volt_group_count_off_(volt_group *g, volt_task *kept);

#endif
