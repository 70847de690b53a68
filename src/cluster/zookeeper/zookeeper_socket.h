/* zookeeper_socket.h: the client's socket, and the wait. */
#ifndef VOLT_CLUSTER_ZOOKEEPER_ZOOKEEPER_SOCKET_H
#define VOLT_CLUSTER_ZOOKEEPER_ZOOKEEPER_SOCKET_H

#include <volt/async.h>
#include <volt/io.h>
#include <volt/select.h>

typedef struct zookeeper zookeeper;

/* The wait, and what stays pending from one to the next. */
typedef struct zookeeper_waits {
  volt_async async;
  volt_select select;
  volt_future *branches[3];
  volt_op socket_op;
  volt_op timer_op;
  unsigned socket_armed; /* for these events; 0: not armed */
  bool is_timer_armed;
  uint64_t timer_at_ns; /* what it is set to */
  uint64_t due_ns;      /* of this wait; 0: it is ready */
} zookeeper_waits;

bool zookeeper_socket_set_(zookeeper *b, int number); /* false: no descriptor */
void zookeeper_socket_close_(zookeeper *b);
volt_future *zookeeper_wait_future_(zookeeper *b);
void zookeeper_wait_end_(zookeeper *b);

#endif
