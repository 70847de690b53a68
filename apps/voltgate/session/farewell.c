/* farewell.c: the last words to a client, and the end of its connection.
 *
 * Algorithm: the words are sent, then the end (FIN). Then what the client still sends is read and
 * thrown away until it has closed too, because the system answers bytes that are not read by a
 * reset, and a reset makes the client's system forget the words. Both take at most FAREWELL_NS, and
 * FAREWELL_BYTES are read at most: a client that is slow, or that talks on, cannot hold us. */
#include "session/farewell.h"

#include <stdlib.h>

#include "gate/host.h"
#include "wire/postgres_startup.h"

#define FAREWELL_NS UINT64_C(1000000000)
enum { FAREWELL_BYTES = 64 * 1024, FAREWELL_CHUNK = 4096 };

struct farewell {
  volt_async async;
  struct session *session;
  uint64_t deadline_ns;
  size_t ignored; /* bytes */
  int result;
  bool has_to_hear;          /* before words are said */
  struct pg_startup startup; /* what it hears */
  uint8_t heard_size;
  char heard[8]; /* of a request: all of it */
};

size_t farewell_words(struct session *s, char words[REFUSAL_MAX]) {
  bool has_words = s->ending == SESSION_REFUSED || s->ending == SESSION_DRAINED;
  if (!has_words || s->is_speechless) return 0;
  struct refusal_values values = {0};
  gate_refusal_values(s->gate, (enum gate_reason)s->reason, &values);
  if (s->why) values.why = s->why;
  if (s->late_ns) values.time_ns = s->late_ns;
  return refusal_bytes(gate_settings(s->gate)->refuse, (enum gate_reason)s->reason, &values, words,
                       REFUSAL_MAX);
}

static void farewell_say(struct session *s) {
  char words[REFUSAL_MAX];
  size_t size = farewell_words(s, words);
  if (size > 0) (void)link_send(&s->client, words, size);
}

/* ---- clients of PostgreSQL at a tcp gate ----
 *
 * libpq does not show an error that answers SSLRequest. So that is answered by 'N' first, as a server
 * without TLS does, and the words are said when the startup packet has come, or the time is up. */

static bool farewell_must_hear(const struct session *s) {
  return gate_settings(s->gate)->refuse == REFUSE_POSTGRES && s->protocol == PROTOCOL_TCP &&
         !s->client.tls && !s->is_speechless;
}

/* What was heard is taken from the socket: a part of a request that stayed there would make it ready
 * again and again. Returns true: the words can be said now. */
static bool farewell_hears(struct farewell *self) {
  struct link *client = &self->session->client;
  for (;;) {
    size_t n;
    int result = volt_fd_try_recv(&client->fd, self->heard + self->heard_size,
                                  sizeof self->heard - self->heard_size, 0, &n);
    if (result != VOLT_OK || n == 0) return result != VOLT_EAGAIN;
    self->heard_size += (uint8_t)n;
    enum pg_first first = pg_startup_read(&self->startup, self->heard, self->heard_size);
    if (first == PG_FIRST_PART && self->heard_size < sizeof self->heard) continue;
    if (first != PG_FIRST_SSL && first != PG_FIRST_GSSENC) return true;
    self->heard_size = 0;
    if (link_send(client, "N", 1) != VOLT_OK) return true;
  }
}

/* ---- the end ---- */

static bool farewell_is_urgent(const struct farewell *self) {
  return volt_token_is_cancelled(&self->session->gate->host->stop);
}

/* Read what is there. Returns true: there may be more later. */
static bool farewell_ignore(struct farewell *self) {
  char chunk[FAREWELL_CHUNK];
  for (;;) {
    size_t n;
    int result = link_recv(&self->session->client, chunk, sizeof chunk, &n);
    if (result == VOLT_EAGAIN) return true;
    if (result != VOLT_OK || n == 0) return false;
    self->ignored += n;
    if (self->ignored > FAREWELL_BYTES) return false;
  }
}

static volt_future *farewell_wait(struct farewell *self, unsigned events) {
  return session_wait(self->session, events, 0, 0, self->deadline_ns);
}

static bool farewell_goes_on(const struct farewell *self) {
  return !session_fired(self->session, SESSION_TIME) && !farewell_is_urgent(self);
}

static int farewell_run(volt_async *a, volt_ctx *ctx) {
  struct farewell *self = volt_container_of(a, struct farewell, async);
  struct session *s = self->session;
  VOLT_ASYNC_BEGIN(self);
  if (self->has_to_hear) {
    while (!farewell_hears(self)) {
      VOLT_AWAIT(self, farewell_wait(self, POLLIN));
      if (!farewell_goes_on(self)) break;
    }
    farewell_say(s);
  }
  while (link_is_full(&s->client)) {
    VOLT_AWAIT(self, farewell_wait(self, link_events(&s->client, false)));
    if (!farewell_goes_on(self)) VOLT_RETURN(self, VOLT_OK);
    self->result = link_flush(&s->client);
    if (self->result != VOLT_OK) VOLT_RETURN(self, self->result);
  }
  self->result = link_shut(&s->client);
  if (self->result != VOLT_OK) VOLT_RETURN(self, self->result);
  while (!s->client.has_ended && farewell_ignore(self)) {
    VOLT_AWAIT(self, farewell_wait(self, link_events(&s->client, true)));
    if (!farewell_goes_on(self)) VOLT_RETURN(self, VOLT_OK);
  }
  VOLT_ASYNC_END(self);
}

bool farewell_is_due(const struct session *s) {
  if (volt_fd_number(&s->client.fd) < 0 || (s->client.has_ended && s->client.is_shut)) return false;
  return s->ending == SESSION_REFUSED || s->ending == SESSION_BY_SERVER ||
         s->ending == SESSION_DRAINED;
}

struct farewell *farewell_begin(struct session *s) {
  struct farewell *self = (struct farewell *)calloc(1, sizeof *self);
  if (self) self->has_to_hear = farewell_must_hear(s);
  if (!self || !self->has_to_hear) farewell_say(s);
  if (!self) return NULL;
  self->session = s;
  self->deadline_ns = session_now_ns(s) + FAREWELL_NS;
  return self;
}

volt_future *farewell_future(struct farewell *self) {
  return volt_async_future(&self->async, farewell_run);
}

void farewell_end(struct farewell *self) {
  free(self);
}
