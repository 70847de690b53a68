/* uring.c: the io_uring back end: one ring for each worker, and a driver of a runtime.
 *
 * Algorithm
 *   submit() stages an SQE in the ring of the worker that polls. Staged SQEs go to the system
 *   together: when the worker has nothing else to do, every so many polls (driver.h), or when the
 *   SQ is full.
 *   The system posts what has completed only in the worker's own system calls (DEFER_TASKRUN), and
 *   says by a flag in memory that there is something to post; so to look costs a few loads.
 *   A worker that waits for I/O sleeps in io_uring_enter(). Its doorbell, an eventfd, is watched by
 *   the ring, too; each ring completes once, so the counter is never read.
 *   An operation stays with its ring, whatever thread its task moves to, because only that ring can
 *   end it early. A thread elsewhere leaves the wish in the home's mailbox (mail.h).
 *   What waits for readiness (operations in a select, or of threads that are no workers) is in one
 *   epoll instance for all, which worker 0's ring watches from the first such wait on (epoll.c).
 *   By hand any thread may run the runtime, one at a time. There the ring has no single issuer. The
 *   system ends a request by itself, with ECANCELED, if the thread that has submitted it is gone;
 *   whole.c submits the operation again.
 *
 * Invariants
 *   I1  a ring is used by its worker alone; by hand by the thread that runs the runtime. Other
 *       threads use mail and is_watching alone
 *   I2  while in_flight > 0, the worker sleeps in its ring, not on its parker
 *   I3  if is_watching is set, worker 0 watches epoll, or has mail
 *   I4  an operation is its owner's again when its CQE, and that of its cancel if there is one,
 *       have been taken. So a cancel, which names the operation by its address, cannot hit a later
 *       one
 *
 * Races
 *   R1  Interleaving: a thread leaves mail as the home goes to sleep: mail.h R1.
 *   R2  Interleaving: two threads make the first two descriptors watched; worker 0 sleeps on its
 *       parker. Prevented by: the thread that sets is_watching says so to worker 0, which has mail
 *       until it watches epoll. idle:K2 and idle:D4 order the two, as for mail.
 *   R3  Interleaving: an operation completes as its cancel is on its way to the home. Prevented by:
 *       the home is the one thread that takes completions. If the operation is over, it answers the
 *       cancel itself; else it asks the system, which says so if it finds nothing. The operation's
 *       owner waits for both (volt_op.ends_due).
 *   R4  Interleaving: two workers wait each for an operation of the other's ring to end. Prevented
 *       by: a worker that waits looks at its own ring and mail (op.c).
 *   R5  Interleaving: a waker that is called as mail is taken drops another operation, whose cancel
 *       is in the same mail, and waits for its end. Prevented by: mail is taken out one by one,
 *       also by the look of that wait. No operation is in a list on the stack.
 *
 * Labels: uring */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* liburing.h */
#endif
#include "uring.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

#include "../../core/os/check.h"
#include "../../core/park/spin.h"
#include "../op/op.h"
#include "../op/watched.h"
#include "../sys/sys.h"
#include "nap.h"

enum { URING_SQ = 256, URING_CQ = 4096 };

static volt_uring_ *uring_of_driver(volt_driver_ *driver) {
  return volt_container_of(volt_io_of_driver_(driver), volt_uring_, io);
}

static volt_uring_ *uring_of_io(volt_io_ *io) {
  return volt_container_of(io, volt_uring_, io);
}

volt_uring_share_ *volt_uring_share_of_(volt_driver_ *driver, unsigned worker) {
  return &uring_of_driver(driver)->share[worker];
}

/* ---- operations ---- */

/* If a unix listener has no room, nothing reports when it has: nap.c. */
static bool uring_is_local_connect(const volt_op *op) {
  const struct sockaddr *to = (const struct sockaddr *)op->memory;
  return op->kind == VOLT_OP_CONNECT_ && op->size >= sizeof to->sa_family &&
         to->sa_family == AF_UNIX;
}

/* A poll of the ring ends when the peer has shut down its side, also if it was not asked for that:
 * a wait for room would be over although there is none. epoll reports what was asked for. */
