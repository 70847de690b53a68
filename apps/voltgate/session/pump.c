/* pump.c: moves what has come, in both directions.
 *
 * Invariant
 *   I1  A side whose bytes are held, or whose peer has bytes kept, is not read. So at most one chunk
 *       is held or kept for each direction.
 *   I2  may_read is false only if the socket was found empty, and was not ready since. So a session
 *       that waits for POLLIN while it is false waits for an edge that is still to come. While it is
 *       true, the side is read before the session waits, unless I1 forbids it; then it is read when
 *       I1 allows it again, without waiting for POLLIN.
 *
 * If bytes cannot be sent to a side any more, that side may have said why: it is read to its end
 * first. That end is there already, because only a reset makes a send fail. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* POLLRDHUP */
#endif
#include "session/pump.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { PUMP_CHUNKS = 4 }; /* of each direction in a round: others are to run, too */

/* ---- the buffer of the thread ---- */

static pthread_once_t pump_once = PTHREAD_ONCE_INIT;
static pthread_key_t pump_key;
static bool pump_has_key;

static void pump_make_key(void) {
  pump_has_key = pthread_key_create(&pump_key, free) == 0;
}

/* Returns NULL: there is no memory. */
static char *pump_scratch(void) {
  (void)pthread_once(&pump_once, pump_make_key);
  if (!pump_has_key) return NULL;
  char *scratch = (char *)pthread_getspecific(pump_key);
  if (scratch) return scratch;
  scratch = (char *)malloc(PUMP_CHUNK);
  if (!scratch || pthread_setspecific(pump_key, scratch) == 0) return scratch;
  free(scratch);
  return NULL;
}

/* ---- begin and end ---- */

void pump_init(struct pump *p, struct link *client, struct link *server,
               const struct pump_hooks *hooks, void *arg) {
  *p = (struct pump){.links = {client, server},
                     .hooks = hooks,
                     .arg = arg,
                     .may_read = {true, true},
                     .error = VOLT_OK};
}

static void pump_drop_held(struct pump_held *held) {
  free(held->bytes);
  held->bytes = NULL;
}

void pump_end(struct pump *p) {
  for (int side = 0; side < PUMP_SIDES; side++) pump_drop_held(&p->held[side]);
}

/* ---- what is held ---- */

static int pump_hold(struct pump *p, enum pump_side from, const char *bytes, size_t size) {
  struct pump_held *held = &p->held[from];
  held->bytes = (char *)malloc(size);
  if (!held->bytes) return VOLT_ENOMEM;
  memcpy(held->bytes, bytes, size);
  held->from = 0;
  held->until = (uint32_t)size;
  return VOLT_OK;
}

int pump_put(struct pump *p, enum pump_side side, const void *bytes, size_t size) {
  return size == 0 ? VOLT_OK : pump_hold(p, side, (const char *)bytes, size);
}

void pump_resume(struct pump *p, enum pump_side side) {
  p->is_stopped[side] = false;
}

static bool pump_keeps(const struct pump *p) {
  return link_is_full(p->links[PUMP_CLIENT]) || link_is_full(p->links[PUMP_SERVER]);
}

bool pump_is_empty(const struct pump *p) {
  return !p->held[PUMP_CLIENT].bytes && !p->held[PUMP_SERVER].bytes && !pump_keeps(p);
}

/* ---- move ---- */

static enum pump_side pump_peer(enum pump_side side) {
  return side == PUMP_CLIENT ? PUMP_SERVER : PUMP_CLIENT;
}

static void pump_fail(struct pump *p, enum pump_side side, int error) {
  if (p->error != VOLT_OK) return;
  p->error = error;
  p->failed = side;
}

/* Nothing can be sent to that side any more. */
static void pump_break(struct pump *p, enum pump_side side, int error) {
  if (error == VOLT_ENOMEM) {
    pump_fail(p, side, error);
  } else if (p->broken[side] == VOLT_OK) {
    p->broken[side] = error;
    p->may_read[side] = true; /* its last words */
  }
}

