/* tls_op.c: the operations of a stream, as futures. stream.h has their table, invariants and races.
 *
 * Labels: tls */
#include <errno.h>
#include <poll.h>

#include "../../core/future/future_ops.h"
#include "../../core/inspect/describe.h"
#include "../../core/os/check.h"
#include "stream.h"

/* volt_tls_op.waits: what for */
enum { TLS_OP_NOTHING, TLS_OP_LOCK, TLS_OP_SOCKET, TLS_OP_DESCRIPTOR, TLS_OP_OTHERS };

static const uint8_t tls_op_uses[] = {
    [VOLT_TLS_OP_HANDSHAKE_] = VOLT_TLS_RECEIVES_ | VOLT_TLS_SENDS_,
    [VOLT_TLS_OP_RECV_] = VOLT_TLS_RECEIVES_,
    [VOLT_TLS_OP_SEND_] = VOLT_TLS_SENDS_,
    [VOLT_TLS_OP_SEND_ALL_] = VOLT_TLS_SENDS_,
    [VOLT_TLS_OP_SHUTDOWN_] = VOLT_TLS_SENDS_,
    [VOLT_TLS_OP_CLOSE_] = VOLT_TLS_CLOSES_,
};

static volt_tls_op *tls_op_of(volt_future *f) {
  return volt_container_of(f, volt_tls_op, future);
}

/* The future that it awaits, if it waits. */
static volt_future *tls_op_awaits(volt_tls_op *op) {
  bool is_plain = op->waits == TLS_OP_LOCK || op->waits == TLS_OP_OTHERS;
  return is_plain ? &op->on.lock : &op->on.ready.as.future;
}

/* ---- begin and end ---- */

/* It does not begin: give up what it has of the stream. Returns result. */
static int tls_op_retreat(volt_tls_op *op, uint32_t bits, int result) {
  volt_tls *t = op->stream;
  /* relaxed, no data: it has done nothing */
  (void)volt_fetch_and_relaxed(&t->uses, ~bits);
  if (op->kind != VOLT_TLS_OP_CLOSE_) volt_latch_count_down(&t->under_way, 1);
  return result;
}

static int tls_op_begin(volt_tls_op *op) {
  volt_tls *t = op->stream;
  bool closes = op->kind == VOLT_TLS_OP_CLOSE_;
  bool is_wrong =
      op->kind == VOLT_TLS_OP_RECV_ ? op->size == 0 || !op->to : op->size > 0 && !op->from;
  if (is_wrong) return VOLT_EINVAL;
  uint32_t bits = tls_op_uses[op->kind];
  if (!closes) volt_latch_add(&t->under_way, 1); /* R6 */
  /* tls:B1 <-> tls:E1, tls:B1, tls:V1: it sees what the operation before it has done */
  uint32_t before = volt_fetch_or_acq_rel(&t->uses, bits);
  if (before & VOLT_TLS_CLOSES_)
    return closes ? (int)VOLT_EINVAL : tls_op_retreat(op, bits & ~before, VOLT_ECLOSED);
  if (!t->context) return tls_op_retreat(op, bits, closes ? VOLT_EINVAL : VOLT_ECLOSED);
  VOLT_CHECK(!(before & bits), op->future.ops->operation,
             "%p: another operation that %s is under way", (void *)t,
             before & bits & VOLT_TLS_RECEIVES_ ? "receives" : "sends");
  op->has_begun = 1;
  return VOLT_OK;
}

/* The last access to the stream: R2. */
static int tls_op_end(volt_tls_op *op, int result) {
  volt_tls *t = op->stream;
  uint32_t bits = tls_op_uses[op->kind];
  op->has_begun = 0;
  /* tls:E1 <-> tls:B1, tls:S1, tls:S2, tls:S3: the next operation, and the owner, see what this one has done */
  (void)volt_fetch_and_acq_rel(&t->uses, ~bits);
  volt_latch_count_down(&t->under_way, 1);
  return result;
}

