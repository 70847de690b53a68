/* main.c: which workloads there are, with what numbers, on which engines; which one to run, with
 * what; what was measured as a line of JSON. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tasks.h"

/* ---- the workloads: the operations are for a tenth of a second or so ---- */

typedef struct rt_range {
  uint32_t least, most, otherwise; /* if it is not said */
} rt_range;

typedef struct rt_workload {
  const char *name;
  rt_range tasks, amount;
  uint64_t operations; /* of all tasks together, if it is not said */
  const char *amount_is;
} rt_workload;

enum { MANY = 4000000, TIMERS = 1000000, HISTOGRAMS = 10000 };

#define ONE \
  { 1, 1, 1 }
#define TWO \
  { 2, 2, 2 }
#define CROWD(otherwise) \
  { 1, MANY, otherwise }
#define CAPACITY(otherwise) \
  { 1, VOLT_CHAN_MAX, otherwise }
#define NOTHING \
  { 0, INT32_MAX, 0 }

static const rt_workload workloads[] = {
    {"alone-mutex", ONE, NOTHING, 5000000, NULL},
    {"alone-sem", ONE, NOTHING, 5000000, NULL},
    {"alone-read", ONE, NOTHING, 5000000, NULL},
    {"alone-write", ONE, NOTHING, 5000000, NULL},
    {"alone-chan", ONE, CAPACITY(64), 5000000, "capacity"},
    {"mutex", CROWD(4), NOTHING, 2000000, NULL},
    {"sem", CROWD(8), {1, VOLT_SEM_MAX, 2}, 2000000, "permits"},
    {"held", CROWD(8), {1, VOLT_SEM_MAX, 2}, 500000, "permits"},
    {"rwlock", CROWD(6), {0, MANY, 2}, 2000000, "writers"},
    {"pingpong", TWO, NOTHING, 1000000, NULL},
    {"spawn", CROWD(1000), NOTHING, 1000000, NULL},
    {"yield", CROWD(100), NOTHING, 3000000, NULL},
    {"child", ONE, NOTHING, 5000000, NULL},
    {"cycles", CROWD(4), NOTHING, 500000, NULL},
    {"mpmc", {2, MANY, 8}, CAPACITY(64), 3000000, "capacity"},
    {"chan-pingpong", TWO, CAPACITY(1), 1000000, "capacity"},
    {"spsc", TWO, CAPACITY(64), 1000000, "capacity"},
    {"parked", CROWD(100000), NOTHING, 0, NULL},
    {"waits", {1, HISTOGRAMS, 8}, {0, 1000000, 1000}, 80000, "nanoseconds of work"},
    {"cancel", CROWD(8), {0, 100, 50}, 500000, "per cent"},
    {"timer", ONE, {0, TIMERS, 1000}, 1000000, "others that are pending"},
    {"alone-notify", ONE, NOTHING, 5000000, NULL},
    {"alone-oneshot", ONE, NOTHING, 5000000, NULL},
    {"alone-broadcast", ONE, NOTHING, 5000000, NULL},
    {"alone-watch", ONE, NOTHING, 5000000, NULL},
    {"alone-barrier", ONE, NOTHING, 5000000, NULL},
    {"alone-once", ONE, NOTHING, 5000000, NULL},
    {"alone-latch", ONE, NOTHING, 5000000, NULL},
    {"alone-cond", ONE, NOTHING, 5000000, NULL},
    {"alone-token", ONE, NOTHING, 5000000, NULL},
    {"alone-limit", ONE, NOTHING, 5000000, NULL},
    {"alone-drain", ONE, NOTHING, 5000000, NULL},
    {"alone-all", ONE, NOTHING, 5000000, NULL},
    {"notify", TWO, NOTHING, 1000000, NULL},
    {"oneshot", TWO, NOTHING, 1000000, NULL},
    {"cond", TWO, NOTHING, 1000000, NULL},
    {"token", TWO, NOTHING, 1000000, NULL},
    {"limit", TWO, NOTHING, 1000000, NULL},
    {"all", {2, MANY, 2}, {1, VOLT_SEM_MAX, 4}, 500000, "permits"},
    {"broadcast", {2, 1000, 5}, NOTHING, 1000000, NULL},
    {"watch", {2, 1000, 5}, NOTHING, 1000000, NULL},
    {"barrier", {2, 1000, 4}, NOTHING, 1000000, NULL},
    {"once", {2, 1000, 4}, NOTHING, 1000000, NULL},
    {"latch", {2, 1000, 5}, NOTHING, 1000000, NULL},
};
enum { WORKLOADS = sizeof workloads / sizeof *workloads };

#define SEM_TABLES(name) rt_sem_##name, rt_held_##name,
#define CHAN_TABLES(name) chan_##name,
static const rt_case *const tables[] = {
    rt_lock_cases,      RT_SEM_ENGINES(SEM_TABLES) CHAN_ENGINES(CHAN_TABLES) chan_threads_cases,
    rt_spawn_cases,     rt_crew_cases,
#ifdef RT_COROUTINES
    rt_coroutine_cases,
#endif
    rt_parked_cases,    rt_timer_cases,
    rt_fiber_cases,     family_alone_cases,
    family_waits_cases, family_rounds_cases};
enum { TABLES = sizeof tables / sizeof *tables };

