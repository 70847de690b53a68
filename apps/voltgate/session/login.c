/* login.c: what comes before a client's own bytes. The header of PROXY is looked at where it is
 * (MSG_PEEK), and only its own bytes are received: those behind it are the client's. */
#include "session/login.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "process/log.h"
#include "wire/proxy.h"

struct login {
  volt_async async;
  struct session *session;
  uint64_t deadline_ns;
  struct proxy proxy;
  int result;
};

static bool login_wants_proxy(const struct session *s) {
  return gate_settings(s->gate)->proxy_in != PROXY_HEADER_NO;
}

static bool login_wants_tls(const struct session *s) {
  return gate_settings(s->gate)->tls == TLS_MODE_SERVER && s->protocol != PROTOCOL_POSTGRES;
}

bool login_is_needed(const struct session *s) {
  return login_wants_proxy(s) || login_wants_tls(s);
}

static volt_future *login_wait(struct login *self, unsigned events) {
  return session_wait(self->session, events, 0, 0, self->deadline_ns);
}

/* Something has happened. Returns true: it is too late, and the session ends. */
static bool login_is_late(struct login *self) {
  if (session_now_ns(self->session) < self->deadline_ns) return false;
  self->session->is_speechless = true;
  session_refuse(self->session, REASON_LOGIN_TIMEOUT);
  return true;
}

static int login_malformed(struct login *self, const char *why) {
  self->session->why = why;
  self->session->is_speechless = true;
  session_refuse(self->session, REASON_PROTOCOL);
  return VOLT_ECLOSED;
}

static int login_client_gone(struct login *self) {
  session_end(self->session, SESSION_BY_CLIENT);
  return VOLT_ECLOSED;
}

/* ---- PROXY ---- */

static void login_take_address(struct login *self) {
  struct session *s = self->session;
  volt_address address;
  if (!login_wants_proxy(s) || self->proxy.is_local) return;
  const struct sockaddr *client = (const struct sockaddr *)&self->proxy.client;
  if (volt_address_set(&address, client, self->proxy.client_size) == VOLT_OK) {
    client_address_set(&s->entry, &address);
  }
}

/* The port that the client came to. */
static uint16_t login_port(const struct login *self) {
  volt_address address;
  if (!login_wants_proxy(self->session) || self->proxy.is_local) {
    return self->session->port;
  }
  const struct sockaddr *server = (const struct sockaddr *)&self->proxy.server;
  if (volt_address_set(&address, server, self->proxy.server_size) != VOLT_OK) return 0;
  return volt_address_port(&address);
}

/* Returns VOLT_OK: the header is complete; VOLT_EAGAIN; VOLT_ECLOSED: how the session ends is
 * set. */
static int login_read_proxy(struct login *self) {
  volt_fd *fd = &self->session->client.fd;
  char bytes[1024];
  for (;;) {
    size_t n, used = 0;
    int result = volt_fd_try_recv(fd, bytes, sizeof bytes, MSG_PEEK, &n);
    if (result == VOLT_EAGAIN) return result;
    if (result != VOLT_OK || n == 0) return login_client_gone(self);
    enum proxy_result read = proxy_read(&self->proxy, bytes, n, &used);
    if (read == PROXY_MALFORMED) return login_malformed(self, self->proxy.why);
    if (used > 0) result = volt_fd_try_recv(fd, bytes, used, 0, &n);
    if (result != VOLT_OK) return login_client_gone(self);
    if (read == PROXY_DONE) return VOLT_OK;
  }
}

/* ---- TLS ---- */

static int login_begin_tls(struct login *self) {
  struct session *s = self->session;
  volt_tls_context *context = gate_tls_of_clients(s->gate);
  int result = context ? link_begin_tls(&s->client, context, NULL, NULL, 0) : VOLT_ENOMEM;
  volt_tls_context_drop(context);
  if (result != VOLT_OK) session_fail(s, result);
  return result;
}

/* Returns VOLT_OK, VOLT_EAGAIN, VOLT_ECLOSED as login_read_proxy(). */
static int login_shake_hands(struct login *self) {
  struct session *s = self->session;
  int result = link_shake_hands(&s->client);
  if (result == VOLT_OK || result == VOLT_EAGAIN) return result;
  if (result == VOLT_ECLOSED) return login_client_gone(self);
  log_line(LOG_INFO, s->gate->name, "TLS: %s", volt_tls_why(s->client.tls));
  return login_malformed(self, "the TLS handshake has failed");
}

/* ---- both ---- */

static int login_run(volt_async *a, volt_ctx *ctx) {
  struct login *self = volt_container_of(a, struct login, async);
  struct session *s = self->session;
  VOLT_ASYNC_BEGIN(self);
  while (login_wants_proxy(s) && (self->result = login_read_proxy(self)) != VOLT_OK) {
    if (self->result != VOLT_EAGAIN) VOLT_RETURN(self, VOLT_OK);
    VOLT_AWAIT(self, login_wait(self, POLLIN));
    if (login_is_late(self)) VOLT_RETURN(self, VOLT_OK);
  }
  login_take_address(self);
  if (!session_find_tenant(s, login_port(self))) VOLT_RETURN(self, VOLT_OK);
  if (!login_wants_tls(s)) VOLT_RETURN(self, VOLT_OK);
  if (login_begin_tls(self) != VOLT_OK) VOLT_RETURN(self, VOLT_OK);
  while ((self->result = login_shake_hands(self)) != VOLT_OK) {
    if (self->result != VOLT_EAGAIN) VOLT_RETURN(self, VOLT_OK);
    VOLT_AWAIT(self, login_wait(self, link_events(&s->client, true)));
    if (login_is_late(self)) VOLT_RETURN(self, VOLT_OK);
  }
  VOLT_ASYNC_END(self);
}

static int login_without_memory(volt_async *a, volt_ctx *ctx) {
  (void)a, (void)ctx;
  return VOLT_ENOMEM;
}

volt_future *login_future(struct session *s) {
  s->login = (struct login *)calloc(1, sizeof *s->login);
  if (!s->login) {
    session_fail(s, VOLT_ENOMEM);
    return volt_async_future(&s->wait.async, login_without_memory);
  }
  uint64_t timeout_ns = gate_settings(s->gate)->login_timeout_ns;
  s->login->session = s;
  s->login->deadline_ns = timeout_ns ? session_now_ns(s) + timeout_ns : VOLT_NO_DEADLINE;
  return volt_async_future(&s->login->async, login_run);
}

void login_end(struct session *s) {
  free(s->login);
  s->login = NULL;
}
