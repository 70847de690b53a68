/* report.c: the tables, and the verdicts, as text. */
#include <stdio.h>
#include <string.h>

#include "bcs_bench.h"

void bcs_print_head(const bcs_plan *plan) {
  printf(
      "%s\n%u rounds, interleaved; slices of %.0f ms; medians, and the least and most of a round\n",
      bench_machine(), plan->rounds, (double)plan->slice_ns / 1e6);
  for (unsigned i = 0; i < BCS_CANDIDATES; i++) {
    if (plan->chosen[i] && !bcs_candidates[i].init) {
      printf("%s is left out: it was not there when this program was built\n",
             bcs_candidates[i].name);
    }
  }
}

const char *bcs_length(uint64_t ns, char *text, size_t bytes) {
  if (ns == 0) {
    snprintf(text, bytes, "0");
  } else if (ns % 1000 == 0) {
    snprintf(text, bytes, "%llu us", (unsigned long long)(ns / 1000));
  } else {
    snprintf(text, bytes, "%llu ns", (unsigned long long)ns);
  }
  return text;
}

static void print_row(const char *name, const bcs_row *row) {
  const bench_summary *of = row->of;
  printf("  %-24s %8.1f %8.1f ..%8.1f", name, of[BCS_RATE].median / 1e3, of[BCS_RATE].least / 1e3,
         of[BCS_RATE].most / 1e3);
  if (of[BCS_TO_PTHREAD].median > 0) {
    printf("  %6.2f %5.2f ..%5.2f", of[BCS_TO_PTHREAD].median, of[BCS_TO_PTHREAD].least,
           of[BCS_TO_PTHREAD].most);
  } else {
    printf("  %20s", "");
  }
  printf("  %8.0f %8.0f %8.0f %8.0f", of[BCS_MEAN].median, of[BCS_LEAST].median,
         of[BCS_MOST].median, of[BCS_DEVIATION].median);
  printf("  %5.3f %5.3f ..%5.3f  %5.2f %7.3f  %5.2f\n", of[BCS_EVEN].median, of[BCS_EVEN].least,
         of[BCS_EVEN].most, of[BCS_CORES].median, of[BCS_SLEEPS].median, of[BCS_OTHERS].most);
}

static void print_cell(bcs_cell cell, const bcs_row *row) {
  char locked[24], unlocked[24];
  printf("\n%u threads, section of %s, then %s outside\n", cell.threads,
         bcs_length(cell.locked_ns, locked, sizeof locked),
         bcs_length(cell.unlocked_ns, unlocked, sizeof unlocked));
  printf("  %-24s %8s %18s  %20s  %35s  %21s  %5s %7s  %s\n", "", "k/s", "least .. most",
         "x pthread  in rounds", "of a thread: mean, min, max, sd", "min/max  in rounds", "cores",
         "sleeps", "others");
  for (unsigned c = 0; c < BCS_CANDIDATES; c++) {
    if (row[c].measured) print_row(bcs_candidates[c].name, &row[c]);
  }
}

/* Those of cells that were left out are counted only. */
static void print_verdicts(const char *title, const bcs_verdict *verdicts, unsigned count) {
  unsigned left_out = 0;
  printf("\n%s\n", title);
  for (unsigned i = 0; i < count; i++) {
    const bcs_verdict *v = &verdicts[i];
    if (strcmp(v->verdict, BCS_NOT_MEASURED) == 0) {
      left_out += 1;
    } else {
      printf("  %-18s  %-62s  %s\n", v->verdict, v->claim, v->figures);
    }
  }
  if (left_out > 0) printf("  %s: %u of %u\n", BCS_NOT_MEASURED, left_out, count);
}

static void print_disturbed(const bcs_plan *plan, bcs_rows rows) {
  unsigned disturbed = 0, all = 0;
  for (unsigned i = 0; i < plan->cell_count; i++) {
    for (unsigned c = 0; c < BCS_CANDIDATES; c++) {
      disturbed += rows[i][c].disturbed;
      if (rows[i][c].measured) all += plan->rounds;
    }
  }
  printf("\nin %u of %u slices something else had %.1f cores or more%s\n", disturbed, all,
         BCS_DISTURBED, disturbed > all / 20 ? ": this machine was not quiet, measure again" : "");
}

void bcs_print(const bcs_plan *plan, bcs_rows rows) {
  bcs_verdict verdicts[BCS_MAX_VERDICTS];
  if (plan->cell_count > 0) {
    printf(
        "\nsleeps: of threads, per section, each ended by a wake; others: cores that were busy with"
        " anything else, in the worst round\n");
  }
  for (unsigned i = 0; i < plan->cell_count; i++) print_cell(plan->cells[i], rows[i]);
  print_verdicts("what the lock over the wait-free queue has to reach", verdicts,
                 bcs_bars(plan, rows, verdicts));
  print_verdicts("what the text it comes from says, for both forms of the lock", verdicts,
                 bcs_hypotheses(plan, rows, verdicts));
  if (plan->cell_count > 0) print_disturbed(plan, rows);
  fflush(stdout);
}
