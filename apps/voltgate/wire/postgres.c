/* postgres.c: what is outstanding, and whether the server is idle.
 *
 * The source is PostgreSQL's src/backend/tcop/postgres.c (SocketBackend(), PostgresMain()) and
 * src/backend/commands/copyfromparse.c (CopyGetData()), version 15:
 *
 *   R1  Each Query, FunctionCall and Sync gets one ReadyForQuery, also if it fails.
 *   R2  An error in another message of the extended protocol: all that follows is skipped, Query and
 *       FunctionCall, too, up to a Sync, which gets its ReadyForQuery.
 *   R3  A server that copies in swallows Sync and Flush, up to CopyDone or CopyFail. Another message
 *       ends the connection.
 *   R4  CopyData, CopyDone and CopyFail outside of a copy-in are ignored.
 *   R5  A copy-in that fails: of a Query: ReadyForQuery, and what follows is read as usual. Of an
 *       Execute: as R2. The server does not say how far it had
 *       read when it failed.
 *
 * R5 leaves a doubt: Syncs that were sent behind the Execute or the Query, and before CopyDone, were
 * swallowed (data was wrong), or not (a trigger failed before the first data was read). They are
 * counted in `doubtful`: each may still get a ReadyForQuery. Drivers do this: libpq sends Sync behind
 * each Execute, and another one behind CopyDone.
 *
 *   I1  What ends the doubt: any answer but ReadyForQuery. It answers what was sent later.
 *   I2  ReadyForQuery without any answer before it answers a Sync. A Sync that is not doubtful gets it
 *       first, because then it is the doubtful ones alone that may be left.
 *   I3  The session is idle while only doubtful Syncs are left: a server does no work for them.
 *   I4  Nothing but a Sync may follow doubtful Syncs before the next ReadyForQuery. Whether a server
 *       skips it cannot be known: the session is lost.
 *
 * A session is lost, too, if the server says what nothing has asked for. From then on nothing is
 * counted, and a permit is kept to the end of the session: too long, but never given back too early. A
 * client that sends a Sync behind CopyDone or CopyFail does not come here, and it has to, because it
 * gets no ReadyForQuery otherwise.
 *
 * A session is idle from a ReadyForQuery with status 'I' and an empty queue on, and not just when the
 * queue is empty: behind a Flush all may be answered, but the transaction is open. */
#include "wire/postgres.h"

#include <stdio.h>
#include <string.h>

#include "wire/postgres_queue.h"

enum { HEADER = 5, READY_SIZE = 6, CLIENT_LENGTH_MAX = 0x3fffffff, SERVER_LENGTH_MAX = 0x7fffffff };

/* Of pg->fault. With PG_FAULT_SERVER: the server's. */
enum { PG_FAULT_NONE, PG_FAULT_TYPE, PG_FAULT_LENGTH, PG_FAULT_STATUS, PG_FAULT_SERVER = 8 };

/* Whose COPY has begun. */
enum { CURRENT_NONE, CURRENT_QUERY, CURRENT_EXECUTE };

void pg_init(struct pg *p) {
  memset(p, 0, sizeof *p);
}

static enum pg_want pg_malformed(struct pg *p, int fault, char type, uint32_t value) {
  p->fault = (uint8_t)fault;
  p->fault_type = (uint8_t)type;
  p->fault_value = value;
  return PG_MALFORMED;
}

/* It is not known any more what is outstanding. */
static void pg_lose(struct pg *p) {
  p->is_lost = true;
  p->is_idle = p->is_skipping = p->is_copying_in = false;
  p->current = CURRENT_NONE;
  p->count = 0;
  p->doubtful = 0;
}

/* ---- the client ---- */

enum client_action {
  CLIENT_UNKNOWN,
  CLIENT_ASKS,    /* of the extended protocol: Parse, Bind, Describe, Execute, Close */
  CLIENT_QUERIES, /* Query, FunctionCall */
  CLIENT_SYNCS,
  CLIENT_FLUSHES,
  CLIENT_COPIES,    /* CopyData */
  CLIENT_ENDS_COPY, /* CopyDone, CopyFail */
  CLIENT_LEAVES,    /* Terminate */
  CLIENT_LOGS_IN    /* a password, or what SASL and GSSAPI say */
};

