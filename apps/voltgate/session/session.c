/* session.c: the task of a session: its steps, and its end.
 *
 * The end, whichever way it comes (also by a cancel at any await), is behind VOLT_FINALLY:
 *   1. leave the queue          others move up at once
 *   2. close the server         before the permit: the server never sees more than the limit
 *   3. give the permit back     exactly once: admission_holds(). It is no client any more
 *   4. say why to the client, close it
 *   5. give the descriptors back, count, log */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* POLLRDHUP */
#endif
#include "session/session.h"

#include <stdlib.h>
#include <string.h>

#include "gate/host.h"
#include "process/log.h"
#include "session/acceptor.h"
#include "session/farewell.h"
#include "session/login.h"

/* ---- how it ends ---- */

void session_end(struct session *s, enum session_ending ending) {
  if (s->ending != SESSION_GOES_ON) return;
  s->ending = (uint8_t)ending;
  if (ending == SESSION_DRAINED) s->reason = REASON_DRAINING;
}

void session_refuse(struct session *s, enum gate_reason reason) {
  if (s->ending != SESSION_GOES_ON) return;
  s->ending = SESSION_REFUSED;
  s->reason = (uint8_t)reason;
  gate_refused(s->gate, s->entry.tenant, reason);
}

void session_fail(struct session *s, int error) {
  if (s->ending != SESSION_GOES_ON) return;
  s->ending = SESSION_FAILED;
  s->error = error;
}

void session_explain(struct session *s, const char *why) {
  free(s->words);
  s->words = strdup(why);
  s->why = s->words;
}

uint64_t session_max_age_ns(const struct session *s) {
  uint64_t age_ns = gate_settings(s->gate)->max_age_ns;
  return age_ns ? s->entry.accepted_ns + age_ns : VOLT_NO_DEADLINE;
}

bool session_is_over(struct session *s) {
  /* acquire: with the drain comes all that was set before it */
  if (atomic_load_explicit(&s->gate->is_draining, memory_order_acquire)) {
    session_end(s, SESSION_DRAINED);
    return true;
  }
  if (session_now_ns(s) < session_max_age_ns(s)) return false;
  session_refuse(s, REASON_MAX_AGE);
  return true;
}

/* ---- the steps ---- */

static const struct session_kind *session_kind(const struct session *s) {
  switch ((enum protocol)s->protocol) {
    case PROTOCOL_POSTGRES: return &session_postgres;
    case PROTOCOL_REDIS: return &session_redis;
    case PROTOCOL_PERMIT: return &session_permit;
    case PROTOCOL_TCP: break;
  }
  return &session_tcp;
}

/* The client hangs up while it is queued: what says so. */
static unsigned session_queue_events(const struct session *s) {
  return gate_settings(s->gate)->half_close == HALF_CLOSE_KEEP ? SESSION_GONE : POLLRDHUP;
}

static volt_future *session_queue_wait(struct session *s) {
  return session_wait(s, session_queue_events(s), 0, SESSION_PERMIT, session_queue_deadline_ns(s));
}

/* Something has happened while it was queued. Returns as session_queued(). */
static int session_look(struct session *s) {
  if (session_fired(s, SESSION_CLIENT)) {
    session_left(s);
    return VOLT_ECLOSED;
  }
  return session_queued(s);
}

static bool session_make_body(struct session *s) {
  const struct session_kind *kind = session_kind(s);
  if (s->body) return true; /* it was adopted */
  s->body = (struct session_body *)calloc(1, kind->size);
  if (s->body) {
    s->body->session = s;
  } else {
    session_fail(s, VOLT_ENOMEM);
  }
  return s->body != NULL;
}

static volt_future *session_run(struct session *s) {
  return volt_async_future(&s->body->async, session_kind(s)->run);
}

/* ---- the line of the access log ---- */

static const char *session_report_ending(const struct session *s) {
  switch ((enum session_ending)s->ending) {
    case SESSION_BY_CLIENT: return "client";
    case SESSION_BY_SERVER: return "server";
    case SESSION_LEFT: return "left";
    case SESSION_REFUSED: return "refused";
    case SESSION_DRAINED: return "drain";
    case SESSION_PASSED: return "passed";
    case SESSION_GOES_ON:
    case SESSION_FAILED: break;
  }
  return "error";
}

static const char *session_report_detail(const struct session *s) {
  if (s->ending == SESSION_REFUSED) return refusal_reason_name((enum gate_reason)s->reason);
  return s->ending == SESSION_FAILED ? volt_strerror(s->error) : NULL;
}

