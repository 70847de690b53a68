/* workloads.h: what is run on the simulated machine. */
#ifndef VOLT_SIMULATION_WORKLOADS_H
#define VOLT_SIMULATION_WORKLOADS_H

#include "books.h"

typedef struct setup {
  unsigned workers, tasks, amount, bypass;
  unsigned shards;     /* 0: one for each group of cores */
  uint32_t promise;    /* what the books expect of a mutex; UINT32_MAX: as bypass */
  uint64_t operations; /* of each task; spawn, outside, inside: batches of so many tasks */
  double apart_ns;     /* work of a task between two operations */
  double inside_ns;    /* work in the section, or of a spawned task */
  uint64_t seed;
} setup;

typedef struct measured {
  double ns;     /* for an operation of one of them */
  double cpu_ns; /* of all cores, for an operation */
  uint64_t steals, stolen, injected, parks, overflows;
  bool has_books;
  books_says books;
} measured;

typedef struct workload {
  const char *name;
  measured (*run)(const setup *s);
} workload;

extern const workload workloads[]; /* the last has no name */

#endif
