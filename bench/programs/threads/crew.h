/* crew.h: threads that do the same at the same time: marches and contests (threads.h). */
#ifndef VOLT_BENCH_CREW_H
#define VOLT_BENCH_CREW_H

#include <pthread.h>

#include "histogram.h"
#include "threads.h"

VOLT_BEGIN_DECLS

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

static inline bool bench_goes_on(bench_member *m) {
  return volt_load_relaxed(&m->crew->phase) == m->phase; /* ends a loop, orders nothing */
}

static inline void bench_work(uint64_t start_ns, uint64_t ns) {
  while (bench_now_ns() - start_ns < ns) continue;
}

#endif