static const uint8_t client_actions[256] = {
    ['P'] = CLIENT_ASKS,    ['B'] = CLIENT_ASKS,      ['D'] = CLIENT_ASKS,
    ['E'] = CLIENT_ASKS,    ['C'] = CLIENT_ASKS,      ['Q'] = CLIENT_QUERIES,
    ['F'] = CLIENT_QUERIES, ['S'] = CLIENT_SYNCS,     ['H'] = CLIENT_FLUSHES,
    ['d'] = CLIENT_COPIES,  ['c'] = CLIENT_ENDS_COPY, ['f'] = CLIENT_ENDS_COPY,
    ['X'] = CLIENT_LEAVES,  ['p'] = CLIENT_LOGS_IN,
};

static bool pg_add_kind(struct pg *p, enum pg_kind kind) {
  p->is_last_queued = pg_queue_add(p, kind);
  return p->is_last_queued;
}

/* Work: it needs a permit, and is outstanding unless the server skips it. */
static enum pg_want pg_client_works(struct pg *p, enum pg_kind kind) {
  if (!p->has_permit) return PG_NEEDS_PERMIT;
  if (p->is_skipping && p->doubtful > 0) pg_lose(p);   /* I4 */
  if (p->is_skipping || p->is_lost) return PG_GOES_ON; /* R2 */
  if (!pg_add_kind(p, kind)) return PG_WAITS;
  p->is_idle = p->is_flushed = false;
  return PG_GOES_ON;
}

static enum pg_want pg_client_syncs(struct pg *p) {
  if (p->is_lost) return PG_GOES_ON;
  if (!pg_add_kind(p, PG_SYNC)) return PG_WAITS;
  p->is_skipping = false;
  p->is_idle = false;
  return PG_GOES_ON;
}

static enum pg_want pg_client_ends_copy(struct pg *p) {
  if (p->count == 0 && p->current == CURRENT_NONE) return PG_GOES_ON; /* R4 */
  return pg_add_kind(p, PG_ENDED) ? PG_GOES_ON : PG_WAITS;
}

static enum pg_want pg_client_flushes(struct pg *p, uint32_t length) {
  if (length != 4)
    return pg_malformed(p, PG_FAULT_LENGTH, 'H', length); /* an error, as an ASKED can be */
  p->is_flushed = true;
  return PG_GOES_ON;
}

/* A header has come, and may be passed on if it returns PG_GOES_ON or PG_ENDS. */
static enum pg_want pg_client_message(struct pg *p, char type, uint32_t length) {
  enum client_action action = client_actions[(uint8_t)type];
  if (action == CLIENT_UNKNOWN) return pg_malformed(p, PG_FAULT_TYPE, type, 0);
  if (length < 4 || length > CLIENT_LENGTH_MAX)
    return pg_malformed(p, PG_FAULT_LENGTH, type, length);
  if (p->status == 0) { /* not logged in */
    if (action == CLIENT_LOGS_IN) return PG_GOES_ON;
    return action == CLIENT_LEAVES ? PG_ENDS : PG_WAITS;
  }
  p->is_last_queued = false;
  switch (action) {
    case CLIENT_ASKS: return pg_client_works(p, PG_ASKED);
    case CLIENT_QUERIES: return pg_client_works(p, PG_QUERY);
    case CLIENT_SYNCS: return pg_client_syncs(p);
    case CLIENT_FLUSHES: return pg_client_flushes(p, length);
    case CLIENT_ENDS_COPY: return pg_client_ends_copy(p);
    case CLIENT_LEAVES: return PG_ENDS;
    case CLIENT_LOGS_IN: return pg_malformed(p, PG_FAULT_TYPE, type, 0);
    default: return PG_GOES_ON;
  }
}

