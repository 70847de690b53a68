/* top.h: voltgate top. */
#ifndef VOLTGATE_ADMIN_TOP_H
#define VOLTGATE_ADMIN_TOP_H

#include "config/command.h"

/* Show a running voltgate until q is pressed, or once. Returns the exit code. */
int top_run(const struct client_settings *c);

#endif
