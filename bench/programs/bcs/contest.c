/* contest.c: threads run for a time, warm up together first, and stamp start and end themselves: the rate is
 * what all have counted, over (last end - first start). A thread that gets nothing counts nothing:
 * it sits in its first section from before the start to after the end. */
#define _GNU_SOURCE /* pthread_barrier, getrusage */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "bcs.h"

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
  if (sum == 0) require(false, "no thread has come out of a section");
  return (bcs_outcome){
      .ns = ns / sum,
      .cpu_ns = cpu * 1e9 / sum,
      .slowest_share = (double)least / (double)most,
      .per_second = sum / ns * 1e9,
      .thread_mean = mean,
      .thread_least = (double)least,
      .thread_most = (double)most,
      .thread_deviation = sqrt(squares / threads),
      .cores = cpu * 1e9 / (double)(after->wall_ns - before->wall_ns),
      .sleeps = (after->sleeps - before->sleeps) / sum,
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
  bcs_work_calibrate();
  contest.shared.steps = bcs_work_steps(o->locked_ns);
  struct slice slice = {candidate, &contest, bcs_work_steps(o->unlocked_ns), .phase = WARM_UP};
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
  outcome.work_ns = bcs_work_check(1000);
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
  uint64_t start_ns = volt_now_ns(), start_cpu_ns = bcs_cpu_ns();
  candidate->alone(&contest, o->operations);
  uint64_t end_cpu_ns = bcs_cpu_ns(), end_ns = volt_now_ns();
  candidate->destroy(&contest);
  pthread_barrier_wait(&end);
  pthread_join(second, NULL);
  require(contest.shared.count == warm_up + o->operations, "a section has not run");
  bcs_outcome outcome = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
  outcome.ns = (double)(end_ns - start_ns) / (double)o->operations;
  outcome.cpu_ns = (double)(end_cpu_ns - start_cpu_ns) / (double)o->operations;
  return outcome;
}
