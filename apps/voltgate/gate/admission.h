/* admission.h: how a client gets its permit.
 *
 *   1. its tenant's turn    (weight of them; FIFO)
 *   2. its tenant's limit   (FIFO)
 *   3. the gate's permits   (the gate's one FIFO)
 *
 * With 3 the turn goes to the tenant's next client. A gate without tenants has 3 only. All three
 * are semaphores of the library: direct handoff, no barging, left in O(1) with a known outcome. */
#ifndef VOLTGATE_GATE_ADMISSION_H
#define VOLTGATE_GATE_ADMISSION_H

#include <volt/async.h>

#include "gate/clients.h"
#include "gate/gate.h"

/* Of one client, as often as it needs a permit. */
struct admission {
  volt_async async;
  volt_future leaf;
  struct gate *gate;
  struct client *client;
  uint64_t began_ns; /* when it queued; then when it got the permit */
  uint32_t cost;     /* permits that it holds; 0: none */
  bool has_turn, has_tenant;
};

void admission_init(struct admission *a, struct gate *gate, struct client *client);

/* Take the permit if it is free and nobody waits. Returns VOLT_OK, VOLT_EAGAIN. */
int admission_try(struct admission *a, uint64_t now_ns);

/* Join the queue, if it has room (exact over all threads). Returns VOLT_OK: now poll the future
 * until it is ready, or cancel it; VOLT_ECLOSED: it is full, and nothing has changed. */
int admission_join(struct admission *a, uint64_t now_ns);

/* The wait. It may be polled first by the task that accepts, which fixes the place, and then by the
 * client's. Polls as VOLT_OK: it holds the permit. After it was ready or cancelled, whichever way,
 * call admission_leave(). */
volt_future *admission_future(struct admission *a);

/* It waits no more. Returns true: it holds the permit. hung_up: counted as left if it does not. */
bool admission_leave(struct admission *a, uint64_t now_ns);

static inline bool admission_holds(const struct admission *a) { return a->cost != 0; }

/* Give the permit back. hold and wait are counted. */
void admission_release(struct admission *a, uint64_t now_ns);

#endif
