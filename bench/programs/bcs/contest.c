/* contest.c: threads run for a time, warm up together first, and stamp start and end themselves: the
 * rate is what all have counted, over (last end - first start). A thread that gets nothing counts
 * nothing: it sits in its first section from before the start to after the end. */
#define _GNU_SOURCE /* pthread_barrier, getrusage */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "bcs.h"

/* ---- busy work of a known length.
 *
 * A chain of shift, xor and multiply, each of which needs the one before: the compiler cannot fold
 * it, the processor cannot overlap it, and it does not look at a clock, whose reading would take
 * longer than the shortest section. How long a step takes is measured; a thread that is preempted
 * meanwhile loses nothing, because CPU time is counted. ---- */

static double ns_per_step;

/* So many steps of a chain in which each needs the result of the one before. Returns its end. */
VOLT_NOINLINE static uint64_t work(uint64_t state, uint64_t steps) {
  for (; steps > 0; steps--) {
    state ^= state >> 29;
    state *= UINT64_C(0xbf58476d1ce4e5b9);
  }
  return state;
}

VOLT_NOINLINE void bcs_section(void *shared) {
  bcs_shared *s = (bcs_shared *)shared;
  s->count += 1;
  if (s->steps > 0) s->state = work(s->state, s->steps);
}

/* CPU time of this thread. */
static uint64_t cpu_ns(void) {
  struct timespec used;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static volatile uint64_t result; /* has to be computed because it is written here */

/* CPU nanoseconds of a call with so many steps, the median of several times `calls`. */
static double measure(uint64_t steps, unsigned calls) {
  enum { TIMES = 9 };
  double ns[TIMES];
  uint64_t state = 1;
  for (unsigned t = 0; t < TIMES; t++) {
    uint64_t start_ns = cpu_ns();
    for (unsigned i = 0; i < calls; i++) state = work(state, steps);
    ns[t] = (double)(cpu_ns() - start_ns) / calls;
  }
  result = state;
  qsort(ns, TIMES, sizeof *ns, compare);
  return ns[TIMES / 2];
}

/* The steps that take so long. */
static uint64_t steps_of(uint64_t ns) {
  return (uint64_t)((double)ns / ns_per_step + 0.5);
}

/* What steps(ns) take now, by CPU time. */
static double work_takes(uint64_t ns) {
  return measure(steps_of(ns), (unsigned)(500000 / (ns + 1)) + 1);
}

/* Find out what a step takes. Call once, first. */
static void calibrate(void) {
  enum { STEPS = 100000, CALLS = 4, TRIES = 5 };
  (void)measure(STEPS, CALLS); /* the clock of the core goes up */
  for (unsigned i = 0; i < TRIES; i++) {
    ns_per_step = measure(STEPS, CALLS) / STEPS;
    double ns = work_takes(10000);
    if (ns > 9800 && ns < 10200) return; /* else: disturbed, then or now */
  }
}

/* ---- the threads of a contest ---- */

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

static void require(bool so, const char *what_if_not) {
  if (so) return;
  fprintf(stderr, "bench-bcs: %s\n", what_if_not);
  exit(1);
}

static uint64_t run_phase(struct runner *r, uint32_t this) {
  struct slice *s = r->slice;
  void (*run)(bcs_contest *) = s->candidate->run;
  uint64_t count = 0;
  while (volt_load_relaxed(&s->phase) == this) { /* ends loops, orders nothing */
    run(s->contest);
    count += 1;
    if (s->unlocked_steps > 0) r->state = work(r->state, s->unlocked_steps);
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

/* ---- what the process has used ---- */

struct usage {
  uint64_t wall_ns;
  double cpu;    /* seconds of this process */
  double sleeps; /* its voluntary context switches */
};

static struct usage usage_now(void) {
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  struct usage u = {volt_now_ns(), 0, (double)used.ru_nvcsw};
  u.cpu = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
          (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
  return u;
}

static void sleep_ns(uint64_t ns) {
  struct timespec time = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
  nanosleep(&time, NULL);
}

/* ---- a slice ---- */

static bcs_outcome outcome_of(const struct runner *runners, unsigned threads,
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
  double mean = sum / threads, ns = (double)(last - first), cpu = after->cpu - before->cpu;
  for (unsigned i = 0; i < threads; i++) {
    squares += ((double)runners[i].count - mean) * ((double)runners[i].count - mean);
  }
  if (sum == 0) ns = (double)(after->wall_ns - before->wall_ns); /* one section took longer */
  double sections = sum > 0 ? sum : 1;
  return (bcs_outcome){
      .ns = ns / sections,
      .cpu_ns = cpu * 1e9 / sections,
      .slowest_share = most > 0 ? (double)least / (double)most : 0,
      .per_second = sum / ns * 1e9,
      .thread_mean = mean,
      .thread_least = (double)least,
      .thread_most = (double)most,
      .thread_deviation = sqrt(squares / threads),
      .cores = cpu * 1e9 / (double)(after->wall_ns - before->wall_ns),
      .sleeps = (after->sleeps - before->sleeps) / sections,
  };
}

static void check_exclusion(const struct slice *slice, const struct runner *runners,
                            unsigned threads) {
  uint64_t counted = 0;
  for (unsigned i = 0; i < threads; i++) counted += runners[i].warm_up + runners[i].count;
  bool right = !slice->candidate->excludes || counted == slice->contest->shared.count;
  require(right, "two threads were inside at once");
}

bcs_outcome bcs_run_sections(const bcs_candidate *candidate, const bcs_options *o) {
  static bcs_contest contest;
  uint64_t slice_ns = o->operations * 1000000;
  calibrate();
  contest.shared.steps = steps_of(o->locked_ns);
  struct slice slice = {candidate, &contest, steps_of(o->unlocked_ns), .phase = WARM_UP};
  static struct runner runners[BCS_MAX_THREADS];
  pthread_barrier_init(&slice.start, NULL, o->threads + 1);
  candidate->init(&contest);
  for (unsigned i = 0; i < o->threads; i++) {
    runners[i].slice = &slice;
    require(pthread_create(&runners[i].thread, NULL, run_thread, &runners[i]) == 0, "no thread");
  }
  pthread_barrier_wait(&slice.start);
  sleep_ns(slice_ns / 8);
  struct usage before = usage_now();
  volt_store_relaxed(&slice.phase, MEASURE);
  sleep_ns(slice_ns);
  volt_store_relaxed(&slice.phase, END);
  for (unsigned i = 0; i < o->threads; i++) pthread_join(runners[i].thread, NULL);
  struct usage after = usage_now();
  candidate->destroy(&contest);
  check_exclusion(&slice, runners, o->threads);
  bcs_outcome outcome = outcome_of(runners, o->threads, &before, &after);
  outcome.work_ns = work_takes(1000);
  return outcome;
}

/* ---- one thread alone ---- */

static void *sleep_to_the_end(void *end) {
  pthread_barrier_wait((pthread_barrier_t *)end);
  return NULL;
}

bcs_outcome bcs_run_alone(const bcs_candidate *candidate, const bcs_options *o) {
  static bcs_contest contest;
  pthread_barrier_t end;
  pthread_t second;
  pthread_barrier_init(&end, NULL, 2);
  require(pthread_create(&second, NULL, sleep_to_the_end, &end) == 0, "no thread");
  candidate->init(&contest);
  uint64_t warm_up = o->operations / 8 + 1;
  candidate->alone(&contest, warm_up);
  uint64_t start_ns = volt_now_ns(), start_cpu_ns = cpu_ns();
  candidate->alone(&contest, o->operations);
  uint64_t end_cpu_ns = cpu_ns(), end_ns = volt_now_ns();
  candidate->destroy(&contest);
  pthread_barrier_wait(&end);
  pthread_join(second, NULL);
  require(contest.shared.count == warm_up + o->operations, "a section has not run");
  bcs_outcome outcome = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
  outcome.ns = (double)(end_ns - start_ns) / (double)o->operations;
  outcome.cpu_ns = (double)(end_cpu_ns - start_cpu_ns) / (double)o->operations;
  return outcome;
}
