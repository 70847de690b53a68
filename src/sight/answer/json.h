/* json.h: JSON (RFC 8259) as volt-top and the server of volt_sight_serve() speak it: a line is one
 * object, its members are strings, numbers, true, false and null. volt-top is compiled with this,
 * too, so it needs nothing of volt.
 *
 * A writer puts whole lines into memory of the caller's, or nothing of them:
 *
 *   volt_json_ j = {.at = memory, .max = sizeof memory};
 *   volt_json_begin_(&j, "hello");
 *   volt_json_put_number_(&j, "pid", 4711);
 *   if (!volt_json_end_(&j)) ... there was no room: the line is not there
 *
 * A reader takes the members of a line one by one. Objects and arrays are passed over. */
#ifndef VOLT_SIGHT_ANSWER_JSON_H
#define VOLT_SIGHT_ANSWER_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "json_text.h"

/* The version of the protocol, the first member of every line. */
enum { VOLT_JSON_VERSION_ = 1 };

/* A string has so many bytes at most before it is escaped. */
enum { VOLT_JSON_TEXT_ = 256 };

typedef struct volt_json_ {
  char *at;
  size_t size;
  size_t max;
  size_t line;  /* where the line begins that is written */
  bool is_full; /* that line had no room */
} volt_json_;

/* A line begins: {"volt":1,"a":"what" */
void volt_json_begin_(volt_json_ *j, const char *what);

/* It ends. Returns false: there is no room for it, and nothing of it was written. */
bool volt_json_end_(volt_json_ *j);

/* A member. key: written as it is. Bytes of text that are no UTF-8 become U+FFFD; control
 * characters are escaped; text NULL: the member is left out. */
void volt_json_put_text_(volt_json_ *j, const char *key, const char *text);
void volt_json_put_bytes_(volt_json_ *j, const char *key, const char *text, size_t size);
void volt_json_put_number_(volt_json_ *j, const char *key, uint64_t number);
void volt_json_put_condition_(volt_json_ *j, const char *key, bool condition);

/* An address, as a string: "0x7f21c40010c0". NULL: the member is left out. */
void volt_json_put_address_(volt_json_ *j, const char *key, const void *address);

/* ---- the reader ---- */

typedef enum volt_json_kind_ {
  VOLT_JSON_STRING_,
  VOLT_JSON_NUMBER_,
  VOLT_JSON_TRUE_,
  VOLT_JSON_FALSE_,
  VOLT_JSON_NULL_,
  VOLT_JSON_OTHER_ /* an object or an array */
} volt_json_kind_;

typedef struct volt_json_reader_ {
  const char *at;
  const char *end;
  bool has_begun;
  bool is_malformed;
} volt_json_reader_;

/* A member: parts of the line. A string is without its quotes, and escaped. */
typedef struct volt_json_member_ {
  const char *key;
  size_t key_size;
  volt_json_kind_ kind;
  const char *at;
  size_t size;
} volt_json_member_;

/* Read the next member of the object that the line is. Returns false: there are no more, or
 * r->is_malformed. Unless that is false in the end, nothing that was read counts. */
bool volt_json_next_(volt_json_reader_ *r, volt_json_member_ *m);

bool volt_json_is_(const volt_json_member_ *m, const char *key);

/* Write the text of a string to `to`, which has room for max bytes, with a 0 behind it; what has no
 * room is cut at a character. Returns false: m is no string. */
bool volt_json_text_of_(const volt_json_member_ *m, char *to, size_t max);

/* Returns false: m is no whole number from 0 to UINT64_MAX. */
bool volt_json_number_of_(const volt_json_member_ *m, uint64_t *number);

/* Returns false: m is neither true nor false. */
bool volt_json_condition_of_(const volt_json_member_ *m, bool *condition);

/* An address as volt_json_put_address_() writes it. Returns false: m is none. */
bool volt_json_address_of_(const volt_json_member_ *m, uint64_t *address);

#endif