enum pg_want pg_from_client(struct pg *p, const char *at, size_t size, size_t *n) {
  size_t done = p->client_left < size ? p->client_left : size;
  enum pg_want want = p->has_ended ? PG_ENDS : PG_GOES_ON;
  p->client_left -= (uint32_t)done;
  while (want == PG_GOES_ON && size - done >= HEADER) {
    uint32_t length = pg_number_at(at + done + 1);
    want = pg_client_message(p, at[done], length);
    if (want != PG_GOES_ON) break;
    size_t whole = (size_t)length + 1;
    size_t here = whole < size - done ? whole : size - done;
    p->client_left = (uint32_t)(whole - here);
    done += here;
  }
  if (want == PG_ENDS && !p->has_ended) {
    p->has_ended = true;
    done += HEADER;
  }
  *n = done;
  return want;
}

/* ---- what the server answers to ---- */

/* No copy-in is on: an ENDED that is the oldest is ignored. */
static void pg_drop_ended(struct pg *p) {
  if (p->current == CURRENT_NONE && pg_queue_first(p) == PG_ENDED) pg_queue_take_run(p);
}

static bool pg_kind_is_asked(enum pg_kind kind) {
  return kind == PG_ASKED || kind == PG_RESUMED;
}

/* An answer that ends a message of the extended protocol, or is one of several to a Query. */
static void pg_head_answered(struct pg *p) {
  enum pg_kind kind = pg_queue_first(p);
  p->doubtful = 0; /* I1 */
  if (p->current != CURRENT_NONE) return;
  if (pg_kind_is_asked(kind)) {
    pg_queue_take(p);
    pg_drop_ended(p);
  } else if (kind != PG_QUERY && kind != PG_SYNCED) {
    pg_lose(p);
  }
}

/* R2: the error was in an ASKED. In a SYNCED, its Sync is the one that is looked for. */
static void pg_skip(struct pg *p) {
  for (;;) {
    switch (pg_queue_first(p)) {
      case PG_ASKED:
      case PG_RESUMED:
      case PG_QUERY:
      case PG_ENDED: pg_queue_take_run(p); break;
      case PG_NOTHING: p->is_skipping = true; return;
      default: return;
    }
  }
}

/* ---- copy-in ---- */

static void pg_copy_in_begins(struct pg *p) {
  if (p->is_lost) return;
  p->doubtful = 0;
  p->is_copying_in = true;
  if (p->current != CURRENT_NONE) return; /* another COPY of the same Query */
  enum pg_kind kind = pg_queue_first(p);
  p->current = kind == PG_QUERY ? CURRENT_QUERY : CURRENT_EXECUTE;
  if (kind == PG_SYNCED) {
    pg_queue_open(p);
  } else if (pg_kind_is_asked(kind) || kind == PG_QUERY) {
    pg_queue_take(p);
  } else {
    pg_lose(p);
  }
}

/* CommandComplete: it has read an ENDED, and swallowed all Syncs before that. */
static void pg_copy_in_succeeds(struct pg *p) {
  p->is_copying_in = false;
  while (pg_queue_first(p) == PG_SYNC) pg_queue_take_run(p); /* R3 */
  if (pg_queue_first(p) == PG_ENDED) pg_queue_take(p);
  if (p->current == CURRENT_EXECUTE) p->current = CURRENT_NONE;
  pg_drop_ended(p);
}

/* R5. */
static void pg_copy_in_fails(struct pg *p) {
  p->is_copying_in = false;
  while (pg_queue_first(p) == PG_SYNC) p->doubtful += pg_queue_take_run(p);
  if (pg_queue_first(p) == PG_ENDED) pg_queue_take_run(p);
  if (p->current == CURRENT_QUERY) return; /* which gets its ReadyForQuery */
  p->current = CURRENT_NONE;
  if (p->doubtful == 0) {
    pg_skip(p);
  } else if (p->count == 0) {
    p->is_skipping = true; /* until a Sync is sent, or ReadyForQuery says that one was read */
  } else if (pg_queue_first(p) != PG_SYNC) {
    pg_lose(p); /* I4 */
  }
}

/* ---- what is read of messages ---- */

