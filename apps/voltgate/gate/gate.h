/* gate.h: one listening side, one server, one limit, one queue. */
#ifndef VOLTGATE_GATE_GATE_H
#define VOLTGATE_GATE_GATE_H

#include <volt/runtime.h>
#include <volt/semaphore.h>
#include <volt/watch.h>

#include "config/settings.h"
#include "gate/breaker.h"
#include "gate/clients.h"
#include "gate/shed.h"
#include "gate/statistics.h"
#include "gate/tenant.h"

struct program;

struct gate {
  struct program *program;
  volt_rt *rt;
  char *name;
  _Atomic(const struct gate_settings *) settings; /* old ones live as long as the program */
  volt_sem permits;                               /* the limit, and its FIFO */
  atomic_uint queued;                             /* clients that wait, of settings->queue */
  atomic_uint held;                               /* clients that hold permits */
  atomic_uint queue_bound;
  atomic_uint_fast64_t tickets;
  atomic_uint servers; /* connections to the server */
  atomic_bool is_draining;
  volt_watch news; /* uint64_t; changes when those who wait have to look: breaker, drain */
  struct tenants *tenants;
  struct clients clients;
  struct breaker breaker;
  struct shed shed;
  struct statistics statistics;
};

static inline const struct gate_settings *gate_settings(const struct gate *g) {
  return atomic_load_explicit(&g->settings, memory_order_acquire);
}

/* Returns false: no memory. */
bool gate_init(struct gate *g, struct program *program, volt_rt *rt,
               const struct gate_settings *settings);
void gate_destroy(struct gate *g); /* no client may be left */

/* New settings hold from now on. They live as long as the program. */
void gate_set(struct gate *g, const struct gate_settings *settings);

/* The limit, the queue's bound. When this returns, no client is admitted above the new limit. */
void gate_set_limit(struct gate *g, uint32_t limit);
void gate_set_queue(struct gate *g, uint32_t bound);

/* Those who wait have to look: something has changed. */
void gate_tell(struct gate *g);

/* The server could not be reached, or was. Opens and closes the breaker; starts the task that
 * probes; tells; logs. */
void gate_connect_failed(struct gate *g, const char *reason);
void gate_connected(struct gate *g);

/* The words for a refusal now. */
void gate_refusal_values(struct gate *g, enum gate_reason reason, struct refusal_values *out);

#endif
