/* timer_end.h: what the end of a runtime that was given up asks of its timers: whether it may free
 * them, although other threads may still cancel some. */
#ifndef VOLT_BCS_TIMER_END_H
#define VOLT_BCS_TIMER_END_H

#include <volt/timer.h>

/* Whether a timer is started. If none is, and the threads that may start one have ended, no thread
 * uses *t any more. Waits for those that are about to find out that their timer has expired. */
VOLT_API bool volt_timers_are_used_(volt_timers *t);

#endif
