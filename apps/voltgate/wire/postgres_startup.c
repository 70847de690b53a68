/* postgres_startup.c: packets that have a length and a code, and no type. What is refused is what
 * PostgreSQL refuses (ProcessStartupPacket() in src/backend/postmaster/postmaster.c), in words that
 * say more. */
#include "wire/postgres_startup.h"

#include <stdio.h>
#include <string.h>

#include "wire/postgres.h"

enum {
  CODE_CANCEL = 80877102, /* 1234 << 16 | 5678 */
  CODE_SSL = 80877103,
  CODE_GSSENC = 80877104,
  PACKET_MIN = 8,
  CANCEL_MIN = 16, /* a key of 4 bytes; protocol 3.2: up to 256 */
  CANCEL_MAX = 268,
  TLS_HANDSHAKE = 0x16
};

enum {
  FAULT_NONE,
  FAULT_SIZE,
  FAULT_CANCEL_SIZE,
  FAULT_AGAIN,
  FAULT_VERSION,
  FAULT_END,
  FAULT_USER,
  FAULT_REPLICATION,
  FAULT_HTTP
};

static enum pg_first pg_startup_malformed(struct pg_startup *s, int fault, const char *sqlstate,
                                          uint32_t value) {
  s->fault = (uint8_t)fault;
  s->sqlstate = sqlstate;
  s->fault_value = value;
  return PG_FIRST_MALFORMED;
}

/* ---- parameters ---- */

static bool pg_startup_text_is(struct pg_text text, const char *word) {
  return strlen(word) == text.size && memcmp(text.at, word, text.size) == 0;
}

/* Whether the text begins a word, in any case of its letters, by `least` letters at least. */
static bool pg_startup_begins(struct pg_text text, const char *word, size_t least) {
  if (text.size < least || text.size > strlen(word)) return false;
  for (size_t i = 0; i < text.size; i++) {
    if ((text.at[i] | 0x20) != word[i]) return false;
  }
  return true;
}

/* As PostgreSQL reads a boolean; and "database".
 * Returns false if it is neither. */
static bool pg_startup_read_replication(struct pg_text text, bool *is_replication) {
  bool yes = pg_startup_text_is(text, "database") || pg_startup_text_is(text, "1") ||
             pg_startup_begins(text, "true", 1) || pg_startup_begins(text, "yes", 1) ||
             pg_startup_begins(text, "on", 2);
  bool no = pg_startup_text_is(text, "0") || pg_startup_begins(text, "false", 1) ||
            pg_startup_begins(text, "no", 1) || pg_startup_begins(text, "off", 2);
  *is_replication = yes;
  return yes || no;
}

static struct pg_text pg_startup_cut(struct pg_text name) {
  if (name.size > PG_NAME_MAX) name.size = PG_NAME_MAX;
  return name;
}

/* A string that ends in 0. Returns false if it does not. */
static bool pg_startup_next_string(const char **at, const char *end, struct pg_text *text) {
  const char *zero = memchr(*at, 0, (size_t)(end - *at));
  if (zero == NULL) return false;
  *text = (struct pg_text){*at, (size_t)(zero - *at)};
  *at = zero + 1;
  return true;
}

/* name 0 value 0 ... 0: the last 0 is the packet's last byte.
 * Returns false if that is not so. */
static bool pg_startup_read_parameters(struct pg_startup *s, const char *at, const char *end) {
  while (at < end && *at != 0) {
    struct pg_text name, value;
    if (!pg_startup_next_string(&at, end, &name) || !pg_startup_next_string(&at, end, &value))
      return false;
    if (pg_startup_text_is(name, "user")) s->user = pg_startup_cut(value);
    if (pg_startup_text_is(name, "database")) s->database = pg_startup_cut(value);
    if (pg_startup_text_is(name, "options")) s->options = value;
    if (pg_startup_text_is(name, "application_name")) s->application_name = value;
    if (pg_startup_text_is(name, "replication")) s->replication = value;
  }
  return at == end - 1;
}

static enum pg_first pg_startup_read_startup(struct pg_startup *s, const char *at,
                                             const char *end) {
  if (s->version >> 16 != 3) return pg_startup_malformed(s, FAULT_VERSION, "0A000", s->version);
  if (!pg_startup_read_parameters(s, at, end)) {
    return pg_startup_malformed(s, FAULT_END, "08P01", (uint32_t)s->bytes);
  }
  if (s->user.size == 0) return pg_startup_malformed(s, FAULT_USER, "28000", 0);
  if (s->database.size == 0) s->database = s->user;
  if (s->replication.at != NULL &&
      !pg_startup_read_replication(s->replication, &s->is_replication)) {
    return pg_startup_malformed(s, FAULT_REPLICATION, "22023", (uint32_t)s->replication.size);
  }
  return PG_FIRST_STARTUP;
}

