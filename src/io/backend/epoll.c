/* epoll.c: the back end of readiness: one epoll instance for all workers of a runtime.
 *
 * Algorithm: each descriptor is watched edge-triggered, with all events, from the first time that
 * an operation has to wait. The keeper sleeps in epoll_pwait2(). The other workers sleep on their
 * parkers. A worker that is busy looks, without waiting; one at a time is enough.
 *
 * A doorbell is watched edge-triggered, so each ring is reported once, and nothing reads it. What
 * it has counted before the runtime began is reported once: a wake for no reason.
 *
 * Race
 *   R8  Interleaving: a doorbell rings for a worker that sleeps here, or is about to; another
 *       worker looks, and takes the report, which comes once; the first one sleeps on. Prevented
 *       by: the worker that takes the report of another's doorbell sets RUNG in its state. If
 *       SLEEPS was set, it rings again. Else the other finds RUNG as it sets SLEEPS, and does not
 *       sleep. Both are read-modify-writes of one word.
 *
 * Labels: io */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* POLLRDHUP, syscall */
#endif
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../rt/host/driver.h"
#include "../op/backend.h"
#include "../op/op.h"
#include "../op/watched.h"
#include "../sys/sys.h"
#include "epoll_set.h"
#include "kinds.h"
#include "nap.h"

enum { EVENTS = 64 };

static const uint32_t edges = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLPRI | EPOLLET;

/* The numbers of the two are the same, so what epoll reports is what poll() would say. */
VOLT_STATIC_ASSERT_(EPOLLIN == POLLIN && EPOLLOUT == POLLOUT && EPOLLPRI == POLLPRI, "bits");
VOLT_STATIC_ASSERT_(EPOLLERR == POLLERR && EPOLLHUP == POLLHUP && EPOLLRDHUP == POLLRDHUP, "bits");

/* ---- the instance ---- */

int volt_epoll_init_(volt_epoll_ *e) {
  e->number = epoll_create1(EPOLL_CLOEXEC);
  if (e->number < 0) return VOLT_ERRNO(errno);
  e->has_no_pwait2 = false;
  volt_store_relaxed(&e->watched, 0); /* not shared yet, like the next */
  volt_store_relaxed(&e->is_checked, 0);
  volt_watched_init_(&e->table);
  for (unsigned i = 0; i < VOLT_EPOLL_BELLS; i++) {
    e->bells[i].number = -1;
    volt_store_relaxed(&e->bells[i].state, 0); /* not shared yet */
  }
  return VOLT_OK;
}

bool volt_epoll_is_used_(volt_epoll_ *e) {
  return volt_naps_are_needed_(&e->naps);
}

void volt_epoll_destroy_(volt_epoll_ *e) {
  close(e->number);
  volt_watched_free_(&e->table);
}

/* mark 0: a doorbell, whose name is its worker; else the name is the number. */
static int epoll_add(volt_epoll_ *e, int number, uint32_t events, uint32_t mark, uint32_t name) {
  struct epoll_event event = {.events = events};
  event.data.u64 = (uint64_t)mark << 32 | name;
  int before = errno;
  int result = epoll_ctl(e->number, EPOLL_CTL_ADD, number, &event) ? VOLT_ERRNO(errno) : VOLT_OK;
  errno = before;
  return result;
}

int volt_epoll_watch_(volt_epoll_ *e, volt_fd *d, uint32_t *mark) {
  *mark = volt_watched_add_(&e->table, d);
  if (*mark == 0) return VOLT_ENOMEM;
  volt_fetch_add_relaxed(&e->watched, 1); /* a hint */
  int result = epoll_add(e, d->number, edges, *mark, (uint32_t)d->number);
  if (result != VOLT_OK) {
    volt_fetch_add_relaxed(&e->watched, UINT32_MAX); /* one less */
    volt_watched_remove_(&e->table, d);
  }
  return result;
}

/* The system forgets a descriptor that is closed only when no other process has it, so this says
 * it. */
void volt_epoll_unwatch_(volt_epoll_ *e, volt_fd *d) {
  struct epoll_event unused = {.events = 0};
  int before = errno;
  (void)epoll_ctl(e->number, EPOLL_CTL_DEL, d->number, &unused);
  errno = before;
  volt_watched_remove_(&e->table, d);
  volt_fetch_add_relaxed(&e->watched, UINT32_MAX); /* one less */
}

/* ---- doorbells ---- */

enum { SLEEPS = 1, RUNG = 2 }; /* volt_epoll_bell.state */

int volt_epoll_add_doorbell_(volt_epoll_ *e, unsigned worker, int doorbell) {
  if (worker >= VOLT_EPOLL_BELLS) return VOLT_EINVAL;
  e->bells[worker].number = doorbell;
  return epoll_add(e, doorbell, EPOLLIN | EPOLLET, 0, worker);
}

