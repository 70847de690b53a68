/* server.h: the connection of a session to the server. */
#ifndef VOLTGATE_SESSION_SERVER_H
#define VOLTGATE_SESSION_SERVER_H

#include <volt/net.h>

#include "link/link.h"
#include "wire/proxy.h"

struct session;
struct gate;

struct server {
  struct link link;
  volt_op ready;           /* of session_wait() */
  struct dialing *dialing; /* server.c's own, while it dials */
  bool is_counted;         /* in gate->servers */
};

/* Connect the session to its server: within connect-timeout, as long as its client does not hang
 * up; then send a PROXY header, if the gate wants one.
 * Returns a future: polls as VOLT_OK: s->server is there, and connected; VOLT_ECLOSED: how the
 *   session ends is set (refused: connect, breaker; or the client has gone; or VOLT_ENOMEM);
 *   VOLT_ECANCELED. Call server_dialed() after it, whatever it was. */
volt_future *server_dial(struct session *s);

/* Free what the dial needed. */
void server_dialed(struct session *s);

/* Connect to the server without a session, as a CancelRequest does, or a task that looks whether the server
 * is back. *connected becomes the connection. Returns a future as volt_dial_future(). */
struct server_probe {
  volt_dial dial;
  volt_timeout timeout;
};
volt_future *server_probe(struct server_probe *p, struct gate *g, volt_fd *connected);

/* Why it has failed, in words. */
const char *server_probe_error(const struct server_probe *p, int result);

/* Write the PROXY header that a connection to the server begins with. Returns the bytes; 0: the gate
 * sends none. */
size_t server_proxy_header(struct session *s, unsigned char to[PROXY_OUT_MAX]);

/* Its side has failed. Returns in which words TLS says why, and logs them; NULL: it was not TLS, or just cut
 * off. With TLS 1.3 a server looks at voltgate's certificate when the handshake is over. */
const char *server_failed(struct session *s, int error);

/* Close it, if there is one; nothing of it is waited for any more. */
void server_close(struct session *s);

#endif
