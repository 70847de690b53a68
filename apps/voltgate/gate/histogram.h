/* histogram.h: how often which time was measured. A bucket is at most 1/8 wide of what it holds. */
#ifndef VOLTGATE_GATE_HISTOGRAM_H
#define VOLTGATE_GATE_HISTOGRAM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* 8 buckets for each power of two of nanoseconds from 2^10 to 2^40; what is less or more is in the
 * first or the last. */
enum {
  HISTOGRAM_FIRST_POWER = 10,
  HISTOGRAM_STEP_BITS = 3,
  HISTOGRAM_STEPS = 1 << HISTOGRAM_STEP_BITS,
  HISTOGRAM_BUCKETS = HISTOGRAM_STEPS * 30
};

/* Any thread adds; all-zero at first. */
struct histogram {
  atomic_uint_fast64_t buckets[HISTOGRAM_BUCKETS];
  atomic_uint_fast64_t sum_ns;
  atomic_uint_fast64_t max_ns;
};

/* A copy, or several added up, or the difference of two. */
struct histogram_values {
  uint64_t buckets[HISTOGRAM_BUCKETS];
  uint64_t count;
  uint64_t sum_ns;
  uint64_t max_ns; /* of a difference: at most the upper edge of its highest bucket */
};

/* The highest time that belongs to a bucket (to the last one belongs all that is more, too). */
uint64_t histogram_edge_ns(unsigned bucket);

/* Which bucket a time belongs to. */
static inline unsigned histogram_bucket(uint64_t ns) {
  if (ns <= UINT64_C(1) << HISTOGRAM_FIRST_POWER) return 0;
  uint64_t below = ns - 1; /* so that an edge belongs to the bucket that it ends */
  unsigned power = 63u - (unsigned)__builtin_clzll(below);
  unsigned step = (unsigned)(below >> (power - HISTOGRAM_STEP_BITS)) & (HISTOGRAM_STEPS - 1);
  unsigned bucket = (power - HISTOGRAM_FIRST_POWER) * HISTOGRAM_STEPS + step;
  return bucket < HISTOGRAM_BUCKETS ? bucket : HISTOGRAM_BUCKETS - 1;
}

/* Add a time. Inline: two to four of these are most of what an admission costs. Any thread. */
static inline void histogram_add(struct histogram *h, uint64_t ns) {
  atomic_fetch_add_explicit(&h->buckets[histogram_bucket(ns)], 1, memory_order_relaxed);
  if (ns == 0) return;
  atomic_fetch_add_explicit(&h->sum_ns, ns, memory_order_relaxed);
  uint64_t max = atomic_load_explicit(&h->max_ns, memory_order_relaxed);
  while (ns > max && !atomic_compare_exchange_weak_explicit(
                         &h->max_ns, &max, ns, memory_order_relaxed, memory_order_relaxed)) {
  }
}

/* Add what h holds to *values. */
void histogram_read(const struct histogram *h, struct histogram_values *values);

/* Begin anew. No other thread adds meanwhile. */
void histogram_clear(struct histogram *h);

/* *newer becomes what was added since *older. */
void histogram_subtract(struct histogram_values *newer, const struct histogram_values *older);

/* The time that the share (0..1) of all does not exceed; 0 if there is none. */
uint64_t histogram_quantile_ns(const struct histogram_values *values, double share);

/* How many are at most so many nanoseconds: exact if that is an edge of a bucket, as all powers of
 * two from 2^11 to 2^39 are; else those in the buckets that end before. */
uint64_t histogram_at_most(const struct histogram_values *values, uint64_t ns);

#endif
