/* volt.c: hosts with tasks that want permits of one volt_cluster_sem all the time. */
#include <stdlib.h>
#include <string.h>
#include <volt/async.h>
#include <volt/time.h>

#include "plan.h"
#include "require.h"

typedef struct plan_world plan_world;

typedef struct plan_task {
  volt_task task;
  struct plan_host *h;
  volt_cluster_acquire_op acquire;
  volt_cluster_permit permit;
  volt_sleep_op nap;
  uint64_t since_ns;
} plan_task;

typedef struct plan_host {
  plan_world *w;
  volt_rt *rt;
  uint32_t number;
  bool is_dead;
  volt_cluster *cluster;
  volt_cluster_sem *sem;
  volt_group group;
  plan_task *tasks;
  uint64_t permits, permits_before; /* those that are lost do not count */
  uint64_t granted_ns;              /* the newest; 0: none in this part of the run */
  volt_future closed;
} plan_host;

struct plan_world {
  const plan_config *config;
  plan_result *r;
  volt_ensemble *e;
  plan_host *hosts;
  uint64_t begin_ns;      /* of the measurement; 0: not yet */
  uint64_t rest_ns;       /* no task begins anew after this */
  uint64_t *gap_ns;       /* NULL: not measured */
  uint64_t died_ns;       /* a host */
  bool *was_of_dead;      /* slots */
  uint32_t slots_missing; /* of these: not leased by others yet */
};

/* ---- tasks ---- */

static void plan_note_gap(plan_host *h, uint64_t now_ns) {
  uint64_t *most_ns = h->w->gap_ns;
  if (most_ns && !h->is_dead && now_ns - h->granted_ns > *most_ns) {
    *most_ns = now_ns - h->granted_ns;
  }
  h->granted_ns = now_ns;
}

static void plan_granted(plan_task *t) {
  uint64_t now_ns = volt_ensemble_now_ns(t->h->w->e);
  if (t->h->is_dead || !volt_cluster_permit_is_valid(&t->permit)) return;
  plan_note_wait(t->h->w->r, now_ns - t->since_ns);
  plan_note_gap(t->h, now_ns);
  t->h->permits += 1;
}

static int plan_task_poll(volt_task *t, volt_ctx *ctx) {
  plan_task *self = volt_container_of(t, plan_task, task);
  VOLT_TASK_BEGIN(self);
  while (volt_ensemble_now_ns(self->h->w->e) < self->h->w->rest_ns) {
    self->since_ns = volt_ensemble_now_ns(self->h->w->e);
    VOLT_AWAIT(self, volt_cluster_acquire_future(&self->acquire, self->h->sem, &self->permit));
    plan_granted(self);
    VOLT_AWAIT_RESULT(
        self, self->task.frame.result,
        volt_sleep_future(&self->nap, volt_rt_timers(self->h->rt),
                          volt_rt_now_ns(self->h->rt) + self->h->w->config->section_ns));
    volt_cluster_release(&self->permit);
  }
  VOLT_TASK_END(self);
}

/* ---- hosts ---- */

static void plan_host_begin(plan_world *w, plan_host *h) {
  h->w = w;
  h->number = volt_ensemble_host_add(w->e);
  h->rt = volt_ensemble_host_rt(w->e, h->number);
  volt_cluster_config config = {.rt = h->rt,
                                .kind = volt_cluster_simulated(),
                                .of_kind = w->e,
                                .session_ns = 10 * PLAN_SECOND};
  volt_cluster_sem_config of_sem = {.limit = w->config->limit};
  REQUIRE(volt_cluster_open(&h->cluster, &config) == VOLT_OK);
  REQUIRE(volt_cluster_sem_open(&h->sem, h->cluster, "plan", &of_sem) == VOLT_OK);
  volt_group_init_how(&h->group, VOLT_GROUP_KEEP_GOING);
  h->tasks = (plan_task *)calloc(w->config->tasks, sizeof *h->tasks);
  REQUIRE(h->tasks);
  for (uint32_t i = 0; i < w->config->tasks; i++) {
    h->tasks[i].h = h;
    volt_task_init(&h->tasks[i].task, plan_task_poll);
    REQUIRE(volt_group_spawn(&h->group, h->rt, &h->tasks[i].task) == VOLT_OK);
  }
}

