/* server.c: dials the server for a session, and closes it again.
 *
 * Each address has connect-timeout, and so has the whole. A client that has gone altogether ends
 * the dial; one that has only shut down its sending side has not: it may wait for its answer. */
#include "session/server.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <volt/select.h>

#include "gate/secure.h"
#include "process/log.h"
#include "session/session.h"
#include "wire/proxy.h"

struct dialing {
  volt_async async;
  struct session *session;
  struct server_probe probe;
  struct secure secure;
  volt_op gone;
  volt_select select;
  volt_future *either[2];
  int result;
};

volt_future *server_probe(struct server_probe *p, struct gate *g, volt_fd *connected) {
  const struct gate_settings *settings = gate_settings(g);
  uint64_t timeout_ns = settings->connect_timeout_ns;
  const volt_dial_config config = {.attempt_ns = timeout_ns ? timeout_ns : VOLT_NO_DEADLINE};
  uint64_t deadline_ns = timeout_ns ? volt_rt_now_ns(g->rt) + timeout_ns : VOLT_NO_DEADLINE;
  return volt_timeout_future(&p->timeout,
                             volt_dial_future(&p->dial, g->rt, connected, settings->to, &config),
                             volt_rt_timers(g->rt), deadline_ns);
}

const char *server_probe_error(const struct server_probe *p, int result) {
  return result == VOLT_ETIMEDOUT ? "no answer within connect-timeout"
                                  : volt_dial_error(&p->dial, result);
}

/* ---- what is sent before all else ---- */

size_t server_proxy_header(struct session *s, unsigned char to[PROXY_OUT_MAX]) {
  volt_address client, local;
  if (gate_settings(s->gate)->proxy_out == PROXY_HEADER_NO) return 0;
  bool is_known = session_client_address(s, &client);
  if (volt_fd_local(&s->client.fd, &local) != VOLT_OK) is_known = false;
  return proxy_write(is_known ? &client.as.any : NULL, is_known ? &local.as.any : NULL, to,
                     PROXY_OUT_MAX);
}

static int dialing_send_proxy(struct session *s) {
  unsigned char header[PROXY_OUT_MAX];
  size_t size = server_proxy_header(s, header);
  return size == 0 ? VOLT_OK : link_send(&s->server->link, header, size);
}

/* ---- the dial ---- */

/* The future, unless the client goes before. */
static volt_future *dialing_unless_gone(struct dialing *self, volt_future *f) {
  struct session *s = self->session;
  self->either[0] = f;
  self->either[1] = volt_fd_ready_future(&self->gone, &s->client.fd, SESSION_GONE);
  return volt_select_future(&self->select, self->either, 2, VOLT_SELECT_BIASED);
}

static volt_future *dialing_begin(struct dialing *self) {
  struct session *s = self->session;
  return dialing_unless_gone(self, server_probe(&self->probe, s->gate, &s->server->link.fd));
}

static volt_future *dialing_secure(struct dialing *self) {
  struct session *s = self->session;
  return dialing_unless_gone(self, secure_future(&self->secure, s->gate, &s->server->link.fd));
}

/* It is for want of something of our own: that says nothing about the server. */
static bool dialing_is_short(int result) {
  int e = volt_errno(result);
  return result == VOLT_ENOMEM || e == EMFILE || e == ENFILE || e == ENOMEM || e == ENOBUFS;
}

static void dialing_failed(struct dialing *self) {
  struct session *s = self->session;
  s->why = server_probe_error(&self->probe, self->result);
  if (dialing_is_short(self->result)) {
    log_line(LOG_ERROR, s->gate->name, "cannot connect: %s", s->why);
    statistics_count(&s->gate->statistics, COUNT_CONNECT_FAILURES, 1);
  } else {
    gate_connect_failed(s->gate, s->why);
  }
  session_refuse(s, REASON_CONNECT);
}

