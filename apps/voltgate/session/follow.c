/* follow.c: what sessions have in common that hold a permit for a while only. */
#include "session/follow.h"

void follow_begin(struct follow *f, struct session *s, const struct pump_hooks *hooks, void *arg) {
  f->session = s;
  f->moved_ns = f->silent_ns = VOLT_NO_DEADLINE;
  pump_init(&f->pump, &s->client, &s->server->link, hooks, arg);
  f->details.user = s->user;
  f->details.database = s->database;
  session_show(s, &f->details, hooks != NULL);
}

void follow_end(struct follow *f) {
  pump_end(&f->pump);
}

enum pump_result follow_round(struct follow *f) {
  struct session *s = f->session;
  f->step = pump_round(&f->pump);
  f->any_up = s->up != f->pump.up;
  f->any_down = s->down != f->pump.down;
  if (f->any_down && !f->is_answered) gate_answered(s->gate);
  f->is_answered = f->is_answered || f->any_down;
  s->up = f->pump.up;
  s->down = f->pump.down;
  session_show_bytes(s, &f->details);
  return f->step;
}

void follow_note_rest(struct follow *f, bool rests) {
  if (rests == f->rests) return;
  f->rests = rests;
  /* what ends a rest otherwise is the release of the permit */
  if (!admission_holds(&f->session->admission)) return;
  client_rests(&f->details, rests, session_now_ns(f->session));
}

/* ---- deadlines ---- */

static const struct gate_settings *follow_settings(const struct follow *f) {
  return gate_settings(f->session->gate);
}

/* What waits for its permit does not wait for the server. */
static bool follow_is_asked(const struct follow *f, enum follow_stand stand) {
  return stand == FOLLOW_ASKED && !f->session->is_queued;
}

static bool follow_is_idle(const struct follow *f, enum follow_stand stand) {
  return stand == FOLLOW_IDLE && !f->session->is_queued && !admission_holds(&f->session->admission);
}

void follow_note(struct follow *f, enum follow_stand stand) {
  const struct gate_settings *settings = follow_settings(f);
  if (!settings->idle_timeout_ns && !settings->server_timeout_ns) {
    f->moved_ns = f->silent_ns = VOLT_NO_DEADLINE;
    return;
  }
  uint64_t now_ns = session_now_ns(f->session);
  if (f->any_up || f->any_down || f->moved_ns == VOLT_NO_DEADLINE) f->moved_ns = now_ns;
  if (!follow_is_asked(f, stand)) {
    f->silent_ns = VOLT_NO_DEADLINE;
  } else if (f->any_down || f->silent_ns == VOLT_NO_DEADLINE) {
    f->silent_ns = now_ns;
  }
}

static uint64_t follow_idle_ns(const struct follow *f, enum follow_stand stand) {
  bool waits = f->session->is_queued || stand == FOLLOW_ASKED;
  return waits ? VOLT_NO_DEADLINE : follow_after(f->moved_ns, follow_settings(f)->idle_timeout_ns);
}

static uint64_t follow_silent_ns(const struct follow *f) {
  return follow_after(f->silent_ns, follow_settings(f)->server_timeout_ns);
}

uint64_t follow_deadline_ns(const struct follow *f, enum follow_stand stand) {
  const struct session *s = f->session;
  uint64_t first_ns = follow_earlier(follow_idle_ns(f, stand), follow_silent_ns(f));
  if (s->is_queued) first_ns = follow_earlier(first_ns, session_queue_deadline_ns(s));
  if (!follow_is_idle(f, stand)) return first_ns;
  return follow_earlier(first_ns, session_max_age_ns(s));
}

bool follow_is_late(struct follow *f, enum follow_stand stand) {
  struct session *s = f->session;
  uint64_t now_ns = session_now_ns(s);
  if (now_ns >= follow_silent_ns(f)) {
    if (!f->is_answered) gate_unanswered(s->gate, f->silent_ns);
    session_refuse(s, REASON_SERVER_TIMEOUT);
  } else if (now_ns >= follow_idle_ns(f, stand)) {
    session_refuse(s, REASON_IDLE);
  }
  return s->ending != SESSION_GOES_ON;
}

bool follow_has_deadlines(const struct follow *f) {
  const struct gate_settings *settings = follow_settings(f);
  return settings->idle_timeout_ns || settings->server_timeout_ns || settings->max_age_ns;
}

bool follow_may_be_over(const struct follow *f) {
  /* acquire: as in session_is_over(), which is asked only if it matters */
  return atomic_load_explicit(&f->session->gate->is_draining, memory_order_acquire) ||
         follow_settings(f)->max_age_ns;
}

bool follow_is_over(struct follow *f, enum follow_stand stand) {
  struct session *s = f->session;
  return follow_may_be_over(f) && follow_is_idle(f, stand) && session_is_over(s);
}

/* ---- waiting ---- */

volt_future *follow_wait(struct follow *f, uint64_t deadline_ns) {
  return session_wait(f->session, pump_events(&f->pump, PUMP_CLIENT),
                      pump_events(&f->pump, PUMP_SERVER),
                      f->session->is_queued ? SESSION_PERMIT : 0, deadline_ns);
}

bool follow_has_left(struct follow *f) {
  struct session *s = f->session;
  bool keeps = follow_settings(f)->half_close == HALF_CLOSE_KEEP;
  bool has_gone = keeps ? pump_is_gone(&f->pump) : pump_is_hung_up(&f->pump, PUMP_CLIENT);
  if (!s->is_queued || !has_gone) return false;
  session_left(s);
  session_release(s); /* it may have come just now: nothing was passed on for it */
  return true;
}

void follow_ready(struct follow *f) {
  const struct session *s = f->session;
  if (session_fired(s, SESSION_CLIENT)) pump_ready(&f->pump, PUMP_CLIENT, s->wait.client_ready);
  if (session_fired(s, SESSION_SERVER)) pump_ready(&f->pump, PUMP_SERVER, s->wait.server_ready);
}

enum follow_look follow_look(struct follow *f) {
  struct session *s = f->session;
  follow_ready(f);
  if (!s->is_queued) return FOLLOW_GOES_ON;
  if (follow_has_left(f)) return FOLLOW_ENDS;
  int result = session_queued(s);
  if (result == VOLT_EAGAIN) return FOLLOW_GOES_ON;
  return result == VOLT_OK ? FOLLOW_GRANTED : FOLLOW_ENDS;
}
