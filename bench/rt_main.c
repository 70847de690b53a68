/* rt_main.c: bench-rt: which workload, with what; the result as JSON. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rt_bench.h"

static const rt_engine *const engines[RT_ENGINES] = {&rt_native,    &rt_volt,         &rt_locked,
                                                     &rt_two_tier,  &rt_slot_in_word, &rt_combining,
                                                     &rt_allocating};

static int usage(FILE *out, int status) {
  fprintf(out,
          "usage: bench-rt sem|held|mutex|yield|pingpong|spawn|parked|line [--workers N]\n"
          "                [--tasks N] [--permits N] [--operations N] [--engine NAME]\n"
          "  --operations N  of each task; spawn: how many batches of --tasks\n"
          "  --engine NAME   sem, held, pingpong: whose semaphore:");
  for (unsigned i = 0; i < RT_ENGINES; i++) fprintf(out, " %s", engines[i]->name);
  fprintf(out, "\n");
  return status;
}

static bool take_number(const char *text, uint64_t least, uint64_t most, uint64_t *number) {
  char *end;
  errno = 0;
  *number = strtoull(text, &end, 10);
  return *text != '\0' && *end == '\0' && errno == 0 && *number >= least && *number <= most;
}

static bool take_engine(const char *name, const rt_engine **engine) {
  for (unsigned i = 0; i < RT_ENGINES; i++) {
    if (strcmp(engines[i]->name, name) == 0) *engine = engines[i];
  }
  return strcmp((*engine)->name, name) == 0;
}

static bool take(rt_options *o, const rt_engine **engine, const char *name, const char *value) {
  uint64_t n;
  if (strcmp(name, "--engine") == 0) return take_engine(value, engine);
  if (strcmp(name, "--operations") == 0) return take_number(value, 1, UINT32_MAX, &o->operations);
  if (!take_number(value, strcmp(name, "--permits") != 0, UINT32_MAX / 2, &n)) return false;
  if (strcmp(name, "--workers") == 0) return (o->workers = (uint32_t)n) <= VOLT_RT_WORKERS_MAX;
  if (strcmp(name, "--tasks") == 0) return (o->tasks = (uint32_t)n) > 0;
  if (strcmp(name, "--permits") == 0) return (o->permits = (uint32_t)n) <= VOLT_SEM_MAX;
  return false;
}

static bool run(const char *workload, const rt_options *o, const rt_engine *e, rt_outcome *out) {
  const struct {
    const char *name;
    rt_outcome (*run)(const rt_options *o);
  } workloads[] = {{"sem", e->sem},       {"held", e->held},   {"pingpong", e->pingpong},
                   {"mutex", rt_mutex},   {"yield", rt_yield}, {"spawn", rt_spawn},
                   {"parked", rt_parked}, {"line", rt_line}};
  for (unsigned i = 0; i < sizeof workloads / sizeof *workloads; i++) {
    if (strcmp(workloads[i].name, workload) != 0) continue;
    *out = workloads[i].run(o);
    return true;
  }
  return false;
}

int main(int argc, char **argv) {
  rt_options o = {1, 8, 2, 10000};
  const rt_engine *engine = &rt_native;
  rt_outcome outcome;
  if (argc == 2 && strcmp(argv[1], "--help") == 0) return usage(stdout, 0);
  if (argc < 2 || argc % 2 != 0) return usage(stderr, 2);
  for (int i = 2; i < argc; i += 2) {
    if (!take(&o, &engine, argv[i], argv[i + 1])) return usage(stderr, 2);
  }
  if (!run(argv[1], &o, engine, &outcome)) return usage(stderr, 2);
  printf(
      "{\"runtime\": \"volt\", \"workload\": \"%s\", \"engine\": \"%s\", \"workers\": %u, "
      "\"tasks\": %u, \"permits\": %u, \"operations\": %llu, \"header_bytes\": %zu, "
      "\"ns\": %.6f, \"cpu_ns\": %.6f, \"overlap\": %.6f, \"bytes\": %.6f}\n",
      argv[1], engine->name, o.workers, o.tasks, o.permits, (unsigned long long)o.operations,
      sizeof(volt_task), outcome.ns, outcome.cpu_ns, outcome.overlap, outcome.bytes);
  return 0;
}
