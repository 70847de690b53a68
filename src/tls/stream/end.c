/* end.c: how a stream ends: its last records, and its close; and a session that is saved while other threads use or close
 * it. With tls_op.c it has all that several threads may be at.
 *
 * Labels: tls */
#include <errno.h>
#include <openssl/err.h>
#include <sys/socket.h>
#include <volt/net.h>

#include "../../core/os/check.h"
#include "stream.h"

enum { END_EMPTY_CALLS = 16 };

/* Go on with half a message that was received. Nothing behind it is read, because a receiver that
 * waits for the socket would not find it there (R7). */
static int end_finish_message(volt_tls *t) {
  ERR_clear_error();
  SSL_set_read_ahead(t->ssl, 0);
  int returned = SSL_do_handshake(t->ssl);
  int result = returned == 1 ? (int)VOLT_OK : volt_tls_failed_(t, returned);
  SSL_set_read_ahead(t->ssl, 1);
  ERR_clear_error();
  return result;
}

int volt_tls_send_begin_(volt_tls *t) {
  if (!SSL_in_init(t->ssl)) return VOLT_OK;
  int result = end_finish_message(t);
  if (result == VOLT_OK && SSL_in_init(t->ssl)) { /* an end, in the midst of it */
    result = t->error = VOLT_TLS_EPROTOCOL;
    t->why = "the peer has sent its end within a message";
  }
  /* a receiver may wait for the bytes that were read: it finds an end now */
  if (result != VOLT_OK && result != VOLT_EAGAIN) (void)volt_fd_shutdown(t->fd, SHUT_RD);
  return result;
}

int volt_tls_send_end_(volt_tls *t) {
  if (t->is_shut) return VOLT_OK;
  if (t->stage != VOLT_TLS_OPEN_ || t->error != VOLT_OK) return t->error;
  int result = volt_tls_send_begin_(t);
  if (result != VOLT_OK) return result;
  ERR_clear_error();
  int returned = SSL_shutdown(t->ssl); /* it only says so: the peer's own is read by recv */
  if (returned >= 0) {
    t->is_shut = 1;
  } else {
    result = volt_tls_failed_(t, returned);
  }
  ERR_clear_error();
  return result;
}

/* A socket that is closed with bytes in it that were not received resets the connection, and the peer
 * may lose what it has not read yet: with TLS 1.3 a client that only sends has the server's tickets there. */
static void end_empty(volt_tls *t) {
  char bytes[4096];
  size_t n = 1;
  for (int i = 0; i < END_EMPTY_CALLS && n > 0; i++) {
    if (volt_fd_try_recv(t->fd, bytes, sizeof bytes, 0, &n) != VOLT_OK) break;
  }
}

void volt_tls_part_(volt_tls *t) {
  volt_tls_wire_flush_(t);
  if (!t->rest) (void)volt_tls_send_end_(t);
  end_empty(t);
  t->is_closing = 1;
}

void volt_tls_free_(volt_tls *t) {
  SSL_free(t->ssl);
  volt_tls_wire_free_early_(t);
  volt_tls_wire_free_rest_(t);
  volt_tls_context_drop(t->named);
  volt_tls_context_drop(t->context);
  volt_mutex_destroy(&t->lock);
  t->ssl = NULL;
  t->named = NULL;
  t->context = NULL;
  t->stage = VOLT_TLS_NEW_;
  /* relaxed, no data: what begins from now on only sees that it is closed (R6) */
  (void)volt_fetch_or_relaxed(&t->uses, VOLT_TLS_CLOSES_);
}

/* Close it at once. */
static void end_close(volt_tls *t, bool says_end, const char *operation) {
  if (!t->context) return;
  uint32_t count = volt_latch_count(&t->under_way);
  VOLT_CHECK(count == 0, operation, "%p: %u operations are under way", (void *)t, count);
  /* tls:S1 <- tls:E1: what the last operation has done */
  (void)volt_load_acquire(&t->uses);
  int before = errno;
  if (says_end) volt_tls_part_(t);
  volt_fd_close(t->fd);
  volt_tls_free_(t);
  errno = before;
}

void volt_tls_close(volt_tls *t) {
  end_close(t, true, "volt_tls_close");
}

void volt_tls_cut_off(volt_tls *t) {
  end_close(t, false, "volt_tls_cut_off");
}

/* ---- a session ---- */

static int end_save(volt_tls *t, void *to, size_t room, size_t *size) {
  bool may = t->stage == VOLT_TLS_OPEN_ && !t->is_server;
  SSL_SESSION *session = may ? SSL_get1_session(t->ssl) : NULL;
  int result = VOLT_EAGAIN;
  if (session && SSL_SESSION_is_resumable(session)) {
    int all = i2d_SSL_SESSION(session, NULL);
    *size = all > 0 ? (size_t)all : 0;
    unsigned char *at = (unsigned char *)to;
    result = all <= 0 ? (int)VOLT_EAGAIN : (size_t)all > room ? (int)VOLT_EINVAL : (int)VOLT_OK;
    if (result == VOLT_OK) (void)i2d_SSL_SESSION(session, &at);
  }
  SSL_SESSION_free(session);
  return result;
}

int volt_tls_session_save(volt_tls *t, void *to, size_t room, size_t *size) {
  *size = 0;
  int before = errno;
  volt_latch_add(&t->under_way, 1); /* R6 */
  /* tls:V1 <-> tls:B1: a close that this one does not see waits for it */
  bool closes = volt_fetch_or_acq_rel(&t->uses, 0) & VOLT_TLS_CLOSES_;
  int result = VOLT_EAGAIN;
  if (!closes && t->context) result = volt_mutex_try_lock(&t->lock);
  if (!closes && t->context && result == VOLT_OK) {
    ERR_clear_error();
    result = end_save(t, to, room, size);
    ERR_clear_error();
    volt_mutex_unlock(&t->lock);
  }
  errno = before;
  volt_latch_count_down(&t->under_way, 1); /* R2: its last access */
  return result;
}
