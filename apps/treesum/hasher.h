/* hasher.h: what it takes to sum a file: a hash and a buffer; and a pool of those. */
#ifndef TREESUM_HASHER_H
#define TREESUM_HASHER_H

#include <volt/volt.h>

#include "sha256.h"

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

/* There must be one that nobody uses. Waits for the lock: not on a worker of a runtime. */
struct hasher *hashers_take(struct hashers *hashers);
void hashers_give_back(struct hashers *hashers, struct hasher *hasher);

/* All have been given back. */
void hashers_destroy(struct hashers *hashers);

#endif
