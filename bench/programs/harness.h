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

typedef struct bench_case bench_case;

/* Run a case for about slice_ns. Returns nanoseconds per operation. */
typedef double bench_measure_fn(bench_case *c, uint64_t slice_ns);

/* Do so many operations; returns the nanoseconds (bench_cpu_ns) they took, or BENCH_WRONG. */
typedef uint64_t bench_loop_fn(void *object, uint64_t count);

/* What was counted does not add up. */
#define BENCH_WRONG UINT64_MAX

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
  bench_case *cases;
  unsigned case_count;
} bench_table;

/* How long and how often; set by the options of the program. */
typedef struct bench_effort {
  unsigned rounds;
  uint64_t slice_ns;
} bench_effort;
extern bench_effort bench_effort_now;

typedef struct bench_summary {
  double median, quartile_1, quartile_3, least, most;
} bench_summary;

typedef struct bench_result {
  char section[32];
  char table[192];
  char name[48];
  char limit[48]; /* what to_limit and to_peer are ratios to */
  char peer[48];
  bench_summary ns;
  double to_limit; /* medians of the ratios; 0: none */
  double to_peer;
  double allocations; /* calls of malloc per operation; below 0: not counted */
} bench_result;

/* Run a table, print it, keep its results. */
void bench_run(const bench_table *table);

/* CPU time of this thread. */
uint64_t bench_cpu_ns(void);

/* A measure for a loop in this thread: calibrated to the slice. */
double bench_measure_loop(bench_case *c, uint64_t slice_ns);

/* End the program: a case has counted what cannot be. */
_Noreturn void bench_wrong(const char *name);

bench_summary bench_summarize(const double *values, unsigned count); /* up to BENCH_MAX_ROUNDS */

/* The mean of the middle half: as robust as a median, finer than a clock's steps. Sorts them. */
double bench_middle(double *values, unsigned count);

/* report.c */
void bench_print(const bench_table *table, const bench_result *results);
const char *bench_machine(void); /* on one line: what it was measured on, and when */
void bench_print_machine(void);
void bench_json_text(FILE *out, const char *name, const char *text); /* "name": "text" */
bool bench_write_json(const char *path, const bench_result *results, unsigned count);

/* All results so far. */
const bench_result *bench_results(unsigned *count);

/* Add to the result of a case how often an operation of it allocates. */
void bench_set_allocations(const char *section, const char *name, double per_operation);

#endif
