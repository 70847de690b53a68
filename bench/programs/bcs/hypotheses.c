/* hypotheses.c: what the text that the lock comes from (kprotty, "Batched Critical Sections")
 * says of it, and whether it is so here. A claim is looked at in every cell it is about, for both
 * forms of the lock; it is confirmed if it is so in all of them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bcs_bench.h"

#define LEVEL 0.95      /* of pthread's rate, and above: level or ahead; below: behind */
#define FAIR_LEVEL 0.02 /* of min/max: not more than this below the best is as fair as it */

/* Smallest and largest of what has been seen. */
struct range {
  double least, most;
};
#define EMPTY_RANGE \
  { INFINITY, -INFINITY }

static void include(struct range *r, double value) {
  if (value < r->least) r->least = value;
  if (value > r->most) r->most = value;
}

static double median(const bcs_row *row, unsigned measure) {
  return row->of[measure].median;
}

static bool is_bcs(unsigned candidate) {
  return candidate == BCS_WAITFREE || candidate == BCS_LOCKFREE;
}

/* A cell is looked at if both forms of the lock and pthread are there. */
static bool is_whole(const bcs_row *cell) {
  return cell[BCS_WAITFREE].measured && cell[BCS_LOCKFREE].measured && cell[BCS_PTHREAD].measured;
}

static void decide(bcs_verdict *v, unsigned so, unsigned cells) {
  if (cells == 0) {
    snprintf(v->verdict, sizeof v->verdict, BCS_NOT_MEASURED);
    v->figures[0] = '\0';
  } else if (so == cells) {
    snprintf(v->verdict, sizeof v->verdict, "confirmed");
  } else if (so == 0) {
    snprintf(v->verdict, sizeof v->verdict, "not here");
  } else {
    snprintf(v->verdict, sizeof v->verdict, "in %u of %u cells", so, cells);
  }
}

/* The rates over pthread's in the cells with such sections: below LEVEL, or not. */
static void judge_rate(const bcs_plan *plan, bcs_rows rows, uint64_t locked_ns, bool behind,
                       bcs_verdict *v) {
  unsigned so = 0, cells = 0;
  struct range waitfree = EMPTY_RANGE, lockfree = EMPTY_RANGE;
  for (unsigned i = 0; i < plan->cell_count; i++) {
    if (plan->cells[i].locked_ns != locked_ns || !is_whole(rows[i])) continue;
    double w = median(&rows[i][BCS_WAITFREE], BCS_TO_PTHREAD);
    double l = median(&rows[i][BCS_LOCKFREE], BCS_TO_PTHREAD);
    include(&waitfree, w);
    include(&lockfree, l);
    so += behind ? w < LEVEL && l < LEVEL : w >= LEVEL && l >= LEVEL;
    cells += 1;
  }
  snprintf(v->figures, sizeof v->figures,
           "x pthread: wait-free %.2f .. %.2f, lock-free %.2f .. %.2f", waitfree.least,
           waitfree.most, lockfree.least, lockfree.most);
  decide(v, so, cells);
}

/* Whether sections do end with a wake: at least one in two, and more often than pthread's. */
static void judge_wakes(const bcs_plan *plan, bcs_rows rows, bcs_verdict *v) {
  unsigned so = 0, cells = 0;
  struct range bcs = EMPTY_RANGE, pthread = EMPTY_RANGE;
  for (unsigned i = 0; i < plan->cell_count; i++) {
    if (plan->cells[i].locked_ns != 0 || !is_whole(rows[i])) continue;
    double w = median(&rows[i][BCS_WAITFREE], BCS_SLEEPS);
    double l = median(&rows[i][BCS_LOCKFREE], BCS_SLEEPS);
    double p = median(&rows[i][BCS_PTHREAD], BCS_SLEEPS);
    include(&bcs, w);
    include(&bcs, l);
    include(&pthread, p);
    double fewer = w < l ? w : l;
    so += fewer >= 0.5 && fewer > p;
    cells += 1;
  }
  snprintf(v->figures, sizeof v->figures,
           "sleeps, each ended by a wake, per section: %.3f .. %.3f, pthread %.3f .. %.3f",
           bcs.least, bcs.most, pthread.least, pthread.most);
  decide(v, so, cells);
}

/* The fairest in a cell that is no BCS lock: of all, or of those that let others overtake. */
static unsigned fairest_other(const bcs_row *cell, bool of_all) {
  unsigned best = BCS_PTHREAD;
  for (unsigned c = 0; c < BCS_CANDIDATES; c++) {
    bool first_come_first_served = c == BCS_ACTOR || c == BCS_MUTEX;
    if (is_bcs(c) || !bcs_candidates[c].excludes || !cell[c].measured ||
        (first_come_first_served && !of_all))
      continue;
    if (median(&cell[c], BCS_EVEN) > median(&cell[best], BCS_EVEN)) best = c;
  }
  return best;
}

static void judge_fairness(const bcs_plan *plan, bcs_rows rows, bool of_all, bcs_verdict *v) {
  unsigned so = 0, cells = 0;
  struct range bcs = EMPTY_RANGE, others = EMPTY_RANGE;
  double worst = INFINITY;
  char where[96] = "";
  for (unsigned i = 0; i < plan->cell_count; i++) {
    if (plan->cells[i].threads < 2 || !is_whole(rows[i])) continue;
    unsigned other = fairest_other(rows[i], of_all);
    double best = median(&rows[i][other], BCS_EVEN);
    double w = median(&rows[i][BCS_WAITFREE], BCS_EVEN);
    double l = median(&rows[i][BCS_LOCKFREE], BCS_EVEN);
    double less = w < l ? w : l;
    include(&bcs, w);
    include(&bcs, l);
    include(&others, best);
    so += less >= best - FAIR_LEVEL;
    cells += 1;
    if (less - best >= worst) continue;
    worst = less - best;
    char locked[24], unlocked[24];
    snprintf(where, sizeof where, "%.3f beside %.3f of %s (%u threads, %s, %s)", less, best,
             bcs_candidates[other].name, plan->cells[i].threads,
             bcs_length(plan->cells[i].locked_ns, locked, sizeof locked),
             bcs_length(plan->cells[i].unlocked_ns, unlocked, sizeof unlocked));
  }
  snprintf(v->figures, sizeof v->figures,
           "min/max %.3f .. %.3f, the best of the others %.3f .. %.3f; at worst %s", bcs.least,
           bcs.most, others.least, others.most, where);
  decide(v, so, cells);
}

unsigned bcs_hypotheses(const bcs_plan *plan, bcs_rows rows,
                        bcs_verdict verdicts[BCS_MAX_VERDICTS]) {
  static const char *const claims[] = {
      "fairest of all, beside locks that let others overtake",
      "fairest of all, volt_mutex and volt_actor included",
      "behind on empty sections",
      "... because every section is followed by a wake",
      "level or ahead on long sections (10 us)",
  };
  enum { CLAIMS = sizeof claims / sizeof *claims };
  memset(verdicts, 0, CLAIMS * sizeof *verdicts);
  for (unsigned i = 0; i < CLAIMS; i++) {
    snprintf(verdicts[i].claim, sizeof verdicts[i].claim, "%s", claims[i]);
  }
  judge_fairness(plan, rows, false, &verdicts[0]);
  judge_fairness(plan, rows, true, &verdicts[1]);
  judge_rate(plan, rows, 0, true, &verdicts[2]);
  judge_wakes(plan, rows, &verdicts[3]);
  judge_rate(plan, rows, 10000, false, &verdicts[4]);
  return CLAIMS;
}
