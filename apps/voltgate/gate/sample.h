/* sample.h: the last ten seconds of a gate. */
#ifndef VOLTGATE_GATE_SAMPLE_H
#define VOLTGATE_GATE_SAMPLE_H

#include <pthread.h>
#include <stddef.h>

#include "gate/statistics.h"

enum { SAMPLES_KEPT = 11 }; /* ten seconds are between eleven moments */

/* What a gate's counters were at some moments. */
struct samples {
  pthread_mutex_t lock;
  struct sample {
    uint64_t at_ns;
    struct statistics_values values;
  } ring[SAMPLES_KEPT];
  size_t count; /* taken so far */
};

void samples_init(struct samples *s);
void samples_destroy(struct samples *s);

/* Take one: once a second. Any thread; it copies some kilobytes. */
void samples_take(struct samples *s, const struct statistics *statistics, uint64_t now_ns);

/* What was counted between the oldest sample that is kept and the newest.
 * Returns how long that is, in nanoseconds; 0: there are not two samples, and *values is zero. */
uint64_t samples_last(struct samples *s, struct statistics_values *values);

#endif
