/* rt_load.c: what the tasks of a load do. */
#include "rt_load.h"

#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PERMITS = 5, LOST_AFTER_SECONDS = 60 };

/* ---- what an abort prints ---- */

static VOLT_ATOMIC(volt_rt *) watched;

static void print_runtime(int signal_number) {
  volt_rt *rt = volt_load_relaxed(&watched); /* the program ends here */
  volt_rt_stats_of s;
  (void)signal(signal_number, SIG_DFL);
  (void)alarm(5); /* if it has stopped with a lock held */
  if (!rt) return;
  volt_rt_stats(rt, &s);
  fprintf(stderr,
          "runtime: %" PRIu32 " workers, %" PRIu32 " parked, %" PRIu32 " searching, %" PRIu64
          " live of %" PRIu64 " spawned, %" PRIu64 " injected; blocking: %" PRIu32
          " threads, %" PRIu32 " idle, %" PRIu64 " queued; now %" PRIu64 ", earliest timer %" PRIu64
          "\n",
          s.workers, s.parked, s.searching, s.live, s.spawned, s.injected, s.blocking_threads,
          s.blocking_idle, s.blocking_queued, volt_now_ns(),
          volt_timers_earliest_ns(volt_rt_timers(rt)));
  for (uint32_t i = 0; i < s.workers; i++) {
    volt_worker_stats w;
    (void)volt_rt_worker_stats(rt, i, &w);
    fprintf(stderr,
            "  worker %" PRIu32 ": %" PRIu64 " polls, %" PRIu32 " queued, %" PRIu64
            " steals, %" PRIu64 " parks\n",
            i, w.polls, w.queued, w.steals, w.parks);
  }
}

/* ---- common to all kinds ---- */

static load_task *load_task_of(volt_task *t) {
  return volt_container_of(t, load_task, task);
}

static uint32_t below(load_task *self, uint32_t bound) {
  return rng_below(&self->random, bound);
}

static volt_timers *timers_of(load_task *self) {
  return volt_rt_timers(self->load->rt);
}

static volt_future *sleep_a_little(load_task *self) {
  self->deadline_ns = volt_deadline_ns(below(self, 100000));
  return volt_sleep_future(&self->nap, timers_of(self), self->deadline_ns);
}

static volt_future *take_some(load_task *self) {
  self->holds = 1 + below(self, PERMITS);
  return volt_sem_acquire_future(&self->first, &self->load->sem, self->holds);
}

/* took: whether what take_some() wanted has come. */
static void give_back(load_task *self, bool took) {
  if (took && self->holds > 0) volt_sem_release(&self->load->sem, self->holds);
  self->holds = 0;
}

static void count_end(load_task *self) {
  (void)volt_fetch_add_relaxed(&self->load->ended, 1); /* a count: read when all have ended */
}

static int outcome(load_task *self) {
  return self->fails ? VOLT_EINVAL : VOLT_OK;
}

/* ---- kinds ---- */

static int takes_permits(volt_task *t, volt_ctx *ctx) {
  load_task *self = load_task_of(t);
  VOLT_TASK_BEGIN(self);
  for (; self->rounds > 0; self->rounds--) {
    VOLT_AWAIT_RESULT(self, self->result, take_some(self));
    if (self->result != VOLT_OK) {
      give_back(self, false);
      VOLT_RETURN(self, self->result);
    }
    if (below(self, 2)) VOLT_YIELD(self);
    give_back(self, true);
  }
  VOLT_RETURN(self, outcome(self));
  VOLT_FINALLY(self);
  give_back(self, true);
  count_end(self);
  VOLT_TASK_END(self);
}

static int locks(volt_task *t, volt_ctx *ctx) {
  load_task *self = load_task_of(t);
  VOLT_TASK_BEGIN(self);
  for (; self->rounds > 0; self->rounds--) {
    VOLT_AWAIT(self, volt_mutex_lock_future(&self->first, &self->load->mutex));
    self->is_locked = true;
    STRESS_CHECK(self->load->in_mutex++ == 0);
    if (below(self, 2)) VOLT_YIELD(self);
    STRESS_CHECK(--self->load->in_mutex == 0);
    self->is_locked = false;
    volt_mutex_unlock(&self->load->mutex);
  }
  VOLT_RETURN(self, outcome(self));
  VOLT_FINALLY(self);
  if (self->is_locked) {
    self->load->in_mutex -= 1;
    volt_mutex_unlock(&self->load->mutex);
  }
  count_end(self);
  VOLT_TASK_END(self);
}

static int naps(volt_task *t, volt_ctx *ctx) {
  load_task *self = load_task_of(t);
  VOLT_TASK_BEGIN(self);
  for (; self->rounds > 0; self->rounds--) {
    VOLT_AWAIT(self, sleep_a_little(self));
    STRESS_CHECK(volt_now_ns() >= self->deadline_ns);
  }
  VOLT_RETURN(self, outcome(self));
  VOLT_FINALLY(self);
  count_end(self);
  VOLT_TASK_END(self);
}

