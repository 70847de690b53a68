/* fd.c: descriptors, which operations are under way on them, and what the back end reports.
 *
 * Races
 *   R2  Interleaving: a call says EAGAIN; the descriptor becomes ready, and the back end reports
 *       it, with no operation in the list; then the caller queues, and nothing wakes it. Prevented
 *       by: volt_fd.reports counts the reports. The caller reads it before the call, and queues
 *       only if it is the same under the lock; else it calls again (op.c).
 *   R3  Interleaving: a call takes all that there is; new data come, and are reported; then the
 *       caller notes that nothing is there. Prevented by: as R2.
 *
 * Labels: io */
#include <errno.h>

#include "../../rt/host/driver.h"
#include "../sys/sys.h"
#include "backend.h"
#include "fd.h"
#include "op.h"
#include "watched.h"

static const char fd_name[] = "volt_fd";

static const uint32_t fd_all_bits = POLLIN | POLLOUT;

static const volt_op *fd_unlocked_first(volt_fd *d) {
  volt_short_lock_lock_(&d->lock);
  const volt_op *first = d->waiting;
  if (!first) first = d->receiver;
  if (!first) first = d->sender;
  if (!first) first = d->closer;
  volt_short_lock_unlock_(&d->lock);
  return first;
}

void volt_fd_set_(volt_fd *d, volt_io_ *io, int number, unsigned kind) {
  d->rt = io->rt;
  d->io = io;
  volt_short_lock_init_(&d->lock);
  d->waiting = NULL;
  d->receiver = NULL;
  d->sender = NULL;
  d->closer = NULL;
  d->ready = fd_all_bits; /* not known: try */
  d->reports = 0;
  d->watched = 0;
  d->calls = 0;
  d->is_closing = 0;
  d->self = NULL;
  volt_fd_take_number_(d, number, kind);
}

void volt_fd_take_number_(volt_fd *d, int number, unsigned kind) {
  volt_watch_table *numbers = d->io->numbers;
  d->number = number;
  d->kind = (uint8_t)kind;
  d->stamp = numbers && number >= 0 ? volt_watched_own_(numbers, number) : 0;
}

static void fd_check_own(const volt_fd *d, const char *where, bool is_own) {
  VOLT_CHECK(is_own, where, "%p (descriptor %d): it is a copy, and the number was given up already",
             (const void *)d, d->number);
}

int volt_fd_give_number_(volt_fd *d, const char *where) {
  int number = d->number;
  fd_check_own(d, where, !d->stamp || volt_watched_disown_(d->io->numbers, number, d->stamp));
  d->number = -1;
  d->stamp = 0;
  return number;
}

/* ---- what begins and ends on it ---- */

static VOLT_NOINLINE void fd_refuse(volt_fd *d, volt_op *op, volt_op *other) {
  int number = d->number;
  volt_short_lock_unlock_(&d->lock);
  volt_panic_(fd_name, "%p (descriptor %d): operation %p begins, but %p %s already", (void *)d,
              number, (void *)op, (void *)other,
              volt_op_place_(op) == &d->receiver ? "receives" : "sends");
}

/* As it opens a file, no number keeps its back end (watched.c R13). */
static void fd_expect_number(const volt_op *op, void (*expect)(volt_watch_table *numbers)) {
  if (op->kind != VOLT_OP_OPEN_) return;
  volt_watch_table *numbers = op->fd->io->numbers;
  if (numbers) expect(numbers);
}

int volt_op_enter_(volt_op *op) {
  volt_fd *d = op->fd;
  if (d->is_closing || (d->number < 0 && op->kind != VOLT_OP_OPEN_)) return VOLT_ECLOSED;
  VOLT_CHECK(!d->watched || d->self == d, fd_name,
             "%p (descriptor %d) was moved from %p after an operation had waited", (void *)d,
             d->number, (void *)d->self);
  fd_expect_number(op, volt_watched_expect_);
  VOLT_PLAIN(volt_op *) *place = volt_op_place_(op);
  if (!place) return VOLT_OK;
  if (*place) fd_refuse(d, op, *place);
  *place = op;
  return VOLT_OK;
}

void volt_fd_claim_closer_(volt_fd *d, volt_claims_ *claims) {
  volt_op *closer = d->closer;
  if (!closer || d->waiting || d->calls > 0) return;
  d->closer = NULL;
  volt_claims_add_(claims, &closer->as.future.waiter); /* op.h I4 */
}

