/* postgres_cancel.h: a CancelRequest, and the end of a server that runs something. */
#ifndef VOLTGATE_SESSION_POSTGRES_CANCEL_H
#define VOLTGATE_SESSION_POSTGRES_CANCEL_H

#include "session/session.h"
#include "wire/postgres.h"

/* CancelRequests that are under way at once, of all gates; others wait until one is done. */
enum { POSTGRES_CANCELS = 64, POSTGRES_CANCEL_MAX = 512 };

/* All-zero at first. */
struct postgres_cancel {
  volt_async async;
  struct session *session;
  struct server_probe probe;
  volt_timeout timeout;
  volt_future permit;
  volt_op op;
  volt_fd fd;
  bool has_permit;
  int result;
  uint32_t size;
  char bytes[POSTGRES_CANCEL_MAX]; /* what is sent */
};

/* What is to be sent: size bytes, copied. More than there is room for: nothing. */
void postgres_cancel_set(struct postgres_cancel *c, struct session *s, const char *packet,
                         size_t size);

/* Send it over a connection of its own, and wait until the server has closed that: then it has
 * acted. It needs no permit of the gate. Polls as VOLT_OK; VOLT_ECANCELED; or why it could not be
 * sent. It takes a few seconds at most. */
volt_future *postgres_cancel_future(struct postgres_cancel *c);

/* All-zero at first. */
struct postgres_parting {
  volt_async async;
  struct session *session;
  const struct pg *pg;
  struct postgres_cancel cancel;
  uint64_t deadline_ns;
  uint64_t again_ns; /* when the next CancelRequest is sent */
  uint64_t pause_ns;
  bool has_more;
  int result;
};

enum postgres_how {
  POSTGRES_LET_FINISH, /* what runs is not cancelled before server-timeout, if there is one */
  POSTGRES_END,        /* nothing runs: the server has only to close */
  POSTGRES_CANCEL      /* what runs is cancelled */
};

/* End the server's side of a session that holds a permit, and wait until the server has closed: only
 * then does it work no more, and the permit is free. It is told to close by the end of our side, so
 * it rolls back. Polls as VOLT_OK; VOLT_ETIMEDOUT: it has not closed although it was cancelled for
 * POSTGRES_PARTING_NS; VOLT_ECANCELED. */
#define POSTGRES_PARTING_NS UINT64_C(10000000000)
volt_future *postgres_parting_future(struct postgres_parting *p, struct session *s,
                                     const struct pg *pg, enum postgres_how how);

#endif
