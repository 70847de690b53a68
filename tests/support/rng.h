/* rng.h: splitmix64: small, seeded, the same numbers everywhere. */
#ifndef VOLT_TEST_RNG_H
#define VOLT_TEST_RNG_H

#include <stdint.h>

typedef struct rng {
  uint64_t state;
} rng;

static inline rng rng_seeded(uint64_t seed) {
  rng r = {seed};
  return r;
}

static inline uint64_t rng_next(rng *r) {
  uint64_t z = r->state += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

/* 0..bound-1; bound above 0. */
static inline uint32_t rng_below(rng *r, uint32_t bound) {
  return (uint32_t)(((rng_next(r) >> 32) * bound) >> 32);
}

#endif
