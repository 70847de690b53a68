/* progress_task.c: a task that ticks. What it prints may have to wait for a terminal, so it is
 * printed in the blocking pool. */
#include "progress_task.h"

#include "memory.h"

static int show(void *ctx) {
  const struct progress_task *p = ctx;
  progress_show(p->progress);
  return VOLT_OK;
}

static int poll(volt_task *t, volt_ctx *ctx) {
  struct progress_task *self = volt_container_of(t, struct progress_task, task);
  VOLT_TASK_BEGIN(self);
  for (;;) {
    VOLT_AWAIT(self, volt_interval_tick(&self->ticks));
    VOLT_AWAIT(self, volt_blocking_future(&self->call, self->rt, show, self));
  }
  VOLT_TASK_END(self);
}

void progress_task_start(struct progress_task *p, const struct progress *progress, volt_rt *rt) {
  *p = (struct progress_task){.rt = rt, .progress = progress};
  uint64_t interval_ns = progress_interval_ns(progress);
  volt_interval_init(&p->ticks, volt_rt_timers(rt), volt_rt_now_ns(rt) + interval_ns, interval_ns,
                     VOLT_INTERVAL_DELAY);
  volt_task_init(&p->task, poll);
  int result = volt_spawn(rt, &p->task);
  if (result != VOLT_OK) fatal("cannot start a task: %s", volt_strerror(result));
}

void progress_task_stop(struct progress_task *p) {
  volt_task_cancel(&p->task);
  int result = volt_task_join_blocking(&p->task, VOLT_NO_DEADLINE);
  if (result != VOLT_ECANCELED) fatal("the progress: %s", volt_strerror(result));
}
