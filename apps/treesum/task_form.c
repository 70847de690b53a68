/* task_form.c: the walker, and the task that shows the progress; starts them, and ends what it has
 * started. What they call in the blocking pool takes locks and waits for a file system or a
 * terminal. */
#define _GNU_SOURCE
#include "task_form.h"

#include "common/program.h"
#include "common/sums/tree.h"

#define MAX_TASKS 256

/* ---- the progress ---- */

/* A task that awaits the ticks of an interval. What it prints may have to wait for a terminal. */
struct progress_task {
  volt_task task;
  volt_rt *rt;
  const struct progress *progress;
  volt_interval ticks;
  volt_blocking call;
};

static int show(void *ctx) {
  const struct progress_task *p = ctx;
  progress_show(p->progress);
  return VOLT_OK;
}

static int progress_poll(volt_task *t, volt_ctx *ctx) {
  struct progress_task *self = volt_container_of(t, struct progress_task, task);
  VOLT_TASK_BEGIN(self);
  for (;;) {
    VOLT_AWAIT(self, volt_interval_tick_future(&self->ticks));
    VOLT_AWAIT(self, volt_blocking_future(&self->call, self->rt, show, self));
  }
  VOLT_TASK_END(self);
}

static void progress_task_start(struct progress_task *p, const struct progress *progress,
                                volt_rt *rt) {
  *p = (struct progress_task){.rt = rt, .progress = progress};
  uint64_t interval_ns = progress_interval_ns(progress);
  volt_interval_init(&p->ticks, volt_rt_timers(rt), volt_rt_now_ns(rt) + interval_ns, interval_ns,
                     VOLT_INTERVAL_DELAY);
  volt_task_init(&p->task, progress_poll);
  int result = volt_spawn(rt, &p->task);
  if (result != VOLT_OK) fatal("cannot start a task: %s", volt_strerror(result));
}

/* Returns when it is not being shown any more. Not on a worker of the runtime. */
static void progress_task_stop(struct progress_task *p) {
  volt_task_cancel(&p->task);
  int result = volt_task_join(&p->task);
  if (result != VOLT_ECANCELED) fatal("the progress: %s", volt_strerror(result));
}

/* ---- the walker: a task that spawns a task for each file ---- */

struct walk_task {
  volt_task task; /* VOLT_OK, or VOLT_ECANCELED */
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

static int walk_poll(volt_task *t, volt_ctx *ctx) {
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

static void walk_task_init(struct walk_task *walk, struct task_form *form, char *const *roots) {
  *walk = (struct walk_task){.form = form, .root = roots};
  walk->directory.form = form;
  walk->directory.tree = &walk->tree;
  tree_init(&walk->tree, &form->scan->roots, &form->scan->tally, form->scan->console);
  volt_task_init(&walk->task, walk_poll);
}

/* The task has ended, or was not spawned. */
static void walk_task_destroy(struct walk_task *walk) {
  tree_destroy(&walk->tree);
}

/* ---- the form ---- */

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
  if (result == VOLT_OK) result = volt_group_wait(form->group);
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
