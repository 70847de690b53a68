/* postgres_cancel.h: a CancelRequest. */
#ifndef VOLTGATE_SESSION_POSTGRES_CANCEL_H
#define VOLTGATE_SESSION_POSTGRES_CANCEL_H

#include "gate/secure.h"
#include "session/session.h"

/* CancelRequests that are under way at once, of all gates; others wait until one is done. Those of
 * clients and our own have so many each: a flood of the first, which needs no password, must not keep
 * us from ending what a client has left behind. */
enum { POSTGRES_CANCELS = 64, POSTGRES_CANCEL_MAX = 512 };

/* All-zero at first. */
struct postgres_cancel {
  volt_async async;
  struct session *session;
  struct server_probe probe;
  volt_timeout timeout;
  volt_future permit;
  union { /* one at a time */
    volt_op op;
    volt_tls_op tls_op;
    struct secure secure;
  };
  volt_tls *tls; /* NULL: in the clear */
  volt_fd fd;
  bool has_permit;
  bool is_own; /* it is not a client's: to be set before it is sent */
  int result;
  uint32_t header; /* of size: a PROXY header, which is always in the clear */
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

#endif
