// model_tls.cpp: see model_tls.hpp; OpenSSL, and the parts of a stream beside tls_op.c, step.c and end.c.
#include "model_tls.hpp"

#include <sys/socket.h>
#include <volt/net.h>

static tls_world *only;
alignas(volt_tls_context) static unsigned char context[sizeof(
    volt_tls_context)]; // nothing of it is used
static char rest[1];    // a record that there is no room for

tls_world::tls_world() : d(io.make()), t(new volt_tls()) {
  only = this;
  io.take_parts();
  io.report_as(POLLIN | POLLOUT);
  ssl.stream = t;
  t->ssl = &ssl;
  t->context = reinterpret_cast<volt_tls_context *>(context);
  t->fd = d;
  t->stage = VOLT_TLS_OPEN_;
}

tls_world::~tls_world() {
  delete t;
  if (d) io.free(d);
}

void tls_world::close() {
  ssl.is_last = true;
  EXPECT(volt_future_wait(volt_tls_close_future(&closer, t)) == VOLT_OK);
  io.free(d);
  d = nullptr;
}

void tls_world::close_and_free() {
  close();
  delete t;
  t = nullptr;
}

void tls_world::expect_unused() {
  if (!t) return;
  EXPECT((volt_load_relaxed(&t->uses) & ~(uint32_t)VOLT_TLS_CLOSES_) == 0);
  EXPECT(volt_latch_count(&t->under_way) == 0);
  EXPECT(volt_load_relaxed(&t->lock.queue.word) == 0);
}

// ---- OpenSSL ----

static SSL *use(SSL *ssl) {
  ssl->uses += 1;
  EXPECT(!ssl->is_freed && !(ssl->has_said_end && ssl->is_last));
  return ssl;
}

static const SSL *look(const SSL *ssl) {
  EXPECT(ssl->uses < UINT32_MAX && !ssl->is_freed);
  return ssl;
}

// Decrypt what has come, but no more than this.
static bool decrypt(SSL *ssl, size_t most) {
  char records[8];
  size_t n = 0;
  if (volt_fd_try_recv(ssl->stream->fd, records, most, 0, &n) != VOLT_OK) return false;
  ssl->stream->is_drained = n < most;
  ssl->plain += static_cast<uint32_t>(n);
  return true;
}

// The other half of a message has come, if it is there.
static void finish_half(SSL *ssl) {
  if (!ssl->has_half || !decrypt(ssl, ssl->reads_ahead ? 8 : 1)) return;
  ssl->plain -= 1;
  ssl->has_half = false;
  if (ssl->ends_there) ssl->stream->error = VOLT_TLS_EPROTOCOL;
}

int SSL_version(const SSL *ssl) {
  look(ssl);
  return TLS1_3_VERSION;
}

int SSL_is_init_finished(const SSL *ssl) {
  return look(ssl)->is_shaken;
}

int SSL_in_init(const SSL *ssl) {
  return look(ssl)->has_half;
}

int SSL_do_handshake(SSL *ssl) {
  finish_half(use(ssl));
  if (!ssl->is_shaken && decrypt(ssl, 1)) {
    ssl->plain -= 1;
    ssl->is_shaken = true;
  }
  return ssl->is_shaken && !ssl->has_half && ssl->stream->error == VOLT_OK ? 1 : -1;
}

void SSL_set_read_ahead(SSL *ssl, int yes) {
  use(ssl)->reads_ahead = yes != 0;
}

int SSL_peek_ex(SSL *ssl, void *, size_t, size_t *n) {
  finish_half(use(ssl));
  if (ssl->plain == 0 && !ssl->has_half) decrypt(ssl, 8);
  *n = ssl->plain > 0;
  return ssl->plain > 0 && ssl->stream->error == VOLT_OK;
}

int SSL_read_ex(SSL *ssl, void *to, size_t size, size_t *n) {
  if (SSL_peek_ex(ssl, to, size, n) != 1) return 0;
  *n = ssl->plain < size ? ssl->plain : size;
  ssl->plain -= static_cast<uint32_t>(*n);
  return 1;
}

int SSL_has_pending(const SSL *ssl) {
  return look(ssl)->plain > 0;
}

int SSL_write_ex(SSL *ssl, const void *, size_t size, size_t *n) {
  EXPECT(size > 0 && !use(ssl)->has_half && !ssl->stream->rest);
  ssl->written += 1;
  *n = 1; // a byte is a record
  if (ssl->needs_room) ssl->stream->rest = rest;
  volt_tls_wire_flush_(ssl->stream);
  return 1;
}

int SSL_shutdown(SSL *ssl) {
  use(ssl)->has_said_end = true;
  return 0;
}

void SSL_free(SSL *ssl) {
  ssl->uses += 1;
  ssl->is_freed = true;
}

// ---- a session ----

SSL_SESSION *SSL_get1_session(SSL *ssl) {
  ssl->uses += 1; // also behind the end
  EXPECT(!ssl->is_freed);
  return reinterpret_cast<SSL_SESSION *>(ssl);
}

int SSL_SESSION_is_resumable(const SSL_SESSION *) {
  return 1;
}

int i2d_SSL_SESSION(const SSL_SESSION *session, unsigned char **to) {
  look(reinterpret_cast<const SSL *>(session));
  if (to) *(*to)++ = 7;
  return 1;
}

void SSL_SESSION_free(SSL_SESSION *) {
}

// ---- the other parts ----

void volt_tls_wire_flush_(volt_tls *t) {
  size_t n = 0;
  if (t->rest && volt_fd_try_send(t->fd, t->rest, 1, 0, &n) == VOLT_OK) t->rest = nullptr;
}

void volt_tls_wire_free_early_(volt_tls *) {
}

void volt_tls_wire_free_rest_(volt_tls *t) {
  t->rest = nullptr;
}

int volt_tls_failed_(volt_tls *t, int) {
  return t->error != VOLT_OK ? t->error : (int)VOLT_EAGAIN;
}

void volt_tls_context_drop(volt_tls_context *c) {
  EXPECT(!c || c == reinterpret_cast<volt_tls_context *>(context));
}

const char *volt_strerror(int) {
  return "a result";
}

// Whoever waits for bytes finds an end.
int volt_fd_shutdown(const volt_fd *, int how) {
  EXPECT(how == SHUT_RD);
  only->arrive(1);
  return VOLT_OK;
}
