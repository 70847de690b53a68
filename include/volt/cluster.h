/* cluster.h: one limit for many machines: a semaphore whose permits are shared by hosts.
 *
 *   volt_cluster_config config = {.rt = rt, .servers = "zk1:2181,zk2:2181,zk3:2181"};
 *   volt_cluster_open(&cluster, &config);
 *   volt_cluster_sem_open(&sem, cluster, "shop-db", &(volt_cluster_sem_config){.limit = 64});
 *   ...
 *   VOLT_AWAIT(self, volt_cluster_acquire_future(&self->acquire, sem, &self->permit));
 *   use_database(volt_cluster_permit_fence(&self->permit));
 *   volt_cluster_release(&self->permit);
 *
 * Words
 *   ensemble   the servers that all hosts ask: ZooKeeper.
 *   host       one volt_cluster: a process with one session at the ensemble.
 *   slot       one of the `limit` permits that exist, numbered 0..limit-1. A slot is leased by one
 *              host at a time.
 *   lease      a host's right to one slot. The host serves its tasks from the slots that it leases,
 *              without asking the ensemble.
 *   permit     a task's right to one slot of its host's.
 *   fence      numbers that only rise for each slot, for the resource to refuse what comes too late.
 *   session    what the ensemble knows of a host. It ends when the host has not been heard for the
 *              session's time, and with it all leases of the host.
 *
 * What is promised
 * - At most `limit` leases exist at any time. A permit is backed by one until its valid_until.
 * - Order: first come, first served among the tasks of a host, as volt_sem. Hosts that want slots
 *   queue at the ensemble, first come, first served; but one that lets slots lie free for four
 *   quanta, because it is dead or slow, is passed by others until it takes. A host that waits gets its fair share,
 *   limit / hosts, because hosts that lease more than theirs give some back after a quantum.
 * - A host that is stopped, cut off or dead loses its leases when its session ends. Its tasks find
 *   out before, if they run: volt_cluster_permit_lost_future(), _is_valid(). A task that does not
 *   run, because the process is stopped, finds out afterwards, and may write late. Only the resource
 *   can refuse that write: by the fence (docs/cluster/README.md shows how in SQL).
 * - While the ensemble is away, nothing changes until valid_until. Then the host's permits are lost;
 *   its waiters stay queued until they are served or give up.
 *
 * Nothing here allocates for a wait. The library starts no thread: a task of the runtime drives the
 * ensemble's client.
 *
 * A child of fork(), however it was made, has no permit, because its parent has them all:
 * - volt_cluster_permit_is_valid() is false for each permit of the parent, and _valid_until_ns() 0.
 *   The fence of such a permit and volt_cluster_now_ns() can be asked for as before.
 * - Every other call that is given what the parent has opened aborts, and says so: also an acquire
 *   or a release, and a poll or a cancel of a future that was begun before. Only a future of the
 *   loss of a permit may be polled and cancelled; it stays pending.
 * - A child that needs permits creates a runtime, and opens a host of its own.
 * - A lease alone (below) sets the limit of the program's own semaphore. Of that the child has a
 *   copy that still has its limit: it must not use it.
 *
 * Labels: cluster */
#ifndef VOLT_CLUSTER_H
#define VOLT_CLUSTER_H

#include "runtime.h"
#include "semaphore.h"

typedef struct volt_cluster volt_cluster;
typedef struct volt_cluster_sem volt_cluster_sem;
typedef struct volt_cluster_lease volt_cluster_lease;

/* Which kind of ensemble: volt_cluster_zookeeper(), volt_cluster_simulated()
 * (volt/ensemble.h), or one's own (volt/cluster_backend.h). */
typedef struct volt_cluster_kind volt_cluster_kind;

/* volt_cluster_config.log, from bad to chatty. */
enum volt_cluster_level {
  VOLT_CLUSTER_ERROR,
  VOLT_CLUSTER_WARN,
  VOLT_CLUSTER_INFO,
  VOLT_CLUSTER_DEBUG
};

#define VOLT_CLUSTER_ROOT_MAX 64 /* bytes of a root, at most */

