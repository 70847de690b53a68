/* rtcmp_report.c: the tables as text, and as a document. */
#include <stdio.h>
#include <string.h>

#include "rtcmp.h"

static bench_summary line_of(const rtcmp_plan *plan, const rtcmp_results *r, unsigned row) {
  return bench_summarize(r->lines[row], plan->rounds);
}

/* Of an arm over its rounds. */
struct means {
  double overlap, bytes, cores;
  unsigned disturbed;
};

static struct means means_of(const rtcmp_results *r, unsigned row, unsigned arm, unsigned rounds) {
  struct means m = {0, 0, 0, 0};
  for (unsigned i = 0; i < rounds; i++) {
    const rtcmp_sample *s = &r->samples[row][arm][i];
    m.overlap += s->overlap / rounds;
    m.bytes += s->bytes / rounds;
    m.cores += s->cores / rounds;
    m.disturbed += s->others >= RTCMP_DISTURBED;
  }
  return m;
}

static void print_arm(const rtcmp_plan *plan, const rtcmp_results *r, unsigned row, unsigned arm) {
  unsigned rounds = rtcmp_rounds(plan, row, arm);
  if (rounds == 0) return;
  bench_summary ns = rtcmp_ns(plan, r, row, arm);
  bench_summary ratio = rtcmp_ratio(plan, r, row, arm, 0);
  struct means m = means_of(r, row, arm, rounds);
  printf("  %-14s %9.1f  %8.1f ..%8.1f  %8.1f ..%9.1f  %8.1f", rtcmp_rows[row].arms[arm].name,
         ns.median, ns.quartile_1, ns.quartile_3, ns.least, ns.most,
         rtcmp_cpu_ns(plan, r, row, arm).median);
  if (arm > 0) {
    printf("  %6.2f %6.2f ..%6.2f", ratio.median, ratio.quartile_1, ratio.quartile_3);
  } else {
    printf("  %22s", "");
  }
  printf("  %7.2f  %5.2f  %3u of %u", m.overlap, m.cores, m.disturbed, rounds);
  if (m.bytes > 0) printf("  %.1f bytes of memory per task", m.bytes);
  printf("\n");
}

static void print_row(const rtcmp_plan *plan, const rtcmp_results *r, unsigned row) {
  char title[80];
  printf("\n%s%s", rtcmp_title(row, title, sizeof title),
         rtcmp_rows[row].arm_count > 2 ? ": the queues, by one adapter" : "");
  if (rtcmp_rows[row].contended) {
    bench_summary line = line_of(plan, r, row);
    printf("; a cache line one way: %.0f ns (%.0f .. %.0f)", line.median, line.least, line.most);
  }
  printf("\n  %-14s %9s  %18s  %19s  %8s  %22s  %7s  %5s  %s\n", "", "median ns", "quartiles",
         "least .. most", "CPU ns", "x volt, quartiles", "overlap", "cores", "disturbed");
  for (unsigned arm = 0; arm < rtcmp_rows[row].arm_count; arm++) print_arm(plan, r, row, arm);
}

void rtcmp_print(const rtcmp_plan *plan, const rtcmp_results *r) {
  printf("%u rounds, interleaved; medians; ratios within rounds\n", plan->rounds);
  for (unsigned row = 0; row < rtcmp_row_count; row++) print_row(plan, r, row);
  rtcmp_verdict verdicts[RTCMP_MAX_VERDICTS];
  unsigned count = rtcmp_bars(plan, r, verdicts);
  printf("\nwhat is demanded\n");
  for (unsigned i = 0; i < count; i++) {
    printf("  %-24s  %-76s  %s\n", verdicts[i].verdict, verdicts[i].claim, verdicts[i].figures);
  }
}

/* ---- as a document ---- */

