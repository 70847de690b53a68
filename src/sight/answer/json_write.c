/* json_write.c: lines of JSON, written. */
#include "json.h"

#include <string.h>

static void json_put(volt_json_ *j, const char *bytes, size_t size) {
  if (j->is_full || size > j->max - j->size) {
    j->is_full = true;
    return;
  }
  memcpy(j->at + j->size, bytes, size);
  j->size += size;
}

static void json_put_key(volt_json_ *j, const char *key) {
  json_put(j, ",\"", 2);
  json_put(j, key, strlen(key));
  json_put(j, "\":", 2);
}

void volt_json_begin_(volt_json_ *j, const char *what) {
  _Static_assert(VOLT_JSON_VERSION_ == 1, "as it is written here");
  j->line = j->size;
  j->is_full = false;
  json_put(j, "{\"volt\":1", 9);
  volt_json_put_text_(j, "a", what);
}

bool volt_json_end_(volt_json_ *j) {
  json_put(j, "}\n", 2);
  if (j->is_full) j->size = j->line;
  return !j->is_full;
}

/* What each first byte allows the second one to be (Unicode, table 3-7): no longer form than needed,
 * no surrogates, nothing above U+10FFFF. */
size_t volt_json_utf8_(const char *text, size_t size) {
  const unsigned char *at = (const unsigned char *)text;
  if (size == 0) return 0;
  if (at[0] < 0x80) return 1;
  size_t bytes = at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : 2;
  if (at[0] < 0xc2 || at[0] > 0xf4 || size < bytes) return 0;
  unsigned char low = at[0] == 0xe0 ? 0xa0 : at[0] == 0xf0 ? 0x90 : 0x80;
  unsigned char high = at[0] == 0xed ? 0x9f : at[0] == 0xf4 ? 0x8f : 0xbf;
  if (at[1] < low || at[1] > high) return 0;
  for (size_t i = 2; i < bytes; i++) {
    if (at[i] < 0x80 || at[i] > 0xbf) return 0;
  }
  return bytes;
}

static void json_put_escaped(volt_json_ *j, char byte) {
  static const char digits[] = "0123456789abcdef";
  char escaped[6] = {'\\', 'u', '0', '0', digits[(unsigned char)byte >> 4], digits[byte & 15]};
  json_put(j, escaped, sizeof escaped);
}

/* The character at the beginning of text. Returns how many bytes it has. */
static size_t json_put_character(volt_json_ *j, const char *text, size_t size) {
  size_t bytes = volt_json_utf8_(text, size);
  if (bytes == 0) {
    json_put(j, "\\ufffd", 6);
    return 1;
  }
  bool is_plain = (unsigned char)*text >= 0x20 && *text != 0x7f && *text != '"' && *text != '\\';
  if (bytes == 2 && *text == '\xc2' && (unsigned char)text[1] < 0xa0) {
    json_put_escaped(j, text[1]); /* a control character of two bytes */
  } else if (bytes > 1 || is_plain) {
    json_put(j, text, bytes);
  } else {
    json_put_escaped(j, *text);
  }
  return bytes;
}

void volt_json_put_bytes_(volt_json_ *j, const char *key, const char *text, size_t size) {
  json_put_key(j, key);
  json_put(j, "\"", 1);
  for (size_t done = 0; done < size;) {
    size_t bytes = volt_json_utf8_(text + done, size - done);
    if (done + (bytes > 0 ? bytes : 1) > VOLT_JSON_TEXT_) break;
    done += json_put_character(j, text + done, size - done);
  }
  json_put(j, "\"", 1);
}

/* Of a text, as far as it counts: the character that is cut is whole. */
static size_t json_length(const char *text) {
  size_t size = 0;
  while (size < VOLT_JSON_TEXT_ + 4 && text[size]) size++;
  return size;
}

void volt_json_put_text_(volt_json_ *j, const char *key, const char *text) {
  if (text) volt_json_put_bytes_(j, key, text, json_length(text));
}

/* Writes it to the end of digits. Returns where it begins. */
static const char *json_digits(char digits[20], uint64_t number, unsigned base) {
  char *at = digits + 20;
  do {
    *--at = "0123456789abcdef"[number % base];
    number /= base;
  } while (number > 0);
  return at;
}

void volt_json_put_number_(volt_json_ *j, const char *key, uint64_t number) {
  char digits[20];
  const char *at = json_digits(digits, number, 10);
  json_put_key(j, key);
  json_put(j, at, (size_t)(digits + sizeof digits - at));
}

void volt_json_put_condition_(volt_json_ *j, const char *key, bool condition) {
  json_put_key(j, key);
  json_put(j, condition ? "true" : "false", condition ? 4 : 5);
}

void volt_json_put_address_(volt_json_ *j, const char *key, const void *address) {
  if (!address) return;
  char digits[20];
  const char *at = json_digits(digits, (uintptr_t)address, 16);
  json_put_key(j, key);
  json_put(j, "\"0x", 3);
  json_put(j, at, (size_t)(digits + sizeof digits - at));
  json_put(j, "\"", 1);
}
