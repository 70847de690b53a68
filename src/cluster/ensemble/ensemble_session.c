/* ensemble_session.c: sessions: the leader ends one that has not been heard of for its time.
 *
 * Each half tick the leader hears of a follower of which sessions that has heard; a session of the leader's
 * own is touched at once. The leader rounds the time of the end up to a whole tick. A new leader gives
 * every session its whole time.
 *
 * A client that connects again has moved once the leader has heard of that: what it has asked by its
 * old connection, and the leader has not put into the log yet, is refused. */
#include <inttypes.h>
#include <stdlib.h>

#include "ensemble.h"
#include "ensemble_leader.h"
#include "ensemble_log.h"
#include "ensemble_session.h"

enum { TICKS_MIN = 2, TICKS_MAX = 20, SESSION_FIRST = 0x1000 };

static uint64_t ensemble_session_end_ns(const volt_ensemble *e, const ensemble_session *s) {
  uint64_t tick_ns = e->config.tick_ns;
  return (e->now_ns + s->session_ns) / tick_ns * tick_ns + tick_ns;
}

ensemble_session *ensemble_session_find_(volt_ensemble *e, uint64_t number) {
  ensemble_session *s = e->sessions;
  while (s && s->number != number) s = s->next;
  return s && s->closed == ENSEMBLE_NEVER ? s : NULL;
}

uint64_t ensemble_session_open_(volt_ensemble *e, uint64_t asked_ns) {
  ensemble_session *s = (ensemble_session *)ensemble_alloc_(1, sizeof *s);
  uint64_t min_ns = TICKS_MIN * e->config.tick_ns, max_ns = TICKS_MAX * e->config.tick_ns;
  s->session_ns = asked_ns < min_ns ? min_ns : asked_ns > max_ns ? max_ns : asked_ns;
  s->number = SESSION_FIRST + ++e->sessions_made;
  s->opened = e->log_count;
  s->closed = ENSEMBLE_NEVER;
  s->deadline_ns = ensemble_session_end_ns(e, s);
  s->next = e->sessions;
  e->sessions = s;
  e->counts.sessions += 1;
  return s->number;
}

/* ---- where its client is ---- */

bool ensemble_session_moves_(volt_ensemble *e, uint64_t number, const ensemble_link *link) {
  ensemble_session *s = ensemble_session_find_(e, number);
  if (!s) return false;
  s->link = link->number;
  s->deadline_ns = ensemble_session_end_ns(e, s);
  return true;
}

bool ensemble_session_may_(volt_ensemble *e, const ensemble_item *item) {
  const ensemble_session *s = ensemble_session_find_(e, item->session);
  return s && (!item->link || s->link == 0 || s->link == item->link->number);
}

/* ---- touches ---- */

static void ensemble_touch_at_leader(volt_ensemble *e, uint64_t session) {
  ensemble_session *s = ensemble_session_find_(e, session);
  if (s) s->deadline_ns = ensemble_session_end_ns(e, s);
}

void ensemble_touch_(volt_ensemble *e, uint32_t server, uint64_t session) {
  ensemble_server *s = &e->server[server];
  if (ensemble_leads_(e, server)) {
    ensemble_touch_at_leader(e, session);
    return;
  }
  for (uint32_t i = s->touched_count; i-- > 0;) {
    if (s->touched[i] == session) return;
  }
  if (s->touched_count == s->touched_size) {
    s->touched_size = s->touched_size ? 2 * s->touched_size : 16;
    s->touched = (uint64_t *)ensemble_resize_(s->touched, s->touched_size, sizeof *s->touched);
  }
  s->touched[s->touched_count++] = session;
}

/* The leader has asked whether it is alive; this is in the answer. */
void ensemble_touches_send_(volt_ensemble *e, uint32_t server) {
  ensemble_server *s = &e->server[server];
  if (s->touched_count == 0) return;
  ensemble_message *m = ensemble_message_new_(MESSAGE_TOUCHES);
  m->touched = s->touched;
  m->count = s->touched_count;
  s->touched = NULL;
  s->touched_count = s->touched_size = 0;
  ensemble_send_across_(e, server, e->leader, m, 2 * ensemble_hop_ns_(e));
}

void ensemble_touches_arrived_(volt_ensemble *e, const ensemble_message *m) {
  for (uint32_t i = 0; i < m->count; i++) ensemble_touch_at_leader(e, m->touched[i]);
}

/* ---- the leader's ---- */

void ensemble_sessions_renew_(volt_ensemble *e) {
  for (ensemble_session *s = e->sessions; s; s = s->next) {
    s->deadline_ns = ensemble_session_end_ns(e, s);
    s->link = 0;
  }
}

static void ensemble_session_end(volt_ensemble *e, ensemble_session *s) {
  ENSEMBLE_TRACE(e, "session %" PRIx64 " has expired", s->number);
  ensemble_item *item = ensemble_item_new_(ITEM_CLOSE);
  item->session = s->number;
  ensemble_propose_(e, item);
  ensemble_item_drop_(item);
}

void ensemble_sessions_check_(volt_ensemble *e) {
  ensemble_session **at = &e->sessions;
  while (*at) {
    ensemble_session *s = *at;
    if (s->closed != ENSEMBLE_NEVER && s->closed < e->log_first) { /* for good */
      *at = s->next;
      free(s);
      continue;
    }
    at = &s->next;
    if (s->closed != ENSEMBLE_NEVER || s->deadline_ns > e->now_ns) continue;
    e->counts.expired += 1;
    ensemble_session_end(e, s);
  }
}

int volt_ensemble_expire(volt_ensemble *e, uint64_t session) {
  if (e->leader == VOLT_ENSEMBLE_NONE) return VOLT_CLUSTER_EAWAY;
  ensemble_session *s = ensemble_session_find_(e, session);
  if (s) ensemble_session_end(e, s);
  return VOLT_OK;
}

/* What is not in the log any more has not happened. */
void ensemble_sessions_cut_(volt_ensemble *e, uint64_t count) {
  ensemble_session **at = &e->sessions;
  while (*at) {
    ensemble_session *s = *at;
    if (s->opened >= count) {
      *at = s->next;
      free(s);
      continue;
    }
    if (s->closed != ENSEMBLE_NEVER && s->closed >= count) s->closed = ENSEMBLE_NEVER;
    at = &s->next;
  }
}

void ensemble_sessions_clear_(volt_ensemble *e) {
  while (e->sessions) {
    ensemble_session *s = e->sessions;
    e->sessions = s->next;
    free(s);
  }
}
