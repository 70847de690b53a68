/* debugger.h: what a debugger finds in a process, or in a core, without the types of its code. */
#ifndef VOLT_RT_DEBUGGER_H
#define VOLT_RT_DEBUGGER_H

#include <volt/runtime.h>

#include "short_lock.h"

/* A number by which a debugger finds something: an offset or a size in bytes, or a constant. */
typedef struct volt_debugger_number_ {
  char name[24]; /* "": there are no more */
  uint64_t value;
} volt_debugger_number_;

/* By this a debugger finds it in a program without symbols: at a multiple of 16 bytes, in memory
 * that is writable. The last digit is the version of this struct. */
#define VOLT_DEBUGGER_MAGIC_ "volt-debugger-2"

/* All of it is in one piece of memory that is written to, so it is in every core, also in one
 * without the program's file. */
typedef struct volt_debugger_ {
  VOLT_CACHE_ALIGNED char magic[16];
  uint64_t bytes;              /* of this struct */
  VOLT_PLAIN(volt_rt *) first; /* runtimes that exist, linked */
  volt_task_fn *fiber_poll;    /* of every task that is a fiber */
  volt_debugger_number_ numbers[192];
  const void *blocked; /* volt_blocked_list_: the threads that sleep in a call */
  const void *names;   /* volt_name_slots_() */
} volt_debugger_;

/* The one of this process. tools/voltgdb/ and volt-top read it, by this name or by its magic. */
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
