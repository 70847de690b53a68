/* histogram.c: how long things have taken, in steps.
 *
 * All times of a step differ by 12.5 % at most, whatever their size. Step 0 also has what is shorter
 * than 16 ns, the last step what is longer than 18 minutes. */
#include "histogram.h"

uint64_t volt_histogram_end_ns_(unsigned step) {
  if (step == VOLT_HISTOGRAM_STEPS - 1) return UINT64_MAX;
  return (uint64_t)(9 + step % 8) << (step / 8 + VOLT_HISTOGRAM_FIRST_BIT_ - 3);
}

/* ---- written by many ---- */

void volt_shared_histogram_read_(const volt_shared_histogram_ *t, volt_histogram *out) {
  /* all relaxed: a snapshot of each. The count is that of the steps, so that they go together */
  for (unsigned i = 0; i < VOLT_HISTOGRAM_STEPS; i++) {
    uint64_t n = volt_load_relaxed(&t->step[i]);
    out->step[i] += n;
    out->count += n;
  }
  out->sum_ns += volt_load_relaxed(&t->sum_ns);
  uint64_t longest_ns = volt_load_relaxed(&t->longest_ns);
  if (longest_ns > out->longest_ns) out->longest_ns = longest_ns;
}

void volt_shared_histogram_clear_(volt_shared_histogram_ *t) {
  /* all relaxed: a thread that adds meanwhile may leave a trace. Without a sum, all that is there took
   * 0 ns, which is in the first step. */
  if (volt_load_relaxed(&t->sum_ns) == 0 && volt_load_relaxed(&t->step[0]) == 0) return;
  volt_store_relaxed(&t->sum_ns, 0);
  volt_store_relaxed(&t->longest_ns, 0);
  for (unsigned i = 0; i < VOLT_HISTOGRAM_STEPS; i++) volt_store_relaxed(&t->step[i], 0);
}

/* ---- read ---- */

/* How many are the shortest so many parts of all: at least 1. */
static uint64_t histogram_rank(uint64_t count, double quantile) {
  double exact = quantile * (double)count;
  if (!(exact > 0)) return 1; /* also if it is no number */
  if (exact >= (double)count) return count;
  uint64_t below = (uint64_t)exact;
  uint64_t rank = (double)below + 1e-6 < exact ? below + 1 : below; /* 0.007 * 1000 is above 7 */
  return rank > 0 ? rank : 1;
}

uint64_t volt_histogram_at_ns(const volt_histogram *h, double quantile) {
  if (h->count == 0) return 0;
  uint64_t rank = histogram_rank(h->count, quantile);
  uint64_t seen = 0;
  for (unsigned i = 0; i < VOLT_HISTOGRAM_STEPS; i++) {
    seen += h->step[i];
    if (seen < rank) continue;
    uint64_t last_ns = volt_histogram_end_ns_(i) - 1;
    return last_ns < h->longest_ns ? last_ns : h->longest_ns;
  }
  return h->longest_ns;
}

uint64_t volt_histogram_below(const volt_histogram *h, uint64_t ns) {
  uint64_t below = 0;
  for (unsigned i = 0; i < VOLT_HISTOGRAM_STEPS && volt_histogram_end_ns_(i) <= ns; i++)
    below += h->step[i];
  return below;
}
