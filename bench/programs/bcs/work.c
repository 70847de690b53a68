/* work.c: busy work of a known length.
 *
 * A chain of shift, xor and multiply, each of which needs the one before: the compiler cannot fold
 * it, the processor cannot overlap it, and it does not look at a clock, whose reading would take
 * longer than the shortest section. How long a step takes is measured; a thread that is preempted
 * meanwhile loses nothing, because CPU time is counted. */
#define _GNU_SOURCE /* clock_gettime */
#include <stdlib.h>
#include <time.h>

#include "bcs.h"

static double ns_per_step;

VOLT_NOINLINE uint64_t bcs_work(uint64_t state, uint64_t steps) {
  for (; steps > 0; steps--) {
    state ^= state >> 29;
    state *= UINT64_C(0xbf58476d1ce4e5b9);
  }
  return state;
}

VOLT_NOINLINE void bcs_section(void *shared) {
  bcs_shared *s = (bcs_shared *)shared;
  s->count += 1;
  if (s->steps > 0) s->state = bcs_work(s->state, s->steps);
}

uint64_t bcs_cpu_ns(void) {
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
    uint64_t start_ns = bcs_cpu_ns();
    for (unsigned i = 0; i < calls; i++) state = bcs_work(state, steps);
    ns[t] = (double)(bcs_cpu_ns() - start_ns) / calls;
  }
  result = state;
  qsort(ns, TIMES, sizeof *ns, compare);
  return ns[TIMES / 2];
}

void bcs_work_calibrate(void) {
  enum { STEPS = 100000, CALLS = 4, TRIES = 5 };
  (void)measure(STEPS, CALLS); /* the clock of the core goes up */
  for (unsigned i = 0; i < TRIES; i++) {
    ns_per_step = measure(STEPS, CALLS) / STEPS;
    double ns = bcs_work_check(10000);
    if (ns > 9800 && ns < 10200) return; /* else: disturbed, then or now */
  }
}

uint64_t bcs_work_steps(uint64_t ns) {
  return (uint64_t)((double)ns / ns_per_step + 0.5);
}

double bcs_work_check(uint64_t ns) {
  return measure(bcs_work_steps(ns), (unsigned)(500000 / (ns + 1)) + 1);
}
