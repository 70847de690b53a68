/* console.h: standard error, shared by all threads under a volt mutex.
 *
 * Lines, and on a terminal a bar below them: a line erases the bar before it is printed, the next
 * console_bar() draws it again. The list of sums does not go this way but to standard output. */
#ifndef COMMON_CONSOLE_H
#define COMMON_CONSOLE_H

#include <volt/volt.h>

struct console {
  volt_mutex lock;      /* around the stream and the rest */
  bool terminal;        /* a bar is possible; does not change */
  bool bar;             /* one is on the screen */
  uint64_t complaints;  /* so far */
  unsigned progress_ms; /* how often progress is shown; 0: as progress.h says. Does not change */
};

void console_init(struct console *console);

/* Print the name of the program, ": ..." and a newline. */
void console_print(struct console *console, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The same for "path: text". Control characters and backslashes in the path are printed as
 * octal escapes. console_complain() counts it as an error, console_mention() does not. */
void console_mention(struct console *console, const char *path, const char *text);
void console_complain(struct console *console, const char *path, const char *text);

/* The path as it is printed by these two: for other messages. From malloc(). */
char *console_printable(const char *path);

/* Replace the bar by text, which must be shorter than console_width(). An empty text erases it.
 * Only on a terminal. */
void console_bar(struct console *console, const char *text);

/* Columns of the terminal. */
unsigned console_width(void);

/* How often console_complain() was called. */
uint64_t console_complaints(struct console *console);

void console_destroy(struct console *console);

#endif
