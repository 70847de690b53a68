/* chancmp_bars.c: what is demanded of the channel. */
#include <stdio.h>
#include <string.h>

#include "chancmp.h"

enum { VOLT = 0, DEKKER = 1, SLOTS = 2 }; /* arms */

/* As fast as another. */
#define LEVEL 1.10

static bool is_peer(const cmp_plan *plan, unsigned row, unsigned arm) {
  return cmp_of.rows[row].arms[arm].program != CHANCMP_VOLT && cmp_rounds(plan, row, arm) > 0;
}

/* By CPU time: there is one thread. */
static void judge_pair(const cmp_plan *plan, const cmp_results *r, cmp_verdict *v,
                       unsigned capacity, unsigned arm) {
  const double limit_ns = 14;
  unsigned row = cmp_find(CHANCMP_ALONE, "pair", 1, capacity);
  bench_summary s = cmp_cpu_ns(plan, r, row, arm);
  snprintf(v->claim, sizeof v->claim,
           "<= %.0f ns, or level (%.2f) with the best peer: %s, one thread, capacity %u", limit_ns,
           LEVEL, cmp_of.rows[row].arms[arm].name, capacity);
  double measured = s.median / limit_ns;
  int n = snprintf(v->figures, sizeof v->figures, "%.1f ns of CPU time (quartiles %.1f .. %.1f)",
                   s.median, s.quartile_1, s.quartile_3);
  unsigned best = cmp_of.rows[row].arm_count;
  double best_ns = 0;
  for (unsigned i = 0; i < cmp_of.rows[row].arm_count; i++) {
    if (!is_peer(plan, row, i)) continue;
    double ns = cmp_cpu_ns(plan, r, row, i).median;
    if (best < cmp_of.rows[row].arm_count && ns >= best_ns) continue;
    best = i;
    best_ns = ns;
  }
  if (best < cmp_of.rows[row].arm_count) {
    if (s.median / best_ns / LEVEL < measured) measured = s.median / best_ns / LEVEL;
    snprintf(v->figures + n, sizeof v->figures - (size_t)n, "; %s %.1f",
             cmp_of.rows[row].arms[best].name, best_ns);
  }
  cmp_judge(v, measured, 1, true);
}

static void judge_beside(const cmp_plan *plan, const cmp_results *r, cmp_verdict *v,
                         const char *peer, double limit) {
  unsigned row = cmp_find(CHANCMP_TASKS, "mpmc", 2, 1024);
  unsigned arm = cmp_arm_of(row, peer);
  snprintf(v->claim, sizeof v->claim, "volt / %s <= %.2f: %s", peer, limit, cmp_of.rows[row].title);
  if (cmp_rounds(plan, row, arm) == 0) {
    snprintf(v->verdict, sizeof v->verdict, "not measured");
    return;
  }
  bench_summary s = cmp_ratio(plan, r, row, VOLT, arm);
  cmp_judge(v, s.median, limit, cmp_is_quiet(plan, r, row, VOLT, arm));
  snprintf(v->figures, sizeof v->figures, "%.2f (quartiles %.2f .. %.2f): %.1f and %.1f ns",
           s.median, s.quartile_1, s.quartile_3, cmp_ns(plan, r, row, VOLT).median,
           cmp_ns(plan, r, row, arm).median);
}

static void judge_small(const cmp_plan *plan, const cmp_results *r, cmp_verdict *v) {
  const double limit = 1.3;
  unsigned small = cmp_find(CHANCMP_TASKS, "mpmc", 2, 64);
  unsigned large = cmp_find(CHANCMP_TASKS, "mpmc", 2, 1024);
  bool quiet = cmp_is_quiet(plan, r, small, VOLT, VOLT) && cmp_is_quiet(plan, r, large, VOLT, VOLT);
  bench_summary s = cmp_ratio_of_rows(plan, r, small, large, VOLT);
  snprintf(v->claim, sizeof v->claim, "capacity 64 / capacity 1024 <= %.2f: volt, 2 workers",
           limit);
  cmp_judge(v, s.median, limit, quiet);
  snprintf(v->figures, sizeof v->figures, "%.2f (quartiles %.2f .. %.2f): %.1f and %.1f ns",
           s.median, s.quartile_1, s.quartile_3, cmp_ns(plan, r, small, VOLT).median,
           cmp_ns(plan, r, large, VOLT).median);
}

