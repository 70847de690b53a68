/* leased.h: the leases of this process: one for each gate, and for each tenant with a limit. */
#ifndef VOLTGATE_CLUSTER_LEASED_H
#define VOLTGATE_CLUSTER_LEASED_H

#include <pthread.h>
#include <volt/cluster.h>

#include "cluster/away.h"
#include "gate/lease.h"

/* How leases reach the ensemble: by volt_cluster (cluster.c), or by a test's hand. */
struct engine;
struct engine_calls {
  /* Returns what opening returned. */
  int (*open)(struct engine *e, volt_cluster_lease **out, const char *name,
              const volt_cluster_sem_config *config, const volt_cluster_lease_user *user);
  void (*look)(volt_cluster_lease *l);
  bool (*is_waiting)(const volt_cluster_lease *l);
  void (*stats)(const volt_cluster_lease *l, volt_cluster_lease_stats *stats);
  void (*sees)(struct engine *e, struct away_sees *sees); /* any thread, also within `user` */
};
struct engine {
  const struct engine_calls *calls;
};

struct named; /* a name that is open at the ensemble: until the end of the process */

struct leases {
  struct lessor lessor; /* first */
  struct engine *engine;
  uint32_t era;
  atomic_bool is_closing; /* that leases end is no news */
  pthread_mutex_t lock;   /* of the list, and of opening */
  struct named *first;
};

void leases_init(struct leases *all, struct engine *engine, uint32_t era);
/* The engine's leases are about to be closed. */
void leases_begin_close(struct leases *all);
/* All gates are gone, and the engine's leases are closed. */
void leases_destroy(struct leases *all);

/* The ensemble came or went, or time has passed: limits follow, and what has changed is logged. Any
 * thread. */
void leases_follow(struct leases *all);

/* The engine's handle, to change the limit of all gates; NULL: it could not be opened. */
volt_cluster_lease *leased_handle(struct lease *l);
/* The limit of all gates was set to that. */
void leased_is_set(struct lease *l, uint32_t limit);

const char *leased_mode_name(enum lease_mode mode);

#endif
