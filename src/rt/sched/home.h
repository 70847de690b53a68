/* home.h: the queue of tasks that only one worker may poll: homed tasks (homed.h). Each worker has
 * one, beside its ring. No other worker takes anything out of it.
 *
 * Algorithm: the worker's own list, first in, first out; and a stack onto which all other threads
 * push by a CAS. The worker takes the whole stack by one exchange, and appends it to its list in
 * the order of the pushes. So no thread sees a task that is half queued, and no node comes back
 * under a CAS that has seen it.
 *
 * A task in the list stands behind those that were in the worker's ring when it was put there: it
 * has noted where the ring ended. It is polled when the ring's head has come so far. So a worker
 * polls the tasks of its ring and of its list in the order in which they were queued there, and
 * neither queue keeps the other waiting, however long it is.
 *
 * Invariants
 *   I1  the home of a task is read and written only by the thread to which the task belongs: its
 *       worker while that polls it, or the thread that has set ACTIVE (task.c I1) until it has
 *       queued the task
 *   I2  a task whose home is not 0 is in the list, the stack or the slot of that worker, or on a
 *       worker that polls it or is about to queue it. It is in no ring, and not in the injection
 *       queue
 *   I3  a task in the stack is polled: its worker is awake, and looks at the stack before it
 *       sleeps, or was woken for it
 *
 * Races
 *   R1  Interleaving: a thread pushes a task onto the stack, and does not see that the worker is
 *       about to sleep; the worker does not see the task, and sleeps. Prevented by: the thread
 *       pushes, then reads the idle word; the worker sets its bit there, then looks at the stack.
 *       All four are sequentially consistent (D1, idle:D6; idle:D4, D2), so one of the two sees the
 *       other. No other worker could take the task, so exactly this one is woken, also if others
 *       search.
 *   R2  Interleaving: two threads see the bit of the worker. Prevented by: as in idle.h R3, one of
 *       them clears it. The other's task was pushed before it saw that; and the worker, which is
 *       awake from then on, looks at the stack after it has set its bit the next time (R1).
 *   R3  Interleaving: a thread pushes a task, which is polled and ends, and the runtime is
 *       destroyed, before the thread reads the idle word. Prevented by: task.c R4.
 *   R4  Interleaving: a task goes to another worker, its new home, while a thread wakes it.
 *       Prevented by: I1. If the wake comes before the poll has ended, it sets NOTIFIED, and the
 *       worker that has polled the task queues it. If it comes later, its CAS on the state word
 *       has read what the end of that poll has written, and so sees the new home.
 *   R5  Interleaving: a worker wakes a homed task, and does not know that there are homed tasks in
 *       this runtime (volt_worker.how), so the task goes to its ring. Prevented by: the first task
 *       to get a home says so to all workers before, and a later one sees that this was done (A1,
 *       A2). The wake comes after that by I1.
 *
 * Labels: home */
#ifndef VOLT_RT_SCHED_HOME_H
#define VOLT_RT_SCHED_HOME_H

#include "homed.h"

/* What is not as usual, on one worker: else it need not look at each task that it queues. */
enum volt_worker_how {
  VOLT_HOW_LONG_ = 1, /* its polls are long, on average, before the last look: it does not use the
                       * slot. Set and cleared by the worker */
  VOLT_HOW_HOMED_ = 2 /* in this runtime tasks have homes. Set once: home.h R5 */
};

typedef struct volt_home {
  /* the worker's own */
  volt_homed_ *first; /* linked by task.next */
  volt_homed_ *last;
  bool is_used;                 /* the worker has had, or has, a task whose home it is */
  VOLT_ATOMIC(uint64_t) listed; /* how many were put into the list by the worker itself, less those
                                 * that it has taken out. For statistics, as `sent` */
  char line[VOLT_CACHE_LINE];
  VOLT_ATOMIC(volt_homed_ *) newest; /* of the stack */
  VOLT_ATOMIC(uint64_t) sent;        /* how many were ever pushed onto the stack */
} volt_home;

