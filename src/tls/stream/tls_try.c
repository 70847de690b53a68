/* tls_try.c: the operations of a stream that do not wait. Each is one step (step.c), made where no future of
 * the stream is under way: so it needs no lock (stream.h I1).
 *
 * Labels: tls */
#include <errno.h>
#include <poll.h>

#include "../../core/os/check.h"
#include "stream.h"

/* A step that has to be repeated after others have run has left its bytes in the socket. */
static int try_finish(volt_tls_op *op, int result, unsigned events) {
  if (result == VOLT_PENDING) {
    result = VOLT_EAGAIN;
    events = POLLIN;
  }
  bool has_failed = result != VOLT_OK && result != VOLT_EAGAIN;
  if (has_failed) events = op->stream->rest ? POLLOUT : 0;
  op->stream->events = (uint8_t)events;
  return result == VOLT_EAGAIN && op->n > 0 ? (int)VOLT_OK : result;
}

static int try_step(volt_tls_op *op, volt_tls *t, uint8_t kind, const char *operation) {
  static const volt_waker none = {NULL, NULL};
  op->n = 0;
  op->stream = t;
  op->kind = kind;
  if (!t->context) {
    t->events = 0; /* what the try before the close has left is not awaited */
    return VOLT_ECLOSED;
  }
  uint32_t count = volt_latch_count(&t->under_way);
  VOLT_CHECK(count == 0, operation, "%p: %u operations are under way", (void *)t, count);
  /* tls:S3 <- tls:E1: what the last operation has done */
  (void)volt_load_acquire(&t->uses);
  volt_ctx ctx = VOLT_CTX_INIT(none);
  unsigned events = 0;
  int before = errno; /* OpenSSL may set it */
  int result = volt_tls_step_(op, &ctx, &events);
  errno = before;
  return try_finish(op, result, events);
}

int volt_tls_try_handshake(volt_tls *t) {
  volt_tls_op op;
  return try_step(&op, t, VOLT_TLS_OP_HANDSHAKE_, "volt_tls_try_handshake");
}

int volt_tls_try_recv(volt_tls *t, void *to, size_t size, size_t *n) {
  volt_tls_op op;
  *n = 0;
  if (size == 0 || !to) return VOLT_EINVAL;
  op.to = to;
  op.size = size;
  int result = try_step(&op, t, VOLT_TLS_OP_RECV_, "volt_tls_try_recv");
  *n = op.n;
  return result;
}

int volt_tls_try_send(volt_tls *t, const void *from, size_t size, size_t *n) {
  volt_tls_op op;
  *n = 0;
  if (size > 0 && !from) return VOLT_EINVAL;
  op.from = from;
  op.size = size;
  int result = try_step(&op, t, VOLT_TLS_OP_SEND_SOME_, "volt_tls_try_send");
  *n = op.n;
  return result;
}

int volt_tls_try_shutdown(volt_tls *t) {
  volt_tls_op op;
  return try_step(&op, t, VOLT_TLS_OP_SHUTDOWN_, "volt_tls_try_shutdown");
}

unsigned volt_tls_events(const volt_tls *t) {
  return t->events;
}
