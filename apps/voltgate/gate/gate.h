/* gate.h: one listening side, one server, one limit, one queue. */
#ifndef VOLTGATE_GATE_GATE_H
#define VOLTGATE_GATE_GATE_H

#include <pthread.h>
#include <volt/runtime.h>
#include <volt/semaphore.h>
#include <volt/task.h>
#include <volt/watch.h>

#include "config/settings.h"
#include "gate/breaker.h"
#include "gate/certificates.h"
#include "gate/clients.h"
#include "gate/lease.h"
#include "gate/loan.h"
#include "gate/shed.h"
#include "gate/statistics.h"
#include "gate/tenant.h"
#include "gate/turns.h"

struct broker;
struct gate_host;

struct gate {
  struct gate_host *host; /* NULL in tests that have no session */
  volt_rt *rt;
  char *name;
  _Atomic(const struct gate_settings *) settings; /* old ones live as long as the program */
  _Atomic(struct tenants *) tenants;              /* NULL: none */
  _Atomic(struct loan *) loan;   /* NULL, but while another process has the permits */
  struct lessor *lessor;         /* of a cluster, or NULL */
  _Atomic(struct lease *) lease; /* which sets the limit, or NULL; there is no loan then */
  _Alignas(64) volt_sem permits; /* the limit; without tenants: and the queue */
  struct turns turns;            /* of the tenants, at the permits */
  atomic_uint away;              /* permits that the other process has; to us they are held */
  atomic_uint queued;            /* clients that wait */
  atomic_uint queue_bound;
  atomic_uint_fast64_t tickets;
  atomic_uint servers; /* connections to the server */
  atomic_bool is_draining;
  volt_watch
      news; /* no value, only versions: a new one when clients that wait have to look: breaker,
                    * drain, settings */
  struct clients clients;
  struct breaker breaker;
  struct shed shed;
  struct statistics statistics;
  pthread_mutex_t certificates_lock;
  struct certificates certificates;
  volt_group probes; /* the task that looks whether the server is back */
  atomic_bool is_probing;
  struct broker *broker; /* of a permit gate, whose limits and queue are there; or NULL */
};

static inline const struct gate_settings *gate_settings(const struct gate *g) {
  return atomic_load_explicit(&g->settings, memory_order_acquire);
}

static inline struct tenants *gate_tenants(const struct gate *g) {
  return atomic_load_explicit(&g->tenants, memory_order_acquire);
}

/* Where permits come from, if not from here. */
static inline struct loan *gate_loan(const struct gate *g) {
  return atomic_load_explicit(&g->loan, memory_order_acquire);
}

/* What sets its limit in place of the settings, or NULL. */
static inline struct lease *gate_lease(const struct gate *g) {
  return atomic_load_explicit(&g->lease, memory_order_acquire);
}

/* The limit as it is shown: with a lease that of all gates together; of a permit gate, which has one for each
 * kind, 0. */
static inline uint32_t gate_limit(const struct gate *g) {
  const struct lease *lease = gate_lease(g);
  if (g->broker) return 0;
  return lease ? gate_lease_limit(lease) : volt_sem_limit(&g->permits);
}

/* rt: may be NULL, in tests: then nothing probes the server. Returns false: no memory. */
bool gate_init(struct gate *g, struct gate_host *host, volt_rt *rt,
               const struct gate_settings *settings);
/* The same, and the limit, and those of its tenants, are leased from there. No client may be there.
 * Returns false: no memory; gate_destroy() is the caller's to call. */
bool gate_lease_from(struct gate *g, struct lessor *lessor);
/* No client will come any more: others may have its leases. It has none from then on. */
void gate_end_leases(struct gate *g);
/* No client may be left. Ends the probe; may block for that: not on a worker, and the runtime still
 * runs, or has been shut down. */
void gate_destroy(struct gate *g);

/* New settings hold from now on. They live as long as the program. Returns false: no memory for its
 * first tenants; then there are none. One thread at a time. */
bool gate_set(struct gate *g, const struct gate_settings *settings);

/* The limit, the queue's bound. With a lease the limit stays the lease's. When gate_set_limit() returns, no permit is granted above the new
 * limit. Any thread. */
void gate_set_limit(struct gate *g, uint32_t limit);
void gate_set_queue(struct gate *g, uint32_t bound);

/* Permits that are held: what the limit says, and the excess, without what is free; of a permit gate, clients
 * that hold something. A snapshot. */
uint32_t gate_held(const struct gate *g);

/* Sessions that begin from now on have these. *c is emptied; a side that it has none for keeps what is
 * there: settings that ask for TLS find it, and without TLS it is not used. One thread at a time. */
void gate_set_certificates(struct gate *g, struct certificates *c);

/* What the gate has in TLS towards clients, and towards the server: held, for volt_tls_context_drop(); NULL:
 * nothing. Any thread. */
volt_tls_context *gate_tls_of_clients(struct gate *g);
volt_tls_context *gate_tls_of_servers(struct gate *g);

/* Wake the clients that wait, because something has changed that they have to look at. */
void gate_tell(struct gate *g);

/* A client was refused, or ended. tenant: its own, or NULL. */
void gate_refused(struct gate *g, struct tenant *tenant, enum gate_reason reason);

/* The server could not be reached; has accepted, and not answered since; or is there: it has answered
 * what a protocol begins with, or, of a tcp gate, has accepted. Opens and closes the breaker; starts
 * the task that probes; calls gate_tell(); logs. */
void gate_connect_failed(struct gate *g, const char *reason);
void gate_unanswered(struct gate *g, uint64_t since_ns);
void gate_answered(struct gate *g);

/* The words for a refusal now. out->why lives until this thread asks again. */
void gate_refusal_values(struct gate *g, enum gate_reason reason, struct refusal_values *out);

#endif