static volt_future *race(load_task *self) {
  self->branches[0] = take_some(self);
  self->branches[1] = sleep_a_little(self);
  return volt_select_future(&self->select, self->branches, 2, VOLT_SELECT_FAIR);
}

static int races(volt_task *t, volt_ctx *ctx) {
  load_task *self = load_task_of(t);
  VOLT_TASK_BEGIN(self);
  for (; self->rounds > 0; self->rounds--) {
    VOLT_AWAIT_RESULT(self, self->result, race(self));
    give_back(self, self->result == VOLT_OK && volt_select_winner(&self->select) == 0);
    if (self->result != VOLT_OK) VOLT_RETURN(self, self->result);
  }
  VOLT_RETURN(self, outcome(self));
  VOLT_FINALLY(self);
  count_end(self);
  VOLT_TASK_END(self);
}

static volt_future *take_in_time(load_task *self) {
  return volt_timeout_future(&self->timeout, take_some(self), timers_of(self),
                             volt_deadline_ns(below(self, 50000)));
}

static int takes_in_time(volt_task *t, volt_ctx *ctx) {
  load_task *self = load_task_of(t);
  VOLT_TASK_BEGIN(self);
  for (; self->rounds > 0; self->rounds--) {
    VOLT_AWAIT_RESULT(self, self->result, take_in_time(self));
    give_back(self, self->result == VOLT_OK);
    if (self->result == VOLT_ECANCELED) VOLT_RETURN(self, self->result);
  }
  VOLT_RETURN(self, outcome(self));
  VOLT_FINALLY(self);
  count_end(self);
  VOLT_TASK_END(self);
}

static int call(void *arg) {
  uint32_t spins = *(uint32_t *)arg;
  for (volatile uint32_t i = spins; i > 0;) i = i - 1;
  return (int)spins + 2;
}

static int calls(volt_task *t, volt_ctx *ctx) {
  load_task *self = load_task_of(t);
  VOLT_TASK_BEGIN(self);
  self->rounds = below(self, 1000);
  VOLT_AWAIT_RESULT(self, self->result,
                    volt_blocking_future(&self->blocking, self->load->rt, call, &self->rounds));
  STRESS_CHECK(self->result == (int)self->rounds + 2 || self->result == VOLT_ECANCELED);
  VOLT_RETURN(self, outcome(self));
  VOLT_FINALLY(self);
  count_end(self);
  VOLT_TASK_END(self);
}

/* Spawn a child of its own. Returns a future of its end, or NULL. */
static volt_future *bear(load_task *self) {
  load_task *child = rt_load_new(self->load, self->depth - 1);
  if (rt_load_spawn(self->load, NULL, child) != VOLT_OK) {
    volt_task_detach(&child->task);
    return NULL;
  }
  self->child = child;
  if (below(self, 4) == 0) (void)volt_task_cancel(&child->task);
  return volt_task_join_future(&self->first, &child->task);
}

static int parents(volt_task *t, volt_ctx *ctx) {
  load_task *self = load_task_of(t);
  VOLT_TASK_BEGIN(self);
  if (!bear(self)) VOLT_RETURN(self, VOLT_ECLOSED);
  if (below(self, 4)) VOLT_AWAIT_RESULT(self, self->result, &self->first);
  VOLT_RETURN(self, outcome(self));
  VOLT_FINALLY(self);
  if (self->child) volt_task_detach(&self->child->task); /* ended or not */
  count_end(self);
  VOLT_TASK_END(self);
}

static void fill_group(load_task *self) {
  volt_group_init(&self->group);
  for (uint32_t i = below(self, 5); i > 0; i--) {
    load_task *child = rt_load_new(self->load, self->depth - 1);
    child->fails = below(self, 4) == 0;
    if (rt_load_spawn(self->load, &self->group, child) != VOLT_OK) {
      volt_task_detach(&child->task);
    }
  }
  if (below(self, 8) == 0) volt_group_cancel(&self->group);
}

static int has_family(volt_task *t, volt_ctx *ctx) {
  load_task *self = load_task_of(t);
  VOLT_TASK_BEGIN(self);
  fill_group(self);
  VOLT_AWAIT_RESULT(self, self->result, volt_group_wait_future(&self->first, &self->group));
  STRESS_CHECK(volt_group_count(&self->group) == 0);
  volt_group_destroy(&self->group);
  VOLT_RETURN(self, outcome(self));
  VOLT_FINALLY(self);
  count_end(self);
  VOLT_TASK_END(self);
}

static volt_task_fn *const childless[] = {takes_permits, locks, naps, races, takes_in_time, calls};
static volt_task_fn *const others[] = {parents, has_family};
enum { CHILDLESS = sizeof childless / sizeof *childless, OTHERS = sizeof others / sizeof *others };

/* ---- tasks ---- */

