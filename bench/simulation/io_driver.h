/* io_driver.h: a driver of a simulated runtime, for connections of network.h.
 *
 * Two kinds: one set for all workers and a keeper that sleeps in it, as src/io/backend/epoll.c has it;
 * and a set for each worker, in which it sleeps itself. The second is a candidate. There a connection
 * is of one worker for ever, as if that one had accepted it. */
#ifndef VOLT_SIMULATION_IO_DRIVER_H
#define VOLT_SIMULATION_IO_DRIVER_H

#include <volt/runtime.h>
#include <volt/volt.h>

/* Of the next runtime: its connections, and what each waits for; whether each worker has a set. */
typedef struct io_setup {
  unsigned connections;
  volt_sem *const *ready;
  bool has_set_each;
} io_setup;

/* What the next runtime is to do, and what it does: whether a worker watches while others poll. */
extern unsigned sim_watches;

const volt_io_kind *io_kind_of(const io_setup *s);

#endif
