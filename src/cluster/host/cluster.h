/* cluster.h: the host, which leases and semaphores belong to.
 *
 * One task of the runtime, the driver, runs everything of this room but the functions that tasks and
 * threads call: acquire, release, look, stats, open, close, set_limit, destroy. Those reach the
 * driver by lease_ring_() alone.
 *
 *   cluster.c, session.c, lease.c, change.c   the host, and one semaphore of it
 *   recipe.c, recipe_*.c, slots.c             ... at the ensemble: queue, holders, slots
 *   names.c, validity.c                       what the two need and that is pure
 *   wiped.c                                   what is zero in a child of fork()
 *   sem.c ..    the host's half: volt_sem, slots as a stack, permits, fences
 *   share.c     the host's half of volt_cluster_lease: counts only */
#ifndef VOLT_CLUSTER_HOST_CLUSTER_H
#define VOLT_CLUSTER_HOST_CLUSTER_H

#include <volt/cluster_backend.h>

#include "../../core/os/check.h"

/* Abort if this process is a child of the one that opened the host. where: the function. */
void cluster_check_fork_(const volt_cluster *c, const char *where);
/* valid_until of the host's leases: written by the driver, read by any thread. 0: none is valid. It
 * is 0 before local->lose(NULL) is called. So a reader of whether a permit is valid reads this first,
 * then whether the permit is lost, then the clock. */
uint64_t cluster_valid_until_(const volt_cluster *c);

/* ---- for the driver ---- */

void cluster_log_(volt_cluster *c, enum volt_cluster_level level, const char *format, ...)
    VOLT_PRINTF_(3, 4);
uint64_t cluster_now_(const volt_cluster *c);
/* Publish what the driver knows of the host. */
void cluster_publish_(volt_cluster *c);

#endif
