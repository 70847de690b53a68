/* postgres.c: a PostgreSQL session: a connection to the server for each client, and a permit for each
 * transaction.
 *
 *   login     what comes before authentication (postgres_login.c); a CancelRequest is passed on at
 *             once; TLS with the server itself is passed on unseen, with a permit to its end
 *   dial      startup and authentication need no permit, and have login-timeout
 *   pump      the hooks follow both directions. The client's first message of a transaction waits for
 *             a permit; the server's ReadyForQuery gives it back, before it is sent on
 *   goodbye   Terminate is a message like others: what is before it is answered, and the server closes
 *   parting   if the session ends while it holds a permit, the server is made to end first
 *             (postgres_cancel.c)
 *
 * Invariants
 *   P1  pg.has_permit is true exactly while the session holds a permit (admission_holds()).
 *   P2  While the client's direction is stopped, up_stop says why: the permit has not come (then the
 *       session is queued), or the server has to speak first.
 *   P3  Words of ours are put between the server's messages only: pg_is_between(). If the server has
 *       sent a part of one, its rest is awaited first (is_ending), a second at most; if it does not
 *       come, we say nothing. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* POLLRDHUP */
#endif
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "process/log.h"
#include "session/farewell.h"
#include "session/follow.h"
#include "session/parting.h"
#include "session/postgres_binding.h"
#include "session/postgres_cancel.h"
#include "session/postgres_login.h"
#include "wire/postgres.h"

enum { POSTGRES_NAMES = 2 * (PG_NAME_MAX + 1) };
#define POSTGRES_GOODBYE_NS UINT64_C(5000000000)
#define POSTGRES_ENDING_NS UINT64_C(1000000000)
#define POSTGRES_TENTH_NS UINT64_C(100000000) /* of a second: as exact as words are */

struct postgres {
  struct session_body body; /* first */
  union {                   /* one at a time */
    struct postgres_login *login;
    struct postgres_cancel *cancel;
    struct parting *parting;
  };
  struct pg pg;
  struct follow follow;
  uint64_t login_ns; /* deadline of the login */
  uint64_t
      asked_ns; /* since when the login waits for the server; VOLT_NO_DEADLINE: for the client */
  uint64_t resting_ns; /* since when it is idle in a transaction */
  uint64_t goodbye_ns; /* when the server must have closed after a goodbye */
  char *names;         /* of the user and the database */
  int result;
  enum pg_want up_stop, down_stop; /* why that direction is stopped */
  enum postgres_wish wish;
  uint8_t stage; /* what the union has */
  bool has_begun;
  bool is_ending;       /* nothing goes on but the rest of the server's message */
  bool has_ended_well;  /* the client has said that nothing follows: the server ends */
  bool is_server_first; /* of an opaque session: it has ended before the client */
  char why[PG_WHY_MAX];
};

enum { STAGE_NONE, STAGE_LOGIN, STAGE_CANCEL, STAGE_PARTING };

static struct postgres *postgres_of(volt_async *a) {
  struct session_body *body = volt_container_of(a, struct session_body, async);
  return volt_container_of(body, struct postgres, body);
}

static struct session *postgres_session(const struct postgres *self) {
  return self->body.session;
}

static const struct gate_settings *postgres_settings(const struct postgres *self) {
  return gate_settings(self->body.session->gate);
}

/* ---- memory of one step ---- */

static void postgres_drop_step(struct postgres *self) {
  if (self->stage == STAGE_LOGIN) postgres_login_free(self->login);
  if (self->stage == STAGE_CANCEL) free(self->cancel);
  if (self->stage == STAGE_PARTING) free(self->parting);
  self->stage = STAGE_NONE;
  self->login = NULL;
}

static bool postgres_has(struct postgres *self, void *memory, uint8_t stage) {
  if (memory) {
    self->stage = stage;
  } else {
    session_fail(postgres_session(self), VOLT_ENOMEM);
  }
  return memory != NULL;
}

/* ---- login ---- */

