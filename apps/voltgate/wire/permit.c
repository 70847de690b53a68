/* permit.c: what a client of a permit gate says, a line at a time.
 *
 * A line is words that are parted by blanks. The first says what is asked; the others are KEY=VALUE, where
 * a value may stand in double quotes. Every key that is not one of the wire's is a kind, so a kind
 * that is not there is found by the gate, and not here. */
#include "wire/permit.h"

#include <string.h>

#define SECOND UINT64_C(1000000000)
#define YEAR (UINT64_C(31536000) * SECOND)

/* ---- names and numbers ---- */

static bool permits_is(const char *text, size_t size, const char *word) {
  return strlen(word) == size && memcmp(text, word, size) == 0;
}

/* Keys of requests and of what is listed. */
static const char *const permit_keys[] = {"wait",  "label",   "command",  "id",     "pid",
                                          "uid",   "wait_ms", "since_ms", "place",  "lacks",
                                          "limit", "held",    "free",     "version"};

bool permits_is_kind(const char *text, size_t size) {
  if (size == 0 || size >= PERMIT_KIND_BYTES) return false;
  for (size_t i = 0; i < size; i++) {
    bool is_letter = text[i] >= 'a' && text[i] <= 'z';
    bool is_other = (text[i] >= '0' && text[i] <= '9') || text[i] == '_' || text[i] == '-';
    if (!is_letter && (i == 0 || !is_other)) return false;
  }
  for (size_t i = 0; i < sizeof permit_keys / sizeof *permit_keys; i++) {
    if (permits_is(text, size, permit_keys[i])) return false;
  }
  return true;
}

static unsigned permits_suffix_bits(char suffix) {
  switch (suffix) {
    case 'K': return 10;
    case 'M': return 20;
    case 'G': return 30;
    case 'T': return 40;
    default: return 0;
  }
}

bool permits_number(const char *text, size_t size, uint64_t *number) {
  uint64_t n = 0;
  size_t digits = 0;
  for (; digits < size && text[digits] >= '0' && text[digits] <= '9'; digits++) {
    if (n <= PERMIT_MOST) n = 10 * n + (uint64_t)(text[digits] - '0');
  }
  if (digits == 0 || size - digits > 1) return false;
  unsigned bits = digits < size ? permits_suffix_bits(text[digits]) : 0;
  if (digits < size && bits == 0) return false;
  *number = n > PERMIT_MOST >> bits ? PERMIT_MOST + 1 : n << bits;
  return true;
}

const char *permits_amounts_add(struct permit_amounts *a, const char *kind, size_t kind_size,
                                uint64_t number) {
  if (!permits_is_kind(kind, kind_size)) return "this is no name of a kind";
  for (uint64_t i = 0; i < a->count; i++) {
    if (permits_is(kind, kind_size, a->of[i].kind)) return "a kind is named twice";
  }
  if (a->count == PERMIT_KINDS) return "there are more than 8 kinds";
  struct permit_amount *one = &a->of[a->count++];
  memset(one, 0, sizeof *one);
  memcpy(one->kind, kind, kind_size);
  one->amount = number;
  return NULL;
}

/* ---- a line ---- */

/* The rest of a line. */
struct permit_rest {
  const char *at, *end;
};

static void permits_skip_blanks(struct permit_rest *l) {
  while (l->at < l->end && *l->at == ' ') l->at++;
}

/* The bytes up to a blank, or to `also`. */
static size_t permits_span(const struct permit_rest *l, char also) {
  const char *at = l->at;
  while (at < l->end && *at != ' ' && *at != also) at++;
  return (size_t)(at - l->at);
}

/* A value; what has no room is cut. Returns NULL, or what is wrong. */
static const char *permits_read_value(struct permit_rest *l, char *to, size_t room, size_t *size) {
  bool is_quoted = l->at < l->end && *l->at == '"';
  *size = 0;
  if (is_quoted) l->at++;
  for (; l->at < l->end; l->at++) {
    char c = *l->at;
    if (is_quoted ? c == '"' : c == ' ') break;
    if (!is_quoted && c == '"') return "a quote in the middle of a value";
    if (is_quoted && c == '\\') {
      if (++l->at == l->end) break;
      c = *l->at;
      if (c != '"' && c != '\\') return "in quotes, only \\\" and \\\\ begin with a backslash";
    }
    if (*size + 1 < room) to[(*size)++] = c;
  }
  to[*size] = '\0';
  if (!is_quoted) return NULL;
  if (l->at == l->end) return "a quote is not closed";
  l->at++;
  return l->at < l->end && *l->at != ' ' ? "something stands behind a quote" : NULL;
}

/* A time: digits and ms, s, m or h; 0; forever. */
static bool permits_read_wait(const char *text, uint64_t *ns) {
  static const struct {
    const char *unit;
    uint64_t ns;
  } units[] = {{"ms", SECOND / 1000}, {"s", SECOND}, {"m", 60 * SECOND}, {"h", 3600 * SECOND}};
  size_t digits = strspn(text, "0123456789");
  uint64_t n = 0;
  *ns = UINT64_MAX;
  if (strcmp(text, "forever") == 0) return true;
  *ns = 0;
  if (strcmp(text, "0") == 0) return true;
  if (digits == 0 || digits > 12) return false;
  for (size_t i = 0; i < digits; i++) n = 10 * n + (uint64_t)(text[i] - '0');
  for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
    if (strcmp(text + digits, units[i].unit) != 0) continue;
    *ns = n > YEAR / units[i].ns ? UINT64_MAX : n * units[i].ns; /* longer than a year: for ever */
    return true;
  }
  return false;
}