static enum pump_verdict pump_ask_hook(struct pump *p, enum pump_side from, char *bytes,
                                       size_t size, size_t *passed) {
  *passed = size;
  if (!p->hooks) return PUMP_GOES_ON;
  if (from == PUMP_SERVER && p->edit) p->edit(p->arg, bytes, size);
  pump_hook *hook = from == PUMP_CLIENT ? p->hooks->up : p->hooks->down;
  return hook(p->arg, bytes, size, passed);
}

/* Returns how many of the bytes have gone on. */
static size_t pump_pass(struct pump *p, enum pump_side from, char *bytes, size_t size) {
  enum pump_side to = pump_peer(from);
  size_t passed;
  p->is_stopped[from] = pump_ask_hook(p, from, bytes, size, &passed) == PUMP_STOPS;
  p->is_part[from] = !p->is_stopped[from] && passed < size;
  p->has_stopped |= p->is_stopped[from];
  if (passed == 0) return 0;
  int result = link_send(p->links[to], bytes, passed);
  if (result != VOLT_OK) {
    pump_break(p, to, result);
  } else if (from == PUMP_CLIENT) {
    p->up += passed;
  } else {
    p->down += passed;
  }
  return passed;
}

static void pump_move_held(struct pump *p, enum pump_side from) {
  struct pump_held *held = &p->held[from];
  held->from += (uint32_t)pump_pass(p, from, held->bytes + held->from, held->until - held->from);
  if (held->from == held->until) pump_drop_held(held);
}

/* Put the part that is held at the beginning of the buffer. Returns its size. */
static size_t pump_take_part(struct pump *p, enum pump_side from, char *scratch) {
  struct pump_held *held = &p->held[from];
  if (!held->bytes) return 0;
  size_t size = held->until - held->from;
  memcpy(scratch, held->bytes + held->from, size);
  return size;
}

static void pump_move_new(struct pump *p, enum pump_side from, char *scratch) {
  struct link *link = p->links[from];
  size_t size;
  size_t part = pump_take_part(p, from, scratch);
  int result = link_recv(link, scratch + part, PUMP_CHUNK - part, &size);
  if (result == VOLT_EAGAIN || link->has_ended || link->is_drained) p->may_read[from] = false;
  if (result == VOLT_EAGAIN || (result == VOLT_OK && size == 0)) return;
  if (result != VOLT_OK) {
    pump_fail(p, from, result);
    return;
  }
  pump_drop_held(&p->held[from]);
  size += part;
  size_t passed = pump_pass(p, from, scratch, size);
  if (passed == size) return;
  result = pump_hold(p, from, scratch + passed, size - passed);
  if (result != VOLT_OK) pump_fail(p, from, result);
}

/* Whether what that side sends may go on now. */
static bool pump_may_move(const struct pump *p, enum pump_side from) {
  enum pump_side to = pump_peer(from);
  return p->error == VOLT_OK && !p->is_stopped[from] && p->broken[to] == VOLT_OK &&
         !link_is_full(p->links[to]);
}

static bool pump_has_more(const struct pump *p, enum pump_side from) {
  bool has_held = p->held[from].bytes && !p->is_part[from];
  return has_held || (p->may_read[from] && !p->links[from]->has_ended);
}

static void pump_move(struct pump *p, enum pump_side from, char *scratch) {
  enum pump_side to = pump_peer(from);
  if (link_is_full(p->links[to]) && p->broken[to] == VOLT_OK) {
    int result = link_flush(p->links[to]);
    if (result != VOLT_OK) pump_break(p, to, result);
  }
  for (int i = 0; i < PUMP_CHUNKS; i++) {
    if (!pump_may_move(p, from) || !pump_has_more(p, from)) return;
    if (p->held[from].bytes && !p->is_part[from]) {
      pump_move_held(p, from);
    } else {
      pump_move_new(p, from, scratch);
    }
  }
}

/* ---- ends ---- */

