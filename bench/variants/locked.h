/* locked.h: the semaphore of the earlier edition of "Counting Semaphore Algorithm"
 * (docs/errata.md): a pool of permits, and a lock that every release takes.
 *
 * Function by function the contract of volt/semaphore.h. What differs: it is not part of the
 * library, so it has no symbol there; it has no futures. The thread that acquires the last permit
 * may destroy the semaphore at once. But only volt_locked_sem_destroy() makes its memory free: a
 * release may still be about to unlock, and destroy waits for that. */
#ifndef VOLT_VARIANTS_LOCKED_H
#define VOLT_VARIANTS_LOCKED_H

#include "state.h"

/* Members are private. */
typedef struct volt_locked_sem {
  volt_variant_pool_ pool;
} volt_locked_sem;

/* permits: 0..VOLT_SEM_MAX, not checked. */
#define VOLT_LOCKED_SEM_INIT(permits) \
  { VOLT_VARIANT_POOL_INIT_(permits) }

VOLT_BEGIN_DECLS

void volt_locked_sem_init(volt_locked_sem *sem, uint32_t permits);
void volt_locked_sem_destroy(volt_locked_sem *sem);

int volt_locked_sem_acquire_waiter_slow_(volt_locked_sem *, volt_waiter *, uint32_t n, volt_waker);
int volt_locked_sem_acquire_until_slow_(volt_locked_sem *, uint32_t n, uint64_t deadline_ns);

static inline int volt_locked_sem_try_acquire(volt_locked_sem *sem, uint32_t n) {
  return volt_variant_pool_try_acquire_(&sem->pool, n);
}

static inline int volt_locked_sem_acquire_waiter(volt_locked_sem *sem, volt_waiter *w, uint32_t n,
                                                 volt_waker waker) {
  if (VOLT_LIKELY(volt_locked_sem_try_acquire(sem, n) == VOLT_OK)) return VOLT_OK;
  return volt_locked_sem_acquire_waiter_slow_(sem, w, n, waker);
}

static inline int volt_locked_sem_acquire_until(volt_locked_sem *sem, uint32_t n,
                                                uint64_t deadline_ns) {
  if (VOLT_LIKELY(volt_locked_sem_try_acquire(sem, n) == VOLT_OK)) return VOLT_OK;
  return volt_locked_sem_acquire_until_slow_(sem, n, deadline_ns);
}

bool volt_locked_sem_cancel(volt_locked_sem *sem, volt_waiter *w);
bool volt_locked_sem_set_waker(volt_locked_sem *sem, volt_waiter *w, volt_waker waker);
void volt_locked_sem_release(volt_locked_sem *sem, uint32_t n);
void volt_locked_sem_close(volt_locked_sem *sem);
bool volt_locked_sem_is_closed(volt_locked_sem *sem);
uint32_t volt_locked_sem_available(volt_locked_sem *sem);
uint32_t volt_locked_sem_waiters(volt_locked_sem *sem);

VOLT_END_DECLS
#endif
