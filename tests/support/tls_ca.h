/* tls_ca.h: certificates of a CA of the test's own, in PEM form, good ones and bad ones: Ed25519, or RSA. */
#ifndef VOLT_TEST_TLS_CA_H
#define VOLT_TEST_TLS_CA_H

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>

#include "require.h"

/* What a certificate is to be. All-zero: for no name, valid for a day before and after now. */
typedef struct ca_want {
  const char *name; /* of the subject */
  const char *dns;  /* subjectAltName, such as "DNS:example.org,IP:127.0.0.1" */
  bool is_ca;
  int rsa_bits;     /* 0: Ed25519 */
  const EVP_MD *md; /* of an issuer with RSA; NULL: SHA-256 */
  long from, until; /* in seconds from now; both 0: a day */
  long serial;
} ca_want;

typedef struct ca_one {
  X509 *x509;
  EVP_PKEY *key;
  char *pem, *key_pem;
} ca_one;

static inline char *ca_text(BIO *bio) {
  char *bytes;
  long size = BIO_get_mem_data(bio, &bytes);
  char *text = (char *)malloc((size_t)size + 1);
  REQUIRE(text);
  memcpy(text, bytes, (size_t)size);
  text[size] = '\0';
  BIO_free(bio);
  return text;
}

static inline void ca_extend(X509 *x, X509 *issuer, int nid, const char *value) {
  X509V3_CTX ctx;
  X509V3_set_ctx_nodb(&ctx);
  X509V3_set_ctx(&ctx, issuer, x, NULL, NULL, 0);
  X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
  REQUIRE(extension && X509_add_ext(x, extension, -1) == 1);
  X509_EXTENSION_free(extension);
}

/* What the key signs with. */
static inline const EVP_MD *ca_md(const EVP_PKEY *key, const EVP_MD *wanted) {
  if (EVP_PKEY_get_base_id(key) == EVP_PKEY_ED25519) return NULL; /* its own */
  return wanted ? wanted : EVP_sha256();
}

/* Signed by issuer; NULL: by itself. */
static inline ca_one ca_make(const ca_one *issuer, ca_want want) {
  ca_one c = {NULL, NULL, NULL, NULL};
  bool has_times = want.from || want.until;
  c.key = want.rsa_bits
              ? EVP_RSA_gen((unsigned)want.rsa_bits)
              : EVP_PKEY_Q_keygen(NULL, NULL, "ED25519"); /* signatures of one size: runs repeat */
  c.x509 = X509_new();
  REQUIRE(c.key && c.x509);
  REQUIRE(X509_set_version(c.x509, 2) == 1);
  ASN1_INTEGER_set(X509_get_serialNumber(c.x509), want.serial ? want.serial : 1);
  X509_gmtime_adj(X509_getm_notBefore(c.x509), has_times ? want.from : -86400);
  X509_gmtime_adj(X509_getm_notAfter(c.x509), has_times ? want.until : 86400);
  X509_NAME *name = X509_get_subject_name(c.x509);
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, (const unsigned char *)want.name, -1, -1,
                             0);
  X509 *by = issuer ? issuer->x509 : c.x509;
  REQUIRE(X509_set_issuer_name(c.x509, X509_get_subject_name(by)) == 1);
  REQUIRE(X509_set_pubkey(c.x509, c.key) == 1);
  ca_extend(c.x509, by, NID_basic_constraints, want.is_ca ? "critical,CA:TRUE" : "CA:FALSE");
  if (want.is_ca) ca_extend(c.x509, by, NID_key_usage, "critical,keyCertSign,cRLSign");
  if (want.dns) ca_extend(c.x509, by, NID_subject_alt_name, want.dns);
  EVP_PKEY *signer = issuer ? issuer->key : c.key;
  REQUIRE(X509_sign(c.x509, signer, ca_md(signer, want.md)) > 0);
  BIO *bio = BIO_new(BIO_s_mem());
  REQUIRE(PEM_write_bio_X509(bio, c.x509) == 1);
  c.pem = ca_text(bio);
  bio = BIO_new(BIO_s_mem());
  REQUIRE(PEM_write_bio_PrivateKey(bio, c.key, NULL, NULL, 0, NULL, NULL) == 1);
  c.key_pem = ca_text(bio);
  return c;
}

static inline void ca_free(ca_one *c) {
  X509_free(c->x509);
  EVP_PKEY_free(c->key);
  free(c->pem);
  free(c->key_pem);
}

/* A CRL of the issuer that has one serial number; 0: none. */
static inline char *ca_crl(const ca_one *issuer, long serial) {
  X509_CRL *crl = X509_CRL_new();
  ASN1_TIME *now = X509_gmtime_adj(NULL, -60), *next = X509_gmtime_adj(NULL, 86400);
  REQUIRE(crl && X509_CRL_set_version(crl, 1) == 1);
  REQUIRE(X509_CRL_set_issuer_name(crl, X509_get_subject_name(issuer->x509)) == 1);
  REQUIRE(X509_CRL_set1_lastUpdate(crl, now) == 1 && X509_CRL_set1_nextUpdate(crl, next) == 1);
  if (serial) {
    X509_REVOKED *revoked = X509_REVOKED_new();
    ASN1_INTEGER *number = ASN1_INTEGER_new();
    ASN1_INTEGER_set(number, serial);
    REQUIRE(X509_REVOKED_set_serialNumber(revoked, number) == 1);
    REQUIRE(X509_REVOKED_set_revocationDate(revoked, now) == 1);
    REQUIRE(X509_CRL_add0_revoked(crl, revoked) == 1);
    ASN1_INTEGER_free(number);
  }
  REQUIRE(X509_CRL_sort(crl) == 1 && X509_CRL_sign(crl, issuer->key, ca_md(issuer->key, NULL)) > 0);
  BIO *bio = BIO_new(BIO_s_mem());
  REQUIRE(PEM_write_bio_X509_CRL(bio, crl) == 1);
  X509_CRL_free(crl);
  ASN1_TIME_free(now);
  ASN1_TIME_free(next);
  return ca_text(bio);
}

/* Several texts, one behind the other: the caller frees it. */
static inline char *ca_join(const char *one, const char *other) {
  char *text = (char *)malloc(strlen(one) + strlen(other) + 1);
  REQUIRE(text);
  strcpy(text, one);
  strcat(text, other);
  return text;
}

#endif