/* All-zero members: the defaults. Strings are copied. */
typedef struct volt_cluster_config {
  volt_rt *rt;                   /* which runs the client; with io, unless the kind needs none */
  const volt_cluster_kind *kind; /* NULL: volt_cluster_zookeeper() */
  const char *servers;           /* "host:port,host:port"; names are resolved again and again */
  const char *root;              /* the node under which all is kept; NULL: "/volt"; at most
                                  * VOLT_CLUSTER_ROOT_MAX bytes */
  uint64_t session_ns;           /* the session's time; 0: 10 s. The ensemble may change it */
  const char *auth; /* "digest:user:password": a scheme, and what it wants; NULL: none */
  const char *acl;  /* of nodes that are made: "open", or "creator": only hosts with
                                  * the same auth may do anything. NULL: "creator" if there is an
                                  * auth, else "open" */
  const char *tls;  /* "ca.pem,cert.pem,key.pem,password", as the client wants them;
                                  * VOLT_EINVAL if the client was built without TLS */
  const char *name; /* for people that look at the nodes; NULL: the machine's name */
  void (*log)(enum volt_cluster_level level, const char *text, void *ctx); /* NULL: none. Called
                                  * by the task that drives the client; must not block */
  void *log_ctx;
  void *of_kind;        /* what the kind needs besides: volt_ensemble * of the simulated one */
  uint64_t reserved[4]; /* zero (else VOLT_EINVAL) */
} volt_cluster_config;

/* Where a host is with the ensemble. */
enum volt_cluster_state {
  VOLT_CLUSTER_CONNECTING, /* no session yet, or not again */
  VOLT_CLUSTER_CONNECTED,
  VOLT_CLUSTER_AWAY,    /* there is a session, but no server answers */
  VOLT_CLUSTER_REFUSED, /* authentication failed, or the ensemble's era is wrong; see the log */
  VOLT_CLUSTER_CLOSED
};

/* Counts since volt_cluster_open(), each exact at some moment of the call. */
typedef struct volt_cluster_stats_of {
  enum volt_cluster_state state;
  uint64_t session;        /* its number at the ensemble; 0: none */
  uint64_t session_ns;     /* as agreed with the ensemble */
  uint64_t valid_until_ns; /* of all leases; 0: never was */
  uint64_t writes;         /* transactions */
  uint64_t heartbeats;     /* of writes: those that only renew */
  uint64_t reads;
  uint64_t events; /* watches that fired */
  uint64_t reconnects;
  uint64_t expired;  /* sessions that ended without our doing */
  uint64_t round_ns; /* from a write to its answer, a moving average; above session_ns / 8 leases
                       * cannot be held */
  uint64_t
      doubts; /* how often it could not use what it had leased, and leased nothing for a while */
} volt_cluster_stats_of;

VOLT_BEGIN_DECLS

/* ---- the host ---- */

/* For volt_cluster_config.kind: ZooKeeper 3.5 or later, through its C client. Threads: any. */
VOLT_API const volt_cluster_kind *volt_cluster_zookeeper(void);

/* Make a host, and begin to connect it. Connecting goes on in the background, for ever.
 * Returns VOLT_OK; VOLT_EINVAL (no rt, a server or root that is none, reserved not zero, TLS
 *   without support, rt without io); VOLT_ENOMEM (or Linux is older than 4.14). If not VOLT_OK, *c is
 *   NULL, and nothing is left.
 * Threads: any. */
VOLT_API VOLT_NODISCARD int volt_cluster_open(volt_cluster **c, const volt_cluster_config *config);

/* End it: gives back all leases, withdraws from all queues, ends the session at the ensemble. Every
 * waiter gets VOLT_ECLOSED; permits that are still out become lost.
 * f: the caller's; may be cancelled: closing goes on.
 * Returns f. It polls as VOLT_OK (the ensemble has confirmed it) or VOLT_CLUSTER_EAWAY (it could not
 *   be reached within a second: the leases end with the session). Afterwards volt_cluster_destroy()
 *   may be called. A lookup of a server that is under way is not awaited: it is a task, which
 *   volt_rt_destroy() cancels, awaits and counts. Threads: any. */
