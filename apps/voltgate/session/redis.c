/* redis.c: a redis session: a connection to the server for each client, and a permit for each burst
 * of commands.
 *
 * The hooks follow both directions. The byte that ends the first command of a burst waits for a
 * permit; the last reply to all that was sent gives it back, before it is sent on. A command that
 * blocks at the server gives it back at once, and is counted apart; until it is answered, nothing
 * behind it goes on.
 *
 * If replies cannot be counted any more, the session ends: a client that was not asked for a password
 * yet can bring that about, and would hold a permit for as long as it likes.
 *
 * The client's end is passed on, and the session goes on until the server has closed, which it does
 * when it has run and answered what it was sent: only then its permit is free. */
#include <errno.h>
#include <stdlib.h>

#include "process/log.h"
#include "session/farewell.h"
#include "session/follow.h"
#include "session/parting.h"
#include "wire/redis.h"

struct redis_session {
  struct session_body body; /* first */
  struct follow follow;
  struct redis redis;
  struct parting *parting; /* NULL: not yet */
  uint64_t blocking_counted;
  uint64_t goodbye_ns;                /* when the server must have closed after the client's end */
  enum redis_want up_stop, down_stop; /* why that direction is stopped */
  int result;
};

static struct redis_session *session_redis_of(volt_async *a) {
  struct session_body *body = volt_container_of(a, struct session_body, async);
  return volt_container_of(body, struct redis_session, body);
}

static struct session *session_redis_session_of(const struct redis_session *self) {
  return self->body.session;
}

/* ---- hooks ---- */

static void session_redis_release_if_done(struct redis_session *self) {
  if (!redis_may_release(&self->redis)) return;
  session_release(session_redis_session_of(self));
  redis_released(&self->redis);
}

/* Returns true: the session goes on. */
static bool session_redis_is_followed(struct redis_session *self) {
  if (self->redis.is_lost) self->up_stop = REDIS_MALFORMED;
  return !self->redis.is_lost;
}

static enum pump_verdict session_redis_up(void *arg, const char *bytes, size_t size,
                                          size_t *passed) {
  struct redis_session *self = (struct redis_session *)arg;
  *passed = 0;
  for (;;) {
    size_t n;
    self->up_stop = redis_from_client(&self->redis, bytes + *passed, size - *passed, &n);
    *passed += n;
    session_redis_release_if_done(self);
    if (!session_redis_is_followed(self)) return PUMP_STOPS;
    if (self->up_stop == REDIS_GOES_ON) return PUMP_GOES_ON;
    if (self->up_stop != REDIS_NEEDS_PERMIT) return PUMP_STOPS;
    if (session_admit(session_redis_session_of(self)) != VOLT_OK) {
      *passed -= redis_take_back(&self->redis);
      return PUMP_STOPS;
    }
    redis_granted(&self->redis);
  }
}

static enum pump_verdict session_redis_down(void *arg, const char *bytes, size_t size,
                                            size_t *passed) {
  struct redis_session *self = (struct redis_session *)arg;
  *passed = size;
  self->down_stop = redis_from_server(&self->redis, bytes, size);
  bool is_to_be_used =
      self->up_stop == REDIS_NEEDS_PERMIT; /* it has come, and nothing has gone yet */
  if (!is_to_be_used) session_redis_release_if_done(self);
  if (!session_redis_is_followed(self)) return PUMP_STOPS;
  if (self->up_stop == REDIS_WAITS) pump_resume(&self->follow.pump, PUMP_CLIENT);
  return self->down_stop == REDIS_GOES_ON ? PUMP_GOES_ON : PUMP_STOPS;
}

static const struct pump_hooks redis_hooks = {session_redis_up, session_redis_down};

/* ---- rounds ---- */

static enum follow_stand session_redis_stand(const struct redis_session *self) {
  bool waits = redis_is_asked(&self->redis) && !redis_is_blocked(&self->redis);
  return waits ? FOLLOW_ASKED : FOLLOW_IDLE;
}

