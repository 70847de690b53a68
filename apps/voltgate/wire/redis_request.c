/* redis_request.c: what a client of redis sends: arrays of bulk strings, or inline commands, as
 * networking.c and sdssplitargs() of redis 7 read them.
 *
 * Where redis is lax and two readers could differ, this one is strict: a line of an array ends in
 * CR LF, an argument in CR LF, an inline command has no zero byte and at most 64 KiB. */
#include "wire/redis_parts.h"

enum { INLINE_MAX = 64 * 1024 };

enum { START, ARRAY_SIZE, ARRAY_LF, DOLLAR, SIZE, SIZE_LF, DATA, DATA_CR, DATA_LF, INLINE };

/* Where an inline command is: between arguments, in a bare one, in "...", behind \, \x and \x0 in
 * it, in '...', behind \ in it, behind the end of a quoted one. */
enum { BETWEEN, BARE, DOUBLE, ESCAPE, HEX_1, HEX_2, SINGLE, SINGLE_ESCAPE, CLOSED };

static enum redis_want redis_request_wrong(struct redis *r, const char *why) {
  r->why = why;
  return REDIS_MALFORMED;
}

static char redis_request_lower(char byte) {
  return byte >= 'A' && byte <= 'Z' ? (char)(byte - 'A' + 'a') : byte;
}

int redis_number_add_(struct redis_number *n, char byte) {
  if (byte == '\r') return n->digits > 0 ? 1 : -1;
  if (byte == '-') {
    if (n->digits > 0 || n->is_negative) return -1;
    n->is_negative = true;
    return 0;
  }
  if (byte < '0' || byte > '9' || n->digits == 18) return -1;
  if (n->digits > 0 && n->value == 0) return -1; /* a leading 0 */
  if (n->is_negative && n->digits == 0 && byte == '0') return -1;
  n->value = n->value * 10 + (uint64_t)(byte - '0');
  n->digits++;
  return 0;
}

/* ---- names ---- */

enum redis_kind redis_kind_of_(const struct redis_word *name) {
  static const struct {
    const char *name;
    enum redis_kind kind;
  } kinds[] = {
      {"multi", REDIS_MULTI},
      {"exec", REDIS_EXEC},
      {"discard", REDIS_DISCARD},
      {"watch", REDIS_WATCH},
      {"unwatch", REDIS_UNWATCH},
      {"reset", REDIS_RESET},
      {"hello", REDIS_HELLO},
      {"client", REDIS_CLIENT},
      {"replconf", REDIS_REPLCONF},
      {"blpop", REDIS_BLOCKS},
      {"brpop", REDIS_BLOCKS},
      {"blmove", REDIS_BLOCKS},
      {"blmpop", REDIS_BLOCKS},
      {"bzpopmin", REDIS_BLOCKS},
      {"bzpopmax", REDIS_BLOCKS},
      {"bzmpop", REDIS_BLOCKS},
      {"brpoplpush", REDIS_BLOCKS},
      {"wait", REDIS_BLOCKS},
      {"waitaof", REDIS_BLOCKS},
      {"xread", REDIS_XREAD},
      {"xreadgroup", REDIS_XREADGROUP},
      {"subscribe", REDIS_SUBSCRIBE},
      {"psubscribe", REDIS_PSUBSCRIBE},
      {"ssubscribe", REDIS_SSUBSCRIBE},
      {"unsubscribe", REDIS_UNSUBSCRIBE},
      {"punsubscribe", REDIS_PUNSUBSCRIBE},
      {"sunsubscribe", REDIS_SUNSUBSCRIBE},
      {"monitor", REDIS_MONITOR},
      {"sync", REDIS_SYNC},
      {"psync", REDIS_SYNC},
  };
  if (name->size < 4 || name->size > 12 || memchr("bcdehmprsuwx", name->at[0], 12) == NULL)
    return REDIS_PLAIN; /* most are */
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
    if (kinds[i].name[0] == name->at[0] && redis_word_is_(name, kinds[i].name))
      return kinds[i].kind;
  }
  return REDIS_PLAIN;
}

