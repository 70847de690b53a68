/* program.h: what any program needs: a word on standard error, and memory or the end. */
#ifndef COMMON_PROGRAM_H
#define COMMON_PROGRAM_H

#include <stddef.h>

/* Print the name of the program, ": ..." and a newline on standard error: lines of several threads do
 * not mix. Threads: any. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- memory, or the end ----
 *
 * Out of memory there is nothing better to do for these programs than to say so and to leave, so no
 * caller has to look. Threads: any. */

/* Print the name of the program, ": ..." on standard error and end the program with exit code 1, at
 * once. */
void fatal(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* To be called first. From then on malloc() and free() open no file of their own. (glibc looks into
 * /proc when it first gives back memory of a thread's arena; that file would not be counted.) */
void memory_begin(void);

/* count * size_bytes bytes, all zero. Free with free(). */
void *must_allocate(size_t count, size_t size_bytes);

/* Make room for one more element behind the first `used` of an array. Moves it like realloc().
 * array: from here, or NULL. capacity: elements there is room for, updated. Returns the array.
 * make_room() returns NULL if there is no memory: then nothing has changed. */
void *make_room(void *array, size_t used, size_t *capacity, size_t size_bytes);
void *must_make_room(void *array, size_t used, size_t *capacity, size_t size_bytes);

/* A copy of text. */
char *must_copy(const char *text);

/* "directory/name", without a second slash if the directory ends in one. */
char *must_join(const char *directory, const char *name);

#endif
