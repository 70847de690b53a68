/* spawn.h: how a child process is started. */
#ifndef VOLT_IO_SPAWN_H
#define VOLT_IO_SPAWN_H

#include <volt/process.h>

#include "io_parts.h"

/* Start it. The pipes of config become descriptors of rt. Returns VOLT_OK, and *number is the
 * process's; else the result, and nothing is left behind. */
int volt_spawn_child_(pid_t *number, volt_rt *rt, const volt_process_config *config);

/* Close the pipes of config, because the child is not to be kept after all. */
void volt_spawn_undo_(const volt_process_config *config);

#endif
