/* progress_task.h: shows the progress of the task form: a task that awaits the ticks of an
 * interval. */
#ifndef TREESUM_PROGRESS_TASK_H
#define TREESUM_PROGRESS_TASK_H

#include <volt/runtime.h>

#include "progress.h"

struct progress_task {
  volt_task task;
  volt_rt *rt;
  const struct progress *progress;
  volt_interval ticks;
  volt_blocking call;
};

/* Start showing it. */
void progress_task_start(struct progress_task *p, const struct progress *progress, volt_rt *rt);

/* Returns when it is not being shown any more. Not on a worker of the runtime. */
void progress_task_stop(struct progress_task *p);

#endif