/* A task sleeps for a section at most before it finds the semaphore closed. */
static void plan_host_end(plan_host *h) {
  volt_ensemble *e = h->w->e;
  volt_future *f = volt_cluster_close_future(&h->closed, h->cluster);
  (void)volt_ensemble_run_future(e, f, volt_ensemble_now_ns(e) + 10 * PLAN_SECOND);
  if (!volt_group_is_empty(&h->group)) {
    volt_ensemble_run(e, volt_ensemble_now_ns(e) + h->w->config->section_ns + PLAN_MS);
  }
  REQUIRE(volt_group_is_empty(&h->group));
  volt_group_destroy(&h->group);
  volt_cluster_destroy(h->cluster);
  volt_ensemble_host_remove(e, h->number);
  free(h->tasks);
}

/* ---- what was done ---- */

static void plan_add(plan_world *w, int sign) {
  uint64_t factor = (uint64_t)sign;
  for (uint32_t i = 0; i < w->config->hosts; i++) {
    volt_cluster_stats_of stats;
    volt_cluster_lease_stats of_sem;
    volt_cluster_stats(w->hosts[i].cluster, &stats);
    volt_cluster_sem_stats(w->hosts[i].sem, &of_sem);
    w->r->permits += factor * w->hosts[i].permits;
    w->r->writes += factor * stats.writes;
    w->r->heartbeats += factor * stats.heartbeats;
    w->r->reads += factor * stats.reads;
    w->r->events += factor * stats.events;
    w->r->lost += factor * of_sem.lost_ever;
  }
}

static uint64_t plan_permits(const plan_world *w) {
  uint64_t permits = 0;
  for (uint32_t i = 0; i < w->config->hosts; i++) permits += w->hosts[i].permits;
  return permits;
}

static void plan_find_extremes(plan_world *w) {
  w->r->slowest = UINT64_MAX;
  for (uint32_t i = 0; i < w->config->hosts; i++) {
    uint64_t permits = w->hosts[i].permits - w->hosts[i].permits_before;
    if (permits < w->r->slowest) w->r->slowest = permits;
    if (permits > w->r->fastest) w->r->fastest = permits;
  }
}

static void plan_changed(void *ctx, const volt_ensemble_change *change) {
  plan_world *w = (plan_world *)ctx;
  static const char slots[] = "/volt/plan/s/", queue[] = "/volt/plan/q";
  if (w->begin_ns == 0) return;
  if (strncmp(change->path, queue, sizeof queue - 1) == 0) {
    w->r->departures += change->kind == VOLT_CLUSTER_DELETE;
  } else if (strncmp(change->path, slots, sizeof slots - 1) == 0 && w->slots_missing > 0) {
    uint32_t slot = (uint32_t)strtoul(change->path + sizeof slots - 1, NULL, 10);
    if (change->kind != VOLT_CLUSTER_CREATE || slot >= w->config->limit || !w->was_of_dead[slot]) {
      return;
    }
    w->was_of_dead[slot] = false;
    w->slots_missing -= 1;
    w->r->slots_back_ns = volt_ensemble_now_ns(w->e) - w->died_ns;
  }
}

/* ---- faults ---- */

typedef struct plan_find {
  plan_world *w;
  uint64_t session; /* whose slots */
} plan_find;

static void plan_find_slot(void *ctx, const char *name, const volt_cluster_node *node) {
  const plan_find *find = (const plan_find *)ctx;
  if (node->owner != find->session) return;
  find->w->was_of_dead[strtoul(name, NULL, 10)] = true;
  find->w->slots_missing += 1;
}

static plan_host *plan_find_host(plan_world *w, bool holds) {
  plan_host *found = NULL;
  uint32_t of_found = 0;
  for (uint32_t i = 0; i < w->config->hosts; i++) {
    volt_cluster_lease_stats stats;
    volt_cluster_sem_stats(w->hosts[i].sem, &stats);
    if (found && (holds ? stats.leased <= of_found : stats.leased >= of_found)) continue;
    found = &w->hosts[i];
    of_found = stats.leased;
  }
  return found;
}

static void plan_kill(plan_world *w, plan_host *h) {
  volt_cluster_stats_of stats;
  volt_cluster_stats(h->cluster, &stats);
  plan_find find = {.w = w, .session = stats.session};
  (void)volt_ensemble_children(w->e, "/volt/plan/s", plan_find_slot, &find);
  w->r->slots_of_dead = w->slots_missing;
  w->died_ns = volt_ensemble_now_ns(w->e);
  h->is_dead = true;
  volt_ensemble_host_kill(w->e, h->number);
}

