/* json.c: a writer of JSON. */
#include "admin/json.h"

#include "common/utf8.h"

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
    size_t bytes = utf8_size(value, left);
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
