/* cluster_hosts_stress.c: hosts on real threads lease the slots of shared semaphores from an ensemble that
 * answers when it likes and cuts their connections. Tasks take permits, wait, give up, are cancelled,
 * and use what they have got; threads do it by blocking calls. Of one slot there is one valid permit
 * at a time, and its fence rises. Without faults nobody waits for ever: the harness would say so. In
 * every other round hosts are closed in the midst of it. In the end no node is left. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <volt/cluster.h>

#include "harness.h"
#include "rough_ensemble.h"

enum { HOSTS = 3, SEMS = 2, TASKS = 6, SLOTS = 8 };

typedef struct actor {
  volt_task task;
  volt_cluster_acquire_op acquire;
  volt_future lost;
  volt_sleep_op nap;
  volt_timeout timeout;
  volt_select select;
  volt_future *either[2];
  volt_cluster_permit permit;
  unsigned host, sem;
  int result;
  rng random;
} actor;

/* Who holds a slot, as far as is known. */
typedef struct holder {
  const volt_cluster_permit *permit;
  volt_cluster_fence last;
  bool was_held;
} holder;

static struct {
  volt_rt *rt;
  rough_ensemble *ensemble;
  volt_cluster *hosts[HOSTS];
  volt_cluster_sem *sems[HOSTS][SEMS];
  actor actors[HOSTS * TASKS];
  pthread_mutex_t lock;
  holder slots[SEMS][SLOTS];
  bool has_faults, closes_early;
  VOLT_ATOMIC(uint32_t) stopping;
  VOLT_ATOMIC(uint64_t) grants[HOSTS];
  VOLT_ATOMIC(uint64_t) lost;
} scene;

/* ---- who holds what ---- */

static void enter(unsigned host, unsigned sem, const volt_cluster_permit *p) {
  volt_cluster_fence fence = volt_cluster_permit_fence(p);
  STRESS_CHECK(fence.slot < SLOTS);
  pthread_mutex_lock(&scene.lock);
  holder *h = &scene.slots[sem][fence.slot];
  /* The other first: if it is valid now, and this one later, both were at once. */
  bool other_is_valid = h->permit && volt_cluster_permit_is_valid(h->permit);
  bool is_valid = volt_cluster_permit_is_valid(p);
  STRESS_CHECK(!(other_is_valid && is_valid));
  if (is_valid) {
    STRESS_CHECK(!h->was_held || volt_cluster_fence_compare(&h->last, &fence) < 0);
    h->permit = p;
    h->last = fence;
    h->was_held = true;
  }
  pthread_mutex_unlock(&scene.lock);
  (void)volt_fetch_add_relaxed(&scene.grants[host], 1);
  stress_count_entry();
}

static void leave(unsigned sem, volt_cluster_permit *p) {
  volt_cluster_fence fence = volt_cluster_permit_fence(p);
  pthread_mutex_lock(&scene.lock);
  holder *h = &scene.slots[sem][fence.slot];
  if (h->permit == p) h->permit = NULL;
  pthread_mutex_unlock(&scene.lock);
  volt_cluster_release(p);
  STRESS_CHECK(p->sem == NULL);
}

/* ---- tasks ---- */

static uint64_t soon(rng *random, uint32_t most_ns) {
  return volt_deadline_ns(rng_below(random, most_ns));
}

static volt_future *acquire(actor *self) {
  volt_cluster_sem *sem = scene.sems[self->host][self->sem];
  volt_future *f = volt_cluster_acquire_future(&self->acquire, sem, &self->permit);
  bool is_patient = !scene.has_faults && !scene.closes_early && rng_below(&self->random, 2);
  if (is_patient) return f;
  return volt_timeout_future(&self->timeout, f, volt_rt_timers(scene.rt),
                             soon(&self->random, 20000000));
}

/* The work, which takes a moment, unless the permit is lost before. */
static volt_future *work(actor *self) {
  self->either[0] =
      volt_sleep_future(&self->nap, volt_rt_timers(scene.rt),
                        soon(&self->random, rng_below(&self->random, 8) ? 50000 : 3000000));
  self->either[1] = volt_cluster_permit_lost_future(&self->lost, &self->permit);
  return volt_select_future(&self->select, self->either, 2, VOLT_SELECT_FAIR);
}