/* ---- packets ---- */

static enum pg_first pg_startup_read_cancel(struct pg_startup *s, const char *at) {
  if (s->bytes < CANCEL_MIN || s->bytes > CANCEL_MAX) {
    return pg_startup_malformed(s, FAULT_CANCEL_SIZE, "08P01", (uint32_t)s->bytes);
  }
  s->process = pg_number_at(at + 8);
  s->key = (struct pg_text){at + 12, s->bytes - 12};
  return PG_FIRST_CANCEL;
}

static enum pg_first pg_startup_read_packet(struct pg_startup *s, const char *at) {
  switch (s->version) {
    case CODE_SSL:
      if (s->has_ssl) return pg_startup_malformed(s, FAULT_AGAIN, "08P01", s->version);
      s->has_ssl = true;
      return PG_FIRST_SSL;
    case CODE_GSSENC:
      if (s->has_gssenc) return pg_startup_malformed(s, FAULT_AGAIN, "08P01", s->version);
      s->has_gssenc = true;
      return PG_FIRST_GSSENC;
    case CODE_CANCEL: return pg_startup_read_cancel(s, at);
    default: return pg_startup_read_startup(s, at + PACKET_MIN, at + s->bytes);
  }
}

/* Of a web browser, or of a health check. */
static bool pg_startup_is_http(const char *at) {
  return memcmp(at, "GET ", 4) == 0 || memcmp(at, "HEAD", 4) == 0 || memcmp(at, "POST", 4) == 0 ||
         memcmp(at, "PUT ", 4) == 0 || memcmp(at, "OPTI", 4) == 0;
}

enum pg_first pg_startup_read(struct pg_startup *s, const char *at, size_t size) {
  *s = (struct pg_startup){.has_ssl = s->has_ssl, .has_gssenc = s->has_gssenc};
  if (size > 0 && at[0] == TLS_HANDSHAKE && !s->has_ssl) {
    s->has_ssl = true;
    return PG_FIRST_TLS;
  }
  if (size < 4) return PG_FIRST_PART;
  uint32_t length = pg_number_at(at);
  if (pg_startup_is_http(at)) return pg_startup_malformed(s, FAULT_HTTP, "08P01", 0);
  if (length < PACKET_MIN || length > PG_STARTUP_MAX) {
    return pg_startup_malformed(s, FAULT_SIZE, "08P01", length);
  }
  s->bytes = length;
  if (size < PACKET_MIN) return PG_FIRST_PART;
  s->version = pg_number_at(at + 4);
  bool is_code = s->version >= CODE_CANCEL && s->version <= CODE_GSSENC;
  if (!is_code && s->version >> 16 != 3)
    return pg_startup_malformed(s, FAULT_VERSION, "0A000", s->version);
  return size < length ? PG_FIRST_PART : pg_startup_read_packet(s, at);
}

/* ---- words ---- */

const char *pg_startup_why(const struct pg_startup *s, char *to, size_t room) {
  unsigned value = s->fault_value;
  switch (s->fault) {
    case FAULT_SIZE:
      snprintf(to, room, "a startup packet of %u bytes: it has between %d and %d", value,
               PACKET_MIN, PG_STARTUP_MAX);
      break;
    case FAULT_CANCEL_SIZE:
      snprintf(to, room, "a cancel request of %u bytes: it has between %d and %d", value,
               CANCEL_MIN, CANCEL_MAX);
      break;
    case FAULT_AGAIN:
      snprintf(to, room, "a second request for %s encryption",
               value == CODE_SSL ? "SSL" : "GSSAPI");
      break;
    case FAULT_VERSION:
      snprintf(to, room, "unsupported frontend protocol %u.%u: only 3.x is understood", value >> 16,
               value & 0xffff);
      break;
    case FAULT_END:
      snprintf(to, room, "the parameters in a startup packet of %u bytes do not end where it ends",
               value);
      break;
    case FAULT_USER: snprintf(to, room, "the startup packet has no user"); break;
    case FAULT_REPLICATION:
      snprintf(to, room,
               "the parameter \"replication\" is \"%.*s\": neither a boolean nor \"database\"",
               (int)(s->replication.size < 40 ? s->replication.size : 40), s->replication.at);
      break;
    case FAULT_HTTP: snprintf(to, room, "an HTTP request: this is a PostgreSQL port"); break;
    default: snprintf(to, room, "nothing is wrong"); break;
  }
  return to;
}
