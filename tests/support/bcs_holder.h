/* bcs_holder.h: a thread that holds the role of a volt_bcs_lock until it is told to let go, so that
 * what comes meanwhile is queued, in an order that the test decides. */
#ifndef VOLT_TEST_BCS_HOLDER_H
#define VOLT_TEST_BCS_HOLDER_H

#include "thread_team.h"
#include "unit.h"

/* So long a test waits for what must happen before it fails. */
#define PATIENCE_NS UINT64_C(60000000000)

/* The two forms of the lock. */
typedef void bcs_init_fn(volt_bcs_lock *lock);
static bcs_init_fn *const bcs_inits[] = {volt_bcs_lock_init, volt_bcs_lock_init_lockfree};

typedef struct bcs_holder {
  volt_bcs_lock *lock;
  volt_parker holds;
  volt_parker may_go;
  pthread_t thread; /* which it is: written in its section */
  thread_team team;
} bcs_holder;

static inline void bcs_holder_section_(void *arg) {
  bcs_holder *h = (bcs_holder *)arg;
  h->thread = pthread_self();
  volt_unpark(&h->holds);
  volt_park_until(&h->may_go, 1, VOLT_NO_DEADLINE);
}

static inline void bcs_holder_body_(void *arg, uint32_t index) {
  bcs_holder *h = (bcs_holder *)arg;
  (void)index;
  volt_bcs_node node;
  volt_bcs_lock_run(h->lock, &node, bcs_holder_section_, h);
}

/* Start it; return when its section runs. */
static inline void bcs_holder_start(bcs_holder *h, volt_bcs_lock *lock) {
  h->lock = lock;
  volt_store_relaxed(&h->holds.word, 0); /* published by the start of the thread */
  volt_store_relaxed(&h->may_go.word, 0);
  thread_team_start(&h->team, 1, bcs_holder_body_, h);
  volt_park_until(&h->holds, 1, VOLT_NO_DEADLINE);
}

/* Have its section end; it serves what was queued meanwhile. */
static inline void bcs_holder_let_go(bcs_holder *h) {
  volt_unpark(&h->may_go);
}

/* Both, and wait until its thread has ended. */
static inline void bcs_holder_end(bcs_holder *h) {
  bcs_holder_let_go(h);
  thread_team_join(&h->team);
}

/* The last that has been queued: changes when somebody has got his place. */
static inline uintptr_t bcs_lock_last(volt_bcs_lock *lock) {
  return volt_load_acquire(lock->lockfree ? &lock->stack.top : &lock->queue.tail);
}

#endif