static void judge_hop(const cmp_plan *plan, const cmp_results *r, cmp_verdict *v) {
  const double limit_ns = 60;
  unsigned row = cmp_find(CHANCMP_TASKS, "pingpong", 1, 1);
  bench_summary s = cmp_cpu_ns(plan, r, row, VOLT);
  snprintf(v->claim, sizeof v->claim, "<= %.0f ns: %s", limit_ns, cmp_of.rows[row].title);
  cmp_judge(v, s.median, limit_ns, true);
  snprintf(v->figures, sizeof v->figures, "%.1f ns of CPU time (quartiles %.1f .. %.1f)", s.median,
           s.quartile_1, s.quartile_3);
}

/* The worse of the ratios to both variants is that to the better one. */
static void judge_variants(const cmp_plan *plan, const cmp_results *r, cmp_verdict *v,
                           unsigned row) {
  bench_summary dekker = cmp_ratio(plan, r, row, VOLT, DEKKER);
  bench_summary slots = cmp_ratio(plan, r, row, VOLT, SLOTS);
  unsigned best = slots.median > dekker.median ? SLOTS : DEKKER;
  bench_summary s = best == SLOTS ? slots : dekker;
  snprintf(v->claim, sizeof v->claim, "volt / the best variant <= %.2f: %s", LEVEL,
           cmp_of.rows[row].title);
  bool quiet = !cmp_of.rows[row].contended || cmp_is_quiet(plan, r, row, VOLT, best);
  cmp_judge(v, s.median, LEVEL, quiet);
  snprintf(v->figures, sizeof v->figures, "%.2f (quartiles %.2f .. %.2f) beside %s", s.median,
           s.quartile_1, s.quartile_3, cmp_of.rows[row].arms[best].name);
}

/* No bar: what the text says that the slots bring. */
static void compare_variants(const cmp_plan *plan, const cmp_results *r, cmp_verdict *v,
                             unsigned row) {
  snprintf(v->claim, sizeof v->claim, "the text says 1.5: dekker / slots: %s",
           cmp_of.rows[row].title);
  snprintf(v->verdict, sizeof v->verdict, "-");
  bench_summary s = cmp_ratio(plan, r, row, DEKKER, SLOTS);
  snprintf(v->figures, sizeof v->figures, "%.2f (quartiles %.2f .. %.2f)", s.median, s.quartile_1,
           s.quartile_3);
}

unsigned cmp_bars(const cmp_plan *plan, const cmp_results *r, cmp_verdict v[CMP_MAX_VERDICTS]) {
  static const unsigned capacities[] = {64, 1024};
  unsigned n = 0;
  memset(v, 0, CMP_MAX_VERDICTS * sizeof *v);
  for (unsigned i = 0; i < 2; i++) {
    judge_pair(plan, r, &v[n++], capacities[i], VOLT);
    judge_pair(plan, r, &v[n++], capacities[i], VOLT + 1);
  }
  judge_beside(plan, r, &v[n++], "async-channel", 0.5);
  judge_beside(plan, r, &v[n++], "Go", 1.0);
  judge_small(plan, r, &v[n++]);
  judge_hop(plan, r, &v[n++]);
  for (unsigned row = 0; row < cmp_of.row_count; row++) {
    if (cmp_of.rows[row].table == CHANCMP_VARIANTS) judge_variants(plan, r, &v[n++], row);
  }
  for (unsigned row = 0; row < cmp_of.row_count; row++) {
    if (cmp_of.rows[row].table == CHANCMP_VARIANTS) compare_variants(plan, r, &v[n++], row);
  }
  return n;
}
