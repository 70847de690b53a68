/* pool.h: a fixed number of equal pieces of memory, the one that was used last first.
 *
 * A stack of free pieces, by index: its head is one word, with a count in its upper half, so that a
 * head that was popped and pushed meanwhile is not mistaken for the old one. How many may be out is
 * for a semaphore to say: pool_take() is for callers that hold a permit for a piece. */
#ifndef HTTPD_POOL_H
#define HTTPD_POOL_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct pool {
  char *memory;
  _Atomic uint32_t *next; /* of each piece: the one below it, plus 1; 0: none */
  size_t piece_bytes;
  _Atomic uint64_t head; /* of the stack: count << 32 | index + 1 */
};

/* Make a pool. The system gives its memory when it is touched first. piece_bytes: rounded up.
 * Ends the program if there is no memory. */
void pool_init(struct pool *pool, uint32_t count, size_t piece_bytes);
void pool_destroy(struct pool *pool);

/* Take a piece; its content is anything. Aborts if none is free. Threads: any. */
void *pool_take(struct pool *pool);

/* Give a piece back. Threads: any. */
void pool_give(struct pool *pool, void *piece);

#endif
