/* program.c: memory or the end of the program, numbers on the command line, and Ctrl-C. */
#define _GNU_SOURCE
#include "common/program.h"

#include <ctype.h>
#include <errno.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- memory, or the end ---- */

void fatal(const char *format, ...) {
  va_list args;
  va_start(args, format);
  fprintf(stderr, "%s: ", program_invocation_short_name);
  vfprintf(stderr, format, args);
  fputc('\n', stderr);
  va_end(args);
  _exit(EXIT_FAILURE); /* not exit(): other threads are still at work on what it would tear down */
}

void memory_begin(void) {
#ifdef M_ARENA_MAX
  mallopt(M_ARENA_MAX, 1);
#endif
}

void *must_allocate(size_t count, size_t size_bytes) {
  void *memory = calloc(count > 0 ? count : 1, size_bytes);
  if (memory == NULL) fatal("out of memory");
  return memory;
}

void *must_make_room(void *array, size_t used, size_t *capacity, size_t size_bytes) {
  if (used < *capacity) return array;
  if (used > SIZE_MAX / 2 / size_bytes) fatal("out of memory");
  size_t larger = used < 32 ? 64 : used * 2;
  array = realloc(array, larger * size_bytes);
  if (array == NULL) fatal("out of memory");
  *capacity = larger;
  return array;
}

char *must_copy(const char *text) {
  size_t bytes = strlen(text) + 1;
  char *copy = must_allocate(bytes, 1);
  memcpy(copy, text, bytes);
  return copy;
}

char *must_join(const char *directory, const char *name) {
  size_t front = strlen(directory);
  size_t back = strlen(name);
  size_t slash = front > 0 && directory[front - 1] != '/';
  char *path = must_allocate(front + slash + back + 1, 1);
  memcpy(path, directory, front);
  if (slash) path[front] = '/';
  memcpy(path + front + slash, name, back);
  return path;
}

/* ---- numbers ---- */

bool number_parse(const char *option, const char *text, unsigned max, unsigned *number) {
  char *end;
  errno = 0;
  unsigned long value = strtoul(text, &end, 10);
  if (isdigit((unsigned char)text[0]) && *end == '\0' && errno == 0 && value >= 1 && value <= max) {
    *number = (unsigned)value;
    return true;
  }
  fprintf(stderr, "%s: --%s wants a number from 1 to %u, not '%s'\n", program_invocation_short_name,
          option, max, text);
  return false;
}

/* ---- signals ---- */

static void *watch(void *ctx) {
  struct signals *signals = ctx;
  for (;;) {
    int signal = sigwaitinfo(&signals->watched, NULL);
    if (signal < 0) continue; /* EINTR */
    if (volt_sem_try_acquire(&signals->ended, 1) == VOLT_OK) return NULL;
    if (signals->caught != 0) _exit(128 + signal);
    signals->caught = signal;
    signals->stop(signals->ctx, signal);
  }
}

void signals_watch(struct signals *signals, void (*stop)(void *ctx, int signal), void *ctx) {
  *signals = (struct signals){.stop = stop, .ctx = ctx};
  volt_sem_init(&signals->ended, 0);
  sigemptyset(&signals->watched);
  sigaddset(&signals->watched, SIGINT);
  sigaddset(&signals->watched, SIGTERM);
  signal(SIGINT, SIG_DFL); /* a shell starts background jobs with SIGINT ignored */
  signal(SIGTERM, SIG_DFL);
  pthread_sigmask(SIG_BLOCK, &signals->watched, &signals->mask_before);
  int error = pthread_create(&signals->thread, NULL, watch, signals);
  if (error != 0) fatal("cannot start a thread: %s", strerror(error));
}

int signals_unwatch(struct signals *signals) {
  volt_sem_release(&signals->ended, 1);
  pthread_kill(signals->thread, SIGTERM); /* to look at it; one from outside does as well */
  pthread_join(signals->thread, NULL);
  volt_sem_destroy(&signals->ended);
  pthread_sigmask(SIG_SETMASK, &signals->mask_before, NULL);
  return signals->caught;
}
