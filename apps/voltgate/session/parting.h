/* parting.h: the end of a session whose server may work for it still. */
#ifndef VOLTGATE_SESSION_PARTING_H
#define VOLTGATE_SESSION_PARTING_H

#include "session/postgres_cancel.h"
#include "session/session.h"
#include "wire/postgres.h"

/* All-zero at first. */
struct parting {
  volt_async async;
  struct session *session;
  const struct pg *pg; /* NULL: nothing can be cancelled */
  struct postgres_cancel cancel;
  uint64_t deadline_ns;
  uint64_t again_ns; /* when the next CancelRequest is sent */
  uint64_t pause_ns;
  bool has_more;
  int result;
};

enum parting_how {
  PARTING_LET_FINISH, /* what runs is not cancelled before server-timeout, if there is one */
  PARTING_END,        /* nothing runs: the server has only to close */
  PARTING_CANCEL      /* what runs is cancelled */
};

/* End the server's side of a session that holds a permit, and wait until the server has closed: only
 * then it works no more, and the permit is free. It closes, and rolls back, because our side ends.
 * Polls as VOLT_OK; VOLT_ETIMEDOUT: it has not closed within PARTING_NS although it was cancelled;
 * VOLT_ECANCELED. */
#define PARTING_NS UINT64_C(10000000000)
volt_future *parting_future(struct parting *p, struct session *s, const struct pg *pg,
                            enum parting_how how);

#endif
