/* cmp_bars.c: what is demanded of the runtime, and of the library's queue beside the others. */
#include <stdio.h>
#include <string.h>

#include "rtcmp.h"

enum { VOLT = RTCMP_VOLT, TOKIO = RTCMP_TOKIO, LOCKED = 1, TWO_TIER = 2 }; /* arms */

static void judge_beside_tokio(const cmp_plan *plan, const cmp_results *r, cmp_verdict *v,
                               const char *workload, double limit) {
  char title[80];
  unsigned row = cmp_find(RTCMP_RUNTIMES, workload, 2, 0);
  snprintf(v->claim, sizeof v->claim, "volt / tokio <= %.2f: %s", limit,
           cmp_title(row, title, sizeof title));
  if (!plan->programs[RTCMP_TOKIO]) {
    snprintf(v->verdict, sizeof v->verdict, "not measured");
    return;
  }
  bench_summary s = cmp_ratio(plan, r, row, VOLT, TOKIO);
  cmp_judge(v, s.median, limit, cmp_is_quiet(plan, r, row, VOLT, TOKIO));
  snprintf(v->figures, sizeof v->figures, "%.2f (quartiles %.2f .. %.2f): %.1f and %.1f ns",
           s.median, s.quartile_1, s.quartile_3, cmp_ns(plan, r, row, VOLT).median,
           cmp_ns(plan, r, row, TOKIO).median);
}

/* The worst of the ratios to each variant is that to the best of them. */
static void judge_queue(const cmp_plan *plan, const cmp_results *r, cmp_verdict *v,
                        const char *workload) {
  const double limit = 1.10;
  char title[80];
  unsigned row = cmp_find(RTCMP_ENGINES, workload, 2, 0);
  unsigned best = 1;
  bench_summary worst = cmp_ratio(plan, r, row, VOLT, 1);
  for (unsigned arm = 2; arm < cmp_of.rows[row].arm_count; arm++) {
    bench_summary s = cmp_ratio(plan, r, row, VOLT, arm);
    if (s.median <= worst.median) continue;
    worst = s;
    best = arm;
  }
  snprintf(v->claim, sizeof v->claim, "queue / best variant's <= %.2f: %s", limit,
           cmp_title(row, title, sizeof title));
  cmp_judge(v, worst.median, limit, cmp_is_quiet(plan, r, row, VOLT, best));
  snprintf(v->figures, sizeof v->figures, "%.2f (quartiles %.2f .. %.2f) beside %s", worst.median,
           worst.quartile_1, worst.quartile_3, cmp_of.rows[row].arms[best].name);
}

/* With one worker by CPU time. */
static void judge_ns(const cmp_plan *plan, const cmp_results *r, cmp_verdict *v,
                     const char *workload, unsigned workers, double limit_ns) {
  char title[80];
  unsigned row = cmp_find(RTCMP_RUNTIMES, workload, workers, 0);
  snprintf(v->claim, sizeof v->claim, "<= %.0f ns: %s", limit_ns,
           cmp_title(row, title, sizeof title));
  bool alone = workers == 1;
  bench_summary s = alone ? cmp_cpu_ns(plan, r, row, VOLT) : cmp_ns(plan, r, row, VOLT);
  cmp_judge(v, s.median, limit_ns, alone || cmp_is_quiet(plan, r, row, VOLT, VOLT));
  int n = snprintf(v->figures, sizeof v->figures, "%.1f ns%s (quartiles %.1f .. %.1f)", s.median,
                   alone ? " of CPU time" : "", s.quartile_1, s.quartile_3);
  if (plan->programs[RTCMP_TOKIO]) {
    snprintf(v->figures + n, sizeof v->figures - (size_t)n, ", %.2f of tokio's",
             cmp_ratio(plan, r, row, VOLT, TOKIO).median);
  }
}

/* bench-rt has aborted if the order was wrong. */
static void judge_memory(const cmp_results *r, cmp_verdict *v) {
  unsigned row = cmp_find(RTCMP_RUNTIMES, "parked", 1, 0);
  const cmp_sample *s = &r->samples[row][VOLT][0];
  snprintf(v[0].claim, sizeof v[0].claim,
           "<= 320 bytes resident per parked task, all included; released in FIFO order");
  cmp_judge(&v[0], s->bytes, 320, true);
  snprintf(v[0].figures, sizeof v[0].figures, "%.1f bytes", s->bytes);
  snprintf(v[1].claim, sizeof v[1].claim, "<= 128 bytes: the header of a task");
  cmp_judge(&v[1], s->header_bytes, 128, true);
  snprintf(v[1].figures, sizeof v[1].figures, "%.0f bytes", s->header_bytes);
}

/* No bar: what the text says that the queues come from, "1.6x faster". */
static void compare_forms(const cmp_plan *plan, const cmp_results *r, cmp_verdict *v,
                          const char *workload) {
  char title[80];
  unsigned row = cmp_find(RTCMP_ENGINES, workload, 2, 0);
  snprintf(v->claim, sizeof v->claim, "the text says 1.6: locked / two_tier: %s",
           cmp_title(row, title, sizeof title));
  snprintf(v->verdict, sizeof v->verdict, "-");
  bench_summary s = cmp_ratio(plan, r, row, LOCKED, TWO_TIER);
  snprintf(v->figures, sizeof v->figures, "%.2f (quartiles %.2f .. %.2f)", s.median, s.quartile_1,
           s.quartile_3);
}

unsigned cmp_bars(const cmp_plan *plan, const cmp_results *r, cmp_verdict v[CMP_MAX_VERDICTS]) {
  unsigned n = 0;
  memset(v, 0, CMP_MAX_VERDICTS * sizeof *v);
  judge_beside_tokio(plan, r, &v[n++], "sem", 0.5);
  judge_beside_tokio(plan, r, &v[n++], "mutex", 0.25);
  judge_queue(plan, r, &v[n++], "sem");
  judge_queue(plan, r, &v[n++], "held");
  judge_ns(plan, r, &v[n++], "spawn", 1, 100);
  judge_ns(plan, r, &v[n++], "spawn", 2, 150);
  judge_ns(plan, r, &v[n++], "yield", 1, 20);
  judge_memory(r, &v[n]);
  n += 2;
  compare_forms(plan, r, &v[n++], "sem");
  compare_forms(plan, r, &v[n++], "held");
  return n;
}