/* A handshake that was not used. */
static void tls_op_drop_handshake(volt_tls_op *op) {
  if (op->kind != VOLT_TLS_OP_HANDSHAKE_) return;
  /* relaxed, no data: only the bit itself counts, and tls:E1 comes behind it */
  (void)volt_fetch_or_relaxed(&op->stream->uses, VOLT_TLS_DROPPED_);
}

static int tls_op_canceled(volt_tls_op *op, volt_ctx *ctx) {
  volt_ctx_obeyed_(ctx);
  tls_op_drop_handshake(op);
  return tls_op_end(op, VOLT_ECANCELED);
}

/* ---- poll ---- */

/* Poll what it awaits. What it awaits has no effect, so the decision of a select is not for it. */
static int tls_op_poll_awaited(volt_tls_op *op, volt_ctx *ctx) {
  volt_decision_ *decision = ctx->decision;
  ctx->decision = NULL;
  int result = volt_future_poll_ctx(tls_op_awaits(op), ctx);
  ctx->decision = decision;
  return result;
}

/* The lock is held: one step, unless a wait comes first, and release it. */
static int tls_op_locked(volt_tls_op *op, volt_ctx *ctx) {
  unsigned events = POLLIN;
  int before = errno; /* OpenSSL may set it */
  bool waits = op->kind == VOLT_TLS_OP_RECV_ && volt_tls_waits_first_(op->stream);
  int result = waits ? (int)VOLT_EAGAIN : volt_tls_step_(op, ctx, &events);
  errno = before;
  volt_mutex_unlock(&op->stream->lock);
  if (result != VOLT_EAGAIN) return result;
  op->waits = TLS_OP_SOCKET;
  volt_future_made(volt_fd_ready_future(&op->on.ready, op->stream->fd, events));
  return VOLT_EAGAIN;
}

/* Take the lock, or await it. Returns VOLT_EAGAIN: it is awaited. */
static int tls_op_lock(volt_tls_op *op) {
  if (volt_mutex_try_lock(&op->stream->lock) == VOLT_OK) return VOLT_OK;
  op->waits = TLS_OP_LOCK;
  volt_future_made(volt_mutex_lock_future(&op->on.lock, &op->stream->lock));
  return VOLT_EAGAIN;
}

/* What it awaits ends as VOLT_ECANCELED under a cancel, also if it was granted: that is given back. So behind
 * a wait that has ended well there is no cancel, and a lock is not held under one. */
static int tls_op_go_on(volt_tls_op *op, volt_ctx *ctx) {
  if (op->waits == TLS_OP_NOTHING && ctx->cancel != VOLT_CTX_GO_ON) return tls_op_canceled(op, ctx);
  for (;;) {
    bool has_lock = false;
    if (op->waits != TLS_OP_NOTHING) {
      int result = tls_op_poll_awaited(op, ctx);
      if (result == VOLT_PENDING) return VOLT_PENDING;
      has_lock = op->waits == TLS_OP_LOCK && result == VOLT_OK;
      op->waits = TLS_OP_NOTHING;
      if (result == VOLT_ECANCELED) tls_op_drop_handshake(op);
      if (result != VOLT_OK) return tls_op_end(op, result);
      VOLT_ASSERT(ctx->cancel == VOLT_CTX_GO_ON);
    }
    if (!has_lock && tls_op_lock(op) != VOLT_OK) continue;
    int result = tls_op_locked(op, ctx);
    if (result == VOLT_EAGAIN) continue;
    if (result == VOLT_PENDING) return VOLT_PENDING;
    if (ctx->budget > 0) ctx->budget -= 1;
    return tls_op_end(op, result);
  }
}

static int tls_op_poll(volt_future *f, volt_ctx *ctx) {
  volt_tls_op *op = tls_op_of(f);
  if (!op->has_begun) {
    if (ctx->cancel != VOLT_CTX_GO_ON) {
      volt_ctx_obeyed_(ctx);
      return VOLT_ECANCELED;
    }
    int result = tls_op_begin(op);
    if (result != VOLT_OK) return result;
  }
  return tls_op_go_on(op, ctx);
}

