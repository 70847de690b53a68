/* inject.h: the queue of tasks that are in no worker's ring: other threads have woken or spawned
 * them, or a ring was full. First in, first out. One lock for both ends, held for a few dozen
 * instructions. */
#ifndef VOLT_RT_SCHED_INJECT_H
#define VOLT_RT_SCHED_INJECT_H

#include <volt/task.h>

#include "short_lock.h"

typedef struct volt_inject {
  volt_short_lock lock;
  VOLT_PLAIN(volt_task *) head; /* under the lock */
  VOLT_PLAIN(volt_task *) tail;
  VOLT_ATOMIC(uint64_t) length; /* changed under the lock */
} volt_inject;

static inline void volt_inject_init_(volt_inject *q) {
  volt_short_lock_init_(&q->lock);
  q->head = NULL;
  q->tail = NULL;
  volt_store_relaxed(&q->length, 0); /* not shared yet */
}

/* Append count tasks that are linked from first to last. */
static inline void volt_inject_push_(volt_inject *q, volt_task *first, volt_task *last,
                                     uint64_t count) {
  last->next = NULL;
  volt_short_lock_lock_(&q->lock);
  if (q->head) {
    q->tail->next = first;
  } else {
    q->head = first;
  }
  q->tail = last;
  /* inject:D1 <-> inject:D2, inject:D6: then idle:D3: D2 of a sleeper sees it, or D3 sees the
   * sleeper */
  volt_fetch_add_seq_cst(&q->length, count);
  volt_short_lock_unlock_(&q->lock);
}

/* How many there are. A worker that has set its bit sees every task whose thread has not seen the
 * bit: idle.h R1. */
static inline uint64_t volt_inject_length_(volt_inject *q) {
  /* inject:D2 <-> inject:D1, inject:D6: after idle:D4 or idle:D5: sees the task, or its thread sees
   * them */
  return volt_load_seq_cst(&q->length);
}

/* Take at most max, oldest first, into out. Returns how many. */
static inline unsigned volt_inject_pop_(volt_inject *q, volt_task **out, unsigned max) {
  unsigned count = 0;
  volt_short_lock_lock_(&q->lock);
  while (count < max && q->head) {
    volt_task *t = q->head;
    q->head = t->next;
    out[count++] = t;
  }
  /* inject:D6 <-> inject:D1, inject:D2: an RMW, so no D1 before it is missing in what D2 sees */
  volt_fetch_add_acq_rel(&q->length, UINT64_C(0) - count);
  volt_short_lock_unlock_(&q->lock);
  return count;
}

#endif
