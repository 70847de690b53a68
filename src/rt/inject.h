/* inject.h: the queue of tasks that no worker has of its own: woken or spawned by other threads, or
 * more than a ring holds. First in, first out; a lock for both ends, held for a few dozen
 * instructions.
 *
 * Pairs: D1, D2 (seq_cst) with D3, D4, D5 in idle.h: whoever parks sees what was queued, or whoever
 * has queued sees who parks. D6 (acq_rel) is no part of that order, for it queues nothing: it is an
 * RMW, so D2 finds every D1 in the length that comes before it there. */
#ifndef VOLT_RT_INJECT_H
#define VOLT_RT_INJECT_H

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
  volt_short_lock_take_(&q->lock);
  if (q->head) {
    q->tail->next = first;
  } else {
    q->head = first;
  }
  q->tail = last;
  volt_fetch_add_seq_cst(&q->length, count); /* inject:D1 <-> inject:D2, inject:D6: TODO-REASON */
  volt_short_lock_leave_(&q->lock);
}

/* How many there are; exact for whoever has just parked: see idle.h. */
static inline uint64_t volt_inject_length_(volt_inject *q) {
  return volt_load_seq_cst(&q->length); /* inject:D2 <-> inject:D1, inject:D6: TODO-REASON */
}

/* Take at most max, oldest first, into out. Returns how many. */
static inline unsigned volt_inject_pop_(volt_inject *q, volt_task **out, unsigned max) {
  unsigned count = 0;
  volt_short_lock_take_(&q->lock);
  while (count < max && q->head) {
    volt_task *t = q->head;
    q->head = t->next;
    out[count++] = t;
  }
  /* inject:D6 <-> inject:D1, inject:D2: TODO-REASON */
  volt_fetch_add_acq_rel(&q->length, UINT64_C(0) - count);
  volt_short_lock_leave_(&q->lock);
  return count;
}

#endif
