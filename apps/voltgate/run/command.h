/* command.h: voltgate run: a command under a permit. */
#ifndef VOLTGATE_RUN_COMMAND_H
#define VOLTGATE_RUN_COMMAND_H

#include "config/command.h"

/* As of timeout(1), env(1) and nohup(1). */
enum {
  RUN_EXIT_NOT_GRANTED = 124, /* not free, or not in time */
  RUN_EXIT_FAILED = 125,      /* voltgate itself */
  RUN_EXIT_NOT_RUN = 126,     /* the command is there, and cannot be executed */
  RUN_EXIT_NOT_FOUND = 127
};

/* Wait for the permit, run the command, give the permit back. Returns the exit code. If a signal has
 * ended the command, this process dies by the same signal. */
int run_command(const struct under_settings *settings);

#endif
