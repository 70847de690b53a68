/* walk_task.h: the walker of the task form: spawns a task for each file of a tree. */
#ifndef TREESUM_WALK_TASK_H
#define TREESUM_WALK_TASK_H

#include "task_form.h"
#include "tree.h"

struct walk_task {
  volt_task task; /* to be spawned; VOLT_OK, or VOLT_ECANCELED */
  struct task_form *form;
  struct tree tree;
  char *const *root; /* the next one */
  struct walk_directory {
    volt_async async;
    struct task_form *form;
    struct tree *tree;
    struct open_files_entry entry;
    volt_blocking call;
  } directory;
  volt_blocking call;
  volt_future room;
};

/* It is to have every regular file in and below each of roots (ends with NULL) summed. */
void walk_task_init(struct walk_task *walk, struct task_form *form, char *const *roots);

/* The task has ended, or was not spawned. */
void walk_task_destroy(struct walk_task *walk);

#endif
