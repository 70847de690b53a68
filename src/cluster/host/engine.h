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

#include "../../core/os/check.h"
#include "../recipe/names.h"
#include "../recipe/recipe_pass.h"
#include "cluster_internal.h"
#include "validity.h"

enum {
  ENGINE_NAME_MAX = 100, /* of a semaphore */
  ENGINE_ROOT_MAX = VOLT_CLUSTER_ROOT_MAX,
  ENGINE_HOST_MAX = 64,
  ENGINE_BATCH = 128, /* slots in one transaction at most */
  ENGINE_BEATS = 16,  /* heartbeats under way at most */
  ENGINE_TURN = 1 << 30
};

/* Waiters of futures that the driver completes; under the lock. */
typedef struct engine_waiters {
  volt_short_lock *lock;
  volt_waiter *first;
} engine_waiters;

/* What a lease asks. Each has a request of its own, so it asks for each once at a time. */
enum engine_ask {
  ASK_DATA = 1,  /* READ of the node, with a watch */
  ASK_NODE,      /* STAT of the node that is not there, with a watch */
  ASK_QUEUE,     /* CHILDREN of q<G> */
  ASK_QUEUE_OLD, /* CHILDREN of q<G-1> */
  ASK_HOLDERS,
  ASK_HOLDERS_OLD,
  ASK_SLOTS,
  ASK_BEFORE_IN_QUEUE, /* READ of the predecessor, with a watch */
  ASK_BEFORE_IN_HOLDERS,
  ASK_FIRST_IN_QUEUE, /* READ of the entry for which all wait, or of this host's own */
  ASK_ONE_SLOT,       /* READ */
  ASK_WRITE,
  ASK_COUNT
};
#define ENGINE_BIT(ask) (1u << (unsigned)(ask))

typedef struct engine_call {
  volt_cluster_request request;
  volt_cluster *c;
  volt_cluster_lease *lease; /* NULL: the host's own */
  uint64_t session;          /* of the host, as it was submitted */
  bool is_watched;
  enum engine_ask ask;
} engine_call;

/* A heartbeat. */
typedef struct engine_beat {
  engine_call call; /* first */
  volt_cluster_action action;
  bool is_under_way;
} engine_beat;

/* Entries of both generations, in the order of their age. */
typedef struct engine_list {
  cluster_entry *at;
  uint32_t count;
  uint32_t capacity;
  uint32_t old; /* names in the older directory, ours or not */
} engine_list;

/* Slots by their numbers. */
typedef struct engine_numbers {
  uint32_t *at;
  uint32_t count;
  uint32_t capacity;
} engine_numbers;

/* A slot whose node is this host's. */
enum engine_slot_state {
  SLOT_NEW,      /* the host's half does not have it yet */
  SLOT_IN_USE,   /* it has */
  SLOT_RETURNING /* it has not any more: the node is to be deleted */
};

typedef struct engine_slot {
  cluster_slot slot;
  enum engine_slot_state state;
  uint64_t since_ns; /* its TAKE was sent */
} engine_slot;

/* What an action of a transaction does to what the lease knows. */
enum engine_effect {
  EFFECT_NONE,
  EFFECT_TAKE_SLOT,
  EFFECT_GIVE_SLOT,
  EFFECT_ENTER_QUEUE,
  EFFECT_LEAVE_QUEUE,
  EFFECT_ENTER_HOLDERS,
  EFFECT_LEAVE_HOLDERS,
  EFFECT_MARK,
  EFFECT_SET_DATA,
  EFFECT_MAKE, /* a directory or a node: EEXISTS is as good */
  EFFECT_DELETE_OLD_QUEUE,
  EFFECT_DELETE_OLD_HOLDERS,
  EFFECT_DELETE_STRAY
};

typedef struct engine_action {
  enum engine_effect effect;
  uint32_t slot;
} engine_action;

/* The transaction that is being built, or under way. */
typedef struct engine_write {
  volt_cluster_action *actions;
  engine_action *effects;
  uint32_t count;
  uint32_t capacity;
  uint32_t generation; /* that entries are made in */
} engine_write;

/* What was said last that is wrong. */
typedef struct engine_complaint {
  int result;
  uint64_t again_ns; /* when to say the same again */
  uint64_t step_ns;
} engine_complaint;

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

/* ---- cluster.c, lease.c, change.c ---- */

void cluster_log_(volt_cluster *c, enum volt_cluster_level level, const char *format, ...)
    VOLT_PRINTF_(3, 4);
uint64_t cluster_now_(const volt_cluster *c);
/* Publish what the driver knows of the host. */
void cluster_publish_(volt_cluster *c);

