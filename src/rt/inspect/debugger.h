/* debugger.h: what a debugger finds of the runtimes of a process (core/hooks/numbers.h), and their list. */
#ifndef VOLT_RT_INSPECT_DEBUGGER_H
#define VOLT_RT_INSPECT_DEBUGGER_H

#include <volt/runtime.h>

#include "../../core/hooks/numbers.h"
#include "../sched/short_lock.h"

/* The one of libvolt-rt in this process. tools/voltgdb/ and volt-top read it, by this name or by its magic. */
extern volt_debugger_ volt_debugger_here_;

/* The same, and the lock of the list of runtimes. (A model has its own.) */
volt_debugger_ *volt_debugger_of_process_(void);
volt_short_lock *volt_runtimes_lock_(void);

/* runtimes.c: from here on it is found; by no new inspector; and no more, when no inspector has it
 * pinned. */
void volt_debugger_add_(volt_rt *rt);
void volt_debugger_withdraw_(volt_rt *rt);
bool volt_debugger_is_pinned_(volt_rt *rt);
void volt_debugger_remove_(volt_rt *rt);

#endif
