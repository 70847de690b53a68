/* pool.c: memory for tasks: blocks of 96 to 1024 bytes, carved from chunks that the runtime keeps
 * until it ends. A block's size is a multiple of 16 bytes, and there is a list of free blocks for
 * each size. Each worker has such lists for the blocks that it has freed. Blocks that are too many
 * for its list, and blocks that other threads free, go to the lists for all. A larger task's memory
 * comes from the allocator. A block is aligned to the largest power of two that divides its size,
 * but at most to a cache line. So two blocks may share a cache line. */
#include <string.h>

#include "../core/check.h"
#include "parts.h"

enum { UNIT = 16, CHUNK_BYTES = 64 * 1024, LARGE = VOLT_POOL_CLASSES };

/* How many free blocks of a size a worker keeps, and how many it moves to or from the others at
 * once. */
enum { KEEP = 256, MOVE = 128 };

void volt_rt_pool_init_(volt_pool *pool) {
  memset(pool->free, 0, sizeof pool->free);
  volt_short_lock_init_(&pool->lock);
  pool->chunks = NULL;
  pool->fresh = NULL;
  pool->fresh_bytes = 0;
  pool->carved = 0;
  volt_store_relaxed(&pool->in_use, 0); /* not shared yet */
}

/* ---- lists of free blocks, linked by the tasks' next ---- */

static void pool_push(volt_free_list *list, volt_task *t) {
  t->next = list->first;
  list->first = t;
  list->count += 1;
}

static volt_task *pool_pop(volt_free_list *list) {
  volt_task *t = list->first;
  if (!t) return NULL;
  list->first = t->next;
  list->count -= 1;
  return t;
}

/* Move the first of them, at most max, in one piece. */
static void pool_move(volt_free_list *from, volt_free_list *to, unsigned max) {
  volt_task *first = from->first;
  if (!first) return;
  volt_task *last = first;
  unsigned count = 1;
  for (; count < max && last->next; count++) last = last->next;
  from->first = last->next;
  from->count -= count;
  last->next = to->first;
  to->first = first;
  to->count += count;
}

/* ---- blocks ---- */

/* Without the lock, because the allocator is the user's. Returns NULL if there is no memory. */
static volt_chunk *pool_new_chunk(volt_rt *rt) {
  const volt_rt_allocator *a = &rt->config.allocator;
  volt_chunk *chunk = (volt_chunk *)a->alloc(CHUNK_BYTES, a->ctx);
  if (chunk) chunk->bytes = CHUNK_BYTES;
  return chunk;
}

/* Under the lock. */
static void pool_add_chunk(volt_pool *pool, volt_chunk *chunk) {
  chunk->next = pool->chunks;
  pool->chunks = chunk;
  char *begin = (char *)(chunk + 1);
  pool->fresh = begin;
  pool->fresh_bytes = CHUNK_BYTES - sizeof *chunk;
}

/* The largest power of two that divides bytes, at most a cache line: a type of that size needs no
 * more. */
static size_t pool_alignment_of(size_t bytes) {
  size_t lowest_bit = bytes & (~bytes + 1);
  return lowest_bit < VOLT_CACHE_LINE ? lowest_bit : VOLT_CACHE_LINE;
}

/* Under the lock: a block that was never used, or NULL. */
static volt_task *pool_carve(volt_pool *pool, size_t bytes) {
  size_t skip = (UINTPTR_MAX - (uintptr_t)pool->fresh + 1) % pool_alignment_of(bytes);
  if (pool->fresh_bytes < skip + bytes) return NULL;
  pool->fresh += skip;
  pool->fresh_bytes -= skip;
  volt_task *t = (volt_task *)(void *)pool->fresh;
  pool->fresh += bytes;
  pool->fresh_bytes -= bytes;
  pool->carved += 1;
  return t;
}

/* One block for the caller, and some for *own, if that is not NULL and there are free ones. chunk:
 * NULL, or a new one, which is always added. */
static volt_task *pool_take_shared(volt_rt *rt, unsigned block, volt_free_list *own,
                                   volt_chunk *chunk) {
  volt_pool *pool = &rt->pool;
  volt_short_lock_lock_(&pool->lock);
  if (chunk) pool_add_chunk(pool, chunk);
  volt_task *t = pool_pop(&pool->free[block]);
  if (t && own) pool_move(&pool->free[block], own, MOVE);
  if (!t) t = pool_carve(pool, (size_t)block * UNIT);
  volt_short_lock_unlock_(&pool->lock);
  return t;
}