/* This thread has taken the report of a doorbell that may be another's: R8. */
static void epoll_pass_on(volt_epoll_ *e, uint32_t worker) {
  static const uint64_t one = 1;
  volt_epoll_bell *bell = &e->bells[worker];
  /* relaxed, no data: what the ring is for has its own order (parking.c) */
  if (!(volt_fetch_or_relaxed(&bell->state, RUNG) & SLEEPS)) return;
  ssize_t unused = write(bell->number, &one, sizeof one);
  (void)unused;
}

/* ---- take ---- */

static uint64_t epoll_left_ns(uint64_t deadline_ns) {
  uint64_t now_ns = volt_now_ns();
  return deadline_ns > now_ns ? deadline_ns - now_ns : 0;
}

/* Rounded up, because a sleep that ends early is another sleep. */
static int epoll_wait_ms(volt_epoll_ *e, struct epoll_event *events, uint64_t deadline_ns) {
  uint64_t left_ns = epoll_left_ns(deadline_ns);
  uint64_t left_ms = left_ns / 1000000 + (left_ns % 1000000 != 0);
  int timeout = left_ms > 3600000 ? 3600000 : (int)left_ms;
  return epoll_wait(e->number, events, EVENTS, timeout);
}

/* Not every libc has a function for it. The system takes 64 bits for each part, on all machines. */
static int epoll_wait_ns(volt_epoll_ *e, struct epoll_event *events, uint64_t left_ns) {
  const int64_t left[2] = {(int64_t)(left_ns / 1000000000), (int64_t)(left_ns % 1000000000)};
  return (int)syscall(SYS_epoll_pwait2, e->number, events, EVENTS, left, NULL, (size_t)0);
}

static int epoll_wait_for(volt_epoll_ *e, struct epoll_event *events, uint64_t deadline_ns) {
  if (deadline_ns == 0) return epoll_wait(e->number, events, EVENTS, 0);
  if (deadline_ns == VOLT_NO_DEADLINE) return epoll_wait(e->number, events, EVENTS, -1);
  if (e->has_no_pwait2) return epoll_wait_ms(e, events, deadline_ns);
  return epoll_wait_ns(e, events, epoll_left_ns(deadline_ns));
}

/* self: the worker that this thread sleeps as; UINT32_MAX: none. Returns how many it has reported. */
static unsigned epoll_report(volt_epoll_ *e, const struct epoll_event *events, int count,
                             uint32_t self) {
  unsigned reported = 0;
  for (int i = 0; i < count; i++) {
    uint64_t data = events[i].data.u64;
    uint32_t name = (uint32_t)data;
    uint32_t mark = (uint32_t)(data >> 32);
    if (mark == 0) {
      if (name != self) epoll_pass_on(e, name);
    } else if (volt_watched_report_(&e->table, name, mark, events[i].events)) {
      reported += 1;
    }
  }
  return reported;
}

unsigned volt_epoll_sleep_(volt_epoll_ *e, unsigned worker, uint64_t deadline_ns) {
  struct epoll_event events[EVENTS];
  VOLT_ATOMIC(uint32_t) *state = &e->bells[worker].state;
  int before = errno;
  /* relaxed, no data: what the ring is for has its own order (parking.c) */
  bool was_rung = volt_fetch_or_relaxed(state, SLEEPS) & RUNG;
  int count = epoll_wait_for(e, events, was_rung ? 0 : deadline_ns);
  volt_fetch_and_relaxed(state, 0); /* relaxed, no data: the same as above */
  unsigned found = epoll_report(e, events, count, worker);
  errno = before;
  return found;
}

bool volt_epoll_take_(volt_epoll_ *e) {
  struct epoll_event events[EVENTS];
  int before = errno;
  int count = epoll_wait(e->number, events, EVENTS, 0);
  (void)epoll_report(e, events, count, UINT32_MAX);
  errno = before;
  return count == EVENTS;
}

unsigned volt_epoll_check_(volt_epoll_ *e) {
  /* relaxed, no data: it says which thread looks */
  if (volt_exchange_relaxed(&e->is_checked, 1)) return 0;
  struct epoll_event events[EVENTS];
  int before = errno;
  int count = epoll_wait(e->number, events, EVENTS, 0);
  volt_store_relaxed(&e->is_checked, 0); /* as above */
  unsigned found = epoll_report(e, events, count, UINT32_MAX);
  errno = before;
  return found;
}

/* ---- the driver ---- */

typedef struct epoll_io {
  volt_io_ io; /* first */
  volt_epoll_ epoll;
  bool is_by_hand;
} epoll_io;

static volt_epoll_ *epoll_of(volt_driver_ *driver) {
  return &volt_container_of(volt_io_of_driver_(driver), epoll_io, io)->epoll;
}

static bool epoll_is_by_hand(volt_driver_ *driver) {
  return volt_container_of(volt_io_of_driver_(driver), epoll_io, io)->is_by_hand;
}

