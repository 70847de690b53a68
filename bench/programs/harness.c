/* harness.c: rounds, calibration, medians. */
#define _GNU_SOURCE /* clock_gettime */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

bench_effort bench_effort_now = {21, 12000000};

static bench_result all[192];
static unsigned all_count;

static int compare(const void *a, const void *b) {
  double x = *(const double *)a;
  double y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The value at a fraction of the sorted values, between its neighbours if it falls there. */
static double at_fraction(const double *sorted, unsigned count, double fraction) {
  double place = fraction * (double)(count - 1);
  unsigned below = (unsigned)place;
  if (below + 1 >= count) return sorted[count - 1];
  return sorted[below] + (place - (double)below) * (sorted[below + 1] - sorted[below]);
}

bench_summary bench_summarize(const double *values, unsigned count) {
  double sorted[BENCH_MAX_ROUNDS];
  memcpy(sorted, values, count * sizeof *sorted);
  qsort(sorted, count, sizeof *sorted, compare);
  bench_summary s;
  s.median = at_fraction(sorted, count, 0.5);
  s.quartile_1 = at_fraction(sorted, count, 0.25);
  s.quartile_3 = at_fraction(sorted, count, 0.75);
  s.least = sorted[0];
  s.most = sorted[count - 1];
  return s;
}

double bench_middle(double *values, unsigned count) {
  qsort(values, count, sizeof *values, compare);
  unsigned from = count / 4, to = count - count / 4;
  double sum = 0;
  for (unsigned i = from; i < to; i++) sum += values[i];
  return sum / (to - from);
}

uint64_t bench_cpu_ns(void) {
  struct timespec used;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

_Noreturn void bench_wrong(const char *name) {
  fprintf(stderr, "%s: what was counted does not add up\n", name);
  exit(1);
}

static uint64_t run_loop(const bench_case *c, uint64_t count) {
  uint64_t ns = c->loop(c->object, count);
  if (ns == BENCH_WRONG) bench_wrong(c->name);
  return ns;
}

/* As many operations as take about slice_ns. Runs some: that warms up, too. */
static uint64_t calibrate(const bench_case *c, uint64_t slice_ns) {
  uint64_t count = 64;
  for (;;) {
    uint64_t ns = run_loop(c, count);
    if (ns > slice_ns / 8) return 1 + (uint64_t)((double)count * (double)slice_ns / (double)ns);
    count *= 2;
  }
}

double bench_measure_loop(bench_case *c, uint64_t slice_ns) {
  if (c->count == 0) c->count = calibrate(c, slice_ns);
  return (double)run_loop(c, c->count) / (double)c->count;
}

static int find_case(const bench_table *t, const char *name) {
  for (unsigned i = 0; name && i < t->case_count; i++) {
    if (strcmp(t->cases[i].name, name) == 0) return (int)i;
  }
  return -1;
}

typedef double samples_of_case[BENCH_MAX_ROUNDS]; /* ns per operation */

static double ratio_to(samples_of_case *samples, unsigned i, int other, unsigned rounds) {
  double ratios[BENCH_MAX_ROUNDS];
  if (other < 0 || (unsigned)other == i) return 0;
  for (unsigned r = 0; r < rounds; r++) ratios[r] = samples[i][r] / samples[other][r];
  return bench_summarize(ratios, rounds).median;
}

static bench_result result_of(const bench_table *t, samples_of_case *samples, unsigned i,
                              unsigned rounds) {
  const bench_case *c = &t->cases[i];
  bench_result result = {0};
  snprintf(result.section, sizeof result.section, "%s", t->section);
  snprintf(result.table, sizeof result.table, "%s", t->title);
  snprintf(result.name, sizeof result.name, "%s", c->name);
  snprintf(result.limit, sizeof result.limit, "%s", t->limit ? t->limit : "");
  snprintf(result.peer, sizeof result.peer, "%s", c->peer ? c->peer : "");
  result.ns = bench_summarize(samples[i], rounds);
  result.to_limit = ratio_to(samples, i, find_case(t, t->limit), rounds);
  result.to_peer = ratio_to(samples, i, find_case(t, c->peer), rounds);
  result.allocations = -1;
  return result;
}

/* A new order of 0..count-1; the same in every run of the program. */
static void shuffle(unsigned *order, unsigned count) {
  static uint64_t state = 1;
  for (unsigned i = 0; i < count; i++) order[i] = i;
  for (unsigned i = count; i > 1; i--) {
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    unsigned j = (unsigned)(state >> 33) % i;
    unsigned last = order[i - 1];
    order[i - 1] = order[j];
    order[j] = last;
  }
}

void bench_run(const bench_table *t) {
  static samples_of_case samples[BENCH_MAX_CASES];
  unsigned rounds = bench_effort_now.rounds;
  if (t->case_count > BENCH_MAX_CASES || all_count + t->case_count > sizeof all / sizeof *all) {
    fprintf(stderr, "bench: too many cases\n");
    exit(2);
  }
  uint64_t slice_ns = bench_effort_now.slice_ns;
  for (unsigned i = 0; i < t->case_count; i++) {
    t->cases[i].measure(&t->cases[i], slice_ns / 4); /* warm up */
    t->cases[i].count *= 4;
  }
  for (unsigned r = 0; r < rounds; r++) {
    unsigned order[BENCH_MAX_CASES];
    shuffle(order, t->case_count);
    for (unsigned i = 0; i < t->case_count; i++) {
      bench_case *c = &t->cases[order[i]];
      samples[order[i]][r] = c->measure(c, slice_ns);
    }
  }
  bench_result *results = &all[all_count];
  for (unsigned i = 0; i < t->case_count; i++) results[i] = result_of(t, samples, i, rounds);
  all_count += t->case_count;
  bench_print(t, results);
}

const bench_result *bench_results(unsigned *count) {
  *count = all_count;
  return all;
}

void bench_set_allocations(const char *section, const char *name, double per_operation) {
  for (unsigned i = 0; i < all_count; i++) {
    bool is_it = strcmp(all[i].section, section) == 0 && strcmp(all[i].name, name) == 0;
    if (is_it) all[i].allocations = per_operation;
  }
}
