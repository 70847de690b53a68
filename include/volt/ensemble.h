/* ensemble.h: an ensemble in memory, and the hosts that use it, with faults at will.
 *
 * A volt_ensemble is a small world in one thread: servers that behave as those of ZooKeeper, hosts
 * that are runtimes by hand, and a clock that costs no time. Every delay is drawn from one seed: the
 * same seed, and the same calls, are the same run.
 *
 *   volt_ensemble_create(&e, &(volt_ensemble_config){.seed = 1});
 *   uint32_t host = volt_ensemble_host_add(e);
 *   volt_cluster_config config = {.rt = volt_ensemble_host_rt(e, host),
 *                                 .kind = volt_cluster_simulated(), .of_kind = e};
 *   volt_cluster_open(&cluster, &config);
 *   ... spawn tasks on that runtime ...
 *   while (volt_ensemble_step(e, end_ns)) check_what_must_hold();
 *
 * Simulated of the servers: a leader with the log; followers that log and apply later, so that reads
 * may be old; elections; sessions, whose touches a follower passes on to the leader each half tick; watches,
 * fired by a server as it applies; a follower that is cut off and goes on answering reads until
 * sync_limit ticks have passed; a server that refuses a client that has seen more than it.
 *
 * Simulated of a host: a process that is stopped (its clocks go on), a machine that is suspended
 * (CLOCK_BOOTTIME goes on, the runtime's clock stands), clocks that are fast or slow, a network that
 * is cut or slow, connections that are lost with a request done or not done, an end without a word.
 *
 * All functions are called by one thread, and not from a task of a host (which may call what
 * volt/cluster.h has). A function that is given a server or host that there is not aborts. */
#ifndef VOLT_ENSEMBLE_H
#define VOLT_ENSEMBLE_H

#include "cluster_backend.h"

typedef struct volt_ensemble volt_ensemble;

#define VOLT_ENSEMBLE_SERVERS_MAX 9
#define VOLT_ENSEMBLE_NONE UINT32_MAX /* no server, no host */

/* A change of one node that a majority of the servers has logged. */
typedef struct volt_ensemble_change {
  enum volt_cluster_action_kind kind; /* CREATE, DELETE or SET */
  const char *path;
  const char *data; /* not terminated */
  uint32_t size;
  volt_cluster_node node; /* DELETE: as it was */
} volt_ensemble_change;

/* All-zero members: the defaults, in parentheses. */
typedef struct volt_ensemble_config {
  uint64_t seed;         /* of every delay and choice */
  uint32_t servers;      /* (3) */
  uint32_t writes_per_s; /* more of them queue at the leader; (0) no limit */
  uint64_t hop_ns;       /* a message from here to there takes at least (250 us) */
  uint64_t hop_more_ns;  /* ... and up to so much more, by chance (0) */
  uint64_t log_ns;       /* a server logs a transaction (3.5 ms): a write takes 6 hops and this */
  uint64_t log_more_ns;  /* (0) */
  uint64_t tick_ns;      /* sessions last 2 to 20 of these (500 ms) */
  uint32_t sync_limit;   /* ticks without a word after which a server gives up its leader (4) */
  uint64_t election_ns;  /* from the loss of a leader to the next (200 ms) */
  uint64_t election_more_ns; /* (0) */
  int32_t sequence;          /* the first number of sequential nodes under each parent (0) */
  uint32_t sequence_wraps; /* 1: 2147483647 is followed by -2147483648; (0) by itself, for ever, as
                              * with ZooKeeper */
  void (*changed)(void *ctx, const volt_ensemble_change *change); /* called for each change as it is
                              * committed, in the order of transactions; NULL: none */
  void (*traced)(void *ctx, const char *text); /* called for all that happens; NULL: none */
  void *ctx;
} volt_ensemble_config;

/* Counts since the beginning. */
typedef struct volt_ensemble_counts {
  uint64_t steps;
  uint64_t
      writes; /* transactions of hosts, failed ones too; not those that begin and end sessions */
  uint64_t reads;
  uint64_t touches;
  uint64_t events;      /* watches that fired, and were sent */
  uint64_t events_most; /* by one transaction that made and deleted nodes only */
  uint64_t sessions;    /* that began */
  uint64_t expired;     /* sessions that the leader ended */
  uint64_t elections;   /* leaders so far */
} volt_ensemble_counts;

