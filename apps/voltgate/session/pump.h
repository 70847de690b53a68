/* pump.h: moves what has come, from the client to the server and back. It never waits.
 *
 *   pump_init(&self->pump, &self->client, &self->server, NULL, NULL);
 *   for (;;) switch (pump_round(&self->pump)) {
 *     case PUMP_AGAIN:        VOLT_YIELD
 *     case PUMP_WAIT:         select: volt_fd_ready_future(&self->op[side], fd of the side,
 *                             pump_events(&self->pump, side)) of both sides, if the events are not
 *                             0; a timer; ... Then, of each that is ready:
 *                             pump_ready(&self->pump, side, self->op[side].n)
 *     case PUMP_CLIENT_ENDED, PUMP_SERVER_ENDED: go on, or leave
 *     case PUMP_STOPPED:      do what the hook wants, then pump_resume(); or leave
 *     case PUMP_ENDED, PUMP_FAILED: leave
 *   }
 *   pump_end(&self->pump);
 *
 * What comes goes through a buffer of the thread, and out again in the same round, so an idle
 * session has no buffer. What there is no room for is kept in the link, and until that is sent the
 * other side is not read. So a session keeps at most PUMP_CHUNK bytes for each direction.
 *
 * A side is read only after it was said to be ready; after a receive that has emptied the socket
 * it is not read again before the next readiness. (At first both are taken to be ready.) */
#ifndef VOLTGATE_SESSION_PUMP_H
#define VOLTGATE_SESSION_PUMP_H

#include "link/link.h"

/* What is received at once, at most. */
enum { PUMP_CHUNK = 32768 };

enum pump_side { PUMP_CLIENT, PUMP_SERVER, PUMP_SIDES };

/* What a hook says of the bytes that it does not pass on. */
enum pump_verdict {
  PUMP_GOES_ON, /* at most PUMP_PART_MAX: a part of something; shown again with what follows */
  PUMP_STOPS    /* nothing of that direction goes on, and nothing is received, until pump_resume();
                 * then they are shown again */
};
enum { PUMP_PART_MAX = 256 };

/* How a protocol looks at what passes. A hook is shown the bytes of its direction in their order, in
 * pieces of any size, before they are sent. passed: set to how many of them go on now; it is not
 * shown these again. arg: of pump_init(). */
typedef enum pump_verdict pump_hook(void *arg, const char *bytes, size_t size, size_t *passed);

struct pump_hooks {
  pump_hook *up;   /* what the client has sent */
  pump_hook *down; /* what the server has sent */
};

/* Is shown what the server has sent before the hook is, and may change it, not its size. */
typedef void pump_editor(void *arg, char *bytes, size_t size);

/* Bytes that a hook has not passed on. */
struct pump_held {
  char *bytes; /* NULL: none */
  uint32_t from, until;
};

/* Members but edit, error, failed, up, down are private. */
struct pump {
  struct link *links[PUMP_SIDES];
  const struct pump_hooks *hooks; /* NULL: all goes on */
  void *arg;
  pump_editor *edit;                 /* NULL: none. To be set behind pump_init(), with hooks */
  struct pump_held held[PUMP_SIDES]; /* of what that side has sent */
  bool is_part[PUMP_SIDES];          /* what is held waits for more of it */
  bool may_read[PUMP_SIDES];
  bool is_stopped[PUMP_SIDES]; /* what that side sends */
  bool has_stopped;            /* in this round */
  bool is_told[PUMP_SIDES];    /* that it has ended */
  bool is_hung_up[PUMP_SIDES]; /* it was found to send nothing more, which may not be read yet */
  bool is_gone;                /* the client was found to take nothing more, either */
  int broken[PUMP_SIDES];      /* why nothing more can be sent there, or VOLT_OK */
  enum pump_side failed;       /* after PUMP_FAILED: which side */
  int error;                   /* why; VOLT_ENOMEM, too */
  uint64_t up, down;           /* bytes of clients and of the server that were passed on */
};

enum pump_result {
  PUMP_WAIT,         /* for pump_events() of either side */
  PUMP_AGAIN,        /* there may be more: let others run, then call again */
  PUMP_STOPPED,      /* a hook has just stopped its direction; pump_is_stopped() says which */
  PUMP_CLIENT_ENDED, /* said once. Without hooks the end was passed on, and the other direction */
  PUMP_SERVER_ENDED, /* goes on. With hooks it was not: but all that the side had sent has gone */
  PUMP_ENDED,        /* both have ended, and all was sent */
  PUMP_FAILED        /* error, failed */
};

/* hooks: NULL: of no protocol; then an end is passed on. arg: for the hooks. */
void pump_init(struct pump *p, struct link *client, struct link *server,
               const struct pump_hooks *hooks, void *arg);

/* Free what is held. The links are the caller's. */
void pump_end(struct pump *p);

/* Move what can be moved without waiting, in both directions; at most a few chunks. */
enum pump_result pump_round(struct pump *p);

/* What to wait for. Of a side that is not read now: that it hangs up, until that was seen. 0:
 * nothing. */
unsigned pump_events(const struct pump *p, enum pump_side side);

/* The side was found ready: n of its volt_fd_ready_future(). */
void pump_ready(struct pump *p, enum pump_side side, size_t events);

static inline bool pump_is_stopped(const struct pump *p, enum pump_side side) {
  return p->is_stopped[side];
}

/* Whether the client was found to have gone altogether: it takes nothing more, either. */
static inline bool pump_is_gone(const struct pump *p) {
  return p->is_gone;
}

/* Whether nothing can be sent to that side any more. */
static inline bool pump_is_broken(const struct pump *p, enum pump_side side) {
  return p->broken[side] != VOLT_OK;
}

/* Whether that side was found to have hung up: it sends nothing more than what is there. */
static inline bool pump_is_hung_up(const struct pump *p, enum pump_side side) {
  return p->is_hung_up[side];
}

/* Whether nothing is kept or held: all that was received has gone. */
bool pump_is_empty(const struct pump *p);

/* What that side sends goes on: what is held is shown to the hook again. Does nothing if it is not
 * stopped. */
void pump_resume(struct pump *p, enum pump_side side);

/* Bytes that the side had sent before the pump began, and that go first: copied. Returns VOLT_OK,
 * VOLT_ENOMEM. Only before the first round. */
int pump_put(struct pump *p, enum pump_side side, const void *bytes, size_t size);

#endif
