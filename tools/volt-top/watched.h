/* watched.h: a process that has no tasks of volt, but runs under volt-run. */
#ifndef VOLT_TOP_WATCHED_H
#define VOLT_TOP_WATCHED_H

#include <sys/types.h>

/* Become volt-run, which shows for what the threads of this process wait. Returns if the process does not run under
 * volt-run, or if there is no volt-run. */
void watched_become(pid_t process);

#endif