static bool uring_is_deaf_to_the_end(const volt_op *op) {
  return op->kind == VOLT_OP_READY_ && !(op->flags & (POLLIN | POLLRDHUP));
}

/* What a read of these says is for a call to say: ECANCELED of a timerfd is its result, and the
 * ring's ECANCELED is not; and the ring ignores an offset where there is none. */
static bool uring_must_call(const volt_op *op) {
  enum { READS = 1 << VOLT_OP_READ_ | 1 << VOLT_OP_READV_ };
  enum { WRITES = 1 << VOLT_OP_WRITE_ | 1 << VOLT_OP_WRITEV_ };
  if (!volt_op_is_of_(op, READS | WRITES) || op->fd->kind == VOLT_FD_FILE_) return false;
  return op->at >= 0 || (op->fd->kind == VOLT_FD_EVENTS_ && volt_op_is_of_(op, READS));
}

static bool uring_does_whole(volt_io_ *io, const volt_op *op) {
  (void)io;
  if (uring_is_local_connect(op) || uring_is_deaf_to_the_end(op)) return false;
  if (uring_must_call(op)) return false;
  return op->kind != VOLT_OP_SENDFILE_ && op->kind != VOLT_OP_CLOSE_;
}

static void uring_submit(volt_io_ *io, volt_op *op) {
  volt_uring_share_ *s = &uring_of_io(io)->share[op->home];
  struct io_uring_sqe *sqe = volt_uring_sqe_(s);
  volt_uring_fill_in_(sqe, op);
  io_uring_sqe_set_data(sqe, op);
  s->in_flight += 1;
}

static void uring_cancel_here(volt_uring_share_ *s, volt_op *op) {
  struct io_uring_sqe *sqe = volt_uring_sqe_(s);
  io_uring_prep_cancel(sqe, op, 0);
  io_uring_sqe_set_data64(sqe, (uint64_t)(uintptr_t)op | 1);
  s->in_flight += 1;
}

static void uring_cancel(volt_io_ *io, volt_op *op) {
  volt_uring_share_ *s = &uring_of_io(io)->share[op->home];
  unsigned home = op->home;
  if (volt_rt_worker_here_(io->rt) == (int)home) {
    uring_cancel_here(s, op);
  } else {
    volt_mail_leave_(&s->mail, op);
    volt_rt_mail_left_(io->rt, home); /* R1 */
  }
}

/* The next operation that was left, or NULL. */
static volt_op *uring_next_mail(volt_uring_share_ *s) {
  if (!s->taken) s->taken = volt_mail_take_(&s->mail);
  volt_op *op = s->taken;
  if (op) s->taken = op->mail;
  return op;
}

/* Returns how much that has ended. */
static unsigned uring_take_mail(volt_uring_share_ *s) {
  unsigned ended = 0;
  for (volt_op *op; (op = uring_next_mail(s)) != NULL;) { /* R5 */
    s->counts.mails += 1;
    if (volt_op_is_over_(op)) {
      volt_op_cancel_ended_(op); /* R3 */
      ended += 1;
    } else {
      uring_cancel_here(s, op);
    }
  }
  return ended;
}

/* ---- readiness ---- */

static int uring_watch(volt_io_ *io, volt_fd *d, uint32_t *mark) {
  volt_uring_ *u = uring_of_io(io);
  int result = volt_epoll_watch_(&u->epoll, d, mark);
  if (result != VOLT_OK) return result;
  if (volt_load_relaxed(&u->is_watching)) return VOLT_OK; /* relaxed: R2 */
  /* relaxed, no data: the mail has its own order; R2 */
  if (volt_exchange_relaxed(&u->is_watching, 1) == 0) volt_rt_mail_left_(io->rt, 0);
  return VOLT_OK;
}

static void uring_unwatch(volt_io_ *io, volt_fd *d) {
  volt_epoll_unwatch_(&uring_of_io(io)->epoll, d);
}

static int uring_nap(volt_io_ *io, volt_fd *d, uint32_t mark, uint32_t ticks) {
  return volt_nap_(&uring_of_io(io)->epoll.naps, d->number, mark, ticks);
}

