/* zookeeper_link.h: the client's handle, and which session it has. */
#ifndef VOLT_CLUSTER_ZOOKEEPER_ZOOKEEPER_LINK_H
#define VOLT_CLUSTER_ZOOKEEPER_ZOOKEEPER_LINK_H

#include <volt/cluster_backend.h>

typedef struct zookeeper zookeeper;

uint64_t zookeeper_now_ns_(void);
bool zookeeper_link_open_(zookeeper *b); /* a new handle, for b->at */
/* What the client waits for now: it may begin to connect. Returns whether it makes a pause before. */
bool zookeeper_link_ask_(zookeeper *b);
void zookeeper_link_receive_(zookeeper *b);
/* Note what has become of the connection, and say it to the user. Returns whether it is another
 * phase now. */
bool zookeeper_link_check_(zookeeper *b);
/* Whether zookeeper_link_check_() would find something. */
bool zookeeper_link_has_changed_(const zookeeper *b);
bool zookeeper_is_up_(const zookeeper *b);     /* says the client */
bool zookeeper_is_trying_(const zookeeper *b); /* or is up */
void zookeeper_link_drop_(zookeeper *b, const char *why);
void zookeeper_link_free_(zookeeper *b);
void zookeeper_session_end_(zookeeper *b, enum volt_cluster_session_event event, const char *why);
void zookeeper_server_set_(zookeeper *b, const char *at);

#endif
