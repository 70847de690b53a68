/* group.h: what task.c uses of groups. */
#ifndef VOLT_RT_SCHED_GROUP_H
#define VOLT_RT_SCHED_GROUP_H

#include <volt/task.h>

/* A task of the group has ended. First take it out of the tasks that have not: returns whether the
 * group keeps it. Then, when its memory is settled, count it off. kept: the task if the group keeps
 * it, else NULL: its memory may be gone. */
bool volt_group_ended_(volt_group *g, volt_task *t);
void volt_group_count_off_(volt_group *g, volt_task *kept);

#endif
