/* green.h: the workloads on a library whose threads all run on one thread of the system. Its program
 * defines, before it includes this:
 *
 *   GREEN                   the type of a thread's handle
 *   green_begin()           before all else; returns whether the library is there
 *   green_spawn(run, arg)   returns the handle, which is NULL if there is none
 *   green_join(handle)
 *   green_yield()
 *   GREEN_VERSION           a string */
#ifndef VOLT_BENCH_GREEN_H
#define VOLT_BENCH_GREEN_H

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint64_t green_read(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void green_require(bool so, const char *what) {
  if (so) return;
  fprintf(stderr, "not so: %s\n", what);
  exit(1);
}

struct green_options {
  uint64_t tasks, operations;
};

struct green_member {
  uint64_t operations, done;
};

/* ---- yield ---- */

static void *green_yields(void *arg) {
  struct green_member *m = arg;
  for (; m->done < m->operations; m->done++) green_yield();
  return NULL;
}

static void green_run_yields(const struct green_options *o, uint64_t operations) {
  struct green_member *members = calloc(o->tasks, sizeof *members);
  GREEN *handles = calloc(o->tasks, sizeof *handles);
  green_require(members && handles, "there is memory");
  for (uint64_t i = 0; i < o->tasks; i++) {
    members[i].operations = operations;
    handles[i] = green_spawn(green_yields, &members[i]);
    green_require(handles[i] != NULL, "a thread is spawned");
  }
  for (uint64_t i = 0; i < o->tasks; i++) {
    green_join(handles[i]);
    green_require(members[i].done == operations, "it has yielded as often as it should");
  }
  free(members);
  free(handles);
}

/* ---- spawn ---- */

static void *green_child(void *arg) {
  *(uint64_t *)arg += 1;
  return NULL;
}

static void green_run_spawns(const struct green_options *o, uint64_t batches) {
  uint64_t *numbers = calloc(o->tasks, sizeof *numbers);
  GREEN *handles = calloc(o->tasks, sizeof *handles);
  green_require(numbers && handles, "there is memory");
  for (uint64_t n = 0; n < batches; n++) {
    for (uint64_t i = 0; i < o->tasks; i++) {
      handles[i] = green_spawn(green_child, &numbers[i]);
      green_require(handles[i] != NULL, "a thread is spawned");
    }
    for (uint64_t i = 0; i < o->tasks; i++) green_join(handles[i]);
  }
  for (uint64_t i = 0; i < o->tasks; i++) green_require(numbers[i] == batches, "each has run once");
  free(numbers);
  free(handles);
}

/* ---- which one, with what ---- */

static const struct {
  const char *name;
  void (*run)(const struct green_options *o, uint64_t operations);
  struct green_options otherwise;
} green_workloads[] = {{"yield", green_run_yields, {100, 20000}},
                       {"spawn", green_run_spawns, {1000, 100}}};
enum { GREEN_WORKLOADS = sizeof green_workloads / sizeof *green_workloads };

static int green_usage(void) {
  fprintf(stderr, "usage: WORKLOAD [--workers 1] [--tasks N] [--operations N]; yield, spawn\n");
  return 2;
}

int main(int argc, char **argv) {
  unsigned at = 0;
  if (argc < 2 || argc % 2 != 0) return green_usage();
  while (at < GREEN_WORKLOADS && strcmp(argv[1], green_workloads[at].name) != 0) at++;
  if (at == GREEN_WORKLOADS) return green_usage();
  struct green_options o = green_workloads[at].otherwise;
  for (int i = 2; i < argc; i += 2) {
    uint64_t n = strtoull(argv[i + 1], NULL, 10);
    if (n == 0) return green_usage();
    if (strcmp(argv[i], "--tasks") == 0) {
      o.tasks = n;
    } else if (strcmp(argv[i], "--operations") == 0) {
      o.operations = n;
    } else if (strcmp(argv[i], "--workers") != 0 || n != 1) {
      return green_usage();
    }
  }
  green_require(green_begin(), "the library is there");
  green_workloads[at].run(&o, o.operations / 8 + 1);
  uint64_t start = green_read(CLOCK_MONOTONIC), cpu = green_read(CLOCK_PROCESS_CPUTIME_ID);
  green_workloads[at].run(&o, o.operations);
  double all = (double)o.operations * (double)o.tasks;
  double ns = (double)(green_read(CLOCK_MONOTONIC) - start) / all;
  double cpu_ns = (double)(green_read(CLOCK_PROCESS_CPUTIME_ID) - cpu) / all;
  printf("{\"version\": \"%s\", \"ns\": %.3f, \"cpu_ns\": %.3f}\n", GREEN_VERSION, ns, cpu_ns);
  return 0;
}

#endif
