/* io_driver.c: the driver, compiled as the library is. What it does between the system calls is what
 * epoll.c does: one worker at a time looks, and a doorbell whose report another worker takes is rung
 * again (R8 there). */
#include "io_driver.h"

#include "../../src/rt/host/driver.h"
#include "../../src/rt/host/runtime.h"
#include "machine.h"
#include "network.h"

enum { SLEEPS = 1, RUNG = 2 }; /* share.state */

typedef struct share {
  VOLT_CACHE_ALIGNED VOLT_ATOMIC(uint32_t) state; /* of the worker's doorbell */
  unsigned set, watched;
} share;

typedef struct io {
  volt_driver_ driver; /* first */
  const io_setup *setup;
  VOLT_CACHE_ALIGNED VOLT_ATOMIC(uint32_t) is_checked;
  share of[SIM_CORES];
} io;

static io *io_of(volt_driver_ *driver) {
  return volt_container_of(driver, io, driver);
}

static void io_pass_on(io *self, uint32_t worker) {
  if (volt_fetch_or_relaxed(&self->of[worker].state, RUNG) & SLEEPS) net_ring(worker);
}

/* worker: that this thread sleeps as; UINT32_MAX: none. */
static unsigned io_report(io *self, const net_event *events, unsigned count, uint32_t worker) {
  unsigned reported = 0;
  for (unsigned i = 0; i < count; i++) {
    const net_event *e = &events[i];
    if (!e->is_bell) {
      volt_sem_release(self->setup->ready[e->name], 1);
      reported += 1;
    } else if (e->name != worker) {
      io_pass_on(self, e->name);
    }
  }
  return reported;
}

static unsigned io_check(volt_driver_ *driver, unsigned worker) {
  io *self = io_of(driver);
  net_event events[NET_EVENTS];
  bool is_shared = !self->setup->has_set_each;
  if (is_shared ? volt_exchange_relaxed(&self->is_checked, 1) : self->of[worker].watched == 0)
    return 0;
  unsigned count = net_look(self->of[worker].set, events, 0);
  if (is_shared) volt_store_relaxed(&self->is_checked, 0);
  return io_report(self, events, count, UINT32_MAX);
}

static unsigned io_sleep(volt_driver_ *driver, unsigned worker, uint64_t deadline_ns) {
  io *self = io_of(driver);
  share *own = &self->of[worker];
  net_event events[NET_EVENTS];
  bool was_rung = volt_fetch_or_relaxed(&own->state, SLEEPS) & RUNG;
  if (deadline_ns != VOLT_NO_DEADLINE) (void)volt_now_ns(); /* how long that is */
  unsigned count = net_look(own->set, events, was_rung ? 0 : deadline_ns);
  volt_fetch_and_relaxed(&own->state, 0);
  return io_report(self, events, count, worker);
}

static bool io_must_sleep(volt_driver_ *driver, unsigned worker, bool is_keeper) {
  io *self = io_of(driver);
  return is_keeper || (self->setup->has_set_each && self->of[worker].watched > 0);
}

static bool io_wants_keeper(volt_driver_ *driver) {
  return !io_of(driver)->setup->has_set_each;
}

static void io_begin(volt_driver_ *driver, unsigned worker) {
  (void)driver, (void)worker;
}

static void io_destroy(volt_driver_ *driver) {
  (void)driver;
}

static const volt_driver_ops_ io_ops = {.name = "simulated",
                                        .begin = io_begin,
                                        .check = io_check,
                                        .must_sleep = io_must_sleep,
                                        .wants_keeper = io_wants_keeper,
                                        .sleep = io_sleep,
                                        .end = io_begin,
                                        .destroy = io_destroy};

/* ---- make ---- */

typedef struct io_kind {
  volt_io_kind kind; /* first */
  io_setup setup;
} io_kind;

static int io_create(volt_driver_ **out, volt_rt *rt, const volt_rt_config *config,
                     const int *doorbell) {
  io *self = (io *)sim_alloc_lines(sizeof *self);
  self->driver.ops = &io_ops;
  self->setup = &volt_container_of(config->io, io_kind, kind)->setup;
  rt->may_watch = rt->may_watch && sim_watches != 0; /* 0: the rule of before */
  for (unsigned i = 0; i < config->workers; i++) {
    self->of[i].set = self->setup->has_set_each ? i : 0;
    net_watch_bell(self->of[i].set, (unsigned)doorbell[i]);
  }
  for (unsigned i = 0; i < self->setup->connections; i++) {
    share *s = &self->of[i % config->workers];
    s->watched += 1;
    net_watch(s->set, i);
  }
  *out = &self->driver;
  return VOLT_OK;
}

const volt_io_kind *io_kind_of(const io_setup *s) {
  io_kind *k = (io_kind *)sim_alloc(sizeof *k);
  k->kind.create = io_create;
  k->setup = *s;
  return &k->kind;
}
