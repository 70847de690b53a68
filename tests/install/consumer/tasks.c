/* A stranger's program with a task: it adds up to 10, with a yield in between. */
#include <stdio.h>
#include <volt/runtime.h>

struct sum {
  volt_task task;
  int i;
  int total;
};

static int sum_poll(volt_task *t, volt_ctx *ctx) {
  struct sum *self = volt_container_of(t, struct sum, task);
  VOLT_TASK_BEGIN(self);
  for (self->i = 1; self->i <= 4; self->i++) {
    self->total += self->i;
    VOLT_YIELD(self);
  }
  VOLT_TASK_END(self);
}

int main(void) {
  volt_rt *rt;
  if (volt_rt_create(&rt, NULL) != VOLT_OK) return 1;
  struct sum *sum = VOLT_TASK_NEW(rt, struct sum, sum_poll);
  if (volt_spawn(rt, &sum->task) != VOLT_OK) return 2;
  if (volt_task_join_blocking(&sum->task, VOLT_NO_DEADLINE) != VOLT_OK) return 3;
  printf("%d\n", sum->total);
  int right = sum->total == 10;
  volt_task_detach(&sum->task);
  return volt_rt_destroy(rt) == 0 && right ? 0 : 4;
}
