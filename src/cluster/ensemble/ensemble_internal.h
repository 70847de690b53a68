/* ensemble.h: the parts of the simulated ensemble (volt/ensemble.h).
 *
 *   ensemble.c           time, chance, the heap of what will happen, create and destroy
 *   ensemble_tree.c      nodes: each server has a tree, and the leader one more, of what is proposed
 *   ensemble_write.c     what a transaction does: decided by the leader, in order
 *   ensemble_log.c       the log: proposed, logged by a majority, committed, applied by each server
 *   ensemble_leader.c    leaders, followers, elections, faults of servers
 *   ensemble_session.c   sessions: how long, how the leader hears of them, their end
 *   ensemble_message.c   messages: from, to, when, and whether they arrive
 *   ensemble_link.c      connections: what a server does with the messages of a client
 *   ensemble_watch.c     watches
 *   ensemble_host.c      hosts: runtimes, clocks, faults
 *   simulated_backend.c, simulated_session.c   the client, in the host
 *
 * Everything happens in ensemble_happen_(), one event at a time; a message is an event that happens
 * as it arrives. Messages between the same two ends arrive in the order in which they were sent.
 *
 * The log is one array for all servers, because what two of them have logged differs only in how much:
 * a new leader is the one that has logged most, and what it has not is cut off. So a server is three
 * numbers: logged, known (to be committed) and applied. */
#ifndef VOLT_CLUSTER_ENSEMBLE_ENSEMBLE_INTERNAL_H
#define VOLT_CLUSTER_ENSEMBLE_ENSEMBLE_INTERNAL_H

#include <volt/ensemble.h>

#include "../../core/os/check.h"

#define ENSEMBLE_NEVER UINT64_MAX
enum { ENSEMBLE_WATCH_BUCKETS = 1024 };

/* ---- events ---- */

typedef struct ensemble_event {
  uint64_t at_ns;
  uint64_t order; /* of those at the same time */
  uint32_t place; /* in the heap, from 1; 0: not in it */
  void (*happen)(volt_ensemble *e, struct ensemble_event *event);
} ensemble_event;

/* ---- nodes ---- */

typedef struct ensemble_node {
  struct ensemble_node *hash_next;
  struct ensemble_node *parent, *child, *next, *before; /* siblings: next, before */
  char *path;
  const char *name; /* the end of path */
  char *data;
  uint32_t size;
  uint32_t children;
  int32_t sequence; /* of the next sequential child */
  uint64_t touched; /* the transaction that has made or deleted a child last */
  volt_cluster_node stat;
} ensemble_node;

typedef struct ensemble_tree {
  ensemble_node **bucket;
  uint32_t buckets, count;
} ensemble_tree;

/* ---- transactions ---- */

/* One change, with what is needed to undo it. */
typedef struct ensemble_part {
  enum volt_cluster_action_kind kind;
  char *path;
  char *data, *data_before;
  uint32_t size, size_before;
  volt_cluster_node node, node_before; /* as it is afterwards, and was before */
  int32_t sequence;                    /* CREATE: of the parent afterwards */
  int32_t parent_sequence_before;
  int32_t sequence_before; /* of the node: as it begins, as it was */
  uint64_t touched_before; /* of the parent */
  uint64_t own_touched_before;
} ensemble_part;

/* An action of a request, copied; then its outcome. Of ITEM_REFRESH: a watch. */
typedef struct ensemble_action {
  enum volt_cluster_action_kind kind;
  bool is_children, was_there; /* of a watch */
  bool is_ephemeral, is_sequential;
  char *path;
  char *data;
  uint32_t size;
  int64_t version;
  int result;
  volt_cluster_node node;
} ensemble_action;

enum ensemble_item_kind { ITEM_WRITE, ITEM_READ, ITEM_OPEN, ITEM_CLOSE, ITEM_REFRESH };

/* What a client asks; ITEM_CLOSE also what the leader decides. */
typedef struct ensemble_item {
  uint32_t refs;
  enum ensemble_item_kind kind;
  enum volt_cluster_request_kind read; /* ITEM_READ: of which kind */
  bool is_watched;
  char *path;
  ensemble_action *actions;
  uint32_t count;
  struct ensemble_link *link; /* NULL: of no client */
  uint64_t session;
  uint64_t session_ns; /* ITEM_OPEN */
  bool is_done;
  int result;
  uint64_t transaction;       /* ITEM_REFRESH: the newest that the client has seen */
  struct ensemble_item *next; /* of those that a link has not answered */
} ensemble_item;

