/* sight_enable.h: the parts that volt_sight_enable() starts. Each is declared here and listed in
 * sight_enable.c. */
#ifndef VOLT_SIGHT_WATCH_SIGHT_ENABLE_H
#define VOLT_SIGHT_WATCH_SIGHT_ENABLE_H

#include "sight_thread.h"

extern const volt_sight_part_ volt_wait_times_part_;
extern const volt_sight_part_ volt_watchdog_part_;
extern const volt_sight_part_ volt_lints_part_;
extern const volt_sight_part_ volt_deadlocks_part_;

/* In the child of a fork(): nothing is enabled. */
void volt_sight_enable_forget_(void);

#endif