VOLT_API VOLT_NODISCARD volt_future *volt_cluster_close_future(volt_future *f, volt_cluster *c);

/* Free it, with its semaphores and leases. Aborts if it has not been closed (its close future has
 * not been ready), or a permit is still out. Every other call that was given it, one of its
 * semaphores or a permit must have returned: a release, too, which still rings for the driver after
 * the permit is counted as released. c: NULL is fine. Threads: any that may block, but not a task
 * that the same runtime by hand would have to run. */
VOLT_API void volt_cluster_destroy(volt_cluster *c);

/* The clock of valid_until: CLOCK_BOOTTIME, which goes on while the machine is suspended.
 * Threads: any. */
VOLT_API uint64_t volt_cluster_now_ns(const volt_cluster *c);

/* Fill *stats. Threads: any. */
VOLT_API void volt_cluster_stats(const volt_cluster *c, volt_cluster_stats_of *stats);

/* Wait until something has changed: stats.state of the host, or stats.result of one of its
 * semaphores and leases. Look at the stats then: several changes in a row may be one.
 * f: the caller's; its content is overwritten.
 * seen: the caller's, 0 at first (so it is ready at once), until the future is ready; it becomes the
 *   number of the change that the next call is not to report again.
 * Returns f. It polls as VOLT_OK, or VOLT_ECLOSED (the host is closed: nothing changes any more).
 * Wakes: the poller, by the task that drives the client. Threads: any. */
VOLT_API VOLT_NODISCARD volt_future *volt_cluster_changed_future(volt_future *f, volt_cluster *c,
                                                                 uint64_t *seen);

VOLT_END_DECLS

/* ---- semaphores ---- */

/* All-zero members: the defaults. What is said of "the node" is the semaphore's data at the
 * ensemble: the host that makes the node writes it, and afterwards it holds for all hosts. */
typedef struct volt_cluster_sem_config {
  uint32_t limit;       /* how many slots there are, if this host makes the node; 0: the node must
                         * be there (else an acquire fails with VOLT_CLUSTER_ENONODE) */
  uint32_t lease_max;   /* slots that this host leases at most; 0: as many as there are */
  uint32_t capacity;    /* slots that this host has memory for, at most 2^20; 0: the greater of
                         * limit and 256. A lost permit needs one, too, until it is released */
  uint32_t era;         /* at least this; 0: what the node says. A higher one is written to it */
  uint64_t quantum_ns;  /* how long a lease serves at least before others get it; 0: computed from
                         * the number of hosts, 50 ms at least */
  uint64_t linger_ns;   /* how long slots are kept that no task uses; 0: as the quantum */
  uint64_t reserved[4]; /* zero (else VOLT_EINVAL) */
} volt_cluster_sem_config;

/* Which permit it was: for a resource that refuses what is older. Compare the numbers of one slot
 * only: volt_cluster_fence_compare(). */
typedef struct volt_cluster_fence {
  uint32_t slot;
  uint32_t era;
  uint64_t epoch; /* of the lease: the ensemble's transaction that gave it */
  uint64_t grant; /* counts the permits of this lease */
} volt_cluster_fence;

/* A task's right to one slot, in the caller's memory. Members are private. */
typedef struct volt_cluster_permit {
  volt_cluster_sem *sem; /* NULL: none */
  uint64_t grant;        /* counts the permits of its place */
  uint32_t place;        /* of the slot among the host's */
} volt_cluster_permit;

/* An acquire that waits. Members are private. */
typedef struct volt_cluster_acquire_op {
  volt_future future;
  volt_future local;
  volt_cluster_sem *sem;
  volt_cluster_permit *permit;
} volt_cluster_acquire_op;

/* Of one semaphore or lease on this host; each exact at some moment of the call, but `used` while the limit of this
 * host changes: that is never more than its capacity. */