/* A transaction of the log. */
typedef struct ensemble_entry {
  uint64_t transaction;
  ensemble_item *item;
  ensemble_part *parts;
  uint32_t count;
  uint64_t events; /* that it has fired */
} ensemble_entry;

typedef struct ensemble_session {
  struct ensemble_session *next;
  uint64_t number;
  uint64_t session_ns;
  uint64_t link;           /* where its client is; 0: the leader has not heard */
  uint64_t deadline_ns;    /* by the leader */
  uint64_t opened, closed; /* where in the log; closed: ENSEMBLE_NEVER */
} ensemble_session;

/* ---- servers ---- */

typedef struct ensemble_server {
  ensemble_tree tree; /* as applied */
  uint64_t logged, known, applied;
  uint64_t applied_transaction;
  uint64_t acked;       /* by the leader: how much of its log this server has */
  uint64_t term;        /* counts how often it has begun or ended to belong to a leader */
  uint64_t heard_ns;    /* its leader was heard; as a leader: a majority was */
  uint64_t epoch;       /* of its leader */
  uint64_t log_free_ns; /* the latest transaction is logged */
  uint64_t across_ns[VOLT_ENSEMBLE_SERVERS_MAX]; /* the latest message from that server arrives */
  uint64_t slow_ns;                              /* it logs so much later */
  bool is_up, is_stopped, is_cut;
  bool is_joined; /* to the leader, or it leads */
  bool is_serving;
  struct ensemble_link *links;
  struct ensemble_message *backlog, **backlog_end; /* while it is stopped */
  uint64_t *touched; /* sessions that it has heard of, for the leader */
  uint32_t touched_count, touched_size;
  struct ensemble_watch *watch[ENSEMBLE_WATCH_BUCKETS]; /* by path */
} ensemble_server;

typedef struct ensemble_watch {
  struct ensemble_watch *next, **here; /* of its bucket */
  struct ensemble_watch *of_link, **here_of_link;
  struct ensemble_link *link;
  bool is_children; /* else of the node itself */
  char *path;
} ensemble_watch;

/* A connection of a client to a server. */
typedef struct ensemble_link {
  uint32_t refs;
  uint64_t number;
  uint32_t server;
  volt_cluster_backend *client;  /* NULL: it has left */
  bool is_open;                  /* at the server */
  bool is_lost_up, is_lost_down; /* what has not arrived yet is lost */
  uint64_t up_ns, down_ns;       /* the latest message arrives */
  uint64_t session;              /* 0: not yet */
  ensemble_item *first, **end;   /* not answered */
  ensemble_watch *watches;
  struct ensemble_link *next, **here; /* of the server's */
} ensemble_link;

/* ---- messages ---- */

enum ensemble_message_kind {
  /* client to server */
  MESSAGE_CONNECT,
  MESSAGE_ITEM,
  MESSAGE_BYE,
  /* server to client */
  MESSAGE_CONNECTED,
  MESSAGE_EXPIRED,
  MESSAGE_CLOSED,
  MESSAGE_ANSWER,
  MESSAGE_EVENT,
  /* between servers */
  MESSAGE_FORWARD,
  MESSAGE_PROPOSE, /* a FORWARD that has waited */
  MESSAGE_TOUCHES,
  MESSAGE_REVALIDATE,
  MESSAGE_REVALIDATED,
  MESSAGE_LOGGED,
  MESSAGE_ACK,
  MESSAGE_COMMIT,
  MESSAGE_SYNCED
};

typedef struct ensemble_message {
  ensemble_event event; /* first */
  struct ensemble_message *next;
  enum ensemble_message_kind kind;
  uint32_t server, from;    /* to and from which server */
  uint64_t term, from_term; /* of the two, as it was sent */
  ensemble_link *link;
  ensemble_item *item;
  uint64_t number; /* of a place in the log, a session, the newest transaction */
  uint64_t session_ns;
  uint64_t transaction; /* the newest that its sender has seen */
  bool is_yes;          /* REVALIDATED */
  bool is_broken_after; /* the connection breaks as this arrives */
  char *path;           /* EVENT */
  bool is_children;
  uint64_t *touched; /* TOUCHES */
  uint32_t count;
  char *data; /* ANSWER of a read */
  uint32_t size;
  char **names;
  volt_cluster_node node;
  int result;
} ensemble_message;

