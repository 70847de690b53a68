/* session.h: the session of a host, and its requests, for the driver and the recipe. */
#ifndef VOLT_CLUSTER_HOST_SESSION_H
#define VOLT_CLUSTER_HOST_SESSION_H

#include <volt/cluster_backend.h>

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

void host_session_open_(volt_cluster *c, volt_cluster_client *client);
/* Connect if that is due, let leases become void whose time has passed, send heartbeats. Returns when
 * to be called again. */
uint64_t host_session_check_(volt_cluster *c);
bool host_session_is_connected_(const volt_cluster *c);
/* Whether leases that begin now are valid. */
bool host_session_is_valid_(const volt_cluster *c);
/* Whether answers come too late for a lease. */
bool host_session_is_slow_(const volt_cluster *c);
/* How long a write takes while the ensemble is not busy: so the link is at fault. 0: not known yet, because
 * many hosts may have come at once with this one. */
uint64_t host_session_link_ns_(const volt_cluster *c);
/* A lease could not, or will not, be used: lease nothing, until heartbeats have shown that a lease would be valid. */
void host_session_doubt_(volt_cluster *c);
/* Whether heartbeats have kept valid_until ahead for a while. */
bool host_session_is_proved_(const volt_cluster *c);
/* Whether this host may lease. */
bool host_session_may_lease_(const volt_cluster *c);
/* Whether they are valid for as long as it takes to renew them. */
bool host_session_stays_valid_(const volt_cluster *c);
/* The leases of this host are void. */
void host_session_lose_(volt_cluster *c);
/* Submit call->request, of which kind, path, watch and actions are set. */
void host_session_ask_(engine_call *call);

#endif
