/* harness.c: threads, watchdog and report of the stress tests. */
#define _GNU_SOURCE /* pthread, nanosleep */
#include "harness.h"

#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "inspector.h"
#ifdef VOLT_CHAOS
#include "chaos.h"
#endif

#define STUCK_AFTER_NS UINT64_C(20000000000)

static struct {
  const char *what;
  const char *wait_names[2];
  uint64_t seed;
  double seconds;
  unsigned threads;
  uint64_t end_ns;
  uint64_t rounds;
  VOLT_ATOMIC(uint64_t) entries;
  VOLT_ATOMIC(uint32_t) stopping;
  VOLT_ATOMIC(uint32_t) finished;
  stress_body *body;
  void *arg;
  stress_worker workers[STRESS_MAX_THREADS];
} stress;

static double number_from(const char *name, double otherwise) {
  const char *text = getenv(name);
  if (!text || !*text) return otherwise;
  char *end;
  double value = strtod(text, &end);
  if (*end == '\0' && value > 0) return value;
  fprintf(stderr, "%s=%s is not a number above 0\n", name, text);
  exit(2);
}

static uint64_t seed_from_environment(void) {
  const char *text = getenv("VOLT_TEST_SEED");
  return text && *text ? strtoull(text, NULL, 0) : volt_now_ns();
}

void stress_begin(const char *what, const char *small, const char *large) {
  stress.what = what;
  stress.wait_names[0] = small;
  stress.wait_names[1] = large;
  stress.seed = seed_from_environment();
  stress.seconds = number_from("VOLT_TEST_SECONDS", 0.5);
  double threads = number_from("VOLT_TEST_THREADS", 6);
  stress.threads = threads < 2                    ? 2
                   : threads > STRESS_MAX_THREADS ? STRESS_MAX_THREADS
                                                  : (unsigned)threads;
  stress.end_ns = volt_deadline_ns((uint64_t)(stress.seconds * 1e9));
  for (unsigned i = 0; i < STRESS_MAX_THREADS; i++) {
    stress.workers[i].index = i;
    stress.workers[i].random = rng_seeded(stress.seed ^ ((uint64_t)i << 32));
    volt_store_relaxed(&stress.workers[i].doing, "nothing yet");
  }
  printf("%s: VOLT_TEST_SEED=%" PRIu64 ", %u threads, %.1f s\n", what, stress.seed, stress.threads,
         stress.seconds);
#ifdef VOLT_CHAOS
  volt_chaos_begin(stress.seed);
#endif
  fflush(stdout);
  inspector_begin(stress.seed);
}

unsigned stress_threads(void) {
  return stress.threads;
}

static uint64_t acquired_so_far(void) {
  uint64_t sum = 0;
  for (unsigned i = 0; i < stress.threads; i++) sum += stress.workers[i].acquired;
  return sum;
}

bool stress_time_left(void) {
  uint64_t now_ns = volt_now_ns();
  if (now_ns < stress.end_ns) return true;
  return acquired_so_far() == 0 && now_ns < stress.end_ns + STUCK_AFTER_NS;
}

bool stress_stopping(void) {
  return volt_load_relaxed(&stress.stopping) != 0;
}

void stress_progress(stress_worker *w, const char *doing) {
  volt_store_relaxed(&w->operations, volt_load_relaxed(&w->operations) + 1);
  volt_store_relaxed(&w->doing, doing);
}

static uint64_t operations_so_far(void) {
  uint64_t sum = 0;
  for (unsigned i = 0; i < STRESS_MAX_THREADS; i++) {
    sum += volt_load_relaxed(&stress.workers[i].operations);
  }
  return sum;
}

static void describe(FILE *out) {
  fprintf(out, "%s: VOLT_TEST_SEED=%" PRIu64 ", round %" PRIu64 ", %" PRIu64 " entries\n",
          stress.what, stress.seed, stress.rounds, volt_load_relaxed(&stress.entries));
  for (unsigned i = 0; i < stress.threads; i++) {
    fprintf(out, "  thread %u: %" PRIu64 " operations, now: %s\n", i,
            volt_load_relaxed(&stress.workers[i].operations),
            volt_load_relaxed(&stress.workers[i].doing));
  }
}

void stress_fail(const char *file, int line, const char *what) {
  fflush(stdout);
  fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, what);
  describe(stderr);
  abort();
}

static void nap(void) {
  struct timespec time = {0, 1000000};
  nanosleep(&time, NULL);
}

static void watch(unsigned threads, uint64_t duration_ns) {
  uint64_t stop_ns = volt_deadline_ns(duration_ns);
  uint64_t seen = 0;
  uint64_t seen_at_ns = volt_now_ns();
  while (volt_load_acquire(&stress.finished) < threads) {
    nap();
    uint64_t now_ns = volt_now_ns();
    if (now_ns >= stop_ns) volt_store_relaxed(&stress.stopping, 1);
    uint64_t steps = operations_so_far() + volt_load_relaxed(&stress.entries);
    if (steps != seen) {
      seen = steps;
      seen_at_ns = now_ns;
    } else if (now_ns - seen_at_ns > STUCK_AFTER_NS) {
      stress_fail(__FILE__, __LINE__, "some thread makes progress within 20 s");
    }
  }
}

