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

#include <time.h>

#include <volt/base.h>
#include <volt/detail/atomic.h>

VOLT_BEGIN_DECLS

typedef struct bench_options {
  uint32_t tasks; /* threads */
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

VOLT_END_DECLS

static inline uint64_t bench_now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#endif
