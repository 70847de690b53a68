/* program.h: what all rooms of voltgate share.
 *
 *   main.c       which command
 *   start.c      the order in which it starts: descriptors, listeners, privileges, sandbox, threads
 *   program.c    the main thread: signals, drain, end
 *   reload.c     new settings
 *   site.c       a gate with its listeners and its sessions
 *   listener.c   an address that a gate listens at
 *   budget.c     descriptors: for clients, and kept back for servers */
#ifndef VOLTGATE_PROGRAM_PROGRAM_H
#define VOLTGATE_PROGRAM_PROGRAM_H

#include <pthread.h>
#include <volt/notify.h>
#include <volt/runtime.h>
#include <volt/semaphore.h>
#include <volt/token.h>

#include "config/settings.h"

struct admin;
struct cluster;
struct gate;
struct handover;
struct site;

#define VOLTGATE_VERSION "1.0"

struct program {
  volt_rt *rt;
  int argc; /* of the options: for settings_reread() */
  char *const *argv;
  _Atomic(const struct settings *) settings;
  uint64_t began_ns;
  volt_token stop; /* cancelled: end at once */
  atomic_bool is_draining;
  atomic_uint handing;  /* enum handover_state */
  volt_sem descriptors; /* that clients may take: accept waits for them */

  /* program.c's own, and of the files beside it */
  pthread_mutex_t control; /* one reload, drain or change of listeners at a time */
  pthread_mutex_t lock;    /* of the list of sites: short */
  struct site *first;      /* in the order of the configuration; those that are gone behind them */
  volt_token drain;        /* cancelled: the main thread begins to drain */
  volt_group ends;         /* of sites that end */
  uint64_t descriptors_all;
  uint64_t descriptors_said; /* that too few clients have: it is said once */
  struct admin *admin;
  struct cluster *cluster;    /* or NULL */
  struct handover *handover;  /* or NULL */
  struct kept_settings *kept; /* all that were ever in force, the last first */
};

/* Call visit for each gate, in the order of the configuration. Any thread. */
void program_each_gate(struct program *p, void (*visit)(void *arg, struct gate *g), void *arg);

/* The gate of that name, or NULL. It stays until the program ends. */
struct gate *program_gate(struct program *p, const char *name);

/* Call visit for each address that a gate listens at: what it is, so no port of 0. Under a lock. Any
 * thread. */
void program_each_address(struct program *p, struct gate *g,
                          void (*visit)(void *arg, const char *address), void *arg);

/* Read the configuration again. Returns NULL, or what is wrong: words that the caller frees. May
 * block: call it on the blocking pool. */
char *program_reload(struct program *p);

/* Stop accepting, let the clients that are here finish, then end. A second call does nothing. Any
 * thread. */
void program_drain(struct program *p);

/* ---- for main.c ---- */

/* Run until it has been drained. argv[0] is no option. Returns the exit code. */
int program_run(int argc, char *const *argv);

/* ---- inside ---- */

/* Settings hold from now on; the old ones are kept until the program ends. */
void program_set_settings(struct program *p, struct settings *settings);

static inline const struct settings *program_settings(const struct program *p) {
  return atomic_load_explicit(&p->settings, memory_order_acquire);
}

#endif
