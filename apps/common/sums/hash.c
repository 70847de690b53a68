/* hash.c: SHA-256 by OpenSSL's libcrypto; hashes and buffers, made before the work begins. */
#define _GNU_SOURCE
#include "common/sums/hash.h"

#include <stdlib.h>

#include "common/program.h"

/* ---- SHA-256 ---- */

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

/* ---- a hash and a buffer; a pool of those ---- */

void hasher_init(struct hasher *hasher) {
  sha256_init(&hasher->hash);
  hasher->buffer = must_allocate(HASHER_BYTES, 1);
}

void hasher_destroy(struct hasher *hasher) {
  sha256_destroy(&hasher->hash);
  free(hasher->buffer);
}

void hashers_init(struct hashers *hashers, unsigned count) {
  *hashers = (struct hashers){.all = must_allocate(count, sizeof(struct hasher)), .count = count};
  volt_mutex_init(&hashers->lock);
  for (unsigned i = 0; i < count; i++) {
    hasher_init(&hashers->all[i]);
    hashers_give_back(hashers, &hashers->all[i]);
  }
}

struct hasher *hashers_take(struct hashers *hashers) {
  volt_mutex_lock(&hashers->lock);
  struct hasher *hasher = hashers->unused;
  if (hasher != NULL) hashers->unused = hasher->next;
  volt_mutex_unlock(&hashers->lock);
  if (hasher == NULL) fatal("more files at once than hashers");
  return hasher;
}

void hashers_give_back(struct hashers *hashers, struct hasher *hasher) {
  volt_mutex_lock(&hashers->lock);
  hasher->next = hashers->unused;
  hashers->unused = hasher;
  volt_mutex_unlock(&hashers->lock);
}

void hashers_destroy(struct hashers *hashers) {
  for (unsigned i = 0; i < hashers->count; i++) hasher_destroy(&hashers->all[i]);
  free(hashers->all);
  volt_mutex_destroy(&hashers->lock);
}
