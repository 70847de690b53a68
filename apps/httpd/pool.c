/* pool.c: a fixed number of equal pieces of memory. */
#define _GNU_SOURCE
#include "pool.h"

#include <stdlib.h>

#include "common/program.h"

#define LINE 64

void pool_init(struct pool *pool, uint32_t count, size_t piece_bytes) {
  pool->piece_bytes = (piece_bytes + LINE - 1) / LINE * LINE;
  pool->memory = must_allocate(count, pool->piece_bytes);
  pool->next = must_allocate(count, sizeof *pool->next);
  for (uint32_t i = 0; i < count; i++) {
    atomic_init(&pool->next[i], i + 1 < count ? i + 2 : 0);
  }
  atomic_init(&pool->head, count > 0);
}

void pool_destroy(struct pool *pool) {
  free(pool->next);
  free(pool->memory);
}

void *pool_take(struct pool *pool) {
  uint64_t head = atomic_load_explicit(&pool->head, memory_order_acquire), below;
  do {
    uint32_t top = (uint32_t)head;
    if (top == 0) fatal("a pool is empty"); /* a caller holds no permit */
    below = atomic_load_explicit(&pool->next[top - 1], memory_order_relaxed);
    below |= ((head >> 32) + 1) << 32;
  } while (!atomic_compare_exchange_weak_explicit(&pool->head, &head, below, memory_order_acquire,
                                                  memory_order_acquire));
  return pool->memory + ((uint32_t)head - 1) * pool->piece_bytes;
}

void pool_give(struct pool *pool, void *piece) {
  uint32_t index = (uint32_t)((size_t)((char *)piece - pool->memory) / pool->piece_bytes);
  uint64_t head = atomic_load_explicit(&pool->head, memory_order_relaxed), top;
  do {
    atomic_store_explicit(&pool->next[index], (uint32_t)head, memory_order_relaxed);
    top = (((head >> 32) + 1) << 32) | (index + 1);
  } while (!atomic_compare_exchange_weak_explicit(&pool->head, &head, top, memory_order_release,
                                                  memory_order_relaxed));
}
