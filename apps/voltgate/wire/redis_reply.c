/* redis_reply.c: what redis sends, in RESP2 and RESP3: replies, messages (pushes) and attributes.
 *
 * Aggregates nest to any depth without a stack: elements is how many are still to come, an
 * aggregate is one of them and brings its own. An attribute, and a message inside a reply, are no
 * element, so that they only bring theirs. */
#include "wire/redis_parts.h"

enum { ITEM, NUMBER, NUMBER_LF, LINE, DATA, DATA_CR, DATA_LF };
#define ELEMENTS_MAX (UINT64_C(1) << 60)

static enum redis_want redis_reply_wrong(struct redis *r, const char *why) {
  r->why = why;
  return REDIS_MALFORMED;
}

static void redis_reply_begin_reply(struct redis_reply *a) {
  *a = (struct redis_reply){0};
}

/* An element is whole. */
static void redis_reply_end_element(struct redis *r) {
  struct redis_reply *a = &r->reply;
  a->state = ITEM;
  a->elements--;
  if (a->elements == 0) {
    redis_answered_(r);
    redis_reply_begin_reply(a);
  }
}

/* ---- strings ---- */

/* Whether the current item is the first string of an aggregate, or the whole reply. */
static bool redis_reply_is_name(const struct redis_reply *a) {
  return a->items == 2 || (a->items == 1 && a->type == '+');
}

static void redis_reply_name_add(struct redis_reply *a, const char *at, size_t size) {
  size_t i = 0;
  if (!redis_reply_is_name(a)) return;
  while (i < size && a->word.size < REDIS_WORD) redis_word_add_(&a->word, at[i++]);
  if (i < size) a->word.size = REDIS_WORD + 1;
}

static size_t redis_reply_take_data(struct redis_reply *a, const char *at, size_t size) {
  size_t n = a->left < size ? (size_t)a->left : size;
  redis_reply_name_add(a, at, n);
  a->left -= n;
  if (a->left == 0) a->state = DATA_CR;
  return n;
}

/* The third element of a message of subscription is a number; no other is kept. */
static void redis_reply_note_third(struct redis_reply *a, const char *at, size_t size) {
  if (a->items != 4 || a->type != ':') return;
  for (size_t i = 0; i < size && a->third < UINT64_MAX / 16; i++) {
    if (at[i] >= '0' && at[i] <= '9') a->third = a->third * 10 + (uint64_t)(at[i] - '0');
  }
}

/* The rest of a line: to its CR LF. */
static size_t redis_reply_take_line(struct redis *r, const char *at, size_t size) {
  struct redis_reply *a = &r->reply;
  if (a->is_after_cr) {
    a->is_after_cr = at[0] == '\r';
    if (at[0] == '\n') redis_reply_end_element(r);
    return 1;
  }
  const char *cr = memchr(at, '\r', size);
  size_t n = cr != NULL ? (size_t)(cr - at) : size;
  redis_reply_name_add(a, at, n);
  redis_reply_note_third(a, at, n);
  a->is_after_cr = cr != NULL;
  return n + a->is_after_cr;
}

/* ---- numbers ---- */

static bool redis_reply_is_string(uint8_t type) {
  return type == '$' || type == '=' || type == '!';
}

/* The elements that an aggregate of that type and size has. */
static uint64_t redis_reply_elements_of(uint8_t type, uint64_t size) {
  return type == '%' || type == '|' ? 2 * size : size;
}

static enum redis_want redis_reply_end_aggregate(struct redis *r, uint64_t size) {
  struct redis_reply *a = &r->reply;
  bool is_first = a->items == 1;
  bool is_none = a->type == '|' || a->type == '>';
  uint64_t elements = redis_reply_elements_of(a->type, size);
  if (a->elements + elements > ELEMENTS_MAX)
    return redis_reply_wrong(r, "a reply of too many elements");
  a->elements += elements;
  a->state = ITEM;
  if (!is_none || is_first) redis_reply_end_element(r);
  return REDIS_GOES_ON;
}

