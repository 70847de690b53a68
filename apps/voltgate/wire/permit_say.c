/* permit_say.c: lines that a permit gate says. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "wire/permit.h"

/* The last byte is the end's. */
static size_t permits_say_room(const struct permit_text *t) {
  return sizeof t->bytes - 1 - t->size;
}

void permits_say(struct permit_text *t, const char *format, ...) {
  va_list list;
  size_t room = permits_say_room(t);
  va_start(list, format);
  int n = vsnprintf(t->bytes + t->size, room, format, list);
  va_end(list);
  if (n <= 0 || room == 0) return;
  t->size += (size_t)n < room ? (size_t)n : room - 1;
}

void permits_say_amounts(struct permit_text *t, const struct permit_amounts *a) {
  for (uint64_t i = 0; i < a->count; i++) {
    permits_say(t, " %s=%" PRIu64, a->of[i].kind, a->of[i].amount);
  }
}

void permits_say_quoted(struct permit_text *t, const char *key, const char *value) {
  size_t least = strlen(key) + sizeof " =\"\"";
  if (value[0] == '\0' || permits_say_room(t) <= least) return;
  permits_say(t, " %s=\"", key);
  for (; *value != '\0' && permits_say_room(t) > 4; value++) {
    if (*value == '"' || *value == '\\') t->bytes[t->size++] = '\\';
    t->bytes[t->size++] = *value;
  }
  t->bytes[t->size++] = '"';
}

void permits_say_end(struct permit_text *t) {
  t->bytes[t->size++] = '\n';
}