VOLT_BEGIN_DECLS

/* For volt_cluster_config.kind. of_kind is the volt_ensemble, rt the runtime of one of its hosts
 * (else volt_cluster_open() returns VOLT_EINVAL); servers is not read. Threads: any. */
VOLT_API const volt_cluster_kind *volt_cluster_simulated(void);

/* ---- life and time ---- */

/* Make an ensemble: its servers elect a leader at once. config: NULL for the defaults.
 * Returns VOLT_OK; VOLT_EINVAL (too many servers, or servers that are an even number); VOLT_ENOMEM.
 *   Later, a lack of memory aborts. */
VOLT_API VOLT_NODISCARD int volt_ensemble_create(volt_ensemble **e,
                                                 const volt_ensemble_config *config);

/* Free it, with the runtimes of its hosts. Aborts if a volt_cluster is left. e: NULL is fine. */
VOLT_API void volt_ensemble_destroy(volt_ensemble *e);

/* The time of the world, which begins at one second. */
VOLT_API uint64_t volt_ensemble_now_ns(const volt_ensemble *e);

/* Let the next thing happen, if that is not after until_ns: a message arrives, a host runs until it
 * has nothing to do, a server looks at its clock.
 * Returns true: something has happened; false: nothing will before until_ns, and now it is until_ns. */
VOLT_API bool volt_ensemble_step(volt_ensemble *e, uint64_t until_ns);

/* Step until it is until_ns. */
VOLT_API void volt_ensemble_run(volt_ensemble *e, uint64_t until_ns);

/* Run host until the future is ready, or until it is until_ns.
 * f: the caller's; it is polled outside of tasks. Returns its result; VOLT_PENDING: it was not ready,
 *   and was cancelled. */
VOLT_API int volt_ensemble_run_future(volt_ensemble *e, volt_future *f, uint64_t until_ns);

/* ---- hosts ---- */

/* Add a host: a runtime by hand, with a clock of its own. Returns its number. Numbers of hosts that
 * were removed are used again. */
VOLT_API uint32_t volt_ensemble_host_add(volt_ensemble *e);

/* Its runtime, to open a volt_cluster and to spawn tasks on. */
VOLT_API volt_rt *volt_ensemble_host_rt(volt_ensemble *e, uint32_t host);

/* Its CLOCK_BOOTTIME. */
VOLT_API uint64_t volt_ensemble_host_now_ns(const volt_ensemble *e, uint32_t host);

/* Which host has run in the last step; VOLT_ENSEMBLE_NONE: none. */
VOLT_API uint32_t volt_ensemble_host_ran(const volt_ensemble *e);

/* Stop its process, as SIGSTOP does: nothing of it runs, its clocks go on; and let it go on. */
VOLT_API void volt_ensemble_host_stop(volt_ensemble *e, uint32_t host);
VOLT_API void volt_ensemble_host_continue(volt_ensemble *e, uint32_t host);

/* Suspend its machine: nothing of it runs, and the clock of its runtime stands; and wake it. */
VOLT_API void volt_ensemble_host_suspend(volt_ensemble *e, uint32_t host);
VOLT_API void volt_ensemble_host_resume(volt_ensemble *e, uint32_t host);

/* Let its clocks run fast (above 0) or slow, from now on. per_million: -10000..10000. */
VOLT_API void volt_ensemble_host_drift(volt_ensemble *e, uint32_t host, int32_t per_million);

/* Cut it off from all servers: what is sent is lost; and join it to them again. */
VOLT_API void volt_ensemble_host_cut(volt_ensemble *e, uint32_t host);
VOLT_API void volt_ensemble_host_heal(volt_ensemble *e, uint32_t host);

/* Let its link be slow from now on: what it sends takes up_ns longer, what is sent to it down_ns, and
 * each message up to more_ns besides, by chance. Three zeros: as the others' again. */
VOLT_API void volt_ensemble_host_slow(volt_ensemble *e, uint32_t host, uint64_t up_ns,
                                      uint64_t down_ns, uint64_t more_ns);

/* Break its connection: what is under way is lost, what has arrived will be done. */
VOLT_API void volt_ensemble_host_disconnect(volt_ensemble *e, uint32_t host);

