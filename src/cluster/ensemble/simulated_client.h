/* simulated_client.h: the client of the simulated ensemble: a back end, in the host.
 *
 *   simulated_backend.c   what the driver calls
 *   simulated_session.c   the connection: found, lost, found again; answers and events
 *
 * It does as the back end for ZooKeeper: it connects to one server after the other, pings it if nothing
 * else was asked for a third of the session's time, takes a server that has not answered for a quarter
 * of it for lost, gives a session up that it could not reach for twice its time, and sets its watches
 * again when it has connected again. What arrives waits in the inbox until process() takes it. */
#ifndef VOLT_CLUSTER_ENSEMBLE_SIMULATED_CLIENT_H
#define VOLT_CLUSTER_ENSEMBLE_SIMULATED_CLIENT_H

#include <volt/async.h>
#include <volt/notify.h>

#include "ensemble_internal.h"

enum simulated_state {
  SIMULATED_IDLE,  /* connect() comes */
  SIMULATED_SEEKS, /* a server, at seek_ns */
  SIMULATED_OPENS, /* a session, or its own again */
  SIMULATED_CONNECTED,
  SIMULATED_CLOSES,
  SIMULATED_CLOSED,
  SIMULATED_DEAD
};

typedef struct simulated_watch {
  struct simulated_watch *next;
  uint32_t number;
  bool is_children, was_there;
  char path[VOLT_CLUSTER_PATH];
} simulated_watch;

typedef struct simulated_list {
  volt_cluster_request *first, **end;
} simulated_list;

struct volt_cluster_backend {
  volt_ensemble *e;
  ensemble_host *h;
  volt_cluster_client client;
  enum simulated_state state;
  uint64_t session;              /* 0: none */
  uint64_t asked_ns, session_ns; /* as wanted; as agreed */
  uint64_t seen;                 /* the newest transaction */
  uint32_t server;               /* tried last */
  ensemble_link *link;
  simulated_list sent, failed;
  ensemble_message *inbox, **inbox_end;
  simulated_watch *watches;
  /* by the clock of the host, as until_ns */
  uint64_t asked_last_ns;
  uint64_t heard_ns; /* the server; or when the oldest request was sent, if that is later */
  uint64_t seek_ns;
  uint64_t since_ns; /* the last connect was sent */
  uint64_t away_ns;  /* since when it has not been connected */
  uint64_t until_ns;
  ensemble_event timer, end_of_close;
  volt_notify ready, closed;
  volt_future wait, wait_closed;
  volt_async async; /* close_future() */
  int close_result;
  bool is_away_due; /* on_session() has to say so */
  volt_cluster_request ping;
};

/* ---- simulated_backend.c ---- */

void simulated_send_(volt_cluster_backend *b, volt_cluster_request *r);

/* ---- simulated_session.c ---- */

void simulated_list_add_(simulated_list *list, volt_cluster_request *r);
void simulated_fail_(simulated_list *list, int result);     /* all of them */
uint64_t simulated_next_ns_(const volt_cluster_backend *b); /* it has to look at the time */
void simulated_check_(volt_cluster_backend *b);             /* at the time */
void simulated_take_(volt_cluster_backend *b, ensemble_message *m);
void simulated_drop_link_(volt_cluster_backend *b);
void simulated_forget_watches_(volt_cluster_backend *b);

#endif
