/* run.c: slices, rounds, medians.
 *
 * Threads run for a time, warm up together first, and stamp start and end themselves: the rate is
 * what all have counted, over (last end - first start). A thread that gets nothing counts nothing:
 * it sits in its first section from before the start to after the end. */
#define _GNU_SOURCE /* pthread_barrier, getrusage */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "bcs_bench.h"

enum { WARM_UP, MEASURE, END };

struct slice {
  const bcs_candidate *candidate;
  bcs_contest *contest;
  uint64_t unlocked_steps;
  pthread_barrier_t start;
  VOLT_CACHE_ALIGNED VOLT_ATOMIC(uint32_t) phase;
};

struct runner {
  VOLT_CACHE_ALIGNED struct slice *slice;
  pthread_t thread;
  uint64_t state; /* of the work outside of the sections */
  uint64_t start_ns, end_ns;
  uint64_t warm_up, count; /* sections in either phase */
};

static uint64_t run_phase(struct runner *r, uint32_t this) {
  struct slice *s = r->slice;
  void (*run)(bcs_contest *) = s->candidate->run;
  uint64_t count = 0;
  while (volt_load_relaxed(&s->phase) == this) { /* ends loops, orders nothing */
    run(s->contest);
    count += 1;
    if (s->unlocked_steps > 0) r->state = bcs_work(r->state, s->unlocked_steps);
  }
  return count;
}

static void *run_thread(void *arg) {
  struct runner *r = (struct runner *)arg;
  pthread_barrier_wait(&r->slice->start);
  r->warm_up = run_phase(r, WARM_UP);
  r->start_ns = volt_now_ns();
  r->count = run_phase(r, MEASURE);
  r->end_ns = volt_now_ns();
  return NULL;
}

/* ---- what else is going on ---- */

struct usage {
  uint64_t wall_ns;
  double own;    /* CPU seconds of this process */
  double all;    /* of everybody on this machine, and what the host took away */
  double sleeps; /* voluntary context switches of this process */
};

/* Busy seconds of all cores, by /proc/stat; 0 where there is none. */
static double busy_seconds(void) {
  FILE *in = fopen("/proc/stat", "r");
  if (!in) return 0;
  unsigned long long user, nice, system, idle, io, irq, soft, steal;
  int n = fscanf(in, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &system, &idle,
                 &io, &irq, &soft, &steal);
  fclose(in);
  if (n != 8) return 0;
  return (double)(user + nice + system + irq + soft + steal) / (double)sysconf(_SC_CLK_TCK);
}

