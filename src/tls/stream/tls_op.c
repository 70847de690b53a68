/* tls_op.c: the operations of a stream, as futures. stream.h has their table, invariants and races.
 *
 * Labels: tls */
#include <errno.h>
#include <openssl/err.h>
#include <poll.h>

#include "../../core/future/future_ops.h"
#include "../../core/inspect/describe.h"
#include "../../core/os/check.h"
#include "stream.h"

/* volt_tls_op.kind */
enum { TLS_OP_HANDSHAKE, TLS_OP_RECV, TLS_OP_SEND, TLS_OP_SEND_ALL, TLS_OP_SHUTDOWN, TLS_OP_CLOSE };

/* volt_tls_op.waits: what for */
enum { TLS_OP_NOTHING, TLS_OP_LOCK, TLS_OP_SOCKET, TLS_OP_DESCRIPTOR, TLS_OP_OTHERS };

/* How many records in one poll: others are to run, too. */
enum { TLS_OP_RECORDS = 16 };

static const uint8_t tls_op_uses[] = {
    [TLS_OP_HANDSHAKE] = VOLT_TLS_RECEIVES_ | VOLT_TLS_SENDS_,
    [TLS_OP_RECV] = VOLT_TLS_RECEIVES_,
    [TLS_OP_SEND] = VOLT_TLS_SENDS_,
    [TLS_OP_SEND_ALL] = VOLT_TLS_SENDS_,
    [TLS_OP_SHUTDOWN] = VOLT_TLS_SENDS_,
    [TLS_OP_CLOSE] = VOLT_TLS_CLOSES_,
};

static volt_tls_op *tls_op_of(volt_future *f) {
  return volt_container_of(f, volt_tls_op, future);
}

/* The future that it awaits, if it waits. */
static volt_future *tls_op_awaits(volt_tls_op *op) {
  bool is_plain = op->waits == TLS_OP_LOCK || op->waits == TLS_OP_OTHERS;
  return is_plain ? &op->on.lock : &op->on.ready.as.future;
}

/* ---- steps, under the lock. VOLT_EAGAIN: *events are to be awaited; VOLT_PENDING: poll again ---- */

/* What is awaited by a step that wants to receive. I4 */
static unsigned tls_op_in(const volt_tls *t) {
  if (volt_tls_rest_(t) > VOLT_TLS_REST_MAX_) return POLLOUT;
  return t->rest ? POLLIN | POLLOUT : POLLIN;
}

/* What has ended the stream for all operations, or VOLT_OK. */
static int tls_op_refuses(const volt_tls *t) {
  if (t->is_closing) return VOLT_ECLOSED; /* R3 */
  /* relaxed, by tls:B1: a handshake that was cancelled has ended before this began */
  if (volt_load_relaxed(&t->uses) & VOLT_TLS_DROPPED_) return VOLT_ECANCELED;
  return VOLT_OK;
}

/* The handshake is done: whether what is in rest is not a part of it. A client that does not receive yet
 * may have no room for tickets. */
static bool tls_op_has_tickets_only(const volt_tls *t) {
  return t->is_server && SSL_version(t->ssl) == TLS1_3_VERSION;
}

static int tls_op_shake(volt_tls_op *op, unsigned *events) {
  volt_tls *t = op->stream;
  if (t->error != VOLT_OK) return t->error;
  if (t->stage == VOLT_TLS_OPEN_) return VOLT_EINVAL;
  int result = VOLT_OK;
  t->stage = VOLT_TLS_HANDSHAKE_;
  if (!SSL_is_init_finished(t->ssl)) {
    int returned = SSL_do_handshake(t->ssl);
    if (returned != 1) result = volt_tls_failed_(t, returned);
    if (returned != 1 && result == VOLT_OK) {
      result = t->error = VOLT_TLS_EPROTOCOL;
      t->why = "the peer has sent its end in the handshake";
    }
    volt_tls_wire_flush_(t);
  }
  bool goes_on = result == VOLT_OK || result == VOLT_EAGAIN;
  if (goes_on && t->send_error != VOLT_OK) { /* no answer comes */
    result = t->error = t->send_error;
    t->why = volt_strerror(result);
  }
  if (result == VOLT_EAGAIN) *events = tls_op_in(t);
  if (result != VOLT_OK) return result;
  *events = POLLOUT;
  if (t->rest && !tls_op_has_tickets_only(t)) return VOLT_EAGAIN;
  t->stage = VOLT_TLS_OPEN_;
  return VOLT_OK;
}

/* In a select the decision is taken before the end, which is the last access to the stream: one that has
 * lost is pending, and its cancel ends the stream. */
static int tls_op_handshake(volt_tls_op *op, volt_ctx *ctx, unsigned *events) {
  int result = tls_op_shake(op, events);
  if (result == VOLT_EAGAIN || volt_may_take_effect_(ctx->decision)) return result;
  return VOLT_PENDING;
}

