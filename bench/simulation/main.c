/* main.c: one run of one workload on one simulated machine: one line of JSON. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine.h"
#include "workloads.h"

static setup asked = {.workers = 2,
                      .tasks = 8,
                      .amount = 2,
                      .operations = 1000,
                      .seed = 1,
                      .promise = UINT32_MAX,
                      .way_ns = 10000,
                      .client_ns = 3000};
static unsigned cores;
static const workload *what;
static measured result;

/* Candidates, for the program that has them: candidates.h. */
unsigned sim_injection_groups = 1, sim_steal_near, sim_wake_near, sim_search_most,
         sim_search_rounds = 16, sim_wake_while = 1, sim_slot_always;

static void *first(void *arg) {
  (void)arg;
  result = what->run(&asked);
  return NULL;
}

/* Whether a worker watches while others poll; after a run, whether one did: io_driver.c. */
unsigned sim_watches = 1;

typedef struct option {
  const char *name;
  unsigned *number;
  uint64_t *count;
  double *cost;
} option;

static const option options[] = {
    {"--workers", &asked.workers, NULL, NULL},
    {"--tasks", &asked.tasks, NULL, NULL},
    {"--amount", &asked.amount, NULL, NULL},
    {"--shards", &asked.shards, NULL, NULL},
    {"--bypass", &asked.bypass, NULL, NULL},
    {"--promise", &asked.promise, NULL, NULL},
    {"--operations", NULL, &asked.operations, NULL},
    {"--seed", NULL, &asked.seed, NULL},
    {"--apart", NULL, NULL, &asked.apart_ns},
    {"--inside", NULL, NULL, &asked.inside_ns},
    {"--set-each", &asked.has_set_each, NULL, NULL},
    {"--long-each", &asked.long_each, NULL, NULL},
    {"--lose", NULL, &asked.lose, NULL},
    {"--watches", &sim_watches, NULL, NULL},
    {"--rate", NULL, NULL, &asked.rate},
    {"--way", NULL, NULL, &asked.way_ns},
    {"--client", NULL, NULL, &asked.client_ns},
    {"--cores", &cores, NULL, NULL},
    {"--group", &sim_group, NULL, NULL},
    {"--injection-groups", &sim_injection_groups, NULL, NULL},
    {"--steal-near", &sim_steal_near, NULL, NULL},
    {"--wake-near", &sim_wake_near, NULL, NULL},
    {"--search-most", &sim_search_most, NULL, NULL},
    {"--search-rounds", &sim_search_rounds, NULL, NULL},
    {"--slot-always", &sim_slot_always, NULL, NULL},
    {"--wake-while", &sim_wake_while, NULL, NULL},
    {"--access", NULL, NULL, &sim_cost.access},
    {"--call", NULL, NULL, &sim_cost.call},
    {"--rmw", NULL, NULL, &sim_cost.rmw},
    {"--near", NULL, NULL, &sim_cost.near},
    {"--far", NULL, NULL, &sim_cost.far},
    {"--hold", NULL, NULL, &sim_cost.hold},
    {"--pause", NULL, NULL, &sim_cost.pause},
    {"--clock", NULL, NULL, &sim_cost.clock},
    {"--system-call", NULL, NULL, &sim_cost.system_call},
    {"--wake", NULL, NULL, &sim_cost.wake},
    {"--asleep", NULL, NULL, &sim_cost.asleep},
    {"--change", NULL, NULL, &sim_cost.change},
    {"--slice", NULL, NULL, &sim_cost.slice},
    {"--look", NULL, NULL, &sim_cost.look},
    {"--event", NULL, NULL, &sim_cost.event},
    {"--receive", NULL, NULL, &sim_cost.receive},
    {"--send", NULL, NULL, &sim_cost.send},
    {"--lost-every", NULL, NULL, &sim_cost.lost_every},
    {"--lost-for", NULL, NULL, &sim_cost.lost_for},
};

static int wrong(const char *text) {
  fprintf(stderr, "bench-scale: %s\nusage: bench-scale WORKLOAD [--OPTION NUMBER]...\n", text);
  return 2;
}

static bool set(const char *name, const char *value) {
  char *end;
  double number = strtod(value, &end);
  if (*end || end == value || number < 0) return false;
  for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
    const option *o = &options[i];
    if (strcmp(o->name, name) != 0) continue;
    if (o->number) *o->number = (unsigned)number;
    if (o->count) *o->count = (uint64_t)number;
    if (o->cost) *o->cost = number;
    return true;
  }
  return false;
}

static void print_io(void) {
  const io_says *io = &result.io;
  const net_says *n = &io->net;
  const struct {
    const char *name;
    uint64_t count;
  } counts[] = {{"operations", n->operations},
                {"batches", n->batches},
                {"woken", n->woken},
                {"wakes", io->wakes},
                {"sleeps", io->sleeps},
                {"empty_searches", io->empty_searches},
                {"looks", io->looks},
                {"events", io->events},
                {"moved", io->moved},
                {"computed", n->computed},
                {"quiet_sleeps", io->quiet_sleeps},
                {"watches", sim_watches}};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    printf(", \"%s\": %llu", counts[i].name, (unsigned long long)counts[i].count);
  }
  printf(", \"p50_ns\": %.0f, \"p99_ns\": %.0f, \"longest_ns\": %.0f, \"delay_ns\": %.0f",
         n->p50_ns, n->p99_ns, n->longest_ns, n->delay_ns);
}

static void print(void) {
  printf("{\"ns\": %.4g, \"cpu_ns\": %.4g", result.ns, result.cpu_ns);
  if (result.has_books) {
    const books_says *b = &result.books;
    printf(
        ", \"entries\": %llu, \"p50_ns\": %.0f, \"p99_ns\": %.0f, \"p999_ns\": %.0f, "
        "\"longest_ns\": %.0f, \"passed\": %llu, \"passes\": %llu",
        (unsigned long long)b->entries, b->p50_ns, b->p99_ns, b->p999_ns, b->longest_ns,
        (unsigned long long)b->most_passed, (unsigned long long)b->most_passes);
  }
  if (result.has_io) print_io();
  printf(
      ", \"steals\": %llu, \"stolen\": %llu, \"injected\": %llu, \"parks\": %llu, "
      "\"overflows\": %llu}\n",
      (unsigned long long)result.steals, (unsigned long long)result.stolen,
      (unsigned long long)result.injected, (unsigned long long)result.parks,
      (unsigned long long)result.overflows);
}

int main(int argc, char **argv) {
  if (argc < 2) return wrong("no workload");
  for (what = workloads; what->name && strcmp(what->name, argv[1]) != 0; what++) continue;
  if (!what->name) return wrong("there is no such workload");
  for (int i = 2; i < argc; i += 2) {
    if (i + 1 == argc || !set(argv[i], argv[i + 1])) return wrong(argv[i]);
  }
  if (cores == 0) cores = asked.workers;
  if (cores < 1 || cores >= SIM_CORES || asked.workers < 1 || asked.tasks < 1 ||
      asked.shards >= SIM_CORES || sim_group < 1)
    return wrong("out of range");
  sim_begin(cores, asked.seed);
  sim_run(first, NULL);
  print();
  return 0;
}
