/* tenant.h: clients that share a limit, a weight and a FIFO. */
#ifndef VOLTGATE_GATE_TENANT_H
#define VOLTGATE_GATE_TENANT_H

#include <volt/semaphore.h>

#include "common/histogram.h"
#include "config/settings.h"
#include "gate/turns.h"

enum { TENANT_NAME_MAX = 64 }; /* longer names are cut, with a hash at the end */

struct tenant {
  struct turns_member turns; /* first: its clients' FIFO, its limit, its weight */
  atomic_uint clients;       /* that are connected: a tenant without a client may be forgotten */
  atomic_uint held;          /* clients that hold permits */
  atomic_uint_fast64_t refused;
  volt_shared_histogram_ wait, hold;
  struct tenant *next; /* in its bucket */
  bool is_kept;        /* it has settings of its own: it is not forgotten */
  bool is_spare;       /* the one called "other" */
  char name[TENANT_NAME_MAX];
};

/* The name as it is kept. */
void tenant_name(char to[TENANT_NAME_MAX], const char *name);

/* The tenants of a gate, by name. */
struct tenants;

/* turns: the gate's. Returns NULL: no memory. */
struct tenants *tenants_new(struct turns *turns, const struct gate_settings *settings);
void tenants_free(struct tenants *t); /* no client may be left */

/* The tenant of that name, with one client more; made if it is new; the one called "other" if there
 * are too many. Returns NULL: no memory. tenant_leave() gives it back. Any thread; once for each
 * connection. */
struct tenant *tenants_enter(struct tenants *t, const char *name);
void tenant_leave(struct tenants *t, struct tenant *tenant);

/* New settings hold from now on, of tenants that are there, too. */
void tenants_set(struct tenants *t, const struct gate_settings *settings);

/* Limits of tenants that have one are leased from there. Before clients come. Returns false: no
 * memory. */
bool tenants_lease_from(struct tenants *t, struct lessor *lessor);
/* No client will come any more. */
void tenants_end_leases(struct tenants *t);

/* Set the limit of one, which need not have a client. limit: 0: none but the gate's. Returns false:
 * there is none of that name. If it has a lease, that is the limit's; one that had no limit gets a
 * lease. */
bool tenants_set_limit(struct tenants *t, const char *name, uint32_t limit);

/* The lease of the tenant of that name; NULL: it has none, or there is none. */
struct lease *tenants_lease(struct tenants *t, const char *name);

/* The gate's limit has changed. */
void tenants_tell(struct tenants *t);

/* Call visit for each; it must not enter or leave. Any thread; it holds one bucket's lock at a
 * time. */
void tenants_each(struct tenants *t, void (*visit)(void *arg, struct tenant *tenant), void *arg);

/* How often a client of it was admitted: as many waits were measured. */
uint64_t tenant_admitted(const struct tenant *tenant);

/* Clients that are queued. */
static inline uint32_t tenant_queued(const struct tenant *tenant) {
  return (uint32_t)(atomic_load_explicit(&tenant->turns.demand, memory_order_relaxed) >> 32);
}

static inline struct lease *tenant_lease(const struct tenant *tenant) {
  return atomic_load_explicit(&tenant->turns.lease, memory_order_acquire);
}

/* Its limit; 0: none but the gate's. With a lease that of all gates together. */
static inline uint32_t tenant_limit(const struct tenant *tenant) {
  const struct lease *lease = tenant_lease(tenant);
  if (lease) return gate_lease_limit(lease);
  uint32_t limit = volt_sem_limit(&tenant->turns.permits);
  return limit == VOLT_SEM_MAX ? 0 : limit;
}

#endif
