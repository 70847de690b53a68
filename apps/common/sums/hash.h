/* hash.h: what it takes to sum a file: SHA-256 by OpenSSL's libcrypto, a buffer, and a pool of
 * both.
 *
 * Whatever fails in libcrypto (there is no memory, no such algorithm) ends the program. All hashers
 * are made before the work begins: the first makes libcrypto read its configuration, a file that is
 * not counted. */
#ifndef COMMON_SUMS_HASH_H
#define COMMON_SUMS_HASH_H

#include <openssl/evp.h>
#include <stddef.h>
#include <volt/volt.h>

#define SHA256_BYTES 32

struct sha256_sum {
  unsigned char bytes[SHA256_BYTES];
};

/* Belongs to one thread, sums one file after the other. */
struct sha256 {
  EVP_MD *algorithm;
  EVP_MD_CTX *context;
};

void sha256_init(struct sha256 *hash);
void sha256_begin(struct sha256 *hash);
void sha256_add(struct sha256 *hash, const void *data, size_t bytes);
struct sha256_sum sha256_end(struct sha256 *hash);
void sha256_destroy(struct sha256 *hash);

/* ---- a hash and a buffer; a pool of those ---- */

#define HASHER_BYTES ((size_t)128 * 1024)

struct hasher {
  struct sha256 hash;
  unsigned char *buffer; /* of HASHER_BYTES */
  struct hasher *next;   /* in the pool */
};

void hasher_init(struct hasher *hasher);
void hasher_destroy(struct hasher *hasher);

struct hashers {
  struct hasher *all;
  unsigned count;
  volt_mutex lock; /* around the rest */
  struct hasher *unused;
};

void hashers_init(struct hashers *hashers, unsigned count);

/* There must be one that is not in use. Waits for the lock: not on a worker of a runtime. */
struct hasher *hashers_take(struct hashers *hashers);
void hashers_give_back(struct hashers *hashers, struct hasher *hasher);

/* All have been given back. */
void hashers_destroy(struct hashers *hashers);

#endif
