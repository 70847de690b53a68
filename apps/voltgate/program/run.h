/* run.h: what main, start and the main thread have between them. */
#ifndef VOLTGATE_PROGRAM_RUN_H
#define VOLTGATE_PROGRAM_RUN_H

#include "program/listener.h"
#include "program/program.h"

/* Block the signals that the main thread waits for; ignore SIGPIPE. Before there are threads. */
int program_block_signals(void);

/* Serve until it has been drained. The main thread. */
int program_serve(struct program *p);

/* All but its runtime and its sites; settings become the program's. */
void program_init(struct program *p, struct settings *settings);
void program_destroy(struct program *p);

/* A listener that is open: for a process that takes over. */
struct program_listener {
  const char *gate;    /* its name */
  const char *text;    /* its address, as configured */
  const char *address; /* and as it is */
  int number;          /* the socket: to be passed on, not to be closed */
};

/* Call visit for each, under a lock. Any thread. */
void program_each_listener(struct program *p,
                           void (*visit)(void *arg, const struct program_listener *l), void *arg);

/* Unix sockets stay where they are when this process closes its own: another one listens there.
 * Call it before program_drain(). Any thread. */
void program_keep_paths(struct program *p);

#endif
