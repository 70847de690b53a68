/* engine.h: a host and its leases, as the driver sees them. Not for the host's half.
 *
 *   cluster.c        life of a host, the driver task
 *   session.c        requests and sessions, heartbeats, leases that become void
 *   lease.c          life of a lease, its doorbell, what it says to others
 *   change.c         futures that the driver completes: closed, the limit is changed
 *   recipe.c         one semaphore at the ensemble: what to do next
 *   recipe_node.c    ... its node: read, made, changed
 *   recipe_view.c    ... the lists that were read, and what they say
 *   recipe_queue.c   ... as one that waits: queue, take
 *   recipe_pass.c    ... hosts that stand in the way: marked, and passed; slow ones, that rest
 *   recipe_hold.c    ... as one that holds: give
 *   recipe_write.c   ... transactions, and what their answers change
 *   recipe_lost.c   ... which of them was done, when an answer is lost */
#ifndef VOLT_CLUSTER_HOST_ENGINE_H
#define VOLT_CLUSTER_HOST_ENGINE_H

#include <volt/detail/short_lock.h>
#include <volt/notify.h>
#include <volt/select.h>
#include <volt/watch.h>

#include "../recipe/names.h"
#include "../recipe/recipe.h"
#include "../recipe/recipe_pass.h"
#include "../recipe/recipe_view.h"
#include "../recipe/recipe_write.h"
#include "change.h"
#include "local.h"
#include "session.h"
#include "slots.h"
#include "validity.h"

enum {
  ENGINE_NAME_MAX = 100, /* of a semaphore */
  ENGINE_ROOT_MAX = VOLT_CLUSTER_ROOT_MAX,
  ENGINE_HOST_MAX = 64,
  ENGINE_BATCH = 128, /* slots in one transaction at most */
  ENGINE_BEATS = 16,  /* heartbeats under way at most */
  ENGINE_TURN = 1 << 30
};

struct volt_cluster_lease {
  volt_cluster *c;
  cluster_local local;
  volt_cluster_sem_config config;
  uint32_t number; /* among those of the host, from 1 on */
  char name[ENGINE_NAME_MAX + 1];
  char directory[ENGINE_ROOT_MAX + ENGINE_NAME_MAX + 2]; /* the node's path */

  /* any thread */
  VOLT_ATOMIC(uint32_t) is_rung;
  VOLT_ATOMIC(uint32_t) is_closing;
  VOLT_PLAIN(volt_cluster_lease *) rung_next; /* in the host's stack of those that have rung */
  volt_cluster_lease *next;                   /* of the host; under its lock */
  engine_waiters changes;                     /* under its lock */
  volt_cluster_lease_stats published;         /* under its lock: the driver's part of the stats */

  /* the driver: what it has asked */
  volt_cluster_lease *next_driven;
  bool is_driven;
  bool is_dirty;  /* to be looked at */
  bool is_closed; /* local.close() was called */
  bool has_seen_foreign;
  bool is_wanted; /* more slots could be used */
  uint32_t under_way;
  uint32_t seen;             /* which lists are of now: bits of ASK_... */
  uint32_t watched;          /* which watches are set */
  uint64_t wake_ns;          /* when it is to be looked at again */
  uint64_t pause_until_ns;   /* after an error that should not be */
  uint64_t refused_until_ns; /* the same, but what it has may be given back */
  uint32_t failures;         /* in a row */
  uint64_t guids;            /* so far */
  volt_cluster_lease_stats stats;
  engine_call calls[ASK_COUNT];

  /* ... the node */
  bool is_missing;
  bool is_good;          /* data was read once */
  uint32_t making;       /* the part of the way to the node that is to be made; 0: the node */
  bool has_way;          /* the way to the node was made */
  uint32_t lacking;      /* 1..3: q<G>, h<G>, s is to be made; 0: none */
  bool turns_alone;      /* the directories of the next generation are there already */
  uint64_t old_until_ns; /* not to try again to delete the older directories before */
  uint32_t version;
  cluster_data data; /* the last that was good */
  char text[CLUSTER_DATA_SIZE];
  uint32_t text_size;
  char new_text[CLUSTER_DATA_SIZE]; /* what is being written */
  cluster_data new_data;
  int result;      /* why nothing is leased */
  int refused;     /* what local.refuse() was called with */
  int cannot_make; /* why the node cannot be made; VOLT_OK: it was not tried, or can */
  engine_complaint complaint;
  bool old_is_gone[2]; /* by enum cluster_place: the directory of the generation before */
  uint32_t seen_era;
  uint64_t seen_transaction; /* the newest of this era */
  bool is_era_wrong;

