/* json_text.h: a character of UTF-8, and how it stands in a string of JSON. voltgate writes JSON with
 * this, too (apps/common/json_text.h), so it needs nothing of volt. */
#ifndef VOLT_SIGHT_ANSWER_JSON_TEXT_H
#define VOLT_SIGHT_ANSWER_JSON_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* The number of bytes of the UTF-8 character at the beginning of size bytes; 0: it is none.
 * What each first byte allows the second one to be (Unicode, table 3-7): no longer form than needed,
 * no surrogates, nothing above U+10FFFF. */
static inline size_t volt_json_utf8_(const char *text, size_t size) {
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

/* Whether the character, of so many bytes, is a control character (also of two bytes). */
static inline bool volt_json_is_control_(const char *text, size_t bytes) {
  unsigned char byte = (unsigned char)*text;
  if (bytes == 2) return byte == 0xc2 && (unsigned char)text[1] < 0xa0;
  return bytes == 1 && (byte < 0x20 || byte == 0x7f);
}

/* What stands in a string for the character at the beginning of size bytes; 6 bytes, or none if it
 * stands for itself. Bytes that are no UTF-8 become U+FFFD one by one. also: bytes of ASCII that are
 * escaped, beside quotes, backslashes and control characters. Returns how many bytes it has. */
static inline size_t volt_json_escape_(const char *text, size_t size, const char *also,
                                       char escaped[7]) {
  static const char digits[] = "0123456789abcdef";
  size_t bytes = volt_json_utf8_(text, size);
  char last = text[bytes > 0 ? bytes - 1 : 0];
  *escaped = '\0';
  if (bytes == 0) {
    memcpy(escaped, "\\ufffd", 7);
    return 1;
  }
  if (volt_json_is_control_(text, bytes) ||
      (bytes == 1 && (last == '"' || last == '\\' || strchr(also, last)))) {
    memcpy(escaped, "\\u00", 4);
    escaped[4] = digits[(unsigned char)last >> 4];
    escaped[5] = digits[last & 15];
    escaped[6] = '\0';
  }
  return bytes;
}

#endif