void volt_op_leave_(volt_op *op, volt_claims_ *claims) {
  VOLT_PLAIN(volt_op *) *place = volt_op_place_(op);
  if (place) {
    VOLT_ASSERT(*place == op);
    *place = NULL;
  }
  volt_fd_claim_closer_(op->fd, claims);
  fd_expect_number(op, volt_watched_expect_no_more_);
}

void volt_op_close_(volt_op *op, volt_claims_ *claims) {
  volt_fd *d = op->fd;
  volt_op *prev = op->prev;
  volt_op *next = op->next;
  VOLT_PLAIN(volt_op *) *place = volt_op_place_(op);
  uint8_t stage = (uint8_t)volt_op_stage_(op);
  bool waits = stage == VOLT_OP_WAITING_;
  if (waits) volt_claims_add_(claims, &op->as.future.waiter);
  op->result = VOLT_ECLOSED;
  /* io:O1 -> io:H1: the owner sees the result. A CAS, because the owner may hold it now */
  if (!volt_cas_acq_rel(&op->stage, &stage, VOLT_OP_OVER_)) { /* op.h R1 */
    if (waits) claims->count -= 1;
    return;
  }
  /* if it was WOKEN, it may be gone */
  volt_op_unlink_from_(d, prev, next);
  if (place) *place = NULL;
}

/* ---- what the back end reports ---- */

/* Whether a report of bits is one that op waits for. 0: every operation calls again. */
static bool fd_wakes(const volt_op *op, uint32_t bits) {
  if (op->mode != VOLT_OP_CALL_ || volt_op_stage_(op) != VOLT_OP_WAITING_) return false;
  return bits == 0 || (volt_op_events_(op) & bits) != 0;
}

bool volt_fd_claim_ready_(volt_fd *d, uint32_t bits, volt_claims_ *claims) {
  bool more = false;
  volt_short_lock_lock_(&d->lock);
  d->ready |= bits;
  d->reports += 1;
  for (volt_op *op = d->waiting; op; op = op->next) {
    volt_op_check_listed_(op, d);
    if (!fd_wakes(op, bits)) continue;
    if (claims->count == VOLT_IO_BATCH) {
      more = true;
      break;
    }
    if (op->kind == VOLT_OP_READY_) op->n = volt_op_events_(op) & bits; /* that is its result */
    volt_claims_add_(claims, &op->as.future.waiter);
    /* relaxed, by short_lock:U1: an RMW, because its owner may hold it now */
    volt_fetch_or_relaxed(&op->stage, VOLT_OP_WOKEN_);
  }
  volt_short_lock_unlock_(&d->lock);
  return more;
}

void volt_fd_became_ready_(volt_fd *d, uint32_t bits) {
  bool more = true;
  while (more) {
    volt_claims_ claims;
    claims.count = 0;
    more = volt_fd_claim_ready_(d, bits, &claims);
    volt_claims_grant_(&claims);
  }
}

/* ---- watched ---- */

#define BEING_WATCHED UINT32_MAX

/* The lock is held. The back end cannot watch d: wake all that wait, and each of them tries. */
static void fd_unwatched(volt_fd *d) {
  d->watched = 0;
  volt_short_lock_unlock_(&d->lock);
  volt_fd_became_ready_(d, 0);
  volt_short_lock_lock_(&d->lock);
}

/* Have the back end watch d. Returns VOLT_OK, also if another thread is about to do it. */
static int fd_watch(volt_fd *d) {
  if (d->watched) return VOLT_OK;
  uint32_t mark = 0;
  d->watched = BEING_WATCHED;
  d->self = d;
  volt_short_lock_unlock_(&d->lock);
  int result = d->io->ops->watch(d->io, d, &mark);
  volt_short_lock_lock_(&d->lock);
  if (result == VOLT_OK) {
    d->watched = mark;
  } else {
    fd_unwatched(d);
  }
  return result;
}

static const uint32_t fd_longest_nap = 4; /* ticks */

