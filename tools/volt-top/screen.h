/* screen.h: the terminal of volt-top. */
#ifndef VOLT_TOP_SCREEN_H
#define VOLT_TOP_SCREEN_H

#include "wire.h"

/* Show a process until the user has seen enough. find: its socket is looked for again if it is gone;
 * process: 0: it is at path. Returns the exit code; does not return if a signal ends it. */
int screen_run(const char *path, pid_t process, unsigned period_ms);

#endif
