/* tls.c: TLS towards clients.
 *
 * Invariant
 *   I1  A write of OpenSSL never fails for want of room: so no call has to be repeated with the same
 *       bytes, and WANT_WRITE does not occur.
 *   I2  is_drained: the socket was found empty since it was last ready. Then no
 *       system call is made to receive, OpenSSL finds nothing, and gives its buffer back. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* vasprintf */
#endif
#include "link/tls.h"

#include <errno.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of TLS 1.2 and 1.3: what one record holds at most, and how many records more than that are
 * gathered for one call. */
enum { RECORD_MAX = 16384, GATHER_ROOM = 32768 + 4096 };

struct tls_context {
  SSL_CTX *ssl;
  atomic_uint holders;
};

struct tls {
  SSL *ssl;
  struct tls_context *context;
  struct link *link;
  char *early; /* bytes that came before; NULL: none */
  uint32_t early_from, early_until;
  char *gather; /* of this thread, while records are gathered; NULL: they are sent as they come */
  size_t gathered;
  int error;         /* of the socket, or of memory */
  unsigned long why; /* of OpenSSL, or 0 */
  bool is_drained, has_eof, is_done;
};

/* ---- BIO ---- */

static int tls_bio_read_early(struct tls *t, char *to, int size) {
  size_t left = t->early_until - t->early_from;
  size_t n = left < (size_t)size ? left : (size_t)size;
  memcpy(to, t->early + t->early_from, n);
  t->early_from += (uint32_t)n;
  if (t->early_from == t->early_until) {
    free(t->early);
    t->early = NULL;
  }
  return (int)n;
}

static int tls_bio_read(BIO *bio, char *to, int size) {
  struct tls *t = (struct tls *)BIO_get_data(bio);
  BIO_clear_retry_flags(bio);
  if (size <= 0 || t->has_eof) return 0;
  if (t->early) return tls_bio_read_early(t, to, size);
  size_t n = 0;
  int result = VOLT_EAGAIN;
  if (!t->is_drained) result = volt_fd_try_recv(&t->link->fd, to, (size_t)size, 0, &n);
  t->is_drained = n < (size_t)size;
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

static int tls_put_gathered(struct tls *t) {
  size_t size = t->gathered;
  t->gathered = 0;
  return size == 0 ? VOLT_OK : link_put(t->link, t->gather, size);
}

static int tls_bio_write(BIO *bio, const char *from, int size) {
  struct tls *t = (struct tls *)BIO_get_data(bio);
  BIO_clear_retry_flags(bio);
  if (size <= 0) return 0;
  int result = VOLT_OK;
  if (t->gather && (size_t)size > GATHER_ROOM - t->gathered) result = tls_put_gathered(t);
  if (result == VOLT_OK && t->gather && (size_t)size <= GATHER_ROOM - t->gathered) {
    memcpy(t->gather + t->gathered, from, (size_t)size);
    t->gathered += (size_t)size;
  } else if (result == VOLT_OK) {
    result = link_put(t->link, from, (size_t)size);
  }
  if (result == VOLT_OK) return size;
  t->error = result;
  return -1;
}

static long tls_bio_ctrl(BIO *bio, int command, long number, void *pointer) {
  (void)number, (void)pointer;
  const struct tls *t = (const struct tls *)BIO_get_data(bio);
  if (command == BIO_CTRL_FLUSH) return 1;
  return command == BIO_CTRL_EOF ? t->has_eof : 0;
}

static pthread_once_t tls_once = PTHREAD_ONCE_INIT;
static BIO_METHOD *tls_bio; /* NULL: no memory */
static pthread_key_t tls_key;
static bool tls_has_key;

/* Freed with OpenSSL, as the process ends. */
static void tls_free_bio(void) {
  BIO_meth_free(tls_bio);
}

static void tls_make_once(void) {
  tls_has_key = pthread_key_create(&tls_key, free) == 0;
  tls_bio = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "volt");
  if (!tls_bio) return;
  BIO_meth_set_read(tls_bio, tls_bio_read);
  BIO_meth_set_write(tls_bio, tls_bio_write);
  BIO_meth_set_ctrl(tls_bio, tls_bio_ctrl);
  OPENSSL_atexit(tls_free_bio);
}

/* The buffer of this thread. Returns NULL: there is no memory; records are sent one by one. */
static char *tls_gather_here(void) {
  if (!tls_has_key) return NULL;
  char *gather = (char *)pthread_getspecific(tls_key);
  if (gather) return gather;
  gather = (char *)malloc(GATHER_ROOM);
  if (!gather || pthread_setspecific(tls_key, gather) == 0) return gather;
  free(gather);
  return NULL;
}

/* ---- contexts ---- */

static char *tls_words(const char *format, ...) {
  char *words = NULL;
  va_list args;
  va_start(args, format);
  if (vasprintf(&words, format, args) < 0) words = NULL;
  va_end(args);
  return words;
}

