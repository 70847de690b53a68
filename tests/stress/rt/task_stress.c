/* task_stress.c: threads and tasks spawn tasks of all kinds, join, cancel and detach them at random;
 * and one task spawns thousands of short ones for the other workers to steal. */
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "rt_load.h"

enum { HELD = 16, BRIEF = STRESS_IS_CHAOS ? 500 : 5000 };

static rt_load load;

/* ---- storms ---- */

/* A handle of a thread's. The memory is the pool's, or its own. */
typedef struct handle {
  load_task *task; /* NULL: none */
  load_task own;
} handle;

static handle handles[STRESS_MAX_THREADS][HELD];

static void spawn_one(stress_worker *w, handle *h) {
  if (stress_below(w, 4) == 0) {
    h->task = &h->own;
    rt_load_init(&load, h->task, 2);
  } else {
    h->task = rt_load_new(&load, 2);
  }
  STRESS_CHECK(rt_load_spawn(&load, NULL, h->task) == VOLT_OK);
}

static void join_one(handle *h) {
  int result = volt_task_join(&h->task->task);
  STRESS_CHECK(result == volt_task_result(&h->task->task));
  STRESS_CHECK(result == VOLT_OK || result == VOLT_ECANCELED);
  STRESS_CHECK(!volt_task_cancel(&h->task->task));
}

/* Give up waiting now and then; in the end it is joined. */
static void join_in_time(stress_worker *w, handle *h) {
  uint64_t deadline_ns = volt_deadline_ns(stress_below(w, 100000));
  if (volt_task_join_until(&h->task->task, deadline_ns) != VOLT_ETIMEDOUT) return;
  w->gave_up += 1;
  if (stress_below(w, 2)) (void)volt_task_cancel(&h->task->task);
  join_one(h);
}

/* A handle of a task in the thread's own memory cannot be given up without a join. */
static void end_one(stress_worker *w, handle *h) {
  uint32_t how = stress_below(w, h->task == &h->own ? 4 : 5);
  if (how == 0) (void)volt_task_cancel(&h->task->task);
  if (how < 3) join_one(h);
  if (how == 3) join_in_time(w, h);
  volt_task_detach(&h->task->task);
  h->task = NULL;
  w->acquired += 1;
}

static void storm(stress_worker *w, void *arg) {
  (void)arg;
  handle *mine = handles[w->index];
  while (!stress_stopping()) {
    handle *h = &mine[stress_below(w, HELD)];
    if (h->task) {
      end_one(w, h);
    } else {
      spawn_one(w, h);
    }
    stress_progress(w, "storm");
    stress_dawdle(w);
  }
  for (unsigned i = 0; i < HELD; i++) {
    if (mine[i].task) end_one(w, &mine[i]);
    stress_progress(w, "end of storm");
  }
}

static uint64_t steals; /* in all rounds */

static void count_steals(unsigned workers) {
  for (unsigned i = 0; i < workers; i++) {
    volt_worker_stats stats;
    STRESS_CHECK(volt_rt_worker_stats(load.rt, i, &stats) == VOLT_OK);
    STRESS_CHECK(stats.stolen >= stats.steals && stats.lifo_hits <= stats.polls);
    steals += stats.stolen;
  }
}

static void storm_round(unsigned workers, uint64_t seed) {
  rt_load_begin(&load, workers, seed);
  stress_round(stress_threads(), 100000000, storm, NULL);
  count_steals(workers);
  rt_load_end(&load);
}

/* ---- thousands of short ones ---- */

static VOLT_ATOMIC(uint64_t) ran;

static int is_brief(volt_task *t, volt_ctx *ctx) {
  (void)t;
  (void)ctx;
  (void)volt_fetch_add_relaxed(&ran, 1); /* a count: read when all have ended */
  return VOLT_OK;
}

static int spawns_brief(volt_task *t, volt_ctx *ctx) {
  (void)t;
  (void)ctx;
  for (unsigned i = 0; i < BRIEF; i++) {
    volt_task *brief = (volt_task *)volt_task_new(load.rt, sizeof *brief, is_brief);
    STRESS_CHECK(volt_spawn(load.rt, brief) == VOLT_OK);
    volt_task_detach(brief);
    stress_count_entry();
  }
  return VOLT_OK;
}

