/* nearby.h: which gate a command asks, and the connection to it. */
#ifndef VOLTGATE_RUN_NEARBY_H
#define VOLTGATE_RUN_NEARBY_H

#include "run/hold.h"

/* The address of the gate, as for volt_dial_future(). written: as --gate says it; NULL: this user's.
 * Returns it, to be freed; NULL: no memory. */
char *run_nearby_address(const char *written);

/* Connect to the gate of *h. Returns as volt_permit_client_connect_future(). */
int run_nearby_connect(struct run_hold *h);

#endif