static bool postgres_begin_login(struct postgres *self) {
  struct session *s = postgres_session(self);
  uint64_t timeout_ns = postgres_settings(self)->login_timeout_ns;
  self->login_ns = timeout_ns ? session_now_ns(s) + timeout_ns : VOLT_NO_DEADLINE;
  self->login = postgres_login_new(s, self->login_ns);
  return postgres_has(self, self->login, STAGE_LOGIN);
}

static void postgres_copy_name(char *to, struct pg_text name) {
  size_t size = name.size <= PG_NAME_MAX ? name.size : PG_NAME_MAX;
  memcpy(to, name.at, size);
  to[size] = 0;
}

/* The names of the user and the database, for the tenant and the access log. */
static bool postgres_take_names(struct postgres *self) {
  struct session *s = postgres_session(self);
  const struct pg_startup *startup = &self->login->startup;
  self->names = (char *)malloc(POSTGRES_NAMES);
  if (!self->names) {
    session_fail(s, VOLT_ENOMEM);
    return false;
  }
  char *database = self->names + PG_NAME_MAX + 1;
  postgres_copy_name(self->names, startup->user);
  postgres_copy_name(database, startup->database);
  s->user = self->names;
  s->database = database;
  enum tenant_by by = postgres_settings(self)->tenant_by;
  if (by == TENANT_BY_USER) return session_set_tenant(s, s->user);
  return by == TENANT_BY_DATABASE ? session_set_tenant(s, s->database) : true;
}

/* The login is over. Returns true: go on to the server. */
static bool postgres_take_login(struct postgres *self) {
  struct session *s = postgres_session(self);
  self->wish = self->login->wish;
  if (self->result != VOLT_OK) {
    memcpy(self->why, self->login->why, sizeof self->login->why);
    s->why = self->why[0] ? self->why : NULL;
    return false;
  }
  if (self->wish == POSTGRES_WISH_CANCEL) return true;
  if (s->ending != SESSION_GOES_ON) return false; /* refused as it was accepted: now it can hear */
  if (self->wish == POSTGRES_WISH_SESSION && !postgres_take_names(self)) return false;
  if (session_is_over(s)) return false;
  if (!breaker_is_open(&s->gate->breaker)) return true;
  session_refuse(s, REASON_BREAKER);
  return false;
}

/* ---- CancelRequest ---- */

/* Returns false: no memory. */
static bool postgres_begin_cancel(struct postgres *self) {
  struct postgres_login *login = self->login;
  struct postgres_cancel *cancel = (struct postgres_cancel *)calloc(1, sizeof *cancel);
  if (cancel)
    postgres_cancel_set(cancel, postgres_session(self), login->bytes, login->startup.bytes);
  postgres_drop_step(self);
  self->cancel = cancel;
  return postgres_has(self, cancel, STAGE_CANCEL);
}

/* ---- words ---- */

/* Say it to the client, if there is a place for words. From now on nothing else is said to it. */
static void postgres_say(struct postgres *self, const struct pg_error *error) {
  struct session *s = postgres_session(self);
  char words[REFUSAL_MAX];
  s->is_speechless = false;
  size_t size = error ? pg_error_bytes(error, words, sizeof words) : farewell_words(s, words);
  s->is_speechless = true;
  bool is_heard =
      pg_is_between(&self->pg) && !pump_is_broken(&self->follow.pump, PUMP_CLIENT); /* P3 */
  if (is_heard && size > 0) (void)link_send(&s->client, words, size);
}

/* The session ends, as it is set. */
static void postgres_say_ending(struct postgres *self) {
  static const struct pg_error drained = {
      .severity = "FATAL", .sqlstate = "57P01", .message = "voltgate: the gate is shut down"};
  struct session *s = postgres_session(self);
  if (s->ending != SESSION_REFUSED && s->ending != SESSION_DRAINED) return;
  if (self->wish != POSTGRES_WISH_SESSION) return;
  postgres_say(self, s->ending == SESSION_DRAINED && pg_is_ready(&self->pg) ? &drained : NULL);
}

