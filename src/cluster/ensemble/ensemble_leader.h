/* ensemble_leader.h: the servers, and which of them leads. */
#ifndef VOLT_CLUSTER_ENSEMBLE_ENSEMBLE_LEADER_H
#define VOLT_CLUSTER_ENSEMBLE_ENSEMBLE_LEADER_H

#include <volt/ensemble.h>

#include "ensemble_tree.h"
#include "ensemble_watch.h"

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

void ensemble_servers_begin_(volt_ensemble *e);
void ensemble_servers_end_(volt_ensemble *e);
bool ensemble_leads_(const volt_ensemble *e, uint32_t server); /* it is the leader, and runs */
bool ensemble_reaches_(const volt_ensemble *e,
                       uint32_t server); /* it is joined, and can talk to it */

#endif
