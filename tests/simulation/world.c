/* world.c: what a seed means, and the phases of a run. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "require.h"
#include "simulation.h"

/* ---- trace ---- */

static void world_note(world *w, const char *text) {
  uint64_t hash = w->results.hash ^ volt_ensemble_now_ns(w->e);
  for (; *text; text++) hash = (hash ^ (uint8_t)*text) * UINT64_C(0x100000001b3);
  w->results.hash = hash;
}

static void world_print(world *w, const char *text) {
  uint64_t now_ns = volt_ensemble_now_ns(w->e);
  world_note(w, text);
  if (w->is_traced) {
    printf("%4" PRIu64 ".%06" PRIu64 " %s\n", now_ns / SECOND, now_ns % SECOND / 1000, text);
  }
}

void world_trace(world *w, const char *format, ...) {
  char text[700];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  world_print(w, text);
}

static void world_traced(void *ctx, const char *text) {
  world_print((world *)ctx, text);
}

void world_fail(world *w, const char *format, ...) {
  char text[700];
  va_list args;
  if (w->has_failed) return;
  w->has_failed = true;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  uint64_t now_ns = volt_ensemble_now_ns(w->e);
  printf("seed %" PRIu64 " at %" PRIu64 ".%06" PRIu64 " s: %s\n", w->plan.seed, now_ns / SECOND,
         now_ns % SECOND / 1000, text);
}

uint64_t world_chance_ns(world *w, uint64_t most_ns) {
  uint64_t chance = rng_below(&w->random, 1000) + 1;
  return 1 + most_ns * chance / 1000 * chance / 1000;
}

/* ---- what a seed means ---- */

static void plan_size(plan *p, rng *random) {
  uint32_t size = rng_below(random, 24);
  p->hosts = size < 14   ? 1 + rng_below(random, 4)
             : size < 22 ? 5 + rng_below(random, 8)
             : size < 23 ? 30
                         : 100 + rng_below(random, HOSTS_MAX - 99);
  p->tasks = 1 + rng_below(random, p->hosts > 20 ? 2 : 8);
  p->sems = 1 + (rng_below(random, 4) == 0);
  p->limit = rng_below(random, 3) ? 1 + rng_below(random, 6) : 1 + rng_below(random, 3 * p->hosts);
  p->lease_max = rng_below(random, 4) ? 0 : 1 + rng_below(random, p->limit);
  p->capacity = rng_below(random, 4) ? 0 : 1 + rng_below(random, 2 * p->limit);
}

static void plan_times(plan *p, rng *random) {
  p->quantum_ns = rng_below(random, 2) ? 0 : (1 + rng_below(random, 100)) * MS;
  p->linger_ns = rng_below(random, 2) ? 0 : (1 + rng_below(random, 200)) * MS;
  p->session_ns = rng_below(random, 3) ? SECOND : 2 * SECOND;
  p->section_ns = (1 + rng_below(random, 60)) * MS;
  p->think_ns = rng_below(random, 2) ? 10 * MS : (1 + rng_below(random, 300)) * MS;
  p->faults_ns = (3 + rng_below(random, 5)) * SECOND;
  p->each_fault_ns = (20 + rng_below(random, 300)) * MS;
  if (p->hosts > 20) p->think_ns += p->hosts * 10 * MS; /* so that it does not take long */
}

static void plan_ensemble(plan *p, rng *random) {
  volt_ensemble_config *c = &p->ensemble;
  uint32_t servers = rng_below(random, 10);
  c->seed = p->seed;
  c->servers = servers == 0 ? 1 : servers == 1 ? 5 : 3;
  c->hop_ns = 50 * 1000 + rng_below(random, 1000) * 1000;
  c->hop_more_ns =
      rng_below(random, 3) ? rng_below(random, 4000) * 1000 : rng_below(random, 30) * MS;
  c->log_ns = MS + rng_below(random, 5) * MS;
  c->log_more_ns = rng_below(random, 20) * MS;
  if (rng_below(random, 5) == 0) c->log_ns = 60 * MS;
  c->tick_ns = p->session_ns / (2 + rng_below(random, 4));
  c->sync_limit = rng_below(random, 3) ? 2 + rng_below(random, 5) : 10;
  c->election_more_ns = rng_below(random, 1000) * MS;
  c->writes_per_s = rng_below(random, 4) ? 0 : 1000 + 20 * p->hosts;
  uint32_t sequence = rng_below(random, 6);
  c->sequence = sequence == 0 ? INT32_MAX - 20 : sequence == 1 ? (1 << 30) - 20 : 0;
  c->sequence_wraps = sequence == 0;
}

