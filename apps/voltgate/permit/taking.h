/* taking.h: a client of a permit gate: a session without a server. */
#ifndef VOLTGATE_PERMIT_TAKING_H
#define VOLTGATE_PERMIT_TAKING_H

#include <volt/select.h>

#include "gate/broker.h"
#include "permit/peer.h"
#include "session/session.h"

/* What of a list is said next. */
enum listing_part { LISTING_NONE, LISTING_KINDS, LISTING_HOLDERS, LISTING_WAITERS };

/* Of a client that another process has passed on: as it was there. */
struct taking_adopted {
  enum broker_stand stand;
  uint64_t id, since_ns, accepted_ns;
  char *out; /* what it has not read yet; owned */
  size_t out_size;
};

struct taking {
  struct session_body body; /* first */
  struct broker_entry entry;
  volt_select select;     /* of its place in the queue, and of news of that; while it waits */
  volt_future notified;   /* the news */
  volt_future *either[2]; /* branches of the select */
  uint64_t asked_ns, granted_ns;
  uint64_t deadline_ns; /* while it waits */
  uint64_t rests_ns;    /* since when it neither holds nor waits, nor has said a line */
  enum listing_part listing;
  uint32_t listed;             /* clients of that part */
  struct broker_cursor cursor; /* the last of them */
  bool owes_place;             /* its place was news when there was no room to say it */
  bool may_have_more;          /* in its socket: other tasks run first */
  bool is_still;               /* it does nothing more, and another process may take it */
  bool is_adopted;             /* and its task has not run yet */
  struct taking_adopted adopted;
  struct peer_of peer;
  char user[12]; /* its number, for the access log */
  uint16_t size; /* of bytes */
  char bytes[PERMIT_LINE_MAX];
  int result;
};

static inline struct broker *taking_broker(const struct taking *self) {
  return self->body.session->gate->broker;
}
static inline bool taking_waits(const struct taking *self) {
  return self->entry.stand == BROKER_WAITS;
}
static inline bool taking_holds(const struct taking *self) {
  return self->entry.stand == BROKER_HOLDS;
}

/* Say a line. If that fails, how the session ends is set. */
void taking_say(struct taking *self, struct permit_text *line);

/* Say "refused WORD: ..." and count it; the connection stays. */
void taking_refuse(struct taking *self, enum gate_reason reason, const char *word,
                   const char *words);

/* Whose process it is: once. */
void taking_know_peer(struct taking *self);

/* Leave the queue, and give back all that it holds. */
void taking_leave(struct taking *self);

/* ---- request.c ---- */

/* Do what a line asks for. How the session ends may be set. */
void taking_do(struct taking *self, const struct permit_request *r);

/* It waits, with its place, also in the process that has adopted it. */
void taking_queue(struct taking *self);
/* Its place is not waited for; and is again. */
void taking_forget_select(struct taking *self);
void taking_select(struct taking *self);
/* It holds since then. */
void taking_shows_hold(struct taking *self, uint64_t since_ns);

/* Leave the queue. */
void taking_unqueue(struct taking *self);
/* Give back all that it holds. */
void taking_give_all(struct taking *self);
/* Say its place, if its client does not know it: now, or when there is room. */
void taking_say_place(struct taking *self);
/* What it waits for is ready. */
void taking_ready(struct taking *self);
/* It has waited too long. */
void taking_is_late(struct taking *self);

/* ---- listing.c ---- */

/* Begin a list, and say its next piece. Until it is done, no further line is read. */
void taking_list(struct taking *self);
void taking_list_piece(struct taking *self);

#endif