/* ---- hosts ---- */

typedef struct ensemble_host {
  ensemble_event alarm; /* first: it runs */
  volt_ensemble *e;
  uint32_t number;
  volt_rt *rt; /* NULL: none */
  volt_cluster_backend *client;
  uint64_t base_ns, base_rt_ns, base_boot_ns; /* the clocks at some moment */
  int32_t per_million;                        /* how much they go wrong since */
  uint64_t up_ns, down_ns, more_ns;           /* its link is so much slower */
  bool is_stopped, is_suspended, is_cut, is_killed;
  bool is_running, is_woken;
  bool loses_request, loses_answer;
} ensemble_host;

struct volt_ensemble {
  volt_ensemble_config config;
  volt_ensemble_counts counts;
  uint64_t now_ns;
  uint64_t random;
  ensemble_event **heap;
  uint32_t heap_count, heap_size;
  uint64_t events_made;

  ensemble_server server[VOLT_ENSEMBLE_SERVERS_MAX];
  uint32_t leader; /* may have been given up by the others; VOLT_ENSEMBLE_NONE */
  uint64_t epoch;
  ensemble_event half_tick, whole_tick, election;

  ensemble_tree head; /* as proposed */
  ensemble_entry **log;
  uint64_t log_first, log_count, committed; /* entries log_first..log_count-1 are kept */
  uint32_t log_size;
  uint64_t transaction; /* the newest proposed */
  uint64_t write_free_ns;
  ensemble_session *sessions;
  uint64_t sessions_made, links_made;

  ensemble_host **host;
  uint32_t hosts;
  uint32_t ran;
};

/* ---- ensemble.c ---- */

void *ensemble_alloc_(size_t count, size_t size); /* all zero; aborts without memory */
void *ensemble_resize_(void *memory, size_t count, size_t size);
char *ensemble_copy_(const char *data, size_t size); /* NULL for NULL; terminated */
uint64_t ensemble_random_(volt_ensemble *e, uint64_t below);
uint64_t ensemble_hop_ns_(volt_ensemble *e);
void ensemble_at_(volt_ensemble *e, ensemble_event *event, uint64_t at_ns); /* again, too */
void ensemble_never_(volt_ensemble *e, ensemble_event *event);
void ensemble_trace_(volt_ensemble *e, const char *format, ...) VOLT_PRINTF_(2, 3);
#define ENSEMBLE_TRACE(e, ...) ((e)->config.traced ? ensemble_trace_((e), __VA_ARGS__) : (void)0)

/* ---- ensemble_tree.c ---- */

ensemble_node *ensemble_find_(const ensemble_tree *t, const char *path);
ensemble_node *ensemble_parent_(const ensemble_tree *t, const char *path); /* NULL: there is none */
void ensemble_tree_init_(ensemble_tree *t);
void ensemble_tree_clear_(ensemble_tree *t);
void ensemble_tree_copy_(ensemble_tree *to, const ensemble_tree *from);
ensemble_node *ensemble_add_(ensemble_tree *t, const char *path, const char *data, uint32_t size);
void ensemble_remove_(ensemble_tree *t, ensemble_node *n);
void ensemble_set_(ensemble_node *n, const char *data, uint32_t size);
void ensemble_do_(ensemble_tree *t, const ensemble_part *part, uint64_t transaction);
void ensemble_undo_(ensemble_tree *t, const ensemble_part *part);

/* ---- ensemble_write.c ---- */

ensemble_item *ensemble_item_new_(enum ensemble_item_kind kind);
ensemble_item *ensemble_item_of_(const volt_cluster_request *r);
void ensemble_item_drop_(ensemble_item *item);
/* Decide what it does, and do it to the head. Returns NULL: its session has ended, or moved. */
ensemble_entry *ensemble_decide_(volt_ensemble *e, ensemble_item *item);
void ensemble_entry_free_(ensemble_entry *entry);

/* ---- ensemble_log.c ---- */

/* The leader puts it into the log. */
void ensemble_propose_(volt_ensemble *e, ensemble_item *item);
void ensemble_log_arrived_(volt_ensemble *e, const ensemble_message *m); /* LOGGED .. SYNCED */
void ensemble_apply_upto_(volt_ensemble *e, uint32_t server, uint64_t count);
void ensemble_log_to_head_(volt_ensemble *e);             /* what is not committed, too */
void ensemble_log_cut_(volt_ensemble *e, uint64_t count); /* to so many entries */
void ensemble_log_sync_(volt_ensemble *e, uint32_t server);
void ensemble_log_clear_(volt_ensemble *e);
const ensemble_tree *ensemble_newest_tree_(const volt_ensemble *e);