typedef struct volt_cluster_lease_stats {
  int result;      /* VOLT_OK: it works; else why nothing is leased (EDATA, EERA, ENONODE, EAUTH) */
  uint32_t limit;  /* of all hosts together, as the node says; 0: not read yet */
  uint32_t leased; /* slots of this host */
  uint32_t unproved;     /* slots that it has besides, and cannot use yet: not known to be valid */
  uint32_t used;         /* of these: held by tasks */
  uint32_t owed;         /* slots to be given back as soon as a task releases */
  uint32_t lost;         /* permits that are lost and not released yet */
  uint32_t waiting;      /* tasks */
  uint32_t hosts;        /* that have or want slots, as last seen */
  uint32_t hosts_before; /* hosts that queue before this one, as last seen */
  uint32_t is_queued;    /* whether this host is in the queue */
  uint32_t era;
  uint64_t epoch; /* of the newest lease */
  uint64_t quantum_ns;
  uint64_t leases; /* so far */
  uint64_t returns;
  uint64_t revoked;   /* of returns: because others waited */
  uint64_t lost_ever; /* leases lost */
  uint64_t given_up;  /* of returns: because they did not become valid in time */
  uint64_t marks;     /* hosts that this one has marked, because they let slots lie free */
  uint64_t rests;     /* how often this one did not queue for a while, because its link is slow */
} volt_cluster_lease_stats;

VOLT_BEGIN_DECLS

/* What waiting cannot mend. If nothing is leased because of something that a person has to change, an
 * acquire does not wait: it fails, and those that wait fail with it.
 *   VOLT_CLUSTER_ENONODE   the node is not there, and the config has no limit to make it with; or it
 *                          cannot be made, because the path behind the servers (the chroot) is not
 *                          there
 *   VOLT_CLUSTER_EAUTH     the ensemble refuses the host's auth, or a node is another one's
 *   VOLT_CLUSTER_EDATA     the node's data is not of volt_cluster
 *   VOLT_CLUSTER_EERA      the ensemble is older than what this host has seen
 *   VOLT_EINVAL            the ensemble refuses a write for another reason: a quota
 * The host goes on looking, and once it is mended, acquires succeed again. An ensemble that cannot be
 * reached is no such reason: acquires wait for it. */

/* Open the semaphore of this name, on this host. Nothing is asked of the ensemble before a task
 * wants a permit, but the node is made or read. This is the only call that allocates memory.
 * name: 1 to 100 bytes of A-Z a-z 0-9 . _ -, not beginning with a dot.
 * config: NULL for the defaults (the node must be there).
 * Returns VOLT_OK; VOLT_EINVAL (name, config, the same name is open); VOLT_ENOMEM; VOLT_ECLOSED (c
 *   is closing). If not VOLT_OK, *s is NULL. Threads: any. */
VOLT_API VOLT_NODISCARD int volt_cluster_sem_open(volt_cluster_sem **s, volt_cluster *c,
                                                  const char *name,
                                                  const volt_cluster_sem_config *config);

/* Close: waiters complete with VOLT_ECLOSED, and later acquires return it. Slots are given back as
 * they are released; permits that are out stay valid. volt_cluster_destroy() frees it: by then no
 * thread may be in a call on it. A second close does nothing.
 * Wakes: every waiter, as volt_sem_close(); and the task that drives the client. Threads: any. */
VOLT_API void volt_cluster_sem_close(volt_cluster_sem *s);

/* Take a permit, if a leased slot is free and no task of this host waits. Never waits. A VOLT_EAGAIN
 * asks the ensemble for one slot, for the next try: tries that are at most stats.session_ns apart
 * succeed in the end. The slot is kept for the next try for twice the time between the last two tries,
 * and linger at least; then it is given back.
 * p: becomes the permit, or none. Returns VOLT_OK, VOLT_EAGAIN, VOLT_ECLOSED, or what waiting
 *   cannot mend (above).
 * Threads: any. Order: VOLT_OK as volt_cluster_acquire_future(). */
VOLT_API VOLT_NODISCARD int volt_cluster_try_acquire(volt_cluster_sem *s, volt_cluster_permit *p);

