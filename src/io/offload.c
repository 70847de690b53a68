/* offload.c: operations that a thread of the blocking pool does: regular files, where the back end
 * cannot.
 *
 * The future becomes one of the blocking pool (src/rt/blocking.c), with tables of its own here. The
 * operation is counted in volt_fd.calls from its first poll until the call has returned, or will
 * never be made, so a close waits for it (op.h I2). */
#include "../rt/blocking.h"
#include "op.h"

static void offload_leave(volt_op *op) {
  volt_fd *d = op->fd;
  volt_claims_ claims;
  claims.count = 0;
  volt_short_lock_lock_(&d->lock);
  d->calls -= 1;
  volt_op_leave_(op, &claims);
  volt_short_lock_unlock_(&d->lock);
  volt_claims_grant_(&claims);
}

/* It will never be called. */
static void offload_unrun(void *arg) {
  offload_leave((volt_op *)arg);
}

static int offload_open(volt_op *op) {
  const volt_sys_ *sys = op->fd->io->sys;
  int number = sys->open((int)op->at, (const char *)op->memory, (int)op->flags, (mode_t)op->size);
  if (number < 0) return VOLT_ERRNO(-number);
  int kind = sys->kind(number);
  op->fd->number = number;
  op->fd->kind = (uint8_t)kind;
  return VOLT_OK;
}

static int offload_call(void *arg) {
  volt_op *op = (volt_op *)arg;
  int result = VOLT_OK;
  if (op->kind == VOLT_OP_OPEN_) {
    result = offload_open(op);
  } else {
    while (!volt_op_take_(op, volt_op_call_(op), &result)) continue;
  }
  offload_leave(op);
  return result;
}

static volt_op *offload_op(volt_future *f) {
  return volt_op_of_(f);
}

static int offload_poll(volt_future *f, volt_ctx *ctx) {
  bool asked = ctx->cancel != VOLT_CTX_GO_ON;
  if (asked && (ctx->cancel == VOLT_CTX_CANCEL_ALL ||
                volt_blocking_remove_(&offload_op(f)->as.blocking))) {
    volt_future_cancel(f);
    if (volt_future_result_(f) == VOLT_ECANCELED) volt_ctx_obeyed_(ctx);
    return volt_future_result_(f);
  }
  volt_decision_ *decision = ctx->decision;
  ctx->decision = NULL; /* the select decides when it is ready */
  int result = volt_future_poll_leaf_(f, ctx);
  ctx->decision = decision;
  return result;
}

/* Close what was opened, and no poll has returned. */
static void offload_give_back(volt_future *f) {
  if (volt_blocking_outcome_(f) == VOLT_OK) volt_fd_close(offload_op(f)->fd);
}

#define OFFLOAD_TABLE(give_back_)                                                              \
  {                                                                                         \
    .start = volt_blocking_start_, .cancel = volt_blocking_cancel_,                         \
    .set_waker = volt_blocking_set_waker_, .give_back = (give_back_),                       \
    .outcome = volt_blocking_outcome_, .poll = offload_poll, .ends_itself = true               \
  }

static const volt_future_ops_ offload_moves = OFFLOAD_TABLE(NULL); /* what was moved stands */
static const volt_future_ops_ offload_opens = OFFLOAD_TABLE(offload_give_back);

int volt_op_begin_pool_(volt_op *op, volt_ctx *ctx) {
  volt_fd *d = op->fd;
  volt_short_lock_lock_(&d->lock);
  int result = volt_op_enter_(op);
  if (result == VOLT_OK) d->calls += 1;
  volt_short_lock_unlock_(&d->lock);
  if (result != VOLT_OK) return result;
  op->mode = VOLT_OP_POOL_;
  volt_blocking_make_(&op->as.blocking, d->rt, offload_call, offload_unrun, op);
  op->as.future.ops = op->kind == VOLT_OP_OPEN_ ? &offload_opens : &offload_moves;
  return offload_poll(&op->as.future, ctx);
}
