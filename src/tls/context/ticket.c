/* ticket.c: the keys of session tickets. A ticket is encrypted by AES-256 in CBC mode and
 * authenticated by HMAC with SHA-256; its first 16 bytes name the key.
 *
 * With TLS 1.3 each session that is taken up gets a new ticket, because clients use each once (RFC 8446,
 * C.4). OpenSSL counts the age of a session from its last ticket. So a ticket has the time of the full
 * handshake, too, which goes from ticket to ticket: the age is counted from there.
 *
 * Labels: tls */
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <string.h>
#include <time.h>

#include "context.h"

/* Of a volt_tls_ticket_key: 16 bytes of its name, 32 for AES, 32 for HMAC. */
enum { TICKET_NAME = 16, TICKET_AES = 16, TICKET_HMAC = 48, TICKET_KEY = 32 };

int volt_tls_ticket_key_make(volt_tls_ticket_key *key) {
  return RAND_bytes(key->bytes, (int)sizeof key->bytes) == 1 ? VOLT_OK : VOLT_ENOMEM;
}

int volt_tls_context_tickets(volt_tls_context *c, const volt_tls_ticket_key *keys, unsigned count) {
  bool is_valid = keys && count > 0 && count <= VOLT_TLS_TICKET_KEYS && c->role == VOLT_TLS_SERVER;
  if (!is_valid) return VOLT_EINVAL;
  volt_short_lock_lock_(&c->lock);
  memset(c->keys, 0, sizeof c->keys);
  memcpy(c->keys, keys, count * sizeof *keys);
  c->key_count = count;
  volt_short_lock_unlock_(&c->lock);
  return VOLT_OK;
}

/* Copy the key with this name; NULL: the first. Returns its place; -1: there is none. */
static int ticket_find(volt_tls_context *c, const unsigned char *name, volt_tls_ticket_key *out) {
  int found = -1;
  volt_short_lock_lock_(&c->lock);
  for (unsigned i = 0; i < c->key_count && found < 0; i++) {
    if (!name || memcmp(c->keys[i].bytes, name, TICKET_NAME) == 0) found = (int)i;
  }
  if (found >= 0) *out = c->keys[found];
  volt_short_lock_unlock_(&c->lock);
  return found;
}

static int ticket_prepare(const volt_tls_ticket_key *key, unsigned char *iv, EVP_CIPHER_CTX *cipher,
                          EVP_MAC_CTX *mac, int encrypts) {
  char digest[] = "SHA256";
  OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
                         OSSL_PARAM_construct_end()};
  return EVP_CipherInit_ex(cipher, EVP_aes_256_cbc(), NULL, key->bytes + TICKET_AES, iv,
                           encrypts) &&
         EVP_MAC_init(mac, key->bytes + TICKET_HMAC, TICKET_KEY, params);
}

/* As SSL_CTX_set_tlsext_ticket_key_evp_cb(): 1: go on; 2: renew it; 0: a full handshake; -1: failed. */
static int ticket_key(SSL *ssl, unsigned char *name, unsigned char *iv, EVP_CIPHER_CTX *cipher,
                      EVP_MAC_CTX *mac, int encrypts) {
  volt_tls_context *c = volt_tls_context_stream_(ssl)->context;
  volt_tls_ticket_key key;
  int place = ticket_find(c, encrypts ? NULL : name, &key);
  if (place < 0) return 0;
  int result = place == 0 ? 1 : 2;
  if (encrypts) {
    memcpy(name, key.bytes, TICKET_NAME);
    if (RAND_bytes(iv, EVP_CIPHER_get_iv_length(EVP_aes_256_cbc())) != 1) result = -1;
  }
  if (result > 0 && !ticket_prepare(&key, iv, cipher, mac, encrypts)) result = -1;
  OPENSSL_cleanse(&key, sizeof key);
  return result;
}

/* As SSL_CTX_set_session_ticket_cb(): a ticket is about to be made. Returns 1; 0: there is no memory. */
static int ticket_make(SSL *ssl, void *arg) {
  (void)arg;
  SSL_SESSION *session = SSL_get_session(ssl);
  void *begun = NULL;
  size_t size = 0;
  bool goes_on = SSL_SESSION_get0_ticket_appdata(session, &begun, &size) == 1 && size > 0;
  const int64_t now = (int64_t)time(NULL);
  return goes_on ? 1 : SSL_SESSION_set1_ticket_appdata(session, &now, sizeof now);
}

/* Whether its full handshake was so long ago that it is not taken up any more, or that is not known. */
static bool ticket_is_old(const SSL *ssl, SSL_SESSION *session) {
  void *at = NULL;
  size_t size = 0;
  int64_t begun;
  if (SSL_SESSION_get0_ticket_appdata(session, &at, &size) != 1 || size != sizeof begun)
    return true;
  memcpy(&begun, at, sizeof begun);
  int64_t age = (int64_t)time(NULL) - begun;
  return age < 0 || age >= (int64_t)SSL_CTX_get_timeout(SSL_get_SSL_CTX(ssl));
}

/* As SSL_CTX_set_session_ticket_cb(): a ticket has come, or none. */
static SSL_TICKET_RETURN ticket_take(SSL *ssl, SSL_SESSION *session, const unsigned char *name,
                                     size_t name_size, SSL_TICKET_STATUS status, void *arg) {
  (void)name, (void)name_size, (void)arg;
  bool is_good = status == SSL_TICKET_SUCCESS || status == SSL_TICKET_SUCCESS_RENEW;
  if (!is_good || ticket_is_old(ssl, session)) return SSL_TICKET_RETURN_IGNORE_RENEW;
  bool renews = status == SSL_TICKET_SUCCESS_RENEW || SSL_version(ssl) == TLS1_3_VERSION;
  return renews ? SSL_TICKET_RETURN_USE_RENEW : SSL_TICKET_RETURN_USE;
}

void volt_tls_ticket_use_(SSL_CTX *ssl) {
  (void)SSL_CTX_set_tlsext_ticket_key_evp_cb(ssl, ticket_key);
  (void)SSL_CTX_set_session_ticket_cb(ssl, ticket_make, ticket_take, NULL);
}