/* What may stand behind a word. */
enum permit_takes { TAKES_NOTHING = 0, TAKES_AMOUNTS = 1, TAKES_WORDS = 2, TAKES_WAIT = 4 };

static const char *permits_read_pair(struct permit_request *r, struct permit_rest *l,
                                     unsigned takes) {
  char value[PERMIT_LINE_MAX];
  size_t size, key_size = permits_span(l, '=');
  const char *key = l->at;
  if (key_size == 0 || key + key_size == l->end || key[key_size] != '=')
    return "want KEY=VALUE behind the first word";
  l->at += key_size + 1;
  const char *wrong = permits_read_value(l, value, sizeof value, &size);
  if (wrong) return wrong;
  bool is_label = permits_is(key, key_size, "label"), is_wait = permits_is(key, key_size, "wait");
  if (is_label || permits_is(key, key_size, "command")) {
    char *to = is_label ? r->label : r->command;
    size_t most = is_label ? sizeof r->label : sizeof r->command;
    bool *has = is_label ? &r->has_label : &r->has_command;
    if (!(takes & TAKES_WORDS) || *has) return "label and command stand once, behind take or claim";
    *has = true;
    size = size < most ? size : most - 1;
    memcpy(to, value, size);
    to[size] = '\0';
    return NULL;
  }
  if (is_wait) {
    if (!(takes & TAKES_WAIT) || r->has_wait) return "wait stands once, behind take";
    r->has_wait = true;
    return permits_read_wait(value, &r->wait_ns) ? NULL : "wait is a time, as 30s, 0 or forever";
  }
  uint64_t number;
  if (!permits_is_kind(key, key_size)) return "this is no key, and no name of a kind";
  if (!(takes & TAKES_AMOUNTS)) return "no amounts stand behind this word";
  if (!permits_number(value, size, &number)) return "an amount is a number, as 2 or 512M";
  if (number == 0) return "an amount is at least 1";
  return permits_amounts_add(&r->amounts, key, key_size, number);
}

static const char *permits_read_version(struct permit_request *r, struct permit_rest *l) {
  size_t size = permits_span(l, ' ');
  if (!permits_number(l->at, size, &r->version)) return "hello wants a version: hello 1";
  l->at += size;
  permits_skip_blanks(l);
  return l->at == l->end ? NULL : "something stands behind the version";
}

static const struct {
  const char *name;
  enum permit_word word;
  unsigned takes;
} permit_words[] = {{"hello", PERMIT_HELLO, TAKES_NOTHING},
                    {"take", PERMIT_TAKE, TAKES_AMOUNTS | TAKES_WORDS | TAKES_WAIT},
                    {"claim", PERMIT_CLAIM, TAKES_AMOUNTS | TAKES_WORDS},
                    {"give", PERMIT_GIVE, TAKES_AMOUNTS},
                    {"list", PERMIT_LIST, TAKES_NOTHING},
                    {"ping", PERMIT_PING, TAKES_NOTHING}};

static const char *permits_read_words(struct permit_request *r, struct permit_rest *l) {
  unsigned takes = TAKES_NOTHING;
  permits_skip_blanks(l);
  size_t size = permits_span(l, ' ');
  if (size == 0) return NULL;
  for (size_t i = 0; i < sizeof permit_words / sizeof *permit_words; i++) {
    if (!permits_is(l->at, size, permit_words[i].name)) continue;
    r->word = permit_words[i].word;
    takes = permit_words[i].takes;
  }
  if (r->word == PERMIT_NOTHING)
    return "the first word is none of hello, take, claim, give, list, ping";
  l->at += size;
  permits_skip_blanks(l);
  if (r->word == PERMIT_HELLO) return permits_read_version(r, l);
  const char *wrong = NULL;
  for (; !wrong && l->at < l->end; permits_skip_blanks(l)) wrong = permits_read_pair(r, l, takes);
  bool lacks = r->amounts.count == 0 && (r->word == PERMIT_TAKE || r->word == PERMIT_CLAIM);
  return !wrong && lacks ? "it asks for nothing: want KIND=NUMBER" : wrong;
}

enum permit_result permits_read(struct permit_request *r, const char *at, size_t size, size_t *used,
                                const char **why) {
  const char *end = (const char *)memchr(at, '\n', size < PERMIT_LINE_MAX ? size : PERMIT_LINE_MAX);
  memset(r, 0, sizeof *r);
  *used = 0;
  *why = NULL;
  if (!end && size < PERMIT_LINE_MAX) return PERMIT_NEEDS_MORE;
  if (!end) {
    *why = "a line has at most 1024 bytes";
    return PERMIT_MALFORMED;
  }
  *used = (size_t)(end - at) + 1;
  if (end > at && end[-1] == '\r') end--;
  for (const char *c = at; c < end && !*why; c++) {
    if ((unsigned char)*c < ' ' || *c == 127) *why = "a control character";
  }
  struct permit_rest l = {at, end};
  if (!*why) *why = permits_read_words(r, &l);
  return *why ? PERMIT_MALFORMED : PERMIT_LINE;
}
