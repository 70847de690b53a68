/* ensemble_message.h: what clients and servers send to each other. */
#ifndef VOLT_CLUSTER_ENSEMBLE_ENSEMBLE_MESSAGE_H
#define VOLT_CLUSTER_ENSEMBLE_ENSEMBLE_MESSAGE_H

#include "ensemble.h"
#include "ensemble_link.h"
#include "ensemble_write.h"

enum ensemble_message_kind {
  /* client to server */
  MESSAGE_CONNECT,
  MESSAGE_ITEM,
  MESSAGE_BYE,
  /* server to client */
  MESSAGE_CONNECTED,
  MESSAGE_EXPIRED,
  MESSAGE_CLOSED,
  MESSAGE_ANSWER,
  MESSAGE_EVENT,
  /* between servers */
  MESSAGE_FORWARD,
  MESSAGE_PROPOSE, /* a FORWARD that has waited */
  MESSAGE_TOUCHES,
  MESSAGE_REVALIDATE,
  MESSAGE_REVALIDATED,
  MESSAGE_LOGGED,
  MESSAGE_ACK,
  MESSAGE_COMMIT,
  MESSAGE_SYNCED
};

typedef struct ensemble_message {
  ensemble_event event; /* first */
  struct ensemble_message *next;
  enum ensemble_message_kind kind;
  uint32_t server, from;    /* to and from which server */
  uint64_t term, from_term; /* of the two, as it was sent */
  ensemble_link *link;
  ensemble_item *item;
  uint64_t number; /* of a place in the log, a session, the newest transaction */
  uint64_t session_ns;
  uint64_t transaction; /* the newest that its sender has seen */
  bool is_yes;          /* REVALIDATED */
  bool is_broken_after; /* the connection breaks as this arrives */
  char *path;           /* EVENT */
  bool is_children;
  uint64_t *touched; /* TOUCHES */
  uint32_t count;
  char *data; /* ANSWER of a read */
  uint32_t size;
  char **names;
  volt_cluster_node node;
  int result;
} ensemble_message;

ensemble_message *ensemble_message_new_(enum ensemble_message_kind kind);
void ensemble_message_free_(ensemble_message *m);
/* Send; the message arrives at a server, or in simulated_arrived_(), or is lost. */
void ensemble_send_up_(volt_ensemble *e, ensemble_link *link, ensemble_message *m);
void ensemble_send_down_(volt_ensemble *e, ensemble_link *link, ensemble_message *m);
void ensemble_send_across_(volt_ensemble *e, uint32_t from, uint32_t to, ensemble_message *m,
                           uint64_t delay_ns);
void ensemble_link_break_(volt_ensemble *e, ensemble_link *link); /* both ends find out */

#endif
