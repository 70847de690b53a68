/* secure.c: TLS towards the server.
 *
 * Of PostgreSQL one byte is received in answer to SSLRequest, and no more: what an attacker has put behind
 * it is taken for a part of the handshake, which fails. */
#include "gate/secure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char secure_request[8] = {0, 0, 0, 8, 4, (char)0xd2, 0x16, 0x2f}; /* SSLRequest */

bool secure_is_wanted(const struct gate *g) {
  return gate_settings(g)->server_tls != SERVER_TLS_OFF;
}

size_t secure_header(const struct gate *g, char to[PROXY_OUT_MAX]) {
  if (gate_settings(g)->proxy_out == PROXY_HEADER_NO) return 0;
  return proxy_write(NULL, NULL, to, PROXY_OUT_MAX);
}

const char *secure_name(const struct gate_settings *settings, char to[256]) {
  const char *host = settings->server_name ? settings->server_name : settings->to;
  size_t size = strlen(host);
  if (!settings->server_name) {
    if (strncmp(host, "unix:", 5) == 0) return NULL;
    const char *port = strrchr(host, ':');
    if (port) size = (size_t)(port - host);
    if (size > 1 && host[0] == '[' && host[size - 1] == ']') {
      host += 1;
      size -= 2;
    }
  }
  if (size == 0 || size > 255) return NULL;
  memcpy(to, host, size);
  to[size] = '\0';
  return to;
}

/* ---- words ---- */

static int secure_failed(struct secure *s, int result, const char *words) {
  snprintf(s->why, sizeof s->why, "%s", words);
  return result;
}

static int secure_failed_of(struct secure *s, int result, const char *what, const char *detail) {
  snprintf(s->why, sizeof s->why, "%s: %s", what, detail);
  return result;
}

/* The handshake has failed. */
static int secure_refused(struct secure *s, int result) {
  char name[256];
  const char *why = volt_tls_why(s->tls);
  if (!why[0]) why = volt_strerror(result);
  switch (result) {
    case VOLT_TLS_EEXPIRED: return secure_failed(s, result, "the server's certificate has expired");
    case VOLT_TLS_ENOTYET:
      return secure_failed(s, result, "the server's certificate is not valid yet");
    case VOLT_TLS_ENAME:
      return secure_failed_of(s, result, "the server's certificate is not for this name",
                              secure_name(gate_settings(s->gate), name));
    case VOLT_TLS_EUNTRUSTED:
      return secure_failed_of(s, result, "the server's certificate is not trusted", why);
    case VOLT_TLS_EREFUSED: return secure_failed_of(s, result, "the server refuses TLS", why);
    case VOLT_TLS_ETRUNCATED:
      return secure_failed(s, result, "the server has closed within the TLS handshake");
    case VOLT_ETIMEDOUT: return secure_failed(s, result, "no TLS handshake within connect-timeout");
    default: return secure_failed_of(s, result, "TLS with the server", why);
  }
}

/* ---- the header, and the question ---- */

static bool secure_has_to_ask(const struct secure *s) {
  const struct gate_settings *settings = gate_settings(s->gate);
  return settings->protocol == PROTOCOL_POSTGRES && !settings->server_tls_direct;
}

static volt_future *secure_within(struct secure *s, volt_future *f) {
  return volt_timeout_future(&s->timeout, f, volt_rt_timers(s->gate->rt), s->deadline_ns);
}

static volt_future *secure_send_header(struct secure *s) {
  return secure_within(s, volt_fd_send_future(&s->op.plain, s->fd, s->header, s->header_size, 0));
}

static int secure_sent_header(struct secure *s) {
  if (s->result == VOLT_ETIMEDOUT)
    return secure_failed(s, s->result, "no PROXY header could be sent within connect-timeout");
  if (s->result != VOLT_OK)
    return secure_failed_of(s, s->result, "PROXY header", volt_strerror(s->result));
  return VOLT_OK;
}

static volt_future *secure_ask(struct secure *s) {
  return secure_within(
      s, volt_fd_send_future(&s->op.plain, s->fd, secure_request, sizeof secure_request, 0));
}

static volt_future *secure_hear(struct secure *s) {
  return secure_within(s, volt_fd_recv_future(&s->op.plain, s->fd, &s->letter, 1, 0));
}

