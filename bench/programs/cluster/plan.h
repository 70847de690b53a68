/* plan.h: what a limit of many hosts can do, on the simulated ensemble (volt/ensemble.h). Time
 * is virtual, so the figures are those of the plan, and not of the machine that computes them. */
#ifndef BENCH_CLUSTER_PLAN_H
#define BENCH_CLUSTER_PLAN_H

#include <volt/ensemble.h>

#define PLAN_US UINT64_C(1000)
#define PLAN_MS UINT64_C(1000000)
#define PLAN_SECOND UINT64_C(1000000000)

enum { PLAN_WAIT_BUCKETS = 1200, PLAN_SLICES = 1000 };

/* What happens fault_ns after the measurement has begun. */
enum plan_fault {
  PLAN_NO_FAULT,
  PLAN_HOLDER_DIES, /* the host that holds most */
  PLAN_WAITER_DIES, /* a host that queues and holds nothing; the one that holds fewest */
  PLAN_ENSEMBLE_AWAY,
  PLAN_FOLLOWER_CUT
};

typedef struct plan_config {
  const char *recipe;
  uint32_t hosts, tasks, limit; /* tasks: of each host */
  uint64_t section_ns, warm_ns, run_ns;
  uint64_t rest_ns; /* the tasks have ended when the measurement begins, so long before; 0: never */
  uint64_t slice_ns; /* of the series; 0: none */
  enum plan_fault fault;
  uint64_t fault_ns, away_ns, tick_ns;
  uint64_t seed;
} plan_config;

typedef struct plan_result {
  uint64_t permits, writes, heartbeats, reads, events;
  uint64_t departures;                           /* entries of a queue that were deleted */
  uint64_t lost;                                 /* leases */
  uint64_t slowest, fastest;                     /* hosts: permits */
  uint64_t waits[PLAN_WAIT_BUCKETS], longest_ns; /* of those that were granted, by log2 in 16ths */
  uint64_t gap_before_ns, gap_after_ns;          /* the longest that a host had no permit granted */
  uint64_t slots_back_ns; /* since the host died: all slots that it had are leased again */
  uint32_t slots_of_dead;
  uint32_t slice[PLAN_SLICES], leased[PLAN_SLICES], slices;
} plan_result;

/* Three servers, 5 ms a write and 0.5 ms a read on average, at most 5,000 writes/s. */
volt_ensemble *plan_ensemble(const plan_config *config,
                             void (*changed)(void *ctx, const volt_ensemble_change *change),
                             void *ctx);
void plan_note_wait(plan_result *r, uint64_t ns);

/* Hosts with tasks that want permits of one volt_cluster_sem all the time. */
void plan_run_volt(const plan_config *config, plan_result *r);
/* Hosts with as many permits under way as tasks, by a recipe that writes for each: lock.c */
void plan_run_lock(const plan_config *config, plan_result *r);

#endif
