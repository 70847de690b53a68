/* rt_load.h: a mixed load for runtimes: tasks of many kinds that wait for permits, a lock, time,
 * calls that block, each other; and the books that must balance when all have ended.
 *
 * Each task that was spawned counts its end in its VOLT_FINALLY, cancelled or not, so a task that is
 * lost is seen; so are permits that nobody has given back. */
#ifndef VOLT_STRESS_RT_LOAD_H
#define VOLT_STRESS_RT_LOAD_H

#include <volt/runtime.h>

#include "../harness.h"

typedef struct rt_load {
  volt_rt *rt;
  volt_sem sem;
  uint32_t permits;
  volt_mutex mutex;
  uint64_t in_mutex; /* plain: under the mutex */
  VOLT_ATOMIC(uint64_t) spawned;
  VOLT_ATOMIC(uint64_t) ended;
  VOLT_ATOMIC(uint64_t) seed; /* of the next task */
  VOLT_ATOMIC(uint64_t) held; /* bytes that the runtime has */
} rt_load;

typedef struct load_task {
  volt_task task;
  rt_load *load;
  rng random;
  volt_task_fn *poll;
  struct load_task *child;
  volt_group group;
  volt_future first;
  volt_sleep_op nap;
  uint64_t deadline_ns; /* of the nap */
  volt_select select;
  volt_timeout timeout;
  volt_blocking blocking;
  volt_future *branches[2];
  uint32_t depth; /* how many generations may follow */
  uint32_t rounds;
  uint32_t holds; /* permits */
  bool is_locked;
  bool fails; /* if nothing else has gone wrong */
  int result;
} load_task;

/* Start a runtime with so many workers, and its books. From now on an abort prints its state. */
void rt_load_begin(rt_load *l, unsigned workers, uint64_t seed);

/* The same with I/O of that kind. */
void rt_load_begin_io(rt_load *l, unsigned workers, uint64_t seed, const volt_io_kind *io);

/* A task of any kind, all set but not spawned; it is the caller's to detach. */
load_task *rt_load_new(rt_load *l, uint32_t depth);

/* The same in the caller's memory. */
void rt_load_init(rt_load *l, load_task *t, uint32_t depth);

/* Spawn it, into group if that is not NULL. Returns as volt_spawn(). */
int rt_load_spawn(rt_load *l, volt_group *group, load_task *t);

/* Destroy the runtime. Returns how many had to be cancelled. */
uint64_t rt_load_destroy(rt_load *l);

/* Give it up by volt_rt_shutdown_background(), and wait until it is gone: all its calls end. */
void rt_load_give_up(rt_load *l);

/* The books of a runtime that is destroyed, when no thread uses the load any more. */
void rt_load_check(rt_load *l);

/* Wait until every task has ended by itself, destroy, check. */
void rt_load_end(rt_load *l);

#endif
