/* away.h: how many permits a gate may use while its ensemble is away. Pure: no clock, no lock. */
#ifndef VOLTGATE_CLUSTER_AWAY_H
#define VOLTGATE_CLUSTER_AWAY_H

#include <stdbool.h>
#include <stdint.h>

#include "config/settings.h"
#include "gate/lease.h"

/* Where this process is with the ensemble. */
struct away_sees {
  bool is_connected;
  uint64_t session; /* 0: none */
  uint64_t session_ns;
  uint64_t valid_until_ns; /* of leases; 0: there were none */
  uint64_t now_ns;         /* by the same clock */
};

/* All-zero: the ensemble was never reached. */
struct away {
  bool is_reached; /* once */
  bool is_here;    /* what is leased is what holds; else the ensemble is away */
  uint32_t leased; /* as was said last */
  uint32_t before; /* and before that */
  uint32_t had;    /* when it went away */
  uint32_t share;  /* the part that was this gate's then */
  uint64_t session;
  uint64_t since_ns;   /* when it was seen connected again; 0: it was not */
  uint32_t all, hosts; /* as last seen while it was here */
};

/* So many are leased now. */
void away_leased(struct away *a, uint32_t leased);

/* All leases are void; away_leased() has said so just before. all: the limit of all gates; hosts: that
 * have or want permits, as last seen; 0: not known. */
void away_lost(struct away *a, const struct away_sees *sees, uint32_t all, uint32_t hosts);

/* Now and then, and when a connection comes or goes. all, hosts: as away_lost(). */
void away_look(struct away *a, const struct away_sees *sees, uint32_t all, uint32_t hosts);

enum lease_mode away_mode(const struct away *a, enum cluster_away choice);

/* How many clients may be served at once. */
uint32_t away_limit(const struct away *a, enum cluster_away choice);

#endif
