/* ensemble_session.h: sessions, as the leader knows them. */
#ifndef VOLT_CLUSTER_ENSEMBLE_ENSEMBLE_SESSION_H
#define VOLT_CLUSTER_ENSEMBLE_ENSEMBLE_SESSION_H

#include <volt/ensemble.h>

#include "ensemble_link.h"
#include "ensemble_message.h"
#include "ensemble_write.h"

typedef struct ensemble_session {
  struct ensemble_session *next;
  uint64_t number;
  uint64_t session_ns;
  uint64_t link;           /* where its client is; 0: the leader has not heard */
  uint64_t deadline_ns;    /* by the leader */
  uint64_t opened, closed; /* where in the log; closed: ENSEMBLE_NEVER */
} ensemble_session;

ensemble_session *ensemble_session_find_(volt_ensemble *e, uint64_t number); /* not ended */
/* The leader hears that its client has connected by this. Returns whether there is such a session. */
bool ensemble_session_moves_(volt_ensemble *e, uint64_t number, const ensemble_link *link);
bool ensemble_session_may_(volt_ensemble *e, const ensemble_item *item); /* it may write */
uint64_t ensemble_session_open_(volt_ensemble *e, uint64_t asked_ns);
void ensemble_touch_(volt_ensemble *e, uint32_t server, uint64_t session);
void ensemble_touches_send_(volt_ensemble *e, uint32_t server);
void ensemble_touches_arrived_(volt_ensemble *e, const ensemble_message *m);
void ensemble_sessions_renew_(volt_ensemble *e);
void ensemble_sessions_check_(volt_ensemble *e); /* at a tick: which have ended */
void ensemble_sessions_cut_(volt_ensemble *e, uint64_t count);
void ensemble_sessions_clear_(volt_ensemble *e);

#endif
