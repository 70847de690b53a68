/* cmp_look.c: how to look at what came out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmp.h"

unsigned cmp_rounds(const cmp_plan *plan, unsigned row, unsigned arm) {
  const cmp_row *r = &cmp_of.rows[row];
  if (!plan->programs[r->arms[arm].program]) return 0;
  return r->max_rounds > 0 && r->max_rounds < plan->rounds ? r->max_rounds : plan->rounds;
}

static void not_there(const char *what, const char *name) {
  fprintf(stderr, "bench: no %s %s\n", what, name);
  abort();
}

unsigned cmp_find(unsigned table, const char *workload, unsigned workers, unsigned amount) {
  for (unsigned i = 0; i < cmp_of.row_count; i++) {
    const cmp_row *r = &cmp_of.rows[i];
    bool here = r->table == table && strcmp(r->workload, workload) == 0 && r->workers == workers;
    if (here && (amount == 0 || r->amount == amount)) return i;
  }
  not_there("row", workload);
  return 0;
}

unsigned cmp_arm_of(unsigned row, const char *name) {
  const cmp_row *r = &cmp_of.rows[row];
  for (unsigned i = 0; i < r->arm_count; i++) {
    if (strcmp(r->arms[i].name, name) == 0) return i;
  }
  not_there("arm", name);
  return 0;
}

static bool is_quiet(const cmp_results *r, unsigned row, unsigned arm, unsigned round) {
  return r->samples[row][arm][round].others < CMP_DISTURBED;
}

bool cmp_is_quiet(const cmp_plan *plan, const cmp_results *r, unsigned row, unsigned arm,
                  unsigned to) {
  unsigned quiet = 0;
  for (unsigned i = 0; i < cmp_rounds(plan, row, arm); i++) {
    quiet += is_quiet(r, row, arm, i) && is_quiet(r, row, to, i);
  }
  return quiet >= CMP_ENOUGH;
}

/* The rounds that count. Returns how many, and which in chosen. */
static unsigned choose_rounds(const cmp_plan *plan, const cmp_results *r, unsigned row,
                              unsigned arm, unsigned to, unsigned *chosen) {
  bool all = !cmp_is_quiet(plan, r, row, arm, to);
  unsigned count = 0;
  for (unsigned i = 0; i < cmp_rounds(plan, row, arm); i++) {
    if (all || (is_quiet(r, row, arm, i) && is_quiet(r, row, to, i))) chosen[count++] = i;
  }
  return count;
}

bench_summary cmp_ns(const cmp_plan *plan, const cmp_results *r, unsigned row, unsigned arm) {
  unsigned chosen[BENCH_MAX_ROUNDS];
  double values[BENCH_MAX_ROUNDS];
  unsigned count = choose_rounds(plan, r, row, arm, arm, chosen);
  for (unsigned i = 0; i < count; i++) values[i] = r->samples[row][arm][chosen[i]].ns;
  return bench_summarize(values, count);
}

bench_summary cmp_cpu_ns(const cmp_plan *plan, const cmp_results *r, unsigned row, unsigned arm) {
  double values[BENCH_MAX_ROUNDS];
  unsigned rounds = cmp_rounds(plan, row, arm);
  for (unsigned i = 0; i < rounds; i++) values[i] = r->samples[row][arm][i].cpu_ns;
  return bench_summarize(values, rounds);
}

bench_summary cmp_ratio(const cmp_plan *plan, const cmp_results *r, unsigned row, unsigned arm,
                        unsigned to) {
  unsigned chosen[BENCH_MAX_ROUNDS];
  double values[BENCH_MAX_ROUNDS];
  unsigned count = choose_rounds(plan, r, row, arm, to, chosen);
  for (unsigned i = 0; i < count; i++) {
    const cmp_sample *s = &r->samples[row][arm][chosen[i]];
    const cmp_sample *other = &r->samples[row][to][chosen[i]];
    values[i] = cmp_of.rows[row].contended ? s->ns / other->ns : s->cpu_ns / other->cpu_ns;
  }
  return bench_summarize(values, count);
}

bench_summary cmp_ratio_of_rows(const cmp_plan *plan, const cmp_results *r, unsigned row,
                                unsigned to_row, unsigned arm) {
  double values[BENCH_MAX_ROUNDS], quiet[BENCH_MAX_ROUNDS];
  unsigned rounds = cmp_rounds(plan, row, arm);
  unsigned count = 0;
  for (unsigned i = 0; i < rounds; i++) {
    values[i] = r->samples[row][arm][i].ns / r->samples[to_row][arm][i].ns;
    if (is_quiet(r, row, arm, i) && is_quiet(r, to_row, arm, i)) quiet[count++] = values[i];
  }
  return count >= CMP_ENOUGH ? bench_summarize(quiet, count) : bench_summarize(values, rounds);
}

const char *cmp_title(unsigned row, char *text, size_t bytes) {
  const cmp_row *r = &cmp_of.rows[row];
  if (r->title) return r->title;
  char amount[48] = "";
  if (r->amount > 0) snprintf(amount, sizeof amount, ", %u %s", r->amount, cmp_of.amount);
  snprintf(text, bytes, "%s, %u tasks%s, %u worker%s", r->workload, r->tasks, amount, r->workers,
           r->workers > 1 ? "s" : "");
  return text;
}

void cmp_judge(cmp_verdict *v, double measured, double limit, bool quiet) {
  snprintf(v->verdict, sizeof v->verdict, "%s%s", measured <= limit ? "holds" : "does not hold",
           quiet ? "" : ", disturbed");
}
