/* detail/fifo.h: what every primitive embeds, and its word, on which the fast paths work.
 *
 * Not an interface of its own: programs use semaphore.h, mutex.h, ... This header is public only
 * because their structs are visible and their fast paths inline.
 *
 * The word answers "is anybody waiting?" and "what is there to take?" at once, so that the two
 * answers can never disagree:
 *
 *   bit 0      QUEUED     somebody waits: everything goes through the lock, and the value is 0
 *   bit 1      LOCKED     a thread has the FIFO to itself
 *   bit 2      CLOSED     nobody will be queued again (with QUEUED: those queued are being told)
 *   bit 3      BOUNDED    a semaphore's, from its beginning to its end: what is released goes through
 *                         the slow path, which compares it with the limit (channel.h has another
 *                         meaning for it)
 *   bits 8-31  RETURNING  so many threads are calling wakers and will come back for more
 *   bits 32-63 value      permits XOR what the primitive calls full: 0 permits of a semaphore, a
 *                         free mutex and a free rwlock are all zero
 *
 * Who writes it: while QUEUED is clear, anyone, by one compare-and-swap. While QUEUED is set, only
 * the thread that holds LOCKED; so LOCKED is set only together with QUEUED. (What has no fast path,
 * or one that looks for LOCKED, sets it alone: monitor.h.) The
 * lock and the FIFO are in src/core/fifo.c; what the word says of permits is in permits.c. */
#ifndef VOLT_DETAIL_FIFO_H
#define VOLT_DETAIL_FIFO_H

#include "../waiter.h"

#define VOLT_WORD_QUEUED_ UINT64_C(1)
#define VOLT_WORD_LOCKED_ UINT64_C(2)
#define VOLT_WORD_CLOSED_ UINT64_C(4)
#define VOLT_WORD_BOUNDED_ UINT64_C(8)
#define VOLT_WORD_RETURNING_ UINT64_C(0x100) /* one of them */
#define VOLT_WORD_ALL_RETURNING_ UINT64_C(0xffffff00)
#define VOLT_WORD_ONE_ (UINT64_C(1) << 32)
#define VOLT_WORD_(value) ((uint64_t)(value) << 32)
#define VOLT_WORD_VALUE_(word) ((uint32_t)((word) >> 32))
#define VOLT_WORD_FLAGS_(word) ((uint32_t)(word))

/* Members are private. */
typedef struct volt_fifo_ {
  VOLT_ATOMIC(uint64_t) word;
  VOLT_PLAIN(volt_waiter *) head; /* the FIFO, oldest first */
  VOLT_PLAIN(volt_waiter *) tail;
  VOLT_PLAIN(uint32_t) waiters; /* how many it holds */
  /* permits for them that a release will come back to give; where there are no permits, how often
   * everybody was let go */
  VOLT_PLAIN(uint32_t) rest;
} volt_fifo_;

#define VOLT_FIFO_INIT_(value) \
  { VOLT_WORD_(value), NULL, NULL, 0, 0 }

#endif
