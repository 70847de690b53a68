/* wire.c: the records of a stream, to and from the socket. stream.h says why it is done so.
 *
 * Labels: tls */
#include <openssl/bio.h>
#include <stdlib.h>
#include <string.h>

#include "stream.h"

/* Two records, with their heads and ends. */
enum { WIRE_GATHER_ROOM = 2 * VOLT_TLS_RECORD_ + 2048 };

void volt_tls_wire_free_rest_(volt_tls *t) {
  free(t->rest);
  t->rest = NULL;
  t->rest_from = 0;
  t->rest_until = 0;
  t->rest_room = 0;
}

void volt_tls_wire_free_early_(volt_tls *t) {
  free(t->early);
  t->early = NULL;
}

/* The socket takes no more: what is sent from now on goes nowhere. To receive may still be possible. */
static void wire_fail(volt_tls *t, int result) {
  if (t->send_error == VOLT_OK) t->send_error = result;
  volt_tls_wire_free_rest_(t);
}

/* Send some of it. Returns how many bytes. */
static size_t wire_put(volt_tls *t, const char *from, size_t size) {
  size_t all = 0;
  while (all < size && t->send_error == VOLT_OK) {
    size_t n = 0;
    int result = volt_fd_try_send(t->fd, from + all, size - all, 0, &n);
    if (result == VOLT_EAGAIN) break;
    if (result != VOLT_OK) {
      wire_fail(t, result);
      break;
    }
    all += n;
  }
  return all;
}

void volt_tls_wire_flush_(volt_tls *t) {
  if (!t->rest) return;
  size_t n = wire_put(t, t->rest + t->rest_from, volt_tls_rest_(t));
  if (!t->rest) return;
  t->rest_from += (uint32_t)n;
  if (t->rest_from == t->rest_until) volt_tls_wire_free_rest_(t); /* I5 */
}

/* Have room for size bytes more. It grows by doubling: many small records cost no more than few. Where
 * records are gathered, there is room for both at once. */
static bool wire_grow(volt_tls *t, size_t size) {
  if (t->rest && size <= t->rest_room - t->rest_until) return true;
  size_t before = volt_tls_rest_(t), room = before > 0 ? 2 * (before + size) : size;
  if (t->gathers && room < WIRE_GATHER_ROOM) room = WIRE_GATHER_ROOM;
  char *rest = (char *)malloc(room);
  if (!rest) return false;
  if (before > 0) memcpy(rest, t->rest + t->rest_from, before);
  free(t->rest);
  t->rest = rest;
  t->rest_from = 0;
  t->rest_until = (uint32_t)before;
  t->rest_room = (uint32_t)room;
  return true;
}

/* Keep what the socket has not taken. */
static void wire_keep(volt_tls *t, const char *from, size_t size) {
  if (!wire_grow(t, size)) {
    wire_fail(t, VOLT_ENOMEM);
    return;
  }
  memcpy(t->rest + t->rest_until, from, size);
  t->rest_until += (uint32_t)size;
}

/* It never fails, and takes all: a failure of the socket is in send_error. */
static int wire_write(BIO *bio, const char *from, int size) {
  volt_tls *t = (volt_tls *)BIO_get_data(bio);
  BIO_clear_retry_flags(bio);
  if (size <= 0) return 0;
  size_t n = t->rest || t->gathers ? 0 : wire_put(t, from, (size_t)size); /* I3 */
  if (n < (size_t)size && t->send_error == VOLT_OK) wire_keep(t, from + n, (size_t)size - n);
  return size;
}

/* Whether this step may read the socket. OpenSSL goes on as long as it has records of control, and its
 * peer decides how many there are (I4). A socket that takes no more may have the peer's reason. */
static bool wire_may_read(volt_tls *t) {
  if (t->is_drained && t->send_error == VOLT_OK) return false;
  if (volt_tls_rest_(t) > VOLT_TLS_REST_MAX_) return false;
  t->is_cut = t->reads == VOLT_TLS_READS_;
  if (!t->is_cut) t->reads++;
  return !t->is_cut;
}

/* What had come before the stream began. */
static int wire_read_early(volt_tls *t, char *to, size_t size) {
  size_t left = t->early_until - t->early_from, n = left < size ? left : size;
  memcpy(to, t->early + t->early_from, n);
  t->early_from += (uint32_t)n;
  if (t->early_from == t->early_until) volt_tls_wire_free_early_(t);
  return (int)n;
}

static int wire_read(BIO *bio, char *to, int size) {
  volt_tls *t = (volt_tls *)BIO_get_data(bio);
  BIO_clear_retry_flags(bio);
  if (size <= 0 || t->has_eof) return 0;
  if (t->early) return wire_read_early(t, to, (size_t)size);
  size_t n = 0;
  int result = VOLT_EAGAIN;
  if (wire_may_read(t)) {
    result = volt_fd_try_recv(t->fd, to, (size_t)size, 0, &n);
    t->is_drained = n < (size_t)size;
  }
  if (result == VOLT_OK) {
    t->has_eof = n == 0;
    return (int)n;
  }
  if (result == VOLT_EAGAIN) {
    BIO_set_retry_read(bio);
  } else {
    t->error = result;
  }
  return -1;
}

static long wire_ctrl(BIO *bio, int command, long number, void *pointer) {
  (void)number, (void)pointer;
  const volt_tls *t = (const volt_tls *)BIO_get_data(bio);
  if (command == BIO_CTRL_FLUSH) return 1;
  return command == BIO_CTRL_EOF ? t->has_eof : 0;
}

static CRYPTO_ONCE wire_once = CRYPTO_ONCE_STATIC_INIT;
static BIO_METHOD *wire_method; /* NULL: no memory */

/* Freed with OpenSSL, as the process ends. */
static void wire_free_method(void) {
  BIO_meth_free(wire_method);
}

static void wire_make_method(void) {
  wire_method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "volt");
  if (!wire_method) return;
  BIO_meth_set_read(wire_method, wire_read);
  BIO_meth_set_write(wire_method, wire_write);
  BIO_meth_set_ctrl(wire_method, wire_ctrl);
  OPENSSL_atexit(wire_free_method);
}

bool volt_tls_wire_(volt_tls *t) {
  (void)CRYPTO_THREAD_run_once(&wire_once, wire_make_method);
  BIO *bio = wire_method ? BIO_new(wire_method) : NULL;
  if (!bio) return false;
  BIO_set_data(bio, t);
  BIO_set_init(bio, 1);
  SSL_set_bio(t->ssl, bio, bio);
  return true;
}
