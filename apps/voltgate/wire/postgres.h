/* postgres.h: follows a PostgreSQL session (protocol 3) from authentication to its end, both
 * directions of it, to know when it needs a permit.
 *
 * A permit is needed from the first message that begins work until the server says ReadyForQuery
 * outside of a transaction, and nothing is outstanding. Nothing is gathered and nothing is changed:
 * the bytes are passed on as they are, and bodies are not looked at.
 *
 * What needs none: authentication, all that comes before the first ReadyForQuery; Terminate; Sync,
 * Flush, CopyData, CopyDone and CopyFail while the session holds none, because an idle server does no
 * work for them; replication from CopyBothResponse on.
 *
 * The caller, for bytes of the client:
 *
 *     size_t n;
 *     enum pg_want want = pg_from_client(p, at, size, &n);
 *     pass n bytes on to the server; keep the others, and show them again with those that follow
 *     PG_GOES_ON: more has to come. At most 4 bytes are kept: the beginning of a header
 *     PG_NEEDS_PERMIT: get one; pg_granted(p); again
 *     PG_WAITS: nothing before the server has spoken; after the next pg_from_server(), again
 *     PG_ENDS: the client has said goodbye: pass n bytes on, then shut the server's side down
 *     PG_MALFORMED: end the session; pg_why() says why
 *
 * and for bytes of the server:
 *
 *     enum pg_want want = pg_from_server(p, at, size, &n);
 *     pass n bytes on to the client; keep the others (at most 5)
 *     if (pg_may_release(p)): release the permit; pg_released(p)
 *
 * How the bytes are cut into pieces changes nothing. */
#ifndef VOLTGATE_WIRE_POSTGRES_H
#define VOLTGATE_WIRE_POSTGRES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum pg_want { PG_GOES_ON, PG_NEEDS_PERMIT, PG_WAITS, PG_ENDS, PG_MALFORMED };

enum { PG_RUNS = 32, PG_PREFIX = 64, PG_WHY_MAX = 128, PG_CANCEL_MAX = 12 + 32 };

/* A session. pg_init() first; it needs no end. */
struct pg {
  char status;           /* of the last ReadyForQuery: 'I', 'T', 'E'; 0: there was none yet */
  bool is_copying_both;  /* replication: it holds no permit for it */
  bool is_lost;          /* what is outstanding cannot be known: the permit is kept to the end */
  bool has_failed;       /* the server has sent FATAL or PANIC: it closes */
  uint32_t backend;      /* its process id, of BackendKeyData; 0: not known */
  char key[32];          /* that cancels what it runs */
  uint8_t key_size;      /* 0: not known, or longer than any server's */
  uint32_t transactions; /* that have ended: with a permit */
  uint32_t errors;       /* ErrorResponses so far; of the last one: */
  char severity[8];      /* in English: "ERROR", "FATAL", "PANIC"; "" before PostgreSQL 9.6 */
  char sqlstate[6];      /* "" : not known */

  /* private */
  bool has_permit, is_idle, is_skipping, is_copying_in, is_flushed, has_ended;
  bool is_last_queued;       /* the client's last message is the last one in runs */
  uint8_t current;           /* the message whose COPY has begun, and has not ended */
  uint8_t first, count;      /* of runs */
  uint8_t gathered, gathers; /* bytes in prefix; the type of the message that they are of */
  uint8_t fault, fault_type; /* why it is malformed */
  uint32_t fault_value;
  uint32_t client_left;   /* of the client's message: bytes that have not come */
  uint32_t server_left;   /* the same, of the server's */
  uint32_t doubtful;      /* Syncs that the server may have swallowed */
  uint32_t runs[PG_RUNS]; /* what was sent and is not answered */
  char prefix[PG_PREFIX];
};

/* The startup packet has been passed on. */
void pg_init(struct pg *p);

/* Follow bytes of the client.
 * n: how many of them may be passed on to the server. */
enum pg_want pg_from_client(struct pg *p, const char *at, size_t size, size_t *n);

/* Follow bytes of the server.
 * n: how many of them may be passed on to the client.
 * Returns PG_GOES_ON or PG_MALFORMED. */
enum pg_want pg_from_server(struct pg *p, const char *at, size_t size, size_t *n);

/* The session has got its permit. */
static inline void pg_granted(struct pg *p) {
  p->has_permit = true;
  p->is_idle = false; /* what it is for comes next */
}

/* Whether the session holds a permit that it does not need any more. To be asked after each
 * pg_from_server(). */
static inline bool pg_may_release(const struct pg *p) {
  return p->has_permit && p->is_idle;
}

static inline void pg_released(struct pg *p) {
  p->has_permit = false;
  p->transactions++;
}

/* Whether the first ReadyForQuery has come: authentication is over. */
static inline bool pg_is_ready(const struct pg *p) {
  return p->status != 0;
}

/* Whether a message may be put between what was passed on to the client so far, and what comes. */
static inline bool pg_is_between(const struct pg *p) {
  return p->server_left == 0;
}

/* Whether the client waits for the server: it has asked for an answer by Query, FunctionCall, Sync or
 * Flush, and the server has what it needs to give it. A message that has come in part asks for
 * nothing yet: a client that stops in the middle of one is not waiting for the server. */
bool pg_is_asked(const struct pg *p);

/* Whether a permit is held for nothing: the server waits for the client, in a transaction, in a batch
 * that has no Sync yet, or in COPY FROM STDIN. */
static inline bool pg_is_idle_in_transaction(const struct pg *p) {
  return p->has_permit && !p->is_idle && !pg_is_asked(p);
}

/* Write the CancelRequest that cancels what the server runs for this session. Returns the bytes; 0:
 * the server has not said how to. */
size_t pg_cancel_bytes(const struct pg *p, char to[PG_CANCEL_MAX]);

/* Why it is malformed, in words with values: "the client's message 'Q' has a length of 3". It is cut
 * if there is no room. room: at least 1; PG_WHY_MAX is enough. Returns to. */
const char *pg_why(const struct pg *p, char *to, size_t room);

enum { PG_ERROR_ROOM_MIN = 64 };

/* An ErrorResponse. */
struct pg_error {
  const char *severity; /* "FATAL", "ERROR": the words of protocol 3, in English */
  const char *sqlstate; /* five characters */
  const char *message;
  const char *detail, *hint; /* or NULL */
};

/* Write the message. What has no room is cut: the hint first.
 * room: at least PG_ERROR_ROOM_MIN. Returns the bytes. */
size_t pg_error_bytes(const struct pg_error *error, char *to, size_t room);

/* Four bytes of a message, the highest first. */
static inline uint32_t pg_number_at(const char *at) {
  const uint8_t *b = (const uint8_t *)at;
  return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

#endif
