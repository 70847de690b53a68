/* tcp.c: a session of any protocol: bytes both ways, as long as both sides want. It holds its permit
 * from before the dial until the server's socket is closed.
 *
 * A client that has shut down its sending side may wait for an answer: the end is passed on, and the
 * session goes on. A server that has done so is gone: when all it has sent is delivered, the session
 * ends, or clients that do not close (an idle pool, after a restart of the server) would hold permits
 * of a server that is not there. Only with half-close keep each direction ends by itself. */
#include "session/pump.h"
#include "session/session.h"

/* Bytes of a connection that lasts are counted each time that so many have passed. */
enum { TCP_COUNT_BYTES = 1 << 20 };

struct tcp {
  struct session_body body; /* first */
  struct client_details details;
  struct pump pump;
  uint64_t moved_ns; /* when bytes were last passed on; 0: nothing asks for it */
  uint64_t asked_ns; /* when the client sent the first bytes that are not answered; 0: none */
  enum pump_result moved;
  bool has_pump;
  bool is_client_first; /* it has ended before the server */
  bool has_server_ended;
  int result;
};

static struct tcp *tcp_of(volt_async *a) {
  struct session_body *body = volt_container_of(a, struct session_body, async);
  return volt_container_of(body, struct tcp, body);
}

/* ---- deadlines ---- */

/* Bytes were passed on: note when, if anything depends on it. */
static void tcp_note(struct tcp *self) {
  struct session *s = self->body.session;
  const struct gate_settings *settings = gate_settings(s->gate);
  bool any_up = s->up != self->pump.up;
  bool any_down = s->down != self->pump.down;
  s->up = self->pump.up;
  s->down = self->pump.down;
  session_show_bytes(s, &self->details);
  if (s->up - s->up_counted + s->down - s->down_counted >= TCP_COUNT_BYTES) session_count_bytes(s);
  if (!settings->idle_timeout_ns && !settings->server_timeout_ns) {
    self->moved_ns = self->asked_ns = 0;
    return;
  }
  if (!any_up && !any_down && self->moved_ns) return;
  self->moved_ns = session_now_ns(s); /* or a reload has just asked for it */
  if (any_down) self->asked_ns = 0;
  if (any_up && !any_down && !self->asked_ns) self->asked_ns = self->moved_ns;
}

static uint64_t tcp_earlier(uint64_t one, uint64_t other) {
  return one < other ? one : other;
}

static uint64_t tcp_idle_ns(const struct tcp *self) {
  uint64_t timeout_ns = gate_settings(self->body.session->gate)->idle_timeout_ns;
  return timeout_ns && self->moved_ns ? self->moved_ns + timeout_ns : VOLT_NO_DEADLINE;
}

static uint64_t tcp_server_ns(const struct tcp *self) {
  uint64_t timeout_ns = gate_settings(self->body.session->gate)->server_timeout_ns;
  return timeout_ns && self->asked_ns ? self->asked_ns + timeout_ns : VOLT_NO_DEADLINE;
}

static uint64_t tcp_deadline_ns(const struct tcp *self) {
  uint64_t first_ns = tcp_earlier(tcp_idle_ns(self), tcp_server_ns(self));
  return tcp_earlier(first_ns, session_max_age_ns(self->body.session));
}

/* Returns true: a deadline has passed, and the session ends. */
static bool tcp_is_late(struct tcp *self) {
  struct session *s = self->body.session;
  uint64_t now_ns = session_now_ns(s);
  if (now_ns >= session_max_age_ns(s)) {
    session_refuse(s, REASON_MAX_AGE);
  } else if (now_ns >= tcp_server_ns(self)) {
    session_refuse(s, REASON_SERVER_TIMEOUT);
  } else if (now_ns >= tcp_idle_ns(self)) {
    session_refuse(s, REASON_IDLE);
  }
  return s->ending != SESSION_GOES_ON;
}

/* ---- bytes ---- */

static void tcp_failed(struct tcp *self) {
  struct session *s = self->body.session;
  if (self->pump.error == VOLT_ENOMEM) {
    session_fail(s, VOLT_ENOMEM);
  } else {
    bool is_client = self->pump.failed == PUMP_CLIENT;
    if (!is_client) (void)server_failed(s, self->pump.error);
    session_end(s, is_client ? SESSION_BY_CLIENT : SESSION_BY_SERVER);
  }
}

/* The server has ended, and the client has all of it. */
static bool tcp_is_served(const struct tcp *self) {
  struct session *s = self->body.session;
  return self->has_server_ended && !link_is_full(&s->client) &&
         gate_settings(s->gate)->half_close == HALF_CLOSE_LEAVE;
}

/* Move what there is. Returns true: the session ends. */
static bool tcp_round(struct tcp *self) {
  struct session *s = self->body.session;
  self->moved = pump_round(&self->pump);
  tcp_note(self);
  switch (self->moved) {
    case PUMP_CLIENT_ENDED:
      if (!s->server->link.has_ended) self->is_client_first = true;
      return false;
    case PUMP_ENDED:
      session_end(s, self->is_client_first ? SESSION_BY_CLIENT : SESSION_BY_SERVER);
      return true;
    case PUMP_FAILED: tcp_failed(self); return true;
    case PUMP_SERVER_ENDED: self->has_server_ended = true; return false;
    case PUMP_WAIT:
      if (tcp_is_served(self)) session_end(s, SESSION_BY_SERVER);
      return s->ending != SESSION_GOES_ON;
    case PUMP_AGAIN:
    case PUMP_STOPPED: break;
  }
  return false;
}

static volt_future *tcp_wait(struct tcp *self) {
  return session_wait(self->body.session, pump_events(&self->pump, PUMP_CLIENT),
                      pump_events(&self->pump, PUMP_SERVER), 0, tcp_deadline_ns(self));
}

/* Returns true: the session ends. */
static bool tcp_look(struct tcp *self) {
  struct session *s = self->body.session;
  if (session_fired(s, SESSION_CLIENT)) {
    pump_ready(&self->pump, PUMP_CLIENT, s->wait.client_ready);
  }
  if (session_fired(s, SESSION_SERVER)) {
    pump_ready(&self->pump, PUMP_SERVER, s->wait.server_ready);
  }
  return session_fired(s, SESSION_TIME) && tcp_is_late(self);
}

static void tcp_begin(struct tcp *self) {
  struct session *s = self->body.session;
  s->is_speechless = true; /* from now on it is the server that speaks */
  pump_init(&self->pump, &s->client, &s->server->link, NULL, NULL);
  self->has_pump = true;
  session_show(s, &self->details, false);
}

static int tcp_run(volt_async *a, volt_ctx *ctx) {
  struct tcp *self = tcp_of(a);
  VOLT_ASYNC_BEGIN(&self->body);
  VOLT_AWAIT_RESULT(self, self->result, server_dial(self->body.session));
  server_dialed(self->body.session);
  if (self->result != VOLT_OK) VOLT_RETURN(self, self->result);
  tcp_begin(self);
  while (!tcp_round(self)) {
    if (self->moved == PUMP_AGAIN) VOLT_YIELD(self);
    if (self->moved != PUMP_WAIT) continue;
    VOLT_AWAIT(self, tcp_wait(self));
    if (tcp_look(self)) break;
  }
  VOLT_ASYNC_END(self);
}

static void tcp_free(struct session_body *b) {
  struct tcp *self = volt_container_of(b, struct tcp, body);
  if (self->has_pump) pump_end(&self->pump);
}

const struct session_kind session_tcp = {
    .size = sizeof(struct tcp), .is_admitted = true, .run = tcp_run, .free = tcp_free};