/* Break its connection when it sends the next write, before that arrives; or when it has arrived, so
 * that it will be done and the answer is lost. */
VOLT_API void volt_ensemble_host_lose_request(volt_ensemble *e, uint32_t host);
VOLT_API void volt_ensemble_host_lose_answer(volt_ensemble *e, uint32_t host);

/* End it without a word, as a power failure does: the ensemble hears no more of it. Its runtime runs
 * on, so that its cluster can be closed and destroyed, but its client answers everything with
 * VOLT_CLUSTER_EAWAY, and its close future is ready at once: permits that it has do not count. */
VOLT_API void volt_ensemble_host_kill(volt_ensemble *e, uint32_t host);

/* Forget a host, and destroy its runtime. Aborts if its volt_cluster is left. */
VOLT_API void volt_ensemble_host_remove(volt_ensemble *e, uint32_t host);

/* ---- servers ---- */

/* Kill a server: connections to it break, and what it has heard of sessions and not passed on is
 * lost; and start it again, with the log that it had. */
VOLT_API void volt_ensemble_server_kill(volt_ensemble *e, uint32_t server);
VOLT_API void volt_ensemble_server_start(volt_ensemble *e, uint32_t server);

/* Stop it, as SIGSTOP does: what is sent to it waits; and let it go on. */
VOLT_API void volt_ensemble_server_stop(volt_ensemble *e, uint32_t server);
VOLT_API void volt_ensemble_server_continue(volt_ensemble *e, uint32_t server);

/* Cut it off from the other servers, while hosts reach it; and join it to them again. */
VOLT_API void volt_ensemble_server_cut(volt_ensemble *e, uint32_t server);
VOLT_API void volt_ensemble_server_heal(volt_ensemble *e, uint32_t server);

/* Let its disk be slow from now on: it logs a transaction in log_ns more. 0: as the others' again. With
 * a majority of slow servers, each write of each host is slow. */
VOLT_API void volt_ensemble_server_slow(volt_ensemble *e, uint32_t server, uint64_t log_ns);

/* The leader, or VOLT_ENSEMBLE_NONE. */
VOLT_API uint32_t volt_ensemble_leader(const volt_ensemble *e);

/* Which server a host is connected to, or VOLT_ENSEMBLE_NONE. */
VOLT_API uint32_t volt_ensemble_server_of(const volt_ensemble *e, uint32_t host);

/* Replace all servers by new, empty ones: no node, no session, and transactions count from the
 * beginning. */
VOLT_API void volt_ensemble_replace(volt_ensemble *e);

/* ---- by hand ---- */

/* Change the tree as a person does, with a client of its own. Takes time as any write does: it is
 * done when it is seen. data: copied.
 * Returns VOLT_OK, or VOLT_CLUSTER_EAWAY: there is no leader. */
VOLT_API int volt_ensemble_create_node(volt_ensemble *e, const char *path, const char *data,
                                       uint32_t size);
VOLT_API int volt_ensemble_set_data(volt_ensemble *e, const char *path, const char *data,
                                    uint32_t size);
VOLT_API int volt_ensemble_delete_node(volt_ensemble *e, const char *path);

/* End a session, as if its time had passed. Returns as above. */
VOLT_API int volt_ensemble_expire(volt_ensemble *e, uint64_t session);

/* Set the number that the next sequential node under path gets. Returns VOLT_OK, or
 * VOLT_CLUSTER_ENONODE. */
VOLT_API int volt_ensemble_set_sequence(volt_ensemble *e, const char *path, int32_t sequence);

/* Look at a node as the newest transaction left it that a majority has logged. data: may be NULL; not
 * terminated; valid until the next call. Returns VOLT_OK, or VOLT_CLUSTER_ENONODE. */
VOLT_API int volt_ensemble_look(volt_ensemble *e, const char *path, volt_cluster_node *node,
                                const char **data, uint32_t *size);

/* Call each() for the children of a node. Returns how many there are; none if there is no node. */
VOLT_API uint32_t volt_ensemble_children(volt_ensemble *e, const char *path,
                                         void (*each)(void *ctx, const char *name,
                                                      const volt_cluster_node *node),
                                         void *ctx);

/* Fill *counts. */
VOLT_API void volt_ensemble_counts_get(const volt_ensemble *e, volt_ensemble_counts *counts);

VOLT_END_DECLS
#endif
