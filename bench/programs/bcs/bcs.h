/* bcs.h: the benchmark of batched critical sections: how fast, and how even.
 *
 * A candidate is a way to have the section to oneself. In a contest, threads run one candidate for
 * a fixed time, work for so long in each section and for so long between two, and count. */
#ifndef VOLT_BENCH_BCS_H
#define VOLT_BENCH_BCS_H

#include <pthread.h>

#include <volt/bcs_lock.h>
#include <volt/mpsc.h>
#include <volt/mutex.h>

#ifdef BCS_WITH_NSYNC
#include <nsync_mu.h>
#endif

enum { BCS_MAX_THREADS = 16 };

/* ---- candidates: candidates.c ---- */

/* What the section does is written here, plainly: were two inside at once, count would show it. */
typedef struct bcs_shared {
  uint64_t count;
  uint64_t state;
  uint64_t steps;
} bcs_shared;

/* The section itself, the same function for all. shared: a bcs_shared. */
void bcs_section(void *shared);

typedef struct bcs_contest {
  VOLT_CACHE_ALIGNED union {
    volt_bcs_lock bcs;
    volt_actor actor;
    volt_mutex mutex;
    pthread_mutex_t pthread;
    VOLT_ATOMIC(uint32_t) spin;
#ifdef BCS_WITH_NSYNC
    nsync_mu nsync;
#endif
  } lock;
  VOLT_CACHE_ALIGNED bcs_shared shared;
  VOLT_CACHE_ALIGNED pthread_t actor_thread;
} bcs_contest;

typedef struct bcs_candidate {
  const char *name;
  void (*init)(bcs_contest *c); /* NULL: not in this build */
  void (*run)(bcs_contest *c);  /* the section, once */
  void (*destroy)(bcs_contest *c);
  void (*alone)(bcs_contest *c, uint64_t count); /* so many short sections, inline; or NULL */
  bool excludes;                                 /* whether count has to come out right */
} bcs_candidate;

extern const bcs_candidate bcs_candidates[]; /* the name of the last is NULL */

/* ---- running: contest.c ---- */

typedef struct bcs_options {
  unsigned threads;
  uint64_t locked_ns, unlocked_ns; /* work in a section, and between two */
  uint64_t operations;             /* ms of a contest; sections, of one thread alone */
} bcs_options;

/* What a run shows. Below 0: it has not measured that. */
typedef struct bcs_outcome {
  double ns, cpu_ns;    /* per section */
  double slowest_share; /* sections of the slowest thread over those of the fastest */
  double per_second;    /* sections of all threads */
  double thread_mean, thread_least, thread_most, thread_deviation; /* sections of a thread */
  double cores;                                                    /* CPU time over wall time */
  double sleeps;  /* voluntary context switches per section: each one is ended by a wake */
  double work_ns; /* what a microsecond of work took, by CPU time */
} bcs_outcome;

/* Threads contend. Ends the program if the lock has let two of them in. */
bcs_outcome bcs_run_sections(const bcs_candidate *candidate, const bcs_options *o);

/* One thread, while a second one sleeps: with only one, glibc would leave the atomics out. */
bcs_outcome bcs_run_alone(const bcs_candidate *candidate, const bcs_options *o);

#endif