/* R1: find out whether there is something to read, and leave it. */
static int tls_op_peek(volt_tls *t) {
  char byte;
  size_t got;
  if (SSL_peek_ex(t->ssl, &byte, 1, &got) == 1) return VOLT_OK;
  return volt_tls_failed_(t, 0);
}

/* Read what is there. Returns VOLT_OK also if a failure comes behind some bytes: the next one finds
 * it. */
static int tls_op_read(volt_tls_op *op) {
  volt_tls *t = op->stream;
  int result = VOLT_OK;
  while (op->n < op->size && result == VOLT_OK) {
    size_t got = 0;
    if (SSL_read_ex(t->ssl, (char *)op->to + op->n, op->size - op->n, &got) != 1) {
      result = volt_tls_failed_(t, 0);
      break;
    }
    op->n += got; /* I2 */
    if (!SSL_has_pending(t->ssl)) break;
  }
  return op->n > 0 ? (int)VOLT_OK : result;
}

static int tls_op_recv(volt_tls_op *op, volt_ctx *ctx, unsigned *events) {
  volt_tls *t = op->stream;
  if (t->stage != VOLT_TLS_OPEN_) return t->error != VOLT_OK ? t->error : (int)VOLT_EINVAL;
  *events = POLLOUT;
  if (volt_tls_rest_(t) > VOLT_TLS_REST_MAX_) return VOLT_EAGAIN; /* I4 */
  bool knows = t->has_ended || t->error != VOLT_OK;
  int result = VOLT_OK;
  if (ctx->decision && !knows) result = tls_op_peek(t);
  if (result != VOLT_EAGAIN && !volt_may_take_effect_(ctx->decision)) return VOLT_PENDING;
  if (t->has_ended) return VOLT_OK;
  if (t->error != VOLT_OK) return t->error;
  if (result != VOLT_EAGAIN) result = tls_op_read(op);
  *events = tls_op_in(t);
  return result;
}

/* Encrypt one record. Half a message of the peer's own (a session ticket, a KeyUpdate) has to be received
 * before: VOLT_EAGAIN. */
static int tls_op_write(volt_tls_op *op) {
  volt_tls *t = op->stream;
  size_t left = op->size - op->n, got = 0;
  if (left > VOLT_TLS_RECORD_) left = VOLT_TLS_RECORD_;
  int result = volt_tls_send_begin_(t);
  if (result != VOLT_OK) return result;
  if (SSL_write_ex(t->ssl, (const char *)op->from + op->n, left, &got) == 1) {
    op->n += got; /* I2 */
    return VOLT_OK;
  }
  result = volt_tls_failed_(t, 0);
  if (result != VOLT_OK && result != VOLT_EAGAIN) return result;
  t->why = "OpenSSL does not write";
  return t->error = VOLT_TLS_EPROTOCOL; /* nothing that is allowed makes a write wait now */
}

static int tls_op_send(volt_tls_op *op, volt_ctx *ctx, unsigned *events) {
  volt_tls *t = op->stream;
  if (t->stage != VOLT_TLS_OPEN_) return t->error != VOLT_OK ? t->error : (int)VOLT_EINVAL;
  *events = POLLOUT;
  for (int records = 0; records < TLS_OP_RECORDS; records++) {
    if (t->send_error != VOLT_OK) return t->send_error;
    if (t->rest) return VOLT_EAGAIN;
    if (op->n == op->size || (op->kind == TLS_OP_SEND && op->n > 0)) return VOLT_OK;
    if (t->error != VOLT_OK) return t->error;
    if (t->is_shut) return VOLT_ECLOSED;
    int result = tls_op_write(op);
    if (result == VOLT_EAGAIN) *events = tls_op_in(t);
    if (result != VOLT_OK) return result;
  }
  ctx->yield = true;
  return VOLT_PENDING;
}

static int tls_op_shutdown(volt_tls_op *op, unsigned *events) {
  volt_tls *t = op->stream;
  if (t->stage != VOLT_TLS_OPEN_) return t->error != VOLT_OK ? t->error : (int)VOLT_EINVAL;
  *events = POLLOUT;
  int result = t->rest ? (int)VOLT_OK : volt_tls_send_end_(t);
  if (t->send_error != VOLT_OK) return t->send_error;
  if (t->rest) return VOLT_EAGAIN;
  if (result == VOLT_EAGAIN) *events = tls_op_in(t);
  return result;
}

