/* histogram.h: a histogram that threads write at once (volt/counts.h has the one that they read). */
#ifndef VOLT_CORE_HOOKS_HISTOGRAM_H
#define VOLT_CORE_HOOKS_HISTOGRAM_H

#include <volt/counts.h>
#include <volt/detail/atomic.h>

/* All-zero: empty. 1.2 KiB. */
typedef struct volt_tallied_ {
  VOLT_ATOMIC(uint64_t) count;
  VOLT_ATOMIC(uint64_t) sum_ns;
  VOLT_ATOMIC(uint64_t) longest_ns;
  VOLT_ATOMIC(uint32_t) step[VOLT_HISTOGRAM_STEPS];
} volt_tallied_;

/* Add something that has taken ns; it stands for `weight` like it. Any thread. */
VOLT_API void volt_tallied_add_(volt_tallied_ *t, uint64_t ns, uint32_t weight);

/* Read it while others write: each number by itself. */
VOLT_API void volt_tallied_read_(volt_tallied_ *t, volt_histogram *out);

VOLT_API void volt_tallied_clear_(volt_tallied_ *t);

/* The first time that is in none of the steps up to this one. */
VOLT_API uint64_t volt_histogram_end_ns_(unsigned step);

#endif
