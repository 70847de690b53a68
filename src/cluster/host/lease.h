/* lease.h: a lease of slots: its life, its doorbell, what it says to others. */
#ifndef VOLT_CLUSTER_HOST_LEASE_H
#define VOLT_CLUSTER_HOST_LEASE_H

#include <volt/cluster_backend.h>

#include "local.h"

/* If this fails, *local is still the caller's; else volt_cluster_destroy() calls
 * local->destroy(). *l is set before the driver calls anything of *local. */
int lease_open_(volt_cluster_lease **l, volt_cluster *c, const char *name,
                const volt_cluster_sem_config *config, const cluster_local *local);
/* Say to the driver that local's answers may have changed. Any thread; once until it has looked. */
void lease_ring_(volt_cluster_lease *l);
/* Have the driver call local->close(), give all back as it is released, and take no more. */
void lease_close_(volt_cluster_lease *l);
/* local->ctx */
void *lease_ctx_(const volt_cluster_lease *l);

/* ---- for the driver ---- */

/* Take the leases that have rung: they are dirty. */
void lease_take_rung_(volt_cluster *c);
/* Publish what the driver knows of it. */
void lease_publish_(volt_cluster_lease *l);
/* Say to the host's half whether it is of use to wait. is_looked_at: recipe_check_() was called. */
void lease_refuse_(volt_cluster_lease *l, bool is_checked);
void lease_free_(volt_cluster_lease *l);

#endif
