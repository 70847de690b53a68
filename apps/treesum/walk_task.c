/* walk_task.c: the walker of the task form. What it calls in the blocking pool takes locks and
 * waits for the file system. */
#define _GNU_SOURCE
#include "walk_task.h"

#include "file_task.h"

/* ---- a directory ---- */

static int end_directory(void *ctx) {
  struct walk_directory *directory = ctx;
  tree_close(directory->tree);
  open_files_leave_with(&directory->entry);
  return VOLT_OK;
}

static int read_entries(void *ctx) {
  struct walk_directory *directory = ctx;
  open_files_enter_with(&directory->entry);
  tree_read(directory->tree);
  return tree_is_open(directory->tree) ? VOLT_OK : end_directory(directory);
}

static int read_directory(volt_async *a, volt_ctx *ctx) {
  struct walk_directory *self = volt_container_of(a, struct walk_directory, async);
  struct task_form *form = self->form;
  VOLT_ASYNC_BEGIN(self);
  VOLT_AWAIT(self, open_files_permit(&self->entry, &form->scan->open_files));
  do {
    VOLT_AWAIT(self, volt_blocking_future(&self->call, form->rt, read_entries, self));
  } while (tree_is_open(self->tree));

  VOLT_FINALLY(self);
  if (self->entry.files != NULL) {
    VOLT_AWAIT(self, volt_blocking_future(&self->call, form->rt, end_directory, self));
  }
  VOLT_ASYNC_END(self);
}

/* ---- the tree ---- */

static int enter_root(void *ctx) {
  struct walk_task *walk = ctx;
  tree_enter(&walk->tree, *walk->root++);
  return VOLT_OK;
}

static int end_walk(void *ctx) {
  struct walk_task *walk = ctx;
  tally_add(&walk->form->scan->tally, (struct counts){.walked = true});
  return VOLT_OK;
}

static int poll(volt_task *t, volt_ctx *ctx) {
  struct walk_task *self = volt_container_of(t, struct walk_task, task);
  struct task_form *form = self->form;
  VOLT_TASK_BEGIN(self);
  while (*self->root != NULL) {
    VOLT_AWAIT(self, volt_blocking_future(&self->call, form->rt, enter_root, self));
    for (;;) {
      while (tree_has_file(&self->tree)) {
        VOLT_AWAIT(self, volt_sem_acquire_future(&self->room, &form->room, 1));
        int result = file_task_spawn(form, tree_next_file(&self->tree));
        if (result != VOLT_OK) VOLT_RETURN(self, result);
      }
      if (!tree_next_directory(&self->tree)) break;
      VOLT_AWAIT(self, volt_async_future(&self->directory.async, read_directory));
    }
  }
  VOLT_AWAIT(self, volt_blocking_future(&self->call, form->rt, end_walk, self));
  VOLT_TASK_END(self);
}

void walk_task_init(struct walk_task *walk, struct task_form *form, char *const *roots) {
  *walk = (struct walk_task){.form = form, .root = roots};
  walk->directory.form = form;
  walk->directory.tree = &walk->tree;
  tree_init(&walk->tree, &form->scan->roots, &form->scan->tally, form->scan->console);
  volt_task_init(&walk->task, poll);
}

void walk_task_destroy(struct walk_task *walk) {
  tree_destroy(&walk->tree);
}