/* Have the back end report it in a while. */
static int fd_nap(volt_fd *d, volt_op *op) {
  uint32_t mark = d->watched;
  if (!d->io->ops->nap) return VOLT_OK;
  if (mark == BEING_WATCHED) return VOLT_EAGAIN;
  op->flags = op->flags == 0 ? 1 : op->flags < fd_longest_nap ? 2 * op->flags : fd_longest_nap;
  volt_short_lock_unlock_(&d->lock);
  int result = d->io->ops->nap(d->io, d, mark, op->flags);
  volt_short_lock_lock_(&d->lock);
  return result;
}

int volt_op_watch_(volt_op *op, bool was_called) {
  int result = fd_watch(op->fd);
  bool must_nap = op->kind == VOLT_OP_CONNECT_ && op->at == 0 && was_called;
  return result == VOLT_OK && must_nap ? fd_nap(op->fd, op) : result;
}

void volt_fd_unwatch_(volt_fd *d) {
  if (d->watched) d->io->ops->unwatch(d->io, d);
  d->watched = 0;
}

/* ---- the public calls ---- */

int volt_fd_prepare_(const volt_sys_ *sys, int number) {
  int kind = sys->kind(number);
  if (kind < 0 || kind == VOLT_FD_FILE_) return kind;
  int result = sys->unblock(number);
  return result < 0 ? result : kind;
}

/* As volt_fd_prepare_(), of a descriptor that stays as it is. */
static int fd_kind_of_shared(const volt_sys_ *sys, int number) {
  int kind = sys->kind(number);
  return kind < 0 || kind == VOLT_FD_FILE_ ? kind : VOLT_FD_POLLED_;
}

static VOLT_NOINLINE void fd_warn_no_io(volt_rt *rt) {
  static VOLT_ATOMIC(uint32_t) has_warned;
  if (volt_exchange_relaxed(&has_warned, 1) != 0) return; /* relaxed, no data: the first says so */
  volt_warn_("volt/io.h",
             "runtime %p does no I/O: its volt_rt_config needs .io = volt_io_auto() (said once)",
             (void *)rt);
}

volt_io_ *volt_io_of_(volt_rt *rt) {
  volt_driver_ *driver = volt_rt_driver_(rt);
  if (driver) return volt_io_of_driver_(driver);
  fd_warn_no_io(rt);
  return NULL;
}

int volt_fd_init(volt_fd *d, volt_rt *rt, int number, unsigned flags) {
  volt_io_ *io = volt_io_of_(rt);
  if (!io || flags > VOLT_FD_SHARED) return VOLT_EINVAL;
  int kind = flags & VOLT_FD_SHARED ? fd_kind_of_shared(io->sys, number)
                                    : volt_fd_prepare_(io->sys, number);
  if (kind < 0) return VOLT_ERRNO(-kind);
  if (io->numbers && volt_watched_is_owned_(io->numbers, number)) return VOLT_ERRNO(EEXIST);
  volt_fd_set_(d, io, number, (unsigned)kind);
  return VOLT_OK;
}

int volt_fd_number(const volt_fd *d) {
  return d->io ? d->number : -1;
}

void volt_fd_check_idle_(volt_fd *d, const char *where) {
  const volt_op *op = fd_unlocked_first(d);
  VOLT_CHECK(!op && d->calls == 0, where, "%p (descriptor %d): operation %p is under way",
             (void *)d, d->number, (const void *)op);
}

int volt_fd_detach(volt_fd *d) {
  if (!d->io || d->number < 0) return -1;
  volt_fd_check_idle_(d, "volt_fd_detach");
  volt_fd_unwatch_(d);
  return volt_fd_give_number_(d, "volt_fd_detach");
}

/* The number belongs to one of the two at any time (watched.c R13). */
void volt_fd_move_(volt_fd *to, volt_fd *from) {
  if (!from->io || from->number < 0) return;
  volt_fd_check_idle_(from, "volt_fd_move");
  volt_fd_unwatch_(from);
  fd_check_own(from, "volt_fd_move",
               !from->stamp || volt_watched_is_of_(from->io->numbers, from->number, from->stamp));
  volt_fd_set_(to, from->io, from->number, from->kind);
  from->number = -1;
  from->stamp = 0;
}

void volt_fd_close(volt_fd *d) {
  if (!d->io || d->number < 0) return;
  volt_fd_check_idle_(d, "volt_fd_close");
  volt_fd_unwatch_(d);
  const volt_sys_ *sys = d->io->sys;
  sys->close(volt_fd_give_number_(d, "volt_fd_close"));
}
