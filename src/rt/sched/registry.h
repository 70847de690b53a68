/* registry.h: the tasks of a runtime that have not ended, and the threads that wait until none is left. */
#ifndef VOLT_RT_SCHED_REGISTRY_H
#define VOLT_RT_SCHED_REGISTRY_H

#include <volt/park.h>
#include <volt/runtime.h>

#include "short_lock.h"
#include "task_list.h"

/* A call of volt_rt_shutdown() that waits, on its thread's stack; or the loop of a bridge, which
 * looks (registry.c R4). */
typedef struct volt_closer {
  volt_parker parker;
  VOLT_PLAIN(struct volt_closer *) next;
  VOLT_PLAIN(volt_wake_fn) then; /* called after the unpark; NULL: none */
  VOLT_PLAIN(void *) then_ctx;   /* lives as long as the program */
} volt_closer;

/* The tasks that were spawned by one worker, or by other threads, and have not ended. */
struct volt_registry {
  volt_short_lock lock;
  VOLT_PLAIN(uint32_t) is_closed; /* under the lock, like all that follows */
  VOLT_PLAIN(uint64_t) count;
  VOLT_PLAIN(uint64_t) spawned;
  VOLT_PLAIN(struct volt_closer *) closers; /* calls that wait until count is 0 */
  volt_task_link running;
  volt_task_link cancelled; /* by shutdown */
  char line[VOLT_CACHE_LINE];
};

/* The registry of tasks that have not ended: lock the one that a task is in, unlink the task, and
 * unlock. The runtime lives while a task is counted there, so a thread that is no
 * worker uses the runtime for the last time as it counts a task off. */
typedef struct volt_registry volt_registry;
volt_registry *volt_registry_lock_(volt_rt *rt, unsigned shard);
void volt_registry_unlink_(volt_task *t);
void volt_registry_link_again_(volt_task *t); /* where it was, before the unlock */
void volt_registry_unlock_(volt_registry *registry);
void volt_registry_count_off_and_unlock_(volt_registry *registry);

void volt_registry_init_(volt_registry *registry);
int volt_registry_add_(volt_rt *rt, volt_task *t);

/* Add no more tasks, and ask every task to end. Returns how many were asked. */
uint64_t volt_registry_close_(volt_registry *registry);

/* Wait until none is left. Returns VOLT_OK or VOLT_ETIMEDOUT. */
int volt_registry_wait_(volt_registry *registry, uint64_t deadline_ns);

uint64_t volt_registry_count_(volt_registry *registry, uint64_t *spawned);

/* By hand, after volt_rt_shutdown(), once: call then, of a ctx that lives as long as the program,
 * when no task is left. Threads: the loop's. */
void volt_rt_watch_end_(volt_rt *rt, volt_waker then);

/* Whether no task is left, and no thread refers to rt because of one: it may be destroyed. Threads:
 * the loop's, after volt_rt_watch_end_(). */
bool volt_rt_has_ended_(volt_rt *rt);

#endif
