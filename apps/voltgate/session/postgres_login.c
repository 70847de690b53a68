/* postgres_login.c: what a PostgreSQL client sends before authentication.
 *
 * The packets are gathered in memory that grows as they come, to PG_STARTUP_MAX at most. What
 * follows an answer ('N', 'S') must come after it: bytes behind a request for encryption come from
 * an attacker in between, and would be taken for encrypted ones. */
#include "session/postgres_login.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "process/log.h"

enum { LOGIN_ROOM = 512 };

struct postgres_login *postgres_login_new(struct session *s, uint64_t deadline_ns) {
  struct postgres_login *l = (struct postgres_login *)calloc(1, sizeof *l);
  if (!l) return NULL;
  l->session = s;
  l->deadline_ns = deadline_ns;
  return l;
}

void postgres_login_free(struct postgres_login *l) {
  if (!l) return;
  free(l->bytes);
  free(l);
}

/* ---- how it fails ---- */

static int postgres_login_refuse(struct postgres_login *l, const char *why) {
  if (why != l->why) snprintf(l->why, sizeof l->why, "%s", why);
  session_refuse(l->session, REASON_PROTOCOL);
  return VOLT_ECLOSED;
}

static int postgres_login_fail(struct postgres_login *l, int error) {
  session_fail(l->session, error);
  return VOLT_ECLOSED;
}

static int postgres_login_client_gone(struct postgres_login *l) {
  session_end(l->session, SESSION_BY_CLIENT);
  return VOLT_ECLOSED;
}

/* ---- bytes ---- */

static bool postgres_login_grow(struct postgres_login *l) {
  if (l->size < l->room) return true;
  uint32_t room = l->room ? 4 * l->room : LOGIN_ROOM;
  if (room > PG_STARTUP_MAX) room = PG_STARTUP_MAX;
  char *bytes = (char *)realloc(l->bytes, room);
  if (!bytes) return false;
  l->bytes = bytes;
  l->room = room;
  return true;
}

/* Returns VOLT_OK: there is more; VOLT_EAGAIN; VOLT_ECLOSED. */
static int postgres_login_receive(struct postgres_login *l) {
  size_t n;
  if (!postgres_login_grow(l)) return postgres_login_fail(l, VOLT_ENOMEM);
  int result = link_recv(&l->session->client, l->bytes + l->size, l->room - l->size, &n);
  if (result == VOLT_EAGAIN) return result;
  if (result != VOLT_OK || n == 0) return postgres_login_client_gone(l);
  l->size += (uint32_t)n;
  return VOLT_OK;
}

/* A request was the whole of what has come. */
static int postgres_login_answer(struct postgres_login *l, char letter) {
  if (l->size > l->startup.bytes) {
    return postgres_login_refuse(
        l, "bytes behind a request for encryption, which is not answered yet");
  }
  l->size = 0;
  if (link_send(&l->session->client, &letter, 1) != VOLT_OK) return postgres_login_client_gone(l);
  return VOLT_OK;
}

/* ---- TLS ---- */

/* The answer to a request for it has gone. */
static int postgres_login_begin_tls(struct postgres_login *l) {
  struct session *s = l->session;
  volt_tls_context *context = gate_tls_of_clients(s->gate);
  int result = context ? link_begin_tls(&s->client, context, NULL, l->bytes, l->size) : VOLT_ENOMEM;
  volt_tls_context_drop(context);
  l->begins_tls = false;
  l->size = 0;
  return result == VOLT_OK ? VOLT_OK : postgres_login_fail(l, result);
}

/* What PostgreSQL asks of a client that begins with TLS at once. */
static int postgres_login_check_alpn(struct postgres_login *l) {
  char chosen[sizeof "postgresql"];
  (void)volt_tls_alpn(l->session->client.tls, chosen, sizeof chosen);
  if (!l->is_direct || chosen[0]) return VOLT_OK;
  return postgres_login_refuse(l, "TLS without SSLRequest needs ALPN \"postgresql\"");
}

/* Returns VOLT_OK, VOLT_EAGAIN, VOLT_ECLOSED. */
static int postgres_login_shake_hands(struct postgres_login *l) {
  struct session *s = l->session;
  int result = link_shake_hands(&s->client);
  if (result == VOLT_EAGAIN) return result;
  if (result == VOLT_OK) return postgres_login_check_alpn(l);
  s->is_speechless = true; /* the client would take no word for what it is */
  if (result == VOLT_ECLOSED) return postgres_login_client_gone(l);
  snprintf(l->why, sizeof l->why, "TLS handshake: %s", volt_tls_why(s->client.tls));
  log_line(LOG_INFO, s->gate->name, "%s", l->why);
  return postgres_login_refuse(l, l->why);
}

/* ---- the packets ---- */

