/* console.c: standard error, shared by all threads. */
#define _GNU_SOURCE
#include "common/console.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/program.h"

#define ERASE_LINE "\r\033[K"

void console_init(struct console *console) {
  const char *term = getenv("TERM");
  bool capable = term != NULL && strcmp(term, "dumb") != 0;
  *console = (struct console){.terminal = capable && isatty(STDERR_FILENO)};
  volt_mutex_init(&console->lock);
}

/* With the lock held. */
static void erase_bar(struct console *console) {
  if (console->bar) fputs(ERASE_LINE, stderr);
  console->bar = false;
}

void console_print(struct console *console, const char *format, ...) {
  va_list args;
  va_start(args, format);
  volt_mutex_lock(&console->lock);
  erase_bar(console);
  fprintf(stderr, "%s: ", program_invocation_short_name);
  vfprintf(stderr, format, args);
  fputc('\n', stderr);
  volt_mutex_unlock(&console->lock);
  va_end(args);
}

/* A name may contain anything, a terminal's control sequences and newlines included. */
char *console_printable(const char *path) {
  char *text = must_allocate(4 * strlen(path) + 1, 1);
  char *to = text;
  for (const unsigned char *from = (const unsigned char *)path; *from != 0; from++) {
    if (*from < ' ' || *from == 0x7f || *from == '\\') {
      to += sprintf(to, "\\%03o", *from);
    } else {
      *to++ = (char)*from;
    }
  }
  *to = '\0';
  return text;
}

void console_mention(struct console *console, const char *path, const char *text) {
  char *name = console_printable(path);
  console_print(console, "%s: %s", name, text);
  free(name);
}

void console_complain(struct console *console, const char *path, const char *text) {
  volt_mutex_lock(&console->lock);
  console->complaints += 1;
  volt_mutex_unlock(&console->lock);
  console_mention(console, path, text);
}

void console_bar(struct console *console, const char *text) {
  if (!console->terminal) return;
  volt_mutex_lock(&console->lock);
  fprintf(stderr, ERASE_LINE "%s", text);
  console->bar = text[0] != '\0';
  volt_mutex_unlock(&console->lock);
}

unsigned console_width(void) {
  struct winsize size;
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

uint64_t console_complaints(struct console *console) {
  volt_mutex_lock(&console->lock);
  uint64_t complaints = console->complaints;
  volt_mutex_unlock(&console->lock);
  return complaints;
}

void console_destroy(struct console *console) {
  volt_mutex_destroy(&console->lock);
}