/* Within MULTI, or behind WATCH. */
static bool session_redis_rests(const struct redis_session *self) {
  return admission_holds(&session_redis_session_of(self)->admission) &&
         session_redis_stand(self) == FOLLOW_IDLE;
}

static void session_redis_count(struct redis_session *self) {
  uint64_t more = self->redis.blocking - self->blocking_counted;
  if (more == 0) return;
  statistics_count(&session_redis_session_of(self)->gate->statistics, COUNT_BLOCKING, more);
  self->blocking_counted += more;
}

static bool session_redis_failed(struct redis_session *self) {
  struct session *s = session_redis_session_of(self);
  const struct pump *pump = &self->follow.pump;
  if (pump->error == VOLT_ENOMEM) {
    session_fail(s, VOLT_ENOMEM);
  } else {
    bool is_client = pump->failed == PUMP_CLIENT;
    if (!is_client) (void)server_failed(s, pump->error);
    session_end(s, is_client ? SESSION_BY_CLIENT : SESSION_BY_SERVER);
  }
  return true;
}

/* A hook has stopped its direction. Returns true: the session ends. */
static bool session_redis_stopped(struct redis_session *self) {
  struct session *s = session_redis_session_of(self);
  if (self->down_stop == REDIS_MALFORMED) {
    log_line(LOG_ERROR, s->gate->name, "the server: %s", self->redis.why);
    session_fail(s, VOLT_ERRNO(EPROTO));
  } else if (self->up_stop == REDIS_MALFORMED) {
    s->why = self->redis.why;
    session_refuse(s, REASON_PROTOCOL);
  }
  return s->ending != SESSION_GOES_ON || follow_has_left(&self->follow);
}

/* It may listen still: the server closes when it has answered. Returns true: the session ends. */
static bool session_redis_client_ended(struct redis_session *self) {
  struct session *s = session_redis_session_of(self);
  self->goodbye_ns = session_now_ns(s) + PARTING_NS;
  if (link_shut(&s->server->link) == VOLT_OK) return false;
  session_end(s, SESSION_BY_CLIENT);
  return true;
}

/* Move what there is. Returns true: the session ends. */
static bool session_redis_round(struct redis_session *self) {
  struct session *s = session_redis_session_of(self);
  enum pump_result step = follow_round(&self->follow);
  session_redis_count(self);
  follow_note(&self->follow, session_redis_stand(self));
  follow_note_rest(&self->follow, session_redis_rests(self));
  switch (step) {
    case PUMP_CLIENT_ENDED: return session_redis_client_ended(self);
    case PUMP_SERVER_ENDED:
      session_end(s, s->client.has_ended ? SESSION_BY_CLIENT : SESSION_BY_SERVER);
      return true;
    case PUMP_FAILED: return session_redis_failed(self);
    case PUMP_STOPPED: return session_redis_stopped(self);
    case PUMP_ENDED:
    case PUMP_WAIT:
    case PUMP_AGAIN: break;
  }
  return follow_is_over(&self->follow, session_redis_stand(self));
}

static volt_future *session_redis_wait(struct redis_session *self) {
  uint64_t deadline_ns = follow_deadline_ns(&self->follow, session_redis_stand(self));
  return follow_wait(&self->follow, follow_earlier(deadline_ns, self->goodbye_ns));
}

/* Something has happened. Returns true: the session ends. */
static bool session_redis_look(struct redis_session *self) {
  enum follow_look look = follow_look(&self->follow);
  if (look == FOLLOW_ENDS) return true;
  if (look == FOLLOW_GRANTED) {
    redis_granted(&self->redis);
    pump_resume(&self->follow.pump, PUMP_CLIENT);
  }
  if (!session_fired(session_redis_session_of(self), SESSION_TIME)) return false;
  if (follow_is_late(&self->follow, session_redis_stand(self))) return true;
  if (session_now_ns(session_redis_session_of(self)) < self->goodbye_ns) return false;
  session_end(session_redis_session_of(self), SESSION_BY_CLIENT);
  return true;
}

