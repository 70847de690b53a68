/* channels.h: the workloads on channels. Elements are 64 bits; what was received is added up, and
 * has to be what was sent. */
#ifndef VOLT_BENCH_CHANNELS_H
#define VOLT_BENCH_CHANNELS_H

#include <pthread.h>

#include "tasks.h"

VOLT_CHAN_DECLARE(numbers, uint64_t);

/* By tasks: chan_tasks.c, compiled for each. */
#define CHAN_ENGINES(X) X(volt) X(dekker) X(slots)
#define CHAN_CASES_(name) extern const rt_case chan_##name[];
CHAN_ENGINES(CHAN_CASES_)
#undef CHAN_CASES_

/* By threads: chan_threads.c. generic: functions for elements of any size; typed: for 64 bits. */
extern const rt_case chan_threads_cases[];

/* Memory for a channel, aligned to a cache line; fails if there is none. */
void *chan_memory(size_t bytes);

/* ---- a second thread, which sleeps: chan_threads.c ---- */

typedef struct chan_sleeper {
  pthread_t thread;
  volt_sem end;
} chan_sleeper;

void chan_sleeper_start(chan_sleeper *s);
void chan_sleeper_end(chan_sleeper *s);

#endif