static enum redis_want redis_reply_end_number(struct redis *r) {
  struct redis_reply *a = &r->reply;
  struct redis_number n = a->number;
  a->number = (struct redis_number){0};
  if (n.is_negative && (n.value != 1 || (a->type != '$' && a->type != '*')))
    return redis_reply_wrong(r, "a reply of negative length");
  if (n.is_negative) {
    redis_reply_end_element(r); /* a null */
    return REDIS_GOES_ON;
  }
  if (!redis_reply_is_string(a->type)) return redis_reply_end_aggregate(r, n.value);
  a->left = n.value;
  a->state = n.value > 0 ? DATA : DATA_CR;
  return REDIS_GOES_ON;
}

static enum redis_want redis_reply_in_number(struct redis *r, char byte) {
  struct redis_reply *a = &r->reply;
  int is = redis_number_add_(&a->number, byte);
  if (is < 0) {
    return redis_reply_wrong(r, byte == '?' ? "a reply of unknown length, which redis does not send"
                                            : "a length in a reply that is no number");
  }
  if (is > 0) a->state = NUMBER_LF;
  return REDIS_GOES_ON;
}

/* ---- items ---- */

static enum redis_want redis_reply_begin_item(struct redis *r, char byte) {
  struct redis_reply *a = &r->reply;
  if (a->elements == 0) {
    a->elements = 1;
    a->first = (uint8_t)byte;
  }
  a->items++;
  a->type = (uint8_t)byte;
  switch (byte) {
    case '+':
    case '-':
    case ':':
    case '_':
    case '#':
    case ',':
    case '(': a->state = LINE; return REDIS_GOES_ON;
    case '$':
    case '=':
    case '!':
    case '*':
    case '~':
    case '%':
    case '>':
    case '|': a->state = NUMBER; return REDIS_GOES_ON;
    default: return redis_reply_wrong(r, "a reply of an unknown type");
  }
}

/* Takes one byte; in DATA and LINE it is not called. */
static enum redis_want redis_reply_take(struct redis *r, char byte) {
  struct redis_reply *a = &r->reply;
  switch (a->state) {
    case ITEM: return redis_reply_begin_item(r, byte);
    case NUMBER: return redis_reply_in_number(r, byte);
    case NUMBER_LF:
      return byte == '\n' ? redis_reply_end_number(r)
                          : redis_reply_wrong(r, "a CR without LF in a reply");
    case DATA_CR:
      if (byte != '\r') return redis_reply_wrong(r, "a string of a reply is longer than it says");
      a->state = DATA_LF;
      return REDIS_GOES_ON;
    default:
      if (byte != '\n') return redis_reply_wrong(r, "a string of a reply is longer than it says");
      redis_reply_end_element(r);
      return REDIS_GOES_ON;
  }
}

/* The answer to SYNC and PSYNC is an error, or the session is a replica's from now on. */
static bool redis_reply_becomes_raw(struct redis *r, char byte) {
  if (r->reply.elements > 0 || !redis_is_sync_next_(r)) return false;
  r->is_raw = byte != '-';
  return r->is_raw;
}

enum redis_want redis_from_server(struct redis *r, const char *at, size_t size) {
  enum redis_want want = REDIS_GOES_ON;
  for (size_t n = 0; n < size && want == REDIS_GOES_ON;) {
    struct redis_reply *a = &r->reply;
    if (r->is_raw || r->is_lost || redis_reply_becomes_raw(r, at[n])) return REDIS_GOES_ON;
    if (a->state == DATA) {
      n += redis_reply_take_data(a, at + n, size - n);
    } else if (a->state == LINE) {
      n += redis_reply_take_line(r, at + n, size - n);
    } else {
      want = redis_reply_take(r, at[n++]);
    }
  }
  return want;
}
