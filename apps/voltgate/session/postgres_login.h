/* postgres_login.h: what a PostgreSQL client sends before authentication. */
#ifndef VOLTGATE_SESSION_POSTGRES_LOGIN_H
#define VOLTGATE_SESSION_POSTGRES_LOGIN_H

#include "session/session.h"
#include "wire/postgres_startup.h"

/* What the client wants. */
enum postgres_wish {
  POSTGRES_WISH_SESSION, /* startup.bytes of bytes are the startup packet; others are behind it */
  POSTGRES_WISH_CANCEL,  /* startup.bytes of bytes are a CancelRequest */
  POSTGRES_WISH_OPAQUE   /* TLS with the server itself: all bytes are to be passed on unseen */
};

/* Members that are not named here are private. */
struct postgres_login {
  volt_async async;
  struct session *session;
  struct pg_startup startup; /* its pieces are in bytes */
  char *bytes;
  uint32_t size, room;
  enum postgres_wish wish;
  uint64_t deadline_ns;
  int result;
  bool is_direct, is_encrypted; /* TLS without SSLRequest; the handshake is done */
  bool begins_tls;              /* when all answers have gone */
  char why[128];
};

/* Returns NULL: no memory. deadline_ns: VOLT_NO_DEADLINE: none. */
struct postgres_login *postgres_login_new(struct session *s, uint64_t deadline_ns);
void postgres_login_free(struct postgres_login *l); /* NULL is fine */

/* Receive it, in pieces of any size; answer requests for encryption; speak TLS if the gate does.
 * Polls as VOLT_OK: wish says what is wanted; VOLT_ECLOSED: how the session ends is set, and why are
 * the words of it; VOLT_ECANCELED. */
volt_future *postgres_login_future(struct postgres_login *l);

#endif
