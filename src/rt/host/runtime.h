/* runtime.h: what a runtime consists of, and which threads may use which part. */
#ifndef VOLT_RT_HOST_RUNTIME_H
#define VOLT_RT_HOST_RUNTIME_H

#include <volt/runtime.h>
#include <volt/timer.h>

#include "../blocking/blocking.h"
#include "../fiber/stack.h"
#include "../memory/pool.h"
#include "../sched/idle.h"
#include "../sched/inject.h"
#include "../sched/registry.h"
#include "../sched/short_lock.h"
#include "../sched/thread.h"
#include "../sched/worker.h"
#include "driver.h"
#include "pins.h"

struct volt_rt {
  volt_rt_config config;
  unsigned workers;
  bool may_watch; /* parking.c: not by hand, not with virtual time, not the only worker */
  volt_idle idle;
  VOLT_ATOMIC(uint64_t) in_long_polls; /* a hint: a bit for each worker that a watcher saw in one */
  VOLT_ATOMIC(uint32_t) keeper;  /* 1 + the worker that sleeps until the next timer; 0: none */
  VOLT_ATOMIC(uint32_t) is_over; /* workers end */
  VOLT_ATOMIC(uint64_t) driven;  /* a hint: a bit for each worker that sleeps in the driver */
  VOLT_ATOMIC(uint32_t) homed;   /* every worker knows that tasks have homes: home.c */
  volt_driver_ *driver;          /* NULL: none */
  volt_inject inject;
  volt_timers timers;
  volt_blocking_pool blocking;
  volt_pool pool;
  volt_stack_pool_ stacks;
  VOLT_ATOMIC(uint64_t) cancelled;  /* by shutdown */
  VOLT_ATOMIC(uint32_t) closing;    /* calls of volt_rt_shutdown() that have not returned */
  VOLT_ATOMIC(uint32_t) is_ending;  /* volt_rt_destroy() was called, or _background() */
  VOLT_ATOMIC(uint32_t) is_run;     /* by hand: whether a thread runs its tasks: by_hand.c */
  VOLT_ATOMIC(uint32_t) has_warned; /* that a worker has blocked */
  volt_signals_ signals;            /* blocked by the thread that has created it */
  char thread_prefix[VOLT_THREAD_NAME_];
  volt_short_lock inspected; /* virtual time: an inspector has claimed tasks: inspect.c R3 */
  volt_pins_ pins;           /* by inspectors */
  volt_closer watches[2];  /* by hand, of each registry: of the loop, once the runtime is to end */
  volt_registry *registry; /* one for each worker, and one for other threads */
  VOLT_PLAIN(volt_rt *) next_rt; /* of this process: runtimes.c */
  VOLT_PLAIN(volt_rt *) prev_rt;
  volt_worker worker[1];
};

/* What a thread of the runtime has from begin to end: it sets its name and calls the user's
 * hook. */
typedef struct volt_rt_thread {
  volt_rt *rt;
  char name[VOLT_THREAD_NAME_];
} volt_rt_thread;

void volt_rt_thread_begins_(volt_rt_thread *thread, volt_rt *rt, char kind, unsigned index);
void volt_rt_thread_ends_(volt_rt_thread *thread);

#endif
