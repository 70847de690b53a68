/* program.h: what all rooms of voltgate share. */
#ifndef VOLTGATE_PROGRAM_H
#define VOLTGATE_PROGRAM_H

#include <volt/runtime.h>
#include <volt/semaphore.h>
#include <volt/token.h>

#include "config/settings.h"

struct gate;

#define VOLTGATE_VERSION "1.0"

/* The gates that run: an array that is replaced by a reload, under a lock. */
struct program {
  volt_rt *rt;
  int argc;
  char *const *argv;
  _Atomic(const struct settings *) settings;
  uint64_t began_ns;
  volt_token stop; /* cancelled: end at once */
  atomic_bool is_draining;
  volt_sem descriptors; /* that clients may take: accept waits for them */
  /* ... the owner of main.c adds what it needs */
};

/* Call visit for each gate, in the order of the configuration. Any thread. */
void program_each_gate(struct program *p, void (*visit)(void *arg, struct gate *g), void *arg);

/* The gate of that name, or NULL. It stays until the program ends. */
struct gate *program_gate(struct program *p, const char *name);

/* Read the configuration again. Returns NULL, or what is wrong: words that the caller frees. May
 * block: call it on the blocking pool. */
char *program_reload(struct program *p);

/* Stop accepting, let who is here finish, then end. A second call does nothing. Any thread. */
void program_drain(struct program *p);

#endif