static struct usage usage_now(void) {
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  struct usage u = {volt_now_ns(), 0, busy_seconds(), (double)used.ru_nvcsw};
  u.own = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
          (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
  return u;
}

static void sleep_ns(uint64_t ns) {
  struct timespec time = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
  nanosleep(&time, NULL);
}

/* ---- a slice ---- */

static bcs_sample sample_of(const struct runner *runners, unsigned threads,
                            const struct usage *before, const struct usage *after) {
  uint64_t first = UINT64_MAX, last = 0, least = UINT64_MAX, most = 0;
  double sum = 0, squares = 0;
  for (unsigned i = 0; i < threads; i++) {
    const struct runner *r = &runners[i];
    if (r->start_ns < first) first = r->start_ns;
    if (r->end_ns > last) last = r->end_ns;
    if (r->count < least) least = r->count;
    if (r->count > most) most = r->count;
    sum += (double)r->count;
  }
  double mean = sum / threads;
  for (unsigned i = 0; i < threads; i++) {
    squares += ((double)runners[i].count - mean) * ((double)runners[i].count - mean);
  }
  double seconds = (double)(last - first) / 1e9;
  double wall = (double)(after->wall_ns - before->wall_ns) / 1e9;
  double others = ((after->all - before->all) - (after->own - before->own)) / wall;
  bcs_sample s = {{0}};
  s.of[BCS_RATE] = sum / seconds;
  s.of[BCS_MEAN] = mean;
  s.of[BCS_LEAST] = (double)least;
  s.of[BCS_MOST] = (double)most;
  s.of[BCS_DEVIATION] = sqrt(squares / threads);
  s.of[BCS_EVEN] = most > 0 ? (double)least / (double)most : 0;
  s.of[BCS_CORES] = (after->own - before->own) / wall;
  s.of[BCS_SLEEPS] = sum > 0 ? (after->sleeps - before->sleeps) / sum : 0;
  s.of[BCS_OTHERS] = others > 0 ? others : 0;
  return s;
}

static void check_exclusion(const bcs_contest *contest, const struct slice *slice,
                            const struct runner *runners, unsigned threads) {
  uint64_t counted = 0;
  for (unsigned i = 0; i < threads; i++) counted += runners[i].warm_up + runners[i].count;
  if (!slice->candidate->excludes || counted == contest->shared.count) return;
  fprintf(stderr, "%s: two threads were inside at once\n", slice->candidate->name);
  exit(1);
}

static bcs_sample run_slice(const bcs_candidate *candidate, bcs_cell cell, uint64_t slice_ns) {
  static bcs_contest contest;
  memset(&contest, 0, sizeof contest);
  contest.shared.steps = bcs_work_steps(cell.locked_ns);
  struct slice slice = {candidate, &contest, bcs_work_steps(cell.unlocked_ns), .phase = WARM_UP};
  struct runner runners[BCS_MAX_THREADS];
  memset(runners, 0, sizeof runners);
  pthread_barrier_init(&slice.start, NULL, cell.threads + 1);
  candidate->init(&contest);
  for (unsigned i = 0; i < cell.threads; i++) {
    runners[i].slice = &slice;
    if (pthread_create(&runners[i].thread, NULL, run_thread, &runners[i]) != 0) abort();
  }
  pthread_barrier_wait(&slice.start);
  sleep_ns(slice_ns / 8);
  struct usage before = usage_now();
  volt_store_relaxed(&slice.phase, MEASURE);
  sleep_ns(slice_ns);
  volt_store_relaxed(&slice.phase, END);
  for (unsigned i = 0; i < cell.threads; i++) pthread_join(runners[i].thread, NULL);
  struct usage after = usage_now();
  candidate->destroy(&contest);
  pthread_barrier_destroy(&slice.start);
  check_exclusion(&contest, &slice, runners, cell.threads);
  return sample_of(runners, cell.threads, &before, &after);
}

/* ---- rounds ---- */

typedef bcs_sample samples_of_cell[BCS_CANDIDATES][BENCH_MAX_ROUNDS];

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

static bool runs(const bcs_plan *plan, unsigned candidate) {
  return plan->chosen[candidate] && bcs_candidates[candidate].init != NULL;
}

/* A slice during which something else was busy shows that as well: run it again, but do not let a
 * machine that is never quiet make the benchmark endless. */
static bcs_sample run_undisturbed(const bcs_plan *plan, const bcs_candidate *candidate,
                                  bcs_cell cell) {
  static unsigned slices, repeats;
  for (slices += 1;; repeats += 1) {
    bcs_sample s = run_slice(candidate, cell, plan->slice_ns);
    if (s.of[BCS_OTHERS] < BCS_DISTURBED || repeats >= slices / 5) return s;
  }
}

static void run_cell(const bcs_plan *plan, bcs_cell cell, samples_of_cell samples, unsigned round) {
  unsigned order[BCS_CANDIDATES];
  shuffle(order, BCS_CANDIDATES);
  for (unsigned i = 0; i < BCS_CANDIDATES; i++) {
    unsigned c = order[i];
    if (runs(plan, c)) samples[c][round] = run_undisturbed(plan, &bcs_candidates[c], cell);
  }
  if (!runs(plan, BCS_PTHREAD)) return;
  double rate = samples[BCS_PTHREAD][round].of[BCS_RATE];
  for (unsigned c = 0; c < BCS_CANDIDATES; c++) {
    bcs_sample *s = &samples[c][round];
    s->of[BCS_TO_PTHREAD] = rate > 0 ? s->of[BCS_RATE] / rate : 0;
  }
}

static bcs_row row_of(const bcs_sample *samples, unsigned rounds) {
  bcs_row row = {.measured = true};
  for (unsigned r = 0; r < rounds; r++) row.disturbed += samples[r].of[BCS_OTHERS] >= BCS_DISTURBED;
  for (unsigned m = 0; m < BCS_MEASURES; m++) {
    double values[BENCH_MAX_ROUNDS] = {0};
    for (unsigned r = 0; r < rounds; r++) values[r] = samples[r].of[m];
    row.of[m] = bench_summarize(values, rounds);
  }
  return row;
}

void bcs_run(const bcs_plan *plan, bcs_rows rows) {
  static samples_of_cell samples[BCS_MAX_CELLS];
  memset(rows, 0, sizeof(bcs_rows));
  for (unsigned r = 0; r < plan->rounds && plan->cell_count > 0; r++) {
    unsigned order[BCS_MAX_CELLS];
    shuffle(order, plan->cell_count);
    for (unsigned i = 0; i < plan->cell_count; i++) {
      run_cell(plan, plan->cells[order[i]], samples[order[i]], r);
    }
    fprintf(stderr, "bench-bcs: round %u of %u\n", r + 1, plan->rounds);
  }
  for (unsigned i = 0; i < plan->cell_count; i++) {
    for (unsigned c = 0; c < BCS_CANDIDATES; c++) {
      if (runs(plan, c)) rows[i][c] = row_of(samples[i][c], plan->rounds);
    }
  }
}

const bcs_row *bcs_find(const bcs_plan *plan, bcs_rows rows, bcs_cell cell, unsigned candidate) {
  for (unsigned i = 0; i < plan->cell_count; i++) {
    const bcs_cell *at = &plan->cells[i];
    if (at->threads == cell.threads && at->locked_ns == cell.locked_ns &&
        at->unlocked_ns == cell.unlocked_ns) {
      return rows[i][candidate].measured ? &rows[i][candidate] : NULL;
    }
  }
  return NULL;
}
