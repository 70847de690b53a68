/* cmp_report.c: the tables as text, and as a document. */
#include <stdio.h>
#include <string.h>

#include "cmp.h"

static bench_summary line_of(const cmp_plan *plan, const cmp_results *r, unsigned row) {
  return bench_summarize(r->lines[row], plan->rounds);
}

/* Of an arm over its rounds. */
struct means {
  double overlap, bytes, cores;
  unsigned disturbed;
};

static struct means means_of(const cmp_results *r, unsigned row, unsigned arm, unsigned rounds) {
  struct means m = {0, 0, 0, 0};
  for (unsigned i = 0; i < rounds; i++) {
    const cmp_sample *s = &r->samples[row][arm][i];
    m.overlap += s->overlap / rounds;
    m.bytes += s->bytes / rounds;
    m.cores += s->cores / rounds;
    m.disturbed += s->others >= CMP_DISTURBED;
  }
  return m;
}

static void print_arm(const cmp_plan *plan, const cmp_results *r, unsigned row, unsigned arm) {
  unsigned rounds = cmp_rounds(plan, row, arm);
  if (rounds == 0) return;
  bench_summary ns = cmp_ns(plan, r, row, arm);
  bench_summary ratio = cmp_ratio(plan, r, row, arm, 0);
  struct means m = means_of(r, row, arm, rounds);
  printf("  %-24s %9.1f  %8.1f ..%8.1f  %8.1f ..%9.1f  %8.1f", cmp_of.rows[row].arms[arm].name,
         ns.median, ns.quartile_1, ns.quartile_3, ns.least, ns.most,
         cmp_cpu_ns(plan, r, row, arm).median);
  if (arm > 0) {
    printf("  %6.2f %6.2f ..%6.2f", ratio.median, ratio.quartile_1, ratio.quartile_3);
  } else {
    printf("  %22s", "");
  }
  printf("  %7.2f  %5.2f  %3u of %u", m.overlap, m.cores, m.disturbed, rounds);
  if (m.bytes > 0) printf("  %.1f bytes of memory per task", m.bytes);
  printf("\n");
}

static void print_row(const cmp_plan *plan, const cmp_results *r, unsigned row) {
  char title[80];
  printf("\n%s", cmp_title(row, title, sizeof title));
  if (cmp_of.rows[row].contended) {
    bench_summary line = line_of(plan, r, row);
    printf("; a cache line one way: %.0f ns (%.0f .. %.0f)", line.median, line.least, line.most);
  }
  printf("\n  %-24s %9s  %18s  %19s  %8s  %22s  %7s  %5s  %s\n", "", "median ns", "quartiles",
         "least .. most", "CPU ns", "x the first, quartiles", "overlap", "cores", "disturbed");
  for (unsigned arm = 0; arm < cmp_of.rows[row].arm_count; arm++) print_arm(plan, r, row, arm);
}

static bool begins_table(unsigned row) {
  return row == 0 || cmp_of.rows[row].table != cmp_of.rows[row - 1].table;
}

/* What the programs say they have measured, each once; then what was left out. */
static void print_versions(FILE *out, const cmp_plan *plan, const cmp_results *r) {
  const char *said[CMP_MAX_ROWS * CMP_MAX_ARMS];
  unsigned count = 0;
  for (unsigned row = 0; row < cmp_of.row_count; row++) {
    for (unsigned arm = 0; arm < cmp_of.rows[row].arm_count; arm++) {
      const char *version = r->versions[row][arm];
      unsigned i = 0;
      while (i < count && strcmp(said[i], version) != 0) i += 1;
      if (i < count || version[0] == '\0') continue;
      fprintf(out, "%s%s", count > 0 ? ", " : "Beside: ", version);
      said[count++] = version;
    }
  }
  if (count > 0) fprintf(out, ".\n");
  for (unsigned i = 0; cmp_of.programs[i]; i++) {
    if (!plan->programs[i]) fprintf(out, "%s: skipped: %s\n", cmp_of.programs[i], plan->why[i]);
  }
}

