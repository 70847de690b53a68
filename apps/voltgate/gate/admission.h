/* admission.h: how a client gets its permit.
 *
 * A gate without tenants is one semaphore: its FIFO is the queue. With tenants a client queues in
 * its tenant's FIFO, and the tenants take turns at the gate's permits (turns.h). */
#ifndef VOLTGATE_GATE_ADMISSION_H
#define VOLTGATE_GATE_ADMISSION_H

#include <volt/future.h>

#include "gate/clients.h"
#include "gate/gate.h"

/* Of one client, as often as it needs a permit. */
struct admission {
  volt_future leaf; /* in the gate's FIFO, or its tenant's */
  struct gate *gate;
  struct client *client;
  struct loan *loan; /* at which it has queued, or NULL */
  uint32_t cost;     /* permits that it holds; 0: none */
  bool is_queued;    /* it has joined, and has not left */
  bool is_shed;      /* admission_leave() has found that it waited too long */
};

void admission_init(struct admission *a, struct gate *gate, struct client *client);

/* Take the permit if it is free and no client waits for it. Returns VOLT_OK, VOLT_EAGAIN. */
int admission_try(struct admission *a, uint64_t now_ns);

/* Join the queue, if it has room (exact over all threads). Returns VOLT_OK: now poll the future
 * until it is ready, or cancel it; VOLT_ECLOSED: it is full, and nothing has changed. */
int admission_join(struct admission *a, uint64_t now_ns);

/* The wait: one leaf, so it may be a branch of a select. Its first poll takes the place in the FIFO:
 * that of the task that accepts, with a zero waker ({NULL, NULL}), which registers nothing. Later
 * polls are those of the client's own task, once it is spawned. Polls as VOLT_OK: it has been given
 * the permit. After it was ready or cancelled, whichever way, call admission_leave(). */
volt_future *admission_future(struct admission *a);

/* It waits no more; a future that is pending is cancelled. Returns true: it holds the permit. False:
 * it holds none, and if is_shed, it was to be given one, but is refused because it waited for too
 * long. Counts the wait; not why it left. Does nothing if it is not queued. */
bool admission_leave(struct admission *a, uint64_t now_ns);

static inline bool admission_holds(const struct admission *a) {
  return a->cost != 0;
}

/* Give the permit back. The hold is counted. */
void admission_release(struct admission *a, uint64_t now_ns);

#endif
