/* slow_task.c: a task per file that may be slow. */
#include "slow_task.h"

#include <stdlib.h>

#include "memory.h"

static int name_file(void *ctx) {
  const struct slow_task *s = ctx;
  slow_name(s->slow, s->path);
  return VOLT_OK;
}

/* To have been cancelled is not its failure: it returns VOLT_OK. So a parent that awaits its end
 * and gets VOLT_ECANCELED knows that it was cancelled itself. */
static int poll(volt_task *t, volt_ctx *ctx) {
  struct slow_task *self = volt_container_of(t, struct slow_task, task);
  int result;
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT_RESULT(
      self, result,
      volt_sleep_until(&self->nap, volt_rt_timers(self->rt), slow_deadline_ns(self->slow)));
  if (result == VOLT_OK) {
    VOLT_AWAIT_RESULT(self, result, volt_blocking_future(&self->call, self->rt, name_file, self));
    if (result == VOLT_ENOMEM) fatal("cannot start a thread");
  }
  VOLT_TASK_END(self);
}

void slow_task_begin(struct slow_task *s, const struct slow *slow, volt_rt *rt, const char *path) {
  if (slow->after_ms == 0) return;
  *s = (struct slow_task){.rt = rt, .slow = slow, .path = must_copy(path)};
  volt_task_init(&s->task, poll);
  int result = volt_spawn(rt, &s->task);
  if (result != VOLT_OK) fatal("cannot start a task: %s", volt_strerror(result));
}

volt_future *slow_task_end(struct slow_task *s) {
  volt_task_cancel(&s->task);
  return volt_task_join_future(&s->ended, &s->task);
}

void slow_task_forget(struct slow_task *s) {
  free(s->path);
  s->path = NULL;
}
