/* spawn.h: how a child process is started. */
#ifndef VOLT_IO_PROCESS_SPAWN_H
#define VOLT_IO_PROCESS_SPAWN_H

#include <volt/process.h>

enum { VOLT_BY_PIDFD_ = 3 }; /* P_PIDFD, which not every <sys/wait.h> has */

typedef struct volt_child_ {
  pid_t number;
  int pidfd; /* O_CLOEXEC */
} volt_child_;

/* Start it. The pipes of config become descriptors of rt. Returns VOLT_OK, and *out is the process;
 * else the result, and nothing is left behind. */
int volt_spawn_child_(volt_child_ *out, volt_rt *rt, const volt_process_config *config);

/* Wait until a child that ends has ended, take its status, and close its pidfd. */
void volt_spawn_reap_(int pidfd);

/* Close the pipes of config, because the child is not to be kept after all. */
void volt_spawn_undo_(const volt_process_config *config);

#endif
