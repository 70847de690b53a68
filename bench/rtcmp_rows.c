/* rtcmp_rows.c: what is run, and how to look at what came out. Each run takes some 60 to 150 ms. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rtcmp.h"

static const rtcmp_arm runtimes[] = {{"volt", "native"}, {"tokio", NULL}};

static const rtcmp_arm engines[] = {{"volt", "volt"},           {"locked", "locked"},
                                    {"two_tier", "two_tier"},   {"slot_in_word", "slot_in_word"},
                                    {"combining", "combining"}, {"allocating", "allocating"}};

#define RUNTIMES runtimes, sizeof runtimes / sizeof *runtimes
#define ENGINES engines, sizeof engines / sizeof *engines

const rtcmp_row rtcmp_rows[] = {
    {"sem", 1, 8, 2, 100000, false, RUNTIMES, 0},
    {"sem", 2, 8, 2, 100000, true, RUNTIMES, 0},
    {"held", 1, 8, 2, 25000, false, RUNTIMES, 0},
    {"held", 2, 8, 2, 25000, true, RUNTIMES, 0},
    {"mutex", 1, 4, 0, 200000, false, RUNTIMES, 0},
    {"mutex", 2, 4, 0, 100000, true, RUNTIMES, 0},
    {"pingpong", 1, 2, 0, 200000, false, RUNTIMES, 0},
    {"pingpong", 2, 2, 0, 200000, true, RUNTIMES, 0},
    {"spawn", 1, 1000, 0, 500, false, RUNTIMES, 0},
    {"spawn", 2, 1000, 0, 500, true, RUNTIMES, 0},
    {"yield", 1, 100, 0, 20000, false, RUNTIMES, 0},
    {"yield", 2, 100, 0, 20000, true, RUNTIMES, 0},
    {"parked", 1, 1000000, 0, 1, false, RUNTIMES, 3},
    {"sem", 1, 8, 2, 100000, false, ENGINES, 0},
    {"sem", 2, 8, 2, 100000, true, ENGINES, 0},
    {"held", 1, 8, 2, 25000, false, ENGINES, 0},
    {"held", 2, 8, 2, 25000, true, ENGINES, 0},
};
const unsigned rtcmp_row_count = sizeof rtcmp_rows / sizeof *rtcmp_rows;
_Static_assert(sizeof rtcmp_rows / sizeof *rtcmp_rows <= RTCMP_MAX_ROWS, "too many rows");

unsigned rtcmp_rounds(const rtcmp_plan *plan, unsigned row, unsigned arm) {
  const rtcmp_row *r = &rtcmp_rows[row];
  if (!r->arms[arm].engine && !plan->tokio) return 0;
  return r->max_rounds > 0 && r->max_rounds < plan->rounds ? r->max_rounds : plan->rounds;
}

unsigned rtcmp_find(const char *workload, unsigned workers, bool on_engines) {
  for (unsigned i = 0; i < rtcmp_row_count; i++) {
    const rtcmp_row *r = &rtcmp_rows[i];
    bool here = strcmp(r->workload, workload) == 0 && r->workers == workers;
    if (here && on_engines == (r->arms == engines)) return i;
  }
  fprintf(stderr, "bench-rt-compare: no row %s with %u workers\n", workload, workers);
  abort();
}

static bool is_quiet(const rtcmp_results *r, unsigned row, unsigned arm, unsigned round) {
  return r->samples[row][arm][round].others < RTCMP_DISTURBED;
}

bool rtcmp_is_quiet(const rtcmp_plan *plan, const rtcmp_results *r, unsigned row, unsigned arm,
                    unsigned to) {
  unsigned quiet = 0;
  for (unsigned i = 0; i < rtcmp_rounds(plan, row, arm); i++) {
    quiet += is_quiet(r, row, arm, i) && is_quiet(r, row, to, i);
  }
  return quiet >= RTCMP_ENOUGH;
}

/* The rounds that count. Returns how many, and which in chosen. */
static unsigned choose_rounds(const rtcmp_plan *plan, const rtcmp_results *r, unsigned row,
                              unsigned arm, unsigned to, unsigned *chosen) {
  bool all = !rtcmp_is_quiet(plan, r, row, arm, to);
  unsigned count = 0;
  for (unsigned i = 0; i < rtcmp_rounds(plan, row, arm); i++) {
    if (all || (is_quiet(r, row, arm, i) && is_quiet(r, row, to, i))) chosen[count++] = i;
  }
  return count;
}

bench_summary rtcmp_ns(const rtcmp_plan *plan, const rtcmp_results *r, unsigned row, unsigned arm) {
  unsigned chosen[BENCH_MAX_ROUNDS];
  double values[BENCH_MAX_ROUNDS];
  unsigned count = choose_rounds(plan, r, row, arm, arm, chosen);
  for (unsigned i = 0; i < count; i++) values[i] = r->samples[row][arm][chosen[i]].ns;
  return bench_summarize(values, count);
}

bench_summary rtcmp_cpu_ns(const rtcmp_plan *plan, const rtcmp_results *r, unsigned row,
                           unsigned arm) {
  double values[BENCH_MAX_ROUNDS];
  unsigned rounds = rtcmp_rounds(plan, row, arm);
  for (unsigned i = 0; i < rounds; i++) values[i] = r->samples[row][arm][i].cpu_ns;
  return bench_summarize(values, rounds);
}

bench_summary rtcmp_ratio(const rtcmp_plan *plan, const rtcmp_results *r, unsigned row,
                          unsigned arm, unsigned to) {
  unsigned chosen[BENCH_MAX_ROUNDS];
  double values[BENCH_MAX_ROUNDS];
  unsigned count = choose_rounds(plan, r, row, arm, to, chosen);
  for (unsigned i = 0; i < count; i++) {
    const rtcmp_sample *s = r->samples[row][arm];
    values[i] = s[chosen[i]].ns / r->samples[row][to][chosen[i]].ns;
  }
  return bench_summarize(values, count);
}

const char *rtcmp_title(unsigned row, char *text, size_t bytes) {
  const rtcmp_row *r = &rtcmp_rows[row];
  char permits[32] = "";
  if (r->permits > 0) snprintf(permits, sizeof permits, ", %u permits", r->permits);
  snprintf(text, bytes, "%s, %u tasks%s, %u worker%s", r->workload, r->tasks, permits, r->workers,
           r->workers > 1 ? "s" : "");
  return text;
}
