/* slow_task.h: names a slow file of a task: by a task beside it that sleeps, and is mostly
 * cancelled.
 *
 * It is a child of the one that sums, which ends it, and awaits its end, before it ends itself. */
#ifndef TREESUM_SLOW_TASK_H
#define TREESUM_SLOW_TASK_H

#include <volt/runtime.h>

#include "slow.h"

/* All-zero: no file is being watched. */
struct slow_task {
  volt_task task;
  volt_rt *rt;
  const struct slow *slow;
  char *path; /* NULL: it has ended, as its parent knows */
  volt_sleep nap;
  volt_blocking call;
  volt_future ended;
};

/* The file at path is being summed from now on; print its name if that takes too long. *s: stays
 * where it is until it has ended. */
void slow_task_begin(struct slow_task *s, const struct slow *slow, volt_rt *rt, const char *path);

/* Ask it to end. Returns a future of its end: VOLT_OK; VOLT_ECANCELED if whoever awaits it is
 * cancelled, and then it is still there. */
volt_future *slow_task_end(struct slow_task *s);

/* It has ended. */
void slow_task_forget(struct slow_task *s);

#endif
