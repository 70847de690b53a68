/* site.h: a gate with its listeners and its sessions. All but the gate is changed by one thread at a
 * time: the one that holds program->control. */
#ifndef VOLTGATE_PROGRAM_SITE_H
#define VOLTGATE_PROGRAM_SITE_H

#include "gate/gate.h"
#include "program/listener.h"

struct site {
  struct gate gate;
  struct site *next; /* under program->lock */
  struct program *program;
  volt_group sessions, acceptors;
  struct listener **listeners; /* under program->lock, too, because others look at them */
  size_t listener_count;
  bool is_paused; /* it accepts no more, until site_accept() */
  bool is_ending; /* it drains, with the program or because it is not configured any more */
  bool is_gone;   /* it is not configured any more; under program->lock, like the next */
  bool is_cut;    /* a handover has ended its sessions */
  bool is_over;   /* and all its sessions have ended */
};

static inline struct site *site_of(struct gate *g) {
  return volt_container_of(g, struct site, gate);
}

/* Listeners that are open and not in use yet. */
struct listener_set {
  struct listener **all;
  size_t count;
};

/* Open all that the gate's settings name. kept: listeners that stay, by their text, or NULL: those
 * are not opened. Returns NULL, or what is wrong: words that the caller frees; then nothing is
 * open. */
char *site_open(struct listener_set *out, volt_rt *rt, const struct gate_settings *settings,
                const struct site *kept, struct inheritance *from);
void listener_set_close(struct listener_set *set);

/* Make a site that has these listeners and certificates; *set and *certificates are emptied. Returns NULL:
 * no memory; then the caller has what it had. */
struct site *site_new(struct program *p, const struct gate_settings *settings,
                      struct listener_set *set, struct certificates *certificates);

/* Begin to accept at each listener that is not accepting yet; say where. Returns VOLT_OK, or what
 * failed. */
int site_accept(struct site *s);

/* Other listeners: those that it has and that the settings name stay. *opened, what site_open() has
 * opened, is emptied. They accept, unless it is paused. */
int site_rebind(struct site *s, const struct gate_settings *settings, struct listener_set *opened);

/* Accept no more; site_accept() begins again. The sockets of listeners that are kept stay open, and
 * the path of a unix socket stays for good; the others are closed. */
typedef bool site_is_kept(void *arg, const struct site *s, const struct listener *l);
void site_pause(struct site *s, site_is_kept *is_kept, void *arg);

/* Whether there are descriptors to keep the sockets open while it is paused. */
bool site_can_pause(struct site *s);

/* Close the listeners; let sessions finish until drain-timeout, then end them. Only once. */
void site_end(struct site *s);

/* End all sessions now. */
void site_stop(struct site *s);

/* Nothing of it is under way. */
void site_free(struct site *s);

#endif
