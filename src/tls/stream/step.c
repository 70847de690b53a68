/* step.c: one step of an operation, which does not wait: of a future (tls_op.c), and of a try (tls_try.c).
 * stream.h says what each does, and awaits.
 *
 * Labels: tls */
#include <openssl/err.h>
#include <poll.h>

#include "../../core/future/future_ops.h"
#include "stream.h"

/* How often one step of a send writes, up to two records each time: others are to run, too. */
enum { STEP_TURNS = 8 };

/* What is awaited by a step that wants to receive. I4 */
static unsigned step_in(const volt_tls *t) {
  if (volt_tls_rest_(t) > VOLT_TLS_REST_MAX_) return POLLOUT;
  return t->rest ? POLLIN | POLLOUT : POLLIN;
}

/* What a step has found that is done: whether to wait before the next. */
static unsigned step_left(const volt_tls *t) {
  unsigned events = t->rest ? POLLOUT : 0;
  bool is_dry = t->is_drained && !t->has_ended && !t->has_eof && !SSL_has_pending(t->ssl);
  return is_dry ? events | POLLIN : events;
}

/* What has ended the stream for all operations, or VOLT_OK. */
static int step_refuses(const volt_tls *t) {
  if (t->is_closing) return VOLT_ECLOSED; /* R3 */
  /* relaxed, by tls:B1: a handshake that was cancelled has ended before this began */
  if (volt_load_relaxed(&t->uses) & VOLT_TLS_DROPPED_) return VOLT_ECANCELED;
  return VOLT_OK;
}

/* The handshake is done: whether what is in rest is not a part of it. A client that does not receive yet
 * may have no room for tickets. */
static bool step_has_tickets_only(const volt_tls *t) {
  return t->is_server && SSL_version(t->ssl) == TLS1_3_VERSION;
}

static int step_shake(volt_tls_op *op, unsigned *events) {
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
  if (result == VOLT_EAGAIN) *events = step_in(t);
  if (result != VOLT_OK) return result;
  *events = POLLOUT;
  if (t->rest && !step_has_tickets_only(t)) return VOLT_EAGAIN;
  t->stage = VOLT_TLS_OPEN_;
  *events = step_left(t);
  return VOLT_OK;
}

/* In a select the decision is taken before the end, which is the last access to the stream: one that has
 * lost is pending, and its cancel ends the stream. */
static int step_handshake(volt_tls_op *op, volt_ctx *ctx, unsigned *events) {
  int result = step_shake(op, events);
  if (result == VOLT_EAGAIN || volt_may_take_effect_(ctx->decision)) return result;
  return VOLT_PENDING;
}

/* R1: find out whether there is something to read, and leave it. */
static int step_peek(volt_tls *t) {
  char byte;
  size_t got;
  if (SSL_peek_ex(t->ssl, &byte, 1, &got) == 1) return VOLT_OK;
  return volt_tls_failed_(t, 0);
}

/* Read what is there. Returns VOLT_OK also if a failure comes behind some bytes: the next one finds
 * it. */
static int step_read(volt_tls_op *op, unsigned *events) {
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
  /* a step that was cut leaves bytes in the socket (I4): the next has not to wait for more */
  *events = result == VOLT_EAGAIN && !t->is_cut ? step_in(t) : step_left(t);
  t->is_dry = op->n > 0 && t->is_drained;
  return op->n > 0 ? (int)VOLT_OK : result;
}

static int step_recv(volt_tls_op *op, volt_ctx *ctx, unsigned *events) {
  volt_tls *t = op->stream;
  if (t->stage != VOLT_TLS_OPEN_) return t->error != VOLT_OK ? t->error : (int)VOLT_EINVAL;
  *events = POLLOUT;
  if (volt_tls_rest_(t) > VOLT_TLS_REST_MAX_) return VOLT_EAGAIN; /* I4 */
  bool knows = t->has_ended || t->error != VOLT_OK;
  int result = VOLT_OK;
  if (ctx->decision && !knows) result = step_peek(t);
  if (result != VOLT_EAGAIN && !volt_may_take_effect_(ctx->decision)) return VOLT_PENDING;
  *events = step_left(t);
  if (t->has_ended) return VOLT_OK;
  if (t->error != VOLT_OK) return t->error;
  if (result != VOLT_EAGAIN) return step_read(op, events);
  *events = step_in(t);
  return result;
}

