/* hold.h: the permit of a command: got from a gate, watched, claimed again, given back. One thread. */
#ifndef VOLTGATE_RUN_HOLD_H
#define VOLTGATE_RUN_HOLD_H

#include <volt/permit_client.h>
#include <volt/runtime.h>

#include "config/command.h"

enum { RUN_WORDS_MAX = 120 }; /* of the command, as the gate shows it */

struct run_hold {
  const struct under_settings *settings;
  char *gate;  /* an address */
  bool is_own; /* the user's: it is started if it is not there */
  volt_rt *rt; /* by hand */
  volt_permit_client client;
  char words[RUN_WORDS_MAX];
  uint64_t wait_ns; /* that is left; 0: for ever */
  volt_sleep_op nap;
  volt_timeout timeout;
  uint64_t warns_ns; /* when it will have tried for long enough to say so; 0: no gate has ended */
  uint64_t nap_ns;
  bool has_queued;  /* at the gate that it asks */
  volt_async async; /* that watches over it; what follows is of it */
  int result;
  unsigned starts; /* of the user's gate, since the permit was lost */
  bool has_warned;
};

/* Get the permit: wait as the settings say. If the gate ends while it waits, it queues at the next one, which has ten
 * seconds to come. A terminal on standard error shows the place.
 * h: all-zero but settings. Returns 0; or an exit code, and standard error says why. */
int run_hold_take(struct run_hold *h);

/* The beginning of another permit of the same amounts, at the same gate. h: all-zero. of: outlives it. */
void run_hold_more(struct run_hold *h, const struct run_hold *of);

/* A future of its permit, on its connection, for as long as that takes. */
volt_future *run_hold_acquire_future(struct run_hold *h);

/* A future that watches over the permit while the command runs: if the gate ends, it connects again, and
 * claims. It is ready only when that is of no use any more, which standard error says.
 * Returns it; it polls as why. Cancel: at once. */
volt_future *run_hold_keep_future(struct run_hold *h);

/* A future that gives the permit back, also one that was asked for and given up: it is ready when the gate has it, or a
 * second has passed. */
volt_future *run_hold_give_future(struct run_hold *h);
/* The same, and wait for it. */
void run_hold_give(struct run_hold *h);

/* Take the connection out of it, for a command that inherits it. Returns its number. */
int run_hold_detach(struct run_hold *h);

/* Close the connection, and free what it has. */
void run_hold_end(struct run_hold *h);

#endif
