/* cmp_data.c: the results for programs. */
#include <stdio.h>

#include "cmp.h"

static void json_arm(FILE *out, const cmp_plan *plan, const cmp_results *r, unsigned row,
                     unsigned arm) {
  const cmp_row *of = &cmp_of.rows[row];
  bench_summary ns = cmp_ns(plan, r, row, arm);
  fprintf(out, "    {");
  bench_json_text(out, "workload", of->workload);
  fprintf(out, ", \"workers\": %u, \"tasks\": %u, \"%s\": %u, ", of->workers, of->tasks,
          cmp_of.amount, of->amount);
  bench_json_text(out, "arm", of->arms[arm].name);
  fprintf(out,
          ",\n     \"ns\": {\"median\": %.5g, \"quartile_1\": %.5g, \"quartile_3\": %.5g, "
          "\"least\": %.5g, \"most\": %.5g}, \"to_volt\": %.4g,\n     \"rounds\": [",
          ns.median, ns.quartile_1, ns.quartile_3, ns.least, ns.most,
          cmp_ratio(plan, r, row, arm, 0).median);
  for (unsigned i = 0; i < cmp_rounds(plan, row, arm); i++) {
    const cmp_sample *s = &r->samples[row][arm][i];
    fprintf(out,
            "%s\n      {\"ns\": %.5g, \"cpu_ns\": %.5g, \"overlap\": %.3g, \"bytes\": %.5g, "
            "\"cores\": %.3g, "
            "\"others\": %.3g, \"line_ns\": %.4g}",
            i > 0 ? "," : "", s->ns, s->cpu_ns, s->overlap, s->bytes, s->cores, s->others,
            r->lines[row][i]);
  }
  fprintf(out, "]}");
}

static void json_bars(FILE *out, const cmp_plan *plan, const cmp_results *r) {
  cmp_verdict verdicts[CMP_MAX_VERDICTS];
  unsigned count = cmp_bars(plan, r, verdicts);
  for (unsigned i = 0; i < count; i++) {
    fprintf(out, "%s\n    {", i > 0 ? "," : "");
    bench_json_text(out, "claim", verdicts[i].claim);
    fprintf(out, ", ");
    bench_json_text(out, "verdict", verdicts[i].verdict);
    fprintf(out, ", ");
    bench_json_text(out, "figures", verdicts[i].figures);
    fprintf(out, "}");
  }
}

bool cmp_write_json(const char *path, const cmp_plan *plan, const cmp_results *r) {
  FILE *out = fopen(path, "w");
  if (!out) {
    perror(path);
    return false;
  }
  fprintf(out, "{\n  ");
  bench_json_text(out, "machine", bench_machine());
  fprintf(out, ",\n  \"rounds\": %u,\n  \"results\": [", plan->rounds);
  const char *before = "\n";
  for (unsigned row = 0; row < cmp_of.row_count; row++) {
    for (unsigned arm = 0; arm < cmp_of.rows[row].arm_count; arm++) {
      if (cmp_rounds(plan, row, arm) == 0) continue;
      fputs(before, out);
      json_arm(out, plan, r, row, arm);
      before = ",\n";
    }
  }
  fprintf(out, "\n  ],\n  \"bars\": [");
  json_bars(out, plan, r);
  fprintf(out, "\n  ]\n}\n");
  bool whole = !ferror(out);
  if (fclose(out) == 0 && whole) return true;
  perror(path);
  return false;
}
