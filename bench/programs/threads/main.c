/* main.c: the command line and the line of JSON of a program of plain threads (threads.h). */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "threads.h"

enum { RUN_SECONDS = 30 };

#define E(name) extern const bench_engine bench_engine_##name;
BENCH_ENGINES
#undef E

#define E(name) &bench_engine_##name,
static const bench_engine *const engines[] = {BENCH_ENGINES};
#undef E
enum { ENGINES = sizeof engines / sizeof *engines };

/* What numbers a workload takes: without options, and at the least and the most. */
struct shape {
  const char *name;
  uint64_t tasks, least_tasks, most_tasks;
  uint64_t amount, least_amount, most_amount;
  uint64_t operations;
};

#define THREADS_MOST 256
#define AMOUNT_MOST (1u << 20)

static const struct shape shapes[] = {
    {"alone-mutex", 1, 1, 1, 0, 0, AMOUNT_MOST, 2000000},
    {"alone-sem", 1, 1, 1, 1, 0, AMOUNT_MOST, 2000000},
    {"alone-try", 1, 1, 1, 1, 0, AMOUNT_MOST, 2000000},
    {"alone-read", 1, 1, 1, 0, 0, AMOUNT_MOST, 2000000},
    {"alone-write", 1, 1, 1, 0, 0, AMOUNT_MOST, 2000000},
    {"alone-chan", 1, 1, 1, 64, 1, AMOUNT_MOST, 2000000},
    {"alone-barrier", 1, 1, 1, 0, 0, AMOUNT_MOST, 2000000},
    {"alone-once", 1, 1, 1, 0, 0, AMOUNT_MOST, 2000000},
    {"alone-latch", 1, 1, 1, 0, 0, AMOUNT_MOST, 2000000},
    {"alone-cond", 1, 1, 1, 0, 0, AMOUNT_MOST, 2000000},
    {"alone-token", 1, 1, 1, 0, 0, AMOUNT_MOST, 2000000},
    {"mutex", 4, 1, THREADS_MOST, 0, 0, AMOUNT_MOST, 10000000},
    {"sem", 8, 1, THREADS_MOST, 2, 1, AMOUNT_MOST, 10000000},
    {"rwlock", 6, 1, THREADS_MOST, 2, 0, THREADS_MOST, 10000000},
    {"pingpong", 2, 2, 2, 1, 0, AMOUNT_MOST, 5000},
    {"chan-pingpong", 2, 2, 2, 1, 1, 1, 5000},
    {"spsc", 2, 2, 2, 64, 1, AMOUNT_MOST, 300000},
    {"mpmc", 8, 2, THREADS_MOST, 1024, 1, AMOUNT_MOST, 25000},
    {"wake", 2, 2, 2, 0, 0, AMOUNT_MOST, 300},
    {"waits", 8, 1, THREADS_MOST, 1000, 0, 1000000, 10000000},
    {"timeout", 4, 1, THREADS_MOST, 10, 0, 100, 10000000},
    {"handoff", 1, 1, 1, 1, 1, 10, 1000000},
    {"cancel-queued", 1, 1, 1, 0, 0, 9, 1000000},
    {"path-try", 1, 1, 1, 0, 0, 0, 500},
    {"path-take", 1, 1, 1, 0, 0, 0, 500},
    {"path-queue", 1, 1, 1, 0, 0, 8, 500},
    {"path-give", 1, 1, 1, 0, 0, 0, 500},
    {"path-grant", 1, 1, 1, 1, 1, 9, 500},
    {"path-cancel", 1, 1, 1, 0, 0, 8, 500},
    {"line", 2, 1, THREADS_MOST, 0, 0, AMOUNT_MOST, 50000},
    {"futex", 2, 2, 2, 0, 0, AMOUNT_MOST, 3000},
    {"atomics", 1, 1, 1, 0, 0, AMOUNT_MOST, 2000000},
    {"adds", 1, 1, 1, 0, 0, AMOUNT_MOST, 2000000},
};

static int usage(FILE *out, int status) {
  fprintf(
      out,
      "usage: WORKLOAD [--engine NAME] [--tasks N] [--amount N] [--operations N]\n"
      "                [--bypass K]  engine volt: how many may pass the oldest waiter of a lock\n"
      "  --workers N is taken, and means nothing: threads are all there is\n"
      "engines, and their workloads:\n");
  for (unsigned i = 0; i < ENGINES; i++) {
    fprintf(out, "  %-12s", engines[i]->name);
    for (const bench_workload *w = engines[i]->workloads; w->name; w++) {
      fprintf(out, " %s", w->name);
    }
    fprintf(out, "\n");
  }
  return status;
}

static int refuse(const char *what, const char *which) {
  fprintf(stderr, "bench: %s: %s\n", what, which);
  return usage(stderr, 2);
}

static const struct shape *shape_of(const char *workload) {
  for (unsigned i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    if (strcmp(shapes[i].name, workload) == 0) return &shapes[i];
  }
  return NULL;
}

