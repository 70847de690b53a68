/* simulated.c: the simulated back end: a network in memory for one runtime by hand.
 *
 * Its sockets are driven by the timers of the runtime, so the driver itself has nothing to look at
 * and nothing to sleep in. Operations go by CALL (op.h), with the system calls of
 * sim_socket.c. */
#include <errno.h>
#include <stdlib.h>

#include "../../core/os/at_fork.h"
#include "../../core/os/check.h"
#include "../../core/os/hash.h"
#include "../../rt/host/driver.h"
#include "../../rt/sched/short_lock.h"
#include "../op/backend.h"
#include "../op/fd.h"
#include "sim.h"

/* ---- numbers ---- */

#define SIM_FIRST_NUMBER (1 << 24)

static struct {
  volt_short_lock lock;
  volt_sim_socket_ **at; /* under the lock, like all that follows */
  unsigned size;
} sim_numbers;

static void sim_lock_numbers(void) {
  volt_short_lock_lock_(&sim_numbers.lock);
}

static void sim_unlock_numbers(void) {
  volt_short_lock_unlock_(&sim_numbers.lock);
}

static VOLT_AT_LOAD_(VOLT_FORK_SIMULATED_) void sim_load(void) {
  volt_at_fork_(sim_lock_numbers, sim_unlock_numbers, sim_unlock_numbers);
}

volt_sim_socket_ *volt_sim_find_(int number) {
  if (!volt_sim_is_number_(number)) return NULL;
  unsigned i = (unsigned)(number - SIM_FIRST_NUMBER);
  sim_lock_numbers();
  volt_sim_socket_ *s = i < sim_numbers.size ? sim_numbers.at[i] : NULL;
  sim_unlock_numbers();
  return s;
}

/* The lock is held. Returns a free place, or -1: no memory. */
static int sim_free_place(void) {
  for (unsigned i = 0; i < sim_numbers.size; i++) {
    if (!sim_numbers.at[i]) return (int)i;
  }
  unsigned size = sim_numbers.size ? 2 * sim_numbers.size : 64;
  volt_sim_socket_ **at = (volt_sim_socket_ **)realloc(sim_numbers.at, size * sizeof *at);
  if (!at) return -1;
  for (unsigned i = sim_numbers.size; i < size; i++) at[i] = NULL;
  unsigned first = sim_numbers.size;
  sim_numbers.at = at;
  sim_numbers.size = size;
  return (int)first;
}

int volt_sim_give_number_(volt_sim_socket_ *s) {
  sim_lock_numbers();
  int place = sim_free_place();
  if (place >= 0) sim_numbers.at[place] = s;
  sim_unlock_numbers();
  if (place < 0) return -ENOMEM;
  s->number = SIM_FIRST_NUMBER + place;
  s->net->open += 1;
  return 0;
}

void volt_sim_take_number_(volt_sim_socket_ *s) {
  sim_lock_numbers();
  sim_numbers.at[s->number - SIM_FIRST_NUMBER] = NULL;
  sim_unlock_numbers();
  s->number = -1;
  s->net->open -= 1;
}

/* ---- chance and time ---- */

uint64_t volt_sim_random_(volt_sim_net_ *net, uint64_t below) {
  return below > 1 ? volt_random_(&net->random) % below : 0;
}

bool volt_sim_happens_(volt_sim_net_ *net, uint32_t per_million) {
  return per_million > 0 && volt_sim_random_(net, 1000000) < per_million;
}

uint64_t volt_sim_arrival_ns_(volt_sim_net_ *net) {
  const volt_simulated_faults *faults = &net->faults;
  uint64_t by_chance = volt_sim_random_(net, faults->delay_max_ns - faults->delay_min_ns + 1);
  return volt_sim_now_ns_(net) + faults->delay_min_ns + by_chance;
}

void volt_sim_became_ready_(volt_sim_socket_ *s, uint32_t bits) {
  if (s && s->watch) volt_fd_became_ready_(s->watch, bits);
}

/* ---- back end ---- */

static int sim_watch(volt_io_ *io, volt_fd *d, uint32_t *mark) {
  (void)io;
  volt_sim_socket_ *s = volt_sim_find_(d->number);
  if (!s) return VOLT_ERRNO(EPERM); /* a real descriptor: nothing here can wait for it */
  s->watch = d;
  *mark = 1;
  volt_fd_became_ready_(d, volt_sim_ready_(s));
  return VOLT_OK;
}

