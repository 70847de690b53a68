/* spawn.c: spawn and join in batches. */
#include <stdlib.h>

#include "tasks.h"

struct child {
  volt_task task;
  uint64_t number;
};

struct spawner {
  volt_task task;
  volt_future join;
  volt_rt *rt;
  struct child **children;
  unsigned batch_size, i;
  uint64_t batches, batch;
  uint64_t sum;
  uint64_t start_ns, end_ns;
};

static int child_poll(volt_task *t, volt_ctx *ctx) {
  struct child *self = volt_container_of(t, struct child, task);
  VOLT_TASK_BEGIN(self);
  self->number += 1;
  (void)ctx;
  VOLT_TASK_END(self);
}

static void spawn_batch(struct spawner *s) {
  for (unsigned i = 0; i < s->batch_size; i++) {
    struct child *c = VOLT_TASK_NEW(s->rt, struct child, child_poll);
    rt_require(c != NULL, "there is memory for a task");
    c->number = i;
    s->children[i] = c;
    rt_require(volt_spawn(s->rt, &c->task) == VOLT_OK, "a task is spawned");
  }
}

static int spawner_poll(volt_task *t, volt_ctx *ctx) {
  struct spawner *self = volt_container_of(t, struct spawner, task);
  VOLT_TASK_BEGIN(self);
  self->start_ns = volt_now_ns();
  for (self->batch = 0; self->batch < self->batches; self->batch++) {
    spawn_batch(self);
    for (self->i = 0; self->i < self->batch_size; self->i++) {
      VOLT_AWAIT(self, volt_task_join_future(&self->join, &self->children[self->i]->task));
      self->sum += self->children[self->i]->number;
      volt_task_detach(&self->children[self->i]->task);
    }
  }
  self->end_ns = volt_now_ns();
  VOLT_TASK_END(self);
}

static rt_outcome run_batches(volt_rt *rt, unsigned batch_size, uint64_t batches) {
  struct spawner *s = VOLT_TASK_NEW(rt, struct spawner, spawner_poll);
  rt_require(s != NULL, "there is memory for a task");
  s->rt = rt;
  s->children = (struct child **)calloc(batch_size, sizeof *s->children);
  rt_require(s->children != NULL, "there is memory for handles");
  s->batch_size = batch_size;
  s->batches = batches;
  uint64_t cpu_ns = rt_cpu_ns();
  rt_run_root(rt, &s->task);
  cpu_ns = rt_cpu_ns() - cpu_ns;
  uint64_t count = batch_size;
  rt_require(s->sum == batches * (count * (count + 1) / 2), "every task has run once");
  double all = (double)batches * batch_size;
  rt_outcome outcome = {0};
  rt_measured(&outcome, RT_NS, (double)(s->end_ns - s->start_ns) / all);
  rt_measured(&outcome, RT_CPU_NS, (double)cpu_ns / all);
  free(s->children);
  volt_task_detach(&s->task);
  return outcome;
}

static rt_outcome run_spawn(const rt_options *o) {
  volt_rt *rt = rt_create(o);
  run_batches(rt, o->tasks, rt_warm_up(o->operations));
  rt_outcome outcome = run_batches(rt, o->tasks, o->operations);
  volt_rt_destroy(rt);
  return outcome;
}

const rt_case rt_spawn_cases[] = {{"spawn", "native", run_spawn}, {NULL, NULL, NULL}};
