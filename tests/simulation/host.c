/* host.c: hosts, and what their tasks do: think, want a permit, hold it, release it. */
#include <stdlib.h>
#include <string.h>

#include "require.h"
#include "simulation.h"

static void host_log(enum volt_cluster_level level, const char *text, void *ctx) {
  const host *h = (const host *)ctx;
  world_trace(h->w, "host %u says (%d): %s", h->number, (int)level, text);
}

/* ---- a task ---- */

static bool worker_is_over(const worker *t) {
  return t->h->is_closing || t->w->phase >= PHASE_IDLE;
}

static volt_timers *worker_timers(const worker *t) {
  return volt_rt_timers(t->h->rt);
}

static uint64_t worker_after(worker *t, uint64_t ns) {
  return volt_rt_now_ns(t->h->rt) + ns;
}

/* One in eight gives up soon, one in four later. */
static uint64_t worker_deadline_ns(worker *t) {
  uint32_t chance = rng_below(&t->w->random, 8);
  if (t->w->phase != PHASE_FAULTS || chance >= 3) return VOLT_NO_DEADLINE;
  return worker_after(t, world_chance_ns(t->w, chance == 0 ? 5 * MS : SECOND));
}

static void worker_wants(worker *t) {
  t->is_waiting = true;
  t->since_ns = volt_ensemble_now_ns(t->w->e);
  check_waits(t);
}

static void worker_wanted(worker *t) {
  t->is_waiting = false;
  check_ends_wait(t);
  if (t->result == VOLT_OK) {
    t->w->results.grants += 1;
    t->fence = volt_cluster_permit_fence(&t->permit);
    if (volt_cluster_permit_is_valid(&t->permit)) {
      t->w->results.valid += 1;
      t->h->grants += 1;
      t->h->granted_ns = volt_ensemble_now_ns(t->w->e);
    }
    check_granted(t);
  } else if (t->result == VOLT_ETIMEDOUT) {
    t->w->results.timeouts += 1;
  } else if (t->result != VOLT_ECLOSED && t->result != VOLT_CLUSTER_EERA) { /* it tries again */
    world_fail(t->w, "host %u task %u: a wait has ended with %d", t->h->number, t->number,
               t->result);
  }
}

/* Until it is over or the permit is lost; what is lost is held on for a while by some. */
static uint64_t worker_section_ns(worker *t) {
  bool is_long = t->w->phase == PHASE_FAULTS && rng_below(&t->w->random, 8) == 0;
  uint64_t most_ns = is_long ? 2 * t->w->plan.session_ns : t->w->plan.section_ns;
  return worker_after(t, world_chance_ns(t->w, most_ns));
}

static int worker_poll(volt_task *task, volt_ctx *ctx) {
  worker *self = volt_container_of(task, worker, task);
  VOLT_TASK_BEGIN(self);
  while (!worker_is_over(self)) {
    VOLT_AWAIT(self, volt_sleep_future(
                         &self->nap, worker_timers(self),
                         worker_after(self, world_chance_ns(self->w, self->w->plan.think_ns))));
    if (worker_is_over(self)) break;
    worker_wants(self);
    VOLT_AWAIT_RESULT(
        self, self->result,
        volt_timeout_future(
            &self->timeout,
            volt_cluster_acquire_future(&self->acquire, self->h->sem[self->sem], &self->permit),
            worker_timers(self), worker_deadline_ns(self)));
    worker_wanted(self);
    if (self->result == VOLT_ECLOSED) break;
    if (self->result != VOLT_OK) continue;
    VOLT_AWAIT_RESULT(
        self, self->result,
        volt_timeout_future(&self->timeout,
                            volt_cluster_permit_lost_future(&self->lost, &self->permit),
                            worker_timers(self), worker_section_ns(self)));
    self->w->results.lost += self->result == VOLT_OK;
    if (self->result == VOLT_OK && self->number % 4 == 0) {
      VOLT_AWAIT(self, volt_sleep_future(&self->nap, worker_timers(self), worker_section_ns(self)));
    }
    check_releases(self);
    volt_cluster_release(&self->permit);
  }
  VOLT_TASK_END(self);
}

