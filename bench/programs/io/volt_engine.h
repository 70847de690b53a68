/* volt_engine.h: a runtime of one worker for the programs that measure themselves:
 *
 *   PROGRAM WORKLOAD --engine epoll|uring ... */
#ifndef VOLT_BENCH_IO_VOLT_ENGINE_H
#define VOLT_BENCH_IO_VOLT_ENGINE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <volt/io.h>
#include <volt/volt.h>

static inline void engine_must(int result, const char *what) {
  if (result == VOLT_OK) return;
  fprintf(stderr, "%s: %s\n", what, volt_strerror(result));
  exit(1);
}

/* Takes the engine out of the arguments. */
static inline volt_rt *engine_start(int *count, char **values) {
  volt_rt *rt;
  volt_rt_config config = {.workers = 1};
  if (*count < 4 || strcmp(values[2], "--engine") != 0) {
    fprintf(stderr, "usage: %s WORKLOAD --engine epoll|uring ...\n", values[0]);
    exit(2);
  }
  config.io = strcmp(values[3], "uring") == 0 ? volt_io_uring() : volt_io_epoll();
  memmove(values + 2, values + 4, (size_t)(*count - 3) * sizeof *values);
  *count -= 2;
  engine_must(volt_rt_create(&rt, &config), "runtime");
  return rt;
}

#endif
