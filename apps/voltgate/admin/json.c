/* json.c: a writer of JSON. */
#include "admin/json.h"

#include "common/json_text.h"

static void json_put_name(struct json *j, const char *key) {
  if (j->needs_comma) OUTPUT(j->to, ",");
  j->needs_comma = true;
  if (key == NULL) return;
  OUTPUT(j->to, "\"");
  output_string(j->to, key);
  OUTPUT(j->to, "\":");
}

void json_put_object(struct json *j, const char *key) {
  json_put_name(j, key);
  OUTPUT(j->to, "{");
  j->needs_comma = false;
}

void json_end_object(struct json *j) {
  OUTPUT(j->to, "}");
  j->needs_comma = true;
}

void json_put_array(struct json *j, const char *key) {
  json_put_name(j, key);
  OUTPUT(j->to, "[");
  j->needs_comma = false;
}

void json_end_array(struct json *j) {
  OUTPUT(j->to, "]");
  j->needs_comma = true;
}

/* ---- strings ---- */

void json_put_string(struct json *j, const char *key, const char *value) {
  json_put_name(j, key);
  OUTPUT(j->to, "\"");
  for (size_t left = strlen(value); left > 0;) {
    char escaped[7];
    size_t bytes = volt_json_escape_(value, left, "<>&'", escaped);
    output_bytes(j->to, *escaped ? escaped : value, *escaped ? strlen(escaped) : bytes);
    value += bytes;
    left -= bytes;
  }
  OUTPUT(j->to, "\"");
}

/* ---- other values ---- */

void json_put_number(struct json *j, const char *key, uint64_t value) {
  json_put_name(j, key);
  output_number(j->to, value);
}

void json_put_seconds(struct json *j, const char *key, uint64_t ns) {
  json_put_name(j, key);
  output_seconds(j->to, ns);
}

void json_put_true(struct json *j, const char *key) {
  json_put_name(j, key);
  OUTPUT(j->to, "true");
}

void json_put_false(struct json *j, const char *key) {
  json_put_name(j, key);
  OUTPUT(j->to, "false");
}

void json_put_null(struct json *j, const char *key) {
  json_put_name(j, key);
  OUTPUT(j->to, "null");
}