/* Write how it has ended, if there is an access log. */
static void session_report_end(const struct session *s) {
  if (!log_wants_access()) return;
  char client[VOLT_ADDRESS_TEXT];
  const struct access line = {.gate = s->gate->name,
                              .client = client_address_text(&s->entry, client),
                              .tenant = s->entry.tenant ? s->entry.tenant->name : NULL,
                              .user = s->user,
                              .database = s->database,
                              .wait_ns = s->wait_ns,
                              .hold_ns = s->hold_ns,
                              .age_ns = session_now_ns(s) - s->entry.accepted_ns,
                              .permits = s->permits,
                              .up = s->up,
                              .down = s->down,
                              .end = session_report_ending(s),
                              .detail = session_report_detail(s)};
  log_access(&line);
}

/* ---- the end ---- */

void session_leave_clients(struct session *s) {
  if (s->is_entered) clients_remove(&s->gate->clients, &s->entry);
  s->is_entered = false;
}

/* 1 to 3. */
static void session_leave(struct session *s) {
  session_end(s, s->result == VOLT_ECANCELED ? SESSION_DRAINED : SESSION_FAILED);
  session_unqueue(s);
  server_close(s);
  session_release(s);
  session_leave_clients(s);
}

/* 5. */
static void session_finish(struct session *s) {
  session_forget(s);
  link_close(&s->client);
  session_report_end(s);
  if (s->body && session_kind(s)->free) session_kind(s)->free(s->body);
  free(s->body);
  s->body = NULL;
  free(s->words);
  if (s->entry.tenant) tenant_leave(gate_tenants(s->gate), s->entry.tenant);
  statistics_count(&s->gate->statistics, COUNT_ENDED, 1);
  volt_sem_release(&s->gate->host->descriptors, acceptor_cost((enum protocol)s->protocol));
}

static int session_poll(volt_task *t, volt_ctx *ctx) {
  struct session *s = volt_container_of(t, struct session, task);
  VOLT_TASK_BEGIN(s);
  if (s->ending && !session_kind(s)->hears_late) VOLT_RETURN(s, VOLT_OK); /* as it was accepted */
  if (s->needs_login) {
    VOLT_AWAIT_RESULT(s, s->result, login_future(s));
    login_end(s);
    if (s->result != VOLT_OK) VOLT_RETURN(s, s->result);
    if (s->ending && (s->is_speechless || !session_kind(s)->hears_late)) VOLT_RETURN(s, VOLT_OK);
  }
  if (session_kind(s)->is_admitted && !s->is_queued && !admission_holds(&s->admission)) {
    if (session_admit(s) == VOLT_ECLOSED) VOLT_RETURN(s, VOLT_OK);
  }
  while (s->is_queued) {
    VOLT_AWAIT_RESULT(s, s->result, session_queue_wait(s));
    if (s->result != VOLT_OK) VOLT_RETURN(s, s->result);
    if (session_look(s) == VOLT_ECLOSED) VOLT_RETURN(s, VOLT_OK);
  }
  if (!session_make_body(s)) VOLT_RETURN(s, VOLT_ENOMEM);
  VOLT_AWAIT_RESULT(s, s->result, session_run(s));
  VOLT_FINALLY(s);
  session_leave(s);
  if (farewell_is_due(s)) {
    s->farewell = farewell_begin(s);
    if (s->farewell) VOLT_AWAIT_RESULT(s, s->result, farewell_future(s->farewell));
    farewell_end(s->farewell);
  }
  session_finish(s);
  VOLT_TASK_END(s);
}

/* ---- the beginning ---- */

struct session *session_at(struct gate *gate, enum protocol protocol, uint16_t port) {
  struct session *s = (struct session *)volt_task_new(gate->rt, sizeof *s, session_poll);
  if (!s) return NULL;
  s->protocol = (uint8_t)protocol;
  s->port = port;
  s->gate = gate;
  return s;
}

struct session *session_new(struct acceptor *acceptor) {
  return session_at(acceptor->gate, acceptor->protocol, acceptor->port);
}

void session_abandon(struct session *s) {
  session_leave(s);
  session_finish(s);
  volt_task_detach(&s->task);
}

void session_drop(struct session *s) {
  volt_task_detach(&s->task);
}

bool session_set_tenant(struct session *s, const char *name) {
  struct tenants *tenants = gate_tenants(s->gate);
  if (!tenants || s->entry.tenant) return true;
  s->entry.tenant = tenants_enter(tenants, name);
  if (!s->entry.tenant) session_fail(s, VOLT_ENOMEM);
  return s->entry.tenant != NULL;
}
