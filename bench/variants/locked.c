/* locked.c: a pool of permits, and a FIFO behind a lock that every release takes.
 *
 * Algorithm: try_acquire is a CAS on the pool. An acquire that finds too few permits takes the lock
 * first, and then drains the pool by CAS, because try_acquire goes on without the lock; it waits
 * for what is missing. A release always takes the lock: it serves the FIFO, and what is left when
 * no thread waits goes to the pool.
 *
 * Source: "Lock-Before-CAS", in the earlier edition of "Counting Semaphore Algorithm"
 * (docs/errata.md); "Zero-Allocation Waiters" prints the same code. Corrected: a cancel has an
 * outcome (docs/errata.md, E5, E6), waiters are granted after the lock is released (E8), a waker is
 * replaced under the lock (E9), a full batch is woken after the lock is released (E13). All of that
 * is in serve.c.
 *
 * Invariants and races are those of serve.c, where "free" is "in the pool"; no waiter is outside
 * the FIFO. This file adds none.
 *
 * Costs: 1 RMW to acquire, 2 to release (lock, pool); 1 if a thread waits. */
#include "locked.h"

#include "serve.h"

static const volt_variant_ locked_variant = {
    .name = "volt_locked_sem",
    .take = volt_variant_pool_take_,
    .settle = volt_variant_pool_settle_,
    .is_closed = volt_variant_pool_is_closed_,
    .close = volt_variant_pool_close_,
    .acquire = volt_line_acquire_,
    .cancel = volt_line_cancel_,
};

void volt_locked_sem_init(volt_locked_sem *sem, uint32_t permits) {
  volt_variant_pool_init_(&locked_variant, &sem->pool, permits);
}

void volt_locked_sem_destroy(volt_locked_sem *sem) {
  volt_line_destroy_(&locked_variant, &sem->pool.line);
}

int volt_locked_sem_acquire_waiter_slow_(volt_locked_sem *sem, volt_waiter *w, uint32_t n,
                                         volt_waker waker) {
  return volt_line_acquire_(&locked_variant, &sem->pool.line, w, n, waker);
}

int volt_locked_sem_acquire_until_slow_(volt_locked_sem *sem, uint32_t n, uint64_t deadline_ns) {
  return volt_line_acquire_until_(&locked_variant, &sem->pool.line, n, deadline_ns);
}

bool volt_locked_sem_cancel(volt_locked_sem *sem, volt_waiter *w) {
  return volt_line_cancel_(&locked_variant, &sem->pool.line, w);
}

bool volt_locked_sem_set_waker(volt_locked_sem *sem, volt_waiter *w, volt_waker waker) {
  return volt_line_set_waker_(&locked_variant, &sem->pool.line, w, waker);
}

void volt_locked_sem_release(volt_locked_sem *sem, uint32_t n) {
  if (n > 0) volt_line_release_(&locked_variant, &sem->pool.line, NULL, n);
}

void volt_locked_sem_close(volt_locked_sem *sem) {
  volt_line_close_(&locked_variant, &sem->pool.line);
}

bool volt_locked_sem_is_closed(volt_locked_sem *sem) {
  return volt_variant_pool_is_closed_(&sem->pool.line);
}

uint32_t volt_locked_sem_available(volt_locked_sem *sem) {
  return volt_variant_pool_available_(&sem->pool);
}

uint32_t volt_locked_sem_waiters(volt_locked_sem *sem) {
  return volt_line_waiters_(&locked_variant, &sem->pool.line);
}
