/* load.c: an SSL_CTX as a configuration says.
 *
 * Labels: tls */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* O_CLOEXEC */
#endif
#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "context.h"

/* The most that a file may have. */
enum { LOAD_MAX = 16 << 20, LOAD_LEVEL = 2 };

/* ---- texts in PEM form ---- */

/* A file that was read, or a text of the caller's. */
typedef struct load_text {
  const char *name; /* for words */
  char *own;        /* of a file; NULL: the text is the caller's */
  const char *bytes;
  size_t size;
} load_text;

static void load_close(load_text *text) {
  if (text->own) OPENSSL_clear_free(text->own, text->size + 1); /* it may have a key */
  text->own = NULL;
}

static int load_read(int file, load_text *text) {
  size_t room = 0;
  for (;;) {
    if (text->size == room) {
      size_t more = room ? room * 2 : 4096;
      char *grown = (char *)OPENSSL_clear_realloc(text->own, room ? room + 1 : 0, more + 1);
      if (!grown) return VOLT_ENOMEM;
      text->own = grown;
      room = more;
    }
    ssize_t n = read(file, text->own + text->size, room - text->size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return VOLT_ERRNO(errno);
    if (n == 0) return VOLT_OK;
    text->size += (size_t)n;
    if (text->size > LOAD_MAX) return VOLT_ERRNO(EFBIG);
  }
}

/* A regular file alone: to open another one, such as a FIFO, or to read it may wait for ever.
 * words: why, if they are not volt_strerror()'s. */
static int load_read_file(const char *path, load_text *text, const char **words) {
  struct stat status;
  int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (file < 0) return VOLT_ERRNO(errno);
  int result = fstat(file, &status) == 0 ? VOLT_OK : VOLT_ERRNO(errno);
  if (result == VOLT_OK && !S_ISREG(status.st_mode)) {
    *words = "it is no regular file";
    result = VOLT_EINVAL;
  }
  if (result == VOLT_OK) result = load_read(file, text);
  (void)close(file);
  return result;
}

/* Whether it is the text itself: that of pkcs12 has lines in front of the first block. */
static bool load_is_text(const char *from) {
  return strpbrk(from, "\r\n") || strstr(from, "-----BEGIN");
}

static bool load_can_be_shown(const char *path) {
  for (; *path; path++) {
    if ((unsigned char)*path < ' ' || *path == 127) return false;
  }
  return true;
}

/* is_secret: what stands there may be a key that was meant as a text, so it is in no words. */
static int load_open(const char *from, bool is_secret, load_text *text, volt_tls_words_ *words) {
  memset(text, 0, sizeof *text);
  text->name = "the text";
  if (load_is_text(from)) {
    text->bytes = from;
    text->size = strlen(from);
    return VOLT_OK;
  }
  text->name = is_secret ? "the file of the key" : load_can_be_shown(from) ? from : "the file";
  const char *why = NULL;
  int result = load_read_file(from, text, &why);
  if (text->own) text->own[text->size] = '\0';
  text->bytes = text->own;
  if (result == VOLT_OK) return VOLT_OK;
  load_close(text);
  return volt_tls_words_put_(words, result, "%s: %s", text->name,
                             why ? why : volt_strerror(result));
}

static int load_no_passphrase(char *to, int size, int is_encrypting, void *arg) {
  (void)to, (void)size, (void)is_encrypting;
  *(bool *)arg = true;
  return -1; /* OpenSSL would ask at the terminal */
}

/* Whether a reader has stopped because there is no more. */
static bool load_is_at_end(void) {
  unsigned long error = ERR_peek_last_error();
  bool ends = ERR_GET_LIB(error) == ERR_LIB_PEM && ERR_GET_REASON(error) == PEM_R_NO_START_LINE;
  if (ends) ERR_clear_error();
  return ends || error == 0;
}

/* What to do with one of several certificates or CRLs, which it frees or keeps. */
typedef int load_take(SSL_CTX *ssl, void *one, unsigned index);
typedef void *load_next(BIO *from);

/* The bytes of the next block of a sort, for load_free_block(). Blocks of other sorts, of which one may
 * be the key, are decoded on the way, in memory that is wiped. Returns NULL: there is none. */
static unsigned char *load_block(BIO *from, const char *sort, long *size, bool *is_locked) {
  unsigned char *bytes = NULL;
  char *name = NULL;
  if (PEM_bytes_read_bio_secmem(&bytes, size, &name, sort, from, load_no_passphrase, is_locked) !=
      1)
    return NULL;
  if (strcmp(name, PEM_STRING_PKCS8) == 0) *is_locked = true;
  OPENSSL_secure_free(name);
  return bytes;
}

static void load_free_block(unsigned char *bytes, long size) {
  OPENSSL_secure_clear_free(bytes, (size_t)size);
}

static void *load_next_certificate(BIO *from) {
  long size = 0;
  bool is_locked = false;
  unsigned char *bytes = load_block(from, PEM_STRING_X509, &size, &is_locked);
  const unsigned char *at = bytes;
  X509 *one = bytes ? d2i_X509(NULL, &at, size) : NULL;
  if (bytes) load_free_block(bytes, size);
  return one;
}

static void *load_next_crl(BIO *from) {
  bool is_locked = false;
  return PEM_read_bio_X509_CRL(from, NULL, load_no_passphrase, &is_locked);
}

static EVP_PKEY *load_next_key(BIO *from, bool *is_locked) {
  long size = 0;
  unsigned char *bytes = load_block(from, PEM_STRING_EVP_PKEY, &size, is_locked);
  const unsigned char *at = bytes;
  EVP_PKEY *key = bytes && !*is_locked ? d2i_AutoPrivateKey(NULL, &at, size) : NULL;
  if (bytes) load_free_block(bytes, size);
  return key;
}

/* Whether behind the last block there is the beginning of another one, which OpenSSL would leave out. */
static bool load_is_torn(const char *text) {
  const char *end = text;
  for (const char *next; (next = strstr(end, "-----END")) != NULL;) end = next + 1;
  for (const char *line = strchr(end, '\n'); line; line = strchr(line + 1, '\n')) {
    if (line[1] == '-') return true;
  }
  return false;
}

static int load_take_chain(SSL_CTX *ssl, void *one, unsigned index) {
  if (index > 0 && SSL_CTX_add0_chain_cert(ssl, (X509 *)one) == 1) return 1;
  int done = index == 0 ? SSL_CTX_use_certificate(ssl, (X509 *)one) : 0;
  X509_free((X509 *)one);
  return done;
}

static int load_take_root(SSL_CTX *ssl, void *one, unsigned index) {
  (void)index;
  int done = X509_STORE_add_cert(SSL_CTX_get_cert_store(ssl), (X509 *)one);
  if (done == 1) done = SSL_CTX_add_client_CA(ssl, (X509 *)one);
  X509_free((X509 *)one);
  return done;
}

static int load_take_crl(SSL_CTX *ssl, void *one, unsigned index) {
  (void)index;
  int done = X509_STORE_add_crl(SSL_CTX_get_cert_store(ssl), (X509_CRL *)one);
  X509_CRL_free((X509_CRL *)one);
  return done;
}

static bool load_digest(const void *from, size_t size, unsigned char *to) {
  return EVP_Digest(from, size, to, NULL, EVP_sha256(), NULL) == 1;
}

/* Take all that the text has, one at least. what: of which sort, for words. digest: of its bytes; or
 * NULL. */
static int load_all(SSL_CTX *ssl, const char *from, const char *what, load_next *next,
                    load_take *take, unsigned char *digest, volt_tls_words_ *words) {
  load_text text;
  int result = load_open(from, false, &text, words);
  if (result != VOLT_OK) return result;
  BIO *bio = BIO_new_mem_buf(text.bytes, (int)text.size);
  if (!bio || (digest && !load_digest(text.bytes, text.size, digest))) result = VOLT_ENOMEM;
  unsigned count = 0;
  ERR_clear_error();
  for (void *one; result == VOLT_OK && (one = next(bio)) != NULL; count++) {
    if (take(ssl, one, count) != 1) result = VOLT_EINVAL;
  }
  if (result == VOLT_OK && !(load_is_at_end() && count > 0)) result = VOLT_EINVAL;
  bool is_torn = result == VOLT_OK && load_is_torn(text.bytes);
  if (is_torn) result = VOLT_EINVAL;
  if (result == VOLT_EINVAL) {
    const char *reason = is_torn                 ? "it ends within a block"
                         : ERR_peek_last_error() ? volt_tls_words_of_openssl_()
                                                 : "there is none in it";
    (void)volt_tls_words_put_(words, result, "%s in %s: %s", what, text.name, reason);
  }
  BIO_free(bio);
  load_close(&text);
  ERR_clear_error();
  return result;
}

static int load_key(SSL_CTX *ssl, const char *from, volt_tls_words_ *words) {
  load_text text;
  int result = load_open(from, true, &text, words);
  if (result != VOLT_OK) return result;
  bool is_locked = false;
  ERR_clear_error();
  BIO *bio = BIO_new_mem_buf(text.bytes, (int)text.size);
  EVP_PKEY *key = bio ? load_next_key(bio, &is_locked) : NULL;
  if (!key) {
    const char *reason = is_locked ? "it is locked by a passphrase" : volt_tls_words_of_openssl_();
    result = volt_tls_words_put_(words, VOLT_EINVAL, "key in %s: %s", text.name, reason);
  } else if (SSL_CTX_use_PrivateKey(ssl, key) != 1 || SSL_CTX_check_private_key(ssl) != 1) {
    result = volt_tls_words_put_(words, VOLT_EINVAL,
                                 "key in %s: it cannot be used with the certificate: %s", text.name,
                                 volt_tls_words_of_openssl_());
  }
  EVP_PKEY_free(key);
  BIO_free(bio);
  load_close(&text);
  ERR_clear_error();
  return result;
}

/* ---- protocols of the application ---- */

/* "h2,http/1.1" as on the wire. Returns false: it is no list. */
static bool load_alpn_list(const char *from, volt_tls_setup_ *setup) {
  unsigned at = 0;
  for (const char *p = from;;) {
    size_t size = strcspn(p, ",");
    if (size == 0 || size > 255 || at + 1 + size > sizeof setup->alpn) return false;
    setup->alpn[at] = (unsigned char)size;
    memcpy(setup->alpn + at + 1, p, size);
    at += 1 + (unsigned)size;
    p += size;
    if (*p++ == '\0') break;
  }
  setup->alpn_size = at;
  return true;
}

static int load_choose_alpn(SSL *ssl, const unsigned char **out, unsigned char *size,
                            const unsigned char *offered, unsigned offered_size, void *arg) {
  (void)ssl;
  const volt_tls_setup_ *setup = (const volt_tls_setup_ *)arg;
  unsigned char *chosen;
  int found =
      SSL_select_next_proto(&chosen, size, setup->alpn, setup->alpn_size, offered, offered_size);
  *out = chosen;
  return found == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

static int load_alpn(SSL_CTX *ssl, volt_tls_context *c, const char *alpn, volt_tls_words_ *words) {
  volt_tls_setup_ *setup = volt_tls_setup_of_(ssl);
  if (!load_alpn_list(alpn, setup))
    return volt_tls_words_put_(words, VOLT_EINVAL, "alpn: \"%s\" is no list of names", alpn);
  if (c->role == VOLT_TLS_SERVER) {
    SSL_CTX_set_alpn_select_cb(ssl, load_choose_alpn, setup);
  } else if (SSL_CTX_set_alpn_protos(ssl, setup->alpn, setup->alpn_size) != 0) {
    return VOLT_ENOMEM;
  }
  return VOLT_OK;
}

/* ---- setup ---- */

static CRYPTO_ONCE load_once = CRYPTO_ONCE_STATIC_INIT;
static int load_index = -1;

static void load_free_setup(void *parent, void *setup, CRYPTO_EX_DATA *data, int index, long number,
                            void *arg) {
  (void)parent, (void)data, (void)index, (void)number, (void)arg;
  free(setup);
}

static void load_make_index(void) {
  load_index = SSL_CTX_get_ex_new_index(0, NULL, NULL, NULL, load_free_setup);
}

volt_tls_setup_ *volt_tls_setup_of_(const SSL_CTX *ssl) {
  return (volt_tls_setup_ *)SSL_CTX_get_ex_data(ssl, load_index);
}

/* What does not depend on the configuration. */
static void load_set_up(SSL_CTX *ssl, const volt_tls_context *c) {
  SSL_CTX_set_mode(ssl, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                            SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_options(ssl, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                               SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_CLEANSE_PLAINTEXT);
  SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_OFF); /* tickets need no memory here */
  SSL_CTX_set_read_ahead(ssl, 1); /* a record, and what is behind it, by one call */
  SSL_CTX_set_security_level(ssl, LOAD_LEVEL);
  (void)SSL_CTX_set_max_early_data(ssl, 0);
  volt_tls_context_log_to_(ssl);
  if (c->role == VOLT_TLS_SERVER) {
    volt_tls_ticket_use_(ssl);
    volt_tls_choose_by_name_(ssl);
  }
}

/* 0: none of the two. */
static int load_version(unsigned version, int otherwise) {
  if (version == 0) return otherwise;
  return version == VOLT_TLS_1_2 ? TLS1_2_VERSION : version == VOLT_TLS_1_3 ? TLS1_3_VERSION : 0;
}

static int load_protocols(SSL_CTX *ssl, const volt_tls_config *config, volt_tls_words_ *words) {
  int least = load_version(config->least, TLS1_2_VERSION);
  int most = load_version(config->most, TLS1_3_VERSION);
  if (!least || !most || least > most)
    return volt_tls_words_put_(words, VOLT_EINVAL, "least is %u and most %u", config->least,
                               config->most);
  if (SSL_CTX_set_min_proto_version(ssl, least) != 1 ||
      SSL_CTX_set_max_proto_version(ssl, most) != 1)
    return volt_tls_words_put_(words, VOLT_EINVAL, "OpenSSL has not this version of TLS");
  if (config->ciphers && SSL_CTX_set_cipher_list(ssl, config->ciphers) != 1)
    return volt_tls_words_put_(words, VOLT_EINVAL, "ciphers: \"%s\": %s", config->ciphers,
                               volt_tls_words_of_openssl_());
  if (config->suites && SSL_CTX_set_ciphersuites(ssl, config->suites) != 1)
    return volt_tls_words_put_(words, VOLT_EINVAL, "suites: \"%s\": %s", config->suites,
                               volt_tls_words_of_openssl_());
  return VOLT_OK;
}

/* What a peer was checked by: which bytes, not in which file, whose content changes. */
typedef struct load_area {
  unsigned flags;
  unsigned char trust[VOLT_TLS_DIGEST_], revoked[VOLT_TLS_DIGEST_];
} load_area;

/* Sessions are taken up only where peers are checked alike: a client that one context has checked, or
 * that was revoked since, is not known to another. A client's session has its stream's name, too. */
static int load_session_area(SSL_CTX *ssl, const volt_tls_context *c, unsigned flags,
                             load_area *area) {
  const unsigned of_checks =
      VOLT_TLS_ASK_CLIENT | VOLT_TLS_REQUIRE_CLIENT | VOLT_TLS_ANY_NAME | VOLT_TLS_NO_CHECKS;
  area->flags = flags & of_checks;
  if (c->role == VOLT_TLS_SERVER && area->flags == 0) memset(area, 0, sizeof *area);
  unsigned char *digest = volt_tls_setup_of_(ssl)->area;
  bool done = load_digest(area, sizeof *area, digest) &&
              SSL_CTX_set_session_id_context(ssl, digest, VOLT_TLS_DIGEST_) == 1;
  return done ? VOLT_OK : VOLT_ENOMEM;
}

static int load_checks(SSL_CTX *ssl, const volt_tls_context *c, const volt_tls_config *config,
                       volt_tls_words_ *words) {
  int mode = SSL_VERIFY_PEER, result = VOLT_OK;
  load_area area;
  memset(&area, 0, sizeof area);
  if (c->role == VOLT_TLS_SERVER) {
    if (!(config->flags & (VOLT_TLS_ASK_CLIENT | VOLT_TLS_REQUIRE_CLIENT))) mode = SSL_VERIFY_NONE;
    if (config->flags & VOLT_TLS_REQUIRE_CLIENT) mode |= SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
  } else if (config->flags & VOLT_TLS_NO_CHECKS) {
    mode = SSL_VERIFY_NONE;
  }
  SSL_CTX_set_verify(ssl, mode, NULL);
  if (result == VOLT_OK && config->trust) {
    result = load_all(ssl, config->trust, "root", load_next_certificate, load_take_root, area.trust,
                      words);
  } else if (result == VOLT_OK && c->role == VOLT_TLS_CLIENT) {
    (void)SSL_CTX_set_default_verify_paths(ssl); /* none there: no peer is trusted */
  }
  if (result == VOLT_OK && config->revoked) {
    result =
        load_all(ssl, config->revoked, "CRL", load_next_crl, load_take_crl, area.revoked, words);
    (void)X509_STORE_set_flags(SSL_CTX_get_cert_store(ssl), X509_V_FLAG_CRL_CHECK);
  }
  if (result == VOLT_OK) result = load_session_area(ssl, c, config->flags, &area);
  return result;
}

static int load_as(SSL_CTX *ssl, volt_tls_context *c, const volt_tls_config *config,
                   volt_tls_words_ *words) {
  int result = load_protocols(ssl, config, words);
  if (result == VOLT_OK) result = load_checks(ssl, c, config, words);
  if (result == VOLT_OK && config->certificates) {
    result = load_all(ssl, config->certificates, "certificate", load_next_certificate,
                      load_take_chain, NULL, words);
    const char *key = config->key ? config->key : config->certificates;
    if (result == VOLT_OK) result = load_key(ssl, key, words);
  }
  if (result == VOLT_OK && config->alpn) result = load_alpn(ssl, c, config->alpn, words);
  if (config->flags & VOLT_TLS_NO_WIPE) SSL_CTX_clear_options(ssl, SSL_OP_CLEANSE_PLAINTEXT);
  if (config->flags & VOLT_TLS_NO_TICKETS) {
    SSL_CTX_set_options(ssl, SSL_OP_NO_TICKET);
    (void)SSL_CTX_set_num_tickets(ssl, 0);
  }
  return result;
}

static int load_check(const volt_tls_context *c, const volt_tls_config *config,
                      volt_tls_words_ *words) {
  bool is_server = c->role == VOLT_TLS_SERVER;
  unsigned known = is_server ? VOLT_TLS_ASK_CLIENT | VOLT_TLS_REQUIRE_CLIENT | VOLT_TLS_NO_TICKETS
                             : VOLT_TLS_ANY_NAME | VOLT_TLS_NO_CHECKS;
  known |= VOLT_TLS_NO_WIPE;
  if (config->flags & ~known || config->reserved[0] || config->reserved[1])
    return volt_tls_words_put_(words, VOLT_EINVAL, "unknown flags (%u), or reserved is not zero",
                               config->flags);
  if (is_server && !config->certificates)
    return volt_tls_words_put_(words, VOLT_EINVAL, "a server needs a certificate");
  if (!config->certificates && config->key)
    return volt_tls_words_put_(words, VOLT_EINVAL, "a key without a certificate");
  return VOLT_OK;
}

int volt_tls_load_(volt_tls_context *c, const volt_tls_config *config, SSL_CTX **out,
                   volt_tls_words_ *words) {
  static const volt_tls_config defaults = {0};
  if (!config) config = &defaults;
  int result = load_check(c, config, words);
  if (result != VOLT_OK) return result;
  if (!CRYPTO_THREAD_run_once(&load_once, load_make_index) || load_index < 0) return VOLT_ENOMEM;
  volt_tls_setup_ *setup = (volt_tls_setup_ *)calloc(1, sizeof *setup);
  SSL_CTX *ssl =
      SSL_CTX_new(c->role == VOLT_TLS_SERVER ? TLS_server_method() : TLS_client_method());
  if (!setup || !ssl || SSL_CTX_set_ex_data(ssl, load_index, setup) != 1) {
    free(setup);
    SSL_CTX_free(ssl);
    return VOLT_ENOMEM;
  }
  setup->flags = config->flags;
  load_set_up(ssl, c);
  result = load_as(ssl, c, config, words);
  ERR_clear_error();
  if (result == VOLT_OK) {
    *out = ssl;
  } else {
    SSL_CTX_free(ssl);
  }
  return result;
}
