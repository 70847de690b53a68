/* task_form.c: starts the walker, and ends what it has started. */
#define _GNU_SOURCE
#include "task_form.h"

#include "memory.h"
#include "progress_task.h"
#include "walk_task.h"

#define MAX_TASKS 256

static void init(struct task_form *form, struct scan *scan, volt_group *group, unsigned jobs) {
  *form = (struct task_form){.scan = scan, .group = group};
  hashers_init(&form->hashers, jobs);
  volt_sem_init(&form->jobs, jobs);
  volt_sem_init(&form->room, jobs > MAX_TASKS ? jobs : MAX_TASKS);
  int result = volt_rt_create(&form->rt, NULL);
  if (result != VOLT_OK) fatal("cannot start the runtime: %s", volt_strerror(result));
}

static void destroy(struct task_form *form) {
  volt_rt_destroy(form->rt);
  volt_sem_destroy(&form->room);
  volt_sem_destroy(&form->jobs);
  hashers_destroy(&form->hashers);
}

/* Returns when the group has ended. */
static void run(struct task_form *form, char *const *roots) {
  struct walk_task walk;
  walk_task_init(&walk, form, roots);
  int result = volt_group_spawn(form->group, form->rt, &walk.task);
  if (result == VOLT_OK) result = volt_group_wait_blocking(form->group, VOLT_NO_DEADLINE);
  if (result != VOLT_OK && result != VOLT_ECANCELED) fatal("a task: %s", volt_strerror(result));
  walk_task_destroy(&walk);
}

void task_form_run(struct scan *scan, volt_group *group, char *const *roots, unsigned jobs) {
  struct task_form form;
  struct progress progress;
  struct progress_task shower;
  init(&form, scan, group, jobs);
  progress_begin(&progress, scan->console, &scan->tally);
  progress_task_start(&shower, &progress, form.rt);
  run(&form, roots);
  progress_task_stop(&shower);
  progress_end(&progress);
  destroy(&form);
}
