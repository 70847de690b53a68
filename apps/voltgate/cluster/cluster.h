/* cluster.h: one limit for several gates: the leases of this process at the ensemble.
 *
 *   cluster.c   the host at the ensemble: volt_cluster
 *   leased.c    one lease for each gate, and for each tenant with a limit
 *   away.c      how many permits a gate may use while the ensemble is away
 * What semaphores are called: config/cluster_name.c. */
#ifndef VOLTGATE_CLUSTER_CLUSTER_H
#define VOLTGATE_CLUSTER_CLUSTER_H

#include <volt/runtime.h>

#include "config/settings.h"
#include "gate/lease.h"

struct cluster;

/* Begin to connect. Returns NULL, or what is wrong: words that the caller frees. */
char *gate_cluster_open(struct cluster **out, volt_rt *rt, const struct settings *settings);

/* Give all leases back, so that others have them at once, and end the session; within a few seconds.
 * The runtime still runs. May block. c: NULL is fine, here and below. */
void gate_cluster_close(struct cluster *c);

/* It has been closed; the runtime has been shut down, gates are still there. */
void gate_cluster_destroy(struct cluster *c);

/* Where gates lease their limits. NULL: c is. */
struct lessor *gate_cluster_lessor(struct cluster *c);

/* As it is shown. */
struct cluster_view {
  const char *state; /* "connecting", "connected", "away", "refused", "closed" */
  const char *servers;
  bool is_connected;
  uint64_t session;
  uint64_t valid_for_ns; /* leases; 0: they are not, or there are none */
  uint64_t away_ns;      /* since when it is not connected; 0: it is */
  uint64_t writes, heartbeats, reads, events, reconnects, expired;
};
void gate_cluster_read(struct cluster *c, struct cluster_view *v);

enum cluster_change {
  CLUSTER_CHANGED,
  CLUSTER_IS_AWAY, /* nothing was asked */
  CLUSTER_UNSURE,  /* it may have been done */
  CLUSTER_FAILED
};

/* Change the limit of all gates. Blocks for some seconds at most. why: words for a person, if it is
 * not CLUSTER_CHANGED. */
enum cluster_change gate_cluster_set_limit(struct cluster *c, struct lease *l, uint32_t limit,
                                           const char **why);

#endif