/* ---- arguments ---- */

static void redis_request_see_client(struct redis_request *q) {
  const struct redis_word *w = &q->word;
  if (q->arguments == 1 && redis_word_is_(w, "reply")) q->detail = REDIS_CLIENT_REPLY;
  if (q->arguments != 2 || q->detail != REDIS_CLIENT_REPLY) return;
  if (redis_word_is_(w, "on")) q->detail = REDIS_REPLY_ON;
  if (redis_word_is_(w, "off")) q->detail = REDIS_REPLY_OFF;
  if (redis_word_is_(w, "skip")) q->detail = REDIS_REPLY_SKIP;
}

/* An option of XREAD. Its values are passed over, because a group may be named BLOCK. */
static void redis_request_see_option(struct redis_request *q) {
  const struct redis_word *w = &q->word;
  if (q->detail == REDIS_OPTIONS_END) return;
  if (q->skip > 0) {
    q->skip--;
  } else if (redis_word_is_(w, "block")) {
    q->detail = REDIS_OPTIONS_BLOCK;
    q->skip = 1;
  } else if (redis_word_is_(w, "count")) {
    q->skip = 1;
  } else if (redis_word_is_(w, "group")) {
    q->skip = 2;
  } else if (redis_word_is_(w, "streams")) {
    q->skip = UINT8_MAX; /* what follows are keys */
    if (q->detail != REDIS_OPTIONS_BLOCK) q->detail = REDIS_OPTIONS_END;
  }
}

/* An argument is whole. */
static void redis_request_end_argument(struct redis_request *q) {
  if (q->arguments == 0) {
    q->kind = (uint8_t)redis_kind_of_(&q->word);
  } else if (q->kind == REDIS_CLIENT) {
    redis_request_see_client(q);
  } else if (q->kind == REDIS_XREAD || q->kind == REDIS_XREADGROUP) {
    redis_request_see_option(q);
  } else if (q->kind == REDIS_REPLCONF && q->arguments == 1 &&
             (redis_word_is_(&q->word, "ack") || redis_word_is_(&q->word, "getack"))) {
    q->detail = REDIS_ACKNOWLEDGES;
  }
  q->arguments++;
  q->word.size = 0;
}

static void redis_request_begin_command(struct redis_request *q) {
  *q = (struct redis_request){0};
}

static void redis_request_end_command(struct redis *r) {
  if (r->request.arguments > 0) redis_sent_(r);
  r->is_skipped &= r->request.arguments > 0; /* an empty command is what CLIENT REPLY SKIP skips */
  redis_request_begin_command(&r->request);
}

/* ---- an inline command ---- */

