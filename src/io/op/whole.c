/* whole.c: operations that the back end does as a whole, such as io_uring.
 *
 * Algorithm: the owner queues the operation in the list of its descriptor and submits it, on the
 * worker op->home. The back end reports the result there. To end one early, a thread sets is_asked
 * and ends_due under the lock, and calls the back end's cancel(). Then two reports are due, in any
 * order, and the later of them makes it OVER. So no report can come for a later use of the same
 * memory.
 *
 *   report             not asked          asked
 *   a part of a send   submitted again    as asked; n says how much was sent
 *   accept() skips it  submitted again    as asked
 *   -EAGAIN, -EINTR    submitted again    as asked
 *   -ECANCELED         OVER: its result   as asked
 *   else               OVER: its result   OVER: its result
 *
 *   asked (is_asked)                      becomes
 *   CLOSED, with or without others        OVER: VOLT_ECLOSED
 *   GO_BY_CALL alone                      WOKEN: its owner goes on by CALL
 *   else                                  OVER: VOLT_ECANCELED
 *
 * Races
 *   R4  Interleaving: the back end has reported a part, and is about to be given the rest; another
 *       thread asks the operation to end. Prevented by: is_asked is read, and set, under the lock.
 *       If it is set later, the thread that sets it calls cancel(), and the worker takes that up
 *       after the submission, because it is the same worker.
 *   R5  Interleaving: the report of a cancel comes; the owner frees the operation, and its own
 *       report comes. Prevented by: the report that comes later grants.
 *   R6  Interleaving: two workers each drop an operation whose home is the other; each waits for
 *       the other's report. Prevented by: a worker that waits takes up the reports of its own share
 *       meanwhile (volt_op_await_()).
 *   R14 Interleaving: a thread that is no worker asks an operation to end, and leaves that for its
 *       home; the home reports the end, the descriptor is closed, and its runtime ends; the thread
 *       wakes the home, or waits, by means of the runtime. Prevented by: the owner holds the
 *       operation until it uses the back end no more (op.h R1). A fiber that is suspended meanwhile
 *       does not use it.
 *
 * Labels: io */
#include <errno.h>

#include "backend.h"
#include "fd.h"
#include "op.h"

/* ---- begin, ask ---- */

int volt_op_begin_whole_(volt_op *op, volt_ctx *ctx, unsigned worker) {
  volt_fd *d = op->fd;
  volt_io_ *io = d->io;
  volt_short_lock_lock_(&d->lock);
  int result = volt_op_enter_(op);
  if (result == VOLT_OK) {
    op->mode = VOLT_OP_WHOLE_;
    op->home = (uint16_t)worker;
    volt_op_link_(op);
    volt_waiter_arm_(&op->as.future.waiter, op, ctx->waker);
    VOLT_PROBE_ARMED(wait__begin, &op->as.future.waiter);
    volt_op_set_stage_(op, VOLT_OP_WAITING_);
  }
  volt_short_lock_unlock_(&d->lock);
  if (result != VOLT_OK) return result;
  volt_count_from_outside_(VOLT_KIND_IO_, VOLT_COUNTER_WAITS_, 1);
  (void)volt_leaf_registered_(&op->as.future, ctx);
  io->ops->submit(io, op);
  return VOLT_PENDING;
}

bool volt_op_ask_(volt_op *op, unsigned why) {
  bool is_first = op->is_asked == 0;
  op->is_asked = (uint8_t)(op->is_asked | why);
  if (!is_first || volt_op_stage_(op) != VOLT_OP_WAITING_) return false;
  op->ends_due = 1;
  return true;
}

/* ---- reports ---- */

/* What the result of an operation is that has ended because it was asked to. */
static int whole_asked_result(const volt_op *op) {
  return op->is_asked & VOLT_OP_CLOSED_ ? VOLT_ECLOSED : VOLT_ECANCELED;
}

/* The lock is held, and this unlocks. All that is due has been reported. */
static void whole_over(volt_op *op) {
  volt_fd *d = op->fd;
  if (op->result == VOLT_ECANCELED) op->result = whole_asked_result(op);
  bool goes_on = op->result == VOLT_ECANCELED && op->is_asked == VOLT_OP_GO_BY_CALL_;
  uint8_t to = goes_on ? VOLT_OP_WOKEN_ : VOLT_OP_OVER_;
  volt_claims_ claims;
  claims.count = 0;
  volt_claims_add_(&claims, &op->as.future.waiter);
  uint8_t step = (uint8_t)(to - volt_op_stage_(op));
  /* io:O1 -> io:H1: the owner sees the result. Added, because the owner may hold it now */
  uint8_t before = volt_fetch_add_acq_rel(&op->stage, step);
  if (!goes_on && !(before & VOLT_OP_HELD_)) { /* op.h R1; else its owner does this */
    volt_op_unlink_from_(d, op->prev, op->next);
    volt_op_leave_(op, &claims);
  }
  volt_short_lock_unlock_(&d->lock);
  volt_claims_grant_(&claims);
}

/* -ECANCELED of an operation that was not asked to end is what the system call says. */
static bool whole_was_ended(const volt_op *op, int got) {
  return got == -EINTR || got == -EAGAIN || (got == -ECANCELED && op->is_asked);
}

