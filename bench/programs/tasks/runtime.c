/* runtime.c: the runtime itself: spawn and join in batches; many tasks parked; timers. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tasks.h"

/* ---- spawn and join in batches ---- */

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

/* ---- parked: many tasks on one semaphore, then released: what one costs in memory, everything
 * included, and whether they come in the order in which they queued.
 *
 * One worker polls them all, so the ticket that a task draws at its first poll is its place in the
 * queue. There is one permit, which each gives on when it has it: so they are granted one at a
 * time, and run in the order of their grants, whatever the order in which a worker takes what is
 * ready. ---- */

struct shared {
  volt_sem sem, all_parked, all_served;
  uint64_t tasks;
  uint64_t tickets, served, out_of_turn; /* plain: the worker's */
};

struct parked {
  volt_task task;
  volt_future permit;
  struct shared *shared;
  uint64_t ticket;
};

static int parked_poll(volt_task *t, volt_ctx *ctx) {
  struct parked *self = volt_container_of(t, struct parked, task);
  struct shared *shared = self->shared;
  VOLT_TASK_BEGIN(self);
  self->ticket = shared->tickets++;
  if (self->ticket + 1 == shared->tasks) volt_sem_release(&shared->all_parked, 1);
  VOLT_AWAIT(self, volt_sem_acquire_future(&self->permit, &shared->sem, 1));
  shared->out_of_turn += self->ticket != shared->served;
  shared->served += 1;
  volt_sem_release(shared->served < shared->tasks ? &shared->sem : &shared->all_served, 1);
  VOLT_TASK_END(self);
}

