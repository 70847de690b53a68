/* json_read.c: lines of JSON, read. What is refused: whatever RFC 8259 refuses, and more than
 * JSON_DEPTH objects and arrays within each other. */
#include "json.h"

#include <string.h>

enum { JSON_DEPTH = 16 };

static void json_skip_space(volt_json_reader_ *r) {
  while (r->at < r->end && strchr(" \t\r\n", *r->at) && *r->at) r->at++;
}

/* Takes that byte. Returns whether it was there. */
static bool json_take(volt_json_reader_ *r, char byte) {
  json_skip_space(r);
  if (r->at == r->end || *r->at != byte) return false;
  r->at++;
  return true;
}

static int json_hex(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  return digit >= 'A' && digit <= 'F' ? digit - 'A' + 10 : -1;
}

/* The unit of UTF-16 whose four digits are there; -1: they are none. */
static long json_unit(const char *at, const char *end) {
  long unit = 0;
  if (end - at < 4) return -1;
  for (int i = 0; i < 4; i++) {
    int digit = json_hex(at[i]);
    if (digit < 0) return -1;
    unit = unit * 16 + digit;
  }
  return unit;
}

/* Behind a backslash. Returns false: it is no escape. */
static bool json_skip_escape(volt_json_reader_ *r) {
  if (r->at == r->end) return false;
  char byte = *r->at++;
  if (byte != 'u') return byte && strchr("\"\\/bfnrt", byte);
  if (json_unit(r->at, r->end) < 0) return false;
  r->at += 4;
  return true;
}

static bool json_skip_string(volt_json_reader_ *r, const char **at, size_t *size) {
  if (!json_take(r, '"')) return false;
  *at = r->at;
  while (r->at < r->end && *r->at != '"') {
    size_t bytes = volt_json_utf8_(r->at, (size_t)(r->end - r->at));
    if (bytes == 0 || (unsigned char)*r->at < 0x20) return false;
    bool is_escape = *r->at == '\\';
    r->at += bytes;
    if (is_escape && !json_skip_escape(r)) return false;
  }
  *size = (size_t)(r->at - *at);
  return json_take(r, '"');
}

static bool json_skip_digits(volt_json_reader_ *r) {
  const char *from = r->at;
  while (r->at < r->end && *r->at >= '0' && *r->at <= '9') r->at++;
  return r->at > from;
}

static bool json_skip_byte(volt_json_reader_ *r, const char *one_of) {
  if (r->at == r->end || !*r->at || !strchr(one_of, *r->at)) return false;
  r->at++;
  return true;
}

static bool json_skip_number(volt_json_reader_ *r) {
  json_skip_byte(r, "-");
  const char *from = r->at;
  if (!json_skip_digits(r) || (*from == '0' && r->at - from > 1)) return false;
  if (json_skip_byte(r, ".") && !json_skip_digits(r)) return false;
  if (!json_skip_byte(r, "eE")) return true;
  json_skip_byte(r, "+-");
  return json_skip_digits(r);
}

static bool json_skip_word(volt_json_reader_ *r, const char *word) {
  size_t size = strlen(word);
  if ((size_t)(r->end - r->at) < size || memcmp(r->at, word, size) != 0) return false;
  r->at += size;
  return true;
}

/* A value that is no object and no array. */
static bool json_skip_plain(volt_json_reader_ *r, volt_json_member_ *m) {
  json_skip_space(r);
  if (r->at == r->end) return false;
  m->at = r->at;
  switch (*r->at) {
    case '"': m->kind = VOLT_JSON_STRING_; return json_skip_string(r, &m->at, &m->size);
    case 't': m->kind = VOLT_JSON_TRUE_; return json_skip_word(r, "true");
    case 'f': m->kind = VOLT_JSON_FALSE_; return json_skip_word(r, "false");
    case 'n': m->kind = VOLT_JSON_NULL_; return json_skip_word(r, "null");
    default: m->kind = VOLT_JSON_NUMBER_; return json_skip_number(r);
  }
}

static bool json_skip_key(volt_json_reader_ *r, const char **key, size_t *size) {
  return json_skip_string(r, key, size) && json_take(r, ':');
}

/* An object or an array, which begins here. is_array: a bit for each of those that are open. */
static bool json_skip_nested(volt_json_reader_ *r) {
  uint32_t is_array = 0;
  unsigned depth = 0;
  bool needs_comma = false;
  do {
    volt_json_member_ m;
    if (depth > 0 && json_take(r, is_array & 1 ? ']' : '}')) {
      is_array >>= 1;
      depth--;
      needs_comma = true;
      continue;
    }
    if (needs_comma && !json_take(r, ',')) return false;
    if (depth > 0 && !(is_array & 1) && !json_skip_key(r, &m.key, &m.key_size)) return false;
    needs_comma = true;
    bool array_begins = json_take(r, '[');
    if (array_begins || json_take(r, '{')) {
      if (++depth > JSON_DEPTH) return false;
      is_array = is_array << 1 | (array_begins ? 1u : 0u);
      needs_comma = false;
    } else if (!json_skip_plain(r, &m)) {
      return false;
    }
  } while (depth > 0);
  return true;
}

