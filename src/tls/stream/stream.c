/* stream.c: a stream as a whole: how it begins, which context a name chooses, what it is, the session that it takes up.
 *
 * Labels: tls */
#include <arpa/inet.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>

#include "stream.h"

enum { STREAM_NAME_MAX = 253 };

/* ---- how it begins ---- */

static bool stream_is_address(const char *name) {
  unsigned char bytes[16];
  return inet_pton(AF_INET, name, bytes) == 1 || inet_pton(AF_INET6, name, bytes) == 1;
}

static bool stream_is_of_names(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_';
}

/* Copy the name of a host, or an address, without a dot at its end. OpenSSL takes ".org" for each name
 * below it, and "*" for itself, so they are no names here. Returns false: it is none. */
static bool stream_read_host(const char *name, char *to) {
  size_t size = strlen(name), label = 0;
  bool is_address = stream_is_address(name);
  if (!is_address && size > 0 && name[size - 1] == '.') size -= 1;
  if (size == 0 || size > STREAM_NAME_MAX) return false;
  for (size_t i = 0; i < size && !is_address; i++) {
    bool is_dot = name[i] == '.';
    if (is_dot ? label == 0 : !stream_is_of_names(name[i])) return false;
    label = is_dot ? 0 : label + 1;
  }
  memcpy(to, name, size);
  to[size] = '\0';
  return is_address || label > 0;
}

/* Ask for the name, and check the certificate for it. name: NULL: none. */
static int stream_want(volt_tls *t, char *name) {
  unsigned flags = volt_tls_setup_of_(SSL_get_SSL_CTX(t->ssl))->flags;
  bool checks = !(flags & (VOLT_TLS_NO_CHECKS | VOLT_TLS_ANY_NAME));
  if (!name) return checks ? VOLT_EINVAL : VOLT_OK;
  bool is_address = stream_is_address(name);
  if (!is_address && SSL_set_tlsext_host_name(t->ssl, name) != 1) return VOLT_ENOMEM;
  if (!checks) return VOLT_OK;
  X509_VERIFY_PARAM *param = SSL_get0_param(t->ssl);
  X509_VERIFY_PARAM_set_hostflags(
      param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
  int done = is_address ? X509_VERIFY_PARAM_set1_ip_asc(param, name)
                        : X509_VERIFY_PARAM_set1_host(param, name, strlen(name));
  return done == 1 ? VOLT_OK : VOLT_EINVAL;
}

/* A session is of what its peer was checked by, the name among it: of this name, or of none. */
static int stream_set_area(volt_tls *t, const char *name) {
  struct {
    unsigned char of_context[VOLT_TLS_DIGEST_];
    char name[STREAM_NAME_MAX + 1];
  } all;
  memset(&all, 0, sizeof all);
  memcpy(all.of_context, volt_tls_setup_of_(SSL_get_SSL_CTX(t->ssl))->area, sizeof all.of_context);
  for (size_t i = 0; name && name[i]; i++) {
    bool is_capital = name[i] >= 'A' && name[i] <= 'Z';
    all.name[i] = (char)(is_capital ? name[i] - 'A' + 'a' : name[i]);
  }
  bool done = EVP_Digest(&all, sizeof all, t->area, NULL, EVP_sha256(), NULL) == 1 &&
              SSL_set_session_id_context(t->ssl, t->area, sizeof t->area) == 1;
  return done ? VOLT_OK : VOLT_ENOMEM;
}

/* Whether its peer was checked as this stream checks. */
static bool stream_may_take_up(const volt_tls *t, const SSL_SESSION *session) {
  unsigned size = 0;
  const unsigned char *area = SSL_SESSION_get0_id_context(session, &size);
  return size == VOLT_TLS_DIGEST_ && memcmp(area, t->area, size) == 0;
}

static int stream_make(volt_tls *t, const char *name) {
  SSL_CTX *now = volt_tls_context_now_(t->context);
  t->ssl = SSL_new(now);
  SSL_CTX_free(now); /* the SSL has its own */
  if (!t->ssl || !volt_tls_wire_(t)) return VOLT_ENOMEM;
  if (!t->is_server) SSL_set_connect_state(t->ssl);
  if (t->is_server) SSL_set_accept_state(t->ssl);
  if (t->is_server) return name ? VOLT_EINVAL : VOLT_OK;
  char host[STREAM_NAME_MAX + 1];
  if (name && !stream_read_host(name, host)) return VOLT_EINVAL;
  int result = stream_want(t, name ? host : NULL);
  return result == VOLT_OK ? stream_set_area(t, name ? host : NULL) : result;
}

int volt_tls_init(volt_tls *t, volt_tls_context *context, volt_fd *d, const char *name) {
  memset((void *)t, 0, sizeof *t);
  t->context = volt_tls_context_hold(context);
  t->fd = d;
  t->why = "";
  t->is_server = context->role == VOLT_TLS_SERVER;
  volt_mutex_init(&t->lock);
  volt_latch_init(&t->under_way, 0);
  int before = errno; /* OpenSSL may set it */
  ERR_clear_error();
  int result = stream_make(t, name);
  ERR_clear_error();
  if (result != VOLT_OK) volt_tls_free_(t);
  errno = before;
  return result;
}

int volt_tls_feed(volt_tls *t, const void *from, size_t size) {
  bool may = t->ssl && t->stage == VOLT_TLS_NEW_ && !t->early && size <= UINT32_MAX;
  if (!may || (size > 0 && !from)) return VOLT_EINVAL;
  if (size == 0) return VOLT_OK;
  t->early = (char *)malloc(size);
  if (!t->early) return VOLT_ENOMEM;
  memcpy(t->early, from, size);
  t->early_from = 0;
  t->early_until = (uint32_t)size;
  return VOLT_OK;
}

/* ---- which context ---- */

/* The name in an extension server_name: the size of the list, a 0, the size of the name, the name.
 * Returns false: there is none, or it is malformed, which OpenSSL refuses later. */
static bool stream_read_name(SSL *ssl, char *to) {
  const unsigned char *bytes;
  size_t size;
  if (!SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_server_name, &bytes, &size) || size < 5) {
    return false;
  }
  size_t length = (size_t)bytes[3] << 8 | bytes[4];
  if (bytes[2] != 0 || length > size - 5 || length > STREAM_NAME_MAX) return false;
  memcpy(to, bytes + 5, length);
  to[length] = '\0';
  return length > 0 && !memchr(to, '\0', length);
}