double rt_resident_bytes(void) {
  FILE *in = fopen("/proc/self/statm", "r");
  unsigned long pages = 0;
  bool read = in && fscanf(in, "%*u %lu", &pages) == 1;
  if (in) fclose(in);
  rt_require(read, "/proc/self/statm can be read");
  return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

static void spawn_parked(volt_rt *rt, struct shared *shared) {
  for (uint64_t i = 0; i < shared->tasks; i++) {
    struct parked *p = VOLT_TASK_NEW(rt, struct parked, parked_poll);
    rt_require(p != NULL, "there is memory for a task");
    p->shared = shared;
    rt_require(volt_spawn(rt, &p->task) == VOLT_OK, "a task is spawned");
    volt_task_detach(&p->task);
  }
  int result = volt_sem_acquire(&shared->all_parked, 1);
  rt_require(result == VOLT_OK, "all are parked");
  while (volt_sem_waiters(&shared->sem) < shared->tasks) continue; /* the last is on its way */
}

static rt_outcome run_parked(const rt_options *o) {
  static struct shared shared = {VOLT_SEM_INIT(0), VOLT_SEM_INIT(0), VOLT_SEM_INIT(0), 0, 0, 0, 0};
  volt_rt *rt = rt_create(o);
  shared.tasks = o->tasks;
  double before = rt_resident_bytes();
  spawn_parked(rt, &shared);
  rt_outcome outcome = {0};
  rt_measured(&outcome, RT_BYTES, (rt_resident_bytes() - before) / o->tasks);
  uint64_t start_ns = volt_now_ns();
  uint64_t cpu_ns = rt_cpu_ns();
  volt_sem_release(&shared.sem, 1);
  int result = volt_sem_acquire(&shared.all_served, 1);
  rt_measured(&outcome, RT_NS, (double)(volt_now_ns() - start_ns) / o->tasks);
  rt_measured(&outcome, RT_CPU_NS, (double)(rt_cpu_ns() - cpu_ns) / o->tasks);
  rt_require(result == VOLT_OK, "all are served");
  rt_require(shared.out_of_turn == 0, "they come in the order in which they have queued");
  volt_rt_destroy(rt);
  return outcome;
}

const rt_case rt_parked_cases[] = {{"parked", "native", run_parked}, {NULL, NULL, NULL}};

/* ---- timer: one task sets a time-out an hour ahead and takes it back, again and again, while
 * others are pending in the timers of the same runtime ---- */

#define MINUTE_NS UINT64_C(60000000000)

enum { BETWEEN_YIELDS = 128 }; /* what else would run in between, does, as after so many awaits */

struct timed {
  volt_task task;
  volt_timers *timers;
  volt_sleep_op *others;
  uint32_t other_count;
  uint64_t operations, i;
  volt_sleep_op sleep;
  uint64_t good; /* operations that were pending, and then cancelled */
  uint64_t start_ns, end_ns, cpu_ns;
};

/* Half an hour to one and a half, in no order, so that the hour is in the middle of them. */
static uint64_t other_deadline_ns(uint32_t i) {
  uint64_t scattered = (i * UINT64_C(2654435761)) & UINT32_MAX;
  return volt_deadline_ns(30 * MINUTE_NS + (scattered * (60 * MINUTE_NS >> 16) >> 16));
}

static void start_others(struct timed *self, volt_ctx *ctx) {
  for (uint32_t i = 0; i < self->other_count; i++) {
    volt_future *f = volt_sleep_future(&self->others[i], self->timers, other_deadline_ns(i));
    rt_require(volt_future_poll_ctx(f, ctx) == VOLT_PENDING, "a timer is pending");
  }
}

static void cancel_others(struct timed *self, volt_ctx *ctx) {
  for (uint32_t i = 0; i < self->other_count; i++) {
    volt_future *f = &self->others[i].future;
    rt_require(volt_future_poll_ctx(f, ctx) == VOLT_PENDING, "a timer is still pending");
    volt_future_cancel(f);
  }
}

static bool start_and_cancel(struct timed *self, volt_ctx *ctx) {
  volt_future *f = volt_sleep_future(&self->sleep, self->timers, volt_deadline_ns(60 * MINUTE_NS));
  bool pending = volt_future_poll_ctx(f, ctx) == VOLT_PENDING;
  volt_future_cancel(f);
  return pending && volt_future_poll_ctx(f, ctx) == VOLT_ECANCELED;
}

static int timed_poll(volt_task *t, volt_ctx *ctx) {
  struct timed *self = volt_container_of(t, struct timed, task);
  VOLT_TASK_BEGIN(self);
  start_others(self, ctx);
  self->cpu_ns = rt_cpu_ns();
  self->start_ns = volt_now_ns();
  for (self->i = 1; self->i <= self->operations; self->i++) {
    self->good += start_and_cancel(self, ctx);
    if (self->i % BETWEEN_YIELDS == 0) VOLT_YIELD(self);
  }
  self->end_ns = volt_now_ns();
  self->cpu_ns = rt_cpu_ns() - self->cpu_ns;
  cancel_others(self, ctx);
  VOLT_TASK_END(self);
}

static rt_outcome run_once(volt_rt *rt, const rt_options *o, uint64_t operations) {
  struct timed *t = VOLT_TASK_NEW(rt, struct timed, timed_poll);
  rt_require(t != NULL, "there is memory for a task");
  t->timers = volt_rt_timers(rt);
  t->other_count = o->amount;
  t->others = (volt_sleep_op *)calloc(o->amount + 1u, sizeof *t->others);
  rt_require(t->others != NULL, "there is memory for timers");
  t->operations = operations;
  rt_run_root(rt, &t->task);
  rt_require(t->good == operations, "every timer was pending and was cancelled");
  rt_require(volt_timers_earliest_ns(t->timers) == VOLT_NO_DEADLINE, "no timer is left");
  rt_outcome outcome = {0};
  rt_measured(&outcome, RT_NS, (double)(t->end_ns - t->start_ns) / (double)operations);
  rt_measured(&outcome, RT_CPU_NS, (double)t->cpu_ns / (double)operations);
  free(t->others);
  volt_task_detach(&t->task);
  return outcome;
}

static rt_outcome run_timer(const rt_options *o) {
  volt_rt *rt = rt_create(o);
  run_once(rt, o, rt_warm_up(o->operations));
  rt_outcome outcome = run_once(rt, o, o->operations);
  rt_require(volt_rt_destroy(rt) == 0, "the task has ended by itself");
  return outcome;
}

const rt_case rt_timer_cases[] = {{"timer", "native", run_timer}, {NULL, NULL, NULL}};
