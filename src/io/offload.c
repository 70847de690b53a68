/* offload.c: operations that a thread of the blocking pool does: regular files, where the back end
 * cannot; and a connect to a Unix socket whose listener has no room: nothing reports when it has,
 * so the thread tries again after a nap.
 *
 * First the poller itself reads what is in memory already, without a thread: a read at an offset
 * that finds all there. In a select it leaves that to a thread, too.
 *
 * The future becomes one of the blocking pool (src/rt/blocking.c), with tables of its own here. The
 * operation is counted in volt_fd.calls from its first poll until the call has returned, or will
 * never be made, so a close waits for it (op.h I2). */
#include <errno.h>

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
  int kind;
  number = volt_op_opened_(op, number, &kind);
  if (number < 0) return VOLT_ERRNO(-number);
  op->fd->number = number;
  op->fd->kind = (uint8_t)kind;
  return VOLT_OK;
}

enum { FIRST_NAP_NS = 1000000, LONGEST_NAP_NS = 16000000 };

/* Why the call is given up, or VOLT_OK. */
static int offload_asked(volt_op *op) {
  volt_fd *d = op->fd;
  volt_short_lock_lock_(&d->lock);
  bool is_closing = d->is_closing;
  volt_short_lock_unlock_(&d->lock);
  if (is_closing) return VOLT_ECLOSED;
  bool is_asked = volt_op_stage_(op) != VOLT_OP_NEW_; /* no data: a wish */
  return is_asked ? VOLT_ECANCELED : VOLT_OK;
}

static int offload_connect(volt_op *op) {
  volt_parker never = VOLT_PARKER_INIT; /* no thread unparks it */
  uint64_t nap_ns = FIRST_NAP_NS;
  ssize_t got;
  while ((got = volt_op_call_(op)) == -EAGAIN) {
    int why = offload_asked(op);
    if (why != VOLT_OK) return why;
    volt_park_until(&never, 1, volt_deadline_ns(nap_ns));
    if (nap_ns < LONGEST_NAP_NS) nap_ns *= 2;
  }
  return got < 0 ? VOLT_ERRNO((int)-got) : VOLT_OK;
}

static int offload_call(void *arg) {
  volt_op *op = (volt_op *)arg;
  int result = VOLT_OK;
  if (op->kind == VOLT_OP_OPEN_) {
    result = offload_open(op);
  } else if (op->kind == VOLT_OP_CONNECT_) {
    result = offload_connect(op);
  } else {
    while (!volt_op_take_(op, volt_op_call_(op), &result)) continue;
  }
  offload_leave(op);
  return result;
}

/* What naps ends at its next try. The descriptor may be gone, if the call has ended. */
static void offload_ask(volt_future *f) {
  /* relaxed, no data: it is only a wish */
  volt_fetch_or_relaxed(&volt_op_of_(f)->stage, VOLT_OP_WAITING_);
}

static bool offload_cancel(volt_future *f) {
  offload_ask(f);
  if (volt_blocking_cancel_(f)) return true;
  if (volt_blocking_outcome_(f) != VOLT_ECANCELED) return false;
  volt_future_set_drop_(f, NULL); /* its waker was called */
  return true;
}

static int offload_poll(volt_future *f, volt_ctx *ctx) {
  bool asked = ctx->cancel != VOLT_CTX_GO_ON;
  if (asked &&
      (ctx->cancel == VOLT_CTX_CANCEL_ALL || volt_blocking_remove_(&volt_op_of_(f)->as.blocking))) {
    return volt_op_obey_(volt_op_of_(f), ctx);
  }
  if (asked) offload_ask(f);
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

#define OFFLOAD_TABLE(operation_, give_back_)                                                    \
  {                                                                                              \
    .operation = (operation_), .kind = "descriptor", .start = volt_blocking_start_,              \
    .cancel = offload_cancel, .set_waker = volt_blocking_set_waker_, .give_back = (give_back_),  \
    .outcome = volt_blocking_outcome_, .poll_ctx = volt_future_poll_long_, .poll = offload_poll, \
    .describe = volt_op_describe_, .ends_itself = true                                           \
  }

/* What was moved stands. */
static const volt_future_ops_ offload_tables[] = {
    [VOLT_OP_RECV_] = OFFLOAD_TABLE("volt_fd_recv", NULL),
    [VOLT_OP_SEND_] = OFFLOAD_TABLE("volt_fd_send", NULL),
    [VOLT_OP_RECVMSG_] = OFFLOAD_TABLE("volt_fd_recvmsg", NULL),
    [VOLT_OP_SENDMSG_] = OFFLOAD_TABLE("volt_fd_sendmsg", NULL),
    [VOLT_OP_CONNECT_] = OFFLOAD_TABLE("volt_fd_connect", NULL),
    [VOLT_OP_ACCEPT_] = OFFLOAD_TABLE("volt_fd_accept", NULL),
    [VOLT_OP_READY_] = OFFLOAD_TABLE("volt_fd_ready", NULL),
    [VOLT_OP_SENDFILE_] = OFFLOAD_TABLE("volt_fd_sendfile", NULL),
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
  op->as.future.ops = &offload_tables[op->kind];
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

int volt_op_move_to_pool_(volt_op *op, bool is_new, volt_ctx *ctx) {
  volt_fd *d = op->fd;
  if (!is_new) {
    volt_op_unlink_from_(d, op->prev, op->next);
    d->calls += 1;
  }
  volt_op_set_stage_(op, VOLT_OP_NEW_);
  volt_short_lock_unlock_(&d->lock);
  volt_future_set_state_(&op->as.future, VOLT_FUTURE_INIT_);
  return offload_begin(op, ctx);
}