/* Take a permit, or wait for one: in the FIFO of this host's tasks. Nothing happens before it is
 * polled. A task that was granted a slot, whose lease is lost before a poll has returned the permit,
 * gets the next slot, before those that are still queued. A permit may be lost at any time from then
 * on.
 * a: the caller's, not in use; its content is overwritten.
 * p: becomes the permit when the future has polled as VOLT_OK; it must stay where it is until then.
 *   (A permit may be copied. The copies are one permit, which is released once.)
 * Returns &a->future. It polls as VOLT_OK, VOLT_PENDING, VOLT_ECLOSED, or what waiting cannot
 *   mend (above). A permit that was granted and not yet returned by a poll is released if the future
 *   is cancelled. It may be past its valid_until when it is returned, if the process was stopped:
 *   acquire reads no clock.
 * Wakes: the poller, once; and the task that drives the client, when this one begins to wait.
 * Cancel: volt_future_cancel(). Threads: the future's owner. Order: VOLT_OK acquires what the task
 *   of this host that had the slot before did before its release. What tasks of other hosts did is
 *   ordered by the resource alone. */
VOLT_API VOLT_NODISCARD volt_future *volt_cluster_acquire_future(volt_cluster_acquire_op *a,
                                                                 volt_cluster_sem *s,
                                                                 volt_cluster_permit *p);

/* Take a permit; block this thread until there is one or the deadline has passed. VOLT_ETIMEDOUT asks
 * for a slot as a try does: so a deadline in the past is as good as volt_cluster_try_acquire().
 * p: becomes the permit, or none.
 * deadline_ns: as volt_now_ns(); a time in the past: take a slot that is free now, but do not wait;
 *   VOLT_NO_DEADLINE: for ever.
 * volt_cluster_acquire() has no deadline: it waits for as long as that takes.
 * Returns VOLT_OK, VOLT_ETIMEDOUT, VOLT_ECLOSED, or what waiting cannot mend (above).
 * Threads: any that may block. Order: VOLT_OK as
 *   volt_cluster_acquire_future(). */
VOLT_API VOLT_NODISCARD int volt_cluster_acquire_until(volt_cluster_sem *s, volt_cluster_permit *p,
                                                       uint64_t deadline_ns);
VOLT_INLINE VOLT_NODISCARD int volt_cluster_acquire(volt_cluster_sem *s, volt_cluster_permit *p) {
  return volt_cluster_acquire_until(s, p, VOLT_NO_DEADLINE);
}

/* Give it back, lost or not.
 * p: a permit that was not released yet (else aborts); afterwards none. No future of its loss may
 *   wait (aborts).
 * Wakes: as volt_sem_release(); and the task that drives the client, if it waits for the slot, or
 *   the permit is lost.
 * Threads: any. Order: releases what this thread did before to the next task of this host that gets
 *   the slot. */
VOLT_API void volt_cluster_release(volt_cluster_permit *p);

/* ---- what a permit is worth ---- */

/* The permit's fence, also once it is lost. p: a permit (else aborts). Threads: the owner of *p. */
VOLT_API volt_cluster_fence volt_cluster_permit_fence(const volt_cluster_permit *p);

/* Compare two fences of the same slot. Returns below 0 if a is older, above 0 if b is, 0 if they
 * are the same permit. Threads: any. */
VOLT_API int volt_cluster_fence_compare(const volt_cluster_fence *a, const volt_cluster_fence *b);

/* Until when no other host can have the slot, by volt_cluster_now_ns(). Moves on as the host is
 * heard by the ensemble. 0 once the permit is lost: it stays so, also if its slot is leased again.
 * p: a permit (else aborts). Threads: any while *p is a permit. */
VOLT_API uint64_t volt_cluster_permit_valid_until_ns(const volt_cluster_permit *p);

/* Whether now is before that. Reads the clock. Threads: as above. */
VOLT_API bool volt_cluster_permit_is_valid(const volt_cluster_permit *p);

/* Wait until the permit is lost: for a select of the work and this. Once lost, a permit stays so.
 * Several futures may wait for the loss of one permit.
 * f: the caller's; its content is overwritten. When the permit is released, it must be ready, or
 *   cancelled (else aborts).
 * p: a permit (else aborts).
 * Returns f. It polls as VOLT_OK once the permit is lost. Wakes: the poller, once, by the task that
 *   drives the client. Threads: the future's owner. Order: VOLT_OK comes after the mark, so
 *   volt_cluster_permit_valid_until_ns() is 0 from then on. */
