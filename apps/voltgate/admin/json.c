/* json.c: a writer of JSON. */
#include "admin/json.h"

static void begin(struct json *j, const char *key) {
  if (j->needs_comma) OUTPUT(j->to, ",");
  j->needs_comma = true;
  if (key == NULL) return;
  OUTPUT(j->to, "\"");
  output_string(j->to, key);
  OUTPUT(j->to, "\":");
}

void json_put_object(struct json *j, const char *key) {
  begin(j, key);
  OUTPUT(j->to, "{");
  j->needs_comma = false;
}

void json_end_object(struct json *j) {
  OUTPUT(j->to, "}");
  j->needs_comma = true;
}

void json_put_array(struct json *j, const char *key) {
  begin(j, key);
  OUTPUT(j->to, "[");
  j->needs_comma = false;
}

void json_end_array(struct json *j) {
  OUTPUT(j->to, "]");
  j->needs_comma = true;
}

/* ---- strings ---- */

/* What each first byte allows the second one to be (Unicode, table 3-7): no longer form than needed,
 * no surrogates, nothing above U+10FFFF. */
size_t json_utf8(const char *text, size_t size) {
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

static bool is_plain(char byte) {
  return (unsigned char)byte >= 0x20 && byte != 0x7f && strchr("\"\\<>&'", byte) == NULL;
}

static void escape(struct output *to, char byte) {
  static const char digits[] = "0123456789abcdef";
  char escaped[6] = {'\\', 'u', '0', '0', digits[(unsigned char)byte >> 4], digits[byte & 15]};
  output_bytes(to, escaped, sizeof escaped);
}

void json_put_string(struct json *j, const char *key, const char *value) {
  begin(j, key);
  OUTPUT(j->to, "\"");
  for (size_t left = strlen(value); left > 0;) {
    size_t bytes = json_utf8(value, left);
    if (bytes == 0) {
      OUTPUT(j->to, "\\ufffd");
      bytes = 1;
    } else if (bytes == 2 && *value == '\xc2' && (unsigned char)value[1] < 0xa0) {
      escape(j->to, value[1]); /* a control character of two bytes */
    } else if (bytes > 1 || is_plain(*value)) {
      output_bytes(j->to, value, bytes);
    } else {
      escape(j->to, *value);
    }
    value += bytes;
    left -= bytes;
  }
  OUTPUT(j->to, "\"");
}

/* ---- other values ---- */

void json_put_number(struct json *j, const char *key, uint64_t value) {
  begin(j, key);
  output_number(j->to, value);
}

void json_put_seconds(struct json *j, const char *key, uint64_t ns) {
  begin(j, key);
  output_seconds(j->to, ns);
}

void json_put_true(struct json *j, const char *key) {
  begin(j, key);
  OUTPUT(j->to, "true");
}

void json_put_false(struct json *j, const char *key) {
  begin(j, key);
  OUTPUT(j->to, "false");
}

void json_put_null(struct json *j, const char *key) {
  begin(j, key);
  OUTPUT(j->to, "null");
}