/* What OpenSSL says of a failure. */
static const char *tls_reason(unsigned long error) {
  if (error == 0) return "unknown";
  if (ERR_SYSTEM_ERROR(error)) return strerror(ERR_GET_REASON(error));
  if (ERR_GET_LIB(error) == ERR_LIB_PEM && ERR_GET_REASON(error) == 108 /* PEM_R_NO_START_LINE */) {
    return "the file has none in PEM form";
  }
  const char *reason = ERR_reason_error_string(error);
  return reason ? reason : "unknown";
}

static int tls_no_passphrase(char *to, int size, int is_encrypting, void *arg) {
  (void)to, (void)size, (void)is_encrypting;
  *(bool *)arg = true;
  return -1; /* OpenSSL would ask at the terminal */
}

static int tls_choose_postgres(SSL *ssl, const unsigned char **out, unsigned char *size,
                               const unsigned char *offered, unsigned offered_size, void *arg) {
  (void)ssl, (void)arg;
  static const unsigned char known[] = "\012postgresql";
  for (unsigned at = 0; at < offered_size && at + offered[at] < offered_size;
       at += 1u + offered[at]) {
    if (offered[at] != known[0] || memcmp(offered + at + 1, known + 1, known[0]) != 0) continue;
    *out = offered + at + 1;
    *size = offered[at];
    return SSL_TLSEXT_ERR_OK;
  }
  return SSL_TLSEXT_ERR_ALERT_FATAL;
}

