/* candidates.c: ways to have a section to oneself. */
#define _GNU_SOURCE /* PTHREAD_MUTEX_ADAPTIVE_NP */
#include <stdlib.h>

#include <volt/park.h>

#include "bcs.h"
#include "core/park/spin.h" /* volt_cpu_relax_() */

static void nothing_to_do(bcs_contest *c) {
  (void)c;
}

/* ---- volt_bcs_lock ---- */

static void waitfree_init(bcs_contest *c) {
  c->lock.bcs = (volt_bcs_lock)VOLT_BCS_LOCK_INIT;
}

static void lockfree_init(bcs_contest *c) {
  c->lock.bcs = (volt_bcs_lock)VOLT_BCS_LOCK_LOCKFREE_INIT;
}

static void bcs_lock_run(bcs_contest *c) {
  volt_bcs_node node;
  volt_bcs_lock_run(&c->lock.bcs, &node, bcs_section, &c->shared);
}

static void bcs_lock_destroy(bcs_contest *c) {
  volt_bcs_lock_destroy(&c->lock.bcs);
}

/* ---- volt_actor: its thread runs all sections; who submits parks until it has ---- */

static void actor_handle(volt_bcs_node *node, void *shared) {
  bcs_section(shared);
  volt_unpark((volt_parker *)node->data); /* *node is gone */
}

static void *actor_main(void *arg) {
  bcs_contest *c = (bcs_contest *)arg;
  volt_actor_run(&c->lock.actor, actor_handle, &c->shared);
  return NULL;
}

static void actor_init(bcs_contest *c) {
  volt_actor_init(&c->lock.actor);
  if (pthread_create(&c->actor_thread, NULL, actor_main, c) != 0) abort();
}

static void actor_run(bcs_contest *c) {
  volt_parker parker = VOLT_PARKER_INIT;
  volt_bcs_node node = {.data = &parker};
  volt_actor_submit(&c->lock.actor, &node);
  (void)volt_park_until(&parker, 1, VOLT_NO_DEADLINE);
}

static void actor_destroy(bcs_contest *c) {
  volt_actor_stop(&c->lock.actor);
  pthread_join(c->actor_thread, NULL);
}

/* ---- volt_mutex ---- */

static void mutex_init(bcs_contest *c) {
  volt_mutex_init(&c->lock.mutex);
}

static void mutex_run(bcs_contest *c) {
  volt_mutex_lock(&c->lock.mutex);
  bcs_section(&c->shared);
  volt_mutex_unlock(&c->lock.mutex);
}

static void mutex_destroy(bcs_contest *c) {
  volt_mutex_destroy(&c->lock.mutex);
}

/* ---- pthread_mutex ---- */

static void pthread_init(bcs_contest *c) {
  if (pthread_mutex_init(&c->lock.pthread, NULL) != 0) abort();
}

static void adaptive_init(bcs_contest *c) {
  pthread_mutexattr_t kind;
  if (pthread_mutexattr_init(&kind) != 0) abort();
  if (pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ADAPTIVE_NP) != 0) abort();
  if (pthread_mutex_init(&c->lock.pthread, &kind) != 0) abort();
  pthread_mutexattr_destroy(&kind);
}

static void pthread_run(bcs_contest *c) {
  pthread_mutex_lock(&c->lock.pthread);
  bcs_section(&c->shared);
  pthread_mutex_unlock(&c->lock.pthread);
}

static void pthread_destroy(bcs_contest *c) {
  pthread_mutex_destroy(&c->lock.pthread);
}

/* ---- nsync ---- */

#ifdef BCS_WITH_NSYNC
static void nsync_init(bcs_contest *c) {
  nsync_mu_init(&c->lock.nsync);
}

static void nsync_run(bcs_contest *c) {
  nsync_mu_lock(&c->lock.nsync);
  bcs_section(&c->shared);
  nsync_mu_unlock(&c->lock.nsync);
}
#else
#define nsync_init NULL
#define nsync_run NULL
#endif

/* ---- a spinlock, as people write it: test, test-and-set, pause; it never sleeps or yields ---- */

static void spin_init(bcs_contest *c) {
  volt_store_relaxed(&c->lock.spin, 0); /* before the threads start */
}

static void spin_run(bcs_contest *c) {
  uint32_t unlocked = 0;
  while (!volt_cas_weak_acquire(&c->lock.spin, &unlocked, 1)) {
    while (volt_load_relaxed(&c->lock.spin) != 0) volt_cpu_relax_(); /* a hint: the CAS decides */
    unlocked = 0;
  }
  bcs_section(&c->shared);
  volt_store_release(&c->lock.spin, 0);
}

/* ---- no lock: each thread writes into memory of its own. How even the scheduler is by itself, and
 * what the work alone allows ---- */

static void no_lock_run(bcs_contest *c) {
  static _Thread_local VOLT_CACHE_ALIGNED bcs_shared own;
  own.steps = c->shared.steps;
  bcs_section(&own);
}

/* ---- alone: each inline, or through the PLT, as its users get it ---- */

static void add(void *arg) {
  *(uint64_t *)arg += 1;
}

#define ALONE(name, operations)                              \
  static void name##_alone(bcs_contest *c, uint64_t count) { \
    for (uint64_t i = 0; i < count; i++) {                   \
      operations;                                            \
    }                                                        \
  }
ALONE(pthread, pthread_mutex_lock(&c->lock.pthread); add(&c->shared.count);
      pthread_mutex_unlock(&c->lock.pthread))
ALONE(mutex, volt_mutex_lock(&c->lock.mutex); add(&c->shared.count);
      volt_mutex_unlock(&c->lock.mutex))
ALONE(bcs, volt_bcs_node node; volt_bcs_lock_run(&c->lock.bcs, &node, add, &c->shared.count))

/* ---- the list ---- */

const bcs_candidate bcs_candidates[] = {
    {"waitfree", waitfree_init, bcs_lock_run, bcs_lock_destroy, bcs_alone, true},
    {"lockfree", lockfree_init, bcs_lock_run, bcs_lock_destroy, bcs_alone, true},
    {"actor", actor_init, actor_run, actor_destroy, NULL, true},
    {"mutex", mutex_init, mutex_run, mutex_destroy, mutex_alone, true},
    {"pthread", pthread_init, pthread_run, pthread_destroy, pthread_alone, true},
    {"adaptive", adaptive_init, pthread_run, pthread_destroy, pthread_alone, true},
    {"nsync", nsync_init, nsync_run, nothing_to_do, NULL, true},
    {"spin", spin_init, spin_run, nothing_to_do, NULL, true},
    {"none", nothing_to_do, no_lock_run, nothing_to_do, NULL, false},
    {NULL, NULL, NULL, NULL, NULL, false},
};