void cmp_print(const cmp_plan *plan, const cmp_results *r) {
  printf("%u rounds, interleaved; medians; ratios within rounds\n", plan->rounds);
  print_versions(stdout, plan, r);
  for (unsigned row = 0; row < cmp_of.row_count; row++) {
    if (begins_table(row)) printf("\n---- %s\n", cmp_of.tables[cmp_of.rows[row].table]);
    print_row(plan, r, row);
  }
  cmp_verdict verdicts[CMP_MAX_VERDICTS];
  unsigned count = cmp_bars(plan, r, verdicts);
  printf("\nwhat is demanded\n");
  for (unsigned i = 0; i < count; i++) {
    printf("  %-24s  %-92s  %s\n", verdicts[i].verdict, verdicts[i].claim, verdicts[i].figures);
  }
}

/* ---- as a document ---- */

static void markdown_bars(FILE *out, const cmp_plan *plan, const cmp_results *r) {
  cmp_verdict verdicts[CMP_MAX_VERDICTS];
  unsigned count = cmp_bars(plan, r, verdicts);
  fprintf(out, "\n| demanded | here | figures |\n|---|---|---|\n");
  for (unsigned i = 0; i < count; i++) {
    const cmp_verdict *v = &verdicts[i];
    fprintf(out, "| %s | %s | %s |\n", v->claim, v->verdict, v->figures);
  }
}

static void markdown_row(FILE *out, const cmp_plan *plan, const cmp_results *r, unsigned row) {
  char title[80], line[64] = "";
  if (cmp_of.rows[row].contended) {
    bench_summary s = line_of(plan, r, row);
    snprintf(line, sizeof line, "%.0f (%.0f .. %.0f)", s.median, s.least, s.most);
  }
  for (unsigned arm = 0; arm < cmp_of.rows[row].arm_count; arm++) {
    unsigned rounds = cmp_rounds(plan, row, arm);
    if (rounds == 0) continue;
    bench_summary ns = cmp_ns(plan, r, row, arm);
    struct means m = means_of(r, row, arm, rounds);
    fprintf(out, "| %s | %s | %.1f | %.1f .. %.1f | %.1f | %.2f | %.2f | %.2f | %u of %u | %s |\n",
            arm == 0 ? cmp_title(row, title, sizeof title) : "", cmp_of.rows[row].arms[arm].name,
            ns.median, ns.quartile_1, ns.quartile_3, cmp_cpu_ns(plan, r, row, arm).median,
            cmp_ratio(plan, r, row, arm, 0).median, m.overlap, m.cores, m.disturbed, rounds,
            arm == 0 ? line : "");
  }
}

static void markdown_tables(FILE *out, const cmp_plan *plan, const cmp_results *r) {
  for (unsigned row = 0; row < cmp_of.row_count; row++) {
    if (begins_table(row)) {
      fprintf(
          out,
          "\n%s:\n\n| | | ns | quartiles | CPU ns | x the first | overlap | cores | disturbed | "
          "a cache line, ns |\n|---|---|--:|--:|--:|--:|--:|--:|--:|--:|\n",
          cmp_of.tables[cmp_of.rows[row].table]);
    }
    markdown_row(out, plan, r, row);
  }
}

bool cmp_write_markdown(const char *path, const cmp_plan *plan, const cmp_results *r) {
  FILE *out = fopen(path, "w");
  if (!out) {
    perror(path);
    return false;
  }
  fprintf(out,
          "# %s\n\nWritten by `%s`: %s. %u rounds, interleaved; "
          "medians, ratios within rounds.\n",
          cmp_of.title, cmp_of.command, bench_machine(), plan->rounds);
  print_versions(out, plan, r);
  markdown_bars(out, plan, r);
  fprintf(
      out,
      "\nns: per operation, from the first start to the last end as the tasks stamp them; what an "
      "operation is, says\n`%s`. CPU ns: the same in CPU time of all threads, over all rounds. "
      "x the first: the\nratio to the row's first line, in each round; in CPU time where there is "
      "one worker. overlap: of that time, how much\na task spent between its own stamps (1 / tasks "
      "if they ran one after the other). cores: CPU time of the process over\nwall time, its start "
      "included; less than its workers in a contended row: they ran one at a time, as the "
      "runtime\nwould have it, or because others had the core. disturbed: runs during which other "
      "processes had more than %.1f of a\ncore, also when repeated; they count only if fewer than "
      "%d rounds were not. A cache line: its way from core to core\nbeside each round, median, "
      "least "
      "and most.\n",
      cmp_of.header, CMP_DISTURBED, CMP_ENOUGH);
  markdown_tables(out, plan, r);
  bool whole = !ferror(out);
  if (fclose(out) == 0 && whole) return true;
  perror(path);
  return false;
}
