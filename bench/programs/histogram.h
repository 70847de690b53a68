/* histogram.h: a latency histogram that allocates nothing and never saturates.
 *
 * Log-linear: sixteen buckets for every power of two, so a quantile is right within 6 %. One
 * writer at a time; histograms of several threads are merged when they have ended. All-zero is an
 * empty histogram. */
#ifndef VOLT_BENCH_HISTOGRAM_H
#define VOLT_BENCH_HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_STEPS 16u
#define HISTOGRAM_BUCKETS (61u * HISTOGRAM_STEPS)

typedef struct histogram {
  uint64_t count;
  uint64_t max;
  uint64_t buckets[HISTOGRAM_BUCKETS];
} histogram;

/* Values below 16 have a bucket each; above, the top five bits of the value name the bucket. */
static inline unsigned histogram_bucket(uint64_t value) {
  if (value < HISTOGRAM_STEPS) return (unsigned)value;
  unsigned octave = 63u - (unsigned)__builtin_clzll(value) - 4u; /* 0 for 16..31 */
  return (octave + 1u) * HISTOGRAM_STEPS + (unsigned)((value >> octave) & (HISTOGRAM_STEPS - 1u));
}

/* The middle of a bucket. */
static inline uint64_t histogram_value(unsigned bucket) {
  if (bucket < HISTOGRAM_STEPS) return bucket;
  unsigned octave = bucket / HISTOGRAM_STEPS - 1u;
  uint64_t low = (uint64_t)(HISTOGRAM_STEPS + bucket % HISTOGRAM_STEPS) << octave;
  return low + (((uint64_t)1 << octave) >> 1);
}

static inline void histogram_add(histogram *h, uint64_t value) {
  h->count += 1;
  if (value > h->max) h->max = value;
  h->buckets[histogram_bucket(value)] += 1;
}

static inline void histogram_merge(histogram *into, const histogram *from) {
  into->count += from->count;
  if (from->max > into->max) into->max = from->max;
  for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) into->buckets[i] += from->buckets[i];
}

/* The value below which the fraction q (0..1) of all values lie; 0 if there are none. */
static inline uint64_t histogram_quantile(const histogram *h, double q) {
  uint64_t rank = (uint64_t)(q * (double)h->count);
  uint64_t seen = 0;
  for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
    seen += h->buckets[i];
    if (seen > rank) return histogram_value(i) < h->max ? histogram_value(i) : h->max;
  }
  return h->max;
}

#endif
