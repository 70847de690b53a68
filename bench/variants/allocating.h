/* allocating.h: locked.h with a queue node from the heap for every wait, which is what
 * "Zero-Allocation Waiters" (docs/errata.md) compares itself with: for the table "with and without
 * allocation".
 *
 * Function by function the contract of volt/semaphore.h. What differs: acquire and acquire_until
 * may return VOLT_ENOMEM (nothing taken, nothing queued); it is not part of the library, so it has
 * no symbol there; it has no futures. The thread that acquires the last permit may destroy the
 * semaphore at once. But only volt_allocating_sem_destroy() makes its memory free: a release may
 * still be about to unlock, and destroy waits for that. */
#ifndef VOLT_VARIANTS_ALLOCATING_H
#define VOLT_VARIANTS_ALLOCATING_H

#include "state.h"

/* Members are private. */
typedef struct volt_allocating_sem {
  volt_variant_pool_ pool;
} volt_allocating_sem;

/* permits: 0..VOLT_SEM_MAX, not checked. */
#define VOLT_ALLOCATING_SEM_INIT(permits) \
  { VOLT_VARIANT_POOL_INIT_(permits) }

VOLT_BEGIN_DECLS

void volt_allocating_sem_init(volt_allocating_sem *sem, uint32_t permits);
void volt_allocating_sem_destroy(volt_allocating_sem *sem);

int volt_allocating_sem_acquire_waiter_slow_(volt_allocating_sem *, volt_waiter *, uint32_t n,
                                             volt_waker);
int volt_allocating_sem_acquire_until_slow_(volt_allocating_sem *, uint32_t n,
                                            uint64_t deadline_ns);

static inline int volt_allocating_sem_try_acquire(volt_allocating_sem *sem, uint32_t n) {
  return volt_variant_pool_try_acquire_(&sem->pool, n);
}

static inline int volt_allocating_sem_acquire_waiter(volt_allocating_sem *sem, volt_waiter *w,
                                                     uint32_t n, volt_waker waker) {
  if (VOLT_LIKELY(volt_allocating_sem_try_acquire(sem, n) == VOLT_OK)) return VOLT_OK;
  return volt_allocating_sem_acquire_waiter_slow_(sem, w, n, waker);
}

static inline int volt_allocating_sem_acquire_until(volt_allocating_sem *sem, uint32_t n,
                                                    uint64_t deadline_ns) {
  if (VOLT_LIKELY(volt_allocating_sem_try_acquire(sem, n) == VOLT_OK)) return VOLT_OK;
  return volt_allocating_sem_acquire_until_slow_(sem, n, deadline_ns);
}

bool volt_allocating_sem_cancel(volt_allocating_sem *sem, volt_waiter *w);
bool volt_allocating_sem_set_waker(volt_allocating_sem *sem, volt_waiter *w, volt_waker waker);
void volt_allocating_sem_release(volt_allocating_sem *sem, uint32_t n);
void volt_allocating_sem_close(volt_allocating_sem *sem);
bool volt_allocating_sem_is_closed(volt_allocating_sem *sem);
uint32_t volt_allocating_sem_available(volt_allocating_sem *sem);
uint32_t volt_allocating_sem_waiters(volt_allocating_sem *sem);

VOLT_END_DECLS
#endif