/* The server has closed, or was reset. Its last words have been passed on, if there were any. */
static void postgres_server_gone(struct postgres *self) {
  struct pg_error lost = {.severity = "FATAL",
                          .sqlstate = "08006",
                          .message = "voltgate: the server has closed the connection"};
  struct session *s = postgres_session(self);
  const char *why = server_failed(s, self->follow.pump.error);
  if (why) {
    snprintf(self->why, sizeof self->why, "voltgate: the server refuses TLS: %s", why);
    lost.message = self->why;
  }
  if (self->has_ended_well) session_end(s, SESSION_BY_CLIENT);
  if (!self->has_ended_well && !self->pg.has_failed && self->wish == POSTGRES_WISH_SESSION)
    postgres_say(self, &lost);
  session_end(s, SESSION_BY_SERVER);
}

/* ---- hooks ---- */

/* Returns true: the session has the permit. Else it is queued, or it ends. */
static bool postgres_admit(struct postgres *self) {
  if (session_admit(postgres_session(self)) != VOLT_OK) return false;
  pg_granted(&self->pg);
  return true;
}

static enum pump_verdict postgres_up(void *arg, const char *bytes, size_t size, size_t *passed) {
  struct postgres *self = (struct postgres *)arg;
  *passed = 0;
  if (self->is_ending) return PUMP_STOPS;
  for (;;) {
    size_t n;
    self->up_stop = pg_from_client(&self->pg, bytes + *passed, size - *passed, &n);
    *passed += n;
    if (self->up_stop == PG_GOES_ON) return PUMP_GOES_ON;
    if (self->up_stop != PG_NEEDS_PERMIT || !postgres_admit(self)) return PUMP_STOPS;
  }
}

static enum pump_verdict postgres_down(void *arg, const char *bytes, size_t size, size_t *passed) {
  struct postgres *self = (struct postgres *)arg;
  bool is_last = self->is_ending && self->pg.server_left <= size;
  if (is_last) size = self->pg.server_left;
  self->down_stop = pg_from_server(&self->pg, bytes, size, passed);
  bool is_to_be_used = self->up_stop == PG_NEEDS_PERMIT; /* it has come, and nothing has gone yet */
  if (pg_may_release(&self->pg) && !is_to_be_used) {
    session_release(postgres_session(self));
    pg_released(&self->pg);
  }
  if (self->up_stop == PG_WAITS) pump_resume(&self->follow.pump, PUMP_CLIENT);
  return self->down_stop == PG_GOES_ON && !is_last ? PUMP_GOES_ON : PUMP_STOPS;
}

static void postgres_edit(void *arg, char *bytes, size_t size) {
  struct postgres *self = (struct postgres *)arg;
  bool is_login = !pg_is_ready(&self->pg) && pg_is_between(&self->pg);
  if (is_login) postgres_binding_look(postgres_session(self), bytes, size);
}

static const struct pump_hooks postgres_hooks = {postgres_up, postgres_down};

/* ---- deadlines ---- */

static enum follow_stand postgres_stand(const struct postgres *self) {
  if (self->wish == POSTGRES_WISH_OPAQUE || pg_is_idle_in_transaction(&self->pg))
    return FOLLOW_BUSY;
  return pg_is_asked(&self->pg) ? FOLLOW_ASKED : FOLLOW_IDLE;
}

/* After a goodbye the server has answered what there was, and has only to close. */
static void postgres_note_goodbye(struct postgres *self) {
  if (postgres_stand(self) == FOLLOW_ASKED) {
    self->goodbye_ns = VOLT_NO_DEADLINE;
  } else if (self->goodbye_ns == VOLT_NO_DEADLINE) {
    self->goodbye_ns = session_now_ns(postgres_session(self)) + POSTGRES_GOODBYE_NS;
  }
}

/* The client's stand, if a deadline depends on it: most gates have none, and this is asked all the
 * time. */
static enum follow_stand postgres_stand_for_deadlines(const struct postgres *self) {
  return follow_has_deadlines(&self->follow) ? postgres_stand(self) : FOLLOW_BUSY;
}

