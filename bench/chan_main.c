/* chan_main.c: bench-chan: which workload, with what; the result as JSON. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chan_bench.h"

static const chan_engine generic = {"generic", chan_pair_generic, NULL,
                                    NULL,      chan_spsc_generic, NULL};
static const chan_engine typed = {"typed", chan_pair_typed, NULL, NULL, chan_spsc_typed, NULL};
static const chan_engine *const engines[] = {&generic, &typed, &chan_volt, &chan_dekker,
                                             &chan_slots};
enum { ENGINES = sizeof engines / sizeof *engines };

static int usage(FILE *out, int status) {
  fprintf(out,
          "usage: bench-chan pair|mpmc|pingpong|spsc|family|line [--workers N] [--tasks N]\n"
          "                  [--capacity N] [--operations N] [--engine NAME]\n"
          "  --operations N  of each sender\n"
          "  --engine NAME   pair, spsc, by threads: generic typed;\n"
          "                  pair, mpmc, pingpong, by tasks: volt dekker slots;\n"
          "                  family:");
  for (unsigned i = 0; i < CHAN_FAMILY; i++) fprintf(out, " %s", chan_family[i].name);
  fprintf(out, "\n");
  return status;
}

static bool take_number(const char *text, uint64_t most, uint64_t *number) {
  char *end;
  errno = 0;
  *number = strtoull(text, &end, 10);
  return *text != '\0' && *end == '\0' && errno == 0 && *number >= 1 && *number <= most;
}

static bool take_engine(const char *name, const chan_engine **engine) {
  for (unsigned i = 0; i < ENGINES; i++) {
    if (strcmp(engines[i]->name, name) == 0) *engine = engines[i];
  }
  for (unsigned i = 0; i < CHAN_FAMILY; i++) {
    if (strcmp(chan_family[i].name, name) == 0) *engine = &chan_family[i];
  }
  return strcmp((*engine)->name, name) == 0;
}

static bool take(chan_options *o, const chan_engine **engine, const char *name, const char *value) {
  uint64_t n;
  if (strcmp(name, "--engine") == 0) return take_engine(value, engine);
  if (!take_number(value, UINT32_MAX, &n)) return false;
  if (strcmp(name, "--operations") == 0) return (o->crew.operations = n) > 0;
  if (strcmp(name, "--tasks") == 0) return (o->crew.tasks = (uint32_t)n) > 0;
  if (strcmp(name, "--capacity") == 0) return (o->capacity = (uint32_t)n) <= VOLT_CHAN_MAX;
  if (strcmp(name, "--workers") != 0) return false;
  return (o->crew.workers = (uint32_t)n) <= VOLT_RT_WORKERS_MAX;
}

static rt_outcome line(const chan_options *o) {
  return rt_line(&o->crew);
}

static bool run(const char *workload, const chan_options *o, const chan_engine *e,
                rt_outcome *outcome) {
  const struct {
    const char *name;
    rt_outcome (*run)(const chan_options *o);
  } workloads[] = {{"pair", e->pair}, {"mpmc", e->mpmc},     {"pingpong", e->pingpong},
                   {"spsc", e->spsc}, {"family", e->family}, {"line", line}};
  for (unsigned i = 0; i < sizeof workloads / sizeof *workloads; i++) {
    if (strcmp(workloads[i].name, workload) != 0 || !workloads[i].run) continue;
    *outcome = workloads[i].run(o);
    return true;
  }
  return false;
}

int main(int argc, char **argv) {
  chan_options o = {{1, 8, 0, 10000}, 64};
  const chan_engine *engine = &chan_volt;
  rt_outcome outcome;
  if (argc == 2 && strcmp(argv[1], "--help") == 0) return usage(stdout, 0);
  if (argc < 2 || argc % 2 != 0) return usage(stderr, 2);
  for (int i = 2; i < argc; i += 2) {
    if (!take(&o, &engine, argv[i], argv[i + 1])) return usage(stderr, 2);
  }
  if (!run(argv[1], &o, engine, &outcome)) return usage(stderr, 2);
  printf(
      "{\"runtime\": \"volt\", \"workload\": \"%s\", \"engine\": \"%s\", \"workers\": %u, "
      "\"tasks\": %u, \"capacity\": %u, \"operations\": %llu, "
      "\"ns\": %.6f, \"cpu_ns\": %.6f, \"overlap\": %.6f}\n",
      argv[1], engine->name, o.crew.workers, o.crew.tasks, o.capacity,
      (unsigned long long)o.crew.operations, outcome.ns, outcome.cpu_ns, outcome.overlap);
  return 0;
}
