/* contended.c: 2, 4 and 8 threads on one lock and on two permits, by blocking calls.
 *
 * Threads run for a time, not for a number of operations, so that a fast one cannot leave early,
 * and warm up together first, so that an early one does not count what it did alone. Start and end
 * are stamped inside the threads; an operation costs (last end - first start) over all operations.
 * How many operations the slowest thread has, of those of the fastest, is how fair it was. The
 * sections are empty, but for a count where one thread is inside at a time, which must come out
 * right. The price of moving a cache line from core to core is measured beside it, because it
 * changes with the placement of virtual machines. */
#define _GNU_SOURCE /* pthread_barrier, getrusage */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include <volt/volt.h>

#include "engines.h"

enum { MAX_THREADS = 8 };
enum { WARM_UP, MEASURE, END };

/* What a case runs: extra of its bench_case. */
struct contest {
  bench_contend_fn *contend;
  unsigned threads;
  bool counts_inside;
};

struct run {
  const struct contest *contest;
  void *object;
  uint64_t inside; /* plain: the lock protects it */
  pthread_barrier_t start;
  VOLT_CACHE_ALIGNED VOLT_ATOMIC(uint32_t) phase;
};

struct runner {
  struct run *run;
  pthread_t thread;
  uint64_t start_ns, end_ns;
  uint64_t warm_up, count; /* operations in either phase */
};

static void *run_thread(void *arg) {
  struct runner *r = (struct runner *)arg;
  struct run *run = r->run;
  bench_contend_fn *contend = run->contest->contend;
  uint64_t *inside = run->contest->counts_inside ? &run->inside : NULL;
  pthread_barrier_wait(&run->start);
  r->warm_up = contend(run->object, &run->phase, WARM_UP, inside);
  r->start_ns = volt_now_ns();
  r->count = contend(run->object, &run->phase, MEASURE, inside);
  r->end_ns = volt_now_ns();
  return NULL;
}