static void markdown_bars(FILE *out, const rtcmp_plan *plan, const rtcmp_results *r) {
  rtcmp_verdict verdicts[RTCMP_MAX_VERDICTS];
  unsigned count = rtcmp_bars(plan, r, verdicts);
  fprintf(out, "\n| demanded | here | figures |\n|---|---|---|\n");
  for (unsigned i = 0; i < count; i++) {
    const rtcmp_verdict *v = &verdicts[i];
    fprintf(out, "| %s | %s | %s |\n", v->claim, v->verdict, v->figures);
  }
}

static void markdown_row(FILE *out, const rtcmp_plan *plan, const rtcmp_results *r, unsigned row) {
  char title[80], line[64] = "";
  if (rtcmp_rows[row].contended) {
    bench_summary s = line_of(plan, r, row);
    snprintf(line, sizeof line, "%.0f (%.0f .. %.0f)", s.median, s.least, s.most);
  }
  for (unsigned arm = 0; arm < rtcmp_rows[row].arm_count; arm++) {
    unsigned rounds = rtcmp_rounds(plan, row, arm);
    if (rounds == 0) continue;
    bench_summary ns = rtcmp_ns(plan, r, row, arm);
    struct means m = means_of(r, row, arm, rounds);
    fprintf(out, "| %s | %s | %.1f | %.1f .. %.1f | %.1f | %.2f | %.2f | %.2f | %u of %u | %s |\n",
            arm == 0 ? rtcmp_title(row, title, sizeof title) : "", rtcmp_rows[row].arms[arm].name,
            ns.median, ns.quartile_1, ns.quartile_3, rtcmp_cpu_ns(plan, r, row, arm).median,
            rtcmp_ratio(plan, r, row, arm, 0).median, m.overlap, m.cores, m.disturbed, rounds,
            arm == 0 ? line : "");
  }
}

static void markdown_table(FILE *out, const rtcmp_plan *plan, const rtcmp_results *r,
                           const char *head, bool engines) {
  fprintf(out, "\n%s\n\n", head);
  fprintf(
      out,
      "| | | ns | quartiles | CPU ns | x volt | overlap | cores | disturbed | a cache line, ns |\n"
      "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|\n");
  for (unsigned row = 0; row < rtcmp_row_count; row++) {
    if ((rtcmp_rows[row].arm_count > 2) == engines) markdown_row(out, plan, r, row);
  }
}

bool rtcmp_write_markdown(const char *path, const rtcmp_plan *plan, const rtcmp_results *r) {
  FILE *out = fopen(path, "w");
  if (!out) {
    perror(path);
    return false;
  }
  fprintf(
      out,
      "# The runtime, measured\n\nWritten by `./x bench rt --save`: %s. %u rounds, interleaved; "
      "medians, ratios within rounds.\n%s",
      bench_machine(), plan->rounds, plan->tokio ? "" : "Tokio was not there.\n");
  markdown_bars(out, plan, r);
  fprintf(
      out,
      "\nns: per operation, from the first start to the last end as the tasks stamp them; what "
      "an operation is, says\n`bench/rt_bench.h`. CPU ns: the same in CPU time of all threads, "
      "over all rounds. overlap: of that time, how much a\ntask spent between its own stamps "
      "(1 / tasks if they ran one after the other). cores: CPU time of the process over\nwall "
      "time, its start included; less than its workers in a contended row: they ran one at a "
      "time, as the runtime\nwould have it, or because others had the core. disturbed: runs "
      "during which other processes had more than %.1f of a\ncore, also when repeated; they count "
      "only if fewer than %d rounds were not. A cache line: its way from core to core\nbeside each "
      "round, median, least and most.\n",
      RTCMP_DISTURBED, RTCMP_ENOUGH);
  markdown_table(out, plan, r, "volt and Tokio:", false);
  markdown_table(
      out, plan, r,
      "The library's queue and those of `variants/`, on volt's runtime, each by the same "
      "adapter:",
      true);
  bool whole = !ferror(out);
  if (fclose(out) == 0 && whole) return true;
  perror(path);
  return false;
}