/* ---- begin and end ---- */

/* Returns false: the session ends. */
static bool session_redis_begin(struct redis_session *self) {
  struct session *s = session_redis_session_of(self);
  if (session_is_over(s)) return false;
  if (!breaker_is_open(&s->gate->breaker)) return true;
  session_refuse(s, REASON_BREAKER);
  return false;
}

static void session_redis_connected(struct redis_session *self) {
  struct session *s = session_redis_session_of(self);
  redis_init(&self->redis);
  self->goodbye_ns = VOLT_NO_DEADLINE;
  follow_begin(&self->follow, s, &redis_hooks, self);
  /* relaxed: a thread that looks at clients sees a snapshot */
  atomic_store_explicit(&s->entry.state, CLIENT_IDLE, memory_order_relaxed);
}

/* Say to the client why it ends, before the server is waited for: between replies only. */
static void session_redis_say_ending(struct redis_session *self) {
  struct session *s = session_redis_session_of(self);
  char words[REFUSAL_MAX];
  bool is_heard =
      self->redis.reply.elements == 0 && !pump_is_broken(&self->follow.pump, PUMP_CLIENT);
  size_t size = is_heard ? farewell_words(s, words) : 0;
  s->is_speechless = true;
  if (size > 0) (void)link_send(&s->client, words, size);
}

/* Returns true: the server has to be waited for. */
static bool session_redis_must_part(struct redis_session *self) {
  struct session *s = session_redis_session_of(self);
  bool works = admission_holds(&s->admission) && s->ending != SESSION_BY_SERVER &&
               s->ending != SESSION_FAILED;
  if (!works) return false;
  self->parting = (struct parting *)calloc(1, sizeof *self->parting);
  return self->parting != NULL;
}

/* It is ended from outside, wherever it is: nothing is said within a reply. */
static void session_redis_cut_off(struct redis_session *self) {
  struct session *s = session_redis_session_of(self);
  session_end(s, SESSION_DRAINED);
  if (self->follow.session && !s->is_speechless) session_redis_say_ending(self);
}

static int session_redis_run(volt_async *a, volt_ctx *ctx) {
  struct redis_session *self = session_redis_of(a);
  struct session *s = session_redis_session_of(self);
  VOLT_ASYNC_BEGIN(&self->body);
  if (!session_redis_begin(self)) VOLT_RETURN(self, VOLT_OK);
  VOLT_AWAIT_RESULT(self, self->result, server_dial(s));
  server_dialed(s);
  if (self->result != VOLT_OK) VOLT_RETURN(self, self->result);
  session_redis_connected(self);
  while (!session_redis_round(self)) {
    if (self->follow.step == PUMP_AGAIN) VOLT_YIELD(self);
    if (self->follow.step != PUMP_WAIT) continue;
    VOLT_AWAIT(self, session_redis_wait(self));
    if (session_redis_look(self)) break;
  }
  session_redis_say_ending(self);
  if (session_redis_must_part(self)) {
    VOLT_AWAIT(self, parting_future(self->parting, s, NULL, PARTING_CANCEL));
  }
  VOLT_FINALLY(&self->body);
  if (VOLT_LEAVING(&self->body) == VOLT_ECANCELED) session_redis_cut_off(self);
  VOLT_ASYNC_END(&self->body);
}

static void session_redis_free(struct session_body *b) {
  struct redis_session *self = volt_container_of(b, struct redis_session, body);
  free(self->parting);
  follow_end(&self->follow);
}

const struct session_kind session_redis = {.size = sizeof(struct redis_session),
                                           .is_admitted = false,
                                           .run = session_redis_run,
                                           .free = session_redis_free};
