/* threads.h: what the programs of plain threads are made of: bench-threads (volt, and the limits)
 * and those of the peers (../../peers/threads), one program for each library, all by this code.
 *
 * The loops over a lock are compiled once for each library, so that its fast paths are inline, or
 * are called through the PLT, as its users get them: an engine is a file that says what its lock
 * is, and includes the loops for it (lock_loops.h, sem_loops.h, rwlock_loops.h, queue_loops.h),
 * which compile as C11 and as C++17. What is not timed is in crew.c, once.
 *
 * Two kinds of run (../../README.md says what the workloads do):
 *
 * - A march: each thread does the same number of operations, after an eighth of them that does not
 *   count: alone-*, pingpong, spsc, mpmc, wake.
 * - A contest: mutex, sem, rwlock, waits, timeout. A lock that serves in order on few cores takes a
 *   thousand times what one does that lets the running thread overtake, so no number of operations
 *   fits all. --operations is a budget: threads run until together they have done tasks x
 *   operations or 100 ms have passed, whichever is first. They warm up in the same way, for an
 *   eighth of the budget or 20 ms, and go on without a pause. ns is over what was done. */
#ifndef VOLT_BENCH_THREADS_H
#define VOLT_BENCH_THREADS_H

#include <pthread.h>
#include <time.h>

#include <volt/base.h>
#include <volt/detail/atomic.h>

#include "histogram.h"

VOLT_BEGIN_DECLS

typedef struct bench_options {
  uint32_t tasks;  /* threads */
  uint32_t bypass; /* how many may pass the oldest waiter of a lock */
  uint64_t amount, operations;
} bench_options;

/* What a run has shown; what it has not measured is BENCH_NOTHING. */
#define BENCH_NOTHING (-1.0)
typedef struct bench_outcome {
  double ns, cpu_ns, overlap;
  double p50_ns, p99_ns, p999_ns, longest_ns;
  double slowest_share, lost;
} bench_outcome;

typedef bench_outcome bench_run_fn(const bench_options *o);

typedef struct bench_workload {
  const char *name; /* NULL: the end of the list */
  bench_run_fn *run;
} bench_workload;

/* One of several libraries or types of a program. */
typedef struct bench_engine {
  const char *name;
  const char *(*version)(void); /* or NULL: it is no library */
  const bench_workload *workloads;
} bench_engine;

/* A program's build says what its engines are: BENCH_ENGINES is E(name) for each, which is the
 * object bench_engine_<name>, and each is compiled with that as BENCH_ENGINE. Several may have one
 * name, and workloads of their own. Without --engine, the first that has the workload is it. */

/* A macro's value as text. */
#define BENCH_TEXT_(text) #text
#define BENCH_TEXT(text) BENCH_TEXT_(text)

/* Unless it is so, say so on stderr and end the process with exit code 1. */
void bench_require(bool so, const char *what);

/* CPU time of the process. */
uint64_t bench_cpu_ns(void);

/* ---- threads that do the same at the same time: marches and contests: crew.c ---- */

enum { BENCH_WARM_UP, BENCH_MEASURE, BENCH_END };

typedef struct bench_crew bench_crew;

/* One thread. */
typedef struct bench_member {
  VOLT_CACHE_ALIGNED bench_crew *crew;
  void *object; /* what the crew works on */
  pthread_t thread;
  unsigned index;
  unsigned tasks;
  uint64_t amount;
  uint32_t phase;
  uint32_t stride;     /* contest: after so many operations, tell the others */
  uint64_t operations; /* march: to be done in this phase */
  uint64_t done[2];    /* contest: operations, by phase */
  uint64_t lost[2];    /* those of them that were given up */
  uint64_t sum, wrong; /* for the workload */
  uint64_t start_ns, end_ns;
  histogram waits; /* of this phase */
} bench_member;

/* What a thread does: in a march m->operations, in a contest as many as it can while
 * bench_goes_on(m), telling now and then, and at the end, how many. Called once for each phase. */
typedef void bench_body(bench_member *m);

struct bench_crew {
  /* The first line is what all look at before each operation of a contest. */
  VOLT_CACHE_ALIGNED VOLT_ATOMIC(uint32_t) phase;
  VOLT_CACHE_ALIGNED VOLT_ATOMIC(uint64_t) done[2];
  uint64_t budget[2];
  uint64_t cpu_ns[2]; /* when a phase had ended */
  bench_body *body;
  bench_member *members;
  unsigned tasks;
  uint64_t operations;
  pthread_barrier_t gate;
};

/* Run o->tasks threads with this body. The crew is all-zero before and can be looked at after. */
bench_outcome bench_march(bench_crew *crew, const bench_options *o, void *object, bench_body *body);
bench_outcome bench_contest(bench_crew *crew, const bench_options *o, void *object,
                            bench_body *body);

/* What members first..end-1 have done and not lost in a contest, the warm-up included. */
uint64_t bench_crew_did(const bench_crew *crew, unsigned first, unsigned end);

/* An outcome in which nothing is measured; and the quantiles of waits, into one. */
bench_outcome bench_nothing(void);
void bench_show_waits(bench_outcome *outcome, const histogram *waits);

/* What share of the operations of a contest was lost, the warm-up left out. */
double bench_crew_lost(const bench_crew *crew);

/* The quantiles of m->waits of all, into the outcome. */
void bench_crew_waits(const bench_crew *crew, bench_outcome *outcome);

/* n more operations have been done; returns 0. */
uint32_t bench_tell(bench_member *m, uint32_t n);

/* The workload wake: how long from give(object) until take(object) has returned, in another
 * thread, which has slept in it. */
typedef struct bench_wake {
  void (*take)(void *object);
  void (*give)(void *object);
  void *object;
} bench_wake;
bench_outcome bench_wake_run(const bench_options *o, const bench_wake *wake);

VOLT_END_DECLS

static inline uint64_t bench_now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline bool bench_goes_on(bench_member *m) {
  return volt_load_relaxed(&m->crew->phase) == m->phase; /* ends a loop, orders nothing */
}

static inline void bench_work(uint64_t start_ns, uint64_t ns) {
  while (bench_now_ns() - start_ns < ns) continue;
}

#endif
