/* zookeeper_servers.h: the servers, and their addresses. */
#ifndef VOLT_CLUSTER_ZOOKEEPER_ZOOKEEPER_SERVERS_H
#define VOLT_CLUSTER_ZOOKEEPER_ZOOKEEPER_SERVERS_H

#include <volt/async.h>
#include <volt/net.h>

enum { ZOOKEEPER_ADDRESS_TEXT = 96 };

/* The servers: as configured, and as looked up. */
typedef struct zookeeper_servers {
  volt_async async;
  volt_rt *rt;
  char **names; /* "host:port" */
  uint32_t name_count;
  int result;
  struct zookeeper_lookup *lookup; /* that is under way */
  volt_future joined;              /* its end */
  volt_address *addresses;         /* in the order in which to try them */
  uint32_t count;
  uint64_t random;
  const char *failed; /* the name that was not found last; NULL: none */
  char why[80];
} zookeeper_servers;

int zookeeper_servers_init_(zookeeper_servers *s, volt_rt *rt, const char *servers, size_t size);
void zookeeper_servers_free_(zookeeper_servers *s);
volt_future *zookeeper_servers_future_(zookeeper_servers *s);
/* As the client wants it: without brackets. */
void zookeeper_address_text_(const volt_address *a, char to[ZOOKEEPER_ADDRESS_TEXT]);
uint64_t zookeeper_random_(zookeeper_servers *s);

#endif
