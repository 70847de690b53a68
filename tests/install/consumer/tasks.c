/* A stranger's program with a task and a fiber: each adds up to 10, with a yield in between. A dump
 * has the runtime in it, and the name that the program gives it. */
#include <stdio.h>
#include <string.h>
#include <volt/fiber.h>
#include <volt/sight.h>

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

static int sum_fiber(void *arg) {
  int total = 0;
  for (int i = 1; i <= *(int *)arg; i++) {
    total += i;
    if (volt_fiber_yield() != VOLT_OK) return VOLT_ECANCELED;
  }
  return total;
}

static bool find_runtime(void *found, const char *text, size_t length) {
  *(bool *)found = length > 8 && memcmp(text, "runtime ", 8) == 0;
  return true;
}

static int look_at(volt_rt *rt) {
  bool found = false;
  volt_counts_of counts[1];
  if (volt_name(rt, "the runtime") != VOLT_OK || !volt_name_of(rt)) return 7;
  if (volt_dump(rt, 0, find_runtime, &found) != VOLT_OK || !found) return 8;
  volt_unname(rt);
  return volt_counts(counts, 1) > 0 ? 0 : 9;
}

int main(void) {
  volt_rt *rt;
  int four = 4;
  if (volt_rt_create(&rt, NULL) != VOLT_OK) return 1;
  struct sum *sum = VOLT_TASK_NEW(rt, struct sum, sum_poll);
  if (volt_spawn(rt, &sum->task) != VOLT_OK) return 2;
  if (volt_task_join(&sum->task) != VOLT_OK) return 3;
  printf("%d\n", sum->total);
  int right = sum->total == 10;
  volt_task_detach(&sum->task);
  volt_task *fiber = volt_fiber_new(rt, sum_fiber, &four, NULL);
  if (volt_spawn(rt, fiber) != VOLT_OK) return 5;
  if (volt_task_join(fiber) != 10) return 6;
  volt_task_detach(fiber);
  int seen = look_at(rt);
  if (seen != 0) return seen;
  return volt_rt_destroy(rt) == 0 && right ? 0 : 4;
}
