/* log_text.c: a line of a log, as logfmt or as a JSON object. */
#define _GNU_SOURCE /* strnlen */
#include "process/log_text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/json_text.h"

enum { KEPT = 4 }; /* bytes kept back: a value's quote, the object's end, the line's */

static bool log_text_has_room(const struct log_text *t, size_t size) {
  return t->size + size + KEPT <= LOG_TEXT_MAX;
}

/* Adds all of it or nothing. */
static void log_text_put(struct log_text *t, const char *at, size_t size) {
  if (t->is_cut || !log_text_has_room(t, size)) {
    t->is_cut = true;
    return;
  }
  memcpy(t->at + t->size, at, size);
  t->size += size;
}

__attribute__((format(printf, 2, 3))) static void log_text_put_format(struct log_text *t,
                                                                      const char *format, ...) {
  char text[160];
  va_list list;
  va_start(list, format);
  int n = vsnprintf(text, sizeof text, format, list);
  va_end(list);
  if (n > 0) log_text_put(t, text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}

/* ---- escapes ---- */

/* Adds the character there, escaped. Returns the size of what it was. */
static size_t log_text_put_character(struct log_text *t, const char *from) {
  static const char signs[] = "\"\\\n\r\t", letters[] = "\"\\nrt";
  const char *sign = strchr(signs, *from);
  char escaped[7] = {'\\', sign ? letters[sign - signs] : 0};
  size_t size = sign ? 1 : volt_json_escape_(from, strnlen(from, 4), "", escaped);
  log_text_put(t, *escaped ? escaped : from, *escaped ? strlen(escaped) : size);
  return size;
}

static void log_text_put_escaped(struct log_text *t, const char *value) {
  while (*value != 0 && !t->is_cut) value += log_text_put_character(t, value);
}

/* Whether logfmt needs no quotes. */
static bool log_text_is_plain(const char *value) {
  for (const char *p = value; *p != 0; p++) {
    if (*p <= ' ' || *p > '~' || *p == '"' || *p == '=' || *p == '\\') return false;
  }
  return *value != 0;
}

/* ---- fields ---- */

static void log_text_put_key(struct log_text *t, const char *key) {
  if (t->format == LOG_JSON) {
    log_text_put_format(t, "%s\"%s\":", t->size > 1 ? "," : "", key);
  } else {
    log_text_put_format(t, "%s%s=", t->size > 0 ? " " : "", key);
  }
}

void log_text_string(struct log_text *t, const char *key, const char *value, const char *more) {
  bool is_quoted = t->format == LOG_JSON || !log_text_is_plain(value) ||
                   (more != NULL && !log_text_is_plain(more));
  size_t before = t->size;
  if (t->is_cut) return;
  log_text_put_key(t, key);
  if (is_quoted) log_text_put(t, "\"", 1);
  if (t->is_cut) {
    t->size = before; /* not half a field */
    return;
  }
  log_text_put_escaped(t, value);
  if (more != NULL) {
    log_text_put(t, ":", 1);
    log_text_put_escaped(t, more);
  }
  if (is_quoted) t->at[t->size++] = '"'; /* its room was kept */
}

/* Adds a number whose text has no room in whole or not at all. */
static void log_text_put_number(struct log_text *t, const char *key, const char *digits) {
  size_t before = t->size;
  if (t->is_cut) return;
  log_text_put_key(t, key);
  log_text_put(t, digits, strlen(digits));
  if (t->is_cut) t->size = before;
}

void log_text_number(struct log_text *t, const char *key, uint64_t value) {
  char digits[24];
  snprintf(digits, sizeof digits, "%" PRIu64, value);
  log_text_put_number(t, key, digits);
}

void log_text_thousandths(struct log_text *t, const char *key, uint64_t thousandths) {
  char digits[32];
  int n = snprintf(digits, sizeof digits, "%" PRIu64 ".%03u", thousandths / 1000,
                   (unsigned)(thousandths % 1000));
  while (digits[n - 1] == '0') digits[--n] = 0;
  if (digits[n - 1] == '.') digits[--n] = 0;
  log_text_put_number(t, key, digits);
}

/* ---- the line ---- */

/* A date of the civil calendar, from days since 1970, as Howard Hinnant's algorithms count them.
 * The C library's gmtime_r() takes a lock. */
static void log_text_put_time(struct log_text *t, uint64_t ns) {
  uint64_t seconds = ns / 1000000000, shifted = seconds / 86400 + 719468;
  uint64_t era = shifted / 146097, day_of_era = shifted % 146097;
  uint64_t year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  uint64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  uint64_t from_march = (5 * day_of_year + 2) / 153;
  uint64_t day = day_of_year - (153 * from_march + 2) / 5 + 1;
  uint64_t month = from_march < 10 ? from_march + 3 : from_march - 9;
  uint64_t year = year_of_era + era * 400 + (month <= 2);
  log_text_put_format(t, "%04u-%02u-%02uT%02u:%02u:%02u.%03uZ", (unsigned)year, (unsigned)month,
                      (unsigned)day, (unsigned)(seconds % 86400 / 3600),
                      (unsigned)(seconds % 3600 / 60), (unsigned)(seconds % 60),
                      (unsigned)(ns / 1000000 % 1000));
}

void log_text_begin(struct log_text *t, enum log_format format, uint64_t ns) {
  t->format = format;
  t->size = 0;
  t->is_cut = false;
  if (format == LOG_JSON) log_text_put(t, "{", 1);
  log_text_put_key(t, "time");
  if (format == LOG_JSON) log_text_put(t, "\"", 1);
  log_text_put_time(t, ns);
  if (format == LOG_JSON) log_text_put(t, "\"", 1);
}

void log_text_end(struct log_text *t) {
  if (t->format == LOG_JSON) t->at[t->size++] = '}';
  t->at[t->size++] = '\n';
}