VOLT_API VOLT_NODISCARD volt_future *volt_cluster_permit_lost_future(volt_future *f,
                                                                     const volt_cluster_permit *p);

/* ---- the limit of all hosts ---- */

/* Members are private. */
typedef struct volt_cluster_change {
  volt_future future;
  volt_cluster_lease *lease;
  uint32_t limit;
  int result;
} volt_cluster_change;

/* Change the limit for all hosts. If it becomes lower, slots beyond it are given back as they are
 * released; until then more than the limit are leased.
 * limit: 0..VOLT_SEM_MAX.
 * Returns &change->future: polls as VOLT_OK, VOLT_ECLOSED, VOLT_EINVAL, or what the ensemble said
 *   (VOLT_CLUSTER_EAWAY: it may have been done). Threads: the future's owner. Order: once it is
 *   VOLT_OK, the stats say the new limit, or one that was set later. */
VOLT_API VOLT_NODISCARD volt_future *volt_cluster_sem_set_limit_future(volt_cluster_change *change,
                                                                       volt_cluster_sem *s,
                                                                       uint32_t limit);

/* Fill *stats. Threads: any. */
VOLT_API void volt_cluster_sem_stats(const volt_cluster_sem *s, volt_cluster_lease_stats *stats);

VOLT_END_DECLS

/* ---- a lease alone: for one's own semaphore ---- */

/* A program that has a limit already (a volt_sem, a pool) can have it set by the cluster: the lease
 * says how many slots this host has. All functions are called by the task that drives the client,
 * one at a time; they must not block. */
typedef struct volt_cluster_lease_user {
  /* How many slots could be used now: what is held, and what waiters want. */
  uint32_t (*wanted)(void *ctx);
  /* How many are held now. Slots of a lower limit are given back as this falls. */
  uint32_t (*held)(void *ctx);
  /* So many slots are leased now, without those that are asked back: the program must not begin to
   * hold more. Called also when it is as many as before. */
  void (*set_limit)(uint32_t limit, void *ctx);
  /* All leases are void; set_limit(0) has been called. May be NULL. (If one lease alone is void,
   * because its node was deleted by hand, set_limit() is called, and no more.) */
  void (*lost)(void *ctx);
  void *ctx;
} volt_cluster_lease_user;

VOLT_BEGIN_DECLS

/* Open a lease, instead of a semaphore, of this name. The limit is 0 until the first slot is leased.
 * Returns as volt_cluster_sem_open(). Threads: any. */
VOLT_API VOLT_NODISCARD int volt_cluster_lease_open(volt_cluster_lease **l, volt_cluster *c,
                                                    const char *name,
                                                    const volt_cluster_sem_config *config,
                                                    const volt_cluster_lease_user *user);

/* Say that wanted() or held() may say something else now: to be called when a waiter has queued that
 * the limit does not cover, and when something was released while
 * volt_cluster_lease_is_waiting(). Cheap if it was said before and not yet looked at.
 * Wakes: the task that drives the client. Threads: any. */
VOLT_API void volt_cluster_lease_look(volt_cluster_lease *l);

/* Whether the client waits for releases: slots are asked back that are held, or all are held and it
 * wants to know when one is not. To be asked
 * behind each release: it changes a word as the client does, so that one of the two sees the other.
 * Cost: one read-modify-write. Threads: any. Order: releases what this thread did before to a later
 *   held(). */
VOLT_API bool volt_cluster_lease_is_waiting(const volt_cluster_lease *l);

/* Give all back as it is released, and take no more. set_limit(0) is called. Threads: any. */
VOLT_API void volt_cluster_lease_close(volt_cluster_lease *l);

/* As volt_cluster_sem_set_limit_future(). */
VOLT_API VOLT_NODISCARD volt_future *volt_cluster_lease_set_limit_future(
    volt_cluster_change *change, volt_cluster_lease *l, uint32_t limit);

/* Fill *stats. Threads: any. */
VOLT_API void volt_cluster_lease_stats_get(const volt_cluster_lease *l,
                                           volt_cluster_lease_stats *stats);

VOLT_END_DECLS
#endif
