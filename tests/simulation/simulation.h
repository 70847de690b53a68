/* simulation.h: hosts, tasks and faults on the simulated ensemble, all by one seed.
 *
 *   world.c    what a seed means; the phases of a run
 *   host.c     hosts that begin, end and die; what their tasks do
 *   faults.c   what goes wrong, and when it is over
 *   slow.c     instead of faults: hosts on slow links
 *   crowd.c    instead of faults: many hosts that come at once
 *   check.c    what must hold, at every step
 *   main.c     seeds, one after the other
 *
 * A run has phases: faults; all is healed, and the world settles; quiet, in which bounds of waiting
 * hold; no demand, in which nothing is written; the end, after which no node is left. */
#ifndef VOLT_SIMULATION_H
#define VOLT_SIMULATION_H

#include <volt/async.h>
#include <volt/ensemble.h>
#include <volt/time.h>

#include "rng.h"

#define MS UINT64_C(1000000)
#define SECOND UINT64_C(1000000000)

enum { HOSTS_MAX = 300, SEMS_MAX = 2, SLOTS_MAX = 1024, NAME_MAX_ = 160 };

/* What a seed means. */
typedef struct plan {
  uint64_t seed;
  uint32_t hosts, tasks, sems, limit, lease_max, capacity;
  uint64_t quantum_ns, linger_ns, session_ns, section_ns, think_ns;
  uint64_t faults_ns, each_fault_ns; /* for how long; on average one in so long */
  uint32_t faults;                   /* bits of enum fault */
  uint32_t turn;                     /* of the node's data: when directories are made anew */
  volt_ensemble_config ensemble;
} plan;

enum fault {
  FAULT_DISCONNECT,
  FAULT_LOSE_REQUEST,
  FAULT_LOSE_ANSWER,
  FAULT_HOST_CUT,
  FAULT_HOST_STOP,
  FAULT_HOST_SUSPEND,
  FAULT_HOST_DRIFT,
  FAULT_HOST_KILL,
  FAULT_HOST_CLOSE,
  FAULT_SERVER_KILL,
  FAULT_SERVER_STOP,
  FAULT_SERVER_CUT,
  FAULT_BOTH, /* a host is cut off or stops, and its server dies */
  FAULT_EXPIRE,
  FAULT_LIMIT,
  FAULT_DELETE,
  FAULT_REPLACE,
  FAULTS
};

enum phase { PHASE_FAULTS, PHASE_SETTLES, PHASE_SLOW, PHASE_QUIET, PHASE_IDLE, PHASE_END };

typedef struct world world;
typedef struct host host;

typedef struct worker {
  volt_task task;
  world *w;
  host *h;
  uint32_t sem, number;
  volt_cluster_acquire_op acquire;
  volt_cluster_permit permit;
  volt_cluster_fence fence;
  volt_future lost;
  volt_timeout timeout;
  volt_sleep_op nap;
  volt_cluster_change change;
  int result;
  bool is_waiting, holds;
  bool was_invalid;  /* its permit, after its host has run */
  uint64_t session;  /* in which it got the permit */
  uint64_t since_ns; /* of the world: it waits */
  struct worker *next_of_slot, **here_of_slot;
  struct worker *next_of_host, **here_of_host;
} worker;

struct host {
  world *w;
  uint32_t number; /* of the ensemble's */
  bool is_there, is_dead, is_closing, is_closed;
  bool is_stopped, is_suspended, is_cut;
  uint64_t over_ns;      /* the fault is */
  uint64_t void_session; /* was ended by hand: its permits do not count */
  uint64_t grants;       /* valid ones */
  uint64_t granted_ns;   /* the last one was; 0: none was */
  volt_rt *rt;
  volt_cluster *cluster;
  volt_cluster_sem *sem[SEMS_MAX];
  volt_group group;
  worker *workers;
  worker *holding;
  struct closer {
    volt_task task;
    host *h;
    volt_future closed;
    int result;
  } closer;
};

/* What is known of a semaphore's nodes. */
typedef struct queued {
  uint64_t created, owner;
  uint32_t generation;
  bool is_marked;
  char name[NAME_MAX_];
} queued;

typedef struct watched {
  char name[16];
  worker *held[SLOTS_MAX];
  volt_cluster_fence last[SLOTS_MAX]; /* of a valid permit */
  bool has_last[SLOTS_MAX];
  uint64_t owner[SLOTS_MAX]; /* of a slot that is leased: its session; else 0 */
  uint32_t leased;
  uint32_t limit, limit_before; /* the greatest of the last while: limit_before, until before_ns */
  uint64_t before_ns;
  queued *queue;
  uint32_t queue_count, queue_size;
  uint64_t head, head_since_ns,
      due_since_ns; /* the first in the queue that is not marked; since when
                                               * it is; since when it has to be served, or 0 */
} watched;

typedef struct results {
  uint64_t grants, lost, timeouts, steps, marks, writes, events, departures, events_most;
  uint64_t wait_most_ns, head_most_ns;
  uint64_t valid;        /* of grants */
  uint64_t grants_alone; /* slow.c: had there been no slow hosts */
  double least_part;     /* of a round */
  uint64_t faults, hash;
} results;

struct world {
  plan plan;
  volt_ensemble *e;
  rng random;
  enum phase phase;
  uint64_t phase_ns; /* it began */
  host hosts[HOSTS_MAX];
  uint32_t host_count;
  watched sem[SEMS_MAX];
  uint64_t calm_ns; /* no other fault before */
  uint64_t next_fault_ns, servers_over_ns[VOLT_ENSEMBLE_SERVERS_MAX], replace_ns, era_ns;
  uint32_t era;
  bool is_traced, has_failed;
  results results;
};

/* ---- world.c ---- */

void plan_of_seed(plan *p, uint64_t seed);
void world_phase(world *w, enum phase phase);
void world_begin(world *w, const plan *p, bool is_traced);
void world_go_on(world *w, uint64_t for_ns);             /* until then, or a check fails */
bool world_run(world *w, const plan *p, bool is_traced); /* whether all held */
void world_end(world *w);                                /* all hosts close, and nothing is left */
void world_trace(world *w, const char *format, ...) __attribute__((__format__(__printf__, 2, 3)));
void world_fail(world *w, const char *format, ...) __attribute__((__format__(__printf__, 2, 3)));
uint64_t world_chance_ns(world *w, uint64_t most_ns); /* rather short */

/* ---- slow.c ---- */

bool slow_run(world *w, uint64_t seed, bool is_traced, bool is_shown);

/* ---- crowd.c ---- */

bool crowd_run(world *w, uint64_t seed, bool is_traced, bool is_shown);

/* ---- host.c ---- */

void host_begin(world *w, host *h);
void host_close(host *h);
void host_kill(host *h);
bool host_reap(host *h); /* free it, if it has ended */

/* ---- faults.c ---- */

void faults_begin(world *w);
void faults_make_nodes(world *w); /* by hand */
void faults_look(world *w);       /* at the time */
uint64_t faults_next_ns(const world *w);
void faults_heal(world *w);
bool faults_restore_limits(world *w);

/* ---- check.c ---- */

void check_begin(world *w);
void check_end(world *w);
void check_changed(void *ctx, const volt_ensemble_change *change);
void check_granted(worker *t);
void check_releases(worker *t);
void check_waits(worker *t);
void check_ends_wait(worker *t);
void check_step(world *w);   /* after each */
void check_bounds(world *w); /* now and then, while it is quiet */
uint64_t check_idle_bound_ns(const world *w);
void check_nothing_left(world *w);

#endif
