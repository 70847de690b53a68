/* zookeeper_attempt.h: which server is tried, and when. */
#ifndef VOLT_CLUSTER_ZOOKEEPER_ZOOKEEPER_ATTEMPT_H
#define VOLT_CLUSTER_ZOOKEEPER_ZOOKEEPER_ATTEMPT_H

#include <stdint.h>

typedef struct zookeeper zookeeper;

void zookeeper_attempt_(zookeeper *b); /* go on with it */
uint64_t zookeeper_attempt_due_ns_(const zookeeper *b);
void zookeeper_attempt_first_(zookeeper *b); /* of a session */
void zookeeper_attempt_again_(zookeeper *b); /* when a connection was lost */

#endif
