/* cluster_backend.h: what volt_cluster needs of an ensemble, for programs with another one.
 *
 * An ensemble keeps a tree of nodes with data, as ZooKeeper does. Nodes are made and deleted by
 * transactions, which all servers see in the same order. A node that is ephemeral is deleted when the
 * session ends that made it. A node that is sequential gets a number behind its name: its place
 * among those ever made under the same parent; 32 bits, signed, ten digits at least; it wraps.
 *
 * One task calls all functions, one at a time (wait_future's future, too). It calls process() after
 * each wait; all callbacks (done, on_session, on_event) come from within process(), or from within
 * submit() never. Requests of one session are carried out in the order in which they were submitted,
 * and are completed in that order.
 *
 * Reads may be old, by as much as the server that answers is behind, but never older than what the
 * same session has read or written before. A write that is answered with VOLT_OK was carried out by
 * a majority of the servers while the session was alive. */
#ifndef VOLT_CLUSTER_BACKEND_H
#define VOLT_CLUSTER_BACKEND_H

#include "cluster.h"

typedef struct volt_cluster_backend volt_cluster_backend; /* a kind's own */

/* What the ensemble knows of a node. */
typedef struct volt_cluster_node {
  uint64_t created; /* the number of the transaction that made it */
  uint64_t changed; /* ... that changed its data last */
  uint64_t owner;   /* the session whose ephemeral node it is; 0: none */
  uint32_t version; /* counts changes of its data */
} volt_cluster_node;

enum volt_cluster_action_kind {
  VOLT_CLUSTER_CREATE, /* fails with EEXISTS, ENONODE (no parent) */
  VOLT_CLUSTER_DELETE, /* fails with ENONODE, ENOTEMPTY */
  VOLT_CLUSTER_SET,    /* fails with ENONODE, EVERSION */
  VOLT_CLUSTER_CHECK   /* that the node is there; fails with ENONODE */
};

#define VOLT_CLUSTER_PATH 256

/* One part of a transaction. */
typedef struct volt_cluster_action {
  enum volt_cluster_action_kind kind;
  uint8_t is_ephemeral; /* CREATE */
  uint8_t is_sequential;
  char path[VOLT_CLUSTER_PATH]; /* in; CREATE of a sequential node: becomes the name that it got */
  const char *data;             /* CREATE, SET: bytes, not copied, valid until done */
  uint32_t size;
  int64_t version;        /* SET: the one it must have; -1: any */
  int result;             /* out: VOLT_OK, VOLT_CLUSTER_E...; EUNDONE: another one failed */
  volt_cluster_node node; /* out: CREATE that was done */
} volt_cluster_action;

enum volt_cluster_request_kind {
  VOLT_CLUSTER_WRITE,    /* a transaction: all actions, or none */
  VOLT_CLUSTER_CHILDREN, /* names of the children, in any order */
  VOLT_CLUSTER_STAT,     /* whether there is a node, and what is known of it */
  VOLT_CLUSTER_READ,     /* its data, and what is known of it */
  VOLT_CLUSTER_TOUCH     /* the session is alive: a read of no interest */
};

/* The caller's, until done() is called, once. */
typedef struct volt_cluster_request {
  enum volt_cluster_request_kind kind;
  uint32_t watch; /* not 0: call on_event() with this number, once, after the node changed: STAT: it
                   * is made, deleted, or its data set; CHILDREN: a child comes or goes, or it is
                   * deleted; READ: data set, or deleted. Set only if the read is answered by VOLT_OK
                   * (STAT: or ENONODE). The same number may be set on the same node again: one event */
  char path[VOLT_CLUSTER_PATH];
  volt_cluster_action *actions; /* WRITE */
  uint32_t count;
  int result;               /* out: VOLT_OK; VOLT_CLUSTER_EAWAY: a write may have been done;
                           * EEXPIRED: it was not; ...; WRITE: the first action's that failed */
  volt_cluster_node node;   /* out: STAT, READ */
  const char *const *names; /* out: CHILDREN; valid until done() returns */
  uint32_t name_count;
  const char *data; /* out: READ; valid until done() returns; not terminated */
  uint32_t size;
  uint64_t sent_ns; /* out: when it was submitted, by now_ns() */
  void (*done)(struct volt_cluster_request *r);
  void *ctx;                         /* the caller's */
  struct volt_cluster_request *next; /* the back end's */
  void *of_backend;                  /* the back end's */
} volt_cluster_request;

enum volt_cluster_session_event {
  VOLT_CLUSTER_SESSION_NEW,     /* connected, a session of which nothing exists yet */
  VOLT_CLUSTER_SESSION_AGAIN,   /* connected again, the same session: outstanding requests were
                                 * completed with EAWAY before this */
  VOLT_CLUSTER_SESSION_AWAY,    /* the connection is lost; it is tried again */
  VOLT_CLUSTER_SESSION_EXPIRED, /* it has ended: its ephemeral nodes are gone, or will be in a moment;
                                 * connect() makes a new one */
  VOLT_CLUSTER_SESSION_REFUSED /* authentication failed */
};

/* What a back end calls. */
typedef struct volt_cluster_client {
  /* since_ns: NEW, AGAIN: a time by now_ns() at which the ensemble had not heard of this connection
   * yet: taken before the client asked for it; else 0. */
  void (*on_session)(void *ctx, enum volt_cluster_session_event event, uint64_t session,
                     uint64_t session_ns, uint64_t since_ns);
  void (*on_event)(void *ctx, uint32_t watch);
  void (*log)(void *ctx, enum volt_cluster_level level, const char *text);
  void *ctx;
} volt_cluster_client;

struct volt_cluster_kind {
  const char *name;
  /* Make one; nothing is connected yet. Returns VOLT_OK, VOLT_EINVAL, VOLT_ENOMEM. Threads: any. */
  int (*open)(volt_cluster_backend **b, const volt_cluster_config *config,
              const volt_cluster_client *client);
  /* Begin a session. Called at first, and after SESSION_EXPIRED (not from within on_session()). */
  void (*connect)(volt_cluster_backend *b);
  void (*submit)(volt_cluster_backend *b, volt_cluster_request *r);
  /* Ready when process() has something to do, or now_ns() is at until_ns. The back end owns it; it is
   * cancelled, or ready, before the next call of any other function. */
  volt_future *(*wait_future)(volt_cluster_backend *b, uint64_t until_ns);
  void (*process)(volt_cluster_backend *b);
  /* The time since the machine was started, with the time that it was suspended. Threads: any. */
  uint64_t (*now_ns)(const volt_cluster_backend *b);
  /* End the session at the ensemble, if that can be reached within a second. Ready: it is ended, or
   * not; all outstanding requests were completed. */
  volt_future *(*close_future)(volt_cluster_backend *b);
  void (*destroy)(volt_cluster_backend *b);
};

#endif