static bool redis_request_is_space(char byte) {
  return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

static int redis_request_hex(char byte) {
  if (byte >= '0' && byte <= '9') return byte - '0';
  byte = redis_request_lower(byte);
  return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

static void redis_request_put(struct redis_request *q, char byte) {
  redis_word_add_(&q->word, redis_request_lower(byte));
}

static char redis_request_escaped(char byte) {
  static const char letters[] = "nrtba", bytes[] = "\n\r\t\b\a";
  const char *found = byte != 0 ? strchr(letters, byte) : NULL;
  return found != NULL ? bytes[found - letters] : byte;
}

/* Returns false: an argument goes on behind its closing quote. */
static bool redis_request_in_bare(struct redis_request *q, char byte) {
  switch (q->quoted) {
    case CLOSED:
      if (!redis_request_is_space(byte)) return false;
      redis_request_end_argument(q);
      q->quoted = BETWEEN;
      return true;
    case BETWEEN:
      if (redis_request_is_space(byte)) return true;
      q->quoted = BARE;
      break;
    default: break;
  }
  if (byte == ' ' || byte == '\t' || byte == '\r') {
    redis_request_end_argument(q);
    q->quoted = BETWEEN;
  } else if (byte == '"') {
    q->quoted = DOUBLE;
  } else if (byte == '\'') {
    q->quoted = SINGLE;
  } else {
    redis_request_put(q, byte);
  }
  return true;
}

static void redis_request_in_double(struct redis_request *q, char byte) {
  if (byte == '\\') {
    q->quoted = ESCAPE;
  } else if (byte == '"') {
    q->quoted = CLOSED;
  } else {
    redis_request_put(q, byte);
  }
}

static void redis_request_in_single(struct redis_request *q, char byte) {
  if (q->quoted == SINGLE_ESCAPE) {
    q->quoted = SINGLE;
    redis_request_put(q, byte == '\'' ? '\'' : '\\');
    if (byte == '\'') return;
  }
  if (byte == '\\') {
    q->quoted = SINGLE_ESCAPE;
  } else if (byte == '\'') {
    q->quoted = CLOSED;
  } else {
    redis_request_put(q, byte);
  }
}

/* Behind a backslash in double quotes. What turns out to be no \x00 is a letter like others. */
static void redis_request_in_escape(struct redis_request *q, char byte) {
  unsigned was = q->quoted;
  q->quoted = DOUBLE;
  if (was == ESCAPE && byte == 'x') {
    q->quoted = HEX_1;
  } else if (was == ESCAPE) {
    redis_request_put(q, redis_request_escaped(byte));
  } else if (was == HEX_1 && redis_request_hex(byte) >= 0) {
    q->hex = (uint8_t)byte;
    q->quoted = HEX_2;
  } else if (was == HEX_2 && redis_request_hex(byte) >= 0) {
    redis_request_put(
        q, (char)(unsigned char)(redis_request_hex((char)q->hex) << 4 | redis_request_hex(byte)));
  } else {
    redis_request_put(q, 'x');
    if (was == HEX_2) redis_request_put(q, (char)q->hex);
    redis_request_in_double(q, byte);
  }
}

static enum redis_want redis_request_end_line(struct redis *r) {
  struct redis_request *q = &r->request;
  if (q->quoted != BETWEEN && q->quoted != BARE && q->quoted != CLOSED)
    return redis_request_wrong(r, "unbalanced quotes in an inline command");
  if (q->quoted != BETWEEN) redis_request_end_argument(q);
  redis_request_end_command(r);
  return REDIS_GOES_ON;
}

static enum redis_want redis_request_in_line(struct redis *r, char byte) {
  struct redis_request *q = &r->request;
  if (byte == '\n') return redis_request_end_line(r);
  if (byte == 0) return redis_request_wrong(r, "a zero byte in an inline command");
  if (q->left-- == 0) return redis_request_wrong(r, "an inline command is longer than 64 KiB");
  switch (q->quoted) {
    case DOUBLE: redis_request_in_double(q, byte); break;
    case SINGLE:
    case SINGLE_ESCAPE: redis_request_in_single(q, byte); break;
    case ESCAPE:
    case HEX_1:
    case HEX_2: redis_request_in_escape(q, byte); break;
    default:
      if (!redis_request_in_bare(q, byte))
        return redis_request_wrong(r, "unbalanced quotes in an inline command");
  }
  return REDIS_GOES_ON;
}

/* ---- an array ---- */

static enum redis_want redis_request_end_number(struct redis *r) {
  struct redis_request *q = &r->request;
  bool is_size = q->state == SIZE_LF;
  struct redis_number n = q->number;
  q->number = (struct redis_number){0};
  if (is_size) {
    if (n.is_negative) return redis_request_wrong(r, "a bulk string of negative length");
    q->left = n.value;
    q->state = n.value > 0 ? DATA : DATA_CR;
  } else if (n.is_negative || n.value == 0) {
    redis_request_end_command(r); /* no command: redis passes over it */
  } else {
    if (n.value > INT32_MAX) return redis_request_wrong(r, "a command of too many arguments");
    q->declared = n.value;
    q->state = DOLLAR;
  }
  return REDIS_GOES_ON;
}

static enum redis_want redis_request_in_number(struct redis *r, char byte) {
  struct redis_request *q = &r->request;
  int is = redis_number_add_(&q->number, byte);
  if (is < 0) return redis_request_wrong(r, "a length that is no number");
  if (is > 0) q->state++;
  return REDIS_GOES_ON;
}

static void redis_request_end_data(struct redis *r) {
  struct redis_request *q = &r->request;
  redis_request_end_argument(q);
  q->state = DOLLAR;
  if (q->arguments == q->declared) redis_request_end_command(r);
}

static enum redis_want redis_request_begin(struct redis *r, char byte) {
  struct redis_request *q = &r->request;
  if (byte == '*') {
    q->state = ARRAY_SIZE;
    return REDIS_GOES_ON;
  }
  q->state = INLINE;
  q->left = INLINE_MAX;
  return redis_request_in_line(r, byte);
}

/* Takes one byte; in DATA it is not called. */
static enum redis_want redis_request_take(struct redis *r, char byte) {
  struct redis_request *q = &r->request;
  switch (q->state) {
    case START: return redis_request_begin(r, byte);
    case ARRAY_SIZE:
    case SIZE: return redis_request_in_number(r, byte);
    case ARRAY_LF:
    case SIZE_LF:
      return byte == '\n' ? redis_request_end_number(r) : redis_request_wrong(r, "a CR without LF");
    case DOLLAR:
      if (byte != '$') return redis_request_wrong(r, "an argument that is no bulk string");
      q->state = SIZE;
      return REDIS_GOES_ON;
    case DATA_CR:
      if (byte != '\r') return redis_request_wrong(r, "an argument is longer than it says");
      q->state = DATA_LF;
      return REDIS_GOES_ON;
    case DATA_LF:
      if (byte != '\n') return redis_request_wrong(r, "an argument is longer than it says");
      redis_request_end_data(r);
      return REDIS_GOES_ON;
    default: return redis_request_in_line(r, byte);
  }
}

/* Bytes of an argument: the beginning is kept, the others are counted. */
static size_t redis_request_take_data(struct redis_request *q, const char *at, size_t size) {
  size_t n = q->left < size ? (size_t)q->left : size;
  size_t i = 0;
  while (i < n && q->word.size < REDIS_WORD) redis_request_put(q, at[i++]);
  if (i < n) q->word.size = REDIS_WORD + 1; /* longer than any word */
  q->left -= n;
  if (q->left == 0) q->state = DATA_CR;
  return n;
}

/* Whether a command is whole with this byte, so that redis runs it. */
static bool redis_request_is_last_byte(const struct redis_request *q, char byte) {
  if (q->state == INLINE) return byte == '\n' && (q->arguments > 0 || q->quoted != BETWEEN);
  return q->state == DATA_LF && q->arguments + 1 == q->declared;
}

size_t redis_take_back(struct redis *r) {
  size_t bytes = r->here;
  if (bytes > 0) redis_request_begin_command(&r->request);
  r->here = 0;
  return bytes;
}

enum redis_want redis_from_client(struct redis *r, const char *at, size_t size, size_t *n) {
  enum redis_want want = REDIS_GOES_ON;
  size_t start = SIZE_MAX; /* of the current command; not here */
  *n = 0;
  r->here = 0;
  while (*n < size && want == REDIS_GOES_ON) {
    if (r->is_raw) {
      *n = size;
      return REDIS_GOES_ON;
    }
    if (r->is_lost) {
      if (!r->has_permit) return REDIS_NEEDS_PERMIT;
      *n = size;
      return REDIS_GOES_ON;
    }
    if (r->request.state == START) {
      if (redis_is_barred_(r)) return REDIS_WAITS;
      start = *n;
    }
    if (!r->has_permit && redis_request_is_last_byte(&r->request, at[*n]) && !redis_is_exempt_(r)) {
      if (start != SIZE_MAX) r->here = *n - start;
      return REDIS_NEEDS_PERMIT;
    }
    if (r->request.state == DATA) {
      *n += redis_request_take_data(&r->request, at + *n, size - *n);
    } else {
      want = redis_request_take(r, at[(*n)++]);
    }
  }
  if (want == REDIS_MALFORMED) --*n;
  return want;
}