static double cpu_seconds(void) {
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

static bench_sample sample_of(const struct runner *runners, unsigned threads, double cpu_used) {
  uint64_t first = UINT64_MAX, last = 0, sum = 0, least = UINT64_MAX, most = 0;
  for (unsigned i = 0; i < threads; i++) {
    const struct runner *r = &runners[i];
    if (r->start_ns < first) first = r->start_ns;
    if (r->end_ns > last) last = r->end_ns;
    if (r->count < least) least = r->count;
    if (r->count > most) most = r->count;
    sum += r->count;
  }
  double ns = (double)(last - first);
  bench_sample sample = {ns / (double)(sum > 0 ? sum : 1), cpu_used / (ns / 1e9),
                         most > 0 ? (double)least / (double)most : 0};
  return sample;
}

static void sleep_ns(uint64_t ns) {
  struct timespec time = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
  nanosleep(&time, NULL);
}

static bench_sample measure_threads(bench_case *c, uint64_t slice_ns) {
  const struct contest *contest = (const struct contest *)c->extra;
  struct run run = {.contest = contest, .object = c->object};
  struct runner runners[MAX_THREADS] = {0};
  pthread_barrier_init(&run.start, NULL, contest->threads + 1);
  for (unsigned i = 0; i < contest->threads; i++) {
    runners[i].run = &run;
    if (pthread_create(&runners[i].thread, NULL, run_thread, &runners[i]) != 0) abort();
  }
  pthread_barrier_wait(&run.start);
  sleep_ns(slice_ns / 4);
  double cpu_before = cpu_seconds();
  volt_store_relaxed(&run.phase, MEASURE); /* ends loops, orders nothing */
  sleep_ns(slice_ns);
  volt_store_relaxed(&run.phase, END);
  uint64_t counted = 0;
  for (unsigned i = 0; i < contest->threads; i++) {
    pthread_join(runners[i].thread, NULL);
    counted += runners[i].warm_up + runners[i].count;
  }
  double cpu_used = cpu_seconds() - cpu_before;
  pthread_barrier_destroy(&run.start);
  if (contest->counts_inside && counted != run.inside) {
    fprintf(stderr, "%s: two threads were inside at once\n", c->name);
    abort();
  }
  return sample_of(runners, contest->threads, cpu_used);
}

/* One loop of the shape all of them have; engine_loops.h has it for the semaphores. */
#define CONTEND(name, type, take, give)                                           \
  static uint64_t name(void *object, VOLT_ATOMIC(uint32_t) *phase, uint32_t this, \
                       uint64_t *inside) {                                        \
    type *it = (type *)object;                                                    \
    uint64_t count = 0;                                                           \
    while (volt_load_relaxed(phase) == this) {                                    \
      take;                                                                       \
      if (inside) *inside += 1;                                                   \
      give;                                                                       \
      count += 1;                                                                 \
    }                                                                             \
    return count;                                                                 \
  }

CONTEND(volt_mutex_loop, volt_mutex, (void)volt_mutex_lock_blocking(it, VOLT_NO_DEADLINE),
        volt_mutex_unlock(it))
CONTEND(pthread_loop, pthread_mutex_t, pthread_mutex_lock(it), pthread_mutex_unlock(it))
CONTEND(sem_t_loop, sem_t, sem_wait(it), sem_post(it))

/* Two threads pass a word to and fro; counts passes. Yields now and then, for it has no fairness of
 * its own if both are on one core. */
static uint64_t pass_line(void *object, VOLT_ATOMIC(uint32_t) *phase, uint32_t this,
                          uint64_t *inside) {
  VOLT_ATOMIC(uint64_t) *turn = (VOLT_ATOMIC(uint64_t) *)object;
  uint64_t count = 0;
  static _Thread_local uint64_t me = 2; /* 0 or 1, once this thread has taken a side */
  if (me == 2) me = volt_fetch_add_relaxed(turn, UINT64_C(1) << 32) >> 32 & 1;
  (void)inside;
  for (unsigned waits = 0; volt_load_relaxed(phase) == this;) {
    if ((volt_load_relaxed(turn) & 1) == me) {
      volt_fetch_add_relaxed(turn, 1);
      count += 1;
      waits = 0;
    } else if (++waits % 4096 == 0) {
      sched_yield();
    }
  }
  return count;
}

struct entry {
  const char *name;
  const char *peer;
  void *object;
  struct contest contest;
};

static void run_entries(const char *section, const char *title, struct entry *entries, unsigned n) {
  bench_case cases[BENCH_MAX_CASES];
  for (unsigned i = 0; i < n; i++) {
    cases[i] = (bench_case){entries[i].name,
                            entries[i].peer,
                            measure_threads,
                            entries[i].object,
                            NULL,
                            &entries[i].contest,
                            0};
  }
  const bench_table table = {section, title, NULL, "x glibc", true, cases, n};
  bench_run(&table);
}

/* The semaphores of all engines but the first with so many permits, then the probe. */
static unsigned add_engines(struct entry *entries, unsigned n, unsigned first, const char *peer,
                            uint32_t permits, unsigned threads) {
  static VOLT_CACHE_ALIGNED bench_memory memory[BENCH_ENGINES];
  static VOLT_CACHE_ALIGNED VOLT_ATOMIC(uint64_t) line;
  for (unsigned i = first; i < BENCH_ENGINES; i++) {
    const bench_engine *e = bench_engines[i];
    e->init(&memory[i], permits);
    entries[n++] = (struct entry){e->name, peer, &memory[i], {e->contend, threads, permits == 1}};
  }
  entries[n++] = (struct entry){"(a cache line, one way)", NULL, &line, {pass_line, 2, false}};
  return n;
}

static void on_one_lock(unsigned threads) {
  static VOLT_CACHE_ALIGNED volt_mutex m = VOLT_MUTEX_INIT;
  static VOLT_CACHE_ALIGNED pthread_mutex_t pm = PTHREAD_MUTEX_INITIALIZER;
  static char section[24], title[96];
  struct entry entries[BENCH_MAX_CASES] = {
      {"pthread_mutex", NULL, &pm, {pthread_loop, threads, true}},
      {"volt mutex", "pthread_mutex", &m, {volt_mutex_loop, threads, true}},
  };
  unsigned n = add_engines(entries, 2, 0, "pthread_mutex", 1, threads);
  snprintf(section, sizeof section, "mutex-%u", threads);
  snprintf(title, sizeof title, "one lock (semaphores: 1 permit), %u threads, ns per operation",
           threads);
  run_entries(section, title, entries, n);
}

static void on_two_permits(unsigned threads) {
  static VOLT_CACHE_ALIGNED sem_t psem;
  static char section[24], title[96];
  sem_init(&psem, 0, 2);
  struct entry entries[BENCH_MAX_CASES] = {
      {"sem_t", NULL, &psem, {sem_t_loop, threads, false}},
  };
  unsigned n = add_engines(entries, 1, 0, "sem_t", 2, threads);
  snprintf(section, sizeof section, "permits-%u", threads);
  snprintf(title, sizeof title, "two permits, %u threads, ns per operation", threads);
  run_entries(section, title, entries, n);
}

void bench_contended(void) {
  for (unsigned threads = 2; threads <= MAX_THREADS; threads *= 2) on_one_lock(threads);
  for (unsigned threads = 2; threads <= MAX_THREADS; threads *= 2) on_two_permits(threads);
}
