/* detail/fifo.h: the word and the FIFO that every primitive embeds. Not an interface.
 *
 * This header is public because the structs of the primitives are visible and their fast paths are
 * inline. Programs include volt/semaphore.h, volt/mutex.h, ...
 *
 * The word answers two questions at once: "is a waiter queued?" and "what is there to take?". One
 * load reads both answers and one compare-and-swap changes both, so they cannot disagree.
 *
 *   bit 0      QUEUED     the FIFO is not empty; then there are no permits in the value (but see
 *                         OPEN)
 *   bit 1      LOCKED     one thread has the lock: the FIFO, and all other bits, are its own
 *   bit 2      CLOSED     closed: no new waiter is queued; those that are still in the FIFO are on
 *                         their way out
 *   bit 3      BOUNDED    a bounded semaphore, for its whole life: its releases take the slow path,
 *                         which compares them with the limit. A channel (channel.h) and a budget
 *                         use this bit in other ways.
 *   bit 4      OPEN       a mutex or rwlock with bypass, QUEUED: the oldest waiter may be passed.
 *                         The value of such an object is real while QUEUED is set, too
 *                         (src/core/wait/bypass.c)
 *   bit 5      NUDGED     with bypass: the oldest waiter was called to come and look
 *   bits 8-15  LEFT       with bypass, QUEUED: how many may still pass the oldest waiter
 *   bits 16-31 RETURNING  how many threads have released the lock to call wakers, and will take it
 *                         again to complete more waiters
 *   bits 32-63 value      the free permits of a semaphore, mutex or rwlock, XOR `full`. `full` is
 *                         what a free mutex or rwlock has, and 0 for a semaphore: so the word of a
 *                         free mutex, and of a free rwlock, is 0. Other primitives use the value in
 *                         their own way.
 *
 * Which thread writes the word: while QUEUED and LOCKED are clear, any thread, by one
 * compare-and-swap. While QUEUED is set, a thread takes the lock first (but a latch is counted
 * down while LOCKED is clear). While LOCKED is set, only the thread that holds the lock.
 * src/core/wait/fifo.c says how the lock and the FIFO work.
 *
 * Some members of the FIFO and of its waiters mean something else to each engine
 * (src/core/wait/permits.c, src/core/wait/monitor.c, src/sync/channel.c):
 *
 *   member       permits                     monitor                   channel
 *   fifo.rest    permits carried over        its epoch                 not used
 *   waiter.want  permits asked for           its epoch when queued     elements wanted, then moved
 *   waiter.need  permits missing             1                         1; 2 in a select
 *   waiter.data  NULL; not NULL if it wants  the primitive's own       the elements
 *                all (semaphore_limit.h), or
 *                was moved to a mutex (cond.c)
 *
 * A budget (src/sync/budget.c) has BOUNDED while more is held than a limit, OPEN while waiters may ask for
 * more than one that was lowered, and no value. Its rest is how many requests have passed all waiters, want
 * is that when the waiter was queued, less those that have passed it from behind, need is 1, and data is
 * what it asks for.
 *
 * A fourth engine, src/core/wait/bypass.c, does not use fifo.rest. There want is what the waiter adds to
 * the value, need is 1, and data is the FIFO itself if the waiter may be nudged.
 *
 * With every engine `need` is above 0 exactly while the waiter is in the FIFO. */
#ifndef VOLT_DETAIL_FIFO_H
#define VOLT_DETAIL_FIFO_H

#include "../waiter.h"

#define VOLT_WORD_QUEUED_ UINT64_C(1)
#define VOLT_WORD_LOCKED_ UINT64_C(2)
#define VOLT_WORD_CLOSED_ UINT64_C(4)
#define VOLT_WORD_BOUNDED_ UINT64_C(8)
#define VOLT_WORD_OPEN_ UINT64_C(0x10)
#define VOLT_WORD_NUDGED_ UINT64_C(0x20)
#define VOLT_WORD_LEFT_ UINT64_C(0x100) /* one that may pass */
#define VOLT_WORD_ALL_LEFT_ UINT64_C(0xff00)
#define VOLT_WORD_RETURNING_ UINT64_C(0x10000) /* one thread */
#define VOLT_WORD_ALL_RETURNING_ UINT64_C(0xffff0000)
#define VOLT_WORD_ONE_ (UINT64_C(1) << 32) /* of the value */
#define VOLT_WORD_(value) ((uint64_t)(value) << 32)
#define VOLT_WORD_VALUE_(word) ((uint32_t)((word) >> 32))
#define VOLT_WORD_FLAGS_(word) ((uint32_t)(word))

/* Members are private. */
typedef struct volt_fifo_ {
  VOLT_ATOMIC(uint64_t) word;
  VOLT_PLAIN(volt_waiter *) head; /* the FIFO, oldest first */
  VOLT_PLAIN(volt_waiter *) tail;
  VOLT_PLAIN(uint32_t) waiters; /* how many are in it */
  VOLT_PLAIN(uint32_t) rest;    /* the engine's own: the table above */
} volt_fifo_;

#define VOLT_FIFO_INIT_(value) \
  { VOLT_WORD_(value), NULL, NULL, 0, 0 }

#endif
