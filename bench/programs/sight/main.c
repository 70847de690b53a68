/* main.c: which row to run, with what; what was measured as a line of JSON. */
#define _GNU_SOURCE /* clock_gettime */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sight.h"

static const sight_case *const tables[] = {sight_scene_cases, sight_dump_cases, sight_answer_cases,
                                           sight_stall_cases};
enum { TABLES = sizeof tables / sizeof *tables };

static char said[1024] = "{";

void sight_say(const char *name, double value) {
  size_t used = strlen(said);
  int n = snprintf(said + used, sizeof said - used, "%s\"%s\": %.17g", used > 1 ? ", " : "", name,
                   value);
  sight_require(n > 0 && (size_t)n < sizeof said - used, "the line has room");
}

/* Not exit(): other threads are in the middle of their work. */
void sight_failed(const char *what) {
  fprintf(stderr, "bench-sight: not so: %s\n", what);
  _exit(1);
}

static uint64_t clock_ns(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t sight_thread_ns(void) {
  return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t sight_process_ns(void) {
  return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

static int usage(FILE *out, int status) {
  fputs("usage: bench-sight ROW [--tasks N] [--workers N] [--objects N] [--operations N]\nrows:\n",
        out);
  for (unsigned i = 0; i < TABLES; i++) {
    for (const sight_case *c = tables[i]; c->name; c++) fprintf(out, "  %s\n", c->name);
  }
  return status;
}

static const sight_case *case_named(const char *name) {
  for (unsigned i = 0; i < TABLES; i++) {
    for (const sight_case *c = tables[i]; c->name; c++) {
      if (strcmp(c->name, name) == 0) return c;
    }
  }
  return NULL;
}

static bool take_option(sight_options *o, const char *name, const char *value) {
  char *end;
  errno = 0;
  uint64_t n = strtoull(value, &end, 10);
  if (*value < '0' || *value > '9' || *end || errno || n == 0) return false;
  if (strcmp(name, "--operations") == 0) {
    o->operations = n;
    return true;
  }
  if (n > INT32_MAX) return false;
  if (strcmp(name, "--tasks") == 0) {
    o->tasks = (uint32_t)n;
  } else if (strcmp(name, "--workers") == 0) {
    o->workers = (uint32_t)n;
  } else if (strcmp(name, "--objects") == 0) {
    o->objects = (uint32_t)n;
  } else {
    return false;
  }
  return true;
}

int main(int argc, char **argv) {
  const sight_case *c = argc > 1 ? case_named(argv[1]) : NULL;
  if (!c || argc % 2 != 0) return usage(stderr, 2);
  sight_options o = c->otherwise;
  for (int i = 2; i < argc; i += 2) {
    if (!take_option(&o, argv[i], argv[i + 1])) return usage(stderr, 2);
  }
  c->run(&o);
  printf("%s}\n", said);
  return 0;
}
