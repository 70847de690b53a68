/* main.c: bench-cluster RECIPE [--OPTION NUMBER]...: one run, as one line of JSON.
 *
 * volt    volt_cluster_sem
 * lock    a mutex, then a lease, at the ensemble: lock.c
 * writes  the writes of lock, and nobody waits for another: a bound, no lock */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan.h"
#include "require.h"

/* ---- what all have ---- */

volt_ensemble *plan_ensemble(const plan_config *config,
                             void (*changed)(void *ctx, const volt_ensemble_change *change),
                             void *ctx) {
  volt_ensemble *e;
  volt_ensemble_config of_it = {.seed = config->seed,
                                .hop_ns = 200 * PLAN_US,
                                .hop_more_ns = 100 * PLAN_US,
                                .log_ns = 3300 * PLAN_US,
                                .log_more_ns = 400 * PLAN_US,
                                .tick_ns = config->tick_ns,
                                .writes_per_s = 5000,
                                .changed = changed,
                                .ctx = ctx};
  REQUIRE(volt_ensemble_create(&e, &of_it) == VOLT_OK);
  return e;
}

static uint32_t plan_bucket(uint64_t ns) {
  uint32_t log = 0;
  while (ns >> log > 31) log += 1;
  return log * 16 + (uint32_t)(ns >> log);
}

void plan_note_wait(plan_result *r, uint64_t ns) {
  r->waits[plan_bucket(ns)] += 1;
  if (ns > r->longest_ns) r->longest_ns = ns;
}

/* What so many waits are not above, to a sixteenth. */
static uint64_t plan_wait_ns(const plan_result *r, double part) {
  uint64_t all = 0, so_far = 0;
  for (uint32_t i = 0; i < PLAN_WAIT_BUCKETS; i++) all += r->waits[i];
  for (uint32_t i = 0; i < PLAN_WAIT_BUCKETS; i++) {
    so_far += r->waits[i];
    if (so_far == 0 || (double)so_far < part * (double)all) continue;
    uint64_t next_ns = i < 31 ? i + 1 : (uint64_t)((i + 1) % 16 + 16) << ((i + 1) / 16 - 1);
    return i == 0 ? 0 : next_ns < r->longest_ns ? next_ns : r->longest_ns;
  }
  return 0;
}

/* ---- a line of JSON ---- */

static void main_rate(const char *name, uint64_t count, const plan_config *config) {
  printf(", \"%s\": %.3f", name, (double)count * 1e9 / (double)config->run_ns);
}

static void main_count(const char *name, uint64_t count) {
  printf(", \"%s\": %" PRIu64, name, count);
}

static void main_series(const char *name, const uint32_t *numbers, uint32_t count) {
  printf(", \"%s\": [", name);
  for (uint32_t i = 0; i < count; i++) printf(i > 0 ? ", %u" : "%u", numbers[i]);
  printf("]");
}

static void main_print(const plan_config *config, const plan_result *r) {
  printf("{\"recipe\": \"%s\"", config->recipe);
  main_count("hosts", config->hosts);
  main_count("tasks", config->tasks);
  main_count("limit", config->limit);
  main_count("seed", config->seed);
  main_rate("permits", r->permits, config);
  main_rate("writes", r->writes, config);
  main_rate("heartbeats", r->heartbeats, config);
  main_rate("reads", r->reads, config);
  main_rate("events", r->events, config);
  main_rate("departures", r->departures, config);
  main_count("p50_ns", plan_wait_ns(r, 0.5));
  main_count("p99_ns", plan_wait_ns(r, 0.99));
  main_count("p999_ns", plan_wait_ns(r, 0.999));
  main_count("longest_ns", r->longest_ns);
  printf(", \"slowest_to_fastest\": %.4f",
         r->fastest > 0 ? (double)r->slowest / (double)r->fastest : 0.0);
  main_count("lost", r->lost);
  if (config->fault != PLAN_NO_FAULT) {
    main_count("gap_before_ns", r->gap_before_ns);
    main_count("gap_after_ns", r->gap_after_ns);
    main_count("slots_of_dead", r->slots_of_dead);
    main_count("slots_back_ns", r->slots_back_ns);
  }
  if (config->slice_ns > 0) {
    main_series("slice_permits", r->slice, r->slices);
    main_series("slice_leased", r->leased, r->slices);
  }
  printf("}\n");
}