/* One seed in eight: few hosts that hold for long and write little, each of which is cut off with its
 * server again and again: for what a lease's validity has to stand. */
static void plan_validity(plan *p, rng *random) {
  p->hosts = 3;
  p->tasks = 4;
  p->sems = 1;
  p->limit = 3 + rng_below(random, 2);
  p->lease_max = p->capacity = 0;
  p->quantum_ns = rng_below(random, 2) ? 2 * SECOND : 0;
  p->linger_ns = 0;
  p->session_ns = SECOND;
  p->section_ns = 40 * MS;
  p->think_ns = 5 * MS;
  p->faults_ns = 30 * SECOND;
  p->each_fault_ns = 200 * MS;
  p->faults = 1u << FAULT_BOTH;
  p->turn = 0;
  p->ensemble.servers = 3;
  p->ensemble.hop_more_ns = rng_below(random, 2) * MS;
  p->ensemble.log_ns = rng_below(random, 2) ? MS : 60 * MS;
  p->ensemble.log_more_ns = MS;
  p->ensemble.tick_ns = p->session_ns / (2 + rng_below(random, 2));
  p->ensemble.sync_limit = 10;
  p->ensemble.election_more_ns = 100 * MS;
  p->ensemble.writes_per_s = 0;
  p->ensemble.sequence = 0;
  p->ensemble.sequence_wraps = 0;
}

void plan_of_seed(plan *p, uint64_t seed) {
  rng random = rng_seeded(seed * 2654435761u + 1);
  memset(p, 0, sizeof *p);
  p->seed = seed;
  plan_size(p, &random);
  plan_times(p, &random);
  plan_ensemble(p, &random);
  p->turn = p->ensemble.sequence_wraps ? INT32_MAX : rng_below(&random, 4) ? 0 : 30;
  p->faults = (uint32_t)rng_next(&random);
  p->faults = rng_below(&random, 2) ? p->faults | (uint32_t)rng_next(&random)
                                    : p->faults & (uint32_t)rng_next(&random);
  if (rng_below(&random, 8) == 0) p->faults = 0;
  if (rng_below(&random, 4)) p->faults &= ~(1u << FAULT_REPLACE);
  if (p->hosts == 1 && rng_below(&random, 2)) p->faults |= 1u << FAULT_REPLACE;
  if (rng_below(&random, 3)) p->faults &= ~(1u << FAULT_DELETE);
  if (seed % 8 == 7) plan_validity(p, &random);
  if (p->faults & 1u << FAULT_REPLACE) p->faults &= ~(1u << FAULT_LIMIT);
  if (p->faults & 1u << FAULT_REPLACE && p->hosts == 1) {
    p->faults &= ~(1u << FAULT_HOST_KILL | 1u << FAULT_HOST_CLOSE);
  }
}

/* ---- a run ---- */

void world_phase(world *w, enum phase phase) {
  w->phase = phase;
  w->phase_ns = volt_ensemble_now_ns(w->e);
  world_trace(w, "phase %d", (int)phase);
}

static void world_step(world *w, uint64_t until_ns) {
  w->results.steps += volt_ensemble_step(w->e, until_ns);
  check_step(w);
}

void world_go_on(world *w, uint64_t for_ns) {
  uint64_t until_ns = volt_ensemble_now_ns(w->e) + for_ns, look_ns = 0;
  while (volt_ensemble_now_ns(w->e) < until_ns && !w->has_failed) {
    uint64_t next_ns = faults_next_ns(w);
    if (next_ns > look_ns && volt_ensemble_now_ns(w->e) < look_ns) next_ns = look_ns;
    world_step(w, next_ns < until_ns ? next_ns : until_ns);
    faults_look(w);
    if (volt_ensemble_now_ns(w->e) < look_ns) continue;
    check_bounds(w);
    look_ns = volt_ensemble_now_ns(w->e) + 10 * MS;
  }
}

static uint64_t world_writes(const world *w) {
  volt_ensemble_counts counts;
  volt_ensemble_counts_get(w->e, &counts);
  return counts.writes;
}