/* Fields: a letter, and a string that ends in 0; a 0 ends the list. */
static void pg_read_error(struct pg *p) {
  const char *at = p->prefix, *end = at + p->gathered;
  memset(p->severity, 0, sizeof p->severity);
  memset(p->sqlstate, 0, sizeof p->sqlstate);
  while (at < end && *at != 0) {
    const char *value = at + 1;
    const char *zero = value < end ? memchr(value, 0, (size_t)(end - value)) : NULL;
    if (zero == NULL) break;
    size_t size = (size_t)(zero - value) + 1;
    if (*at == 'V' && size <= sizeof p->severity) memcpy(p->severity, value, size);
    if (*at == 'C' && size == sizeof p->sqlstate) memcpy(p->sqlstate, value, size);
    at = zero + 1;
  }
  p->has_failed = strcmp(p->severity, "FATAL") == 0 || strcmp(p->severity, "PANIC") == 0;
}

/* Of BackendKeyData; all of its body is in prefix, if it is no longer than that. */
static void pg_read_key(struct pg *p, bool is_whole) {
  if (p->gathered < 4) return;
  size_t size = p->gathered - 4u;
  p->backend = pg_number_at(p->prefix);
  p->key_size = is_whole && size <= sizeof p->key ? (uint8_t)size : 0;
  memcpy(p->key, p->prefix + 4, p->key_size);
}

/* Take the first bytes of a body, as they come: of ErrorResponse and BackendKeyData. */
static void pg_gather(struct pg *p, const char *at, size_t size, bool is_whole) {
  size_t room = sizeof p->prefix - p->gathered;
  size_t taken = size < room ? size : room;
  memcpy(p->prefix + p->gathered, at, taken);
  p->gathered = (uint8_t)(p->gathered + taken);
  if (!is_whole && p->gathered < sizeof p->prefix) return;
  if (p->gathers == 'E') pg_read_error(p);
  if (p->gathers == 'K') pg_read_key(p, is_whole);
  p->gathers = 0;
}

/* ---- the server ---- */

static void pg_server_completes(struct pg *p) {
  if (p->is_copying_in) {
    pg_copy_in_succeeds(p);
  } else {
    pg_head_answered(p);
  }
}

static void pg_server_fails(struct pg *p) {
  p->errors++;
  if (p->is_copying_in) {
    pg_copy_in_fails(p);
  } else if (p->current == CURRENT_NONE) {
    enum pg_kind kind = pg_queue_first(p);
    if (kind != PG_NOTHING) p->doubtful = 0; /* I1 */
    if (pg_kind_is_asked(kind)) pg_skip(p);
  }
}

/* Replication: bytes go both ways for as long as both like; the server's work is not a client's. What
 * was sent behind the Query is: a client may have ended the copy already, and asked for more. */
static void pg_copy_both_begins(struct pg *p) {
  p->doubtful = 0;
  p->is_copying_both = true;
  if (pg_queue_first(p) == PG_QUERY) {
    pg_queue_take(p);
    p->current = CURRENT_QUERY;
  }
  p->is_idle = p->count == 0 && !p->is_lost;
}

/* Which message has got its ReadyForQuery? */
static void pg_take_ready(struct pg *p) {
  enum pg_kind kind = pg_queue_first(p);
  if (p->current != CURRENT_NONE) {
    p->current = CURRENT_NONE;
  } else if (p->doubtful > 0 && kind != PG_SYNC) { /* I2 */
    p->doubtful--;
    p->is_skipping = false;
  } else {
    if (pg_kind_is_asked(kind)) pg_lose(p); /* none is left: they were answered, or skipped */
    if (p->count > 0) pg_queue_take(p);
  }
  pg_drop_ended(p);
}

static enum pg_want pg_server_is_ready(struct pg *p, char status) {
  if (status != 'I' && status != 'T' && status != 'E') {
    return pg_malformed(p, PG_FAULT_SERVER | PG_FAULT_STATUS, 'Z', (uint8_t)status);
  }
  if (p->status != 0) pg_take_ready(p);
  p->status = status;
  p->is_copying_in = p->is_copying_both = false;
  p->is_idle = status == 'I' && p->count == 0 && !p->is_lost;
  return PG_GOES_ON;
}

/* ---- the server's messages ---- */

