/* cold.h: facts from a process without its help: it may be wedged, or stopped. */
#ifndef VOLT_TOP_COLD_H
#define VOLT_TOP_COLD_H

#include <sys/types.h>

#include "facts.h"

/* Read all that can be found. tasks: at most so many of those that wait longest; older_ms: those that
 * wait at least so long. Returns false: why. */
bool cold_read(facts *f, pid_t process, unsigned tasks, uint64_t older_ms, char *why, size_t max);

#endif
