/* program.h: what any program needs: memory or the end of the program, numbers on the command line,
 * and Ctrl-C.
 *
 * Nothing of volt may be called from a signal handler, so there is none: SIGINT and SIGTERM are
 * blocked in every thread, and one thread waits for them with sigwaitinfo(). It may lock, print,
 * close semaphores and cancel tasks like any other. */
#ifndef COMMON_PROGRAM_H
#define COMMON_PROGRAM_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <volt/volt.h>

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
 * array: from here, or NULL. capacity: elements there is room for, updated. Returns the array. */
void *must_make_room(void *array, size_t used, size_t *capacity, size_t size_bytes);

/* A copy of text. */
char *must_copy(const char *text);

/* "directory/name", without a second slash if the directory ends in one. */
char *must_join(const char *directory, const char *name);

/* ---- numbers on the command line ---- */

/* Read a number from 1 to max. Returns false, and says on standard error what --option wants, if
 * text is none. */
bool number_parse(const char *option, const char *text, unsigned max, unsigned *number);

/* ---- Ctrl-C and SIGTERM, taken by a thread ---- */

struct signals {
  sigset_t watched;
  sigset_t mask_before;
  void (*stop)(void *ctx, int signal);
  void *ctx;
  int caught;     /* the thread's, until it has ended */
  volt_sem ended; /* a permit: the thread has to end */
  pthread_t thread;
};

/* Call stop(ctx, signal) at the first SIGINT or SIGTERM, on a thread of its own; end the program at
 * the second. To be called before there are other threads: they inherit the signal mask. */
void signals_watch(struct signals *signals, void (*stop)(void *ctx, int signal), void *ctx);

/* Stop watching; the signals end the program again. Returns the signal that came first, or 0. */
int signals_unwatch(struct signals *signals);

#endif
