/* tls_peer.h: a client that speaks TLS at the far end of a connection, and certificates. */
#ifndef VOLTGATE_TEST_TLS_PEER_H
#define VOLTGATE_TEST_TLS_PEER_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* mkdtemp */
#endif
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "network.h"

/* ---- certificates: made in a directory of their own ---- */

struct test_files {
  char directory[64];
  char cert[96], key[96], other_key[96], locked_key[96], garbage[96];
};

static inline EVP_PKEY *test_files_key(const char *path, const char *passphrase) {
  EVP_PKEY *key = EVP_EC_gen("P-256");
  FILE *file = fopen(path, "w");
  assert_non_null(key);
  assert_non_null(file);
  const EVP_CIPHER *cipher = passphrase ? EVP_aes_128_cbc() : NULL;
  int size = passphrase ? (int)strlen(passphrase) : 0;
  assert_int_equal(
      PEM_write_PrivateKey(file, key, cipher, (const unsigned char *)passphrase, size, NULL, NULL),
      1);
  fclose(file);
  return key;
}

static inline void test_files_sign(const char *path, EVP_PKEY *key) {
  X509 *x = X509_new();
  FILE *file = fopen(path, "w");
  ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
  X509_gmtime_adj(X509_getm_notBefore(x), -3600);
  X509_gmtime_adj(X509_getm_notAfter(x), 3600);
  X509_set_pubkey(x, key);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_ASC,
                             (const unsigned char *)"localhost", -1, -1, 0);
  X509_set_issuer_name(x, X509_get_subject_name(x));
  assert_true(X509_sign(x, key, EVP_sha256()) > 0);
  assert_int_equal(PEM_write_X509(file, x), 1);
  fclose(file);
  X509_free(x);
}

static inline void test_files_make(struct test_files *c) {
  snprintf(c->directory, sizeof c->directory, "/tmp/voltgate_tls_XXXXXX");
  assert_non_null(mkdtemp(c->directory));
  snprintf(c->cert, sizeof c->cert, "%s/cert", c->directory);
  snprintf(c->key, sizeof c->key, "%s/key", c->directory);
  snprintf(c->other_key, sizeof c->other_key, "%s/other_key", c->directory);
  snprintf(c->locked_key, sizeof c->locked_key, "%s/locked_key", c->directory);
  snprintf(c->garbage, sizeof c->garbage, "%s/garbage", c->directory);
  EVP_PKEY *key = test_files_key(c->key, NULL);
  test_files_sign(c->cert, key);
  EVP_PKEY_free(key);
  EVP_PKEY_free(test_files_key(c->other_key, NULL));
  EVP_PKEY_free(test_files_key(c->locked_key, "secret"));
  FILE *file = fopen(c->garbage, "w");
  fputs("this is no certificate\n", file);
  fclose(file);
}

static inline void test_files_remove(struct test_files *c) {
  unlink(c->cert);
  unlink(c->key);
  unlink(c->other_key);
  unlink(c->locked_key);
  unlink(c->garbage);
  rmdir(c->directory);
}

/* ---- a client ---- */

struct tls_peer {
  volt_fd *fd;
  SSL_CTX *context;
  SSL *ssl;
  BIO *in, *out; /* the network's side of them is moved by tls_peer_move() */
  size_t piece;  /* bytes that are moved at once, at most */
  bool is_cut;   /* the end has come */
  bool has_been_reset;
};

static inline void tls_peer_begin(struct tls_peer *p, volt_fd *fd, int version, const char *alpn) {
  memset(p, 0, sizeof *p);
  p->fd = fd;
  p->piece = SIZE_MAX;
  p->context = SSL_CTX_new(TLS_client_method());
  if (version) SSL_CTX_set_max_proto_version(p->context, version);
  p->ssl = SSL_new(p->context);
  p->in = BIO_new(BIO_s_mem());
  p->out = BIO_new(BIO_s_mem());
  SSL_set_bio(p->ssl, p->in, p->out);
  SSL_set_connect_state(p->ssl);
  if (alpn) {
    unsigned char protocol[32] = {(unsigned char)strlen(alpn)};
    memcpy(protocol + 1, alpn, strlen(alpn));
    assert_int_equal(SSL_set_alpn_protos(p->ssl, protocol, 1u + protocol[0]), 0);
  }
}

static inline void tls_peer_end(struct tls_peer *p) {
  SSL_free(p->ssl);
  SSL_CTX_free(p->context);
  ERR_clear_error();
}

/* Between the network and OpenSSL. Returns whether anything was moved. */
static inline bool tls_peer_move(struct tls_peer *p) {
  char chunk[16384];
  bool any = false;
  size_t room = p->piece < sizeof chunk ? p->piece : sizeof chunk;
  size_t n;
  int result = volt_fd_try_recv(p->fd, chunk, room, 0, &n);
  if (result == VOLT_OK && n == 0) p->is_cut = true;
  if (result != VOLT_OK && result != VOLT_EAGAIN) p->has_been_reset = true;
  if (n > 0) any = BIO_write(p->in, chunk, (int)n) > 0;
  char *bytes;
  long waiting = BIO_get_mem_data(p->out, &bytes);
  if (waiting > 0) {
    size_t size = (size_t)waiting < room ? (size_t)waiting : room;
    result = volt_fd_try_send(p->fd, bytes, size, 0, &n);
    if (result != VOLT_OK && result != VOLT_EAGAIN) p->has_been_reset = true;
    if (n > 0) any = BIO_read(p->out, chunk, (int)n) > 0;
  }
  return any;
}

/* As SSL_read(): bytes; 0: the other side has said that it ends; -1: nothing yet, or it has failed. */
static inline int tls_peer_take(struct tls_peer *p, void *to, size_t room) {
  ERR_clear_error();
  int n = SSL_read(p->ssl, to, (int)room);
  if (n > 0) return n;
  return SSL_get_error(p->ssl, n) == SSL_ERROR_ZERO_RETURN ? 0 : -1;
}

#endif