/* Take the leases that have rung: they are dirty. */
void lease_take_rung_(volt_cluster *c);
/* Publish what the driver knows of it. */
void lease_publish_(volt_cluster_lease *l);
/* Say to the host's half whether it is of use to wait. is_looked_at: recipe_check_() was called. */
void lease_refuse_(volt_cluster_lease *l, bool is_checked);
void lease_free_(volt_cluster_lease *l);

/* Complete the futures of the host's end, and those of limits. */
void change_ended_(volt_cluster *c, int result);
/* The limit that is asked for. Those that ask are answered by change_done_(), no others. Returns
 * false if there is none. */
bool change_begin_(volt_cluster_lease *l, uint32_t *limit);
void change_done_(volt_cluster_lease *l, int result);
/* Answer all that ask. */
void change_refuse_(volt_cluster_lease *l, int result);

/* ---- recipe.c ---- */

/* Look what is to be done, and begin it, if the lease is dirty and nothing is under way. */
void recipe_check_(volt_cluster_lease *l);
/* The request of call was answered in this session. */
void recipe_answered_(volt_cluster_lease *l, enum engine_ask ask, volt_cluster_request *r);
void recipe_watch_fired_(volt_cluster_lease *l, enum engine_ask ask);
/* The session is connected: new, or again. */
void recipe_connected_(volt_cluster_lease *l, bool is_new);
/* The session has ended, and all nodes of this host with it. */
void recipe_expired_(volt_cluster_lease *l);
/* The leases of this host are void. The nodes are to be deleted. */
void recipe_lose_(volt_cluster_lease *l);

#define RECIPE_PAUSE_NS UINT64_C(1000000000)

void recipe_wake_at_(volt_cluster_lease *l, uint64_t ns);
/* Do nothing for so long. */
void recipe_pause_(volt_cluster_lease *l, uint64_t ns);
/* Nothing more is leased for a while, because the ensemble refuses it. */
void recipe_refused_(volt_cluster_lease *l, int result);
/* Whether to say that this is wrong: it is another thing than before, or was last said some time ago;
 * the time becomes longer. */
bool recipe_complains_(volt_cluster_lease *l, int result);
uint64_t recipe_quantum_(const volt_cluster_lease *l);
uint64_t recipe_linger_(const volt_cluster_lease *l);
/* Slots that this host means to keep: not those that tasks still have, and that will be given. */
uint32_t recipe_active_(const volt_cluster_lease *l);
/* Idle slots that are kept for a task that tries again: 1, or 0. */
uint32_t recipe_reserved_(const volt_cluster_lease *l);
/* Slots whose nodes stay if nothing else is given. */
uint32_t recipe_kept_(const volt_cluster_lease *l);
/* Slots that were taken back, and that tasks still have. */
uint32_t recipe_owed_(const volt_cluster_lease *l);
/* How many more slots could be used; 0 while the host may not lease. */
uint32_t recipe_want_(volt_cluster_lease *l);
/* Ask the host's half for so many slots, and see which it has given. */
void recipe_take_back_(volt_cluster_lease *l, uint32_t count);
/* All lists are to be read again. Watches whose lists were not decided upon count as not set. */
void recipe_forget_lists_(volt_cluster_lease *l);

/* Each of the next that says so returns whether it has submitted a request. */

/* ---- recipe_node.c ---- */

/* Returns whether it has submitted a request, or there is no node to go on with. */
bool node_check_(volt_cluster_lease *l);
/* Make a new generation of directories, if the numbers of this one have grown. Submits. */
bool node_turn_(volt_cluster_lease *l);
/* Delete the directory of the generation before, if it is empty. Submits. */
bool node_delete_old_(volt_cluster_lease *l, enum cluster_list place);
bool node_has_old_(const volt_cluster_lease *l, enum cluster_list place);
void node_read_(volt_cluster_lease *l, volt_cluster_request *r);
void node_statted_(volt_cluster_lease *l, volt_cluster_request *r);
void node_set_(volt_cluster_lease *l, int result);
void node_made_(volt_cluster_lease *l, int result);
/* A directory is not there. */
void node_lacks_(volt_cluster_lease *l);
/* A transaction of this number was carried out. */
void node_saw_(volt_cluster_lease *l, uint64_t transaction, bool is_new);

/* ---- recipe_queue.c, recipe_hold.c ---- */

bool queue_check_(volt_cluster_lease *l); /* submits */
bool hold_check_(volt_cluster_lease *l);  /* submits */
/* Delete the nodes of what is to be returned, and have the entry among the holders be true. Submits. */
bool hold_give_(volt_cluster_lease *l);
/* How many slots a host with `has` has to give, if another one that queues has fewer. */
uint32_t hold_must_(const volt_cluster_lease *l, uint32_t has);
uint32_t hold_share_low_(const volt_cluster_lease *l);
uint32_t hold_share_high_(const volt_cluster_lease *l);

#include "../recipe/recipe_internal.h"
#include "session.h"
#include "slots.h"

#endif
