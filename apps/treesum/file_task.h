/* file_task.h: a task that sums one file. */
#ifndef TREESUM_FILE_TASK_H
#define TREESUM_FILE_TASK_H

#include "task_form.h"

/* Have a file summed, by a task of the group. path: from malloc(), belongs to the task then, and so
 * does a permit of form->room.
 * Returns VOLT_OK, or VOLT_ECANCELED: the group is, and both have been given back. */
int file_task_spawn(struct task_form *form, char *path);

#endif
