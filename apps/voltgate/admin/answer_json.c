/* answer_json.c: what a voltgate has answered. */
#include <string.h>

#if VOLTGATE_JANSSON
#include "admin/answer_json.h"

json_t *answer_json(const char *bytes, size_t size) {
  json_t *value = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, NULL);
  if (json_is_object(value)) return value;
  json_decref(value);
  return NULL;
}

json_t *json_at(const json_t *object, const char *path) {
  const json_t *at = object;
  while (at != NULL) {
    char name[64];
    size_t size = strcspn(path, ".");
    if (size >= sizeof name) return NULL;
    memcpy(name, path, size);
    name[size] = '\0';
    at = json_object_get(at, name);
    if (path[size] == '\0') break;
    path += size + 1;
  }
  return (json_t *)at;
}

double json_number_at(const json_t *object, const char *path) {
  return json_number_value(json_at(object, path));
}

const char *json_text_at(const json_t *object, const char *path) {
  const char *text = json_string_value(json_at(object, path));
  return text != NULL ? text : "";
}
#endif