static VOLT_NOINLINE volt_task *pool_take_more(volt_rt *rt, unsigned block, volt_free_list *own) {
  volt_task *t = pool_take_shared(rt, block, own, NULL);
  if (t) return t;
  volt_chunk *chunk = pool_new_chunk(rt);
  return chunk ? pool_take_shared(rt, block, own, chunk) : NULL;
}

static inline volt_task *pool_take(volt_rt *rt, unsigned block) {
  volt_worker *here = volt_worker_here_(rt);
  volt_free_list *own = here ? &here->free[block] : NULL;
  volt_task *t = own ? pool_pop(own) : NULL;
  return t ? t : pool_take_more(rt, block, own);
}

static VOLT_NOINLINE void pool_give_shared(volt_task *t, volt_free_list *own) {
  volt_rt *rt = t->rt;
  unsigned block = t->frame.block;
  volt_short_lock_lock_(&rt->pool.lock);
  pool_push(&rt->pool.free[block], t);
  if (own) pool_move(own, &rt->pool.free[block], MOVE);
  volt_short_lock_unlock_(&rt->pool.lock);
}

/* ---- larger blocks: the size stands before the block ---- */

static VOLT_NOINLINE volt_task *pool_take_large(volt_rt *rt, size_t bytes) {
  const volt_rt_allocator *a = &rt->config.allocator;
  if (bytes > SIZE_MAX - UNIT) return NULL;
  char *memory = (char *)a->alloc(bytes + UNIT, a->ctx);
  if (!memory) return NULL;
  memcpy(memory, &bytes, sizeof bytes);
  volt_fetch_add_relaxed(&rt->pool.in_use, 1); /* a count: read at the end */
  return (volt_task *)(void *)(memory + UNIT);
}

static VOLT_NOINLINE void pool_give_large(volt_task *t) {
  volt_rt *rt = t->rt;
  const volt_rt_allocator *a = &rt->config.allocator;
  char *memory = (char *)(void *)t - UNIT;
  size_t bytes;
  memcpy(&bytes, memory, sizeof bytes);
  volt_fetch_add_relaxed(&rt->pool.in_use, UINT64_C(0) - 1); /* a count */
  a->free(memory, bytes + UNIT, a->ctx);
}

/* ---- tasks ---- */

void *volt_task_new(volt_rt *rt, size_t bytes, volt_task_fn *poll) {
  VOLT_CHECK(bytes >= sizeof(volt_task), "volt_task_new", "%zu bytes: a volt_task alone has %zu",
             bytes, sizeof(volt_task));
  bool is_large = bytes > (size_t)(VOLT_POOL_CLASSES - 1) * UNIT;
  unsigned block = is_large ? LARGE : (unsigned)((bytes + UNIT - 1) / UNIT);
  volt_task *t = is_large ? pool_take_large(rt, bytes) : pool_take(rt, block);
  if (!t) return NULL;
  memset((void *)(t + 1), 0, bytes - sizeof *t);
  volt_task_init(t, poll);
  t->rt = rt;
  t->frame.block = (uint8_t)block;
  return t;
}

void volt_pool_free_(volt_task *t) {
  volt_worker *here = volt_worker_here_(t->rt);
  unsigned block = t->frame.block;
  if (block == LARGE) {
    pool_give_large(t);
  } else if (here && here->free[block].count < KEEP) {
    pool_push(&here->free[block], t);
  } else {
    pool_give_shared(t, here ? &here->free[block] : NULL);
  }
}

uint64_t volt_rt_pool_used_(volt_rt *rt) {
  volt_pool *pool = &rt->pool;
  uint64_t used = pool->carved + volt_load_relaxed(&pool->in_use); /* every other thread has left */
  for (unsigned block = 0; block < VOLT_POOL_CLASSES; block++) {
    used -= pool->free[block].count;
    for (unsigned i = 0; i < rt->workers; i++) used -= rt->worker[i].free[block].count;
  }
  return used;
}

void volt_rt_pool_destroy_(volt_rt *rt) {
  volt_pool *pool = &rt->pool;
  uint64_t used = volt_rt_pool_used_(rt);
  VOLT_CHECK(used == 0, "volt_rt_destroy",
             "%p: %llu tasks of its pool are still held: join and detach them first", (void *)rt,
             (unsigned long long)used);
  for (volt_chunk *chunk = pool->chunks; chunk;) {
    volt_chunk *next = chunk->next;
    rt->config.allocator.free(chunk, chunk->bytes, rt->config.allocator.ctx);
    chunk = next;
  }
}
