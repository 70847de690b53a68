/* bcs_bench.h: the benchmark of batched critical sections: who is how fast, and how fair.
 *
 * A cell of the benchmark is a number of threads, the length of the section, and that of what each
 * thread does between two. A candidate is a way to have the section to oneself. In a slice, the
 * threads of a cell run one candidate for a fixed time and count what each of them has done. A
 * round is a slice of every candidate in every cell, shuffled; there are a few rounds. */
#ifndef VOLT_BENCH_BCS_BENCH_H
#define VOLT_BENCH_BCS_BENCH_H

#include <pthread.h>

#include <volt/bcs_lock.h>
#include <volt/mpsc.h>
#include <volt/mutex.h>

#include "harness.h"

#ifdef BCS_WITH_NSYNC
#include <nsync_mu.h>
#endif

enum { BCS_MAX_THREADS = 16, BCS_MAX_CELLS = 24 };

/* ---- work: work.c ---- */

/* So many steps of a chain in which each needs the result of the one before. Returns its end. */
uint64_t bcs_work(uint64_t state, uint64_t steps);

/* Find out what a step takes. Call once, first. */
void bcs_work_calibrate(void);

/* The steps that take so long. */
uint64_t bcs_work_steps(uint64_t ns);

/* What steps(ns) take now, by CPU time. */
double bcs_work_check(uint64_t ns);

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

/* In the order of bcs_candidates; of some the verdicts speak. */
enum {
  BCS_WAITFREE,
  BCS_LOCKFREE,
  BCS_ACTOR,
  BCS_MUTEX,
  BCS_PTHREAD,
  BCS_ADAPTIVE,
  BCS_NSYNC,
  BCS_SPIN,
  BCS_NO_LOCK,
  BCS_CANDIDATES
};

typedef struct bcs_candidate {
  const char *key;              /* for --only and for programs */
  const char *name;             /* for people */
  void (*init)(bcs_contest *c); /* NULL: not in this build */
  void (*run)(bcs_contest *c);  /* the section, once */
  void (*destroy)(bcs_contest *c);
  bool excludes; /* whether count has to come out right */
} bcs_candidate;

extern const bcs_candidate bcs_candidates[BCS_CANDIDATES];

/* ---- running: run.c ---- */

typedef struct bcs_cell {
  unsigned threads;
  uint64_t locked_ns, unlocked_ns;
} bcs_cell;

/* What a slice shows. */
enum {
  BCS_RATE,       /* sections per second, of all threads */
  BCS_MEAN,       /* sections per thread, of the slice */
  BCS_LEAST,      /* of the slowest thread */
  BCS_MOST,       /* of the fastest */
  BCS_DEVIATION,  /* standard deviation of the threads */
  BCS_EVEN,       /* least / most */
  BCS_CORES,      /* CPU time over wall time */
  BCS_SLEEPS,     /* voluntary context switches per section: each one is ended by a wake */
  BCS_OTHERS,     /* cores that were busy with anything else */
  BCS_TO_PTHREAD, /* rate over that of pthread in this round and cell; 0: it did not run */
  BCS_MEASURES
};

typedef struct bcs_sample {
  double of[BCS_MEASURES];
} bcs_sample;

/* A slice with this of BCS_OTHERS has not had the machine to itself. */
#define BCS_DISTURBED 0.2

typedef struct bcs_row {
  bool measured;
  unsigned disturbed; /* slices that were, also when repeated */
  bench_summary of[BCS_MEASURES];
} bcs_row;

typedef struct bcs_plan {
  bcs_cell cells[BCS_MAX_CELLS];
  unsigned cell_count;
  bool chosen[BCS_CANDIDATES];
  unsigned rounds;
  uint64_t slice_ns;
} bcs_plan;

typedef bcs_row bcs_rows[BCS_MAX_CELLS][BCS_CANDIDATES];

/* Run everything; fills rows. Ends the program if a lock has let two threads in. */
void bcs_run(const bcs_plan *plan, bcs_rows rows);

/* The row of a candidate in a cell, or NULL: not measured. */
const bcs_row *bcs_find(const bcs_plan *plan, bcs_rows rows, bcs_cell cell, unsigned candidate);

/* One thread, nobody else there: uncontended.c. The wait-free lock's case has this name. */
#define BCS_RUN_ALONE "volt_bcs_lock wait-free run"
void bcs_uncontended(void);

/* ---- what came out ---- */

/* What was claimed, what is so, and by what figures. */
typedef struct bcs_verdict {
  char claim[128];
  char verdict[48];
  char figures[192];
} bcs_verdict;
enum { BCS_MAX_VERDICTS = 32 };
#define BCS_NOT_MEASURED "not measured"

/* What is demanded of the lock: bars.c. Returns how many. */
unsigned bcs_bars(const bcs_plan *plan, bcs_rows rows, bcs_verdict verdicts[BCS_MAX_VERDICTS]);

/* What the text that the lock comes from says of it: hypotheses.c. Returns how many. */
unsigned bcs_hypotheses(const bcs_plan *plan, bcs_rows rows,
                        bcs_verdict verdicts[BCS_MAX_VERDICTS]);

/* For people: report.c. */
const char *bcs_length(uint64_t ns, char *text, size_t bytes); /* "0", "100 ns", "10 us": text */
void bcs_print_head(const bcs_plan *plan);
void bcs_print(const bcs_plan *plan, bcs_rows rows);

/* What is plotted against the length of the section: the cells with this outside of it. */
#define BCS_PLOT_UNLOCKED_NS 1000

/* For documents, programs and gnuplot: markdown.c, data.c. They say why they fail. */
bool bcs_write_markdown(const char *path, const bcs_plan *plan, bcs_rows rows);
bool bcs_write_json(const char *path, const bcs_plan *plan, bcs_rows rows);
bool bcs_write_plot_data(const char *path, const bcs_plan *plan, bcs_rows rows);

#endif
