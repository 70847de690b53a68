/* task_state.h: the bits of volt_task.state, for task.c, which says what each means, and
 * task_join.c. */
#ifndef VOLT_RT_SCHED_TASK_STATE_H
#define VOLT_RT_SCHED_TASK_STATE_H

#include <volt/task.h>

#define SPAWNED UINT64_C(1)
#define ACTIVE UINT64_C(2)
#define NOTIFIED UINT64_C(4)
#define COMPLETE UINT64_C(8)
#define CANCEL UINT64_C(16)
#define ENDED UINT64_C(32)
#define JOINER UINT64_C(64)
#define DETACHED UINT64_C(128)
#define GROUPED UINT64_C(256)
#define ASKED UINT64_C(512)
#define ONE UINT64_C(1024) /* registration */
#define ONE_LESS (UINT64_C(0) - ONE)

/* By the thread that has seen ENDED and JOINER: complete the waiter that joins t. */
void volt_task_complete_joiner_(volt_task *t);

#endif