/* The engine of this name, or of any if there is none, that has the workload. */
static const bench_engine *find(const char *engine, const char *workload, bench_run_fn **run) {
  for (unsigned i = 0; i < ENGINES; i++) {
    if (engine && strcmp(engines[i]->name, engine) != 0) continue;
    for (const bench_workload *w = engines[i]->workloads; w->name; w++) {
      if (strcmp(w->name, workload) != 0) continue;
      *run = w->run;
      return engines[i];
    }
  }
  return NULL;
}

static bool take_number(const char *text, uint64_t least, uint64_t most, uint64_t *number) {
  char *end;
  if (*text < '0' || *text > '9') return false;
  errno = 0;
  *number = strtoull(text, &end, 10);
  return *end == '\0' && errno == 0 && *number >= least && *number <= most;
}

static bool take(bench_options *o, const struct shape *shape, const char *name, const char *value) {
  uint64_t n = 0;
  if (strcmp(name, "--workers") == 0) return take_number(value, 0, UINT32_MAX, &n);
  if (strcmp(name, "--operations") == 0) return take_number(value, 1, UINT32_MAX, &o->operations);
  if (strcmp(name, "--amount") == 0) {
    return take_number(value, shape->least_amount, shape->most_amount, &o->amount);
  }
  if (strcmp(name, "--bypass") == 0) {
    if (!take_number(value, 0, 255, &n)) return false;
    o->bypass = (uint32_t)n;
    return true;
  }
  if (strcmp(name, "--tasks") != 0) return false;
  if (!take_number(value, shape->least_tasks, shape->most_tasks, &n)) return false;
  o->tasks = (uint32_t)n;
  return true;
}

/* Whether the numbers fit each other. */
static bool fit(const char *workload, const bench_engine *e, const bench_options *o) {
  static const char *const locks[] = {"alone-mutex", "alone-read", "alone-write",
                                      "mutex",       "rwlock",     "waits"};
  bool is_lock = false;
  for (unsigned i = 0; i < sizeof locks / sizeof *locks; i++) {
    is_lock = is_lock || strcmp(locks[i], workload) == 0;
  }
  if (o->bypass > 0 && !(is_lock && strcmp(e->name, "volt") == 0)) return false;
  if (strcmp(workload, "rwlock") == 0) return o->amount <= o->tasks;
  if (strcmp(workload, "mpmc") == 0) return o->tasks % 2 == 0;
  return true;
}

static void print_field(const char *name, double value) {
  if (value != BENCH_NOTHING) printf(", \"%s\": %.6f", name, value);
}

static void print(const char *workload, const bench_engine *e, const bench_options *o,
                  const bench_outcome *outcome) {
  printf("{");
  if (e->version) printf("\"version\": \"%s\", ", e->version());
  printf(
      "\"workload\": \"%s\", \"engine\": \"%s\", \"tasks\": %u, \"amount\": %llu, "
      "\"operations\": %llu",
      workload, e->name, (unsigned)o->tasks, (unsigned long long)o->amount,
      (unsigned long long)o->operations);
  print_field("ns", outcome->ns);
  print_field("cpu_ns", outcome->cpu_ns);
  print_field("overlap", outcome->overlap);
  print_field("p50_ns", outcome->p50_ns);
  print_field("p99_ns", outcome->p99_ns);
  print_field("p999_ns", outcome->p999_ns);
  print_field("longest_ns", outcome->longest_ns);
  print_field("slowest_share", outcome->slowest_share);
  print_field("lost", outcome->lost);
  printf("}\n");
}

static void give_up(int number) {
  static const char text[] = "bench: has not ended in time\n";
  (void)number;
  if (write(STDERR_FILENO, text, sizeof text - 1) < 0) _exit(1);
  _exit(1);
}

int main(int argc, char **argv) {
  const char *engine = NULL;
  bench_run_fn *run = NULL;
  if (argc == 2 && strcmp(argv[1], "--help") == 0) return usage(stdout, 0);
  if (argc < 2 || argc % 2 != 0) return usage(stderr, 2);
  for (int i = 2; i < argc; i += 2) {
    if (strcmp(argv[i], "--engine") == 0) engine = argv[i + 1];
  }
  const struct shape *shape = shape_of(argv[1]);
  const bench_engine *e = find(engine, argv[1], &run);
  if (!shape || !e) return refuse("there is no such workload, or engine for it", argv[1]);
  bench_options o = {(uint32_t)shape->tasks, 0, shape->amount, shape->operations};
  for (int i = 2; i < argc; i += 2) {
    if (strcmp(argv[i], "--engine") == 0) continue;
    if (!take(&o, shape, argv[i], argv[i + 1])) return refuse("not an option here", argv[i]);
  }
  if (!fit(argv[1], e, &o)) return refuse("numbers that do not fit each other", argv[1]);
  signal(SIGALRM, give_up);
  alarm(RUN_SECONDS);
  bench_outcome outcome = run(&o);
  print(argv[1], e, &o, &outcome);
  return fflush(stdout) == 0 ? 0 : 1;
}
