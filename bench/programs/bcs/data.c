/* data.c: the results for programs: JSON, and the columns of bcs.gp. */
#include <stdio.h>

#include "bcs_bench.h"

static const char *const measure_names[BCS_MEASURES] = {
    "per_second",   "thread_mean", "thread_min",         "thread_max",   "thread_deviation",
    "min_over_max", "cores",       "sleeps_per_section", "others_cores", "to_pthread"};

static bool finish(FILE *out, const char *path) {
  bool whole = !ferror(out);
  if (fclose(out) == 0 && whole) return true;
  perror(path);
  return false;
}

static void json_row(FILE *out, bcs_cell cell, unsigned candidate, const bcs_row *row) {
  fprintf(out, "    {\"threads\": %u, \"locked_ns\": %llu, \"unlocked_ns\": %llu, ", cell.threads,
          (unsigned long long)cell.locked_ns, (unsigned long long)cell.unlocked_ns);
  bench_json_text(out, "candidate", bcs_candidates[candidate].key);
  fprintf(out, ", ");
  bench_json_text(out, "name", bcs_candidates[candidate].name);
  fprintf(out, ", \"disturbed\": %u", row->disturbed);
  for (unsigned m = 0; m < BCS_MEASURES; m++) {
    const bench_summary *s = &row->of[m];
    if (m == BCS_TO_PTHREAD && s->most <= 0) continue;
    fprintf(out,
            ",\n     \"%s\": {\"median\": %.6g, \"quartile_1\": %.6g, \"quartile_3\": %.6g, "
            "\"least\": %.6g, \"most\": %.6g}",
            measure_names[m], s->median, s->quartile_1, s->quartile_3, s->least, s->most);
  }
  fputc('}', out);
}

static void json_verdicts(FILE *out, const char *name, const bcs_verdict *v, unsigned count) {
  fprintf(out, ",\n  \"%s\": [", name);
  for (unsigned i = 0; i < count; i++) {
    fprintf(out, "%s\n    {", i == 0 ? "" : ",");
    bench_json_text(out, "claim", v[i].claim);
    fprintf(out, ", ");
    bench_json_text(out, "verdict", v[i].verdict);
    fprintf(out, ", ");
    bench_json_text(out, "figures", v[i].figures);
    fputc('}', out);
  }
  fprintf(out, "\n  ]");
}

static void json_uncontended(FILE *out) {
  unsigned count;
  const bench_result *results = bench_results(&count);
  fprintf(out, ",\n  \"uncontended\": [");
  for (unsigned i = 0; i < count; i++) {
    fprintf(out, "%s\n    {", i == 0 ? "" : ",");
    bench_json_text(out, "candidate", results[i].name);
    fprintf(out, ", \"ns\": %.4g, \"least_ns\": %.4g, \"most_ns\": %.4g", results[i].ns.median,
            results[i].ns.least, results[i].ns.most);
    if (results[i].to_peer > 0) fprintf(out, ", \"to_pthread\": %.4g", results[i].to_peer);
    fputc('}', out);
  }
  fprintf(out, "\n  ]");
}

bool bcs_write_json(const char *path, const bcs_plan *plan, bcs_rows rows) {
  FILE *out = fopen(path, "w");
  if (!out) {
    perror(path);
    return false;
  }
  fprintf(out, "{\n  ");
  bench_json_text(out, "machine", bench_machine());
  fprintf(out, ",\n  \"rounds\": %u,\n  \"slice_ns\": %llu,\n  \"results\": [", plan->rounds,
          (unsigned long long)plan->slice_ns);
  const char *before = "\n";
  for (unsigned i = 0; i < plan->cell_count; i++) {
    for (unsigned c = 0; c < BCS_CANDIDATES; c++) {
      if (!rows[i][c].measured) continue;
      fputs(before, out);
      json_row(out, plan->cells[i], c, &rows[i][c]);
      before = ",\n";
    }
  }
  fprintf(out, "\n  ]");
  json_uncontended(out);
  bcs_verdict verdicts[BCS_MAX_VERDICTS];
  json_verdicts(out, "bars", verdicts, bcs_bars(plan, rows, verdicts));
  json_verdicts(out, "hypotheses", verdicts, bcs_hypotheses(plan, rows, verdicts));
  fprintf(out, "\n}\n");
  return finish(out, path);
}

/* ---- for gnuplot ---- */

/* One candidate's column of a line: a name above, a figure below. */
static void plot_columns(FILE *out, const bcs_row *cell, bool names, unsigned measure) {
  for (unsigned c = 0; c < BCS_CANDIDATES; c++) {
    if (!cell[c].measured) continue;
    if (names) {
      fprintf(out, " \"%s\"", bcs_candidates[c].name);
    } else {
      fprintf(out, " %.6g", cell[c].of[measure].median);
    }
  }
}

/* A block for each number of threads; in it a line for each section length, with the rates of all
 * candidates, then their min/max. Only the cells with BCS_PLOT_UNLOCKED_NS outside the section. */
bool bcs_write_plot_data(const char *path, const bcs_plan *plan, bcs_rows rows) {
  FILE *out = fopen(path, "w");
  if (!out) {
    perror(path);
    return false;
  }
  unsigned threads = 0;
  char length[24];
  for (unsigned i = 0; i < plan->cell_count; i++) {
    const bcs_cell *cell = &plan->cells[i];
    if (cell->unlocked_ns != BCS_PLOT_UNLOCKED_NS) continue;
    if (cell->threads != threads) {
      fprintf(out, "%sthreads section", threads == 0 ? "" : "\n\n");
      plot_columns(out, rows[i], true, BCS_RATE);
      plot_columns(out, rows[i], true, BCS_EVEN);
      fputc('\n', out);
      threads = cell->threads;
    }
    fprintf(out, "%u \"%s\"", threads, bcs_length(cell->locked_ns, length, sizeof length));
    plot_columns(out, rows[i], false, BCS_RATE);
    plot_columns(out, rows[i], false, BCS_EVEN);
    fputc('\n', out);
  }
  return finish(out, path);
}