static bool tls_op_cancel(volt_future *f) {
  volt_tls_op *op = tls_op_of(f);
  if (!op->has_begun) return true;
  if (op->waits != TLS_OP_NOTHING) volt_future_cancel(tls_op_awaits(op));
  op->waits = TLS_OP_NOTHING;
  tls_op_drop_handshake(op);
  (void)tls_op_end(op, VOLT_ECANCELED);
  return true;
}

static void tls_op_leave(volt_future *f) {
  volt_tls_op *op = tls_op_of(f);
  if (op->waits != TLS_OP_NOTHING) volt_future_leave_(tls_op_awaits(op));
}

/* It is there so that the decision of a select is passed on to the poll. */
static volt_future *tls_op_through(volt_future *f) {
  (void)f;
  return NULL;
}

static volt_future *tls_op_inside(volt_future *f, unsigned i) {
  volt_tls_op *op = tls_op_of(f);
  return i == 0 && op->waits != TLS_OP_NOTHING ? tls_op_awaits(op) : NULL;
}

static void tls_op_describe(volt_future *f, volt_description_ *description) {
  description->ends = tls_op_of(f)->waits != TLS_OP_NOTHING ? VOLT_ENDS_INNER_ : VOLT_ENDS_UNKNOWN_;
}

/* ---- close ---- */

/* The lock is held, and released: from now on no step is made. */
static void tls_op_begin_close(volt_tls_op *op) {
  volt_tls *t = op->stream;
  int before = errno;
  volt_tls_part_(t);
  errno = before;
  volt_mutex_unlock(&t->lock);
  op->waits = TLS_OP_DESCRIPTOR;
  volt_future_made(volt_fd_close_future(&op->on.ready, t->fd));
}

/* It has closed the descriptor with this result: wait for those that were under way. */
static void tls_op_await_others(volt_tls_op *op, int result) {
  op->result = result;
  op->waits = TLS_OP_OTHERS;
  volt_future_made(volt_latch_wait_future(&op->on.lock, &op->stream->under_way));
}

static int tls_op_closed(volt_tls_op *op) {
  op->waits = TLS_OP_NOTHING;
  op->has_begun = 0;
  int before = errno;
  volt_tls_free_(op->stream);
  errno = before;
  return op->result;
}

/* Once the descriptor is being closed, only a drop does not wait in the poll. */
static int tls_op_poll_close_awaited(volt_tls_op *op, volt_ctx *ctx) {
  uint32_t cancel = ctx->cancel;
  bool is_shielded = op->waits == TLS_OP_OTHERS && cancel == VOLT_CTX_CANCEL_ONCE;
  if (op->waits == TLS_OP_OTHERS && cancel == VOLT_CTX_CANCEL_ALL) {
    volt_future_cancel(&op->on.lock);
    volt_latch_wait(&op->stream->under_way);
    return VOLT_OK;
  }
  if (is_shielded) ctx->cancel = VOLT_CTX_GO_ON;
  int result = tls_op_poll_awaited(op, ctx);
  if (is_shielded) ctx->cancel = cancel;
  return result;
}

static int tls_op_begin_to_close(volt_tls_op *op, volt_ctx *ctx) {
  if (ctx->cancel != VOLT_CTX_GO_ON) {
    volt_ctx_obeyed_(ctx);
    return VOLT_ECANCELED;
  }
  int result = tls_op_begin(op);
  if (result == VOLT_OK && tls_op_lock(op) == VOLT_OK) tls_op_begin_close(op);
  return result;
}

static int tls_op_poll_close(volt_future *f, volt_ctx *ctx) {
  volt_tls_op *op = tls_op_of(f);
  if (!op->has_begun) {
    int result = tls_op_begin_to_close(op, ctx);
    if (result != VOLT_OK) return result;
  }
  for (;;) {
    uint8_t waits = op->waits;
    int result = tls_op_poll_close_awaited(op, ctx);
    if (result == VOLT_PENDING) return VOLT_PENDING;
    if (waits == TLS_OP_LOCK && result != VOLT_OK) { /* cancelled before it has begun to close */
      op->waits = TLS_OP_NOTHING;
      op->has_begun = 0;
      /* relaxed, no data: it has done nothing */
      (void)volt_fetch_and_relaxed(&op->stream->uses, ~(uint32_t)VOLT_TLS_CLOSES_);
      return result;
    }
    if (waits == TLS_OP_LOCK) tls_op_begin_close(op);
    if (waits == TLS_OP_DESCRIPTOR) tls_op_await_others(op, result);
    if (waits == TLS_OP_OTHERS) return tls_op_closed(op);
  }
}

