/* attach.h: a copy of the books of a process that runs under volt-run, without its help. */
#ifndef VOLT_RUN_ATTACH_H
#define VOLT_RUN_ATTACH_H

#include <sys/types.h>

/* Returns a descriptor of the copy, for report_open(); -1: standard error says why there is none. */
int attach_copy(pid_t process);

#endif
