/* file_task.c: a task that sums one file.
 *
 * It waits in two queues, for one of the jobs and for a file that may be open; sleeps
 * while its steps are done in the blocking pool; and gives back what it has, however it ends.
 *
 * Tasks need not begin in the order in which they are spawned. So that files are summed in the
 * order in which they are found, the walker gets the place in the first queue: a future may be
 * polled by one and then by another. */
#define _GNU_SOURCE
#include "task_form.h"

#include <stdlib.h>

#include "common/program.h"

/* ---- a slow file ---- */

/* A task beside the one that sums, which names the file if it takes too long, and is mostly
 * cancelled. It is a child of the one that sums, which ends it, and awaits its end, before it ends
 * itself. All-zero: no file is being watched. */
struct slow_task {
  volt_task task;
  volt_rt *rt;
  const struct slow *slow;
  char *path; /* NULL: it has ended, as its parent knows */
  volt_sleep_op nap;
  volt_blocking call;
  volt_future ended;
};

static int name_file(void *ctx) {
  const struct slow_task *s = ctx;
  slow_name(s->slow, s->path);
  return VOLT_OK;
}

/* To have been cancelled is not its failure: it returns VOLT_OK. So a parent that awaits its end
 * and gets VOLT_ECANCELED knows that it was cancelled itself. */
static int slow_poll(volt_task *t, volt_ctx *ctx) {
  struct slow_task *self = volt_container_of(t, struct slow_task, task);
  int result;
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT_RESULT(
      self, result,
      volt_sleep_future(&self->nap, volt_rt_timers(self->rt), slow_deadline_ns(self->slow)));
  if (result == VOLT_OK) {
    VOLT_AWAIT_RESULT(self, result, volt_blocking_future(&self->call, self->rt, name_file, self));
    if (result == VOLT_ENOMEM) fatal("cannot start a thread");
  }
  VOLT_TASK_END(self);
}

/* The file at path is being summed from now on. *s: stays where it is until it has ended. */
static void slow_task_begin(struct slow_task *s, const struct slow *slow, volt_rt *rt,
                            const char *path) {
  if (slow->after_ms == 0) return;
  *s = (struct slow_task){.rt = rt, .slow = slow, .path = must_copy(path)};
  volt_task_init(&s->task, slow_poll);
  int result = volt_spawn(rt, &s->task);
  if (result != VOLT_OK) fatal("cannot start a task: %s", volt_strerror(result));
}

/* Ask it to end. Returns a future of its end: VOLT_OK; VOLT_ECANCELED if the task that awaits it is
 * cancelled, and then it is still there. */
static volt_future *slow_task_end(struct slow_task *s) {
  volt_task_cancel(&s->task);
  return volt_task_join_future(&s->ended, &s->task);
}

/* It has ended. */
static void slow_task_forget(struct slow_task *s) {
  free(s->path);
  s->path = NULL;
}

/* ---- the file ---- */

struct file_task {
  volt_task task;
  struct task_form *form;
  struct file_sum sum;
  struct hasher *hasher;
  volt_future job;
  bool has_job;
  struct open_files_entry entry;
  struct slow_task slow;
  volt_blocking call;
};

/* In the blocking pool, at the end of the file or before. */
static int end_file(void *ctx) {
  struct file_task *f = ctx;
  file_sum_close(&f->sum);
  open_files_leave_with(&f->entry);
  file_sum_end(&f->sum, f->hasher);
  if (f->hasher != NULL) hashers_give_back(&f->form->hashers, f->hasher);
  return VOLT_OK;
}

/* In the blocking pool. */
static int step(void *ctx) {
  struct file_task *f = ctx;
  open_files_enter_with(&f->entry);
  if (f->hasher == NULL) f->hasher = hashers_take(&f->form->hashers);
  file_sum_step(&f->sum, f->hasher);
  return file_sum_is_open(&f->sum) ? VOLT_OK : end_file(f);
}

static int file_poll(volt_task *t, volt_ctx *ctx) {
  struct file_task *self = volt_container_of(t, struct file_task, task);
  struct task_form *form = self->form;
  struct scan *scan = form->scan;
  int result;
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT(self, &self->job);
  self->has_job = true;
  VOLT_AWAIT(self, open_files_permit(&self->entry, &scan->open_files));
  slow_task_begin(&self->slow, &scan->slow, form->rt, self->sum.path);
  do {
    VOLT_AWAIT(self, volt_blocking_future(&self->call, form->rt, step, self));
  } while (file_sum_is_open(&self->sum));

  VOLT_FINALLY(self);
  if (self->sum.path != NULL) {
    VOLT_AWAIT(self, volt_blocking_future(&self->call, form->rt, end_file, self));
  }
  while (self->slow.path != NULL) { /* again, if it is only now that this task is cancelled */
    VOLT_AWAIT_RESULT(self, result, slow_task_end(&self->slow));
    if (result == VOLT_OK) slow_task_forget(&self->slow);
  }
  if (self->has_job) volt_sem_release(&form->jobs, 1);
  volt_sem_release(&form->room, 1);
  VOLT_TASK_END(self);
}

int file_task_spawn(struct task_form *form, char *path) {
  struct file_task *f = VOLT_TASK_NEW(form->rt, struct file_task, file_poll);
  if (f == NULL) fatal("out of memory");
  f->form = form;
  file_sum_begin(&f->sum, form->scan, path);
  volt_future_made(volt_sem_acquire_future(&f->job, &form->jobs, 1));
  /* no waker: the task looks when it begins */
  bool has_job = volt_future_poll(&f->job, (volt_waker){NULL, NULL}) == VOLT_OK;
  int result = volt_group_spawn(form->group, form->rt, &f->task);
  if (result == VOLT_OK) return VOLT_OK;
  if (result != VOLT_ECANCELED) fatal("cannot start a task: %s", volt_strerror(result));
  if (has_job) volt_sem_release(&form->jobs, 1);
  volt_future_cancel(&f->job);
  free(path);
  volt_task_detach(&f->task);
  volt_sem_release(&form->room, 1);
  return result;
}