static int act(volt_task *t, volt_ctx *ctx) {
  actor *self = volt_container_of(t, actor, task);
  VOLT_TASK_BEGIN(self);
  while (!volt_load_relaxed(&scene.stopping)) {
    self->sem = rng_below(&self->random, SEMS);
    VOLT_AWAIT_TRY(self, self->result,
                   rng_below(&self->random, 4)
                       ? VOLT_EAGAIN
                       : volt_cluster_try_acquire(scene.sems[self->host][self->sem], &self->permit),
                   acquire(self));
    if (self->result == VOLT_ECANCELED) continue;
    if (self->result == VOLT_ECLOSED) break;
    if (self->result != VOLT_OK) {
      STRESS_CHECK(self->result == VOLT_ETIMEDOUT);
      continue;
    }
    enter(self->host, self->sem, &self->permit);
    VOLT_AWAIT_RESULT(self, self->result, work(self));
    if (self->result == VOLT_OK && volt_select_winner(&self->select) == 1) {
      STRESS_CHECK(!volt_cluster_permit_is_valid(&self->permit));
      (void)volt_fetch_add_relaxed(&scene.lost, 1);
    }
    leave(self->sem, &self->permit);
    if (rng_below(&self->random, 4) == 0) {
      VOLT_AWAIT_RESULT(
          self, self->result,
          volt_sleep_future(&self->nap, volt_rt_timers(scene.rt), soon(&self->random, 2000000)));
    }
  }
  VOLT_TASK_END(self);
}

static void spawn_all(stress_worker *w) {
  for (unsigned i = 0; i < HOSTS * TASKS; i++) {
    actor *a = &scene.actors[i];
    memset((void *)a, 0, sizeof *a);
    volt_task_init(&a->task, act);
    a->host = i % HOSTS;
    a->random = rng_seeded(rng_next(&w->random));
    STRESS_CHECK(volt_spawn(scene.rt, &a->task) == VOLT_OK);
  }
}

static void join_all(stress_worker *w) {
  for (unsigned i = 0; i < HOSTS * TASKS; i++) {
    (void)volt_task_join(&scene.actors[i].task);
    stress_progress(w, "join");
  }
}

/* ---- threads ---- */

static void act_in_thread(stress_worker *w) {
  volt_cluster_permit permit;
  unsigned host = stress_below(w, HOSTS), sem = stress_below(w, SEMS);
  int result = volt_cluster_acquire_until(scene.sems[host][sem], &permit,
                                          volt_deadline_ns(stress_below(w, 30000000)));
  if (result == VOLT_OK) {
    enter(host, sem, &permit);
    stress_dawdle(w);
    leave(sem, &permit);
    w->acquired += 1;
  } else {
    STRESS_CHECK(result == VOLT_ETIMEDOUT || result == VOLT_ECLOSED);
    w->gave_up += 1;
  }
  stress_progress(w, "acquire");
}

/* Cancel a task's wait, change a limit, look. */
static void disturb(stress_worker *w) {
  unsigned host = stress_below(w, HOSTS), sem = stress_below(w, SEMS);
  volt_cluster_lease_stats stats;
  volt_cluster_stats_of of;
  volt_cluster_change change;
  switch (stress_below(w, 6)) {
    case 0: (void)volt_task_cancel(&scene.actors[stress_below(w, HOSTS * TASKS)].task); break;
    case 1:
      w->gave_up +=
          volt_future_wait_until(volt_cluster_sem_set_limit_future(&change, scene.sems[host][sem],
                                                                   1 + stress_below(w, SLOTS)),
                                 volt_deadline_ns(stress_below(w, 5000000))) != VOLT_OK;
      break;
    case 2:
      volt_cluster_sem_stats(scene.sems[host][sem], &stats);
      STRESS_CHECK(stats.used <= SLOTS && stats.leased <= SLOTS);
      break;
    case 3: volt_cluster_stats(scene.hosts[host], &of); break;
    default: act_in_thread(w); break;
  }
  stress_progress(w, "disturb");
}

