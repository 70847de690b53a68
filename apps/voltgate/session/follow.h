/* follow.h: what sessions have in common that hold a permit for a while only: because their protocol
 * is followed, it is known when they need one. */
#ifndef VOLTGATE_SESSION_FOLLOW_H
#define VOLTGATE_SESSION_FOLLOW_H

#include "session/pump.h"
#include "session/session.h"

/* Where the client stands. */
enum follow_stand {
  FOLLOW_IDLE,  /* neither side waits: the session may end, if it holds no permit */
  FOLLOW_ASKED, /* the client waits for the server */
  FOLLOW_BUSY   /* neither: as within a transaction, when it is the client's turn */
};

/* Members are private but pump, step, any_up, any_down. */
struct follow {
  struct session *session;
  struct client_details details;
  struct pump pump;
  enum pump_result step; /* of the last round */
  bool any_up, any_down; /* bytes went on in it */
  uint64_t moved_ns;     /* when bytes last went on; VOLT_NO_DEADLINE: no timeout asks for it */
  uint64_t silent_ns;    /* since when the server has said nothing to a client that waits */
  bool is_answered;      /* the server has said anything */
  bool rests;            /* as its details say */
};

/* The session has its server. hooks: NULL: as pump_init(). */
void follow_begin(struct follow *f, struct session *s, const struct pump_hooks *hooks, void *arg);
void follow_end(struct follow *f); /* also if it has not begun, all-zero */

/* pump_round(), and what it has moved. */
enum pump_result follow_round(struct follow *f);

/* Whether any deadline depends on where the client stands. If not, that need not be known: it may be
 * FOLLOW_BUSY for follow_note() and follow_deadline_ns(). */
bool follow_has_deadlines(const struct follow *f);

/* Note when what deadlines depend on has changed. After each round. */
void follow_note(struct follow *f, enum follow_stand stand);

/* The first deadline: of the place in the queue, of a silent server, of idleness, of the age. */
uint64_t follow_deadline_ns(const struct follow *f, enum follow_stand stand);

/* Note for a thread that looks at the clients: it holds its permit and rests (or not: the server works for it).
 * After each round. */
void follow_note_rest(struct follow *f, bool rests);

/* Whether server-timeout or idle-timeout has passed: then the end is set. */
bool follow_is_late(struct follow *f, enum follow_stand stand);

/* Whether follow_is_over() may be true, wherever the client stands. */
bool follow_may_be_over(const struct follow *f);

/* Whether a session that is idle and holds no permit has to end: drain, age. Then the end is set. */
bool follow_is_over(struct follow *f, enum follow_stand stand);

/* Until something happens, or deadline_ns. */
volt_future *follow_wait(struct follow *f, uint64_t deadline_ns);

/* Something has happened: pass it on to the pump, and nothing else. */
void follow_ready(struct follow *f);

/* Something has happened: pass it on to the pump, and look at the queue. */
enum follow_look {
  FOLLOW_GOES_ON,
  FOLLOW_GRANTED, /* the permit has come: pump_resume() the client */
  FOLLOW_ENDS     /* how is set: it was refused, or the client has hung up */
};
enum follow_look follow_look(struct follow *f);

/* Whether the session is queued, and its client has hung up: it has left, and the end is set. To be
 * asked when it has just joined the queue. */
bool follow_has_left(struct follow *f);

static inline uint64_t follow_earlier(uint64_t one, uint64_t other) {
  return one < other ? one : other;
}

/* since_ns: VOLT_NO_DEADLINE: it has not begun. timeout_ns: 0: none. */
static inline uint64_t follow_after(uint64_t since_ns, uint64_t timeout_ns) {
  return timeout_ns && since_ns != VOLT_NO_DEADLINE ? since_ns + timeout_ns : VOLT_NO_DEADLINE;
}

#endif