static bool json_skip_value(volt_json_reader_ *r, volt_json_member_ *m) {
  json_skip_space(r);
  m->at = r->at;
  bool is_nested = r->at < r->end && (*r->at == '{' || *r->at == '[');
  if (is_nested) {
    m->kind = VOLT_JSON_OTHER_;
    if (!json_skip_nested(r)) return false;
  } else if (!json_skip_plain(r, m)) {
    return false;
  }
  if (m->kind != VOLT_JSON_STRING_) m->size = (size_t)(r->at - m->at);
  return true;
}

/* Behind the object nothing may stand. */
static bool json_ends(volt_json_reader_ *r) {
  json_skip_space(r);
  r->is_malformed = r->at != r->end;
  return false;
}

bool volt_json_next_(volt_json_reader_ *r, volt_json_member_ *m) {
  bool is_first = !r->has_begun;
  r->has_begun = true;
  if (r->is_malformed) return false;
  r->is_malformed = true; /* unless the rest is right */
  if (is_first && !json_take(r, '{')) return false;
  if (json_take(r, '}')) return json_ends(r);
  if (!is_first && !json_take(r, ',')) return false;
  if (!json_skip_key(r, &m->key, &m->key_size) || !json_skip_value(r, m)) return false;
  r->is_malformed = false;
  return true;
}

bool volt_json_is_(const volt_json_member_ *m, const char *key) {
  return m->key_size == strlen(key) && memcmp(m->key, key, m->key_size) == 0;
}

/* ---- values ---- */

static size_t json_encode(uint32_t c, char to[4]) {
  if (c < 0x80) {
    to[0] = (char)c;
    return 1;
  }
  size_t bytes = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
  static const unsigned char first[] = {0, 0, 0xc0, 0xe0, 0xf0};
  for (size_t i = bytes - 1; i > 0; i--) {
    to[i] = (char)(0x80 | (c & 0x3f));
    c >>= 6;
  }
  to[0] = (char)(first[bytes] | c);
  return bytes;
}

/* The character of \u and what follows, of which *at is behind the u. Half of a pair, and 0, which
 * would end the text, are U+FFFD. */
static uint32_t json_escaped_unit(const char **at, const char *end) {
  uint32_t unit = (uint32_t)json_unit(*at, end);
  *at += 4;
  if (unit == 0 || (unit >= 0xdc00 && unit <= 0xdfff)) return 0xfffd;
  if (unit < 0xd800 || unit > 0xdfff) return unit;
  long low = end - *at >= 6 && (*at)[0] == '\\' && (*at)[1] == 'u' ? json_unit(*at + 2, end) : -1;
  if (low < 0xdc00 || low > 0xdfff) return 0xfffd;
  *at += 6;
  return 0x10000 + ((unit - 0xd800) << 10) + ((uint32_t)low - 0xdc00);
}

/* The character at *at, which moves behind it. */
static size_t json_decode(const char **at, const char *end, char to[4]) {
  size_t bytes = volt_json_utf8_(*at, (size_t)(end - *at));
  if (**at != '\\') {
    memcpy(to, *at, bytes);
    *at += bytes;
    return bytes;
  }
  char escape = (*at)[1];
  *at += 2;
  static const char names[] = "bfnrt", meant[] = "\b\f\n\r\t";
  if (escape == 'u') return json_encode(json_escaped_unit(at, end), to);
  const char *found = strchr(names, escape);
  to[0] = found ? meant[found - names] : escape;
  return 1;
}

bool volt_json_text_of_(const volt_json_member_ *m, char *to, size_t max) {
  if (m->kind != VOLT_JSON_STRING_) return false;
  const char *at = m->at, *end = m->at + m->size;
  size_t size = 0;
  while (at < end) {
    char character[4];
    size_t bytes = json_decode(&at, end, character);
    if (bytes >= max - size) break;
    memcpy(to + size, character, bytes);
    size += bytes;
  }
  to[size] = '\0';
  return true;
}

static bool json_whole(const char *at, size_t size, uint64_t base, uint64_t *number) {
  uint64_t sum = 0;
  for (size_t i = 0; i < size; i++) {
    int digit = json_hex(at[i]);
    if (digit < 0 || (uint64_t)digit >= base) return false;
    if (sum > (UINT64_MAX - (uint64_t)digit) / base) return false;
    sum = sum * base + (uint64_t)digit;
  }
  *number = sum;
  return size > 0;
}

bool volt_json_number_of_(const volt_json_member_ *m, uint64_t *number) {
  return m->kind == VOLT_JSON_NUMBER_ && json_whole(m->at, m->size, 10, number);
}

bool volt_json_condition_of_(const volt_json_member_ *m, bool *condition) {
  *condition = m->kind == VOLT_JSON_TRUE_;
  return *condition || m->kind == VOLT_JSON_FALSE_;
}

bool volt_json_address_of_(const volt_json_member_ *m, uint64_t *address) {
  bool is_one = m->kind == VOLT_JSON_STRING_ && m->size > 2 && m->at[0] == '0' && m->at[1] == 'x';
  return is_one && json_whole(m->at + 2, m->size - 2, 16, address);
}
