/* wire.h: a connection to a process that serves volt-top, or a list of those there are. */
#ifndef VOLT_TOP_WIRE_H
#define VOLT_TOP_WIRE_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "../../src/sight/answer/json.h"

enum { WIRE_LINE = 8192, WIRE_WHY = 160 };

typedef struct wire {
  int fd; /* -1: none */
  char path[128];
  size_t have;
  char in[WIRE_LINE];
  char why[WIRE_WHY];                /* why the last call has failed */
  const volatile sig_atomic_t *stop; /* NULL, or: a call gives up once it is not 0 */
} wire;

/* Gets a line of an answer, taken apart by volt_json_next_(). */
typedef void wire_line(void *ctx, const char *what, volt_json_reader_ members);

/* Connect to a socket. process: the one that must be at its other end; 0: any.
 * Returns false: w->why. */
bool wire_open(wire *w, const char *path, pid_t process);
void wire_close(wire *w);

/* The socket of a process: of its user, in one of the directories where it may be. Returns false:
 * there is none. */
bool wire_find(pid_t process, char path[128]);

/* Call fn for each process that answers, and that this user may ask. Returns how many. */
unsigned wire_list(void (*fn)(void *ctx, const char *path, pid_t process), void *ctx);

/* Ask, and give the lines of the answer to fn, but for the last. more: NULL, or gets the cursor, "" if
 * there is no more. Returns false: w->why. Waits two seconds at most. */
bool wire_ask(wire *w, const char *request, wire_line *fn, void *ctx, char more[64]);

#endif
