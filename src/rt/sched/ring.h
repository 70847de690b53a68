/* ring.h: the run queue of one worker: 256 tasks. The worker pushes and pops, others steal.
 *
 * Algorithm: the tail belongs to the owner. The head is moved by the compare-and-swap of the thread
 * that takes: the owner takes one task; a thief copies half of the tasks, and then takes them. Both
 * counts only grow, so a head that is the same has not moved.
 *
 * Invariants
 *   I1  head <= tail <= head + 256; the tasks are those in [head, tail)
 *   I2  a slot is written only while it is outside of [head, tail)
 *
 * Races
 *   R1  Interleaving: a thief copies a slot; the owner pops that task, comes round and writes
 *       another task there; the thief takes its copy. Prevented by: the thief's CAS fails, because
 *       the head has moved.
 *   R2  Interleaving: the owner writes a slot that a thief still copies, and the thief's CAS
 *       succeeds. Prevented by: the slot is free only after the head has passed it, which is after
 *       the copy (H1, H2).
 *   R3  Interleaving: a worker pushes a task and sees no sleeper; another worker finds no task and
 *       sleeps. Prevented by: idle.h R1, with D1 and D2 here. */
#ifndef VOLT_RT_SCHED_RING_H
#define VOLT_RT_SCHED_RING_H

#include <volt/task.h>

#include "../../core/os/check.h"

#ifndef VOLT_RT_RING
#define VOLT_RT_RING 256u
#endif

typedef struct volt_ring {
  VOLT_ATOMIC(uint64_t) head;
  char line[VOLT_CACHE_LINE - 8]; /* thieves contend for head, not for the owner's line */
  VOLT_ATOMIC(uint64_t) tail;
  VOLT_ATOMIC(volt_task *) slots[VOLT_RT_RING];
} volt_ring;

static inline void volt_ring_init_(volt_ring *r) {
  volt_store_relaxed(&r->head, 0); /* not shared yet */
  volt_store_relaxed(&r->tail, 0);
}

/* How many there are: exact for the owner while no thread steals. */
static inline uint32_t volt_ring_count_(volt_ring *r) {
  uint64_t head = volt_load_relaxed(&r->head); /* hint only; first, so that it is the smaller */
  uint64_t tail = volt_load_relaxed(&r->tail);
  return tail > head ? (uint32_t)(tail - head) : 0;
}

/* Whether there is a task: for a worker that is about to sleep (idle.h R1). */
static inline bool volt_ring_has_any_(volt_ring *r) {
  /* ring:D2 <-> ring:D1: after idle:D4 or idle:D5: sees the task, or its pusher sees them */
  uint64_t tail = volt_load_seq_cst(&r->tail);
  return volt_load_relaxed(&r->head) < tail; /* a task that was taken is on a worker */
}

/* By the owner: the count of all tasks that were ever pushed; and of those, as far as is known,
 * that were ever taken. */
static inline uint64_t volt_ring_end_(volt_ring *r) {
  return volt_load_relaxed(&r->tail); /* the owner's */
}
static inline uint64_t volt_ring_taken_(volt_ring *r) {
  return volt_load_relaxed(&r->head); /* a guess: a thief may have taken more */
}

/* By the owner: for how many more there is space. */
static inline unsigned volt_ring_room_(volt_ring *r) {
  uint64_t tail = volt_load_relaxed(&r->tail); /* the owner's */
  /* ring:H2 <- ring:H1: the owner writes a slot after a thief has copied it; R2 */
  return VOLT_RT_RING - (unsigned)(tail - volt_load_acquire(&r->head));
}

static inline bool volt_ring_is_full_(volt_ring *r) {
  return volt_ring_room_(r) == 0;
}

/* By the owner: in order, if volt_ring_room_() has said that there is space for them. */
static inline void volt_ring_push_all_(volt_ring *r, volt_task *const *tasks, unsigned count) {
  uint64_t tail = volt_load_relaxed(&r->tail); /* the owner's */
  for (unsigned i = 0; i < count; i++) {
    volt_store_relaxed(&r->slots[(tail + i) % VOLT_RT_RING], tasks[i]); /* published by T1 */
  }
  /* ring:T1 -> ring:T2: the thread that takes a task sees it as it was pushed */
  volt_store_release(&r->tail, tail + count);
}

/* By the owner: one task. Returns false: there is no space. */
static inline bool volt_ring_push_(volt_ring *r, volt_task *t) {
  uint64_t tail = volt_load_relaxed(&r->tail); /* the owner's */
  /* ring:H2 <- ring:H1: the owner writes a slot after a thief has copied it; R2 */
  if (volt_load_acquire(&r->head) + VOLT_RT_RING == tail) return false;
  volt_store_relaxed(&r->slots[tail % VOLT_RT_RING], t); /* published by T1 */
  /* ring:T1 -> ring:T2: the thread that takes a task sees it as it was pushed */
  volt_store_release(&r->tail, tail + 1);
  return true;
}

/* The same, in one sequentially consistent order with the idle word: for a push in the middle of a
 * poll that may go on for long, so that the worker looks for sleepers right after it. */
static inline void volt_ring_push_seen_(volt_ring *r, volt_task *t) {
  uint64_t tail = volt_load_relaxed(&r->tail);           /* the owner's */
  volt_store_relaxed(&r->slots[tail % VOLT_RT_RING], t); /* published by D1 */
  /* ring:D1 <-> ring:D2: then idle:D3: D2 of a sleeper sees it, or D3 sees the sleeper; ring:T1 ->
   * ring:T2: the thread that takes a task sees it as it was pushed */
  volt_exchange_seq_cst(&r->tail, tail + 1);
}

/* By the owner: the oldest, or NULL. */
static inline volt_task *volt_ring_pop_(volt_ring *r) {
  uint64_t tail = volt_load_relaxed(&r->tail); /* the owner's */
  uint64_t head = volt_load_relaxed(&r->head); /* a guess: the CAS decides */
  while (head != tail) {
    volt_task *t = volt_load_relaxed(&r->slots[head % VOLT_RT_RING]); /* the owner's own push */
    /* relaxed, by ring:H2: the owner reads no slot after it, and writes one only behind H2 */
    if (volt_cas_relaxed(&r->head, &head, head + 1)) {
      VOLT_ASSUME(t); /* so the caller need not test it against NULL */
      return t;
    }
  }
  return NULL;
}

/* By any thread: take the older half, at most max, into out. Returns how many. */
static inline unsigned volt_ring_steal_(volt_ring *r, volt_task **out, unsigned max) {
  uint64_t head = volt_load_relaxed(&r->head); /* a guess: the CAS decides */
  for (;;) {
    /* ring:T2 <- ring:T1: the thread that takes a task sees it as it was pushed */
    uint64_t tail = volt_load_acquire(&r->tail);
    uint64_t count = tail > head ? (tail - head + 1) / 2 : 0;
    if (count > max) count = max;
    if (count == 0) return 0;
    for (uint64_t i = 0; i < count; i++) {
      out[i] = volt_load_relaxed(&r->slots[(head + i) % VOLT_RT_RING]); /* R1: the CAS decides */
    }
    /* ring:H1 -> ring:H2: the owner writes a slot after this thief has copied it */
    if (volt_cas_release(&r->head, &head, head + count)) return (unsigned)count;
  }
}

#endif
