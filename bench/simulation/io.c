/* io.c: connections on the simulated machine, each with a task: it waits until there is a request,
 * receives it, sends the answer, and waits again. One in so many polls computes for long before that.
 * Compiled as the library is. */
#include <string.h>

#include <volt/runtime.h>
#include <volt/volt.h>

#include "io_driver.h"
#include "machine.h"
#include "network.h"
#include "workloads.h"

enum { LONG_NS = 10000000 };

typedef struct talk {
  volt_task task;
  volt_future future;
  volt_sem *ready;
  unsigned index, long_each;
  int result, got;
  uint64_t random;
} talk;

/* How often something was done on all workers. */
typedef struct tally {
  double busy_ns;
  uint64_t sleeps;
  volt_worker_stats counts;
} tally;

typedef struct host {
  volt_task task;
  volt_future join;
  volt_rt *rt;
  const setup *setup;
  volt_sem **ready;
  talk **talks;
  unsigned i;
  tally tallies[NET_CLOSES + 1];
} host;

static bool is_long(talk *self) {
  if (self->long_each == 0) return false;
  self->random ^= self->random << 13;
  self->random ^= self->random >> 7;
  self->random ^= self->random << 17;
  return self->random % self->long_each == 0;
}

static int talk_poll(volt_task *t, volt_ctx *ctx) {
  talk *self = volt_container_of(t, talk, task);
  VOLT_TASK_BEGIN(self);
  for (;;) {
    VOLT_AWAIT_TRY(self, self->result, volt_sem_try_acquire(self->ready, 1),
                   volt_sem_acquire_future(&self->future, self->ready, 1));
    self->got = net_receive(self->index);
    if (self->got < 0) break;
    if (self->got == 0) continue;
    net_send(self->index);
    if (is_long(self)) net_compute(self->index);
  }
  VOLT_TASK_END(self);
}

static void host_spawn(host *h) {
  talk *t = VOLT_TASK_NEW(h->rt, talk, talk_poll);
  t->ready = h->ready[h->i];
  t->index = h->i;
  t->long_each = h->setup->long_each;
  t->random = sim_random() | 1;
  h->talks[h->i] = t;
  if (volt_spawn(h->rt, &t->task) != VOLT_OK) sim_stop("a task is not spawned");
}

static int host_poll(volt_task *t, volt_ctx *ctx) {
  host *self = volt_container_of(t, host, task);
  VOLT_TASK_BEGIN(self);
  for (self->i = 0; self->i < self->setup->tasks; self->i++) host_spawn(self);
  net_start();
  for (self->i = 0; self->i < self->setup->tasks; self->i++) {
    VOLT_AWAIT(self, volt_task_join_future(&self->join, &self->talks[self->i]->task));
    volt_task_detach(&self->talks[self->i]->task);
  }
  VOLT_TASK_END(self);
}

/* On whatever thread, or on none: it costs nothing. */
static void host_stage(void *ctx, net_stage stage) {
  host *self = (host *)ctx;
  tally *all = &self->tallies[stage];
  sim_aside(true);
  for (uint32_t i = 0; i < self->setup->workers; i++) {
    volt_worker_stats one;
    if (volt_rt_worker_stats(self->rt, i, &one) != VOLT_OK) sim_stop("there is no such worker");
    all->counts.parks += one.parks;
    all->counts.wakes += one.wakes;
    all->counts.empty_searches += one.empty_searches;
    all->counts.checks += one.checks;
    all->counts.events += one.events;
    all->counts.moved += one.moved;
    all->counts.steals += one.steals;
    all->counts.stolen += one.stolen;
  }
  all->busy_ns = sim_busy_ns();
  all->sleeps = sim_sleeps();
  sim_aside(false);
}

static void host_say(const host *h, const net_says *n, measured *m) {
  const tally *from = &h->tallies[NET_BEGINS], *to = &h->tallies[NET_ENDS];
  double all = (double)n->operations;
  m->ns = n->window_ns / all;
  m->cpu_ns = (to->busy_ns - from->busy_ns - n->computing_ns) / all;
  m->parks = to->counts.parks - from->counts.parks;
  m->steals = to->counts.steals - from->counts.steals;
  m->stolen = to->counts.stolen - from->counts.stolen;
  m->has_io = true;
  m->io.net = *n;
  m->io.sleeps = to->sleeps - from->sleeps;
  m->io.wakes = to->counts.wakes - from->counts.wakes;
  m->io.empty_searches = to->counts.empty_searches - from->counts.empty_searches;
  m->io.looks = to->counts.checks - from->counts.checks;
  m->io.events = to->counts.events - from->counts.events;
  m->io.moved = to->counts.moved - from->counts.moved;
  m->io.quiet_sleeps = h->tallies[NET_CLOSES].sleeps - h->tallies[NET_IS_QUIET].sleeps;
}

static host *host_new(const setup *s) {
  host *h = (host *)sim_alloc_lines(sizeof *h);
  memset((void *)h->tallies, 0, sizeof h->tallies);
  h->setup = s;
  h->talks = (talk **)sim_alloc_lines(s->tasks * sizeof *h->talks);
  h->ready = (volt_sem **)sim_alloc_lines(s->tasks * sizeof *h->ready);
  for (unsigned i = 0; i < s->tasks; i++) {
    h->ready[i] = (volt_sem *)sim_alloc_lines(sizeof *h->ready[i]);
    volt_sem_init(h->ready[i], 0);
  }
  return h;
}

measured run_io(const setup *s) {
  measured m;
  memset(&m, 0, sizeof m);
  if (s->workers > 64) sim_stop("a word has a bit for each worker that sleeps in the driver");
  host *h = host_new(s);
  uint64_t operations = s->operations * s->tasks;
  net_setup net = {.connections = s->tasks,
                   .sets = s->has_set_each ? s->workers : 1,
                   .warm_up = operations / 8 + 1,
                   .operations = operations,
                   .rate = s->rate,
                   .way_ns = s->way_ns,
                   .client_ns = s->client_ns,
                   .clients = s->workers,
                   .compute_ns = LONG_NS,
                   .lose = s->lose,
                   .stage = host_stage,
                   .ctx = h};
  io_setup io = {.connections = s->tasks, .ready = h->ready, .has_set_each = s->has_set_each};
  volt_rt_config config;
  memset(&config, 0, sizeof config);
  config.workers = s->workers;
  config.seed = s->seed;
  net_begin(&net);
  config.io = io_kind_of(&io);
  if (volt_rt_create(&h->rt, &config) != VOLT_OK) sim_stop("there is no such runtime");
  volt_task_init(&h->task, host_poll);
  if (volt_spawn(h->rt, &h->task) != VOLT_OK) sim_stop("a task is not spawned");
  if (volt_task_join(&h->task) != VOLT_OK) sim_stop("it does not end");
  volt_rt_destroy(h->rt);
  net_says says = net_end();
  host_say(h, &says, &m);
  return m;
}
