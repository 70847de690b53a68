/* pool.c: memory for tasks and for the frames of coroutines: blocks of 32 to 1280 bytes, carved from
 * chunks that the runtime keeps until it ends. A block's size is a multiple of 16 bytes, and there is
 * a list of free blocks for each size. Each worker has such lists for the blocks that it has freed.
 * Blocks that are too many for its list, and blocks that other threads free, go to the lists for all.
 * What is larger comes from the allocator. A block is aligned to the largest power of two that
 * divides its size, but at most to a cache line. So two blocks may share a cache line.
 *
 * A task says itself which runtime and which size it is of. A frame has a volt_block_ before it.
 *
 * Races
 *   R1  Interleaving: a thread gives the last block back to a runtime that was given up; the end of
 *       the runtime finds that none is in use, and frees it, while the thread still uses the pool or
 *       the allocator. Prevented by: the end counts under the lock. A thread that is no worker
 *       uses the runtime last when it unlocks (a small block), or decrements in_use (a large one).
 *   R2  Interleaving: two threads find no chunk that a block can be carved from; each allocates one
 *       and adds it; the second is carved from now on, and the first, which has served one block,
 *       never again. Prevented by: a thread looks once more under the lock, before it adds a chunk,
 *       and gives the chunk back if it needs none. */
#include <stdlib.h>
#include <string.h>

#include "../../core/os/check.h"
#include "../host/runtime.h"
#include "../sched/thread.h"
#include "../sched/worker.h"
#include "pool.h"

enum { UNIT = 16, CHUNK_BYTES = 64 * 1024, LARGE = VOLT_POOL_CLASSES };

/* How many free blocks of a size a worker keeps, and how many it moves to or from the others at
 * once. */
enum { KEEP = 256, MOVE = 128 };

void volt_rt_pool_init_(volt_pool *pool) {
  for (unsigned block = 0; block < VOLT_POOL_CLASSES; block++) {
    pool->free[block].first = NULL;
    pool->free[block].count = 0;
  }
  volt_short_lock_init_(&pool->lock);
  pool->chunks = NULL;
  pool->fresh = NULL;
  pool->fresh_bytes = 0;
  pool->carved = 0;
  volt_store_relaxed(&pool->in_use, 0); /* not shared yet */
}

/* ---- lists of free blocks ---- */

static void pool_push(volt_free_list *list, volt_free_block *b) {
  b->next = list->first;
  list->first = b;
  list->count += 1;
}

static volt_free_block *pool_pop(volt_free_list *list) {
  volt_free_block *b = list->first;
  if (!b) return NULL;
  list->first = b->next;
  list->count -= 1;
  return b;
}

