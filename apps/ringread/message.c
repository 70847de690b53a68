/* message.c: what the program says on standard error. */
#define _POSIX_C_SOURCE 200809L /* flockfile */
#include "message.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void print_line(const char *format, va_list args) {
  flockfile(stderr);
  fputs("ringread: ", stderr);
  vfprintf(stderr, format, args);
  fputc('\n', stderr);
  funlockfile(stderr);
}

void complain(const char *format, ...) {
  va_list args;
  va_start(args, format);
  print_line(format, args);
  va_end(args);
}

void fatal(const char *format, ...) {
  va_list args;
  va_start(args, format);
  print_line(format, args);
  va_end(args);
  _exit(EXIT_FAILURE); /* not exit(): other threads are still at work on what it would tear down */
}
