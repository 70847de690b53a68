/* wait_times.h: how long waits took, in constant memory.
 *
 * A histogram with eight buckets for each power of two: a percentile is at most an eighth too
 * high, and no number of waits makes it grow. Threads: one at a time; the owner locks. */
#ifndef TREESUM_WAIT_TIMES_H
#define TREESUM_WAIT_TIMES_H

#include <stdint.h>

#define WAIT_TIMES_BUCKETS (62 * 8)

/* All-zero: no wait yet. */
struct wait_times {
  uint64_t count;
  uint64_t total_ns;
  uint64_t max_ns;
  uint64_t buckets[WAIT_TIMES_BUCKETS];
};

/* Count one wait. */
void wait_times_add(struct wait_times *times, uint64_t wait_ns);

/* The time that `percent` of the waits did not exceed; 0 if there was none. percent: 1..100. */
uint64_t wait_times_percentile_ns(const struct wait_times *times, unsigned percent);

#endif
