/* state.h: what the files of this room have between them. All is the handover's thread's own; before
 * that runs, the main thread's. */
#ifndef VOLTGATE_HANDOVER_STATE_H
#define VOLTGATE_HANDOVER_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "handover/channel.h"
#include "handover/handover.h"
#include "handover/ledger.h"
#include "program/listener.h"
#include "program/program.h"

/* Permits of a gate. */
struct given {
  struct given *next;
  struct giver giver;
};
struct kept {
  struct kept *next;
  struct keeper keeper;
};

/* A listener that was offered to a successor, or by the process before. */
struct offer {
  enum message_listener of;
  char *gate, *text; /* of another than a gate, gate is "" */
  char *address;     /* NULL: as text */
  int number; /* offered to us: -1: it is in use; offered by us: a copy, until it is sent; then -1 */
  bool is_taken;
};
struct offers {
  struct offer *all;
  size_t count, room;
};

/* A gate of the successor. */
struct after_gate {
  char *name;
  bool leases; /* its limit, from a cluster */
  bool is_permit;
};

/* A client of a permit gate of the process before, of whose record a part has come. */
struct before_incoming {
  int number;   /* its descriptor, or -1 */
  char *record; /* NULL: none is on its way */
  size_t size, want;
};
struct before_adopted;
struct after_pass;

enum after_stage {
  AFTER_NONE,
  AFTER_HELLO,
  AFTER_OFFERED,
  AFTER_STOPS,  /* clients of permit gates are to stand still */
  AFTER_PASSES, /* they were sent */
  AFTER_GIVES
};

struct handover {
  struct program *program;
  int told; /* an eventfd: something is to be looked at */
  int stop; /* an eventfd: end */
  pthread_t thread;
  bool is_running;

  char *path; /* where successors come, or NULL */
  int listener;
  bool is_passed_on; /* the successor listens there, too: its path stays */

  struct channel before; /* the process that we have taken over from */
  pid_t before_pid;
  struct offers offered; /* by it */
  struct inherited *inherited;
  struct kept *kept;
  bool has_left; /* it knows that we drain */
  struct before_adopted
      *adopted; /* clients of its permit gates; the gate that is under way first */
  struct before_incoming incoming;
  const char *adopt_why; /* they cannot be taken, or NULL */

  struct channel after; /* the successor */
  enum after_stage stage;
  pid_t after_pid;
  uint64_t after_ns;        /* when the stage began; by the runtime's clock */
  struct offers offers;     /* to it */
  struct after_gate *gates; /* that it has */
  size_t gate_count;
  bool after_leaves; /* it drains, by order */
  bool has_cut;      /* clients were cut off: there is no way back */
  struct given *given;
  struct after_pass *passes; /* permit gates whose clients go to it */
  uint32_t passed_count;     /* of those */
  int admin;                 /* the socket of the admin side, kept for the way back, or -1 */
};

/* ---- both sides ---- */

void handover_set_state(struct handover *h, enum handover_state state);
struct ledger_tell handover_tell(struct handover *h);

/* Returns false: no memory. gate, text: copied. */
bool offers_add(struct offers *o, enum message_listener of, const char *gate, const char *text,
                int number);
/* Where the last one listens; copied. Returns false: there is none, or no memory. */
bool offers_locate(struct offers *o, const char *address);
void offers_clear(struct offers *o); /* closes what is not in use */

/* ---- before.c: we take over ---- */

/* Close those of its listeners that are not in use. */
void before_forget_offers(struct handover *h);
/* Something has come from the process before, or a permit may be given to it. */
void before_look(struct handover *h);
/* We drain. */
void before_leave(struct handover *h);
void before_end(struct handover *h);

/* ---- before_adopt.c: with clients of its permit gates ---- */

/* Returns false: it makes no sense, or adopt_why says what is wrong. */
bool before_adopt_hear(struct handover *h, const struct message *m);
/* The clients are ours from now on; or they are its own, and nothing is left of them here. */
void before_adopt_end(struct handover *h, bool is_ours);
/* It has died with them: they can claim. */
void before_adopt_claims(struct handover *h);

/* ---- after_pass.c: a successor takes clients of permit gates ---- */

/* From now on they have to stand still. Returns false: no memory, or too few descriptors. */
bool after_pass_begin(struct handover *h);
/* If all stand still, they are sent. Returns NULL, or why not. */
const char *after_pass_look(struct handover *h);
/* Whether all of them can be passed on now. control is held. */
bool after_pass_is_whole(const struct handover *h);
/* GO was sent. */
void after_pass_done(struct handover *h);
/* The successor has died with them: they can claim here. */
void after_pass_lost(struct handover *h);
/* Those that were not passed on go on. */
void after_pass_forget(struct handover *h);

/* ---- after_give.c: it gets what this process has ---- */

/* Whether both have this permit gate. */
bool after_pass_has(const struct handover *h, const struct site *s);
/* It takes over. Returns false: this process drains, or not all clients of permit gates stand still: nothing is taken
 * over. */
bool after_go(struct handover *h);
/* Permits that it may have, or that clients here need. */
void after_give_permits(struct handover *h);

/* ---- after.c: a successor takes over ---- */

/* By the runtime's clock. */
uint64_t after_now_ns(const struct handover *h);
/* One knocks. */
void after_accept(struct handover *h);
void after_look(struct handover *h);
/* It has ended. */
void after_is_gone(struct handover *h);
/* All that are left have finished, or their time is up. */
void after_follow_drain(struct handover *h);
void after_end(struct handover *h);

#endif