static void plan_begin_fault(plan_world *w) {
  uint32_t leader = volt_ensemble_leader(w->e);
  if (w->config->fault == PLAN_HOLDER_DIES) plan_kill(w, plan_find_host(w, true));
  if (w->config->fault == PLAN_WAITER_DIES) plan_kill(w, plan_find_host(w, false));
  if (w->config->fault == PLAN_FOLLOWER_CUT) volt_ensemble_server_cut(w->e, (leader + 1) % 3);
  for (uint32_t i = 0; w->config->fault == PLAN_ENSEMBLE_AWAY && i < 3; i++) {
    volt_ensemble_server_kill(w->e, i);
  }
}

static void plan_end_fault(plan_world *w) {
  for (uint32_t i = 0; w->config->fault == PLAN_ENSEMBLE_AWAY && i < 3; i++) {
    volt_ensemble_server_start(w->e, i);
  }
}

/* ---- a run ---- */

static void plan_restart_gaps(plan_world *w, uint64_t *most_ns) {
  w->gap_ns = NULL;
  for (uint32_t i = 0; i < w->config->hosts; i++) {
    w->hosts[i].granted_ns = volt_ensemble_now_ns(w->e);
  }
  w->gap_ns = most_ns;
}

/* Those that have not been served since count, too. */
static void plan_end_gaps(plan_world *w) {
  for (uint32_t i = 0; i < w->config->hosts; i++) {
    plan_note_gap(&w->hosts[i], volt_ensemble_now_ns(w->e));
  }
}

static void plan_slice(plan_world *w, uint64_t *permits) {
  uint64_t so_far = plan_permits(w);
  plan_result *r = w->r;
  r->slice[r->slices] = (uint32_t)(so_far - *permits);
  r->leased[r->slices] = volt_ensemble_children(w->e, "/volt/plan/s", plan_find_slot,
                                                &(plan_find){.w = w, .session = UINT64_MAX});
  r->slices += 1;
  *permits = so_far;
}

static void plan_go_on(plan_world *w) {
  const plan_config *c = w->config;
  uint64_t permits = plan_permits(w);
  uint64_t step_ns = c->slice_ns > 0 ? c->slice_ns : c->run_ns;
  plan_restart_gaps(w, &w->r->gap_before_ns);
  for (uint64_t ns = 0; ns < c->run_ns; ns += step_ns) {
    if (c->fault != PLAN_NO_FAULT && ns == c->fault_ns) {
      plan_end_gaps(w);
      plan_restart_gaps(w, &w->r->gap_after_ns);
      plan_begin_fault(w);
    }
    if (ns == c->fault_ns + c->away_ns) plan_end_fault(w);
    volt_ensemble_run(w->e, w->begin_ns + ns + step_ns);
    if (c->slice_ns > 0) plan_slice(w, &permits);
  }
  plan_end_gaps(w);
}

static void plan_measure(plan_world *w) {
  memset(w->r, 0, sizeof *w->r);
  w->begin_ns = volt_ensemble_now_ns(w->e);
  plan_add(w, -1);
  for (uint32_t i = 0; i < w->config->hosts; i++) {
    w->hosts[i].permits_before = w->hosts[i].permits;
  }
  plan_go_on(w);
  plan_add(w, 1);
  plan_find_extremes(w);
  w->begin_ns = 0;
}

void plan_run_volt(const plan_config *config, plan_result *r) {
  plan_world w = {.config = config, .r = r};
  w.hosts = (plan_host *)calloc(config->hosts, sizeof *w.hosts);
  w.was_of_dead = (bool *)calloc(config->limit, sizeof *w.was_of_dead);
  REQUIRE(w.hosts && w.was_of_dead);
  w.e = plan_ensemble(config, plan_changed, &w);
  uint64_t warm_ns = volt_ensemble_now_ns(w.e) + config->warm_ns;
  w.rest_ns = config->rest_ns > 0 ? warm_ns - config->rest_ns : UINT64_MAX;
  for (uint32_t i = 0; i < config->hosts; i++) plan_host_begin(&w, &w.hosts[i]);
  volt_ensemble_run(w.e, warm_ns);
  plan_measure(&w);
  w.gap_ns = NULL;
  w.rest_ns = 0; /* what is left need not be simulated */
  for (uint32_t i = 0; i < config->hosts; i++) plan_host_end(&w.hosts[i]);
  volt_ensemble_destroy(w.e);
  free(w.was_of_dead);
  free(w.hosts);
}
