/* counts.h: how often threads and tasks have waited, and for how long.
 *
 * What has to wait is counted, always, by kind of object. What is free is taken without that: so a
 * lock that is never contended has no counts, and costs no more than it would without them.
 *
 *   volt_counts_of counts[64];
 *   unsigned kinds = volt_counts(counts, 64);
 *   for (unsigned i = 0; i < kinds && i < 64; i++)
 *     printf("%s: %" PRIu64 " waits\n", counts[i].kind, counts[i].waits);
 *
 * For how long is recorded from volt_sight_enable() with VOLT_SIGHT_WAITS on, by kind and by object,
 * for objects that have a name (volt/name.h):
 *
 *   volt_histogram waits;
 *   if (volt_waits_of(&pool, &waits) == VOLT_OK)
 *     printf("p99: %" PRIu64 " ns\n", volt_histogram_at_ns(&waits, 0.99)); */
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
  uint64_t
      closes; /* waiters whose object was closed, or (budget) whose request became impossible */
  uint64_t sleeps; /* of threads that wait for such an object, in the kernel */
  uint64_t naps;   /* "internal lock" only: sleeps of 50 us while another thread is in the middle of
                      * an operation */
} volt_counts_of;

/* How long things have taken: counts by length, 8 steps an octave, from 16 ns to 18 minutes. Shorter
 * ones are in the first step, longer ones in the last. */
enum { VOLT_HISTOGRAM_STEPS = 288 };
typedef struct volt_histogram {
  uint64_t count;
  uint64_t sum_ns;
  uint64_t longest_ns;
  uint64_t step[VOLT_HISTOGRAM_STEPS];
} volt_histogram;

VOLT_BEGIN_DECLS

/* Read the counts of each kind of object: the same kinds in the same order at each call.
 * counts: for max of them; may be NULL if max is 0.
 * Returns how many kinds there are, also if that is more than max.
 * Threads: any, while others count: each number is exact for what has ended before the call.
 * Cost: some microseconds. */
VOLT_API unsigned volt_counts(volt_counts_of *counts, unsigned max);

/* How long waits for an object have taken since histograms were switched on: from when a waiter was
 * queued until its owner has gone on, whatever has ended the wait. Each wait of a thread is timed. Of
 * the waits of tasks one in volt_sight_config.sample is, and stands for so many: then count and sum
 * are estimates.
 * object: it has a name. waits: gets a copy, which others do not change.
 * Returns VOLT_OK; VOLT_EINVAL: the object has no name; VOLT_EAGAIN: VOLT_SIGHT_WAITS was never on.
 * Threads: any. */
VOLT_API int volt_waits_of(const void *object, volt_histogram *waits);

/* The same for all objects of a kind, with and without names.
 * kind: its number in volt_counts().
 * Returns VOLT_OK; VOLT_EINVAL: there is no such kind; VOLT_EAGAIN: VOLT_SIGHT_WAITS was never on. */
VOLT_API int volt_waits_of_kind(unsigned kind, volt_histogram *waits);

/* How long an object was held each time: a mutex, a rwlock by writers and by readers, what a party
 * has of a semaphore until it has given all of it back. Of what each task or thread takes one in 64 is
 * timed, and stands for 64.
 * object: it has a name. holds: gets a copy, which others do not change.
 * Returns VOLT_OK; VOLT_EINVAL: the object has no name; VOLT_EAGAIN: this is not a build with
 *   VOLT_SIGHT=1 (docs/sight.md).
 * Threads: any. */
VOLT_API int volt_holds_of(const void *object, volt_histogram *holds);

/* The time that so many parts of what was recorded did not exceed: 0.5 is the median, 1 the longest.
 * Returns a time that is 12.5 % too long at most (16 ns, if it is shorter); 0: nothing was recorded. */
VOLT_API uint64_t volt_histogram_at_ns(const volt_histogram *h, double quantile);

/* How many were shorter than ns. Exact where a step ends: at 2^n * (8 + i) / 8 ns for n from 4 to 39 and
 * i from 1 to 8, so at powers of two from 32 on. Else the count of the whole steps below. */
VOLT_API uint64_t volt_histogram_below(const volt_histogram *h, uint64_t ns);

VOLT_END_DECLS
#endif
