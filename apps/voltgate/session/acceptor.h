/* acceptor.h: the task that accepts the clients of one listener. */
#ifndef VOLTGATE_SESSION_ACCEPTOR_H
#define VOLTGATE_SESSION_ACCEPTOR_H

#include <volt/net.h>
#include <volt/task.h>

#include "gate/gate.h"

struct session;

struct acceptor {
  volt_task task; /* first */
  struct gate *gate;
  volt_group *sessions; /* of the gate: they are spawned into it */
  enum protocol protocol;
  uint16_t port; /* that it listens on; 0: a unix socket */
  volt_fd listener;
  /* its own */
  volt_op op;
  volt_future descriptors;
  volt_accept_pause pause;
  struct session *next; /* that is accepted next; NULL: not made yet */
  uint32_t cost;        /* descriptors that a client takes */
  bool has_descriptors; /* for next */
  bool has_waited;      /* the last await was for the listener to be ready */
  bool is_short;        /* the log says that accept pauses */
  uint64_t calm_ns;     /* when that is over, if it does not pause again */
  volt_timeout timeout;
  int result;
};

/* Make the task that accepts: memory of the runtime's pool, to be spawned into a group. It owns the
 * listener, and closes it when it ends. Returns NULL: no memory; then *listener is still the caller's. */
struct acceptor *acceptor_new(struct gate *gate, volt_group *sessions, volt_fd *listener);

/* It was not spawned: free it, and close its listener. */
void acceptor_drop(struct acceptor *self);

/* How many descriptors a client of that protocol takes from gate->host->descriptors. */
uint32_t acceptor_cost(enum protocol protocol);

#endif
