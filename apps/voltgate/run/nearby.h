/* nearby.h: which gate a command asks, and the connection to it; the gate of a user, which begins when it is
 * asked. */
#ifndef VOLTGATE_RUN_NEARBY_H
#define VOLTGATE_RUN_NEARBY_H

#include "run/hold.h"

/* The address of the gate, as for volt_dial_future(). written: as --gate says it; NULL: this user's.
 * Returns it, to be freed; NULL: no memory. */
char *run_nearby_address(const char *written);

/* Whether that gate is the user's, which is started if it is not there. */
bool run_nearby_is_own(const char *written);

/* Connect to the gate of *h, and start it first if it is the user's and is not there. Returns as
 * volt_permit_client_connect_future(). */
int run_nearby_connect(struct run_hold *h);

/* After a connect has failed with `result`: start the gate if it is the user's and is not there. Two processes that
 * do this at once start one. waits: for the other one; else it fails. Returns VOLT_OK: one listens now; else why
 * not. */
int run_nearby_start(const struct run_hold *h, int result, bool waits);

/* The options of the gate of a user: of ~/.config/voltgate/permits.ini, if that is there. argv: room for
 * RUN_NEARBY_ARGUMENTS; its words stay. is_first: there was none before, so nothing is claimed. Returns how
 * many. */
enum { RUN_NEARBY_ARGUMENTS = 12 };
int run_nearby_arguments(char *argv[RUN_NEARBY_ARGUMENTS], bool is_first);

#endif
