/* histogram.c: how often which time was measured.
 *
 * Bucket i holds the times in (edge of i - 1, edge of i]. The edges between 2^e and 2^(e+1) are
 * 2^e * (1 + k/8), k from 1 to 8: so a power of two is an edge, and what is at most a power of two
 * is counted exactly. The first bucket has all that is less, too; the last all that is more.
 *
 * Each number is exact; several read at one moment need not fit together, because other threads add
 * meanwhile. The count is the sum of the buckets, so it fits to them. */
#include "gate/histogram.h"

uint64_t histogram_edge_ns(unsigned bucket) {
  unsigned power = HISTOGRAM_FIRST_POWER + bucket / HISTOGRAM_STEPS;
  return (uint64_t)(HISTOGRAM_STEPS + 1 + bucket % HISTOGRAM_STEPS)
         << (power - HISTOGRAM_STEP_BITS);
}

void histogram_read(const struct histogram *h, struct histogram_values *values) {
  for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
    uint64_t n = atomic_load_explicit(&h->buckets[i], memory_order_relaxed);
    values->buckets[i] += n;
    values->count += n;
  }
  values->sum_ns += atomic_load_explicit(&h->sum_ns, memory_order_relaxed);
  uint64_t max = atomic_load_explicit(&h->max_ns, memory_order_relaxed);
  if (max > values->max_ns) values->max_ns = max;
}

void histogram_clear(struct histogram *h) {
  for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
    atomic_store_explicit(&h->buckets[i], 0, memory_order_relaxed);
  }
  atomic_store_explicit(&h->sum_ns, 0, memory_order_relaxed);
  atomic_store_explicit(&h->max_ns, 0, memory_order_relaxed);
}

void histogram_subtract(struct histogram_values *newer, const struct histogram_values *older) {
  uint64_t max = 0;
  newer->count = 0;
  for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
    newer->buckets[i] -= older->buckets[i];
    newer->count += newer->buckets[i];
    if (newer->buckets[i] != 0) max = histogram_edge_ns(i);
  }
  newer->sum_ns -= older->sum_ns;
  /* the highest of all may be within that bucket; in the last bucket it is all that is known */
  bool is_last = newer->buckets[HISTOGRAM_BUCKETS - 1] != 0;
  if (!is_last && max < newer->max_ns) newer->max_ns = max;
  if (newer->count == 0) newer->max_ns = 0;
}

uint64_t histogram_quantile_ns(const struct histogram_values *values, double share) {
  if (values->count == 0) return 0;
  double exact = share * (double)values->count;
  uint64_t rank = exact <= 1 ? 1 : (uint64_t)exact;
  if ((double)rank < exact) rank += 1;
  uint64_t seen = 0;
  for (unsigned i = 0; i < HISTOGRAM_BUCKETS - 1; i++) {
    seen += values->buckets[i];
    if (seen < rank) continue;
    uint64_t edge = histogram_edge_ns(i);
    return edge < values->max_ns ? edge : values->max_ns;
  }
  return values->max_ns;
}

uint64_t histogram_at_most(const struct histogram_values *values, uint64_t ns) {
  uint64_t n = 0;
  for (unsigned i = 0; i < HISTOGRAM_BUCKETS - 1 && histogram_edge_ns(i) <= ns; i++) {
    n += values->buckets[i];
  }
  return n;
}