static void sim_unwatch(volt_io_ *io, volt_fd *d) {
  (void)io;
  volt_sim_socket_ *s = volt_sim_find_(d->number);
  if (s) s->watch = NULL;
}

static const volt_io_ops_ sim_io_ops = {.watch = sim_watch, .unwatch = sim_unwatch};

/* ---- driver ---- */

static void sim_begin(volt_driver_ *driver, unsigned worker) {
  (void)driver;
  (void)worker;
}

static unsigned sim_check(volt_driver_ *driver, unsigned worker) {
  (void)driver;
  (void)worker;
  return 0; /* all that happens is a timer's */
}

static bool sim_has_mail(volt_driver_ *driver, unsigned worker) {
  (void)driver;
  (void)worker;
  return false;
}

static int sim_descriptor(volt_driver_ *driver) {
  (void)driver;
  return -1;
}

static volt_sim_net_ *sim_net_of_driver(volt_driver_ *driver) {
  return volt_container_of(driver, volt_sim_net_, io.driver);
}

static void sim_end(volt_driver_ *driver, unsigned worker) {
  (void)worker;
  volt_sim_net_ *net = sim_net_of_driver(driver);
  VOLT_CHECK(net->open == 0, "volt_rt_destroy", "%p: %llu simulated sockets are open",
             (void *)net->io.rt, (unsigned long long)net->open);
}

static void sim_destroy(volt_driver_ *driver) {
  free(sim_net_of_driver(driver));
}

static const volt_driver_ops_ sim_driver_ops = {.name = "simulated",
                                                .begin = sim_begin,
                                                .check = sim_check,
                                                .has_mail = sim_has_mail,
                                                .end = sim_end,
                                                .descriptor = sim_descriptor,
                                                .destroy = sim_destroy};

static int sim_create(volt_driver_ **out, volt_rt *rt, const volt_rt_config *config,
                      const int *doorbell) {
  (void)doorbell;
  if (!(config->flags & VOLT_RT_BY_HAND)) return VOLT_EINVAL;
  volt_sim_net_ *net = (volt_sim_net_ *)calloc(1, sizeof *net);
  if (!net) return VOLT_ENOMEM;
  net->io.driver.ops = &sim_driver_ops;
  net->io.rt = rt;
  net->io.ops = &sim_io_ops;
  net->io.sys = &volt_sys_simulated_;
  net->random = config->seed;
  net->next_port = 32768;
  *out = &net->io.driver;
  return VOLT_OK;
}

const volt_io_kind *volt_io_simulated(void) {
  static const volt_io_kind kind = {.create = sim_create};
  return &kind;
}

/* ---- what a test says ---- */

static volt_sim_net_ *sim_net_of(volt_rt *rt) {
  volt_driver_ *driver = volt_rt_driver_(rt);
  return driver && driver->ops == &sim_driver_ops ? sim_net_of_driver(driver) : NULL;
}

static bool sim_are_valid(const volt_simulated_faults *f) {
  const uint32_t per_million[] = {f->short_per_million, f->reset_per_million, f->refuse_per_million,
                                  f->accept_per_million, f->lose_per_million};
  for (size_t i = 0; i < sizeof per_million / sizeof *per_million; i++) {
    if (per_million[i] > 1000000) return false;
  }
  return f->delay_min_ns <= f->delay_max_ns && f->delay_max_ns < UINT64_MAX / 4;
}

int volt_simulated_set_faults(volt_rt *rt, const volt_simulated_faults *faults) {
  static const volt_simulated_faults none = {0};
  volt_sim_net_ *net = sim_net_of(rt);
  if (!faults) faults = &none;
  if (!net || !sim_are_valid(faults)) return VOLT_EINVAL;
  net->faults = *faults;
  return VOLT_OK;
}

uint64_t volt_simulated_reset_all(volt_rt *rt) {
  volt_sim_net_ *net = sim_net_of(rt);
  uint64_t count = 0;
  for (volt_sim_socket_ *s = net ? net->all : NULL; s; s = s->next) {
    if (!s->conn || s->conn->is_reset) continue;
    volt_sim_conn_reset_(s->conn);
    count += 1;
  }
  return count;
}

uint64_t volt_simulated_open(volt_rt *rt) {
  volt_sim_net_ *net = sim_net_of(rt);
  return net ? net->open : 0;
}
