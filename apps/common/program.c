/* program.c: program.h. */
#define _GNU_SOURCE
#include "common/program.h"

#include <errno.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- complaints ---- */

static void print_line(const char *format, va_list args) {
  flockfile(stderr);
  fprintf(stderr, "%s: ", program_invocation_short_name);
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

/* ---- memory, or the end ---- */

void fatal(const char *format, ...) {
  va_list args;
  va_start(args, format);
  print_line(format, args);
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

void *make_room(void *array, size_t used, size_t *capacity, size_t size_bytes) {
  if (used < *capacity) return array;
  if (used > SIZE_MAX / 2 / size_bytes) return NULL;
  size_t larger = used < 4 ? 8 : used * 2;
  array = realloc(array, larger * size_bytes);
  if (array != NULL) *capacity = larger;
  return array;
}

void *must_make_room(void *array, size_t used, size_t *capacity, size_t size_bytes) {
  array = make_room(array, used, capacity, size_bytes);
  if (array == NULL) fatal("out of memory");
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
