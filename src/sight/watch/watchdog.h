/* watchdog.h: workers that have been in the same poll for too long: VOLT_SIGHT_WATCHDOG. watchdog.c
 * says how it works. */
#ifndef VOLT_SIGHT_WATCH_WATCHDOG_H
#define VOLT_SIGHT_WATCH_WATCHDOG_H

#include <volt/sight.h>

#include "../dump/dump_text.h"

typedef struct volt_watchdog_ {
  uint64_t stall_ns;
  bool with_stacks;
  void (*report)(const char *text, size_t length);
} volt_watchdog_;

/* Look at every worker of every runtime, and report those that have been in the same poll for
 * stall_ns, then again each time that has doubled. now_ns: any clock that goes on. */
void volt_watchdog_check_(const volt_watchdog_ *dog, uint64_t now_ns);

/* Forget what was seen. */
void volt_watchdog_begin_(void);

/* What the thread does, as the kernel has it: "; it computes". Nothing if tid is 0, or that of no
 * thread. */
void volt_watchdog_put_state_(volt_text_ *t, int tid);

/* ---- watchdog_stack.c ---- */

enum { VOLT_STALL_FRAMES_ = 32 };

/* The signal by which a worker is asked for its stack. Returns VOLT_OK; VOLT_EAGAIN: the program uses
 * it. */
int volt_stall_signal_take_(void);
void volt_stall_signal_give_(void);
void volt_stall_signal_forget_(void); /* in the child of a fork(): given back if it was taken */

/* Where the thread tid is at the moment: program counters, innermost first. Waits for some
 * milliseconds at most. Returns how many; 0: it does not answer. */
unsigned volt_stall_stack_(int tid, uintptr_t pc[VOLT_STALL_FRAMES_]);

#endif
