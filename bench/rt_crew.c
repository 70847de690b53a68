/* rt_crew.c: some tasks that do the same number of operations each, and two workloads of that form:
 * yield and mutex. */
#define _GNU_SOURCE /* clock_gettime */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rt_bench.h"

void rt_require(bool so, const char *what) {
  if (so) return;
  fprintf(stderr, "bench: not so: %s\n", what);
  abort();
}

uint64_t rt_cpu_ns(void) {
  struct timespec used;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

volt_rt *rt_create(const rt_options *o) {
  volt_rt *rt;
  volt_rt_config config;
  memset(&config, 0, sizeof config);
  config.workers = o->workers;
  rt_require(volt_rt_create(&rt, &config) == VOLT_OK, "there is a runtime");
  return rt;
}

void rt_run_root(volt_rt *rt, volt_task *root) {
  rt_require(volt_spawn(rt, root) == VOLT_OK, "the first task is spawned");
  rt_require(volt_task_join_blocking(root, VOLT_NO_DEADLINE) == VOLT_OK, "the first task ends");
}

/* ---- a crew ---- */

struct crew {
  volt_task task;
  volt_future join;
  volt_rt *rt;
  rt_member **members;
  const rt_options *options;
  void *object;
  volt_task_fn *poll;
  uint64_t operations;
  unsigned i;
  uint64_t first_ns, last_ns, sum_ns;
};

static void spawn_member(struct crew *c) {
  rt_member *m = VOLT_TASK_NEW(c->rt, rt_member, c->poll);
  rt_require(m != NULL, "there is memory for a task");
  m->object = c->object;
  m->index = c->i;
  m->operations = c->operations;
  c->members[c->i] = m;
  rt_require(volt_spawn(c->rt, &m->task) == VOLT_OK, "a task is spawned");
}

static void look_at_member(struct crew *c) {
  rt_member *m = c->members[c->i];
  if (m->start_ns < c->first_ns) c->first_ns = m->start_ns;
  if (m->end_ns > c->last_ns) c->last_ns = m->end_ns;
  c->sum_ns += m->end_ns - m->start_ns;
  volt_task_detach(&m->task);
}

static int crew_poll(volt_task *t, volt_ctx *ctx) {
  struct crew *self = volt_container_of(t, struct crew, task);
  VOLT_TASK_BEGIN(self);
  for (self->i = 0; self->i < self->options->tasks; self->i++) spawn_member(self);
  for (self->i = 0; self->i < self->options->tasks; self->i++) {
    VOLT_AWAIT(self, volt_task_join_future(&self->join, &self->members[self->i]->task));
    look_at_member(self);
  }
  VOLT_TASK_END(self);
}

static rt_outcome run_once(volt_rt *rt, const rt_options *o, void *object, volt_task_fn *poll,
                           uint64_t operations) {
  struct crew *c = VOLT_TASK_NEW(rt, struct crew, crew_poll);
  rt_require(c != NULL, "there is memory for a task");
  c->rt = rt;
  c->members = (rt_member **)calloc(o->tasks, sizeof *c->members);
  rt_require(c->members != NULL, "there is memory for handles");
  c->options = o;
  c->object = object;
  c->poll = poll;
  c->operations = operations;
  c->first_ns = UINT64_MAX;
  uint64_t cpu_ns = rt_cpu_ns();
  rt_run_root(rt, &c->task);
  cpu_ns = rt_cpu_ns() - cpu_ns;
  double whole_ns = (double)(c->last_ns - c->first_ns);
  double all = (double)operations * o->tasks;
  rt_outcome outcome = {whole_ns / all, (double)cpu_ns / all,
                        (double)c->sum_ns / whole_ns / o->tasks, 0};
  free(c->members);
  volt_task_detach(&c->task);
  return outcome;
}

rt_outcome rt_crew_run(const rt_options *o, void *object, volt_task_fn *poll) {
  volt_rt *rt = rt_create(o);
  run_once(rt, o, object, poll, o->operations / 8 + 1);
  rt_outcome outcome = run_once(rt, o, object, poll, o->operations);
  volt_rt_destroy(rt);
  return outcome;
}

/* ---- yield ---- */

static int yield_poll(volt_task *t, volt_ctx *ctx) {
  rt_member *self = volt_container_of(t, rt_member, task);
  VOLT_TASK_BEGIN(self);
  self->start_ns = volt_now_ns();
  for (self->i = 0; self->i < self->operations; self->i++) VOLT_YIELD(self);
  self->end_ns = volt_now_ns();
  VOLT_TASK_END(self);
}

rt_outcome rt_yield(const rt_options *o) {
  return rt_crew_run(o, NULL, yield_poll);
}

/* ---- mutex ---- */

struct counted {
  VOLT_CACHE_ALIGNED volt_mutex mutex;
  uint64_t count; /* plain: the lock protects it */
};

static int mutex_poll(volt_task *t, volt_ctx *ctx) {
  rt_member *self = volt_container_of(t, rt_member, task);
  struct counted *shared = (struct counted *)self->object;
  VOLT_TASK_BEGIN(self);
  self->start_ns = volt_now_ns();
  for (self->i = 0; self->i < self->operations; self->i++) {
    VOLT_AWAIT(self, volt_mutex_lock_future(&self->future, &shared->mutex));
    shared->count += 1;
    volt_mutex_unlock(&shared->mutex);
  }
  self->end_ns = volt_now_ns();
  VOLT_TASK_END(self);
}

rt_outcome rt_mutex(const rt_options *o) {
  static struct counted shared = {VOLT_MUTEX_INIT, 0};
  rt_outcome outcome = rt_crew_run(o, &shared, mutex_poll);
  rt_require(shared.count == o->tasks * (o->operations + o->operations / 8 + 1),
             "one task at a time has the lock");
  return outcome;
}
