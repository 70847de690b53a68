/* wide.h: put before each source of the library in the program that simulates more than 48 workers,
 * and candidates. It stands in for src/rt/sched/idle.h and src/rt/sched/inject.h.
 *
 * The word of idle.h has room for 48 workers. Here it is as if a word had room for 160: an access
 * costs what one to idle.h's word costs, and what it says is kept beside.
 * The injection queue: one, or one for each of sim_injection_groups groups of cores. */
#ifndef VOLT_SIMULATION_WIDE_H
#define VOLT_SIMULATION_WIDE_H

#include "declared.h"

#define VOLT_RT_SCHED_IDLE_H
#define VOLT_RT_SCHED_INJECT_H

#include <volt/runtime.h>
#include <volt/task.h>

#include "../../src/rt/sched/short_lock.h"
#include "machine.h"

#undef VOLT_RT_WORKERS_MAX
#define VOLT_RT_WORKERS_MAX SIM_CORES

/* The candidates, all as in the tree by default: how many injection queues; whether a search begins in
 * the own group; whether a worker of the own group is woken first; how many may search (0: half of
 * the workers); how often a worker searches all queues; while how many search another one is woken;
 * whether the slot is used also while polls are long. */
extern unsigned sim_injection_groups, sim_steal_near, sim_wake_near, sim_search_most,
    sim_search_rounds, sim_wake_while, sim_slot_always;

/* candidates.c has the search of its own; that of parking.c is not called. */
#ifdef VOLT_SIMULATION_SEARCHES
#define volt_worker_search_ sim_worker_search_of_the_tree_
#endif

/* ---- idle.h ---- */

#define VOLT_IDLE_WORKERS SIM_CORES

typedef struct volt_idle {
  VOLT_ATOMIC(uint64_t) word; /* the watcher, how many search, how many are parked, how often it has
                                 changed: wide_idle.c */
  bool is_parked[SIM_CORES];
} volt_idle;

void volt_idle_init_(volt_idle *idle);
unsigned volt_idle_searching_(uint64_t word);
unsigned volt_idle_watcher_(uint64_t word);
bool volt_idle_is_parked_(volt_idle *idle, uint64_t word, unsigned i);
bool volt_idle_is_alone_(uint64_t word, unsigned i, unsigned workers);
bool volt_idle_claim_(volt_idle *idle, unsigned i);
bool volt_idle_claim_alone_(volt_idle *idle, unsigned i);
unsigned volt_idle_wake_one_(volt_idle *idle, unsigned keeper, uint64_t driven, bool is_urgent);
bool volt_idle_search_(volt_idle *idle, unsigned workers);
uint64_t volt_idle_found_(volt_idle *idle);
bool volt_idle_try_park_(volt_idle *idle, unsigned i, uint64_t *word, unsigned searching,
                         bool watches);
void volt_idle_park_(volt_idle *idle, unsigned i, unsigned searching);
void volt_idle_fence_(volt_idle *idle);
bool volt_idle_wants_work_(volt_idle *idle, bool is_urgent);

/* ---- inject.h ---- */

enum { INJECTION_GROUPS = 32 };

typedef struct injection {
  VOLT_CACHE_ALIGNED volt_short_lock lock;
  volt_task *head, *tail;
  VOLT_ATOMIC(uint64_t) length;
} injection;

typedef struct volt_inject {
  injection of[INJECTION_GROUPS];
  uint64_t length; /* not used; debugger.c says where it is */
} volt_inject;

void volt_inject_init_(volt_inject *q);
void volt_inject_push_(volt_inject *q, volt_task *first, volt_task *last, uint64_t count);
uint64_t volt_inject_length_(volt_inject *q);
unsigned volt_inject_pop_(volt_inject *q, volt_task **out, unsigned max);

#endif