static void set(rt_load *l, load_task *t, uint32_t depth) {
  t->load = l;
  t->random = rng_seeded(volt_fetch_add_relaxed(&l->seed, 1)); /* any number */
  t->depth = depth;
  t->rounds = 1 + below(t, 4);
}

static volt_task_fn *any_kind(load_task *t) {
  uint32_t kind = below(t, t->depth > 0 ? CHILDLESS + OTHERS : CHILDLESS);
  return kind < CHILDLESS ? childless[kind] : others[kind - CHILDLESS];
}

static int run_its_kind(volt_task *task, volt_ctx *ctx) {
  return load_task_of(task)->poll(task, ctx);
}

load_task *rt_load_new(rt_load *l, uint32_t depth) {
  load_task *t = VOLT_TASK_NEW(l->rt, load_task, run_its_kind);
  STRESS_CHECK(t != NULL);
  set(l, t, depth);
  t->poll = any_kind(t);
  return t;
}

void rt_load_init(rt_load *l, load_task *t, uint32_t depth) {
  memset((void *)t, 0, sizeof *t);
  volt_task_init(&t->task, run_its_kind);
  set(l, t, depth);
  t->poll = any_kind(t);
}

int rt_load_spawn(rt_load *l, volt_group *group, load_task *t) {
  (void)volt_fetch_add_relaxed(&l->spawned, 1); /* a count: read when all have ended */
  int result = group ? volt_group_spawn(group, l->rt, &t->task) : volt_spawn(l->rt, &t->task);
  if (result != VOLT_OK) (void)volt_fetch_add_relaxed(&l->spawned, UINT64_MAX);
  return result;
}

/* ---- the books ---- */

static void *count_alloc(size_t bytes, void *ctx) {
  rt_load *l = (rt_load *)ctx;
  (void)volt_fetch_add_relaxed(&l->held, bytes); /* a count */
  return malloc(bytes);
}

static void count_free(void *memory, size_t bytes, void *ctx) {
  rt_load *l = (rt_load *)ctx;
  free(memory);
  (void)volt_fetch_add_release(&l->held, 0 - (uint64_t)bytes); /* the last access to *l */
}

void rt_load_begin(rt_load *l, unsigned workers, uint64_t seed) {
  rt_load_begin_io(l, workers, seed, NULL);
}

void rt_load_begin_io(rt_load *l, unsigned workers, uint64_t seed, const volt_io_kind *io) {
  volt_rt_config config;
  memset(&config, 0, sizeof config);
  config.workers = workers;
  config.seed = seed;
  config.blocking_max = 3;
  config.blocking_idle_ns = 200000;
  config.io = io;
  memset((void *)l, 0, sizeof *l);
  config.allocator = (volt_rt_allocator){count_alloc, count_free, l};
  l->permits = PERMITS;
  volt_sem_init(&l->sem, PERMITS);
  volt_mutex_init(&l->mutex);
  volt_store_relaxed(&l->seed, seed); /* published by the threads' start */
  STRESS_CHECK(volt_rt_create(&l->rt, &config) == VOLT_OK);
  volt_store_relaxed(&watched, l->rt);
  (void)signal(SIGABRT, print_runtime);
}

uint64_t rt_load_destroy(rt_load *l) {
  uint64_t cancelled = volt_rt_destroy(l->rt);
  volt_store_relaxed(&watched, NULL); /* a hint for who reads the last words */
  return cancelled;
}

void rt_load_give_up(rt_load *l) {
  volt_store_relaxed(&watched, NULL); /* a hint for who reads the last words */
  STRESS_CHECK(volt_rt_shutdown_background(l->rt) == VOLT_OK);
  while (volt_load_acquire(&l->held) > 0) (void)sched_yield();
}

void rt_load_check(rt_load *l) {
  uint64_t spawned = volt_load_relaxed(&l->spawned); /* all threads have ended */
  STRESS_CHECK(volt_load_relaxed(&l->held) == 0);
  STRESS_CHECK(volt_load_relaxed(&l->ended) == spawned);
  STRESS_CHECK(volt_sem_available(&l->sem) == l->permits && volt_sem_waiters(&l->sem) == 0);
  STRESS_CHECK(!volt_mutex_is_locked(&l->mutex) && volt_mutex_waiters(&l->mutex) == 0);
  volt_sem_destroy(&l->sem);
  volt_mutex_destroy(&l->mutex);
}

void rt_load_end(rt_load *l) {
  uint64_t end_ns = volt_deadline_ns(LOST_AFTER_SECONDS * UINT64_C(1000000000));
  volt_rt_stats_of stats;
  do {
    STRESS_CHECK(volt_now_ns() < end_ns);
    (void)sched_yield();
    volt_rt_stats(l->rt, &stats);
  } while (stats.live > 0);
  STRESS_CHECK(stats.spawned == volt_load_relaxed(&l->spawned));
  STRESS_CHECK(stats.cancelled == 0);
  STRESS_CHECK(rt_load_destroy(l) == 0);
  rt_load_check(l);
}
