/* pool.h: the pool of a runtime. */
#ifndef VOLT_RT_MEMORY_POOL_H
#define VOLT_RT_MEMORY_POOL_H

#include <volt/runtime.h>

#include "../sched/short_lock.h"

/* Memory for tasks and coroutines, in blocks of a multiple of 16 bytes. */
#define VOLT_POOL_CLASSES 81 /* block sizes in units of 16 bytes: 1..80; 0: none */

/* What stands before the link stays as it was: a second use of a detached handle is found by it
 * (task.c I5). */
typedef struct volt_free_block {
  char left_alone[offsetof(volt_task, next)];
  struct volt_free_block *next;
} volt_free_block;

typedef struct volt_free_list {
  VOLT_PLAIN(volt_free_block *) first;
  VOLT_PLAIN(uint32_t) count;
} volt_free_list;

typedef struct volt_chunk {
  struct volt_chunk *next;
  size_t bytes;
} volt_chunk;

typedef struct volt_pool {
  volt_short_lock lock;
  volt_free_list free[VOLT_POOL_CLASSES]; /* under the lock, like all that follows */
  VOLT_PLAIN(volt_chunk *) chunks;
  VOLT_PLAIN(char *) fresh; /* the rest of the newest chunk */
  VOLT_PLAIN(size_t) fresh_bytes;
  VOLT_PLAIN(uint64_t) carved;  /* blocks so far */
  VOLT_ATOMIC(uint64_t) in_use; /* blocks too big for the classes; not under the lock */
} volt_pool;

void volt_pool_free_(volt_task *t);

void volt_rt_pool_init_(volt_pool *pool);

/* How many blocks are in use, when every worker has ended. If none is, no thread uses the pool. */
uint64_t volt_rt_pool_used_(volt_rt *rt);

/* Aborts if a block is in use. */
void volt_rt_pool_destroy_(volt_rt *rt);

#endif
