/* log_text.h: a line of a log, as logfmt or as a JSON object. */
#ifndef VOLTGATE_PROCESS_LOG_TEXT_H
#define VOLTGATE_PROCESS_LOG_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/settings.h"

enum { LOG_TEXT_MAX = 4096 }; /* bytes of a line, with its end */

/* A line that is being written. A value that has no room is cut, fields behind it are left out, and
 * what is written is a whole line all the same. */
struct log_text {
  enum log_format format;
  size_t size;
  bool is_cut;
  char at[LOG_TEXT_MAX];
};

/* Begin with the time. ns: since 1970, of CLOCK_REALTIME. */
void log_text_begin(struct log_text *t, enum log_format format, uint64_t ns);

/* Add a field. Control characters, quotes and backslashes are escaped, bytes that are no UTF-8
 * become U+FFFD; logfmt quotes what is not plain. more: put behind value and a colon, or NULL. */
void log_text_string(struct log_text *t, const char *key, const char *value, const char *more);
void log_text_number(struct log_text *t, const char *key, uint64_t value);

/* A number with three decimals at most: thousandths of the unit. */
void log_text_thousandths(struct log_text *t, const char *key, uint64_t thousandths);

/* End the line. t->at has t->size bytes. */
void log_text_end(struct log_text *t);

#endif