/* The login waits for the server from a message of the client until it says anything. */
static void postgres_note_login(struct postgres *self) {
  if (self->follow.any_down) {
    self->asked_ns = VOLT_NO_DEADLINE;
  } else if (self->follow.any_up && self->asked_ns == VOLT_NO_DEADLINE) {
    self->asked_ns = session_now_ns(postgres_session(self));
  }
}

/* Note since when it is idle in a transaction, if that has a limit. */
static void postgres_note(struct postgres *self) {
  if (!pg_is_ready(&self->pg)) postgres_note_login(self);
  follow_note(&self->follow, postgres_stand_for_deadlines(self));
  if (self->has_ended_well) postgres_note_goodbye(self);
  bool rests = self->wish == POSTGRES_WISH_SESSION && pg_is_idle_in_transaction(&self->pg);
  follow_note_rest(&self->follow, rests);
  if (!postgres_settings(self)->idle_in_transaction_ns) rests = false;
  bool any = self->follow.any_up || self->follow.any_down;
  if (!rests) {
    self->resting_ns = VOLT_NO_DEADLINE;
  } else if (any || self->resting_ns == VOLT_NO_DEADLINE) {
    self->resting_ns = session_now_ns(postgres_session(self));
  }
}

static uint64_t postgres_resting_ns(const struct postgres *self) {
  return follow_after(self->resting_ns, postgres_settings(self)->idle_in_transaction_ns);
}

/* Of what has none else: authentication, a goodbye, and what is passed on unseen. */
static uint64_t postgres_own_ns(const struct postgres *self) {
  if (self->wish == POSTGRES_WISH_OPAQUE) return session_max_age_ns(postgres_session(self));
  return pg_is_ready(&self->pg) ? self->goodbye_ns : self->login_ns;
}

static uint64_t postgres_deadline_ns(const struct postgres *self) {
  uint64_t first_ns = follow_earlier(postgres_own_ns(self), postgres_resting_ns(self));
  return follow_earlier(first_ns,
                        follow_deadline_ns(&self->follow, postgres_stand_for_deadlines(self)));
}

/* The login was not complete in time: because of the server, if that had at least half of the time for
 * its answer, or of the client. */
static void postgres_is_late_in_login(struct postgres *self) {
  struct session *s = postgres_session(self);
  uint64_t now_ns = session_now_ns(s);
  uint64_t waited_ns = self->asked_ns < now_ns ? now_ns - self->asked_ns : 0;
  if (waited_ns < postgres_settings(self)->login_timeout_ns / 2) {
    session_refuse(s, REASON_LOGIN_TIMEOUT);
    return;
  }
  s->late_ns = (waited_ns + POSTGRES_TENTH_NS / 2) / POSTGRES_TENTH_NS * POSTGRES_TENTH_NS;
  gate_unanswered(s->gate, self->asked_ns);
  session_refuse(s, REASON_SERVER_TIMEOUT);
}

/* Returns true: a deadline has passed, and the session ends. */
static bool postgres_is_late(struct postgres *self) {
  struct session *s = postgres_session(self);
  uint64_t now_ns = session_now_ns(s);
  if (now_ns >= self->goodbye_ns) {
    session_end(s, SESSION_BY_CLIENT);
  } else if (now_ns >= postgres_own_ns(self)) {
    if (self->wish == POSTGRES_WISH_OPAQUE) {
      session_refuse(s, REASON_MAX_AGE);
    } else {
      postgres_is_late_in_login(self);
    }
  } else if (now_ns >= postgres_resting_ns(self)) {
    session_refuse(s, REASON_IDLE_IN_TRANSACTION);
  }
  return s->ending != SESSION_GOES_ON || follow_is_late(&self->follow, postgres_stand(self));
}

/* ---- rounds ---- */

static bool postgres_failed(struct postgres *self) {
  struct session *s = postgres_session(self);
  if (self->follow.pump.error == VOLT_ENOMEM) {
    session_fail(s, VOLT_ENOMEM);
  } else if (self->follow.pump.failed == PUMP_CLIENT) {
    session_end(s, SESSION_BY_CLIENT);
  } else {
    postgres_server_gone(self);
  }
  return true;
}

