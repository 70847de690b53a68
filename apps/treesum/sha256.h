/* sha256.h: SHA-256 by OpenSSL's libcrypto, the part of it that treesum uses.
 *
 * Whatever fails in it (there is no memory, no such algorithm) ends the program. Set up all
 * hashers before the work begins: the first makes libcrypto read its configuration, a file that
 * nobody counts. */
#ifndef TREESUM_SHA256_H
#define TREESUM_SHA256_H

#include <openssl/evp.h>
#include <stddef.h>

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

#endif