/* ---- ensemble_leader.c ---- */

void ensemble_servers_begin_(volt_ensemble *e);
void ensemble_servers_end_(volt_ensemble *e);
bool ensemble_leads_(const volt_ensemble *e, uint32_t server); /* it is the leader, and runs */
bool ensemble_reaches_(const volt_ensemble *e,
                       uint32_t server); /* it is joined, and can talk to it */

/* ---- ensemble_session.c ---- */

ensemble_session *ensemble_session_find_(volt_ensemble *e, uint64_t number); /* not ended */
/* The leader hears that its client has connected by this. Returns whether there is such a session. */
bool ensemble_session_moves_(volt_ensemble *e, uint64_t number, const ensemble_link *link);
bool ensemble_session_may_(volt_ensemble *e, const ensemble_item *item); /* it may write */
uint64_t ensemble_session_open_(volt_ensemble *e, uint64_t asked_ns);
void ensemble_touch_(volt_ensemble *e, uint32_t server, uint64_t session);
void ensemble_touches_send_(volt_ensemble *e, uint32_t server);
void ensemble_touches_arrived_(volt_ensemble *e, const ensemble_message *m);
void ensemble_sessions_renew_(volt_ensemble *e);
void ensemble_sessions_check_(volt_ensemble *e); /* at a tick: which have ended */
void ensemble_sessions_cut_(volt_ensemble *e, uint64_t count);
void ensemble_sessions_clear_(volt_ensemble *e);

/* ---- ensemble_message.c ---- */

ensemble_message *ensemble_message_new_(enum ensemble_message_kind kind);
void ensemble_message_free_(ensemble_message *m);
/* Send; the message arrives at a server, or in simulated_arrived_(), or is lost. */
void ensemble_send_up_(volt_ensemble *e, ensemble_link *link, ensemble_message *m);
void ensemble_send_down_(volt_ensemble *e, ensemble_link *link, ensemble_message *m);
void ensemble_send_across_(volt_ensemble *e, uint32_t from, uint32_t to, ensemble_message *m,
                           uint64_t delay_ns);
void ensemble_link_break_(volt_ensemble *e, ensemble_link *link); /* both ends find out */

/* ---- ensemble_link.c ---- */

ensemble_link *ensemble_link_new_(volt_ensemble *e, volt_cluster_backend *client, uint32_t server);
void ensemble_link_drop_(ensemble_link *link);
void ensemble_link_arrived_(volt_ensemble *e, ensemble_message *m);    /* from a client */
void ensemble_forward_arrived_(volt_ensemble *e, ensemble_message *m); /* FORWARD .. REVALIDATED */
void ensemble_link_done_(volt_ensemble *e, uint32_t server, const ensemble_entry *entry);
void ensemble_links_close_(volt_ensemble *e, uint32_t server, uint64_t session); /* 0: all */

/* ---- ensemble_watch.c ---- */

void ensemble_watch_(volt_ensemble *e, ensemble_link *link, const char *path, bool is_children);
void ensemble_watches_free_(ensemble_link *link);
void ensemble_watches_fire_(volt_ensemble *e, uint32_t server, const ensemble_part *part);
void ensemble_watches_refresh_(volt_ensemble *e, ensemble_link *link, const ensemble_item *item);

/* ---- ensemble_host.c ---- */

ensemble_host *ensemble_host_at_(const volt_ensemble *e, uint32_t host, const char *call);
ensemble_host *ensemble_host_of_(const volt_ensemble *e, const volt_rt *rt);
uint64_t ensemble_boot_ns_(const ensemble_host *h);
uint64_t ensemble_boot_at_ns_(const ensemble_host *h,
                              uint64_t boot_ns); /* when it is so late there */
void ensemble_hosts_end_(volt_ensemble *e);

/* ---- simulated_backend.c ---- */

void simulated_arrived_(volt_cluster_backend *b, ensemble_message *m); /* takes it */
void simulated_clock_changed_(volt_cluster_backend *b);
void simulated_disconnect_(volt_cluster_backend *b);
void simulated_kill_(volt_cluster_backend *b);
uint32_t simulated_server_(const volt_cluster_backend *b);
ensemble_host *simulated_host_(const volt_cluster_backend *b);

#endif