static void *run_worker(void *arg) {
  stress_worker *w = (stress_worker *)arg;
  stress.body(w, stress.arg);
  free(w->spare);
  w->spare = NULL;
  volt_fetch_add_release(&stress.finished, 1);
  return NULL;
}

static void check_wakes(void) {
  for (unsigned i = 0; i < STRESS_MAX_THREADS; i++) {
    for (unsigned j = 0; j < STRESS_SLOTS; j++) {
      stress_slot *slot = &stress.workers[i].slots[j];
      STRESS_CHECK(volt_load_relaxed(&slot->woken) == slot->expected); /* one wake per grant */
    }
  }
}

void stress_round(unsigned threads, uint64_t duration_ns, stress_body *body, void *arg) {
  pthread_t ids[STRESS_MAX_THREADS];
  STRESS_CHECK(threads <= STRESS_MAX_THREADS);
  stress.rounds += 1;
  stress.body = body;
  stress.arg = arg;
  volt_store_relaxed(&stress.stopping, 0); /* published by pthread_create */
  volt_store_relaxed(&stress.finished, 0);
  for (unsigned i = 0; i < threads; i++) {
    STRESS_CHECK(pthread_create(&ids[i], NULL, run_worker, &stress.workers[i]) == 0);
  }
  watch(threads, duration_ns);
  for (unsigned i = 0; i < threads; i++) pthread_join(ids[i], NULL);
  check_wakes();
}

static void report_waits(unsigned class) {
  static histogram all;
  if (!stress.wait_names[class]) return;
  all = (histogram){0};
  for (unsigned i = 0; i < STRESS_MAX_THREADS; i++) {
    histogram_merge(&all, &stress.workers[i].waits[class]);
  }
  printf("  %-12s %9" PRIu64 " waits: p50 %" PRIu64 ", p99 %" PRIu64 ", p99.9 %" PRIu64
         ", max %" PRIu64 " ns\n",
         stress.wait_names[class], all.count, histogram_quantile(&all, 0.5),
         histogram_quantile(&all, 0.99), histogram_quantile(&all, 0.999), all.max);
}

int stress_end(void) {
  inspector_end();
  uint64_t acquired = 0, gave_up = 0, wakes = 0, most = 0, least = UINT64_MAX;
  for (unsigned i = 0; i < stress.threads; i++) {
    stress_worker *w = &stress.workers[i];
    acquired += w->acquired;
    gave_up += w->gave_up;
    if (w->acquired > most) most = w->acquired;
    if (w->acquired < least) least = w->acquired;
    for (unsigned j = 0; j < STRESS_SLOTS; j++) wakes += w->slots[j].expected;
  }
  printf("  %" PRIu64 " operations in %" PRIu64 " rounds: %" PRIu64 " acquired, %" PRIu64
         " given up, %" PRIu64 " wakes counted\n",
         operations_so_far(), stress.rounds, acquired, gave_up, wakes);
  printf("  acquired per thread: least %" PRIu64 ", most %" PRIu64 "\n", least, most);
  report_waits(0);
  report_waits(1);
  STRESS_CHECK(acquired > 0);
  return 0;
}

void stress_count_entry(void) {
  volt_fetch_add_relaxed(&stress.entries, 1); /* a count */
}

uint64_t stress_entries(void) {
  return volt_load_relaxed(&stress.entries);
}

uint32_t stress_below(stress_worker *w, uint32_t bound) {
  return rng_below(&w->random, bound);
}

stress_slot *stress_any_slot(stress_worker *w) {
  return &w->slots[stress_below(w, STRESS_SLOTS)];
}

static void wake_slot(void *ctx) {
  stress_slot *slot = (stress_slot *)ctx;
  void (*also)(void *) = slot->also;
  if (also) also(slot->arg);
  volt_fetch_add_relaxed(&slot->woken, 1); /* a count; the round's end orders it */
}

volt_waker stress_waker(stress_slot *slot) {
  volt_waker waker = {wake_slot, slot};
  return waker;
}

void stress_arm(stress_worker *w, uint32_t whole, void (*also)(void *), void *arg) {
  w->whole = whole;
  for (unsigned i = 0; i < STRESS_SLOTS; i++) {
    w->slots[i].also = i % 4 == 0 ? also : NULL;
    w->slots[i].arg = arg;
  }
}

void stress_dawdle(stress_worker *w) {
  uint32_t kind = stress_below(w, 16);
  if (kind == 0) sched_yield();
  if (kind >= 8) return;
  for (volatile uint32_t i = stress_below(w, 100); i > 0;) i = i - 1;
}