/* Sets the limit by the library, at times. */
static int operator_poll(volt_task *task, volt_ctx *ctx) {
  worker *self = volt_container_of(task, worker, task);
  VOLT_TASK_BEGIN(self);
  while (!worker_is_over(self) && self->w->phase == PHASE_FAULTS) {
    VOLT_AWAIT(self,
               volt_sleep_future(&self->nap, worker_timers(self), worker_after(self, 2 * SECOND)));
    if (worker_is_over(self) || self->w->phase != PHASE_FAULTS) break;
    self->number = 1 + rng_below(&self->w->random, 2 * self->w->plan.limit);
    world_trace(self->w, "host %u sets the limit of %s to %u", self->h->number,
                self->w->sem[self->sem].name, self->number);
    VOLT_AWAIT_RESULT(
        self, self->result,
        volt_cluster_sem_set_limit_future(&self->change, self->h->sem[self->sem], self->number));
    world_trace(self->w, "host %u: the limit was set: %d", self->h->number, self->result);
  }
  VOLT_TASK_END(self);
}

/* ---- a host ---- */

static void host_open(host *h) {
  const plan *p = &h->w->plan;
  volt_cluster_config config = {.rt = h->rt,
                                .kind = volt_cluster_simulated(),
                                .of_kind = h->w->e,
                                .session_ns = p->session_ns,
                                .name = "simulated",
                                .log = host_log,
                                .log_ctx = h};
  int result = volt_cluster_open(&h->cluster, &config);
  REQUIRE(result == VOLT_OK);
  for (uint32_t i = 0; i < p->sems; i++) {
    volt_cluster_sem_config of_sem = {.limit = p->limit,
                                      .lease_max = p->lease_max,
                                      .capacity = p->capacity,
                                      .era = h->w->era,
                                      .quantum_ns = p->quantum_ns,
                                      .linger_ns = p->linger_ns};
    result = volt_cluster_sem_open(&h->sem[i], h->cluster, h->w->sem[i].name, &of_sem);
    REQUIRE(result == VOLT_OK);
  }
}

static void host_spawn(host *h, worker *t, volt_task_fn *poll) {
  t->w = h->w;
  t->h = h;
  volt_task_init(&t->task, poll);
  int result = volt_group_spawn(&h->group, h->rt, &t->task);
  REQUIRE(result == VOLT_OK);
}

void host_begin(world *w, host *h) {
  memset(h, 0, sizeof *h);
  h->w = w;
  h->is_there = true;
  h->over_ns = UINT64_MAX;
  h->number = volt_ensemble_host_add(w->e);
  h->rt = volt_ensemble_host_rt(w->e, h->number);
  world_trace(w, "host %u begins", h->number);
  host_open(h);
  volt_group_init_how(&h->group, VOLT_GROUP_KEEP_GOING);
  bool is_set = w->plan.faults & 1u << FAULT_LIMIT && w->phase == PHASE_FAULTS;
  uint32_t count = w->plan.tasks + is_set;
  h->workers = (worker *)calloc(count, sizeof *h->workers);
  REQUIRE(h->workers);
  for (uint32_t i = 0; i < count; i++) {
    h->workers[i].number = i;
    h->workers[i].sem = i % w->plan.sems;
    host_spawn(h, &h->workers[i], i < w->plan.tasks ? worker_poll : operator_poll);
  }
}

static int closer_poll(volt_task *task, volt_ctx *ctx) {
  struct closer *self = volt_container_of(task, struct closer, task);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT_RESULT(self, self->result, volt_cluster_close_future(&self->closed, self->h->cluster));
  world_trace(self->h->w, "host %u is closed: %d", self->h->number, self->result);
  self->h->is_closed = true;
  VOLT_TASK_END(self);
}

void host_close(host *h) {
  if (h->is_closing) return;
  h->is_closing = true;
  world_trace(h->w, "host %u closes", h->number);
  h->closer.h = h;
  volt_task_init(&h->closer.task, closer_poll);
  int result = volt_group_spawn(&h->group, h->rt, &h->closer.task);
  REQUIRE(result == VOLT_OK);
}

/* Its permits do not count any more; its memory is freed as that of a host that closes. */
void host_kill(host *h) {
  h->is_dead = true;
  while (h->holding) check_releases(h->holding);
  for (uint32_t i = 0; i < h->w->plan.tasks; i++) h->workers[i].is_waiting = false;
  volt_ensemble_host_kill(h->w->e, h->number);
  host_close(h);
}

bool host_reap(host *h) {
  if (!h->is_there || !h->is_closed || !volt_group_is_empty(&h->group)) return false;
  volt_group_destroy(&h->group);
  volt_cluster_destroy(h->cluster);
  volt_ensemble_host_remove(h->w->e, h->number);
  free(h->workers);
  h->is_there = false;
  return true;
}