/* It is called before OpenSSL looks at tickets, so a session of one context is not taken up by another
 * that checks clients in another way. A second hello of the same client finds it chosen. */
static int stream_choose(SSL *ssl, int *alert, void *arg) {
  (void)arg;
  volt_tls *t = volt_tls_context_stream_(ssl);
  char name[STREAM_NAME_MAX + 1];
  if (t->named || !stream_read_name(ssl, name)) return SSL_CLIENT_HELLO_SUCCESS;
  t->named = volt_tls_context_find_(t->context, name);
  if (!t->named) return SSL_CLIENT_HELLO_SUCCESS;
  SSL_CTX *now = volt_tls_context_now_(t->named);
  bool done = SSL_set_SSL_CTX(ssl, now) == now;
  if (done) SSL_set_verify(ssl, SSL_CTX_get_verify_mode(now), NULL);
  if (done) SSL_clear_options(ssl, SSL_OP_NO_TICKET);
  if (done) SSL_set_options(ssl, SSL_CTX_get_options(now));
  if (done) done = SSL_set_num_tickets(ssl, SSL_CTX_get_num_tickets(now)) == 1;
  SSL_CTX_free(now);
  *alert = SSL_AD_INTERNAL_ERROR;
  return done ? SSL_CLIENT_HELLO_SUCCESS : SSL_CLIENT_HELLO_ERROR;
}

void volt_tls_choose_by_name_(SSL_CTX *ssl) {
  SSL_CTX_set_client_hello_cb(ssl, stream_choose, NULL);
}

/* ---- what it is ---- */

const char *volt_tls_why(const volt_tls *t) {
  /* tls:S2 <- tls:E1: what the last operation has done */
  bool was_dropped = volt_load_acquire(&t->uses) & VOLT_TLS_DROPPED_;
  if (was_dropped && t->error == VOLT_OK) return "the handshake was cancelled";
  return t->why ? t->why : "";
}

