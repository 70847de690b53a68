/* counts.h: how often threads and tasks have waited.
 *
 * What has to wait is counted, always, by kind of object. What is free is taken without that: so a
 * lock that is never contended has no counts, and costs no more than it would without them.
 *
 *   volt_counts_of counts[64];
 *   unsigned kinds = volt_counts(counts, 64);
 *   for (unsigned i = 0; i < kinds && i < 64; i++)
 *     printf("%s: %" PRIu64 " waits\n", counts[i].kind, counts[i].waits); */
#ifndef VOLT_COUNTS_H
#define VOLT_COUNTS_H

#include "base.h"

/* What has happened so far, in this process, with one kind of object. A child of fork() goes on from
 * what its parent had counted. */
typedef struct volt_counts_of {
  const char *kind;  /* "mutex", "semaphore", "channel", ... */
  uint64_t waits;    /* waiters that were queued */
  uint64_t grants;   /* waiters that got what they waited for */
  uint64_t cancels;  /* waiters that gave up, deadlines included */
  uint64_t timeouts; /* of these: a deadline of a blocking call had passed */
  uint64_t closes;   /* waiters whose object was closed */
  uint64_t sleeps;   /* of threads that wait for such an object, in the kernel */
  uint64_t naps; /* "internal lock" only: sleeps of 50 us while another thread is in the middle of
                      * an operation */
} volt_counts_of;

VOLT_BEGIN_DECLS

/* Read the counts of each kind of object: the same kinds in the same order at each call.
 * counts: for max of them; may be NULL if max is 0.
 * Returns how many kinds there are, also if that is more than max.
 * Threads: any, while others count: each number is exact for what has ended before the call.
 * Cost: some microseconds. */
VOLT_API unsigned volt_counts(volt_counts_of *counts, unsigned max);

VOLT_END_DECLS
#endif
