/* sight_wait_times.c: switches on the histograms of waits (core/hooks/wait_times.h):
 * VOLT_SIGHT_WAITS. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#endif
#include <sys/mman.h>

#include "../../core/hooks/wait_times.h"
#include "sight_enable.h"

/* Hooks may use it after they were switched off, so it is never given back. */
static volt_wait_times_ *sight_memory;

static int sight_wait_times_start(const volt_sight_config *config) {
  if (!sight_memory) {
    void *mapped = mmap(NULL, sizeof *sight_memory, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) return VOLT_ENOMEM;
    sight_memory = mapped;
  }
  volt_wait_times_switch_on_(sight_memory, config->sample);
  return VOLT_OK;
}

const volt_sight_part_ volt_wait_times_part_ = {VOLT_SIGHT_WAITS, sight_wait_times_start,
                                                volt_wait_times_switch_off_,
                                                volt_wait_times_switch_off_};
