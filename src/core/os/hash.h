/* hash.h: numbers that are mixed, for tables and for chance. */
#ifndef VOLT_CORE_OS_HASH_H
#define VOLT_CORE_OS_HASH_H

#include <stdint.h>

/* 2^64 divided by the golden ratio: multiplied by it, keys that are close to each other are no more. */
#define VOLT_GOLDEN_ UINT64_C(0x9e3779b97f4a7c15)

/* The place of an address in a table: its high bits are mixed, its low bits are not. */
static inline uint64_t volt_hash_(const void *address) {
  return (uint64_t)(uintptr_t)address * VOLT_GOLDEN_;
}

/* The next random number of *state, which may be any number at first (splitmix64). */
static inline uint64_t volt_random_(uint64_t *state) {
  uint64_t x = *state += VOLT_GOLDEN_;
  x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
  return x ^ (x >> 31);
}

#endif
