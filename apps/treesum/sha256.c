/* sha256.c: SHA-256 by OpenSSL's libcrypto. */
#include "sha256.h"

#include "memory.h"

static void must(int succeeded) {
  if (!succeeded) fatal("SHA-256 failed in libcrypto");
}

void sha256_init(struct sha256 *hash) {
  hash->algorithm = EVP_MD_fetch(NULL, "SHA256", NULL);
  hash->context = EVP_MD_CTX_new();
  must(hash->algorithm != NULL && hash->context != NULL);
}

void sha256_begin(struct sha256 *hash) {
  must(EVP_DigestInit_ex(hash->context, hash->algorithm, NULL));
}

void sha256_add(struct sha256 *hash, const void *data, size_t bytes) {
  must(EVP_DigestUpdate(hash->context, data, bytes));
}

struct sha256_sum sha256_end(struct sha256 *hash) {
  struct sha256_sum sum;
  must(EVP_DigestFinal_ex(hash->context, sum.bytes, NULL));
  return sum;
}

void sha256_destroy(struct sha256 *hash) {
  EVP_MD_CTX_free(hash->context);
  EVP_MD_free(hash->algorithm);
}