static bool tls_op_cancel_close(volt_future *f) {
  static const volt_waker none = {NULL, NULL};
  volt_tls_op *op = tls_op_of(f);
  if (!op->has_begun) return true;
  volt_ctx ctx = VOLT_CTX_INIT(none);
  ctx.budget = VOLT_CTX_BUDGET_MAX_;
  ctx.cancel = VOLT_CTX_CANCEL_ALL;
  return tls_op_poll_close(f, &ctx) == VOLT_ECANCELED;
}

/* ---- constructors ---- */

#define TLS_OP_TABLE(operation_, poll_, cancel_)                                                \
  {                                                                                             \
    .operation = (operation_), .cancel = (cancel_), .poll_ctx = volt_future_poll_any_,          \
    .poll = (poll_), .leave = tls_op_leave, .through = tls_op_through, .inside = tls_op_inside, \
    .describe = tls_op_describe, .ends_itself = true                                            \
  }

static const volt_future_ops_ tls_op_tables[] = {
    [VOLT_TLS_OP_HANDSHAKE_] = TLS_OP_TABLE("volt_tls_handshake", tls_op_poll, tls_op_cancel),
    [VOLT_TLS_OP_RECV_] = TLS_OP_TABLE("volt_tls_recv", tls_op_poll, tls_op_cancel),
    [VOLT_TLS_OP_SEND_] = TLS_OP_TABLE("volt_tls_send", tls_op_poll, tls_op_cancel),
    [VOLT_TLS_OP_SEND_ALL_] = TLS_OP_TABLE("volt_tls_send_all", tls_op_poll, tls_op_cancel),
    [VOLT_TLS_OP_SHUTDOWN_] = TLS_OP_TABLE("volt_tls_shutdown", tls_op_poll, tls_op_cancel),
    [VOLT_TLS_OP_CLOSE_] = TLS_OP_TABLE("volt_tls_close", tls_op_poll_close, tls_op_cancel_close),
};

static volt_future *tls_op_make(volt_tls_op *op, volt_tls *t, uint8_t kind, size_t size) {
  op->n = 0;
  op->stream = t;
  op->to = NULL;
  op->from = NULL;
  op->size = size;
  op->kind = kind;
  op->waits = TLS_OP_NOTHING;
  op->has_begun = 0;
  return volt_future_make_(&op->future, &tls_op_tables[kind], NULL, 0);
}

volt_future *volt_tls_handshake_future(volt_tls_op *op, volt_tls *t) {
  return tls_op_make(op, t, VOLT_TLS_OP_HANDSHAKE_, 0);
}

volt_future *volt_tls_recv_future(volt_tls_op *op, volt_tls *t, void *to, size_t size) {
  volt_future *f = tls_op_make(op, t, VOLT_TLS_OP_RECV_, size);
  op->to = to;
  return f;
}

volt_future *volt_tls_send_future(volt_tls_op *op, volt_tls *t, const void *from, size_t size) {
  volt_future *f = tls_op_make(op, t, VOLT_TLS_OP_SEND_, size);
  op->from = from;
  return f;
}

volt_future *volt_tls_send_all_future(volt_tls_op *op, volt_tls *t, const void *from, size_t size) {
  volt_future *f = tls_op_make(op, t, VOLT_TLS_OP_SEND_ALL_, size);
  op->from = from;
  return f;
}

volt_future *volt_tls_shutdown_future(volt_tls_op *op, volt_tls *t) {
  return tls_op_make(op, t, VOLT_TLS_OP_SHUTDOWN_, 0);
}

volt_future *volt_tls_close_future(volt_tls_op *op, volt_tls *t) {
  return tls_op_make(op, t, VOLT_TLS_OP_CLOSE_, 0);
}
