/* program.h: what the process is, for the rooms above: handover/, admin/ and main/.
 *
 *   program.c    its gates, its settings, its state
 *   reload.c     new settings
 *   site.c       a gate with its listeners and its sessions
 *   listener.c   an address that a gate listens at
 *   budget.c     descriptors: for clients, and kept back for servers */
#ifndef VOLTGATE_PROGRAM_PROGRAM_H
#define VOLTGATE_PROGRAM_PROGRAM_H

#include <pthread.h>
#include <volt/notify.h>
#include <volt/runtime.h>
#include <volt/token.h>

#include "config/settings.h"
#include "gate/host.h"

struct admin;
struct cluster;
struct gate;
struct handover;
struct site;

/* What a process has to do with another one. */
enum handover_state {
  HANDOVER_NONE,
  HANDOVER_GIVES, /* another one accepts in its stead, until its own clients have finished */
  HANDOVER_TAKES  /* it accepts; the process before it still has clients */
};

struct program {
  volt_rt *rt;
  int argc; /* of the options: for settings_reread() */
  char *const *argv;
  _Atomic(const struct settings *) settings;
  uint64_t began_ns;
  struct gate_host host;
  atomic_bool is_draining;
  atomic_uint handing; /* enum handover_state */

  /* of this room, handover/ and main/ */
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

/* What it has to do with another process, in words, or NULL. Any thread. */
const char *program_handing_words(const struct program *p);

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

/* ---- for handover and main ---- */

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

/* Settings hold from now on; the old ones are kept until the program ends. */
void program_set_settings(struct program *p, struct settings *settings);

static inline const struct settings *program_settings(const struct program *p) {
  return atomic_load_explicit(&p->settings, memory_order_acquire);
}

#endif
