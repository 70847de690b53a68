/* workloads.h: what is run on the simulated machine. */
#ifndef VOLT_SIMULATION_WORKLOADS_H
#define VOLT_SIMULATION_WORKLOADS_H

#include "books.h"
#include "network.h"

typedef struct setup {
  unsigned workers, tasks, amount, bypass;
  unsigned shards;     /* 0: one for each group of cores */
  uint32_t promise;    /* what the books expect of a mutex; UINT32_MAX: as bypass */
  uint64_t operations; /* of each task; spawn, outside, inside: batches of so many tasks */
  double apart_ns;     /* work of a task between two operations */
  double inside_ns;    /* work in the section, or of a spawned task */
  uint64_t seed;

  /* io: tasks are connections */
  unsigned has_set_each;    /* each worker has a set; else there is one, and a keeper */
  unsigned long_each;       /* one of so many polls computes for 10 ms; 0: none does */
  uint64_t lose;            /* as in net_setup */
  double rate;              /* requests a second, of all; 0: closed loop */
  double way_ns, client_ns; /* as in net_setup */
} setup;

/* All but what net says: sums of all workers. */
typedef struct io_says {
  net_says net;
  uint64_t sleeps, wakes, empty_searches, looks, events, moved;
  uint64_t quiet_sleeps; /* in 20 ms in which nothing comes */
} io_says;

typedef struct measured {
  double ns;     /* for an operation of one of them */
  double cpu_ns; /* of all cores, for an operation */
  uint64_t steals, stolen, injected, parks, overflows;
  bool has_books;
  books_says books;
  bool has_io;
  io_says io;
} measured;

measured run_io(const setup *s);

typedef struct workload {
  const char *name;
  measured (*run)(const setup *s);
} workload;

extern const workload workloads[]; /* the last has no name */

#endif
