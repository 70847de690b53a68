/* task_form.h: the scan with tasks of volt's runtime: a walker, one for each file, one that shows
 * the progress, one beside each file that may turn out slow.
 *
 * The runtime's workers run them, and never wait: what may wait, for a disk, a terminal or a lock,
 * is called in its blocking pool. Walker and files are a group: to stop is to cancel it. */
#ifndef TREESUM_TASK_FORM_H
#define TREESUM_TASK_FORM_H

#include <volt/runtime.h>

#include "common/sums/hash.h"
#include "scan.h"

/* What the tasks share. */
struct task_form {
  struct scan *scan;
  volt_rt *rt;
  volt_group *group;
  struct hashers hashers; /* one for each file that is summed */
  volt_sem jobs;          /* a permit for each of those */
  volt_sem room;          /* a permit for each file that may have a task */
};

/* Sum all regular files in and below roots (ends with NULL), so many at a time. group: initialised;
 * can be cancelled at any time, also before and after; then this returns when all tasks have ended.
 * Errors are printed. */
void task_form_run(struct scan *scan, volt_group *group, char *const *roots, unsigned jobs);

/* In file_task.c: have a file summed, by a task of the group. path: from malloc(), belongs to the
 * task then, and so does a permit of form->room. Returns VOLT_OK, or VOLT_ECANCELED: the group is,
 * and both have been given back. */
int file_task_spawn(struct task_form *form, char *path);

#endif
