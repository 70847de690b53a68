/* rt_shutdown_stress.c: runtimes that end in the middle of everything, many times over: tasks of all
 * kinds run, threads spawn, cancel, join and take permits, and at some moment the runtime is shut
 * down, by several threads at once, and destroyed or given up. What must hold: each task has ended,
 * cancelled or not; all permits are back; no memory is left.
 *
 * A thread spawns until it is told that the runtime is over. Its tasks in memory of its own it may
 * cancel and join at any time, also while the runtime is being destroyed. */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "rt_load.h"

enum { HELPERS = 3, OWN = 8, POOLED = 8 };

typedef struct helper {
  pthread_t thread;
  rng random;
  load_task *own; /* OWN of them; those below count were spawned */
  unsigned count;
} helper;

static rt_load load;
static VOLT_ATOMIC(uint32_t) spawning; /* helpers that may still spawn */

/* Tasks in the pool: all are detached when this returns. Returns false: the runtime is over. */
static bool spawn_pooled(helper *h) {
  load_task *held[POOLED];
  unsigned count = 0;
  int result = VOLT_OK;
  while (count < POOLED && result == VOLT_OK) {
    held[count] = rt_load_new(&load, 2);
    result = rt_load_spawn(&load, NULL, held[count++]);
  }
  STRESS_CHECK(result == VOLT_OK || result == VOLT_ECLOSED);
  for (unsigned i = 0; i < count; i++) {
    bool spawned = result == VOLT_OK || i + 1 < count;
    if (spawned && rng_below(&h->random, 3) == 0) (void)volt_task_cancel(&held[i]->task);
    volt_task_detach(&held[i]->task);
  }
  return result == VOLT_OK;
}

static void spawn_own(helper *h) {
  while (h->count < OWN) {
    rt_load_init(&load, &h->own[h->count], 2);
    if (rt_load_spawn(&load, NULL, &h->own[h->count]) != VOLT_OK) return;
    h->count += 1;
  }
}

/* Take what the tasks want, and give it back. */
static void meddle(helper *h) {
  uint32_t n = 1 + rng_below(&h->random, load.permits);
  int result = volt_sem_acquire_until(&load.sem, n, volt_deadline_ns(20000));
  if (result == VOLT_OK) volt_sem_release(&load.sem, n);
  if (h->count > 0 && rng_below(&h->random, 2)) {
    (void)volt_task_cancel(&h->own[rng_below(&h->random, h->count)].task);
  }
}

static void *help(void *arg) {
  helper *h = (helper *)arg;
  spawn_own(h);
  for (unsigned i = rng_below(&h->random, 8); i > 0 && spawn_pooled(h); i--) meddle(h);
  if (rng_below(&h->random, 4) == 0) {
    int result = volt_rt_shutdown(load.rt, volt_deadline_ns(rng_below(&h->random, 50000)));
    STRESS_CHECK(result == VOLT_OK || result == VOLT_ETIMEDOUT);
  }
  (void)volt_fetch_add_release(&spawning, UINT32_MAX);
  for (unsigned i = rng_below(&h->random, 8); i > 0; i--) meddle(h);
  for (unsigned i = 0; i < h->count; i++) {
    volt_task *t = &h->own[i].task;
    int result = volt_task_join(t);
    STRESS_CHECK(result == VOLT_OK || result == VOLT_ECANCELED || result == VOLT_ECLOSED);
  }
  memset((void *)h->own, 0xa5, OWN * sizeof *h->own); /* its own again */
  free(h->own);
  return NULL;
}

static void start_helpers(stress_worker *w, helper *helpers) {
  volt_store_relaxed(&spawning, HELPERS); /* published by the threads' start */
  for (unsigned i = 0; i < HELPERS; i++) {
    helper *h = &helpers[i];
    h->random = rng_seeded(((uint64_t)stress_below(w, UINT32_MAX) << 32) + i);
    h->count = 0;
    h->own = (load_task *)calloc(OWN, sizeof *h->own);
    STRESS_CHECK(h->own != NULL);
    STRESS_CHECK(pthread_create(&h->thread, NULL, help, h) == 0);
  }
}

/* Shut it down, while others still spawn; perhaps in several goes. What has ended has a result. */
static void shut_down(stress_worker *w) {
  load_task witness;
  rt_load_init(&load, &witness, 2);
  int spawned = rt_load_spawn(&load, NULL, &witness); /* or others were faster */
  STRESS_CHECK(spawned == VOLT_OK || spawned == VOLT_ECLOSED);
  for (unsigned i = stress_below(w, 3); i > 0; i--) {
    int result = volt_rt_shutdown(load.rt, volt_deadline_ns(stress_below(w, 50000)));
    STRESS_CHECK(result == VOLT_OK || result == VOLT_ETIMEDOUT);
  }
  STRESS_CHECK(volt_rt_shutdown(load.rt, VOLT_NO_DEADLINE) == VOLT_OK);
  if (spawned != VOLT_OK) return;
  STRESS_CHECK(volt_task_result(&witness.task) != VOLT_PENDING);
  STRESS_CHECK(volt_task_join(&witness.task) != VOLT_PENDING);
}

static void life(stress_worker *w, unsigned workers) {
  helper helpers[HELPERS];
  rt_load_begin(&load, workers, 1 + stress_below(w, UINT32_MAX));
  start_helpers(w, helpers);
  for (unsigned i = stress_below(w, 40); i > 0; i--) {
    load_task *t = rt_load_new(&load, 3);
    int result = rt_load_spawn(&load, NULL, t);
    STRESS_CHECK(result == VOLT_OK || result == VOLT_ECLOSED);
    volt_task_detach(&t->task);
  }
  for (unsigned i = stress_below(w, 60); i > 0; i--) stress_dawdle(w);
  if (stress_below(w, 2)) shut_down(w);
  stress_progress(w, "wait for spawners");
  while (volt_load_acquire(&spawning) > 0) (void)sched_yield();
  stress_progress(w, "destroy");
  if (stress_below(w, 4)) {
    w->gave_up += rt_load_destroy(&load);
  } else {
    rt_load_give_up(&load);
  }
  for (unsigned i = 0; i < HELPERS; i++) pthread_join(helpers[i].thread, NULL);
  rt_load_check(&load);
  w->acquired += 1;
  stress_progress(w, "destroyed");
}

static void body(stress_worker *w, void *arg) {
  while (!stress_stopping()) life(w, *(unsigned *)arg);
}

int main(void) {
  static unsigned workers[] = {1, 2, 4};
  stress_begin("runtime's end", NULL, NULL);
  for (unsigned turn = 0; stress_time_left(); turn++) {
    stress_round(1, 200000000, body, &workers[turn % 3]);
  }
  return stress_end();
}
