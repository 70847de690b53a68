/* wait_times.c: a histogram on a logarithmic scale.
 *
 * Buckets 0..7 hold the times 0..7 exactly. From there on the position of the highest bit says
 * which group of eight, and the three bits below it which one of the eight. */
#include "wait_times.h"

static unsigned bucket_of(uint64_t ns) {
  if (ns < 8) return (unsigned)ns;
  unsigned high = 63 - (unsigned)__builtin_clzll(ns); /* 3..63 */
  return (high - 2) * 8 + (unsigned)(ns >> (high - 3) & 7);
}

/* The longest time that falls into a bucket. */
static uint64_t bucket_end_ns(unsigned bucket) {
  if (bucket < 8) return bucket;
  unsigned shift = bucket / 8 - 1;
  uint64_t first = (UINT64_C(8) + bucket % 8) << shift;
  return first + ((UINT64_C(1) << shift) - 1);
}

void wait_times_add(struct wait_times *times, uint64_t wait_ns) {
  times->count += 1;
  times->total_ns += wait_ns;
  if (wait_ns > times->max_ns) times->max_ns = wait_ns;
  times->buckets[bucket_of(wait_ns)] += 1;
}

uint64_t wait_times_percentile_ns(const struct wait_times *times, unsigned percent) {
  uint64_t wanted = (times->count * percent + 99) / 100;
  uint64_t seen = 0;
  for (unsigned i = 0; i < WAIT_TIMES_BUCKETS; i++) {
    seen += times->buckets[i];
    if (seen < wanted || seen == 0) continue;
    uint64_t end_ns = bucket_end_ns(i);
    return end_ns < times->max_ns ? end_ns : times->max_ns;
  }
  return 0;
}