/* A hook has stopped its direction. Returns true: the session ends. */
static bool postgres_stopped(struct postgres *self) {
  struct session *s = postgres_session(self);
  if (self->down_stop == PG_MALFORMED) {
    log_line(LOG_ERROR, s->gate->name, "the server: %s",
             pg_why(&self->pg, self->why, sizeof self->why));
    session_fail(s, VOLT_ERRNO(EPROTO));
  } else if (self->up_stop == PG_MALFORMED) {
    s->why = pg_why(&self->pg, self->why, sizeof self->why);
    session_refuse(s, REASON_PROTOCOL);
  } else if (self->up_stop == PG_ENDS) {
    self->has_ended_well = true;
  }
  return s->ending != SESSION_GOES_ON || follow_has_left(&self->follow);
}

/* It has said nothing before: it is gone, or, with half-close keep, listens still. */
static bool postgres_client_ended(struct postgres *self) {
  struct session *s = postgres_session(self);
  bool keeps = postgres_settings(self)->half_close == HALF_CLOSE_KEEP;
  if (keeps && link_shut(&s->server->link) == VOLT_OK) {
    self->has_ended_well = true;
  } else {
    session_end(s, SESSION_BY_CLIENT);
  }
  return !self->has_ended_well;
}

/* Move what there is. Returns true: the session ends. */
static bool postgres_round(struct postgres *self) {
  enum pump_result step = follow_round(&self->follow);
  postgres_note(self);
  switch (step) {
    case PUMP_CLIENT_ENDED: return postgres_client_ended(self);
    case PUMP_SERVER_ENDED: postgres_server_gone(self); return true;
    case PUMP_FAILED: return postgres_failed(self);
    case PUMP_STOPPED: return postgres_stopped(self);
    case PUMP_ENDED:
    case PUMP_WAIT:
    case PUMP_AGAIN: break;
  }
  return follow_may_be_over(&self->follow) && follow_is_over(&self->follow, postgres_stand(self));
}

/* TLS with the server: an end is passed on. */
static bool postgres_round_opaque(struct postgres *self) {
  struct session *s = postgres_session(self);
  enum pump_result step = follow_round(&self->follow);
  postgres_note(self);
  if (step == PUMP_FAILED) return postgres_failed(self);
  if (step == PUMP_SERVER_ENDED) self->is_server_first = !s->client.has_ended;
  if (step != PUMP_ENDED) return false;
  session_end(s, self->is_server_first ? SESSION_BY_SERVER : SESSION_BY_CLIENT);
  return true;
}

/* ---- waiting ---- */

static volt_future *postgres_wait(struct postgres *self) {
  return follow_wait(&self->follow, postgres_deadline_ns(self));
}

/* Something has happened. Returns true: the session ends. */
static bool postgres_look(struct postgres *self) {
  enum follow_look look = follow_look(&self->follow);
  if (look == FOLLOW_ENDS) return true;
  if (look == FOLLOW_GRANTED) {
    pg_granted(&self->pg);
    pump_resume(&self->follow.pump, PUMP_CLIENT);
  }
  return session_fired(postgres_session(self), SESSION_TIME) && postgres_is_late(self);
}

/* ---- TLS with the server: a permit per connection ---- */

static atomic_flag postgres_has_said_opaque = ATOMIC_FLAG_INIT;

/* Returns true: the session ends. */
static bool postgres_begin_opaque(struct postgres *self) {
  struct session *s = postgres_session(self);
  s->is_speechless = true; /* the client expects TLS */
  if (!atomic_flag_test_and_set_explicit(&postgres_has_said_opaque, memory_order_relaxed)) {
    log_line(LOG_WARN, s->gate->name,
             "tls pass: a client speaks TLS with the server itself, so it holds a permit as long "
             "as it is connected");
  }
  return session_admit(s) == VOLT_ECLOSED;
}

