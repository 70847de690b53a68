/* sight.h: what the process says of its own waits: stalls and lost wakes in the log, a dump of all
 * that waits, counters. */
#ifndef VOLTGATE_ADMIN_SIGHT_H
#define VOLTGATE_ADMIN_SIGHT_H

#include "admin/output.h"
#include "program/program.h"

/* Begin to watch: what looks wrong goes to the log. Threads: before others, or the main thread.
 * Returns VOLT_OK, or why not: then nothing is watched. */
int admin_sight_start(const struct settings *settings);
void admin_sight_stop(void);

/* Write a dump to the log. Works when every worker hangs. May block: not on a worker. */
void admin_sight_log_dump(volt_rt *rt);

/* Write a dump. how: of volt_dump_how. Returns false: no memory. May block: not on a worker. */
bool admin_sight_write_dump(struct output *to, volt_rt *rt, unsigned how);

/* Write what volt has counted, and how long clients have waited for each object of the program. */
void admin_sight_put_metrics(struct output *to, struct program *p);

#endif
