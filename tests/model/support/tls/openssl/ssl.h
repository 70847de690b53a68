// ssl.h: what tls_op.c, step.c and end.c use of OpenSSL, for a model: a connection is the bytes that it has decrypted, and is used by
// one thread at a time (stream.h I1). model_tls.cpp has these.
#ifndef VOLT_MODEL_SSL_H
#define VOLT_MODEL_SSL_H

#include <stddef.h>
#include <volt/detail/atomic.h>

typedef struct ssl_st SSL;
typedef struct ssl_ctx_st SSL_CTX;
typedef struct ssl_session_st SSL_SESSION;
typedef struct bio_st BIO;
struct volt_tls;

struct ssl_st {
  struct volt_tls *stream = nullptr;
  VOLT_PLAIN(uint32_t) uses; // whoever uses it beside another thread is reported
  uint32_t plain = 0;        // decrypted, and not read yet
  uint32_t written = 0;
  bool is_shaken = true;
  bool has_half = false;   // half a message has come
  bool reads_ahead = true; // what is behind the other half is decrypted, too
  bool ends_there = false; // what comes is no other half: the stream ends
  bool needs_room = false; // what it writes is sent as bytes of room come
  bool has_said_end = false;
  bool is_last = false; // the end that is said is that of a close: nothing follows
  bool is_freed = false;
};

enum { TLS1_3_VERSION = 0x0304 };

BIO *SSL_get_rbio(const SSL *ssl); // of a header, not called
void *BIO_get_data(BIO *bio);
int SSL_version(const SSL *ssl);
int SSL_is_init_finished(const SSL *ssl);
int SSL_in_init(const SSL *ssl);
int SSL_do_handshake(SSL *ssl);
void SSL_set_read_ahead(SSL *ssl, int yes);
int SSL_peek_ex(SSL *ssl, void *to, size_t size, size_t *n);
int SSL_read_ex(SSL *ssl, void *to, size_t size, size_t *n);
int SSL_has_pending(const SSL *ssl);
int SSL_write_ex(SSL *ssl, const void *from, size_t size, size_t *n);
int SSL_shutdown(SSL *ssl);
void SSL_free(SSL *ssl);

SSL_SESSION *SSL_get1_session(SSL *ssl);
int SSL_SESSION_is_resumable(const SSL_SESSION *session);
int i2d_SSL_SESSION(const SSL_SESSION *session, unsigned char **to);
void SSL_SESSION_free(SSL_SESSION *session);

#endif