/* Move the first of them, at most max, in one piece. */
static void pool_move(volt_free_list *from, volt_free_list *to, unsigned max) {
  volt_free_block *first = from->first;
  if (!first) return;
  volt_free_block *last = first;
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
static void *pool_carve(volt_pool *pool, size_t bytes) {
  char *fresh = pool->fresh;
  size_t skip = (UINTPTR_MAX - (uintptr_t)fresh + 1) % pool_alignment_of(bytes);
  if (pool->fresh_bytes < skip + bytes) return NULL;
  pool->fresh = fresh + skip + bytes;
  pool->fresh_bytes -= skip + bytes;
  pool->carved += 1;
  return fresh + skip;
}

/* One block for the caller, and some for *own, if that is not NULL and there are free ones. *chunk:
 * NULL, or a new one; NULL afterwards if the pool has taken it. */
static void *pool_take_shared(volt_rt *rt, unsigned block, volt_free_list *own,
                              volt_chunk **chunk) {
  volt_pool *pool = &rt->pool;
  size_t bytes = (size_t)block * UNIT;
  volt_short_lock_lock_(&pool->lock);
  void *taken = pool_pop(&pool->free[block]);
  if (taken && own) pool_move(&pool->free[block], own, MOVE);
  if (!taken) taken = pool_carve(pool, bytes);
  if (!taken && *chunk) { /* R2 */
    pool_add_chunk(pool, *chunk);
    *chunk = NULL;
    taken = pool_carve(pool, bytes);
  }
  volt_short_lock_unlock_(&pool->lock);
  return taken;
}

static VOLT_NOINLINE void *pool_take_more(volt_rt *rt, unsigned block, volt_free_list *own) {
  const volt_rt_allocator *a = &rt->config.allocator;
  volt_chunk *chunk = NULL;
  void *taken = pool_take_shared(rt, block, own, &chunk);
  if (taken) return taken;
  chunk = pool_new_chunk(rt);
  taken = pool_take_shared(rt, block, own, &chunk);
  if (chunk) a->free(chunk, CHUNK_BYTES, a->ctx); /* R2: another thread has added one */
  return taken;
}

static VOLT_NOINLINE void pool_give_shared(volt_rt *rt, unsigned block, void *given,
                                           volt_free_list *own) {
  volt_short_lock_lock_(&rt->pool.lock);
  pool_push(&rt->pool.free[block], (volt_free_block *)given);
  if (own) pool_move(own, &rt->pool.free[block], MOVE);
  volt_short_lock_unlock_(&rt->pool.lock); /* R1 */
}

/* ---- larger blocks: the size stands before the block ---- */

static VOLT_NOINLINE void *pool_take_large(volt_rt *rt, size_t bytes) {
  const volt_rt_allocator *a = &rt->config.allocator;
  if (bytes > SIZE_MAX - UNIT) return NULL;
  char *memory = (char *)a->alloc(bytes + UNIT, a->ctx);
  if (!memory) return NULL;
  memcpy(memory, &bytes, sizeof bytes);
  volt_fetch_add_relaxed(&rt->pool.in_use, 1); /* a count: only the decrement orders (R1) */
  return memory + UNIT;
}

static VOLT_NOINLINE void pool_give_large(volt_rt *rt, void *given) {
  const volt_rt_allocator *a = &rt->config.allocator;
  char *memory = (char *)given - UNIT;
  size_t bytes;
  memcpy(&bytes, memory, sizeof bytes);
  a->free(memory, bytes + UNIT, a->ctx);
  /* pool:U1 -> pool:U2: the end of the runtime frees what this thread used before; R1 */
  volt_fetch_add_release(&rt->pool.in_use, UINT64_C(0) - 1);
}

/* ---- of any size ---- */

static inline unsigned pool_block_of(size_t bytes) {
  bool is_large = bytes > (size_t)(VOLT_POOL_CLASSES - 1) * UNIT;
  return is_large ? (unsigned)LARGE : (unsigned)((bytes + UNIT - 1) / UNIT);
}

static VOLT_NOINLINE void *pool_take_slow(volt_rt *rt, size_t bytes) {
  unsigned block = pool_block_of(bytes);
  if (block == LARGE) return pool_take_large(rt, bytes);
  volt_worker *here = volt_worker_here_(rt);
  return pool_take_more(rt, block, here ? &here->free[block] : NULL);
}

/* here: the worker of rt that this thread is, or NULL. */
static inline void *pool_take(volt_rt *rt, volt_worker *here, size_t bytes, unsigned block) {
  void *taken = VOLT_LIKELY(here && block != LARGE) ? pool_pop(&here->free[block]) : NULL;
  return VOLT_LIKELY(taken != NULL) ? taken : pool_take_slow(rt, bytes);
}

/* here: as above. Returns false if it keeps enough of that size, or none: call pool_give(). */
static inline bool pool_keep(volt_worker *here, unsigned block, void *given) {
  if (VOLT_UNLIKELY(!here || block == LARGE || here->free[block].count >= KEEP)) return false;
  pool_push(&here->free[block], (volt_free_block *)given);
  return true;
}

static void pool_give(volt_rt *rt, unsigned block, void *given) {
  volt_worker *here = volt_worker_here_(rt);
  if (block == LARGE) {
    pool_give_large(rt, given);
  } else {
    pool_give_shared(rt, block, given, here ? &here->free[block] : NULL);
  }
}

/* ---- tasks ---- */

void *volt_task_new(volt_rt *rt, size_t bytes, volt_task_fn *poll) {
  VOLT_CHECK(bytes >= sizeof(volt_task), "volt_task_new", "%zu bytes: a volt_task alone has %zu",
             bytes, sizeof(volt_task));
  unsigned block = pool_block_of(bytes);
  volt_task *t = (volt_task *)pool_take(rt, volt_worker_here_(rt), bytes, block);
  if (!t) return NULL;
  memset((void *)(t + 1), 0, bytes - sizeof *t);
  volt_task_init(t, poll);
  t->rt = rt;
  t->frame.block = (uint8_t)block;
  return t;
}

/* What it needs of *t it reads anew, so that nothing else is kept for it on the usual path. */
static VOLT_NOINLINE void pool_free_slow(volt_task *t) {
  pool_give(t->rt, t->frame.block, t);
}

void volt_pool_free_(volt_task *t) {
  if (!pool_keep(volt_worker_here_(t->rt), t->frame.block, t)) pool_free_slow(t);
}

/* ---- frames of coroutines ---- */

volt_rt *volt_rt_alloc_for_(volt_rt *rt) {
  volt_here_ *here = volt_thread_here_();
  volt_rt *before = here->frames;
  here->frames = rt;
  return before;
}

/* This thread runs no tasks. */
static VOLT_NOINLINE void *pool_take_outside(size_t whole, unsigned block) {
  volt_rt *rt = volt_thread_here_()->frames;
  volt_block_ *head = (volt_block_ *)(rt ? pool_take(rt, NULL, whole, block) : malloc(whole));
  if (!head) return NULL;
  head->rt = rt;
  head->block = block;
  head->is_foreign = 0;
  return head + 1;
}

void *volt_rt_alloc_(size_t bytes) {
  if (VOLT_UNLIKELY(bytes > SIZE_MAX / 2)) return NULL;
  volt_here_ *here = volt_thread_here_();
  size_t whole = bytes + sizeof(volt_block_);
  unsigned block = pool_block_of(whole);
  if (VOLT_UNLIKELY(!here->rt)) return pool_take_outside(whole, block);
  volt_block_ *head = (volt_block_ *)pool_take(here->rt, here->worker, whole, block);
  if (!head) return NULL;
  head->rt = here->rt;
  head->block = block;
  head->is_foreign = 0;
  return head + 1;
}

static VOLT_NOINLINE void pool_free_block_slow(volt_block_ *head) {
  if (head->rt) {
    pool_give(head->rt, head->block, head);
  } else {
    free(head);
  }
}

/* If head->rt is NULL, the memory is malloc()'s, and no worker keeps it. Not inline: else a coroutine
 * would save the registers that this uses each time it is resumed, also where it frees nothing. */
VOLT_NOINLINE void volt_rt_free_(void *memory) {
  volt_block_ *head = (volt_block_ *)memory - 1;
  if (!pool_keep(volt_worker_here_(head->rt), head->block, head)) pool_free_block_slow(head);
}

/* ---- the end ---- */

uint64_t volt_rt_pool_used_(volt_rt *rt) {
  volt_pool *pool = &rt->pool;
  volt_short_lock_lock_(&pool->lock); /* R1 */
  /* pool:U2 <- pool:U1: the threads that have given back the large ones use the pool no more; R1 */
  uint64_t used = pool->carved + volt_load_acquire(&pool->in_use);
  for (unsigned block = 0; block < VOLT_POOL_CLASSES; block++) {
    used -= pool->free[block].count;
    for (unsigned i = 0; i < rt->workers; i++) used -= rt->worker[i].free[block].count;
  }
  volt_short_lock_unlock_(&pool->lock);
  return used;
}

void volt_rt_pool_destroy_(volt_rt *rt) {
  volt_pool *pool = &rt->pool;
  uint64_t used = volt_rt_pool_used_(rt);
  VOLT_CHECK(used == 0, "volt_rt_destroy",
             "%p: %llu tasks or coroutines of its pool are still held: join and detach them first",
             (void *)rt, (unsigned long long)used);
  for (volt_chunk *chunk = pool->chunks; chunk;) {
    volt_chunk *next = chunk->next;
    rt->config.allocator.free(chunk, chunk->bytes, rt->config.allocator.ctx);
    chunk = next;
  }
}
