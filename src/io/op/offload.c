/* offload.c: operations that a thread of the blocking pool does: regular files, where the back end
 * cannot.
 *
 * First the poller itself reads what is in memory already, without a thread: a read at an offset
 * that finds all there. In a select it leaves that to a thread, too.
 *
 * The future becomes one of the blocking pool (src/rt/blocking/blocking.c), with tables of its own here. The
 * operation is counted in volt_fd.calls from its first poll until the call has returned, or will
 * never be made, so a close waits for it (op.h I2). */
#include <errno.h>

#include "../../rt/blocking/blocking.h"
#include "../sys/sys.h"
#include "fd.h"
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
  int kind;
  number = volt_op_opened_(op, number, &kind);
  if (number < 0) return VOLT_ERRNO(-number);
  volt_fd_take_number_(op->fd, number, (unsigned)kind);
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

static int offload_poll(volt_future *f, volt_ctx *ctx) {
  bool asked = ctx->cancel != VOLT_CTX_GO_ON;
  if (asked &&
      (ctx->cancel == VOLT_CTX_CANCEL_ALL || volt_blocking_remove_(&volt_op_of_(f)->as.blocking))) {
    return volt_op_obey_(volt_op_of_(f), ctx);
  }
  volt_decision_ *decision = ctx->decision;
  ctx->decision = NULL; /* the select decides when it is ready */
  int result = volt_future_poll_leaf_(f, ctx);
  ctx->decision = decision;
  if (result == VOLT_ECANCELED) volt_ctx_obeyed_(ctx);
  return result;
}

/* Close what was opened, and no poll has returned. */
static void offload_give_back(volt_future *f) {
  if (volt_blocking_outcome_(f) == VOLT_OK) volt_fd_close(volt_op_of_(f)->fd);
}

#define OFFLOAD_TABLE(operation_, give_back_)                                               \
  {                                                                                         \
    .operation = (operation_), .kind = VOLT_KIND_IO_, .start = volt_blocking_start_,        \
    .cancel = volt_blocking_cancel_, .set_waker = volt_blocking_set_waker_,                 \
    .give_back = (give_back_), .outcome = volt_blocking_outcome_,                           \
    .poll_ctx = volt_future_poll_any_, .poll = offload_poll, .describe = volt_op_describe_, \
    .ends_itself = true                                                                     \
  }

/* What was moved stands. */
static const volt_future_ops_ offload_tables[] = {
    [VOLT_OP_READ_] = OFFLOAD_TABLE("volt_fd_read", NULL),
    [VOLT_OP_WRITE_] = OFFLOAD_TABLE("volt_fd_write", NULL),
    [VOLT_OP_READV_] = OFFLOAD_TABLE("volt_fd_readv", NULL),
    [VOLT_OP_WRITEV_] = OFFLOAD_TABLE("volt_fd_writev", NULL),
    [VOLT_OP_SYNC_] = OFFLOAD_TABLE("volt_fd_sync", NULL),
    [VOLT_OP_OPEN_] = OFFLOAD_TABLE("volt_open", offload_give_back),
};

/* It is counted in d->calls. */
static int offload_begin(volt_op *op, volt_ctx *ctx) {
  op->mode = VOLT_OP_POOL_;
  volt_blocking_make_(&op->as.blocking, op->fd->rt, offload_call, offload_unrun, op);
  volt_future_set_ops_(&op->as.future, &offload_tables[op->kind]);
  volt_op_note_number_(op, op->kind == VOLT_OP_OPEN_ ? -1 : op->fd->number);
  return offload_poll(&op->as.future, ctx);
}

/* Read from memory. Returns whether op is done: then op->n says how much there was. */
static bool offload_read_now(volt_op *op) {
  const volt_fd *d = op->fd;
  bool is_read = op->kind == VOLT_OP_READ_ && op->at >= 0;
  if (!is_read || op->size == 0) return false;
  struct iovec rest = {op->memory, op->size};
  ssize_t got;
  do {
    got = d->io->sys->readv_now(d->number, &rest, 1, (off_t)(op->at + (int64_t)op->n));
    if (got < 0) break;
    op->n += (size_t)got;
    rest.iov_base = (char *)op->memory + op->n;
    rest.iov_len = op->size - op->n;
  } while (got > 0 && rest.iov_len > 0);
  if (got < 0) op->n = 0; /* a thread reads it all */
  return got >= 0;
}

int volt_op_begin_pool_(volt_op *op, volt_ctx *ctx) {
  volt_fd *d = op->fd;
  volt_short_lock_lock_(&d->lock);
  int result = volt_op_enter_(op);
  if (result == VOLT_OK) d->calls += 1;
  volt_short_lock_unlock_(&d->lock);
  if (result != VOLT_OK) return result;
  if (ctx->decision || !offload_read_now(op)) return offload_begin(op, ctx);
  offload_leave(op);
  return VOLT_OK;
}
