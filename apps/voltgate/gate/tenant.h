/* tenant.h: clients that share a limit, a weight and a turn.
 *
 * A tenant's clients queue for its turn, and only who has it queues in the gate's FIFO: there a
 * tenant has at most as many places as its weight. So a tenant that comes with a thousand clients
 * waits behind itself, and the gate's FIFO gives each tenant its fair turn. */
#ifndef VOLTGATE_GATE_TENANT_H
#define VOLTGATE_GATE_TENANT_H

#include <volt/semaphore.h>

#include "config/settings.h"
#include "gate/histogram.h"

enum { TENANT_NAME_MAX = 64 }; /* longer names are cut, with a hash at the end */

struct tenant {
  volt_sem turn;    /* weight permits */
  volt_sem permits; /* the tenant's own limit; VOLT_SEM_MAX: none */
  atomic_uint cost;
  atomic_uint clients; /* that are connected: a tenant without a client may be forgotten */
  atomic_uint queued;
  atomic_uint held; /* clients that hold permits */
  atomic_uint_fast64_t admitted, refused;
  struct histogram wait, hold;
  struct tenant *next; /* in its bucket */
  char name[TENANT_NAME_MAX];
};

/* The tenants of a gate, by name. */
struct tenants;

struct tenants *tenants_new(const struct gate_settings *settings); /* NULL: no memory */
void tenants_free(struct tenants *t);                              /* no client may be left */

/* The tenant of that name, with one client more; made if it is new; the one called "other" if there
 * are too many. Returns NULL: no memory. tenant_leave() gives it back. Any thread. */
struct tenant *tenants_enter(struct tenants *t, const char *name);
void tenant_leave(struct tenants *t, struct tenant *tenant);

/* New settings hold from now on, of tenants that are there, too. */
void tenants_set(struct tenants *t, const struct gate_settings *settings);

/* Set the limit of one, which need not have a client. Returns false: there is none of that name. */
bool tenants_set_limit(struct tenants *t, const char *name, uint32_t limit);

/* Call visit for each; it must not enter or leave. Any thread. */
void tenants_each(struct tenants *t, void (*visit)(void *arg, struct tenant *tenant), void *arg);

#endif
