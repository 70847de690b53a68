/* zookeeper_close.h: the end of a session, without waiting in the client. */
#ifndef VOLT_CLUSTER_ZOOKEEPER_ZOOKEEPER_CLOSE_H
#define VOLT_CLUSTER_ZOOKEEPER_ZOOKEEPER_CLOSE_H

#include <volt/async.h>
#include <volt/io.h>

typedef struct zookeeper zookeeper;

/* The end of the session. */
typedef struct zookeeper_closing {
  volt_async async;
  volt_timeout timeout;
  volt_op op;
  uint64_t until_ns; /* on the runtime's clock */
  int32_t xid;
  int result;
  uint32_t skip; /* of the answer to another request */
  size_t count;
  unsigned char bytes[256];
} zookeeper_closing;

volt_future *zookeeper_close_future_(zookeeper *b);

#endif