  /* ... of this host */
  cluster_guid guid;
  char mark[33 + 1 + ENGINE_HOST_MAX + 2]; /* the data of its slots */
  bool in_queue;
  bool in_holders;
  cluster_entry queue_entry;
  cluster_entry holders_entry;
  engine_slot *slots;
  uint32_t in_state[3]; /* how many of them */
  uint32_t slot_count;
  uint32_t slot_capacity;
  uint32_t cut_limit; /* the limit that local.take_back_from() was called with */

  /* ... lists */
  engine_list queue;
  engine_list holders;
  engine_list by_guid; /* the holders */
  engine_list
      strays[2]; /* by enum cluster_list: entries that are no host's; of both, `old` is unused */
  engine_numbers taken;
  engine_numbers doubtful; /* slots whose write was not answered */
  uint32_t doubt;          /* the one that is being read */

  /* ... of hosts that stand in the way */
  pass_state pass;
  engine_list marked; /* entries of the queue that are known to be marked; `old` is unused */

  /* ... time */
  uint64_t served_since_ns;   /* the quantum's begin */
  uint64_t check_at_ns;       /* when to look at the queue; 0: when a watch fires */
  uint64_t unwanted_since_ns; /* in the queue, and no task waits */
  uint64_t idle_since_ns;
  uint32_t idle_least;
  bool watches_idle;         /* local.watch_idle() was called: the next release rings */
  uint64_t watch_idle_at_ns; /* when to call it, if all is in use */
  uint64_t tried_ns;         /* the last try in vain that was heard; 0: none yet */
  uint64_t tried_until_ns;   /* so long a slot is kept for the next one */
  bool has_passed;
  cluster_entry passed_for; /* the newest in the queue, when this one moved to the end of h */
  uint32_t first_check;     /* lists to be read with the queue, because it may be the first now */
  bool steps_back;          /* to be queued anew with the next GIVE */
  bool yields;              /* not to queue before it has looked: others with fewer slots do */

  /* ... a write without an answer */
  bool is_unsure;
  bool is_barred; /* nothing of before can be carried out any more */
  engine_write write;
};

struct volt_cluster {
  volt_task task;
  volt_rt *rt;
  const volt_cluster_kind *kind;
  volt_cluster_backend *backend;
  volt_cluster_config config;
  char *strings; /* of the config */
  char root[ENGINE_ROOT_MAX + 1];
  char host[ENGINE_HOST_MAX + 1];
  int pid;
  VOLT_ATOMIC(uint32_t) *is_here; /* 1; 0 in a child of fork() (wiped.h) */

  /* any thread */
  VOLT_ATOMIC(uint64_t) valid_until_ns;
  VOLT_ATOMIC(uint32_t) is_closing;
  VOLT_ATOMIC(volt_cluster_lease *) rung;
  volt_notify bell;
  volt_watch changes; /* of the state, or of a lease's result; the driver sends */
  volt_short_lock lock;
  volt_cluster_lease *leases; /* all; under the lock */
  uint32_t lease_count;
  engine_waiters closers;
  bool is_ended; /* under the lock */
  int ended_result;
  volt_cluster_stats_of published; /* under the lock */

  /* the driver */
  volt_cluster_lease *driven;
  volt_future bell_future;
  volt_future *either[2];
  volt_select select;
  int result;
  volt_cluster_stats_of stats;
  uint64_t due_ns;     /* when the driver was to look again */
  uint64_t late_ns;    /* how much later it did, at most, in about a session's time */
  uint64_t late_at_ns; /* when that was */
  bool must_connect;
  uint64_t sessions; /* counts them: another number for each */
  cluster_validity validity;
  uint64_t write_sent_ns; /* when the newest was submitted; 0: none in this session */
  uint64_t sent_ns;
  uint64_t quick_ns;       /* of a write, as stats.round_ns, while the ensemble is not busy */
  uint64_t measured_ns;    /* since then */
  bool has_written;        /* since it was opened */
  bool heartbeat_was_last; /* of the writes that were sent */
  uint64_t valid_since_ns; /* new leases are, at each look; 0: they are not */
  uint64_t doubt_ns; /* a lease could not be used: nothing is leased for so long; 0: no doubt */
  uint64_t doubt_until_ns;
  bool could_lease; /* when the driver looked last */
  engine_beat beats[ENGINE_BEATS];
};

#endif
