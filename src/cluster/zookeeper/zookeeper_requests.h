/* zookeeper_requests.h: requests, answers and watches. */
#ifndef VOLT_CLUSTER_ZOOKEEPER_ZOOKEEPER_REQUESTS_H
#define VOLT_CLUSTER_ZOOKEEPER_ZOOKEEPER_REQUESTS_H

#include <volt/cluster_backend.h>
#include <zookeeper/zookeeper.h>

typedef struct zookeeper zookeeper;

/* What a request needs beside itself: its of_backend. */
typedef struct zookeeper_call {
  zookeeper *backend;
  volt_cluster_request *request;
  struct Stat stat;
  struct String_vector names; /* taken from the client */
  char *data;                 /* a copy */
  zoo_op_result_t results[];  /* WRITE */
} zookeeper_call;

/* Requests that are with the client, or that are answered and not delivered, in order. */
typedef struct zookeeper_queue {
  volt_cluster_request *first;
  volt_cluster_request *last;
} zookeeper_queue;

void zookeeper_submit_(zookeeper *b, volt_cluster_request *r);
void zookeeper_deliver_(zookeeper *b);
void zookeeper_watcher_(zhandle_t *handle, int type, int state, const char *path, void *ctx);
bool zookeeper_has_news_(const zookeeper *b);
/* There is no client any more: what it had is answered as when it closes. */
void zookeeper_abandon_(zookeeper *b);

#endif