/* Whether this worker has to watch epoll, and does not yet. */
static bool uring_has_epoll_to_watch(const volt_uring_share_ *s) {
  if (s->index != 0 || (s->is_armed | s->to_arm) & VOLT_URING_EPOLL_) return false;
  return volt_load_relaxed(&s->uring->is_watching); /* R2 */
}

/* ---- driver ---- */

static void uring_begin(volt_driver_ *driver, unsigned worker) {
  volt_uring_share_ *s = volt_uring_share_of_(driver, worker);
  if (!s->uring->by_hand) volt_uring_enable_(s);
  s->to_arm = VOLT_URING_DOORBELL_;
  volt_uring_arm_(s);
  volt_uring_enter_(s);
}

static unsigned uring_check(volt_driver_ *driver, unsigned worker) {
  volt_uring_share_ *s = volt_uring_share_of_(driver, worker);
  unsigned ended = uring_take_mail(s);
  if (uring_has_epoll_to_watch(s)) s->to_arm |= VOLT_URING_EPOLL_;
  if (s->to_arm) volt_uring_arm_(s);
  if (volt_uring_is_due_(s)) volt_uring_enter_(s);
  return volt_uring_reap_(s) + ended;
}

static bool uring_must_sleep(volt_driver_ *driver, unsigned worker, bool is_keeper) {
  volt_uring_share_ *s = volt_uring_share_of_(driver, worker);
  (void)is_keeper;
  return s->in_flight > 0 || s->uring->by_hand || (s->is_armed & VOLT_URING_EPOLL_);
}

static bool uring_has_mail(volt_driver_ *driver, unsigned worker) {
  volt_uring_share_ *s = volt_uring_share_of_(driver, worker);
  return volt_mail_has_any_(&s->mail) || uring_has_epoll_to_watch(s);
}

static unsigned uring_sleep(volt_driver_ *driver, unsigned worker, uint64_t deadline_ns) {
  volt_uring_share_ *s = volt_uring_share_of_(driver, worker);
  unsigned found = uring_check(driver, worker);
  if (found == 0 && !s->is_rung) {
    if (s->to_arm) volt_uring_arm_(s); /* uring_ring.c R3 */
    volt_uring_wait_(s, deadline_ns);
    found = volt_uring_reap_(s);
  }
  s->is_rung = false;
  return found;
}

static void uring_end(volt_driver_ *driver, unsigned worker) {
  volt_uring_share_ *s = volt_uring_share_of_(driver, worker);
  VOLT_CHECK(s->in_flight == 0, "volt_rt_destroy", "%p: %u operations of worker %u are under way",
             (void *)s->uring->io.rt, s->in_flight, worker);
  static const unsigned watched[] = {VOLT_URING_DOORBELL_, VOLT_URING_EPOLL_};
  for (size_t i = 0; i < sizeof watched / sizeof *watched; i++) {
    if (!(s->is_armed & watched[i])) continue;
    struct io_uring_sqe *sqe = volt_uring_sqe_(s);
    io_uring_prep_cancel64(sqe, watched[i], 0);
    io_uring_sqe_set_data64(sqe, 0);
  }
  while (s->is_armed) {
    volt_uring_wait_(s, VOLT_NO_DEADLINE);
    volt_uring_reap_(s);
  }
  volt_uring_disable_(s);
}

static int uring_descriptor(volt_driver_ *driver) {
  return volt_uring_share_of_(driver, 0)->ring.ring_fd;
}

/* ---- create, destroy ---- */

static size_t uring_bytes(unsigned shares) {
  return sizeof(volt_uring_) + (shares - 1) * sizeof(volt_uring_share_);
}

static void uring_free_rings(volt_uring_ *u, unsigned count) {
  for (unsigned i = 0; i < count; i++) io_uring_queue_exit(&u->share[i].ring);
}

static bool uring_is_used(volt_driver_ *driver) {
  return volt_epoll_is_used_(&uring_of_driver(driver)->epoll);
}

