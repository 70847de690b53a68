/* chan_bench.h: the workloads of bench-chan. One run of one workload is one process and one line of
 * JSON; the programs in bench/peers do the same work for the same command line. Elements are 8
 * bytes; what was received is counted and added up, and has to be what was sent.
 *
 *   pair      one thread, or one task: send an element and receive it
 *   mpmc      half of the tasks send, each its share, the others receive, each its share
 *   pingpong  two tasks, two channels: send to the other, receive from it
 *   spsc      two threads: one sends, one receives
 *   family    one thread: an operation of another primitive that nobody waits for
 *   line      as in rt_bench.h
 *
 * A run is done twice, first with an eighth of the operations, which does not count. ns is (last
 * end - first start), as those who do the work stamp it, per element; for pingpong, per hop, of
 * which there are two to an operation. --operations is how many elements each sender sends. */
#ifndef VOLT_BENCH_CHAN_BENCH_H
#define VOLT_BENCH_CHAN_BENCH_H

#include "rt_bench.h"

VOLT_CHAN_DECLARE(numbers, uint64_t);

typedef struct chan_options {
  rt_options crew; /* permits: unused */
  uint32_t capacity;
} chan_options;

/* One way to send and receive, or one of the family. A workload that it does not have is NULL. */
typedef struct chan_engine {
  const char *name;
  rt_outcome (*pair)(const chan_options *o);
  rt_outcome (*mpmc)(const chan_options *o);
  rt_outcome (*pingpong)(const chan_options *o);
  rt_outcome (*spsc)(const chan_options *o);
  rt_outcome (*family)(const chan_options *o);
} chan_engine;

/* Of the family: chan_family.c. */
enum { CHAN_FAMILY = 8 };
extern const chan_engine chan_family[CHAN_FAMILY];

/* By tasks: chan_tasks.c, compiled for each. */
extern const chan_engine chan_volt, chan_dekker, chan_slots;

/* How many operations a run does that does not count. */
static inline uint64_t chan_warm_up(uint64_t operations) {
  return operations / 8 + 1;
}

/* ---- one thread, two threads: chan_threads.c ---- */

rt_outcome chan_pair_generic(const chan_options *o);
rt_outcome chan_pair_typed(const chan_options *o);
rt_outcome chan_spsc_generic(const chan_options *o);
rt_outcome chan_spsc_typed(const chan_options *o);

/* Memory for a channel of this capacity, zeroed; aborts if there is none. */
void *chan_memory(size_t bytes);

#endif