static void spawn_roots(stress_worker *w, void *arg) {
  unsigned roots = *(unsigned *)arg;
  for (unsigned i = 0; i < roots; i++) {
    volt_task root;
    memset((void *)&root, 0, sizeof root);
    volt_task_init(&root, spawns_brief);
    STRESS_CHECK(volt_spawn(load.rt, &root) == VOLT_OK);
    STRESS_CHECK(volt_task_join(&root) == VOLT_OK);
    w->acquired += 1;
    stress_progress(w, "root");
  }
}

static void steal_round(unsigned workers, uint64_t seed) {
  unsigned roots = 3;
  unsigned threads = 2;
  uint64_t total = threads * roots * (uint64_t)(BRIEF + 1);
  rt_load_begin(&load, workers, seed);
  volt_store_relaxed(&ran, 0); /* published by the threads' start */
  stress_round(threads, 1000000000, spawn_roots, &roots);
  volt_store_relaxed(&load.spawned, total); /* these are not of the load: for its books */
  volt_store_relaxed(&load.ended, total);
  count_steals(workers);
  rt_load_end(&load);
  STRESS_CHECK(volt_load_relaxed(&ran) == threads * roots * (uint64_t)BRIEF);
}

/* ---- a group that is cancelled while it is being filled ---- */

enum { MEMBERS = 8 };

typedef struct member {
  volt_task task;
  volt_future permit;
} member;

static struct {
  volt_group group;
  volt_sem never;             /* granted to nobody */
  VOLT_ATOMIC(uint32_t) turn; /* of the thread that fills, and of the one that cancels */
} filled;

static int waits_for_ever(volt_task *t, volt_ctx *ctx) {
  member *self = volt_container_of(t, member, task);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT(self, volt_sem_acquire_future(&self->permit, &filled.never, 1));
  VOLT_TASK_END(self);
}

/* Every member that was taken is cancelled, or this waits for ever. */
static void fill(stress_worker *w) {
  int result = VOLT_OK;
  volt_group_init(&filled.group);
  volt_fetch_add_release(&filled.turn, 1);
  for (unsigned i = 0; i < MEMBERS && result == VOLT_OK; i++) {
    member *m = VOLT_TASK_NEW(load.rt, member, waits_for_ever);
    result = volt_group_spawn(&filled.group, load.rt, &m->task);
    if (result != VOLT_OK) volt_task_detach(&m->task);
    w->acquired += 1;
  }
  stress_progress(w, "group is filled");
  (void)volt_group_wait(&filled.group);
  stress_progress(w, "group has ended");
  while (volt_load_acquire(&filled.turn) % 2 == 1) (void)sched_yield(); /* it is being cancelled */
  volt_group_destroy(&filled.group);
}

static void fill_or_cancel(stress_worker *w, void *arg) {
  (void)arg;
  if (w->index == 0) {
    while (!stress_stopping()) fill(w);
    volt_store_release(&filled.turn, UINT32_MAX); /* over: it is not being cancelled */
    return;
  }
  for (uint32_t turn; (turn = volt_load_acquire(&filled.turn)) != UINT32_MAX;) {
    if (turn % 2 == 0) continue;
    stress_dawdle(w);
    volt_group_cancel(&filled.group);
    volt_fetch_add_release(&filled.turn, 1);
  }
}

static void fill_round(unsigned workers, uint64_t seed) {
  rt_load_begin(&load, workers, seed);
  volt_sem_init(&filled.never, 0);
  volt_store_relaxed(&filled.turn, 0); /* published by the threads' start */
  stress_round(2, 50000000, fill_or_cancel, NULL);
  volt_sem_destroy(&filled.never);
  STRESS_CHECK(rt_load_destroy(&load) == 0);
}

int main(void) {
  static const unsigned workers[] = {1, 2, 4};
  stress_begin("task", NULL, NULL);
  for (unsigned turn = 0; stress_time_left(); turn++) {
    storm_round(workers[turn % 3], turn + 1);
    steal_round(workers[turn % 3], turn + 1);
    fill_round(workers[turn % 3], turn + 1);
  }
  printf("  %llu tasks stolen\n", (unsigned long long)steals);
  return stress_end();
}