static void close_all(stress_worker *w) {
  volt_future closing[HOSTS];
  for (unsigned i = 0; i < HOSTS; i++) {
    (void)volt_future_poll(volt_cluster_close_future(&closing[i], scene.hosts[i]),
                           (volt_waker){NULL, NULL});
  }
  for (unsigned i = 0; i < HOSTS; i++) {
    int result = volt_future_wait(&closing[i]);
    STRESS_CHECK(result == VOLT_OK || result == VOLT_CLUSTER_EAWAY);
    stress_progress(w, "close");
  }
}

static void body(stress_worker *w, void *arg) {
  (void)arg;
  if (w->index == 0) {
    spawn_all(w);
    while (!stress_stopping()) disturb(w);
    if (scene.closes_early) close_all(w);
    volt_store_relaxed(&scene.stopping, 1);
    join_all(w);
    if (!scene.closes_early) close_all(w);
  } else {
    while (!stress_stopping()) act_in_thread(w);
  }
}

/* ---- rounds ---- */

static void open_all(unsigned turn) {
  for (unsigned i = 0; i < HOSTS; i++) {
    volt_cluster_config config = {
        .rt = scene.rt,
        .kind = rough_ensemble_kind(),
        .of_kind = scene.ensemble,
        .servers = "rough:1",
        .session_ns = scene.has_faults ? 60000000 : UINT64_C(20000000000),
    };
    STRESS_CHECK(volt_cluster_open(&scene.hosts[i], &config) == VOLT_OK);
    for (unsigned k = 0; k < SEMS; k++) {
      volt_cluster_sem_config of = {.limit = 1 + (turn + k) % 5,
                                    .capacity = SLOTS,
                                    .quantum_ns = 1000000,
                                    .linger_ns = 500000 * (turn % 4)};
      STRESS_CHECK(volt_cluster_sem_open(&scene.sems[i][k], scene.hosts[i], k ? "b" : "a", &of) ==
                   VOLT_OK);
    }
  }
}

static void round_of(unsigned threads, unsigned turn) {
  scene.has_faults = turn % 2 == 1;
  scene.closes_early = turn % 4 >= 2;
  memset(scene.slots, 0, sizeof scene.slots);
  volt_store_relaxed(&scene.stopping, 0); /* published by the threads' start */
  rough_faults faults = {.delay_ns = 200000};
  if (scene.has_faults) faults.cut_1_in = 20, faults.away_1_in = 10;
  scene.ensemble = rough_ensemble_new(&faults, turn + 1);
  volt_rt_config config = {.workers = 3, .seed = turn + 1};
  STRESS_CHECK(volt_rt_create(&scene.rt, &config) == VOLT_OK);
  open_all(turn);
  stress_round(threads, 200000000, body, NULL);
  for (unsigned i = 0; i < HOSTS; i++) volt_cluster_destroy(scene.hosts[i]);
  STRESS_CHECK(volt_rt_destroy(scene.rt) == 0);
  STRESS_CHECK(rough_ensemble_count(scene.ensemble, "/volt/a/s") == 0);
  STRESS_CHECK(rough_ensemble_count(scene.ensemble, "/volt/b/s") == 0);
  rough_ensemble_free(scene.ensemble);
}

int main(void) {
  pthread_mutex_init(&scene.lock, NULL);
  stress_begin("hosts that share semaphores", NULL, NULL);
  for (unsigned turn = 0; stress_time_left(); turn++) round_of(2 + turn % 2, turn);
  printf("  permits of each host");
  for (unsigned i = 0; i < HOSTS; i++) {
    uint64_t grants = volt_load_relaxed(&scene.grants[i]);
    printf(" %llu", (unsigned long long)grants);
    STRESS_CHECK(grants > 0);
  }
  printf(", lost %llu\n", (unsigned long long)volt_load_relaxed(&scene.lost));
  return stress_end();
}
