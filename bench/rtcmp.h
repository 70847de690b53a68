/* rtcmp.h: bench-rt-compare: bench-rt's workloads beside the same on Tokio, and on the engines of
 * variants/, with what is demanded of them.
 *
 * A row is a workload with its numbers, and arms: programs that run it. A round is every arm of
 * every row once, each in a process of its own, the arms of a row right after each other in an
 * order that changes; so ratios are taken within rounds. Beside each row that is contended, the
 * price of moving a cache line is measured. */
#ifndef VOLT_BENCH_RTCMP_H
#define VOLT_BENCH_RTCMP_H

#include "harness.h"

enum { RTCMP_MAX_ARMS = 6, RTCMP_MAX_ROWS = 20 };

typedef struct rtcmp_arm {
  const char *name;
  const char *engine; /* of bench-rt; NULL: this is Tokio */
} rtcmp_arm;

typedef struct rtcmp_row {
  const char *workload;
  unsigned workers, tasks, permits;
  uint64_t operations;
  bool contended;
  const rtcmp_arm *arms;
  unsigned arm_count;
  unsigned max_rounds; /* 0: all */
} rtcmp_row;

extern const rtcmp_row rtcmp_rows[];
extern const unsigned rtcmp_row_count;

typedef struct rtcmp_plan {
  const char *volt;  /* the program bench-rt */
  const char *tokio; /* the same on Tokio; NULL: left out */
  unsigned rounds;   /* at most; once run: how many there were */
  unsigned seconds;  /* begin no further round after so many */
  unsigned percent;  /* of the operations of each row */
} rtcmp_plan;

typedef struct rtcmp_sample {
  double ns, cpu_ns, overlap, bytes, header_bytes; /* as bench-rt says */
  double cores;  /* that it has used, by CPU time over wall time, its start included */
  double others; /* that were busy with anything else */
} rtcmp_sample;

/* A run with this of `others` has not had the machine to itself; it is a few ticks of a clock of
 * 100 Hz. Such runs count only if there are not enough others. */
#define RTCMP_DISTURBED 0.3
enum { RTCMP_ENOUGH = 5 };

/* What was measured: samples[row][arm][round], lines[row][round]. */
typedef struct rtcmp_results {
  rtcmp_sample samples[RTCMP_MAX_ROWS][RTCMP_MAX_ARMS][BENCH_MAX_ROUNDS];
  double lines[RTCMP_MAX_ROWS][BENCH_MAX_ROUNDS];
} rtcmp_results;

/* Run everything. Exits if a program fails. */
void rtcmp_run(rtcmp_plan *plan, rtcmp_results *results);

/* ---- what came out: rtcmp_rows.c ---- */

/* How many rounds a row has; 0 if an arm was left out, which only arm 1 can be. */
unsigned rtcmp_rounds(const rtcmp_plan *plan, unsigned row, unsigned arm);

/* Whether there were enough rounds in which neither arm was disturbed. */
bool rtcmp_is_quiet(const rtcmp_plan *plan, const rtcmp_results *r, unsigned row, unsigned arm,
                    unsigned to);

/* The row of this workload with so many workers, on engines or against Tokio. */
unsigned rtcmp_find(const char *workload, unsigned workers, bool engines);

bench_summary rtcmp_ns(const rtcmp_plan *plan, const rtcmp_results *r, unsigned row, unsigned arm);

/* In CPU time: with one worker, what others do beside it does not count. Over all rounds. */
bench_summary rtcmp_cpu_ns(const rtcmp_plan *plan, const rtcmp_results *r, unsigned row,
                           unsigned arm);

/* One arm's ns over another's of the same row, within each round. Both have run. */
bench_summary rtcmp_ratio(const rtcmp_plan *plan, const rtcmp_results *r, unsigned row,
                          unsigned arm, unsigned to);

/* "sem, 8 tasks, 2 permits, 2 workers": text. */
const char *rtcmp_title(unsigned row, char *text, size_t bytes);

/* ---- what is demanded: rtcmp_bars.c ---- */

typedef struct rtcmp_verdict {
  char claim[128];
  char verdict[32];
  char figures[160];
} rtcmp_verdict;
enum { RTCMP_MAX_VERDICTS = 16 };

unsigned rtcmp_bars(const rtcmp_plan *plan, const rtcmp_results *r,
                    rtcmp_verdict verdicts[RTCMP_MAX_VERDICTS]);

/* ---- for people, for programs: rtcmp_report.c, rtcmp_data.c ---- */

void rtcmp_print(const rtcmp_plan *plan, const rtcmp_results *r);

/* They say why they fail. */
bool rtcmp_write_markdown(const char *path, const rtcmp_plan *plan, const rtcmp_results *r);
bool rtcmp_write_json(const char *path, const rtcmp_plan *plan, const rtcmp_results *r);

#endif