static void world_settle(world *w) {
  world_phase(w, PHASE_SETTLES);
  faults_heal(w);
  while (w->era_ns != UINT64_MAX && !w->has_failed) world_go_on(w, SECOND);
  for (uint32_t i = 0; i < w->host_count; i++) { /* as many as in the beginning */
    if (!w->hosts[i].is_there) host_begin(w, &w->hosts[i]);
  }
  world_go_on(w, 4 * w->plan.session_ns + SECOND); /* what was under way is done */
  for (int i = 0; i < 20 && !faults_restore_limits(w); i++) world_go_on(w, SECOND);
  world_go_on(w, SECOND);
}

/* Whether a task wants or has a permit, or its host a lease. */
static bool world_is_busy(const world *w) {
  for (uint32_t i = 0; i < w->host_count; i++) {
    for (uint32_t j = 0; w->hosts[i].is_there && j < w->plan.tasks; j++) {
      if (w->hosts[i].workers[j].is_waiting || w->hosts[i].workers[j].holds) return true;
    }
  }
  for (uint32_t i = 0; i < w->plan.sems; i++) {
    if (w->sem[i].leased > 0 || w->sem[i].queue_count > 0) return true;
  }
  return false;
}

/* No task wants anything any more: leases are given back after a while, and then nothing is written. */
static void world_idle(world *w) {
  world_phase(w, PHASE_IDLE);
  uint64_t until_ns = w->phase_ns + check_idle_bound_ns(w);
  for (uint32_t looks = 0; looks < 10 && !w->has_failed; looks++) {
    world_go_on(w, SECOND / 10);
    if (world_is_busy(w)) looks = 0;
    if (volt_ensemble_now_ns(w->e) > until_ns) world_fail(w, "I7: leases are not given back");
  }
  uint64_t writes = world_writes(w);
  world_go_on(w, w->plan.session_ns);
  if (world_writes(w) != writes && !w->has_failed) {
    world_fail(w, "I7: %" PRIu64 " writes while no task wants anything", world_writes(w) - writes);
  }
}

static void world_close(world *w) {
  bool is_left = true;
  world_phase(w, PHASE_END);
  for (uint32_t i = 0; i < w->host_count; i++) {
    if (w->hosts[i].is_there) host_close(&w->hosts[i]);
  }
  uint64_t until_ns = volt_ensemble_now_ns(w->e) + 10 * w->plan.session_ns + 10 * SECOND;
  while (is_left && volt_ensemble_now_ns(w->e) < until_ns) {
    world_step(w, until_ns);
    is_left = false;
    for (uint32_t i = 0; i < w->host_count; i++) {
      if (w->hosts[i].is_there && !host_reap(&w->hosts[i])) is_left = true;
    }
  }
  if (!is_left) return;
  world_fail(w, "a host does not end");
  abort(); /* its memory cannot be freed */
}

void world_begin(world *w, const plan *p, bool is_traced) {
  memset(w, 0, sizeof *w);
  w->plan = *p;
  w->is_traced = is_traced;
  w->random = rng_seeded(p->seed);
  w->era = 1;
  w->host_count = p->hosts;
  check_begin(w);
  w->plan.ensemble.changed = check_changed;
  w->plan.ensemble.traced = world_traced;
  w->plan.ensemble.ctx = w;
  int result = volt_ensemble_create(&w->e, &w->plan.ensemble);
  REQUIRE(result == VOLT_OK);
  faults_begin(w);
  world_phase(w, PHASE_FAULTS);
  if (w->plan.turn > 0) faults_make_nodes(w);
}

static void world_count(world *w) {
  volt_ensemble_counts counts;
  volt_ensemble_counts_get(w->e, &counts);
  w->results.writes = counts.writes;
  w->results.events = counts.events;
  w->results.events_most = counts.events_most;
}

void world_end(world *w) {
  world_close(w);
  world_go_on(w, SECOND);
  check_nothing_left(w);
  world_count(w);
  check_end(w);
  volt_ensemble_destroy(w->e);
}

bool world_run(world *w, const plan *p, bool is_traced) {
  world_begin(w, p, is_traced);
  for (uint32_t i = 0; i < w->host_count; i++) host_begin(w, &w->hosts[i]);
  world_go_on(w, p->faults_ns);
  if (!w->has_failed) world_settle(w);
  if (!w->has_failed) world_phase(w, PHASE_QUIET);
  if (!w->has_failed) world_go_on(w, 2 * SECOND);
  if (!w->has_failed) world_idle(w);
  if (w->has_failed) return false; /* what is left is the process's to free */
  world_end(w);
  return !w->has_failed;
}