static volt_future *postgres_wait_opaque(struct postgres *self) {
  struct session *s = postgres_session(self);
  bool keeps = postgres_settings(self)->half_close == HALF_CLOSE_KEEP;
  return session_wait(s, keeps ? SESSION_GONE : POLLRDHUP, 0, SESSION_PERMIT,
                      session_queue_deadline_ns(s));
}

/* Returns true: the session ends. */
static bool postgres_look_opaque(struct postgres *self) {
  struct session *s = postgres_session(self);
  if (!session_fired(s, SESSION_CLIENT)) return session_queued(s) == VOLT_ECLOSED;
  session_left(s);
  return true;
}

/* ---- begin and end ---- */

/* The server is there. Returns false: the session ends. */
static bool postgres_begin_pump(struct postgres *self) {
  struct session *s = postgres_session(self);
  const struct postgres_login *login = self->login;
  bool is_opaque = self->wish == POSTGRES_WISH_OPAQUE;
  size_t first = is_opaque ? login->size : login->startup.bytes;
  pg_init(&self->pg);
  self->resting_ns = self->goodbye_ns = VOLT_NO_DEADLINE;
  self->asked_ns = session_now_ns(s); /* the startup packet */
  follow_begin(&self->follow, s, is_opaque ? NULL : &postgres_hooks, self);
  self->follow.pump.edit = postgres_edit;
  self->has_begun = true;
  int result = link_send(&s->server->link, login->bytes, first);
  if (result == VOLT_OK) {
    result = pump_put(&self->follow.pump, PUMP_CLIENT, login->bytes + first, login->size - first);
  }
  s->up = self->follow.pump.up = first;
  postgres_drop_step(self);
  /* relaxed: a thread that looks at clients sees a snapshot */
  if (!is_opaque) atomic_store_explicit(&s->entry.state, CLIENT_IDLE, memory_order_relaxed);
  if (result != VOLT_OK) session_fail(s, result);
  return result == VOLT_OK;
}

/* Whether there are words for the client, but the server is in the middle of a message. */
static bool postgres_is_inside(struct postgres *self) {
  struct session *s = postgres_session(self);
  bool has_words = s->ending == SESSION_REFUSED || s->ending == SESSION_DRAINED;
  if (!has_words || self->wish != POSTGRES_WISH_SESSION || pg_is_between(&self->pg)) return false;
  if (!self->is_ending) self->goodbye_ns = session_now_ns(s) + POSTGRES_ENDING_NS;
  self->is_ending = true;
  return session_now_ns(s) < self->goodbye_ns;
}

/* Pass on the rest of the message, as far as it has come. Returns true: there may be more. */
static bool postgres_finish_message(struct postgres *self) {
  if (!postgres_is_inside(self)) return false;
  enum pump_result step = follow_round(&self->follow);
  bool is_cut = step == PUMP_FAILED || step == PUMP_SERVER_ENDED || step == PUMP_ENDED;
  return !is_cut && postgres_is_inside(self);
}

static volt_future *postgres_wait_for_rest(struct postgres *self) {
  return follow_wait(&self->follow, self->goodbye_ns);
}

/* Whether the server works for the session still, or may. */
static bool postgres_must_part(const struct postgres *self) {
  const struct session *s = postgres_session(self);
  return self->has_begun && self->wish == POSTGRES_WISH_SESSION && s->server &&
         admission_holds(&s->admission) && s->ending != SESSION_BY_SERVER &&
         s->ending != SESSION_FAILED;
}

static enum parting_how postgres_how_to_part(const struct postgres *self) {
  if (self->has_ended_well) return PARTING_LET_FINISH;
  return pg_is_idle_in_transaction(&self->pg) ? PARTING_END : PARTING_CANCEL;
}

/* Returns false: no memory: then the server is closed at once. */
static bool postgres_begin_parting(struct postgres *self) {
  self->parting = (struct parting *)calloc(1, sizeof *self->parting);
  return postgres_has(self, self->parting, STAGE_PARTING);
}

static volt_future *postgres_part(struct postgres *self) {
  return parting_future(self->parting, postgres_session(self), &self->pg,
                        postgres_how_to_part(self));
}

