/* ini.c: ini.h.
 *
 * libinih splits a line into key and value, without comments. It is given line after line by a
 * reader of ours, which counts them (whether libinih does depends on how it was built), and looks
 * after what libinih passes over in silence: lines and section names that it would cut, sections
 * without keys, errors after the first one. Indented lines are keys, not continuations. */
#include "config/ini.h"

#include <ini.h>
#include <stdbool.h>
#include <string.h>

struct ini_reading {
  const struct ini_hearer *hearer;
  FILE *in;
  size_t bytes;
  unsigned line;
  bool expects_pair; /* of the line that was read last */
};

static void ini_say_wrong(struct ini_reading *r, const char *words) {
  r->hearer->wrong(r->hearer->arg, r->line, words);
}

#if INI_HANDLER_LINENO
#define INI_LINE , __attribute__((unused)) int line
#else
#define INI_LINE
#endif
static int ini_hear_pair(void *arg, const char *section, const char *key,
                         const char *value INI_LINE) {
  struct ini_reading *r = arg;
  (void)section;
  r->expects_pair = false;
  r->hearer->pair(r->hearer->arg, r->line, key, value);
  return 1;
}

enum line_end { LINE_READ, LINE_CUT, LINE_HAS_NUL, LINE_NONE };

/* Read one line without its indentation and its newline. */
static enum line_end ini_read_line(struct ini_reading *r, char *to, size_t room) {
  enum line_end end = LINE_READ;
  size_t length = 0;
  int c = EOF;
  bool is_indented = true, is_any = false;
  while (r->bytes < INI_FILE_MOST && (c = getc(r->in)) != EOF) {
    r->bytes++;
    is_any = true;
    if (c == '\n') break;
    is_indented &= c == ' ' || c == '\t';
    if (is_indented) continue;
    if (c == '\0') end = LINE_HAS_NUL;
    if (length + 1 < room) {
      to[length++] = (char)c;
    } else if (end == LINE_READ && c != '\r') {
      end = LINE_CUT;
    }
  }
  to[length] = '\0';
  return is_any ? end : LINE_NONE;
}

static void ini_hear_section(struct ini_reading *r, char *text) {
  char *end = strchr(text, ']');
  if (end == NULL) {
    ini_say_wrong(r, "a section has no ']' at its end");
    return;
  }
  const char *rest = end + 1 + strspn(end + 1, " \t\r");
  if (*rest != '\0' && *rest != ';' && *rest != '#') {
    ini_say_wrong(r, "there is something behind the section's ']'");
    return;
  }
  *end = '\0';
  r->hearer->section(r->hearer->arg, r->line, text + 1);
}

static void ini_expect_pair_no_more(struct ini_reading *r) {
  if (r->expects_pair) ini_say_wrong(r, "want a line KEY = VALUE, [SECTION], or ; COMMENT");
  r->expects_pair = false;
}

/* As fgets(), for libinih. What is no pair is an empty line to it. */
static char *ini_next_line(char *to, int room, void *stream) {
  struct ini_reading *r = stream;
  ini_expect_pair_no_more(r);
  enum line_end end = ini_read_line(r, to, (size_t)room);
  if (end == LINE_NONE) return NULL;
  r->line++;
  char *text = to;
  if (r->line == 1 && strncmp(text, "\xEF\xBB\xBF", 3) == 0) {
    memmove(text, text + 3, strlen(text + 3) + 1);
  }
  bool is_comment = *text == ';' || *text == '#';
  if (end == LINE_HAS_NUL) {
    ini_say_wrong(r, "there is a byte 0");
  } else if (end == LINE_CUT && !is_comment) {
    char words[80];
    snprintf(words, sizeof words, "a line has at most %d bytes", room - 1);
    ini_say_wrong(r, words);
  } else if (*text == '[') {
    ini_hear_section(r, text);
  } else if (!is_comment && *text != '\0' && strcmp(text, "\r") != 0) {
    r->expects_pair = true;
    return to;
  }
  *to = '\0';
  return to;
}

void ini_read(FILE *in, const struct ini_hearer *hearer) {
  struct ini_reading r = {.hearer = hearer, .in = in};
  int result = ini_parse_stream(ini_next_line, &r, ini_hear_pair, &r);
  ini_expect_pair_no_more(&r);
  if (result == -2) ini_say_wrong(&r, "no memory");
  if (ferror(in)) ini_say_wrong(&r, "it cannot be read on");
  if (r.bytes == INI_FILE_MOST && getc(in) != EOF)
    ini_say_wrong(&r, "the file is larger than 1 MiB");
}