static void uring_destroy(volt_driver_ *driver) {
  volt_uring_ *u = uring_of_driver(driver);
  volt_watched_check_disowned_(&u->epoll.table, u->io.rt);
  volt_naps_end_(&u->epoll.naps);
  uring_free_rings(u, u->shares);
  volt_epoll_destroy_(&u->epoll);
  u->allocator.free(u, uring_bytes(u->shares), u->allocator.ctx);
}

static void uring_share_init(volt_uring_ *u, unsigned i, const volt_uring_setup_ *setup,
                             int doorbell) {
  memset((void *)&u->share[i], 0, sizeof u->share[i]);
  volt_uring_share_ *s = VOLT_CONSTRUCT_(volt_uring_share_, &u->share[i]);
  s->calls = setup->calls;
  s->uring = u;
  s->doorbell = doorbell;
  s->index = i;
  volt_mail_init_(&s->mail);
}

static void uring_init(volt_uring_ *u, volt_rt *rt, const volt_rt_config *config, unsigned shares) {
  static const volt_driver_ops_ driver_ops = {
      .name = "io_uring",
      .begin = uring_begin,
      .check = uring_check,
      .must_sleep = uring_must_sleep,
      .has_mail = uring_has_mail,
      .sleep = uring_sleep,
      .end = uring_end,
      .descriptor = uring_descriptor,
      .is_used = uring_is_used,
      .destroy = uring_destroy,
  };
  static const volt_io_ops_ io_ops = {
      .watch = uring_watch,
      .unwatch = uring_unwatch,
      .nap = uring_nap,
      .does_whole = uring_does_whole,
      .submit = uring_submit,
      .cancel = uring_cancel,
  };
  u->io =
      (volt_io_){.driver = {.ops = &driver_ops}, .rt = rt, .ops = &io_ops, .sys = &volt_sys_real_};
  u->allocator = config->allocator;
  volt_store_relaxed(&u->is_watching, 0); /* not shared yet */
  u->io.numbers = &u->epoll.table;
  volt_naps_init_(&u->epoll.naps, rt, &u->epoll.table);
  u->by_hand = config->flags & VOLT_RT_BY_HAND;
  u->shares = shares;
}

/* Returns VOLT_OK; else no ring is left. */
static int uring_make_rings(volt_uring_ *u, const int *doorbell, const volt_uring_setup_ *setup) {
  for (unsigned i = 0; i < u->shares; i++) {
    uring_share_init(u, i, setup, doorbell[i]);
    int error = volt_uring_ring_init_(&u->share[i], setup, u->by_hand);
    if (error == 0) continue;
    uring_free_rings(u, i);
    return VOLT_ERRNO(-error);
  }
  return VOLT_OK;
}

static int uring_make(volt_uring_ *u, const int *doorbell, const volt_uring_setup_ *setup) {
  int result = volt_epoll_init_(&u->epoll);
  if (result != VOLT_OK) return result;
  result = uring_make_rings(u, doorbell, setup);
  if (result != VOLT_OK) volt_epoll_destroy_(&u->epoll);
  return result;
}

int volt_uring_create_with_(volt_driver_ **out, volt_rt *rt, const volt_rt_config *config,
                            const int *doorbell, const volt_uring_setup_ *setup) {
  if (config->flags & VOLT_RT_VIRTUAL_CLOCK) return VOLT_EINVAL;
  unsigned shares = config->flags & VOLT_RT_BY_HAND ? 1 : config->workers;
  const volt_rt_allocator *allocator = &config->allocator;
  volt_uring_ *u = (volt_uring_ *)allocator->alloc(uring_bytes(shares), allocator->ctx);
  if (!u) return VOLT_ENOMEM;
  int before = errno;
  uring_init(u, rt, config, shares);
  int result = uring_make(u, doorbell, setup);
  if (result == VOLT_OK) {
    *out = &u->io.driver;
  } else {
    allocator->free(u, uring_bytes(shares), allocator->ctx);
  }
  errno = before;
  return result;
}

int volt_uring_create_(volt_driver_ **out, volt_rt *rt, const volt_rt_config *config,
                       const int *doorbell) {
  static const volt_uring_setup_ setup = {
      .sq = URING_SQ, .cq = URING_CQ, .calls = &volt_uring_real_};
  return volt_uring_create_with_(out, rt, config, doorbell, &setup);
}
