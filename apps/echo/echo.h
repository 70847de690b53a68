/* echo.h: the parts of volt-echo. */
#ifndef VOLT_APPS_ECHO_H
#define VOLT_APPS_ECHO_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <volt/net.h>
#include <volt/runtime.h>

#include "common/options.h"

struct options {
  const char *listen;
  const char *relay_to; /* NULL: echo */
  unsigned workers;     /* 0: as many as CPUs */
  unsigned buffer_bytes;
  unsigned grace_s;
  bool fibers; /* a fiber for each connection, not a stackless task; of an echo */
};

/* Fill in *options from the command line. Prints the help if it is asked for, and what is wrong if
 * something is. The strings stay where they are in argv. */
enum options_result options_parse(struct options *options, int argc, char **argv);

/* What all connections of a server have in common. */
struct service {
  const struct options *options;
  volt_rt *rt;
  pthread_key_t scratch;            /* a buffer for each thread that runs tasks, of an echo */
  atomic_uint_fast64_t connections; /* that have ended */
  atomic_uint_fast64_t bytes;       /* that were sent back, or on */
};

/* A connection, which has a task from the runtime's pool. It is made before it is accepted, so that
 * there is memory for it. */
struct connection {
  volt_task task;     /* unless it is a fiber's */
  volt_task *runs_as; /* its task, or its fiber */
  struct service *service;
  volt_fd client;
  char *buffer; /* NULL: none */
  uint64_t bytes;
};

/* Returns it, to be accepted into client and spawned, or given to connection_free(); NULL: there is
 * no memory. */
struct connection *echo_new(struct service *service);
struct connection *fiber_new(struct service *service);
struct connection *relay_new(struct service *service);

/* Free one that was not spawned. */
void connection_free(struct connection *connection);

/* It has ended: close its client, count it, free its buffer. The task itself is its group's. */
void connection_end(struct connection *connection);

/* The task that accepts. It runs until it is cancelled; then it waits grace_s for the connections to
 * end, and cancels those that are left. */
struct server {
  volt_task task;
  struct service service;
  volt_fd listener;
  volt_op op;
  volt_accept_pause pause;
  volt_group connections;
  struct connection *next;
  volt_future all_ended;
  volt_timeout grace;
  int result;
  bool is_short; /* of descriptors or memory, which it has said */
};

/* Returns whether it could be: then server_destroy() undoes it, after the runtime was destroyed. */
bool server_init(struct server *server, volt_rt *rt, const struct options *options);
void server_destroy(struct server *server);

#endif
