/* ledger.h: the permits of one gate between two processes. ledger.c says how. */
#ifndef VOLTGATE_HANDOVER_LEDGER_H
#define VOLTGATE_HANDOVER_LEDGER_H

#include <stdbool.h>

#include "gate/gate.h"

/* Called when there is something to look at: any thread, also inside a release. */
struct ledger_tell {
  void (*call)(void *arg);
  void *arg;
};

/* What is to be sent to the other process. */
struct ledger_says {
  uint32_t give;     /* permits for it */
  uint32_t want_not; /* as many as were asked for first are not needed any more */
  uint32_t want;     /* permits that clients here need */
  bool together;     /* want: all of them at once */
};

/* ---- the old process's side ---- */

struct giver {
  struct gate *gate;
  struct loan loan;
  uint32_t limit;       /* of the gate, before the handover */
  volt_waiter pump;     /* for a permit that comes back */
  bool is_pumping;      /* it is queued */
  bool is_over;         /* the other process is gone */
  uint32_t asked;       /* permits that it was asked for and has not given, but for these: */
  uint32_t asked_early; /* for clients that have queued before */
};

/* From now on permits are asked for, and what is free and what comes back is given. It and the gate
 * stay until giver_end(), and the memory as long as the gate's. */
void giver_begin(struct giver *g, struct gate *gate, struct ledger_tell tell);

/* After each call of `tell`, and each of those below. Send what it says, in this order. */
struct ledger_says giver_look(struct giver *g);

/* The other has given so many. Returns false: there are not as many. */
bool giver_bring(struct giver *g, uint32_t permits);

/* The other process is gone: its permits are here again. giver_look() serves the clients that still
 * wait at the loan. */
void giver_take_back(struct giver *g);

/* No client is left: forget it. */
void giver_end(struct giver *g);

/* ---- the new process's side ---- */

struct keeper_want;
struct keeper {
  struct gate *gate;
  struct keeper_want *first, **last; /* what the other has asked for, in this order */
  struct ledger_tell tell;
  bool is_over;
};

/* So many permits are with the other process. The gate has no client yet. */
void keeper_begin(struct keeper *k, struct gate *gate, uint32_t permits, struct ledger_tell tell);

/* After each call of `tell`, and of keeper_want_...(). Returns how many are to be given to the other. */
uint32_t keeper_look(struct keeper *k);

/* The other has given so many back. Returns false: it never had as many. */
bool keeper_given(struct keeper *k, uint32_t permits);

/* The other needs so many: each for a client of its own, or all together for one. Returns false: no
 * memory. */
bool keeper_want_each(struct keeper *k, uint32_t permits);
bool keeper_want_together(struct keeper *k, uint32_t permits);

/* Those that it has asked for first are not needed any more: as many as are not granted yet. */
void keeper_want_not(struct keeper *k, uint32_t permits);

/* The other process is gone: what it had is here. */
void keeper_end(struct keeper *k);

#endif
