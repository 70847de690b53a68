/* secure.h: TLS towards the server, on a connection that was just made: before any byte of a client. */
#ifndef VOLTGATE_GATE_SECURE_H
#define VOLTGATE_GATE_SECURE_H

#include <volt/task.h>
#include <volt/time.h>
#include <volt/tls.h>

#include "gate/gate.h"
#include "wire/proxy.h"

enum { SECURE_WHY = 160 };

/* Members but tls and why are private. */
struct secure {
  volt_async async;
  struct gate *gate;
  volt_fd *fd;
  volt_tls *tls; /* when it is VOLT_OK: open, allocated, and the caller's */
  union {        /* one at a time */
    volt_op plain;
    volt_tls_op tls;
  } op;
  volt_timeout timeout;
  uint64_t deadline_ns;
  int result;
  size_t header_size; /* 0: it was sent, or there is none */
  char header[PROXY_OUT_MAX];
  char letter;
  char why[SECURE_WHY]; /* why it has failed, in words */
};

/* Whether connections to the gate's server speak TLS. */
bool secure_is_wanted(const struct gate *g);

/* Write the PROXY header of a connection that has no client. Returns how many bytes; 0: the gate sends none. */
size_t secure_header(const struct gate *g, char to[PROXY_OUT_MAX]);

/* The name that the server is asked for, and that its certificate is checked for: server-name, or the host of
 * `to`. Returns NULL: there is none (a unix socket). */
const char *secure_name(const struct gate_settings *settings, char to[256]);

/* Ask for TLS, if the protocol does that first, and shake hands, within connect-timeout. fd: connected; nothing
 * but a PROXY header was sent.
 * Returns a future: polls as VOLT_OK: s->tls is the stream over *fd; VOLT_ECANCELED; else s->why says why
 *   not. Unless VOLT_OK, *fd is to be closed. */
volt_future *secure_future(struct secure *s, struct gate *g, volt_fd *fd);

/* The same of a connection that has no client: nothing was sent, and a PROXY header goes before all else, if the
 * gate sends one. */
volt_future *secure_probe_future(struct secure *s, struct gate *g, volt_fd *fd);

#endif
