/* allocating.c: locked.c with a node from the heap in the place of the waiter.
 *
 * Algorithm: that of locked.c. What is linked is a node. It is allocated before the lock is taken,
 * and freed after it is released: by the releaser that grants, or by the owner that cancels. The
 * caller's waiter is never linked; it holds the outcome only.
 *
 * Source: "The Problem", in "Zero-Allocation Waiters" (docs/errata.md): create(WaiterNode), push,
 * suspend, destroy.
 *
 * Invariants, besides those of serve.c, which hold for nodes:
 *   I6  w->data is the node of a pending waiter w, node->data is w; neither changes while it waits
 *   I7  w->need > 0 exactly while its node is in the FIFO
 *
 * Race R1: Interleaving: a releaser frees the node; its owner cancels and reads it. Prevented by:
 *   allocating_claim() clears w->need under the lock; only an owner that finds it set, under the
 *   lock, goes on to the node.
 *
 * Costs: those of locked.c, and an allocation and a free for every wait. */
#include "allocating.h"

#include "serve.h"

#if !defined(VOLT_MODEL)
#include <stdlib.h>
#endif

/* An unused waiter, or NULL. From libc; in the models, an object that the checker follows. */
static volt_waiter *allocating_alloc(void) {
#if defined(VOLT_MODEL)
  return new volt_waiter();
#else
  return (volt_waiter *)calloc(1, sizeof(volt_waiter)); /* all zero: unused */
#endif
}

static void allocating_free(volt_waiter *node) {
#if defined(VOLT_MODEL)
  delete node;
#else
  free(node);
#endif
}

static volt_waiter *allocating_claim(volt_waiter *node) {
  volt_waiter *w = (volt_waiter *)(void *)node->data;
  w->need = 0; /* I7 */
  return w;
}

static int allocating_acquire(const volt_variant_ *v, volt_line_ *line, volt_waiter *w, uint32_t n,
                              volt_waker waker) {
  if (n > VOLT_SEM_MAX) return VOLT_EINVAL;
  if (n == 0) return VOLT_OK;
  volt_waiter *node = allocating_alloc();
  if (!node) return VOLT_ENOMEM;
  volt_waiter_prepare_(v->name, line, w, n, waker);
  w->data = node;
  node->data = w;
  int result = volt_line_acquire_(v, line, node, n, waker);
  if (result == VOLT_PENDING) return VOLT_PENDING; /* *w may be claimed */
  allocating_free(node);
  volt_store_relaxed(&w->state, VOLT_WAITER_UNUSED_); /* never linked: its owner's alone */
  return result;
}

static bool allocating_cancel(const volt_variant_ *v, volt_line_ *line, volt_waiter *w) {
  bool cancelled;
  if (volt_line_cancel_done_(v, line, w, &cancelled)) return cancelled;
  volt_waiter *node = (volt_waiter *)(void *)w->data;
  if (!volt_line_cancel_node_(v, line, w, node)) return false; /* R1: its releaser frees the node */
  allocating_free(node);
  return true;
}

static const volt_variant_ allocating_variant = {
    .name = "volt_allocating_sem",
    .take = volt_variant_pool_take_,
    .settle = volt_variant_pool_settle_,
    .is_closed = volt_variant_pool_is_closed_,
    .close = volt_variant_pool_close_,
    .acquire = allocating_acquire,
    .cancel = allocating_cancel,
    .claim = allocating_claim,
    .spent = allocating_free,
};

void volt_allocating_sem_init(volt_allocating_sem *sem, uint32_t permits) {
  volt_variant_pool_init_(&allocating_variant, &sem->pool, permits);
}

void volt_allocating_sem_destroy(volt_allocating_sem *sem) {
  volt_line_destroy_(&allocating_variant, &sem->pool.line);
}

int volt_allocating_sem_acquire_waiter_slow_(volt_allocating_sem *sem, volt_waiter *w, uint32_t n,
                                             volt_waker waker) {
  return allocating_acquire(&allocating_variant, &sem->pool.line, w, n, waker);
}

int volt_allocating_sem_acquire_until_slow_(volt_allocating_sem *sem, uint32_t n,
                                            uint64_t deadline_ns) {
  return volt_line_acquire_until_(&allocating_variant, &sem->pool.line, n, deadline_ns);
}

bool volt_allocating_sem_cancel(volt_allocating_sem *sem, volt_waiter *w) {
  return allocating_cancel(&allocating_variant, &sem->pool.line, w);
}

bool volt_allocating_sem_set_waker(volt_allocating_sem *sem, volt_waiter *w, volt_waker waker) {
  volt_waiter *node = (volt_waiter *)(void *)w->data;
  return volt_line_set_node_waker_(&allocating_variant, &sem->pool.line, w, node, waker);
}

void volt_allocating_sem_release(volt_allocating_sem *sem, uint32_t n) {
  if (n > 0) volt_line_release_(&allocating_variant, &sem->pool.line, NULL, n);
}

void volt_allocating_sem_close(volt_allocating_sem *sem) {
  volt_line_close_(&allocating_variant, &sem->pool.line);
}

bool volt_allocating_sem_is_closed(volt_allocating_sem *sem) {
  return volt_variant_pool_is_closed_(&sem->pool.line);
}

uint32_t volt_allocating_sem_available(volt_allocating_sem *sem) {
  return volt_variant_pool_available_(&sem->pool);
}

uint32_t volt_allocating_sem_waiters(volt_allocating_sem *sem) {
  return volt_line_waiters_(&allocating_variant, &sem->pool.line);
}