static void epoll_begin(volt_driver_ *driver, unsigned worker) {
  (void)driver, (void)worker; /* a worker has no share of its own */
}

static unsigned epoll_check(volt_driver_ *driver, unsigned worker) {
  (void)worker;
  volt_epoll_ *e = epoll_of(driver);
  bool is_due = volt_epoll_watches_(e) || epoll_is_by_hand(driver);
  return is_due ? volt_epoll_check_(e) : 0;
}

static bool epoll_must_sleep(volt_driver_ *driver, unsigned worker, bool is_keeper) {
  (void)driver, (void)worker;
  return is_keeper;
}

static bool epoll_wants_keeper(volt_driver_ *driver) {
  return volt_epoll_watches_(epoll_of(driver));
}

static unsigned epoll_sleep_in(volt_driver_ *driver, unsigned worker, uint64_t deadline_ns) {
  return volt_epoll_sleep_(epoll_of(driver), worker, deadline_ns);
}

static int epoll_descriptor(volt_driver_ *driver) {
  return epoll_of(driver)->number;
}

static bool epoll_is_used(volt_driver_ *driver) {
  return volt_epoll_is_used_(epoll_of(driver));
}

static void epoll_destroy(volt_driver_ *driver) {
  volt_watched_check_disowned_(&epoll_of(driver)->table, volt_io_of_driver_(driver)->rt);
  volt_naps_end_(&epoll_of(driver)->naps);
  volt_epoll_destroy_(epoll_of(driver));
  free(volt_container_of(volt_io_of_driver_(driver), epoll_io, io));
}

static const volt_driver_ops_ epoll_driver_ops = {.name = "epoll",
                                                  .begin = epoll_begin,
                                                  .check = epoll_check,
                                                  .must_sleep = epoll_must_sleep,
                                                  .wants_keeper = epoll_wants_keeper,
                                                  .sleep = epoll_sleep_in,
                                                  .end = epoll_begin,
                                                  .descriptor = epoll_descriptor,
                                                  .is_used = epoll_is_used,
                                                  .destroy = epoll_destroy};

static int epoll_io_watch(volt_io_ *io, volt_fd *d, uint32_t *mark) {
  int result = volt_epoll_watch_(epoll_of(&io->driver), d, mark);
  if (result == VOLT_OK) volt_rt_keeper_wanted_(io->rt); /* it may be the first */
  return result;
}

static void epoll_io_unwatch(volt_io_ *io, volt_fd *d) {
  volt_epoll_unwatch_(epoll_of(&io->driver), d);
}

static int epoll_io_nap(volt_io_ *io, volt_fd *d, uint32_t mark, uint32_t ticks) {
  return volt_nap_(&epoll_of(&io->driver)->naps, d->number, mark, ticks);
}

static const volt_io_ops_ epoll_io_ops = {
    .watch = epoll_io_watch, .unwatch = epoll_io_unwatch, .nap = epoll_io_nap};

/* Whether the system knows epoll_pwait2() (Linux 5.11), and allows it. */
static bool epoll_has_pwait2(volt_epoll_ *e) {
  struct epoll_event events[EVENTS];
  return epoll_wait_ns(e, events, 0) >= 0;
}

static int epoll_add_doorbells(epoll_io *self, const volt_rt_config *config, const int *doorbell) {
  unsigned count = self->is_by_hand ? 1 : config->workers;
  int result = VOLT_OK;
  for (unsigned i = 0; i < count && result == VOLT_OK; i++) {
    result = volt_epoll_add_doorbell_(&self->epoll, i, doorbell[i]);
  }
  return result;
}

int volt_epoll_create_(volt_driver_ **out, volt_rt *rt, const volt_rt_config *config,
                       const int *doorbell) {
  if (config->flags & VOLT_RT_VIRTUAL_CLOCK) return VOLT_EINVAL;
  epoll_io *self = (epoll_io *)calloc(1, sizeof *self);
  if (!self) return VOLT_ENOMEM;
  self->io.driver.ops = &epoll_driver_ops;
  self->io.rt = rt;
  self->io.ops = &epoll_io_ops;
  self->io.sys = &volt_sys_real_;
  self->is_by_hand = config->flags & VOLT_RT_BY_HAND;
  int before = errno;
  int result = volt_epoll_init_(&self->epoll);
  if (result == VOLT_OK) {
    self->io.numbers = &self->epoll.table;
    volt_naps_init_(&self->epoll.naps, rt, &self->epoll.table);
    self->epoll.has_no_pwait2 = !epoll_has_pwait2(&self->epoll);
    result = epoll_add_doorbells(self, config, doorbell);
    if (result != VOLT_OK) volt_epoll_destroy_(&self->epoll);
  }
  errno = before;
  if (result != VOLT_OK) {
    free(self);
    return result;
  }
  *out = &self->io.driver;
  return VOLT_OK;
}
