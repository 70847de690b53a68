/* screen.h: lines of text for a terminal, cut to its width. */
#ifndef VOLTGATE_ADMIN_SCREEN_H
#define VOLTGATE_ADMIN_SCREEN_H

#include <stdbool.h>
#include <stdint.h>

#include "admin/output.h"

enum screen_style {
  SCREEN_PLAIN,
  SCREEN_BOLD,
  SCREEN_SOFT,
  SCREEN_CHOSEN,
  SCREEN_WARN,
  SCREEN_BAD
};

struct screen {
  struct output *to;
  unsigned width, height;
  bool is_terminal; /* with colours, and lines that end where the terminal's do */
  bool is_utf8;
  unsigned row, column; /* of what comes next */
  enum screen_style style;
};

void screen_begin(struct screen *s);
void screen_style(struct screen *s, enum screen_style style);

/* Write text in so many columns: cut, or filled up with spaces; 0: as many as it takes. Characters
 * that cannot be shown, those that mean something to a terminal among them, become '?'. */
void screen_left(struct screen *s, unsigned columns, const char *text);
void screen_right(struct screen *s, unsigned columns, const char *text);

/* The end of a line. */
void screen_line(struct screen *s);
unsigned screen_lines_left(const struct screen *s);
void screen_end(struct screen *s);

/* ---- numbers as a person reads them; to: 32 bytes. They return to ---- */

const char *screen_time(char to[32], double seconds);
const char *screen_number(char to[32], double number);
const char *screen_bytes(char to[32], double bytes);

/* A row of bars, one column each, as high as values are of the highest. */
void screen_bars(struct screen *s, const double *values, size_t count, double most);

#endif