/* Encrypt one record. */
static int step_encrypt(volt_tls_op *op) {
  volt_tls *t = op->stream;
  size_t left = op->size - op->n, got = 0;
  if (left > VOLT_TLS_RECORD_) left = VOLT_TLS_RECORD_;
  if (SSL_write_ex(t->ssl, (const char *)op->from + op->n, left, &got) == 1) {
    op->n += got; /* I2 */
    return VOLT_OK;
  }
  int result = volt_tls_failed_(t, 0);
  if (result != VOLT_OK && result != VOLT_EAGAIN) return result;
  t->why = "OpenSSL does not write";
  return t->error = VOLT_TLS_EPROTOCOL; /* nothing that is allowed makes a write wait now */
}

/* Encrypt a record, or two, which go by one call of the socket. Half a message of the peer's own (a session
 * ticket, a KeyUpdate) has to be received before: VOLT_EAGAIN. */
static int step_write(volt_tls_op *op) {
  volt_tls *t = op->stream;
  int result = volt_tls_send_begin_(t);
  if (result != VOLT_OK) return result;
  bool is_one = op->kind == VOLT_TLS_OP_SEND_ || op->size - op->n <= VOLT_TLS_RECORD_;
  if (is_one) return step_encrypt(op);
  t->gathers = 1;
  result = step_encrypt(op);
  if (result == VOLT_OK) result = step_encrypt(op);
  t->gathers = 0;
  volt_tls_wire_flush_(t);
  return result;
}

/* Whether a send has done what it was asked for. */
static bool step_has_sent(const volt_tls_op *op) {
  return op->n == op->size || (op->kind != VOLT_TLS_OP_SEND_ALL_ && op->n > 0);
}

static int step_send(volt_tls_op *op, volt_ctx *ctx, unsigned *events) {
  volt_tls *t = op->stream;
  if (t->stage != VOLT_TLS_OPEN_) return t->error != VOLT_OK ? t->error : (int)VOLT_EINVAL;
  *events = POLLOUT;
  for (int turns = 0; turns < STEP_TURNS; turns++) {
    if (t->send_error != VOLT_OK) return t->send_error;
    if (t->rest) return VOLT_EAGAIN;
    *events = 0;
    if (step_has_sent(op)) return VOLT_OK;
    if (t->error != VOLT_OK) return t->error;
    if (t->is_shut) return VOLT_ECLOSED;
    int result = step_write(op);
    *events = result == VOLT_EAGAIN ? step_in(t) : POLLOUT;
    if (result != VOLT_OK) return result;
  }
  ctx->yield = true;
  return VOLT_PENDING;
}

static int step_shutdown(volt_tls_op *op, unsigned *events) {
  volt_tls *t = op->stream;
  if (t->stage != VOLT_TLS_OPEN_) return t->error != VOLT_OK ? t->error : (int)VOLT_EINVAL;
  *events = POLLOUT;
  int result = t->rest ? (int)VOLT_OK : volt_tls_send_end_(t);
  if (t->send_error != VOLT_OK) return t->send_error;
  if (t->rest) return VOLT_EAGAIN;
  *events = result == VOLT_EAGAIN ? step_in(t) : 0;
  return result;
}

int volt_tls_step_(volt_tls_op *op, volt_ctx *ctx, unsigned *events) {
  volt_tls *t = op->stream;
  int result = step_refuses(t);
  if (result != VOLT_OK) return result;
  t->is_drained = 0;
  t->reads = 0;
  t->is_cut = 0;
  volt_tls_wire_flush_(t);
  ERR_clear_error();
  switch (op->kind) {
    case VOLT_TLS_OP_HANDSHAKE_: result = step_handshake(op, ctx, events); break;
    case VOLT_TLS_OP_RECV_: result = step_recv(op, ctx, events); break;
    case VOLT_TLS_OP_SHUTDOWN_: result = step_shutdown(op, events); break;
    default: result = step_send(op, ctx, events); break;
  }
  if (result != VOLT_EAGAIN || !t->is_cut) return result;
  ctx->yield = true;
  return VOLT_PENDING;
}

bool volt_tls_waits_first_(volt_tls *t) {
  bool is_dry = t->is_dry; /* I8 */
  t->is_dry = 0;
  if (!is_dry || step_refuses(t) != VOLT_OK || t->error != VOLT_OK) return false;
  return !t->has_ended && !t->rest && !SSL_has_pending(t->ssl);
}
