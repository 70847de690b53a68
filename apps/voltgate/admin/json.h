/* json.h: a writer of JSON (RFC 8259). It puts the commas, and escapes each string: bytes that are
 * no UTF-8 become U+FFFD, and neither quotes, control characters nor what means something in HTML
 * is left as it is.
 *
 *   struct json j = {.to = &output};
 *   json_put_object(&j, NULL);
 *   json_put_string(&j, "gate", name);
 *   json_put_array(&j, "listen");
 *   json_put_string(&j, NULL, "127.0.0.1:6432");
 *   json_end_array(&j);
 *   json_end_object(&j);
 *
 * key: of a member of an object, written as it is; NULL for an element of an array, and for the
 * outermost value. */
#ifndef VOLTGATE_ADMIN_JSON_H
#define VOLTGATE_ADMIN_JSON_H

#include "admin/output.h"

struct json {
  struct output *to;
  bool needs_comma;
};

void json_put_object(struct json *j, const char *key);
void json_end_object(struct json *j);
void json_put_array(struct json *j, const char *key);
void json_end_array(struct json *j);
void json_put_string(struct json *j, const char *key, const char *value);
void json_put_number(struct json *j, const char *key, uint64_t value);
void json_put_seconds(struct json *j, const char *key, uint64_t ns);
void json_put_true(struct json *j, const char *key);
void json_put_false(struct json *j, const char *key);
void json_put_null(struct json *j, const char *key);

static inline void json_put_condition(struct json *j, const char *key, bool value) {
  (value ? json_put_true : json_put_false)(j, key);
}

#endif
