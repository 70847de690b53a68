/* close.c: to close a descriptor that operations are under way on.
 *
 * Algorithm: is_closing is set, so no operation begins. Those that wait for readiness end at once;
 * those that the back end does are asked to end. The last that leaves the descriptor grants the
 * closer (op.h I4). The next poll of the closer makes the system call. */
#include "../sys/sys.h"
#include "fd.h"
#include "op.h"

/* The lock is held, and free meanwhile: ask one operation to end that was not asked. Returns false
 * if there is none. */
static bool close_ask_one(volt_fd *d) {
  for (volt_op *op = d->waiting; op; op = op->next) {
    if (op->mode != VOLT_OP_WHOLE_ || op->is_asked & VOLT_OP_CLOSED_) continue;
    bool must_cancel = volt_op_ask_(op, VOLT_OP_CLOSED_);
    if (!must_cancel) continue;
    volt_short_lock_unlock_(&d->lock);
    d->io->ops->cancel(d->io, op);
    volt_short_lock_lock_(&d->lock);
    return true;
  }
  return false;
}

/* The lock is held. End what waits for readiness, as many as there is room for. Returns whether
 * there may be more. */
static bool close_end_some(volt_fd *d, volt_claims_ *claims) {
  volt_op *next;
  for (volt_op *op = d->waiting; op; op = next) {
    volt_op_check_listed_(op, d);
    next = op->next;
    if (op->mode == VOLT_OP_WHOLE_ && volt_op_stage_(op) != VOLT_OP_WOKEN_) continue;
    if (claims->count == VOLT_IO_BATCH) return true;
    volt_op_close_(op, claims);
  }
  return false;
}

/* End what is under way. d->closer is not set yet, so d lives. While one is asked, another that
 * goes on by CALL may become WOKEN: that is ended in the next round. */
static void close_end_all(volt_fd *d) {
  bool more = true;
  while (more) {
    volt_claims_ claims;
    claims.count = 0;
    volt_short_lock_lock_(&d->lock);
    more = close_end_some(d, &claims) || close_ask_one(d);
    volt_short_lock_unlock_(&d->lock);
    volt_claims_grant_(&claims);
  }
}

/* Nothing is under way: close. Returns the result. */
static int close_now(volt_op *op) {
  volt_fd *d = op->fd;
  volt_fd_unwatch_(d);
  volt_short_lock_lock_(&d->lock); /* another thread may begin an operation: it finds d closed */
  const volt_sys_ *sys = d->number < 0 ? NULL : d->io->sys; /* watched.c R13 */
  int number = d->number < 0 ? -1 : volt_fd_give_number_(d, "volt_fd_close_future");
  d->is_closing = 0;
  volt_short_lock_unlock_(&d->lock);
  int closed = number < 0 ? 0 : sys->close(number);
  return closed < 0 ? VOLT_ERRNO(-closed) : VOLT_OK;
}

/* Returns VOLT_OK: nothing is under way; VOLT_PENDING; or VOLT_EINVAL. */
static int close_start(volt_future *f, volt_waker waker) {
  volt_op *op = volt_op_of_(f);
  volt_fd *d = op->fd;
  if (!d->io) return VOLT_OK; /* all-zero */
  volt_short_lock_lock_(&d->lock);
  bool is_first = !d->is_closing;
  d->is_closing = 1;
  volt_short_lock_unlock_(&d->lock);
  if (!is_first) return VOLT_EINVAL;
  close_end_all(d);
  volt_waiter_arm_(&f->waiter, op, waker);
  volt_short_lock_lock_(&d->lock);
  bool is_idle = !d->waiting && d->calls == 0;
  if (!is_idle) d->closer = op;
  volt_op_note_number_(op, d->number);
  volt_short_lock_unlock_(&d->lock);
  if (!is_idle) volt_count_from_outside_(VOLT_KIND_IO_, VOLT_COUNTER_WAITS_, 1);
  if (!is_idle) return VOLT_PENDING;
  volt_store_relaxed(&f->waiter.state, VOLT_WAITER_UNUSED_); /* the owner's own again */
  return close_now(op);
}

/* Wait until nothing is under way: a close is not given up. Returns false. */
static bool close_cancel(volt_future *f) {
  volt_op *op = volt_op_of_(f);
  volt_op_await_(op, op->fd->io);
  return false;
}

static bool close_set_waker(volt_future *f, volt_waker waker) {
  volt_op *op = volt_op_of_(f);
  volt_fd *d = op->fd;
  volt_short_lock_lock_(&d->lock); /* it lives until this future is ready */
  bool waits = d->closer == op;
  if (waits) {
    f->waiter.wake = waker.wake;
    f->waiter.ctx = waker.ctx;
  }
  volt_short_lock_unlock_(&d->lock);
  if (!waits) (void)volt_waiter_await_(&f->waiter);
  return waits;
}

/* The grant says that nothing is under way any more. */
static int close_outcome(volt_future *f) {
  volt_op *op = volt_op_of_(f);
  if (op->result == VOLT_PENDING) op->result = close_now(op);
  return op->result;
}

static int close_poll(volt_future *f, volt_ctx *ctx) {
  bool has_begun = volt_future_is_waiting_(f);
  if (ctx->cancel == VOLT_CTX_CANCEL_ALL || (ctx->cancel != VOLT_CTX_GO_ON && !has_begun)) {
    volt_future_cancel(f);
    if (!has_begun) volt_ctx_obeyed_(ctx);
    return volt_future_result_(f);
  }
  volt_decision_ *decision = ctx->decision;
  ctx->decision = NULL; /* the select decides when it is ready */
  int result = volt_future_poll_leaf_(f, ctx);
  ctx->decision = decision;
  return result;
}

static const volt_future_ops_ close_ops = {.operation = "volt_fd_close",
                                           .kind = VOLT_KIND_IO_,
                                           .start = close_start,
                                           .cancel = close_cancel,
                                           .set_waker = close_set_waker,
                                           .outcome = close_outcome,
                                           .poll_ctx = volt_future_poll_any_,
                                           .poll = close_poll,
                                           .describe = volt_op_describe_,
                                           .ends_itself = true};

volt_future *volt_fd_close_future(volt_op *op, volt_fd *d) {
  volt_op_make_(op, d, VOLT_OP_CLOSE_, NULL, 0, 0);
  volt_future *f = volt_future_make_(&op->as.future, &close_ops, NULL, 0);
  volt_op_note_number_(op, -1);
  return f;
}
