/* hasher.c: hashes and buffers, made before the work begins. */
#include "hasher.h"

#include <stdlib.h>

#include "memory.h"

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
  volt_mutex_lock_no_deadline(&hashers->lock);
  struct hasher *hasher = hashers->unused;
  if (hasher != NULL) hashers->unused = hasher->next;
  volt_mutex_unlock(&hashers->lock);
  if (hasher == NULL) fatal("more files at once than hashers");
  return hasher;
}

void hashers_give_back(struct hashers *hashers, struct hasher *hasher) {
  volt_mutex_lock_no_deadline(&hashers->lock);
  hasher->next = hashers->unused;
  hashers->unused = hasher;
  volt_mutex_unlock(&hashers->lock);
}

void hashers_destroy(struct hashers *hashers) {
  for (unsigned i = 0; i < hashers->count; i++) hasher_destroy(&hashers->all[i]);
  free(hashers->all);
  volt_mutex_destroy(&hashers->lock);
}
