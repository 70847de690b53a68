/* ring.h: the run queue of one worker: 256 tasks, pushed and popped by it, stolen by others.
 *
 * Algorithm: tail is the owner's, head is moved by a compare-and-swap by whoever takes: the owner
 * one, a thief half of what there is, after it has copied them. Both only ever grow, so a head that
 * is the same has not moved.
 *
 * Invariants
 *   I1  head <= tail <= head + 256; the tasks are those in [head, tail)
 *   I2  a slot is written while it is outside of [head, tail) only
 *
 * Races
 *   R1  A thief copies a slot; the owner pops it, goes round and writes another task there; the
 *       thief takes what it has copied. Closed: the thief's CAS fails, head has moved.
 *   R2  The owner writes a slot that a thief is still copying, and the thief's CAS succeeds.
 *       Closed: the slot is free only once head has passed it, which is after the copy (H1 -> H2).
 *   R3  A task is pushed, its pusher finds nobody asleep; a worker lies down and finds no task.
 *       Closed with idle.h: of D1, D3 there and D4 there, D2 one sees the other.
 *
 * Pairs
 *   T1 (release) -> T2 (acquire)   whoever takes a task sees it as it was pushed
 *   H1 (release) -> H2 (acquire)   the owner writes a slot after it was copied
 *   D1, D2 (seq_cst)               with D3, D4 in idle.h: R3 */
#ifndef VOLT_RT_RING_H
#define VOLT_RT_RING_H

#include <volt/task.h>

#include "../core/check.h"

#ifndef VOLT_RT_RING
#define VOLT_RT_RING 256u
#endif

typedef struct volt_ring {
  VOLT_ATOMIC(uint64_t) head;
  char line[VOLT_CACHE_LINE - 8]; /* thieves take head from each other, not from the owner's line */
  VOLT_ATOMIC(uint64_t) tail;
  VOLT_ATOMIC(volt_task *) slots[VOLT_RT_RING];
} volt_ring;

static inline void volt_ring_init_(volt_ring *r) {
  volt_store_relaxed(&r->head, 0); /* not shared yet */
  volt_store_relaxed(&r->tail, 0);
}

/* How many there are: exact for the owner while nobody steals. */
static inline uint32_t volt_ring_count_(volt_ring *r) {
  uint64_t head =
      volt_load_relaxed(&r->head); /* hint only; read first, so that it is the smaller */
  uint64_t tail = volt_load_relaxed(&r->tail);
  return tail > head ? (uint32_t)(tail - head) : 0;
}

/* Whether there is a task, for a worker that lies down: see idle.h. */
static inline bool volt_ring_has_any_(volt_ring *r) {
  uint64_t tail = volt_load_seq_cst(&r->tail); /* ring:D2 <-> ring:D1: TODO-REASON */
  return volt_load_relaxed(&r->head) < tail;   /* a task that was taken is somebody's */
}

/* By the owner: space for one more? */
static inline bool volt_ring_is_full_(volt_ring *r) {
  uint64_t tail = volt_load_relaxed(&r->tail); /* the owner's */
  /* ring:H2 <- ring:H1: the owner writes a slot after it was copied; R2 */
  return tail - volt_load_acquire(&r->head) == VOLT_RT_RING;
}

/* By the owner, if it is not full. */
static inline void volt_ring_push_(volt_ring *r, volt_task *t) {
  uint64_t tail = volt_load_relaxed(&r->tail);           /* the owner's */
  volt_store_relaxed(&r->slots[tail % VOLT_RT_RING], t); /* published by T1 */
  /* ring:T1 -> ring:T2: whoever takes a task sees it as it was pushed */
  volt_store_release(&r->tail, tail + 1);
}

/* The same as one step with all that follows: for a push that nobody but this worker knows of, and
 * it may be long before it looks again. */
static inline void volt_ring_push_seen_(volt_ring *r, volt_task *t) {
  uint64_t tail = volt_load_relaxed(&r->tail);           /* the owner's */
  volt_store_relaxed(&r->slots[tail % VOLT_RT_RING], t); /* published by D1 */
  /* ring:D1 <-> ring:D2: TODO-REASON; ring:T1 -> ring:T2: whoever takes a task sees it as it was
   * pushed */
  volt_exchange_seq_cst(&r->tail, tail + 1);
}

/* By the owner: the oldest, or NULL. */
static inline volt_task *volt_ring_pop_(volt_ring *r) {
  uint64_t tail = volt_load_relaxed(&r->tail); /* the owner's */
  uint64_t head = volt_load_relaxed(&r->head); /* a guess: the CAS decides */
  while (head != tail) {
    volt_task *t = volt_load_relaxed(&r->slots[head % VOLT_RT_RING]); /* the owner's own push */
    if (volt_cas_relaxed(&r->head, &head, head + 1))
      return t; /* the owner reads no slot after it */
  }
  return NULL;
}

/* By anybody: take the older half, at most max, into out. Returns how many. */
static inline unsigned volt_ring_steal_(volt_ring *r, volt_task **out, unsigned max) {
  uint64_t head = volt_load_relaxed(&r->head); /* a guess: the CAS decides */
  for (;;) {
    /* ring:T2 <- ring:T1: whoever takes a task sees it as it was pushed */
    uint64_t tail = volt_load_acquire(&r->tail);
    uint64_t count = tail > head ? (tail - head + 1) / 2 : 0;
    if (count > max) count = max;
    if (count == 0) return 0;
    for (uint64_t i = 0; i < count; i++) {
      out[i] = volt_load_relaxed(&r->slots[(head + i) % VOLT_RT_RING]); /* R1: the CAS decides */
    }
    /* ring:H1 -> ring:H2: the owner writes a slot after it was copied */
    if (volt_cas_release(&r->head, &head, head + count)) return (unsigned)count;
  }
}

#endif
