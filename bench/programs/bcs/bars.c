/* bars.c: what is demanded of the lock over the wait-free queue. */
#include <stdio.h>
#include <string.h>

#include "bcs_bench.h"

struct bar {
  unsigned measure;
  double limit;
  bcs_cell cell;
};

static const struct bar bars[] = {
    {BCS_EVEN, 0.90, {4, 0, 0}},
    {BCS_EVEN, 0.90, {4, 1000, 0}},
    {BCS_EVEN, 0.90, {4, 10000, 0}},
    {BCS_EVEN, 0.90, {8, 0, 0}},
    {BCS_EVEN, 0.90, {8, 1000, 0}},
    {BCS_EVEN, 0.90, {8, 10000, 0}},
    {BCS_EVEN, 0.90, {4, 0, 1000}},
    {BCS_EVEN, 0.90, {4, 1000, 1000}},
    {BCS_EVEN, 0.90, {4, 10000, 1000}},
    {BCS_EVEN, 0.90, {8, 0, 1000}},
    {BCS_EVEN, 0.90, {8, 1000, 1000}},
    {BCS_EVEN, 0.90, {8, 10000, 1000}},
    {BCS_TO_PTHREAD, 1.0, {2, 10000, 0}},
    {BCS_TO_PTHREAD, 1.0, {4, 10000, 0}},
    {BCS_TO_PTHREAD, 1.0, {8, 10000, 0}},
    {BCS_TO_PTHREAD, 1.0, {2, 10000, 1000}},
    {BCS_TO_PTHREAD, 1.0, {4, 10000, 1000}},
    {BCS_TO_PTHREAD, 1.0, {8, 10000, 1000}},
    {BCS_TO_PTHREAD, 0.8, {2, 1000, 1000}},
    {BCS_TO_PTHREAD, 0.8, {4, 1000, 1000}},
    {BCS_TO_PTHREAD, 0.8, {8, 1000, 1000}},
    {BCS_TO_PTHREAD, 1.2, {2, 1000, 1000}},
};

static const char *verdict_of(bool measured, bool holds) {
  if (!measured) return BCS_NOT_MEASURED;
  return holds ? "holds" : "does not hold";
}

/* row: of the lock; no_lock: of threads that do not exclude each other; or NULL. */
static void judge(const struct bar *bar, const bcs_row *row, const bcs_row *no_lock,
                  bcs_verdict *v) {
  char locked[24], unlocked[24];
  snprintf(v->claim, sizeof v->claim, "%s >= %.2f: %u threads, section of %s, %s outside",
           bar->measure == BCS_EVEN ? "min/max" : "x pthread", bar->limit, bar->cell.threads,
           bcs_length(bar->cell.locked_ns, locked, sizeof locked),
           bcs_length(bar->cell.unlocked_ns, unlocked, sizeof unlocked));
  const bench_summary *of = row ? &row->of[bar->measure] : NULL;
  bool measured = of && (bar->measure == BCS_EVEN || of->most > 0); /* 0: no rate of pthread */
  bool holds = measured && of->median >= bar->limit;
  snprintf(v->verdict, sizeof v->verdict, "%s", verdict_of(measured, holds));
  if (!measured) return;
  int n = snprintf(v->figures, sizeof v->figures, "%.3f (in rounds %.3f .. %.3f)", of->median,
                   of->least, of->most);
  if (bar->measure == BCS_EVEN && no_lock) {
    snprintf(v->figures + n, sizeof v->figures - (size_t)n, ", without a lock %.3f",
             no_lock->of[BCS_EVEN].median);
  }
}

static void judge_uncontended(bcs_verdict *v) {
  const double limit = 1.3;
  unsigned count;
  const bench_result *results = bench_results(&count);
  const bench_result *found = NULL;
  for (unsigned i = 0; i < count; i++) {
    if (strcmp(results[i].name, BCS_RUN_ALONE) == 0) found = &results[i];
  }
  snprintf(v->claim, sizeof v->claim, "run() alone <= %.2f x pthread_mutex lock+unlock", limit);
  bool holds = found && found->to_peer <= limit;
  snprintf(v->verdict, sizeof v->verdict, "%s", verdict_of(found != NULL, holds));
  if (found) snprintf(v->figures, sizeof v->figures, "%.2f", found->to_peer);
}

unsigned bcs_bars(const bcs_plan *plan, bcs_rows rows, bcs_verdict verdicts[BCS_MAX_VERDICTS]) {
  enum { BARS = sizeof bars / sizeof *bars };
  _Static_assert(BARS + 1 <= BCS_MAX_VERDICTS, "a verdict for each bar and for run() alone");
  memset(verdicts, 0, (BARS + 1) * sizeof *verdicts);
  for (unsigned i = 0; i < BARS; i++) {
    judge(&bars[i], bcs_find(plan, rows, bars[i].cell, BCS_WAITFREE),
          bcs_find(plan, rows, bars[i].cell, BCS_NO_LOCK), &verdicts[i]);
  }
  judge_uncontended(&verdicts[BARS]);
  return BARS + 1;
}
