/* rtcmp_data.c: the results for programs. */
#include <stdio.h>

#include "rtcmp.h"

static void json_arm(FILE *out, const rtcmp_plan *plan, const rtcmp_results *r, unsigned row,
                     unsigned arm) {
  const rtcmp_row *of = &rtcmp_rows[row];
  bench_summary ns = rtcmp_ns(plan, r, row, arm);
  fprintf(out, "    {");
  bench_json_text(out, "workload", of->workload);
  fprintf(out, ", \"workers\": %u, \"tasks\": %u, \"permits\": %u, ", of->workers, of->tasks,
          of->permits);
  bench_json_text(out, "arm", of->arms[arm].name);
  fprintf(out,
          ",\n     \"ns\": {\"median\": %.5g, \"quartile_1\": %.5g, \"quartile_3\": %.5g, "
          "\"least\": %.5g, \"most\": %.5g}, \"to_volt\": %.4g,\n     \"rounds\": [",
          ns.median, ns.quartile_1, ns.quartile_3, ns.least, ns.most,
          rtcmp_ratio(plan, r, row, arm, 0).median);
  for (unsigned i = 0; i < rtcmp_rounds(plan, row, arm); i++) {
    const rtcmp_sample *s = &r->samples[row][arm][i];
    fprintf(out,
            "%s\n      {\"ns\": %.5g, \"cpu_ns\": %.5g, \"overlap\": %.3g, \"bytes\": %.5g, "
            "\"cores\": %.3g, "
            "\"others\": %.3g, \"line_ns\": %.4g}",
            i > 0 ? "," : "", s->ns, s->cpu_ns, s->overlap, s->bytes, s->cores, s->others,
            r->lines[row][i]);
  }
  fprintf(out, "]}");
}

static void json_bars(FILE *out, const rtcmp_plan *plan, const rtcmp_results *r) {
  rtcmp_verdict verdicts[RTCMP_MAX_VERDICTS];
  unsigned count = rtcmp_bars(plan, r, verdicts);
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

bool rtcmp_write_json(const char *path, const rtcmp_plan *plan, const rtcmp_results *r) {
  FILE *out = fopen(path, "w");
  if (!out) {
    perror(path);
    return false;
  }
  fprintf(out, "{\n  ");
  bench_json_text(out, "machine", bench_machine());
  fprintf(out, ",\n  \"rounds\": %u,\n  \"results\": [", plan->rounds);
  const char *before = "\n";
  for (unsigned row = 0; row < rtcmp_row_count; row++) {
    for (unsigned arm = 0; arm < rtcmp_rows[row].arm_count; arm++) {
      if (rtcmp_rounds(plan, row, arm) == 0) continue;
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
