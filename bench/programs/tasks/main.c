/* main.c: which workload, with what; what was measured as a line of JSON. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "workloads.h"

static int usage(FILE *out, int status) {
  fprintf(
      out,
      "usage: bench-tasks WORKLOAD [--engine NAME] [--workers N] [--tasks N] [--amount N]\n"
      "                            [--operations N]\n"
      "operations are of each task; spawn: batches of --tasks. Workloads and their engines, the\n"
      "first of which is used if it is not said:\n");
  rt_workloads_print(out);
  return status;
}

static bool take_number(const char *text, uint64_t least, uint64_t most, uint64_t *number) {
  char *end;
  errno = 0;
  *number = strtoull(text, &end, 10);
  bool is_number = *text >= '0' && *text <= '9' && *end == '\0' && errno == 0;
  return is_number && *number >= least && *number <= most;
}

/* An option with a number. */
static bool take_option(rt_options *o, const char *name, const char *value) {
  uint64_t n = 0;
  bool taken = false;
  if (strcmp(name, "--workers") == 0) {
    taken = take_number(value, 1, VOLT_RT_WORKERS_MAX, &n);
    o->workers = (uint32_t)n;
  } else if (strcmp(name, "--tasks") == 0) {
    taken = take_number(value, 1, INT32_MAX, &n);
    o->tasks = (uint32_t)n;
  } else if (strcmp(name, "--amount") == 0) {
    taken = take_number(value, 0, INT32_MAX, &n);
    o->amount = (uint32_t)n;
  } else if (strcmp(name, "--operations") == 0) {
    taken = take_number(value, 1, UINT32_MAX, &o->operations);
  } else {
    fprintf(stderr, "bench-tasks: there is no option %s\n", name);
    return false;
  }
  if (!taken) fprintf(stderr, "bench-tasks: %s %s is no number, or out of range\n", name, value);
  return taken;
}

/* Returns what is to be run; NULL: it was wrong, and said so. */
static const rt_case *take(int argc, char **argv, rt_options *o) {
  const char *engine = NULL;
  const rt_workload *w = rt_workload_named(argv[1]);
  if (!w) {
    fprintf(stderr, "bench-tasks: there is no workload %s\n", argv[1]);
    return NULL;
  }
  for (int i = 2; i < argc; i += 2) {
    if (i + 1 == argc) {
      fprintf(stderr, "bench-tasks: %s needs a value\n", argv[i]);
      return NULL;
    }
    if (strcmp(argv[i], "--engine") == 0) {
      engine = argv[i + 1];
    } else if (!take_option(o, argv[i], argv[i + 1])) {
      return NULL;
    }
  }
  const rt_case *c = rt_case_named(w->name, engine);
  if (!c) fprintf(stderr, "bench-tasks: %s: there is no engine %s\n", w->name, engine);
  return c && rt_options_complete(w, o) ? c : NULL;
}

static void print(const rt_outcome *outcome) {
  static const char *const names[RT_FIELDS] = {"ns",     "cpu_ns",  "overlap",    "p50_ns",
                                               "p99_ns", "p999_ns", "longest_ns", "slowest_share",
                                               "lost",   "bytes",   "allocations"};
  printf("{\"version\": \"volt %s\"", volt_version());
  for (unsigned i = 0; i < RT_FIELDS; i++) {
    if (outcome->is_measured[i]) printf(", \"%s\": %.6f", names[i], outcome->value[i]);
  }
  printf("}\n");
}

int main(int argc, char **argv) {
  rt_options o = {0, 0, UINT32_MAX, 0};
  if (argc == 2 && strcmp(argv[1], "--help") == 0) return usage(stdout, 0);
  if (argc < 2) return usage(stderr, 2);
  const rt_case *c = take(argc, argv, &o);
  if (!c) {
    fprintf(stderr, "bench-tasks --help says what there is\n");
    return 2;
  }
  rt_outcome outcome = c->run(&o);
  print(&outcome);
  return 0;
}
