/* ensemble_link.h: connections of clients to servers. */
#ifndef VOLT_CLUSTER_ENSEMBLE_ENSEMBLE_LINK_H
#define VOLT_CLUSTER_ENSEMBLE_ENSEMBLE_LINK_H

#include <volt/cluster_backend.h>
#include <volt/ensemble.h>

#include "ensemble_watch.h"
#include "ensemble_write.h"

/* A connection of a client to a server. */
typedef struct ensemble_link {
  uint32_t refs;
  uint64_t number;
  uint32_t server;
  volt_cluster_backend *client;  /* NULL: it has left */
  bool is_open;                  /* at the server */
  bool is_lost_up, is_lost_down; /* what has not arrived yet is lost */
  uint64_t up_ns, down_ns;       /* the latest message arrives */
  uint64_t session;              /* 0: not yet */
  ensemble_item *first, **end;   /* not answered */
  ensemble_watch *watches;
  struct ensemble_link *next, **here; /* of the server's */
} ensemble_link;

struct ensemble_message;

ensemble_link *ensemble_link_new_(volt_ensemble *e, volt_cluster_backend *client, uint32_t server);
void ensemble_link_drop_(ensemble_link *link);
void ensemble_link_arrived_(volt_ensemble *e, struct ensemble_message *m); /* from a client */
void ensemble_forward_arrived_(volt_ensemble *e,
                               struct ensemble_message *m); /* FORWARD .. REVALIDATED */
void ensemble_link_done_(volt_ensemble *e, uint32_t server, const ensemble_entry *entry);
void ensemble_links_close_(volt_ensemble *e, uint32_t server, uint64_t session); /* 0: all */

#endif
