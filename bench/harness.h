/* harness.h: measuring several candidates against each other.
 *
 * A table is a list of cases. They run interleaved: a short slice of each case, in an order that is
 * shuffled anew, makes a round, and there are many rounds, so that whatever else happens on the
 * machine happens to all of them. Of each case the median over the rounds and the spread are
 * reported. A ratio is computed within each round, and the median of those is reported: it survives
 * a clock that changes between rounds. Loops of one thread are timed by that thread's CPU time:
 * when it is preempted, nothing is counted. */
#ifndef VOLT_BENCH_HARNESS_H
#define VOLT_BENCH_HARNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { BENCH_MAX_ROUNDS = 101, BENCH_MAX_CASES = 24 };

/* What one slice has shown. Fields that a case does not measure stay zero. */
typedef struct bench_sample {
  double ns;    /* per operation */
  double cores; /* CPU time over wall time */
  double even;  /* operations of the slowest thread over those of the fastest */
} bench_sample;

typedef struct bench_case bench_case;

/* Run a case for about slice_ns. */
typedef bench_sample bench_measure_fn(bench_case *c, uint64_t slice_ns);

/* Do so many operations; returns the nanoseconds (bench_cpu_ns) they took. */
typedef uint64_t bench_loop_fn(void *object, uint64_t count);

struct bench_case {
  const char *name;
  const char *peer; /* another case of the table, to compare with; or NULL */
  bench_measure_fn *measure;
  void *object;
  bench_loop_fn *loop; /* for bench_measure_loop */
  const void *extra;   /* for other measures */
  uint64_t count;      /* bench_measure_loop: operations in a slice, once calibrated */
};

typedef struct bench_table {
  const char *section;
  const char *title;
  const char *limit;      /* the case that is the limit, for a column of ratios; or NULL */
  const char *peer_title; /* heading of the ratios to the peers; or NULL: no such column */
  bool threads;           /* whether cores and even mean something */
  bench_case *cases;
  unsigned case_count;
} bench_table;

/* How long and how often; set by the options of the program. */
typedef struct bench_effort {
  unsigned rounds;
  uint64_t loop_ns;    /* a slice of one thread's loop */
  uint64_t threads_ns; /* a slice of several threads */
} bench_effort;
extern bench_effort bench_effort_now;

typedef struct bench_summary {
  double median, quartile_1, quartile_3, least, most;
} bench_summary;

typedef struct bench_result {
  char section[32];
  char table[128];
  char name[48];
  char peer[48];
  bench_summary ns;
  bench_summary cores;
  bench_summary even;
  double to_limit; /* medians of the ratios; 0: none */
  double to_peer;
} bench_result;

/* Run a table, print it, keep its results. */
void bench_run(const bench_table *table);

/* CPU time of this thread. */
uint64_t bench_cpu_ns(void);

/* A measure for a loop in this thread: calibrated to the slice. */
bench_sample bench_measure_loop(bench_case *c, uint64_t slice_ns);

bench_summary bench_summarize(const double *values, unsigned count);

/* The sections. */
void bench_uncontended(void);
void bench_handoff(void);
void bench_allocation(void);
void bench_contended(void);

/* report.c */
void bench_print(const bench_table *table, const bench_result *results);
const char *bench_machine(void); /* on one line: what it was measured on, and when */
void bench_print_machine(void);
void bench_json_text(FILE *out, const char *name, const char *text); /* "name": "text" */
bool bench_write_json(const char *path, const bench_result *results, unsigned count);

/* All results so far. */
const bench_result *bench_results(unsigned *count);

#endif