static inline void volt_home_init_(volt_home *h) {
  h->first = NULL;
  h->last = NULL;
  h->is_used = false;
  volt_store_relaxed(&h->listed, 0); /* not shared yet */
  volt_store_relaxed(&h->newest, NULL);
  volt_store_relaxed(&h->sent, 0);
}

static inline volt_homed_ *volt_homed_of_(volt_task *t) {
  return (volt_homed_ *)(void *)t;
}

/* How many there are. */
static inline uint32_t volt_home_count_(volt_home *h) {
  uint64_t sent = volt_load_relaxed(&h->sent); /* statistics, like all here */
  return (uint32_t)(sent + volt_load_relaxed(&h->listed));
}

/* ---- the worker's own ---- */

static inline void volt_home_append_(volt_home *h, volt_homed_ *first, volt_homed_ *last) {
  h->is_used = true;
  last->task.next = NULL;
  if (h->last) {
    h->last->task.next = &first->task;
  } else {
    h->first = first;
  }
  h->last = last;
}

/* Append t. ring_end: of the worker's ring, now. */
static inline void volt_home_push_(volt_home *h, volt_homed_ *t, uint64_t ring_end) {
  uint64_t listed = volt_load_relaxed(&h->listed); /* this worker alone writes it */
  volt_store_relaxed(&h->listed, listed + 1);      /* for statistics */
  t->behind = ring_end;
  volt_home_append_(h, t, t);
}

/* Move the stack to the list. */
static inline void volt_home_receive_(volt_home *h, uint64_t ring_end) {
  if (!volt_load_relaxed(&h->newest)) return; /* a hint: D2 decides before the worker sleeps */
  /* home:T2 <- home:T1: the worker sees the tasks as they were pushed */
  volt_homed_ *last = volt_exchange_acquire(&h->newest, NULL);
  volt_homed_ *first = NULL;
  for (volt_homed_ *t = last; t;) {
    volt_homed_ *older = volt_homed_of_(t->task.next);
    t->behind = ring_end;
    t->task.next = first ? &first->task : NULL;
    first = t;
    t = older;
  }
  volt_home_append_(h, first, last);
}

/* Take the oldest in the list, which is not empty. */
static inline volt_task *volt_home_pop_(volt_home *h) {
  volt_homed_ *t = h->first;
  uint64_t listed = volt_load_relaxed(&h->listed); /* this worker alone writes it */
  volt_store_relaxed(&h->listed, listed - 1);      /* for statistics */
  h->first = volt_homed_of_(t->task.next);
  if (!h->first) h->last = NULL;
  return &t->task;
}

/* Whether a task was pushed onto the stack: for the worker, after its bit is set (R1). */
static inline bool volt_home_was_sent_any_(volt_home *h) {
  /* home:D2 <-> home:D1: after idle:D4: sees the task, or its thread sees the bit */
  return volt_load_seq_cst(&h->newest) != NULL;
}

/* ---- any other thread ---- */

/* Push t, and then look whether the worker sleeps (R1): volt_rt_task_sent_(). */
static inline void volt_home_send_(volt_home *h, volt_homed_ *t) {
  volt_fetch_add_relaxed(&h->sent, 1); /* for statistics; before the worker takes t */
  volt_homed_ *newest = volt_load_relaxed(&h->newest); /* a guess: the CAS decides */
  do {
    t->task.next = newest ? &newest->task : NULL;
    /* home:D1 <-> home:D2: then idle:D6: D2 of the worker sees the task, or D6 sees its bit;
     * home:T1 -> home:T2: the worker sees the task as it was pushed */
  } while (!volt_cas_seq_cst(&h->newest, &newest, t));
}

/* Queue a task that has a home there, behind the others. This thread has set ACTIVE, or has polled
 * the task. */
void volt_rt_queue_homed_(volt_homed_ *h);

#endif