static int postgres_login_take_ssl(struct postgres_login *l) {
  switch (gate_settings(l->session->gate)->tls) {
    case TLS_MODE_SERVER:
      if (l->session->client.tls) return postgres_login_answer(l, 'N');
      l->begins_tls = true;
      return postgres_login_answer(l, 'S');
    case TLS_MODE_PASS: l->wish = POSTGRES_WISH_OPAQUE; return VOLT_DONE;
    case TLS_MODE_OFF: break;
  }
  return postgres_login_answer(l, 'N');
}

static int postgres_login_take_tls(struct postgres_login *l) {
  switch (gate_settings(l->session->gate)->tls) {
    case TLS_MODE_SERVER:
      if (l->session->client.tls) return postgres_login_refuse(l, "TLS inside of TLS");
      l->is_direct = l->begins_tls = true;
      return VOLT_OK;
    case TLS_MODE_PASS: l->wish = POSTGRES_WISH_OPAQUE; return VOLT_DONE;
    case TLS_MODE_OFF: break;
  }
  l->session->is_speechless = true;
  return postgres_login_refuse(l, "TLS, which this gate does not speak");
}

static int postgres_login_take_startup(struct postgres_login *l) {
  const struct gate_settings *settings = gate_settings(l->session->gate);
  bool must = settings->tls == TLS_MODE_SERVER && settings->tls_required;
  if (must && !l->session->client.tls) return postgres_login_refuse(l, "this gate asks for TLS");
  l->wish = POSTGRES_WISH_SESSION;
  return VOLT_DONE;
}

/* Act on what has come. Returns VOLT_DONE: wish is known; VOLT_OK: look again; VOLT_EAGAIN: more has
 * to come; VOLT_ECLOSED. */
static int postgres_login_take(struct postgres_login *l) {
  if (l->size == 0) return VOLT_EAGAIN;
  switch (pg_startup_read(&l->startup, l->bytes, l->size)) {
    case PG_FIRST_PART: return VOLT_EAGAIN;
    case PG_FIRST_SSL: return postgres_login_take_ssl(l);
    case PG_FIRST_GSSENC: return postgres_login_answer(l, 'N');
    case PG_FIRST_TLS: return postgres_login_take_tls(l);
    case PG_FIRST_CANCEL: l->wish = POSTGRES_WISH_CANCEL; return VOLT_DONE;
    case PG_FIRST_STARTUP: return postgres_login_take_startup(l);
    case PG_FIRST_MALFORMED: break;
  }
  return postgres_login_refuse(l, pg_startup_why(&l->startup, l->why, sizeof l->why));
}

/* Go on as far as is possible now. Returns VOLT_DONE, VOLT_EAGAIN, VOLT_ECLOSED. */
static int postgres_login_go_on(struct postgres_login *l) {
  struct session *s = l->session;
  for (;;) {
    int result = VOLT_OK;
    if (link_is_full(&s->client) && link_flush(&s->client) != VOLT_OK)
      return postgres_login_client_gone(l);
    if (l->begins_tls && link_is_full(&s->client)) return VOLT_EAGAIN;
    if (l->begins_tls && postgres_login_begin_tls(l) != VOLT_OK) return VOLT_ECLOSED;
    if (s->client.tls && !l->is_encrypted) {
      result = postgres_login_shake_hands(l);
      if (result != VOLT_OK) return result;
      l->is_encrypted = true;
    }
    result = postgres_login_take(l);
    if (result == VOLT_EAGAIN) result = postgres_login_receive(l);
    if (result != VOLT_OK) return result;
  }
}

static volt_future *postgres_login_wait(struct postgres_login *l) {
  return session_wait(l->session, link_events(&l->session->client, true), 0, 0, l->deadline_ns);
}

static bool postgres_login_is_late(struct postgres_login *l) {
  if (session_now_ns(l->session) < l->deadline_ns) return false;
  if (l->session->client.tls && !l->is_encrypted) l->session->is_speechless = true;
  session_refuse(l->session, REASON_LOGIN_TIMEOUT);
  return true;
}

static int postgres_login_run(volt_async *a, volt_ctx *ctx) {
  struct postgres_login *l = volt_container_of(a, struct postgres_login, async);
  VOLT_ASYNC_BEGIN(l);
  for (;;) {
    l->result = postgres_login_go_on(l);
    if (l->result == VOLT_DONE) VOLT_RETURN(l, VOLT_OK);
    if (l->result == VOLT_ECLOSED) VOLT_RETURN(l, VOLT_ECLOSED);
    VOLT_AWAIT(l, postgres_login_wait(l));
    if (session_fired(l->session, SESSION_TIME) && postgres_login_is_late(l))
      VOLT_RETURN(l, VOLT_ECLOSED);
  }
  VOLT_ASYNC_END(l);
}

volt_future *postgres_login_future(struct postgres_login *l) {
  return volt_async_future(&l->async, postgres_login_run);
}