/* ---- arguments ---- */

static uint64_t option_number[] = {100, 8, 64, 200, 5000, 10000, 0, 0, 0, 10000, 3000, 2000, 1};
static const char *const option_name[] = {
    "--hosts",    "--tasks", "--limit",    "--section-us", "--warm-ms", "--run-ms", "--rest-ms",
    "--slice-ms", "--fault", "--fault-ms", "--away-ms",    "--tick-ms", "--seed"};
enum { OPTIONS = sizeof option_number / sizeof *option_number };

static int main_wrong(const char *text) {
  fprintf(stderr, "bench-cluster: %s\nusage: bench-cluster volt|lock|writes [--OPTION NUMBER]...\n",
          text);
  return 2;
}

static bool main_set(const char *name, const char *text) {
  char *end;
  uint64_t number = strtoull(text, &end, 10);
  if (*end || end == text) return false;
  for (size_t i = 0; i < OPTIONS; i++) {
    if (strcmp(option_name[i], name) != 0) continue;
    option_number[i] = number;
    return true;
  }
  return false;
}

static plan_config main_config(const char *recipe) {
  const uint64_t *n = option_number;
  return (plan_config){.recipe = recipe,
                       .hosts = (uint32_t)n[0],
                       .tasks = (uint32_t)n[1],
                       .limit = (uint32_t)n[2],
                       .section_ns = n[3] * PLAN_US,
                       .warm_ns = n[4] * PLAN_MS,
                       .run_ns = n[5] * PLAN_MS,
                       .rest_ns = n[6] * PLAN_MS,
                       .slice_ns = n[7] * PLAN_MS,
                       .fault = (enum plan_fault)n[8],
                       .fault_ns = n[9] * PLAN_MS,
                       .away_ns = n[10] * PLAN_MS,
                       .tick_ns = n[11] * PLAN_MS,
                       .seed = n[12]};
}

static bool main_is_good(const plan_config *c) {
  bool has_sizes = c->hosts > 0 && c->hosts <= 20000 && c->tasks > 0 && c->tasks <= 1000;
  bool has_times = c->section_ns > 0 && c->run_ns > 0 && c->tick_ns > 0 && c->rest_ns < c->warm_ns;
  bool has_slices = c->slice_ns == 0 || c->run_ns / c->slice_ns <= PLAN_SLICES;
  bool has_fault = c->fault <= PLAN_FOLLOWER_CUT && (c->fault == PLAN_NO_FAULT || c->slice_ns > 0);
  return has_sizes && has_times && has_slices && has_fault && c->limit > 0;
}

int main(int argc, char **argv) {
  static plan_result r;
  if (argc < 2 || argc % 2) return main_wrong("a recipe, and pairs of options and numbers");
  for (int i = 2; i < argc; i += 2) {
    if (!main_set(argv[i], argv[i + 1])) return main_wrong(argv[i]);
  }
  plan_config config = main_config(argv[1]);
  if (!main_is_good(&config)) return main_wrong("these numbers do not fit");
  if (strcmp(argv[1], "volt") == 0) {
    plan_run_volt(&config, &r);
  } else if (strcmp(argv[1], "lock") == 0 || strcmp(argv[1], "writes") == 0) {
    if (config.fault != PLAN_NO_FAULT || config.slice_ns > 0 || config.rest_ns > 0) {
      return main_wrong("faults, slices and rest are volt's");
    }
    plan_run_lock(&config, &r);
  } else {
    return main_wrong(argv[1]);
  }
  main_print(&config, &r);
  return 0;
}