static void tls_set_up(SSL_CTX *ssl, enum tls_alpn alpn) {
  SSL_CTX_set_mode(ssl, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                            SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_options(
      ssl, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_OFF); /* tickets need no memory here */
  SSL_CTX_set_num_tickets(ssl, 1);
  SSL_CTX_set_read_ahead(ssl, 1); /* a record, and what is behind it, by one call */
  SSL_CTX_set_default_passwd_cb(ssl, tls_no_passphrase);
  if (alpn == TLS_ALPN_POSTGRES) SSL_CTX_set_alpn_select_cb(ssl, tls_choose_postgres, NULL);
}

/* Returns NULL, or words, which may be NULL, too: then *failed says it. */
static char *tls_load(SSL_CTX *ssl, const char *cert, const char *key, bool *failed) {
  bool is_locked = false;
  *failed = true;
  SSL_CTX_set_default_passwd_cb_userdata(ssl, &is_locked);
  ERR_clear_error();
  if (SSL_CTX_use_certificate_chain_file(ssl, cert) != 1) {
    return tls_words("certificate %s: %s", cert, tls_reason(ERR_peek_error()));
  }
  if (SSL_CTX_use_PrivateKey_file(ssl, key, SSL_FILETYPE_PEM) != 1) {
    unsigned long error = ERR_peek_error();
    if (is_locked) return tls_words("key %s: it is locked by a passphrase", key);
    if (ERR_GET_LIB(error) == ERR_LIB_X509) {
      return tls_words("key %s does not belong to certificate %s", key, cert);
    }
    return tls_words("key %s: %s", key, tls_reason(error));
  }
  if (SSL_CTX_check_private_key(ssl) != 1) {
    return tls_words("key %s does not belong to certificate %s", key, cert);
  }
  SSL_CTX_set_default_passwd_cb_userdata(ssl, NULL); /* nothing is read any more */
  *failed = false;
  return NULL;
}

struct tls_context *tls_context_new(const char *cert, const char *key, int minimum,
                                    enum tls_alpn alpn, char **why) {
  (void)pthread_once(&tls_once, tls_make_once);
  *why = NULL;
  struct tls_context *c = (struct tls_context *)calloc(1, sizeof *c);
  if (!c) return NULL;
  c->ssl = SSL_CTX_new(TLS_server_method());
  if (!c->ssl || !tls_bio) {
    tls_context_drop(c);
    return NULL;
  }
  tls_set_up(c->ssl, alpn);
  bool failed = SSL_CTX_set_min_proto_version(c->ssl, minimum) != 1;
  if (failed) {
    *why = tls_words("OpenSSL does not know this version of TLS");
  } else {
    *why = tls_load(c->ssl, cert, key, &failed);
  }
  ERR_clear_error();
  if (failed) {
    tls_context_drop(c);
    return NULL;
  }
  return tls_context_hold(c);
}

struct tls_context *tls_context_hold(struct tls_context *c) {
  /* relaxed: the caller holds it already */
  if (c) atomic_fetch_add_explicit(&c->holders, 1, memory_order_relaxed);
  return c;
}

void tls_context_drop(struct tls_context *c) {
  if (!c) return;
  if (atomic_load_explicit(&c->holders, memory_order_relaxed) > 0 && /* 0: was never given out */
      /* voltgate:T1 -> voltgate:T1: the last one frees what the others have used */
      atomic_fetch_sub_explicit(&c->holders, 1, memory_order_acq_rel) != 1) {
    return;
  }
  SSL_CTX_free(c->ssl);
  free(c);
}

/* ---- a session ---- */

int tls_accept(struct link *l, struct tls_context *c, const void *early, size_t size) {
  struct tls *t = (struct tls *)calloc(1, sizeof *t);
  if (!t) return VOLT_ENOMEM;
  t->context = tls_context_hold(c);
  t->link = l;
  t->ssl = SSL_new(c->ssl);
  BIO *bio = BIO_new(tls_bio);
  if (t->ssl && bio) {
    BIO_set_data(bio, t);
    BIO_set_init(bio, 1);
    SSL_set_bio(t->ssl, bio, bio);
    SSL_set_accept_state(t->ssl);
  } else {
    BIO_free(bio);
  }
  if (size > 0) t->early = (char *)malloc(size);
  if (!t->ssl || !bio || (size > 0 && !t->early)) {
    tls_free(t);
    return VOLT_ENOMEM;
  }
  if (size > 0) memcpy(t->early, early, size);
  t->early_until = (uint32_t)size;
  l->tls = t;
  return VOLT_OK;
}

void tls_free(struct tls *t) {
  SSL_free(t->ssl);
  tls_context_drop(t->context);
  free(t->early);
  free(t);
}

/* A call of OpenSSL has returned result <= 0. Returns VOLT_EAGAIN, VOLT_OK: the client has said that
 * it sends nothing more; or what failed. */
static int tls_failed(struct tls *t, int result) {
  int kind = SSL_get_error(t->ssl, result);
  if (kind == SSL_ERROR_WANT_READ) return VOLT_EAGAIN;
  if (kind == SSL_ERROR_ZERO_RETURN) return VOLT_OK;
  if (t->error == VOLT_OK && t->has_eof) t->error = VOLT_ERRNO(ECONNRESET); /* no alert before */
  if (t->error == VOLT_OK) {
    t->why = ERR_peek_last_error();
    t->error = VOLT_ERRNO(EPROTO);
  }
  ERR_clear_error();
  return t->error;
}

/* The socket is ready, or it was not found empty. */
static void tls_begin_read(struct tls *t) {
  if (t->link->is_drained) t->is_drained = false;
  t->link->is_drained = false;
}

int tls_handshake(struct link *l) {
  struct tls *t = l->tls;
  if (t->error != VOLT_OK) return t->error;
  tls_begin_read(t);
  ERR_clear_error();
  int result = SSL_do_handshake(t->ssl);
  if (result == 1) {
    t->is_done = true;
    return VOLT_OK;
  }
  result = tls_failed(t, result);
  l->is_drained = result == VOLT_EAGAIN;
  if (t->has_eof || result == VOLT_OK) return VOLT_ECLOSED;
  return result;
}

int tls_recv(struct link *l, void *to, size_t size, size_t *n) {
  struct tls *t = l->tls;
  *n = 0;
  if (l->has_ended) return VOLT_OK;
  tls_begin_read(t);
  ERR_clear_error();
  int result = t->error;
  while (*n < size && result == VOLT_OK) {
    size_t got;
    if (SSL_read_ex(t->ssl, (char *)to + *n, size - *n, &got) == 1) {
      *n += got;
      continue;
    }
    result = tls_failed(t, 0);
    if (result != VOLT_OK) break;
    if (*n == 0) l->has_ended = true; /* else the next call finds it again */
    return VOLT_OK;
  }
  l->is_drained = result == VOLT_EAGAIN;
  return *n > 0 ? VOLT_OK : result;
}

int tls_send(struct link *l, const void *from, size_t size) {
  struct tls *t = l->tls;
  if (t->error != VOLT_OK) return t->error;
  t->gather = size > RECORD_MAX ? tls_gather_here() : NULL;
  ERR_clear_error();
  int result = VOLT_OK;
  for (size_t at = 0, sent; at < size && result == VOLT_OK; at += sent) {
    sent = 0;
    if (SSL_write_ex(t->ssl, (const char *)from + at, size - at, &sent) == 1) continue;
    result = tls_failed(t, 0);
    if (result == VOLT_OK || result == VOLT_EAGAIN) result = VOLT_ERRNO(EPIPE); /* I1 */
  }
  if (result == VOLT_OK && t->gather) result = tls_put_gathered(t);
  t->gather = NULL;
  t->gathered = 0;
  return result;
}

void tls_shut(struct link *l) {
  struct tls *t = l->tls;
  if (!t->is_done || t->error != VOLT_OK) return;
  ERR_clear_error();
  (void)SSL_shutdown(t->ssl); /* it only says so: the client's own is read by tls_recv() */
  ERR_clear_error();
}

/* ---- words ---- */

const char *tls_why(const struct link *l) {
  if (!l->tls || l->tls->why == 0) return "";
  return tls_reason(l->tls->why);
}

const char *tls_version(const struct link *l) {
  return l->tls ? SSL_get_version(l->tls->ssl) : "";
}

const char *tls_alpn_chosen(const struct link *l, size_t *size) {
  const unsigned char *name = NULL;
  unsigned length = 0;
  if (l->tls) SSL_get0_alpn_selected(l->tls->ssl, &name, &length);
  *size = length;
  return name ? (const char *)name : "";
}