const char *volt_tls_version(const volt_tls *t) {
  return t->stage == VOLT_TLS_OPEN_ ? SSL_get_version(t->ssl) : "";
}

const char *volt_tls_cipher(const volt_tls *t) {
  return t->stage == VOLT_TLS_OPEN_ ? SSL_get_cipher_name(t->ssl) : "";
}

/* size bytes as text, cut if there is not room. */
static const char *stream_text(char *to, size_t room, const void *from, size_t size) {
  if (room == 0) return to;
  if (size > room - 1) size = room - 1;
  if (size > 0) memcpy(to, from, size);
  to[size] = '\0';
  return to;
}

const char *volt_tls_alpn(const volt_tls *t, char *to, size_t room) {
  const unsigned char *name = NULL;
  unsigned size = 0;
  if (t->stage == VOLT_TLS_OPEN_) SSL_get0_alpn_selected(t->ssl, &name, &size);
  return stream_text(to, room, name, name ? size : 0);
}

const char *volt_tls_peer(const volt_tls *t, char *to, size_t room) {
  X509 *peer = t->stage == VOLT_TLS_OPEN_ ? SSL_get0_peer_certificate(t->ssl) : NULL;
  BIO *bio = peer ? BIO_new(BIO_s_mem()) : NULL;
  char *name = NULL;
  long size = 0;
  if (bio && X509_NAME_print_ex(bio, X509_get_subject_name(peer), 0, XN_FLAG_RFC2253) >= 0)
    size = BIO_get_mem_data(bio, &name);
  (void)stream_text(to, room, name, size > 0 ? (size_t)size : 0);
  BIO_free(bio);
  ERR_clear_error();
  return to;
}

static const EVP_MD *stream_hash_of(X509 *certificate) {
  int hash = NID_undef;
  if (X509_get_signature_info(certificate, &hash, NULL, NULL, NULL) != 1) return NULL;
  if (hash == NID_md5 || hash == NID_sha1) return EVP_sha256();
  return EVP_get_digestbynid(hash);
}

int volt_tls_end_point(const volt_tls *t, void *to, size_t room, size_t *size) {
  unsigned char bytes[EVP_MAX_MD_SIZE];
  unsigned all = 0;
  bool is_open = t->stage == VOLT_TLS_OPEN_;
  X509 *of = !is_open       ? NULL
             : t->is_server ? SSL_get_certificate(t->ssl)
                            : SSL_get0_peer_certificate(t->ssl);
  const EVP_MD *hash = of ? stream_hash_of(of) : NULL;
  *size = 0;
  int done = hash ? X509_digest(of, hash, bytes, &all) : 0;
  ERR_clear_error();
  if (done != 1) return VOLT_EINVAL;
  *size = all;
  if (all > room) return VOLT_EINVAL;
  memcpy(to, bytes, all);
  return VOLT_OK;
}

const char *volt_tls_asked(const volt_tls *t) {
  const char *name =
      t->stage == VOLT_TLS_OPEN_ ? SSL_get_servername(t->ssl, TLSEXT_NAMETYPE_host_name) : NULL;
  return name ? name : "";
}

bool volt_tls_is_resumed(const volt_tls *t) {
  return t->stage == VOLT_TLS_OPEN_ && SSL_session_reused(t->ssl);
}

/* ---- sessions ---- */

int volt_tls_session_load(volt_tls *t, const void *from, size_t size) {
  const unsigned char *at = (const unsigned char *)from;
  bool may = t->ssl && t->stage == VOLT_TLS_NEW_ && !t->is_server && from && size <= INT32_MAX;
  int before = errno;
  SSL_SESSION *session = may ? d2i_SSL_SESSION(NULL, &at, (long)size) : NULL;
  bool done = session && at == (const unsigned char *)from + size &&
              stream_may_take_up(t, session) && SSL_set_session(t->ssl, session) == 1;
  SSL_SESSION_free(session);
  ERR_clear_error();
  errno = before;
  return done ? VOLT_OK : VOLT_EINVAL;
}
