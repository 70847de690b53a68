/* markdown.c: the results as the section "Measured" of a document. */
#include <stdio.h>

#include "bcs_bench.h"

/* A table for each number of threads and work outside: a line per candidate, a column per length
 * of the section. The cells of a table follow each other in the plan. */
static void table(FILE *out, const bcs_cell *cells, const bcs_row (*rows)[BCS_CANDIDATES],
                  unsigned count) {
  char length[24];
  fprintf(out, "\n%u threads, %s outside of the section:\n\n| section of |", cells[0].threads,
          bcs_length(cells[0].unlocked_ns, length, sizeof length));
  for (unsigned i = 0; i < count; i++) {
    fprintf(out, " %s |", bcs_length(cells[i].locked_ns, length, sizeof length));
  }
  fprintf(out, "\n|---|");
  for (unsigned i = 0; i < count; i++) fprintf(out, "--:|");
  fputc('\n', out);
  for (unsigned c = 0; c < BCS_CANDIDATES; c++) {
    if (!rows[0][c].measured) continue;
    fprintf(out, "| %s |", bcs_candidates[c].name);
    for (unsigned i = 0; i < count; i++) {
      const bench_summary *of = rows[i][c].of;
      fprintf(out, " %.0f, %.2f, %.2f |", of[BCS_RATE].median / 1e3, of[BCS_TO_PTHREAD].median,
              of[BCS_EVEN].median);
    }
    fputc('\n', out);
  }
}

static void tables(FILE *out, const bcs_plan *plan, bcs_rows rows) {
  fprintf(
      out,
      "\nIn each field: thousand sections per second, of all threads; that over pthread_mutex's "
      "in the\nsame round; the sections of the slowest thread over those of the fastest.\n");
  for (unsigned i = 0, next; i < plan->cell_count; i = next) {
    const bcs_cell *cell = &plan->cells[i];
    for (next = i + 1; next < plan->cell_count; next++) {
      if (plan->cells[next].threads != cell->threads) break;
      if (plan->cells[next].unlocked_ns != cell->unlocked_ns) break;
    }
    table(out, cell, (const bcs_row(*)[BCS_CANDIDATES]) & rows[i], next - i);
  }
}

static void images(FILE *out, const bcs_plan *plan) {
  unsigned threads = 0;
  char length[24];
  fprintf(out, "\nWith %s outside of the section:\n",
          bcs_length(BCS_PLOT_UNLOCKED_NS, length, sizeof length));
  for (unsigned i = 0; i < plan->cell_count; i++) {
    const bcs_cell *cell = &plan->cells[i];
    if (cell->unlocked_ns != BCS_PLOT_UNLOCKED_NS || cell->threads == threads) continue;
    threads = cell->threads;
    fprintf(out,
            "\n![Throughput against section length, %u threads](bcs/throughput-%u.svg)\n"
            "![Fairness against section length, %u threads](bcs/fairness-%u.svg)\n",
            threads, threads, threads, threads);
  }
}

static void uncontended(FILE *out) {
  unsigned count;
  const bench_result *results = bench_results(&count);
  if (count == 0) return;
  fprintf(out, "\nNobody else there:\n\n| | ns | x pthread_mutex |\n|---|--:|--:|\n");
  for (unsigned i = 0; i < count; i++) {
    fprintf(out, "| %s | %.1f | ", results[i].name, results[i].ns.median);
    if (results[i].to_peer > 0) fprintf(out, "%.2f ", results[i].to_peer);
    fprintf(out, "|\n");
  }
}

static void verdicts_table(FILE *out, const char *head, const bcs_verdict *verdicts,
                           unsigned count) {
  fprintf(out, "\n| %s | here | figures |\n|---|---|---|\n", head);
  for (unsigned i = 0; i < count; i++) {
    const bcs_verdict *v = &verdicts[i];
    fprintf(out, "| %s | %s | %s |\n", v->claim, v->verdict, v->figures);
  }
}

bool bcs_write_markdown(const char *path, const bcs_plan *plan, bcs_rows rows) {
  FILE *out = fopen(path, "w");
  if (!out) {
    perror(path);
    return false;
  }
  bcs_verdict verdicts[BCS_MAX_VERDICTS];
  fprintf(out,
          "## Measured\n\nWritten by `./x bench bcs --save`: %s. %u rounds, slices of %.0f ms; "
          "medians.\n",
          bench_machine(), plan->rounds, (double)plan->slice_ns / 1e6);
  unsigned count = bcs_hypotheses(plan, rows, verdicts);
  verdicts_table(out, "the text says", verdicts, count);
  count = bcs_bars(plan, rows, verdicts);
  verdicts_table(out, "the lock over the wait-free queue has to reach", verdicts, count);
  images(out, plan);
  tables(out, plan, rows);
  uncontended(out);
  bool whole = !ferror(out);
  if (fclose(out) == 0 && whole) return true;
  perror(path);
  return false;
}
