/* screen.c: lines of text for a terminal. */
#define _GNU_SOURCE
#include "admin/screen.h"

#include <stdio.h>
#include <wchar.h>
#include <wctype.h>

/* ---- text ---- */

/* How many bytes the next character has, and how many columns; columns 0: it is not shown. */
static size_t screen_next_character(const struct screen *s, const char *text, unsigned *columns) {
  unsigned char byte = (unsigned char)*text;
  *columns = byte >= ' ' && byte < 127;
  if (byte < 128 || !s->is_utf8) return 1;
  wchar_t wide;
  mbstate_t state = {0};
  size_t size = mbrtowc(&wide, text, strlen(text), &state);
  if (size == 0 || size > 4) return 1;
  int width = iswprint((wint_t)wide) ? wcwidth(wide) : -1;
  *columns = width > 0 ? (unsigned)width : 0;
  return size;
}

static unsigned screen_columns_of(const struct screen *s, const char *text) {
  unsigned all = 0;
  while (*text != '\0') {
    unsigned columns;
    text += screen_next_character(s, text, &columns);
    all += columns > 0 ? columns : 1;
  }
  return all;
}

static void screen_put_spaces(struct screen *s, unsigned count) {
  if (screen_lines_left(s) == 0) return;
  for (; count > 0 && s->column < s->width; count--, s->column++) OUTPUT(s->to, " ");
}

/* At most so many columns, and none behind the edge. */
static void screen_put(struct screen *s, unsigned most, const char *text) {
  while (*text != '\0' && screen_lines_left(s) > 0) {
    unsigned columns;
    size_t size = screen_next_character(s, text, &columns);
    unsigned wanted = columns > 0 ? columns : 1;
    if (wanted > most || s->column + wanted > s->width) return;
    if (columns > 0) {
      output_bytes(s->to, text, size);
    } else {
      OUTPUT(s->to, "?");
    }
    s->column += wanted;
    most -= wanted;
    text += size;
  }
}

void screen_left(struct screen *s, unsigned columns, const char *text) {
  unsigned end = s->column + columns;
  screen_put(s, columns > 0 ? columns : s->width, text);
  if (columns > 0 && end > s->column) screen_put_spaces(s, end - s->column);
}

void screen_right(struct screen *s, unsigned columns, const char *text) {
  unsigned wanted = screen_columns_of(s, text);
  if (wanted < columns) screen_put_spaces(s, columns - wanted);
  screen_put(s, columns, text);
}

/* ---- lines ---- */

void screen_style(struct screen *s, enum screen_style style) {
  static const char *const codes[] = {
      [SCREEN_PLAIN] = "\x1b[0m",    [SCREEN_BOLD] = "\x1b[0;1m",  [SCREEN_SOFT] = "\x1b[0;2m",
      [SCREEN_CHOSEN] = "\x1b[0;7m", [SCREEN_WARN] = "\x1b[0;33m", [SCREEN_BAD] = "\x1b[0;31m"};
  if (s->is_terminal && style != s->style) output_string(s->to, codes[style]);
  s->style = style;
}

void screen_begin(struct screen *s) {
  s->row = s->column = 0;
  s->style = SCREEN_PLAIN;
  if (s->is_terminal) OUTPUT(s->to, "\x1b[H\x1b[0m");
}

unsigned screen_lines_left(const struct screen *s) {
  if (!s->is_terminal) return 1000000;
  return s->height > s->row ? s->height - s->row : 0;
}

/* The last line of a terminal has no end: the screen would move. */
void screen_line(struct screen *s) {
  if (screen_lines_left(s) == 0) return; /* below the edge */
  if (s->style == SCREEN_CHOSEN) screen_put_spaces(s, s->width);
  screen_style(s, SCREEN_PLAIN);
  if (s->is_terminal) OUTPUT(s->to, "\x1b[K");
  if (s->is_terminal && screen_lines_left(s) > 1) OUTPUT(s->to, "\r");
  if (screen_lines_left(s) > 1) OUTPUT(s->to, "\n");
  s->row++;
  s->column = 0;
}

void screen_end(struct screen *s) {
  if (s->is_terminal && screen_lines_left(s) > 0) OUTPUT(s->to, "\x1b[J");
}

/* ---- numbers ---- */

static const char *screen_with_unit(char to[32], double value, const char *unit) {
  snprintf(to, 32, value < 9.995 ? "%.2f%s" : value < 99.95 ? "%.1f%s" : "%.0f%s", value, unit);
  return to;
}

const char *screen_time(char to[32], double seconds) {
  if (!(seconds > 0)) return strcpy(to, "-");
  if (seconds < 0.0009995) {
    snprintf(to, 32, "%.0fus", seconds * 1e6);
    return to;
  }
  if (seconds < 0.9995) return screen_with_unit(to, seconds * 1e3, "ms");
  if (seconds < 120) return screen_with_unit(to, seconds, "s");
  return seconds < 7200 ? screen_with_unit(to, seconds / 60, "min")
                        : screen_with_unit(to, seconds / 3600, "h");
}

const char *screen_number(char to[32], double number) {
  if (number < 9999.5) {
    snprintf(to, 32,
             number > 0 && number < 9.95 && number != (double)(long)number ? "%.1f" : "%.0f",
             number);
    return to;
  }
  if (number < 9.995e6) return screen_with_unit(to, number / 1e3, "k");
  return number < 9.995e9 ? screen_with_unit(to, number / 1e6, "M")
                          : screen_with_unit(to, number / 1e9, "G");
}

const char *screen_bytes(char to[32], double bytes) {
  if (bytes < 999.5) return screen_with_unit(to, bytes, "B");
  if (bytes < 999.5e3) return screen_with_unit(to, bytes / 1e3, "kB");
  return bytes < 999.5e6 ? screen_with_unit(to, bytes / 1e6, "MB")
                         : screen_with_unit(to, bytes / 1e9, "GB");
}

void screen_bars(struct screen *s, const double *values, size_t count, double most) {
  static const char *const blocks[] = {" ",
                                       "\xe2\x96\x81",
                                       "\xe2\x96\x82",
                                       "\xe2\x96\x83",
                                       "\xe2\x96\x84",
                                       "\xe2\x96\x85",
                                       "\xe2\x96\x86",
                                       "\xe2\x96\x87",
                                       "\xe2\x96\x88"};
  static const char *const letters[] = {" ", ".", ":", "-", "=", "+", "*", "#", "@"};
  for (size_t i = 0; i < count; i++) {
    int height = most > 0 ? (int)(values[i] / most * 8 + 0.5) : 0;
    if (values[i] > 0 && height == 0) height = 1; /* there is something */
    if (height > 8) height = 8;
    screen_put(s, 1, s->is_utf8 ? blocks[height] : letters[height]);
  }
}
