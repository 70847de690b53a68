/* permit.c: how a session gets its permit, and gives it back.
 *
 * Invariants
 *   P1  admission_holds() is true from the moment that session_admit() or session_queued() has
 *       returned VOLT_OK until session_release(). Whatever way the task ends, session_release() is
 *       called behind VOLT_FINALLY, after the server's socket was closed.
 *   P2  is_queued is true while admission_join() has succeeded and admission_leave() was not called.
 *       A grant that came while the session left is found by admission_leave(): then the session
 *       holds the permit, and P1 gives it back. */
#include "session/session.h"

/* When it queued, or got the permit that it holds. */
static uint64_t session_permit_since_ns(const struct session *s) {
  return atomic_load_explicit(&s->entry.since_ns, memory_order_relaxed); /* relaxed: its own */
}

static int session_permit_granted(struct session *s) {
  s->permits += 1;
  if (s->details) client_begins(s->details, session_permit_since_ns(s));
  return VOLT_OK;
}

/* Whether the server is thought to be away, for a session that has no connection to it. */
static bool session_permit_is_hopeless(const struct session *s) {
  return !s->server && breaker_is_open(&s->gate->breaker);
}

/* Leave the queue, if it is in it. Returns true: it holds the permit. */
static bool session_permit_leave(struct session *s, uint64_t now_ns) {
  if (s->is_queued) s->wait_ns += now_ns - session_permit_since_ns(s);
  s->is_queued = false;
  s->wait.armed &= (uint8_t)~SESSION_PERMIT;
  return admission_leave(&s->admission, now_ns);
}

/* It waits no more. reason: why it is refused, if it is. */
static int session_permit_decide(struct session *s, enum gate_reason reason, uint64_t now_ns) {
  bool holds = session_permit_leave(s, now_ns);
  if (holds && !session_permit_is_hopeless(s)) return session_permit_granted(s);
  if (holds) {
    admission_release(&s->admission, now_ns);
    reason = REASON_BREAKER;
  }
  session_refuse(s, s->admission.is_shed ? REASON_SHED : reason);
  return VOLT_ECLOSED;
}

int session_admit(struct session *s) {
  uint64_t now_ns = session_now_ns(s);
  if (session_permit_is_hopeless(s)) {
    session_refuse(s, REASON_BREAKER);
    return VOLT_ECLOSED;
  }
  if (admission_try(&s->admission, now_ns) == VOLT_OK) return session_permit_granted(s);
  if (admission_join(&s->admission, now_ns) != VOLT_OK) {
    session_refuse(s, REASON_QUEUE_FULL);
    return VOLT_ECLOSED;
  }
  s->wait.permit = admission_future(&s->admission);
  s->is_queued = true;
  return VOLT_EAGAIN;
}

uint64_t session_queue_deadline_ns(const struct session *s) {
  uint64_t deadline_ns = atomic_load_explicit(&s->entry.deadline_ns, memory_order_relaxed);
  return deadline_ns ? deadline_ns : VOLT_NO_DEADLINE; /* relaxed: the session itself has set it */
}

int session_queued(struct session *s) {
  uint64_t now_ns = session_now_ns(s);
  if (session_fired(s, SESSION_PERMIT))
    return session_permit_decide(s, REASON_QUEUE_TIMEOUT, now_ns);
  if (session_permit_is_hopeless(s)) return session_permit_decide(s, REASON_BREAKER, now_ns);
  if (now_ns < session_queue_deadline_ns(s)) return VOLT_EAGAIN;
  return session_permit_decide(s, REASON_QUEUE_TIMEOUT, now_ns);
}

void session_unqueue(struct session *s) {
  if (s->is_queued) (void)session_permit_leave(s, session_now_ns(s)); /* P2 */
}

void session_left(struct session *s) {
  session_unqueue(s);
  bool is_admitted =
      admission_holds(&s->admission); /* at the same moment: it is not counted twice */
  session_end(s, is_admitted ? SESSION_BY_CLIENT : SESSION_LEFT);
  if (!is_admitted) statistics_count(&s->gate->statistics, COUNT_LEFT, 1);
}

void session_release(struct session *s) {
  session_count_bytes(s);
  if (!admission_holds(&s->admission)) return;
  uint64_t now_ns = session_now_ns(s);
  s->hold_ns += now_ns - session_permit_since_ns(s);
  admission_release(&s->admission, now_ns);
}

void session_show(struct session *s, struct client_details *details, bool follows) {
  atomic_init(&details->work, CLIENT_CONNECTED);
  if (follows) s->details = details;
  /* clients:S2 -> clients:L2 */
  atomic_store_explicit(&s->entry.details, details, memory_order_release);
}

void session_count_bytes(struct session *s) {
  struct statistics *statistics = &s->gate->statistics;
  if (s->up != s->up_counted) {
    statistics_count(statistics, COUNT_BYTES_UP, s->up - s->up_counted);
    s->up_counted = s->up;
  }
  if (s->down != s->down_counted) {
    statistics_count(statistics, COUNT_BYTES_DOWN, s->down - s->down_counted);
    s->down_counted = s->down;
  }
}