static void postgres_parted(struct postgres *self) {
  struct session *s = postgres_session(self);
  postgres_drop_step(self);
  if (self->result != VOLT_ETIMEDOUT) return;
  log_line(LOG_WARN, s->gate->name,
           "the server has not ended what the client of %s left behind within %u s: its permit is "
           "given back all the same",
           s->user, (unsigned)(PARTING_NS / 1000000000));
}

/* It is ended from outside, wherever it is: P3 holds here, too. */
static void postgres_cut_off(struct postgres *self) {
  struct session *s = postgres_session(self);
  session_end(s, SESSION_DRAINED);
  if (self->has_begun && !s->is_speechless) postgres_say_ending(self);
}

static int postgres_run(volt_async *a, volt_ctx *ctx) {
  struct postgres *self = postgres_of(a);
  struct session *s = postgres_session(self);
  VOLT_ASYNC_BEGIN(&self->body);
  if (!postgres_begin_login(self)) VOLT_RETURN(self, VOLT_OK);
  VOLT_AWAIT_RESULT(self, self->result, postgres_login_future(self->login));
  if (self->result == VOLT_ECANCELED) VOLT_RETURN(self, self->result);
  if (!postgres_take_login(self)) VOLT_RETURN(self, VOLT_OK);
  if (self->wish == POSTGRES_WISH_CANCEL) {
    if (!postgres_begin_cancel(self)) VOLT_RETURN(self, VOLT_OK);
    VOLT_AWAIT_RESULT(self, self->result, postgres_cancel_future(self->cancel));
    if (self->result == VOLT_OK) statistics_count(&s->gate->statistics, COUNT_CANCELS, 1);
    session_end(s, SESSION_BY_CLIENT);
    VOLT_RETURN(self, VOLT_OK);
  }
  if (self->wish == POSTGRES_WISH_OPAQUE && postgres_begin_opaque(self)) VOLT_RETURN(self, VOLT_OK);
  while (s->is_queued) {
    VOLT_AWAIT(self, postgres_wait_opaque(self));
    if (postgres_look_opaque(self)) VOLT_RETURN(self, VOLT_OK);
  }
  VOLT_AWAIT_RESULT(self, self->result, server_dial(s));
  server_dialed(s);
  if (self->result != VOLT_OK) VOLT_RETURN(self, self->result);
  if (!postgres_begin_pump(self)) VOLT_RETURN(self, VOLT_OK);
  for (;;) {
    if (self->wish == POSTGRES_WISH_OPAQUE ? postgres_round_opaque(self) : postgres_round(self))
      break;
    if (self->follow.step == PUMP_AGAIN) VOLT_YIELD(self);
    if (self->follow.step != PUMP_WAIT) continue;
    VOLT_AWAIT(self, postgres_wait(self));
    if (postgres_look(self)) break;
  }
  while (postgres_finish_message(self)) {
    if (self->follow.step == PUMP_AGAIN) VOLT_YIELD(self);
    if (self->follow.step != PUMP_WAIT) continue;
    VOLT_AWAIT(self, postgres_wait_for_rest(self));
    follow_ready(&self->follow);
  }
  postgres_say_ending(self);
  if (postgres_must_part(self) && postgres_begin_parting(self)) {
    VOLT_AWAIT_RESULT(self, self->result, postgres_part(self));
    postgres_parted(self);
  }
  VOLT_FINALLY(&self->body);
  if (VOLT_LEAVING(&self->body) == VOLT_ECANCELED) postgres_cut_off(self);
  VOLT_ASYNC_END(&self->body);
}

static void postgres_free(struct session_body *b) {
  struct postgres *self = volt_container_of(b, struct postgres, body);
  postgres_drop_step(self);
  follow_end(&self->follow);
  free(self->names);
}

const struct session_kind session_postgres = {.size = sizeof(struct postgres),
                                              .is_admitted = false,
                                              .hears_late = true,
                                              .run = postgres_run,
                                              .free = postgres_free};