/* The lock is held. Returns whether it is done; then result stands. */
static bool whole_take(volt_op *op, int got, int kind) {
  int result = VOLT_OK;
  bool is_done = false;
  if (op->kind == VOLT_OP_OPEN_ && got >= 0) {
    volt_fd_take_number_(op->fd, got, (unsigned)kind);
    is_done = true;
  } else if (!whole_was_ended(op, got)) {
    is_done = volt_op_take_(op, got, &result);
  }
  if (!is_done && op->is_asked) {
    result = whole_asked_result(op);
    is_done = true;
  }
  if (is_done) op->result = result;
  return is_done;
}

void volt_op_ended_(volt_op *op, int result) {
  volt_fd *d = op->fd;
  volt_io_ *io = d->io;
  int kind;
  result = volt_op_opened_(op, result, &kind);
  volt_short_lock_lock_(&d->lock);
  if (!whole_take(op, result, kind)) {
    volt_short_lock_unlock_(&d->lock);
    io->ops->submit(io, op); /* R4 */
  } else if (op->ends_due) {
    volt_fetch_add_relaxed(&op->stage, VOLT_OP_ENDED_ - VOLT_OP_WAITING_); /* under the lock; R5 */
    volt_short_lock_unlock_(&d->lock);
  } else {
    whole_over(op);
  }
}

void volt_op_cancel_ended_(volt_op *op) {
  volt_fd *d = op->fd;
  volt_short_lock_lock_(&d->lock);
  op->ends_due = 0;
  if (volt_op_stage_(op) == VOLT_OP_ENDED_) {
    whole_over(op); /* R5 */
  } else {
    volt_short_lock_unlock_(&d->lock);
  }
}

bool volt_op_is_over_(volt_op *op) {
  return volt_op_stage_(op) != VOLT_OP_WAITING_; /* this thread alone reports it */
}

/* ---- poll, cancel ---- */

/* Ask it to end (why; 0: do not). The owner holds it and has the lock; this unlocks for the call of
 * cancel(), and locks again. R14 */
static void whole_ask(volt_op *op, unsigned why) {
  volt_fd *d = op->fd;
  if (!why || !volt_op_ask_(op, why)) return;
  volt_short_lock_unlock_(&d->lock);
  d->io->ops->cancel(d->io, op);
  volt_short_lock_lock_(&d->lock);
}

/* The lock is held. Whether the back end is to report it. */
static bool whole_is_under_way(const volt_op *op) {
  unsigned stage = volt_op_stage_(op);
  return stage != VOLT_OP_OVER_ && stage != VOLT_OP_WOKEN_;
}

/* The owner holds it and has the lock; this gives up both. Returns true: it is under way; false: the
 * owner goes on. */
static bool whole_let_go(volt_op *op) {
  volt_fd *d = op->fd;
  unsigned stage = volt_op_stage_(op);
  bool is_under_way = whole_is_under_way(op);
  if (stage == VOLT_OP_OVER_) {
    (void)volt_op_end_over_(op);
  } else {
    volt_op_set_stage_(op, (uint8_t)stage);
    volt_short_lock_unlock_(&d->lock);
  }
  return is_under_way;
}

/* The owner asks it to end (why, or 0), and sets the waker of ctx. Returns as whole_let_go(). */
static bool whole_wait_on(volt_op *op, unsigned why, volt_ctx *ctx) {
  if (!volt_op_hold_(op)) return false;
  volt_short_lock_lock_(&op->fd->lock);
  whole_ask(op, why);
  if (!whole_is_under_way(op) || volt_op_has_waker_(op, ctx)) return whole_let_go(op);
  (void)volt_op_wait_on_(op, ctx);
  return true;
}

int volt_op_poll_whole_(volt_op *op, volt_ctx *ctx) {
  unsigned why = 0;
  if (ctx->decision && !volt_op_needs_pool_(op)) why = VOLT_OP_GO_BY_CALL_;
  if (ctx->cancel != VOLT_CTX_GO_ON) why |= VOLT_OP_CANCEL_;
  if (volt_waiter_result(&op->as.future.waiter) == VOLT_PENDING) {
    if (!why && volt_op_has_waker_(op, ctx)) return VOLT_PENDING;
    if (whole_wait_on(op, why, ctx)) return VOLT_PENDING;
  }
  return ctx->cancel != VOLT_CTX_GO_ON ? volt_op_obey_(op, ctx) : volt_op_go_on_(op, ctx);
}

void volt_op_cancel_whole_(volt_op *op) {
  if (volt_waiter_result(&op->as.future.waiter) != VOLT_PENDING || !volt_op_hold_(op)) return;
  volt_fd *d = op->fd;
  volt_io_ *io = d->io;
  volt_short_lock_lock_(&d->lock);
  whole_ask(op, VOLT_OP_CANCEL_);
  if (whole_is_under_way(op) && !volt_op_suspends_(io)) {
    volt_short_lock_unlock_(&d->lock);
    volt_op_await_(op, io); /* R14 */
    volt_short_lock_lock_(&d->lock);
  }
  if (whole_let_go(op)) volt_future_await_end_(&op->as.future);
}