/* The select is ready. Returns VOLT_OK: it is connected. */
static int dialing_decide(struct dialing *self) {
  struct session *s = self->session;
  if (self->result == VOLT_ECANCELED) return self->result;
  if (volt_select_winner(&self->select) == 1) {
    session_end(s, SESSION_BY_CLIENT);
    return VOLT_ECLOSED;
  }
  if (self->result != VOLT_OK) {
    dialing_failed(self);
    return VOLT_ECLOSED;
  }
  link_keep_alive(&s->server->link.fd);
  s->server->is_counted = true;
  atomic_fetch_add_explicit(&s->gate->servers, 1, memory_order_relaxed); /* a count */
  self->result = dialing_send_proxy(s);
  if (link_is_full(&s->server->link)) self->result = VOLT_ERRNO(ENOBUFS); /* TLS begins behind it */
  if (self->result == VOLT_OK) return VOLT_OK;
  session_fail(s, self->result);
  return VOLT_ECLOSED;
}

/* The handshake has been made, or has failed. */
static int dialing_secured(struct dialing *self) {
  struct session *s = self->session;
  if (self->result == VOLT_ECANCELED) return self->result;
  if (volt_select_winner(&self->select) == 1) {
    session_end(s, SESSION_BY_CLIENT);
    return VOLT_ECLOSED;
  }
  if (self->result == VOLT_OK) {
    link_take_tls(&s->server->link, self->secure.tls);
    return VOLT_OK;
  }
  session_explain(s, self->secure.why);
  gate_connect_failed(s->gate, self->secure.why);
  session_refuse(s, REASON_CONNECT);
  return VOLT_ECLOSED;
}

static int dialing_done(struct dialing *self) {
  struct session *s = self->session;
  if (s->protocol == PROTOCOL_TCP) gate_answered(s->gate); /* others have to be heard first */
  return VOLT_OK;
}

static int dialing_run(volt_async *a, volt_ctx *ctx) {
  struct dialing *self = volt_container_of(a, struct dialing, async);
  VOLT_ASYNC_BEGIN(self);
  if (!self->session->server) VOLT_RETURN(self, VOLT_ECLOSED);
  VOLT_AWAIT_RESULT(self, self->result, dialing_begin(self));
  self->result = dialing_decide(self);
  if (self->result == VOLT_OK && secure_is_wanted(self->session->gate)) {
    VOLT_AWAIT_RESULT(self, self->result, dialing_secure(self));
    self->result = dialing_secured(self);
  }
  if (self->result != VOLT_OK) VOLT_RETURN(self, self->result);
  VOLT_RETURN(self, dialing_done(self));
  VOLT_ASYNC_END(self);
}

static bool dialing_make(struct session *s) {
  s->server = (struct server *)calloc(1, sizeof *s->server);
  if (!s->server) return false;
  s->server->dialing = (struct dialing *)calloc(1, sizeof *s->server->dialing);
  return s->server->dialing != NULL;
}

static int dialing_without_memory(volt_async *a, volt_ctx *ctx) {
  (void)a, (void)ctx;
  return VOLT_ECLOSED;
}

volt_future *server_dial(struct session *s) {
  if (!dialing_make(s)) {
    session_fail(s, VOLT_ENOMEM);
    return volt_async_future(&s->wait.async, dialing_without_memory);
  }
  struct dialing *self = s->server->dialing;
  self->session = s;
  return volt_async_future(&self->async, dialing_run);
}

void server_dialed(struct session *s) {
  if (!s->server) return;
  free(s->server->dialing);
  s->server->dialing = NULL;
}

const char *server_failed(struct session *s, int error) {
  bool says_why = error == VOLT_TLS_EREFUSED || error == VOLT_TLS_EPROTOCOL;
  if (!says_why) return NULL;
  const char *why = volt_tls_why(s->server->link.tls);
  log_line(LOG_WARN, s->gate->name, "TLS with the server: %s", why);
  return why;
}

void server_close(struct session *s) {
  struct server *server = s->server;
  if (!server) return;
  session_forget_server(s);
  server_dialed(s);
  /* the permit goes on when this returns, so the server has to see the end now: with io_uring the
   * system may hold on to the socket for a moment after close() */
  (void)volt_fd_shutdown(&server->link.fd, SHUT_RDWR);
  link_close(&server->link);
  if (server->is_counted) {
    atomic_fetch_sub_explicit(&s->gate->servers, 1, memory_order_relaxed); /* a count */
  }
  free(server);
  s->server = NULL;
}
