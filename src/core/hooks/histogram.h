/* histogram.h: a histogram that threads write at once. Read it into a volt_histogram
 * (volt/counts.h). voltgate writes such histograms, too (apps/common/histogram.h). */
#ifndef VOLT_CORE_HOOKS_HISTOGRAM_H
#define VOLT_CORE_HOOKS_HISTOGRAM_H

#include <volt/counts.h>
#include <volt/detail/atomic.h>

/* A step is an eighth of an octave: from 2^VOLT_HISTOGRAM_FIRST_BIT_ ns on, the three bits behind the
 * first one of a time say which. */
enum { VOLT_HISTOGRAM_FIRST_BIT_ = 4, VOLT_HISTOGRAM_OCTAVES_ = VOLT_HISTOGRAM_STEPS / 8 };

/* All-zero: empty. 2.3 KiB. 64 bits: a count of 32 could wrap within minutes, because up to 64
 * holds of a lock are added at once. */
typedef struct volt_shared_histogram_ {
  VOLT_ATOMIC(uint64_t) sum_ns;
  VOLT_ATOMIC(uint64_t) longest_ns;
  VOLT_ATOMIC(uint64_t) step[VOLT_HISTOGRAM_STEPS];
} volt_shared_histogram_;

static inline unsigned volt_histogram_step_(uint64_t ns) {
  unsigned bit = VOLT_HIGHEST_BIT_(ns | 1);
  if (bit < VOLT_HISTOGRAM_FIRST_BIT_) return 0;
  if (bit >= VOLT_HISTOGRAM_FIRST_BIT_ + VOLT_HISTOGRAM_OCTAVES_) return VOLT_HISTOGRAM_STEPS - 1;
  return (bit - VOLT_HISTOGRAM_FIRST_BIT_) * 8 + (unsigned)(ns >> (bit - 3) & 7);
}

/* Count a duration of ns as `weight` equal ones. Any thread. Inline: a few of these are most of
 * what an admission of voltgate costs. */
static inline void volt_shared_histogram_add_(volt_shared_histogram_ *t, uint64_t ns,
                                              uint32_t weight) {
  /* all relaxed: numbers by themselves */
  volt_fetch_add_relaxed(&t->step[volt_histogram_step_(ns)], (uint64_t)weight);
  if (ns == 0) return;
  volt_fetch_add_relaxed(&t->sum_ns, ns * weight);
  uint64_t seen = volt_load_relaxed(&t->longest_ns);
  /* relaxed, no data: a number by itself, as above */
  while (seen < ns && !volt_cas_relaxed(&t->longest_ns, &seen, ns)) {
  }
}

/* Add it to what *out has, while others write: each number by itself. */
VOLT_API void volt_shared_histogram_read_(const volt_shared_histogram_ *t, volt_histogram *out);

/* Empty it. A histogram that is empty is not written to, so its memory need not be there. */
VOLT_API void volt_shared_histogram_clear_(volt_shared_histogram_ *t);

/* The first time that is in none of the steps up to this one. */
VOLT_API uint64_t volt_histogram_end_ns_(unsigned step);

#endif
