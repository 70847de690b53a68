/* answer_json.h: what a voltgate has answered, read with jansson. A path names members of objects
 * within each other: "last.wait_s.p99". What is not there is 0, "", or NULL. */
#ifndef VOLTGATE_ADMIN_ANSWER_JSON_H
#define VOLTGATE_ADMIN_ANSWER_JSON_H

#include <jansson.h>

/* Read an answer. Returns NULL: it is no JSON object. The caller calls json_decref(). */
json_t *answer_json(const char *bytes, size_t size);

json_t *json_at(const json_t *object, const char *path);
double json_number_at(const json_t *object, const char *path);
const char *json_text_at(const json_t *object, const char *path);

#endif
