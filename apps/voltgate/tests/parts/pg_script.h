/* pg_script.h: PostgreSQL messages, and a gate between a client and a server that exist as bytes. */
#ifndef VOLTGATE_PG_SCRIPT_H
#define VOLTGATE_PG_SCRIPT_H

#include "wire/postgres.h"

/* One direction: bytes that have come and are not passed on. */
struct pg_side {
  char *bytes;
  size_t size, room;
};

/* What passes bytes on, as a session does: it gets each permit at once, or when it is given, and gives
 * it back as soon as it may. */
struct pg_gate {
  struct pg pg;
  struct pg_side up, down;             /* kept back */
  struct pg_side to_server, to_client; /* passed on */
  char events[512]; /* n: a permit was needed, r: was given back, w: waits, e: ends,
                                * m: malformed; those that came first */
  size_t event_count;
  enum pg_want want; /* the last of the client's side; PG_MALFORMED ends it all */
  uint32_t released;
};

void pg_side_add(struct pg_side *side, const void *bytes, size_t size);
void pg_side_drop(struct pg_side *side, size_t size); /* from its front */
void pg_side_free(struct pg_side *side);

/* Add a message with a body. */
void pg_side_message(struct pg_side *side, char type, const void *body, size_t size);

void pg_gate_begin(struct pg_gate *g);
void pg_gate_free(struct pg_gate *g);

/* Bytes come, in pieces of so many. Returns false if they are malformed. */
bool pg_gate_client(struct pg_gate *g, const char *bytes, size_t size, size_t piece);
bool pg_gate_server(struct pg_gate *g, const char *bytes, size_t size, size_t piece);

#endif