/* Those by a mutex or a read-write lock of the library, whose oldest waiter may be passed. */
static const char *const passable[] = {"alone-mutex", "alone-read", "alone-write", "mutex",
                                       "rwlock",      "cycles",     "waits"};
enum { PASSABLE = sizeof passable / sizeof *passable };

static bool is_passable(const rt_case *c) {
  if (strcmp(c->engine, "native") != 0) return false;
  for (unsigned i = 0; i < PASSABLE; i++) {
    if (strcmp(passable[i], c->workload) == 0) return true;
  }
  return false;
}

/* NULL: there is no such workload. */
static const rt_workload *workload_named(const char *name) {
  for (unsigned i = 0; i < WORKLOADS; i++) {
    if (strcmp(workloads[i].name, name) == 0) return &workloads[i];
  }
  return NULL;
}

/* The first with this name; engine NULL: whichever is first. NULL: there is none. */
static const rt_case *case_named(const char *workload, const char *engine) {
  for (unsigned i = 0; i < TABLES; i++) {
    for (const rt_case *c = tables[i]; c->workload; c++) {
      if (strcmp(c->workload, workload) != 0) continue;
      if (!engine || strcmp(c->engine, engine) == 0) return c;
    }
  }
  return NULL;
}

/* ---- numbers ---- */

static bool is_in(const rt_range *range, uint32_t number, const char *workload, const char *name) {
  if (number >= range->least && number <= range->most) return true;
  fprintf(stderr, "bench-tasks: %s: %s %u is not in %u..%u\n", workload, name, number, range->least,
          range->most);
  return false;
}

static bool refuse(const rt_workload *w, const char *why) {
  fprintf(stderr, "bench-tasks: %s: %s\n", w->name, why);
  return false;
}

/* Fill in what was not said (0; of amount UINT32_MAX) and look at what was. Returns whether it can
 * be run; if not, says why. */
static bool complete_options(const rt_workload *w, rt_options *o) {
  if (o->workers == 0) o->workers = 1;
  if (o->tasks == 0) o->tasks = w->tasks.otherwise;
  if (o->amount == UINT32_MAX) o->amount = w->amount.otherwise;
  if (o->operations == 0) o->operations = w->operations / o->tasks + 1;
  if (!is_in(&w->tasks, o->tasks, w->name, "--tasks")) return false;
  if (!is_in(&w->amount, o->amount, w->name, "--amount")) return false;
  if (strcmp(w->name, "mpmc") == 0 && o->tasks % 2 != 0) {
    return refuse(w, "as many tasks receive as send: --tasks must be even");
  }
  if (strcmp(w->name, "rwlock") == 0 && o->amount > o->tasks) {
    return refuse(w, "--amount, which write, are more than --tasks");
  }
  if (strcmp(w->name, "parked") == 0 && o->workers != 1) {
    return refuse(w, "the order is known with one worker only");
  }
  return true;
}

/* ---- usage ---- */

static void print_engines(FILE *out, const char *workload) {
  for (unsigned i = 0; i < TABLES; i++) {
    for (const rt_case *c = tables[i]; c->workload; c++) {
      if (strcmp(c->workload, workload) == 0) fprintf(out, " %s", c->engine);
    }
  }
}

/* A line for each workload. */
static void print_workloads(FILE *out) {
  for (unsigned i = 0; i < WORKLOADS; i++) {
    const rt_workload *w = &workloads[i];
    fprintf(out, "  %-14s", w->name);
    print_engines(out, w->name);
    if (w->amount_is) fprintf(out, "; amount: %s", w->amount_is);
    fprintf(out, "\n");
  }
}

/* ---- the command line ---- */

static int usage(FILE *out, int status) {
  fprintf(
      out,
      "usage: bench-tasks WORKLOAD [--engine NAME] [--workers N] [--tasks N] [--amount N]\n"
      "                            [--operations N] [--bypass K] [--looks N]\n"
      "operations are of each task; spawn: batches of --tasks. bypass: how many may pass the\n"
      "oldest waiter of a mutex or read-write lock, engine native. looks: of the mutex, engine\n"
      "native: how often a task looks, at most, before it queues. Workloads and their engines,\n"
      "the first of which is used if it is not said:\n");
  print_workloads(out);
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
  } else if (strcmp(name, "--bypass") == 0) {
    taken = take_number(value, 0, 255, &n);
    o->bypass = (uint32_t)n;
  } else if (strcmp(name, "--looks") == 0) {
    taken = take_number(value, 0, 1000, &n);
    o->looks = (uint32_t)n;
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
  const rt_workload *w = workload_named(argv[1]);
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
  const rt_case *c = case_named(w->name, engine);
  if (!c) {
    fprintf(stderr, "bench-tasks: %s: there is no engine %s\n", w->name, engine);
    return NULL;
  }
  if (o->bypass > 0 && !is_passable(c)) {
    refuse(w, "--bypass is for the library's mutex and read-write lock");
    return NULL;
  }
  if (o->looks > 0 && (strcmp(w->name, "mutex") != 0 || !is_passable(c))) {
    refuse(w, "--looks is for the workload mutex");
    return NULL;
  }
  return complete_options(w, o) ? c : NULL;
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
  rt_options o = {.amount = UINT32_MAX};
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