/* That side has ended, and all that it has sent has gone. (A part that was never completed stays.) */
static bool pump_is_over(const struct pump *p, enum pump_side from) {
  return p->links[from]->has_ended && (!p->held[from].bytes || p->is_part[from]) &&
         !p->is_stopped[from] && !link_is_full(p->links[pump_peer(from)]);
}

/* Returns whether the end of that side is to be reported now. */
static bool pump_tell_end(struct pump *p, enum pump_side from) {
  enum pump_side to = pump_peer(from);
  if (p->is_told[from] || !pump_is_over(p, from)) return false;
  p->is_told[from] = true;
  if (!p->hooks && p->broken[to] == VOLT_OK) {
    int result = link_shut(p->links[to]);
    if (result != VOLT_OK) pump_break(p, to, result);
  }
  return true;
}

/* Nothing can be sent to that side any more. Returns whether it has said all it had to say. A side
 * that is stopped is not read, and may never be read again: it is not waited for. */
static bool pump_is_lost(const struct pump *p, enum pump_side side) {
  enum pump_side peer = pump_peer(side);
  if (p->broken[peer] != VOLT_OK || p->is_stopped[side]) return true;
  if (p->held[side].bytes && !p->is_part[side]) return false;
  return !link_is_full(p->links[peer]) && (p->links[side]->has_ended || !p->may_read[side]);
}

static void pump_settle(struct pump *p) {
  for (int i = 0; i < PUMP_SIDES; i++) {
    enum pump_side side = (enum pump_side)i;
    if (p->broken[side] != VOLT_OK && pump_is_lost(p, side)) pump_fail(p, side, p->broken[side]);
  }
  if (p->is_gone && p->is_told[PUMP_CLIENT] && !p->links[PUMP_CLIENT]->is_shut) {
    pump_fail(p, PUMP_CLIENT, VOLT_ERRNO(ECONNRESET));
  }
}

enum pump_result pump_round(struct pump *p) {
  char *scratch = pump_scratch();
  p->has_stopped = false;
  if (!scratch) pump_fail(p, PUMP_CLIENT, VOLT_ENOMEM);
  pump_move(p, PUMP_SERVER, scratch);
  pump_move(p, PUMP_CLIENT, scratch);
  pump_settle(p);
  if (p->error != VOLT_OK) return PUMP_FAILED;
  if (p->has_stopped) return PUMP_STOPPED;
  if (pump_tell_end(p, PUMP_CLIENT)) return PUMP_CLIENT_ENDED;
  if (pump_tell_end(p, PUMP_SERVER)) return PUMP_SERVER_ENDED;
  if (p->is_told[PUMP_CLIENT] && p->is_told[PUMP_SERVER] && !pump_keeps(p)) return PUMP_ENDED;
  for (int i = 0; i < PUMP_SIDES; i++) {
    if (pump_may_move(p, (enum pump_side)i) && pump_has_more(p, (enum pump_side)i)) {
      return PUMP_AGAIN;
    }
  }
  return PUMP_WAIT;
}

/* ---- wait ---- */

unsigned pump_events(const struct pump *p, enum pump_side side) {
  const struct link *link = p->links[side];
  if (p->broken[side] != VOLT_OK) return 0; /* it is read without waiting */
  bool wants_bytes = pump_may_move(p, side);
  unsigned events = link_events(link, wants_bytes);
  if (wants_bytes || link->has_ended || p->is_hung_up[side]) {
    /* a client that has shut down its side may still be reset, which needs no bit to be seen */
    bool may_go = side == PUMP_CLIENT && !link->is_shut && !p->is_gone;
    return events == 0 && may_go ? POLLPRI : events;
  }
  return events | POLLRDHUP;
}

void pump_ready(struct pump *p, enum pump_side side, size_t events) {
  const unsigned ends = POLLRDHUP | POLLHUP | POLLERR;
  if (events & (POLLIN | ends)) p->may_read[side] = true;
  if (events & ends) p->is_hung_up[side] = true;
  if (side == PUMP_CLIENT && (events & (POLLHUP | POLLERR))) p->is_gone = true;
}