static int secure_take_answer(struct secure *s) {
  if (s->result == VOLT_ETIMEDOUT)
    return secure_failed(s, s->result, "no answer to SSLRequest within connect-timeout");
  if (s->result != VOLT_OK)
    return secure_failed_of(s, s->result, "SSLRequest", volt_strerror(s->result));
  if (s->op.plain.n == 0)
    return secure_failed(s, VOLT_ECLOSED, "the server has closed instead of answering SSLRequest");
  switch (s->letter) {
    case 'S': return VOLT_OK;
    case 'N':
      return secure_failed(s, VOLT_TLS_EREFUSED, "the server does not speak TLS (ssl = off)");
    case 'E':
      return secure_failed(s, VOLT_TLS_EREFUSED, "the server has answered SSLRequest by an error");
    default: return secure_failed(s, VOLT_TLS_EPROTOCOL, "the server is no PostgreSQL");
  }
}

/* ---- the handshake ---- */

static int secure_begin(struct secure *s) {
  char name[256];
  volt_tls_context *context = gate_tls_of_servers(s->gate);
  s->tls = (volt_tls *)malloc(sizeof *s->tls);
  int result = VOLT_ENOMEM;
  if (s->tls && context)
    result = volt_tls_init(s->tls, context, s->fd, secure_name(gate_settings(s->gate), name));
  if (context) volt_tls_context_drop(context);
  if (result == VOLT_OK) return VOLT_OK;
  free(s->tls);
  s->tls = NULL;
  if (result == VOLT_EINVAL)
    return secure_failed(s, result, "the server's name is none that a certificate can have");
  return secure_failed(s, result, volt_strerror(result));
}

static volt_future *secure_shake(struct secure *s) {
  return secure_within(s, volt_tls_handshake_future(&s->op.tls, s->tls));
}

static int secure_decide(struct secure *s) {
  char chosen[sizeof "postgresql"];
  if (s->result == VOLT_ECANCELED) return s->result;
  if (s->result != VOLT_OK) return secure_refused(s, s->result);
  bool needs_alpn = gate_settings(s->gate)->server_tls_direct;
  if (!needs_alpn || volt_tls_alpn(s->tls, chosen, sizeof chosen)[0]) return VOLT_OK;
  return secure_failed(s, VOLT_TLS_EPROTOCOL,
                       "the server does not take TLS without SSLRequest (ALPN postgresql)");
}

/* It is not used. */
static void secure_discard(struct secure *s) {
  if (s->tls) volt_tls_cut_off(s->tls);
  free(s->tls);
  s->tls = NULL;
}

static int secure_run(volt_async *a, volt_ctx *ctx) {
  struct secure *self = volt_container_of(a, struct secure, async);
  VOLT_ASYNC_BEGIN(self);
  if (self->header_size > 0) {
    VOLT_AWAIT_RESULT(self, self->result, secure_send_header(self));
    if (self->result == VOLT_ECANCELED) VOLT_RETURN(self, VOLT_ECANCELED);
    self->result = secure_sent_header(self);
    if (self->result != VOLT_OK) VOLT_RETURN(self, self->result);
  }
  if (secure_has_to_ask(self)) {
    VOLT_AWAIT_RESULT(self, self->result, secure_ask(self));
    if (self->result == VOLT_OK) VOLT_AWAIT_RESULT(self, self->result, secure_hear(self));
    if (self->result == VOLT_ECANCELED) VOLT_RETURN(self, VOLT_ECANCELED);
    self->result = secure_take_answer(self);
    if (self->result != VOLT_OK) VOLT_RETURN(self, self->result);
  }
  self->result = secure_begin(self);
  if (self->result != VOLT_OK) VOLT_RETURN(self, self->result);
  VOLT_AWAIT_RESULT(self, self->result, secure_shake(self));
  VOLT_RETURN(self, secure_decide(self));
  VOLT_FINALLY(self);
  if (VOLT_LEAVING(self) != VOLT_OK) secure_discard(self);
  VOLT_ASYNC_END(self);
}

volt_future *secure_future(struct secure *s, struct gate *g, volt_fd *fd) {
  uint64_t timeout_ns = gate_settings(g)->connect_timeout_ns;
  memset(s, 0, sizeof *s);
  s->gate = g;
  s->fd = fd;
  s->deadline_ns = timeout_ns ? volt_rt_now_ns(g->rt) + timeout_ns : VOLT_NO_DEADLINE;
  return volt_async_future(&s->async, secure_run);
}

volt_future *secure_probe_future(struct secure *s, struct gate *g, volt_fd *fd) {
  volt_future *f = secure_future(s, g, fd);
  s->header_size = secure_header(g, s->header);
  return f;
}