enum server_action {
  SERVER_UNKNOWN,
  SERVER_GOES_ON, /* it says nothing about what is outstanding */
  SERVER_ANSWERS,
  SERVER_COMPLETES, /* CommandComplete */
  SERVER_FAILS,
  SERVER_COPIES_IN,
  SERVER_COPIES_BOTH,
  SERVER_READY,
  SERVER_KEY
};

static const uint8_t server_actions[256] = {
    ['1'] = SERVER_ANSWERS,     /* ParseComplete */
    ['2'] = SERVER_ANSWERS,     /* BindComplete */
    ['3'] = SERVER_ANSWERS,     /* CloseComplete */
    ['A'] = SERVER_GOES_ON,     /* NotificationResponse */
    ['C'] = SERVER_COMPLETES,   /* CommandComplete */
    ['D'] = SERVER_GOES_ON,     /* DataRow */
    ['E'] = SERVER_FAILS,       /* ErrorResponse */
    ['G'] = SERVER_COPIES_IN,   /* CopyInResponse */
    ['H'] = SERVER_GOES_ON,     /* CopyOutResponse: CommandComplete follows */
    ['I'] = SERVER_ANSWERS,     /* EmptyQueryResponse */
    ['K'] = SERVER_KEY,         /* BackendKeyData */
    ['N'] = SERVER_GOES_ON,     /* NoticeResponse */
    ['R'] = SERVER_GOES_ON,     /* Authentication */
    ['S'] = SERVER_GOES_ON,     /* ParameterStatus */
    ['T'] = SERVER_ANSWERS,     /* RowDescription: to Describe, or in what a Query gets */
    ['V'] = SERVER_ANSWERS,     /* FunctionCallResponse */
    ['W'] = SERVER_COPIES_BOTH, /* CopyBothResponse */
    ['Z'] = SERVER_READY,       /* ReadyForQuery */
    ['c'] = SERVER_GOES_ON,     /* CopyDone */
    ['d'] = SERVER_GOES_ON,     /* CopyData */
    ['n'] = SERVER_ANSWERS,     /* NoData: to Describe */
    ['s'] = SERVER_ANSWERS,     /* PortalSuspended */
    ['t'] = SERVER_GOES_ON,     /* ParameterDescription: RowDescription or NoData follows */
    ['v'] = SERVER_GOES_ON,     /* NegotiateProtocolVersion */
};

/* A header has come, of ReadyForQuery the whole. */
static enum pg_want pg_server_message(struct pg *p, enum server_action action, const char *at) {
  switch (action) {
    case SERVER_ANSWERS: pg_head_answered(p); break;
    case SERVER_COMPLETES: pg_server_completes(p); break;
    case SERVER_COPIES_IN: pg_copy_in_begins(p); break;
    case SERVER_COPIES_BOTH: pg_copy_both_begins(p); break;
    case SERVER_READY: return pg_server_is_ready(p, at[HEADER]);
    case SERVER_FAILS: pg_server_fails(p); /* fall through */
    case SERVER_KEY:
      p->gathered = 0;
      p->gathers = (uint8_t)at[0];
      break;
    default: break;
  }
  return PG_GOES_ON;
}

static size_t pg_server_goes_on(struct pg *p, const char *at, size_t size) {
  size_t here = p->server_left < size ? p->server_left : size;
  p->server_left -= (uint32_t)here;
  if (p->gathers != 0) pg_gather(p, at, here, p->server_left == 0);
  return here;
}

/* Whether a header of the server is fine. */
static enum pg_want pg_check_server(struct pg *p, enum server_action action, char type,
                                    uint32_t length) {
  if (action == SERVER_UNKNOWN) return pg_malformed(p, PG_FAULT_SERVER | PG_FAULT_TYPE, type, 0);
  if (length < 4 || length > SERVER_LENGTH_MAX || (action == SERVER_READY && length != 5)) {
    return pg_malformed(p, PG_FAULT_SERVER | PG_FAULT_LENGTH, type, length);
  }
  return PG_GOES_ON;
}

