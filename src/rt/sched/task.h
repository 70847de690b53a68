/* task.h: what other files of the runtime use of task.c. */
#ifndef VOLT_RT_SCHED_TASK_H
#define VOLT_RT_SCHED_TASK_H

#include <volt/task.h>

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

/* A task that has ENDED: its group gives the handle to a caller, as if the task had been spawned
 * alone; or takes it back. */
void volt_task_ungroup_(volt_task *t);
void volt_task_regroup_(volt_task *t);

#endif