static int tls_op_step(volt_tls_op *op, volt_ctx *ctx, unsigned *events) {
  volt_tls *t = op->stream;
  int result = tls_op_refuses(t);
  if (result != VOLT_OK) return result;
  t->is_drained = 0;
  t->reads = 0;
  t->is_cut = 0;
  volt_tls_wire_flush_(t);
  ERR_clear_error();
  switch (op->kind) {
    case TLS_OP_HANDSHAKE: result = tls_op_handshake(op, ctx, events); break;
    case TLS_OP_RECV: result = tls_op_recv(op, ctx, events); break;
    case TLS_OP_SHUTDOWN: result = tls_op_shutdown(op, events); break;
    default: result = tls_op_send(op, ctx, events); break;
  }
  if (result != VOLT_EAGAIN || !t->is_cut) return result;
  ctx->yield = true;
  return VOLT_PENDING;
}

/* ---- begin and end ---- */

/* It does not begin: give up what it has of the stream. Returns result. */
static int tls_op_retreat(volt_tls_op *op, uint32_t bits, int result) {
  volt_tls *t = op->stream;
  /* relaxed, no data: it has done nothing */
  (void)volt_fetch_and_relaxed(&t->uses, ~bits);
  if (op->kind != TLS_OP_CLOSE) volt_latch_count_down(&t->under_way, 1);
  return result;
}

static int tls_op_begin(volt_tls_op *op) {
  volt_tls *t = op->stream;
  bool closes = op->kind == TLS_OP_CLOSE;
  bool is_wrong = op->kind == TLS_OP_RECV ? op->size == 0 || !op->to : op->size > 0 && !op->from;
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
  /* tls:E1 <-> tls:B1, tls:S1, tls:S2: the next operation, and the owner, see what this one has done */
  (void)volt_fetch_and_acq_rel(&t->uses, ~bits);
  volt_latch_count_down(&t->under_way, 1);
  return result;
}

/* A handshake that was not used. */
static void tls_op_drop_handshake(volt_tls_op *op) {
  if (op->kind != TLS_OP_HANDSHAKE) return;
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

/* The lock is held: one step, and release it. */
static int tls_op_locked(volt_tls_op *op, volt_ctx *ctx) {
  unsigned events = 0;
  int before = errno; /* OpenSSL may set it */
  int result = tls_op_step(op, ctx, &events);
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

static int tls_op_go_on(volt_tls_op *op, volt_ctx *ctx) {
  for (;;) {
    bool has_lock = false;
    if (op->waits != TLS_OP_NOTHING) {
      int result = tls_op_poll_awaited(op, ctx);
      if (result == VOLT_PENDING) return VOLT_PENDING;
      has_lock = op->waits == TLS_OP_LOCK && result == VOLT_OK;
      op->waits = TLS_OP_NOTHING;
      if (result == VOLT_ECANCELED) tls_op_drop_handshake(op);
      if (result != VOLT_OK) return tls_op_end(op, result);
    }
    if (ctx->cancel != VOLT_CTX_GO_ON) {
      if (has_lock) volt_mutex_unlock(&op->stream->lock);
      return tls_op_canceled(op, ctx);
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
    [TLS_OP_HANDSHAKE] = TLS_OP_TABLE("volt_tls_handshake", tls_op_poll, tls_op_cancel),
    [TLS_OP_RECV] = TLS_OP_TABLE("volt_tls_recv", tls_op_poll, tls_op_cancel),
    [TLS_OP_SEND] = TLS_OP_TABLE("volt_tls_send", tls_op_poll, tls_op_cancel),
    [TLS_OP_SEND_ALL] = TLS_OP_TABLE("volt_tls_send_all", tls_op_poll, tls_op_cancel),
    [TLS_OP_SHUTDOWN] = TLS_OP_TABLE("volt_tls_shutdown", tls_op_poll, tls_op_cancel),
    [TLS_OP_CLOSE] = TLS_OP_TABLE("volt_tls_close", tls_op_poll_close, tls_op_cancel_close),
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
  return tls_op_make(op, t, TLS_OP_HANDSHAKE, 0);
}

volt_future *volt_tls_recv_future(volt_tls_op *op, volt_tls *t, void *to, size_t size) {
  volt_future *f = tls_op_make(op, t, TLS_OP_RECV, size);
  op->to = to;
  return f;
}

volt_future *volt_tls_send_future(volt_tls_op *op, volt_tls *t, const void *from, size_t size) {
  volt_future *f = tls_op_make(op, t, TLS_OP_SEND, size);
  op->from = from;
  return f;
}

volt_future *volt_tls_send_all_future(volt_tls_op *op, volt_tls *t, const void *from, size_t size) {
  volt_future *f = tls_op_make(op, t, TLS_OP_SEND_ALL, size);
  op->from = from;
  return f;
}

volt_future *volt_tls_shutdown_future(volt_tls_op *op, volt_tls *t) {
  return tls_op_make(op, t, TLS_OP_SHUTDOWN, 0);
}

volt_future *volt_tls_close_future(volt_tls_op *op, volt_tls *t) {
  return tls_op_make(op, t, TLS_OP_CLOSE, 0);
}
