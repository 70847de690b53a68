/* cmp.h: programs that do the same work, run beside each other, with what is demanded of them.
 *
 * A row is a workload with its numbers, and arms: programs that run it, or engines of one of them.
 * A round is every arm of every row once, each in a process of its own, the arms of a row right
 * after each other in an order that changes; so ratios are taken within rounds. Beside each row
 * that is contended, the price of moving a cache line is measured.
 *
 * What is compared is a cmp_suite: rtcmp_*.c for runtimes, chancmp_*.c for channels. */
#ifndef VOLT_BENCH_CMP_H
#define VOLT_BENCH_CMP_H

#include "harness.h"

enum { CMP_MAX_ARMS = 10, CMP_MAX_ROWS = 20, CMP_MAX_PROGRAMS = 8 };

typedef struct cmp_arm {
  const char *name;
  unsigned program;   /* of the suite's */
  const char *engine; /* of the program; NULL: it has but one */
} cmp_arm;

typedef struct cmp_row {
  const char *workload;
  unsigned workers, tasks, amount; /* of what, the suite says */
  uint64_t operations;
  bool contended;
  const cmp_arm *arms; /* the first is of the first program: the others are compared with it */
  unsigned arm_count;
  unsigned table;      /* of the suite's; rows of a table follow each other */
  unsigned max_rounds; /* 0: all */
  const char *title;   /* NULL: made of the numbers */
} cmp_row;

typedef struct cmp_suite {
  const char *title;   /* of the document */
  const char *command; /* that writes it */
  const char *header;  /* that says what an operation is */
  const char *amount;  /* what workloads have of it beside workers and tasks: an option, a word */
  const char *programs[CMP_MAX_PROGRAMS + 1]; /* their names; the first is never left out */
  const char *const *tables;                  /* their headings */
  const cmp_row *rows;
  unsigned row_count;
} cmp_suite;

/* The one of this program. */
extern const cmp_suite cmp_of;

typedef struct cmp_plan {
  const char *programs[CMP_MAX_PROGRAMS]; /* NULL: left out */
  const char *why[CMP_MAX_PROGRAMS];      /* it was */
  unsigned rounds;                        /* at most; once run: how many there were */
  unsigned seconds;                       /* begin no further round after so many */
  unsigned percent;                       /* of the operations of each row */
} cmp_plan;

typedef struct cmp_sample {
  double ns, cpu_ns, overlap, bytes, header_bytes; /* as the program says */
  double cores;  /* that it has used, by CPU time over wall time, its start included */
  double others; /* that were busy with anything else */
} cmp_sample;

/* A run with this of `others` has not had the machine to itself; it is a few ticks of a clock of
 * 100 Hz. Such runs count only if there are not enough others. */
#define CMP_DISTURBED 0.3
enum { CMP_ENOUGH = 5 };

/* What was measured: samples[row][arm][round], lines[row][round], and of what. */
typedef struct cmp_results {
  cmp_sample samples[CMP_MAX_ROWS][CMP_MAX_ARMS][BENCH_MAX_ROUNDS];
  double lines[CMP_MAX_ROWS][BENCH_MAX_ROUNDS];
  char versions[CMP_MAX_ROWS][CMP_MAX_ARMS][64]; /* as the program says, if it does */
} cmp_results;

/* Run everything. Exits if a program fails. */
void cmp_run(cmp_plan *plan, cmp_results *results);

/* ---- what came out: cmp_look.c ---- */

/* How many rounds a row has; 0 if the arm's program was left out. */
unsigned cmp_rounds(const cmp_plan *plan, unsigned row, unsigned arm);

/* Whether there were enough rounds in which neither arm was disturbed. */
bool cmp_is_quiet(const cmp_plan *plan, const cmp_results *r, unsigned row, unsigned arm,
                  unsigned to);

/* The row of this table, with this workload and so many workers; amount: 0 for any. */
unsigned cmp_find(unsigned table, const char *workload, unsigned workers, unsigned amount);

/* The arm of this name. */
unsigned cmp_arm_of(unsigned row, const char *name);

bench_summary cmp_ns(const cmp_plan *plan, const cmp_results *r, unsigned row, unsigned arm);

/* In CPU time: with one worker, what others do beside it does not count. Over all rounds. */
bench_summary cmp_cpu_ns(const cmp_plan *plan, const cmp_results *r, unsigned row, unsigned arm);

/* One arm's ns over another's of the same row, within each round; in CPU time if the row is not
 * contended. Both have run. */
bench_summary cmp_ratio(const cmp_plan *plan, const cmp_results *r, unsigned row, unsigned arm,
                        unsigned to);

/* The same for two rows, which have as many rounds. */
bench_summary cmp_ratio_of_rows(const cmp_plan *plan, const cmp_results *r, unsigned row,
                                unsigned to_row, unsigned arm);

/* "sem, 8 tasks, 2 permits, 2 workers": text, or the row's own title. */
const char *cmp_title(unsigned row, char *text, size_t bytes);

/* ---- what is demanded: the suite's ---- */

typedef struct cmp_verdict {
  char claim[128];
  char verdict[32];
  char figures[160];
} cmp_verdict;
enum { CMP_MAX_VERDICTS = 24 };

unsigned cmp_bars(const cmp_plan *plan, const cmp_results *r,
                  cmp_verdict verdicts[CMP_MAX_VERDICTS]);

/* Whether measured <= limit. quiet: whether the machine was, where that matters. */
void cmp_judge(cmp_verdict *v, double measured, double limit, bool quiet);

/* ---- for people, for programs: cmp_report.c, cmp_data.c ---- */

void cmp_print(const cmp_plan *plan, const cmp_results *r);

/* They say why they fail. */
bool cmp_write_markdown(const char *path, const cmp_plan *plan, const cmp_results *r);
bool cmp_write_json(const char *path, const cmp_plan *plan, const cmp_results *r);

#endif