enum pg_want pg_from_server(struct pg *p, const char *at, size_t size, size_t *n) {
  enum pg_want want = PG_GOES_ON;
  size_t done = pg_server_goes_on(p, at, size);
  while (size - done >= HEADER) {
    const char *message = at + done;
    uint32_t length = pg_number_at(message + 1);
    size_t whole = (size_t)length + 1;
    enum server_action action = server_actions[(uint8_t)*message];
    want = pg_check_server(p, action, *message, length);
    if (want != PG_GOES_ON || (action == SERVER_READY && size - done < READY_SIZE)) break;
    if (action != SERVER_GOES_ON) want = pg_server_message(p, action, message);
    if (want != PG_GOES_ON) break;
    if (whole > size - done || p->gathers != 0) {
      p->server_left = length - 4;
      whole = HEADER + pg_server_goes_on(p, message + HEADER, size - done - HEADER);
    }
    done += whole;
  }
  *n = done;
  return want;
}

/* ---- what the session asks ---- */

bool pg_is_asked(const struct pg *p) {
  if (p->is_copying_in) return pg_queue_has_ended(p);
  if (p->is_copying_both) return pg_queue_has_ready(p);
  return p->current == CURRENT_QUERY || pg_queue_has_ready(p) || (p->is_flushed && p->count > 0);
}

const char *pg_why(const struct pg *p, char *to, size_t room) {
  const char *side = p->fault & PG_FAULT_SERVER ? "server" : "client";
  char type[8];
  bool is_letter = p->fault_type > ' ' && p->fault_type < 127;
  snprintf(type, sizeof type, is_letter ? "'%c'" : "0x%02x", p->fault_type);
  switch (p->fault & ~PG_FAULT_SERVER) {
    case PG_FAULT_TYPE: snprintf(to, room, "the %s sent a message of type %s", side, type); break;
    case PG_FAULT_LENGTH:
      snprintf(to, room, "the %s sent a message of type %s with a length of %u", side, type,
               p->fault_value);
      break;
    case PG_FAULT_STATUS:
      snprintf(to, room, "the %s sent a ReadyForQuery with a status of 0x%02x", side,
               p->fault_value);
      break;
    default: snprintf(to, room, "nothing is wrong"); break;
  }
  return to;
}

/* ---- messages of our own ---- */

static void pg_put_number(char *to, uint32_t value) {
  for (int i = 0; i < 4; i++) to[i] = (char)(value >> (24 - 8 * i));
}

size_t pg_cancel_bytes(const struct pg *p, char to[PG_CANCEL_MAX]) {
  if (p->backend == 0 || p->key_size == 0) return 0;
  size_t size = 12u + p->key_size;
  pg_put_number(to, (uint32_t)size);
  pg_put_number(to + 4, 80877102);
  pg_put_number(to + 8, p->backend);
  memcpy(to + 12, p->key, p->key_size);
  return size;
}

/* Adds a field, cut so that the list's end still has room. Returns the new size. */
static size_t pg_put_field(char *to, size_t size, size_t room, char letter, const char *string) {
  if (string == NULL || size + 3 > room) return size;
  size_t most = room - size - 3; /* the letter, the field's end, the list's end */
  size_t length = strlen(string);
  if (length > most) {
    length = most;
    while (length > 0 && ((unsigned char)string[length] & 0xc0) == 0x80) length--; /* UTF-8 */
  }
  to[size] = letter;
  memcpy(to + size + 1, string, length);
  to[size + 1 + length] = 0;
  return size + length + 2;
}

size_t pg_error_bytes(const struct pg_error *error, char *to, size_t room) {
  size_t size = 5;
  size = pg_put_field(to, size, room, 'S', error->severity);
  size = pg_put_field(to, size, room, 'V', error->severity);
  size = pg_put_field(to, size, room, 'C', error->sqlstate);
  size = pg_put_field(to, size, room, 'M', error->message);
  size = pg_put_field(to, size, room, 'D', error->detail);
  size = pg_put_field(to, size, room, 'H', error->hint);
  to[size++] = 0;
  to[0] = 'E';
  pg_put_number(to + 1, (uint32_t)(size - 1));
  return size;
}
