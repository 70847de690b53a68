/* parked.c: many tasks parked on one semaphore, then released: what one costs in memory,
 * everything included, and whether they come in the order in which they queued.
 *
 * One worker polls them all, so the ticket that a task draws at its first poll is its place in the
 * queue. There is one permit, which each gives on when it has it: so they are granted one at a
 * time, and run in the order of their grants, whatever the order in which a worker takes what is
 * ready. */
#include <stdio.h>
#include <unistd.h>

#include "tasks.h"

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

static double resident_bytes(void) {
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
  int result = volt_sem_acquire_blocking(&shared->all_parked, 1, VOLT_NO_DEADLINE);
  rt_require(result == VOLT_OK, "all are parked");
  while (volt_sem_waiters(&shared->sem) < shared->tasks) continue; /* the last is on its way */
}

static rt_outcome run_parked(const rt_options *o) {
  static struct shared shared = {VOLT_SEM_INIT(0), VOLT_SEM_INIT(0), VOLT_SEM_INIT(0), 0, 0, 0, 0};
  volt_rt *rt = rt_create(o);
  shared.tasks = o->tasks;
  double before = resident_bytes();
  spawn_parked(rt, &shared);
  rt_outcome outcome = {0};
  rt_measured(&outcome, RT_BYTES, (resident_bytes() - before) / o->tasks);
  uint64_t start_ns = volt_now_ns();
  uint64_t cpu_ns = rt_cpu_ns();
  volt_sem_release(&shared.sem, 1);
  int result = volt_sem_acquire_blocking(&shared.all_served, 1, VOLT_NO_DEADLINE);
  rt_measured(&outcome, RT_NS, (double)(volt_now_ns() - start_ns) / o->tasks);
  rt_measured(&outcome, RT_CPU_NS, (double)(rt_cpu_ns() - cpu_ns) / o->tasks);
  rt_require(result == VOLT_OK, "all are served");
  rt_require(shared.out_of_turn == 0, "they come in the order in which they have queued");
  volt_rt_destroy(rt);
  return outcome;
}

const rt_case rt_parked_cases[] = {{"parked", "native", run_parked}, {NULL, NULL, NULL}};
