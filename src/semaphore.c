/* semaphore.c: the wait queue with the permits as its value. */
#include <volt/semaphore.h>

#include "check.h"
#include "future.h"
#include "wait_queue.h"

static const volt_kind_ kind = {"volt_sem", "release past VOLT_SEM_MAX", 0, VOLT_SEM_MAX,
                                0,          volt_serve_permits_};
static const volt_future_ops_ future_ops = VOLT_PERMIT_FUTURE_OPS_(&kind);

extern inline bool volt_sem_try_acquire(volt_sem *, uint32_t);
extern inline int volt_sem_acquire(volt_sem *, volt_waiter *, uint32_t, volt_waker);
extern inline int volt_sem_acquire_blocking(volt_sem *, uint32_t, uint64_t);
extern inline void volt_sem_release(volt_sem *, uint32_t);

void volt_sem_init(volt_sem *sem, uint32_t permits) {
  VOLT_CHECK(permits <= VOLT_SEM_MAX, "volt_sem_init", "%p: %u permits, at most %u", (void *)sem,
             permits, VOLT_SEM_MAX);
  volt_wait_queue_init_(&sem->queue, permits);
}

int volt_sem_acquire_slow_(volt_sem *sem, volt_waiter *w, uint32_t n, volt_waker waker) {
  return volt_wait_queue_acquire_(&sem->queue, &kind, w, n, waker);
}

int volt_sem_acquire_blocking_slow_(volt_sem *sem, uint32_t n, uint64_t deadline_ns) {
  return volt_wait_queue_acquire_blocking_(&sem->queue, &kind, n, deadline_ns);
}

volt_future *volt_sem_acquire_future(volt_future *f, volt_sem *sem, uint32_t n) {
  return volt_future_make_(f, &future_ops, &sem->queue, n);
}

bool volt_sem_cancel(volt_sem *sem, volt_waiter *w) {
  return volt_wait_queue_cancel_(&sem->queue, &kind, w);
}

bool volt_sem_set_waker(volt_sem *sem, volt_waiter *w, volt_waker waker) {
  return volt_wait_queue_set_waker_(&sem->queue, &kind, w, waker);
}

void volt_sem_release_slow_(volt_sem *sem, uint32_t n) {
  volt_wait_queue_release_(&sem->queue, &kind, n);
}

void volt_sem_close(volt_sem *sem) {
  volt_wait_queue_close_(&sem->queue, &kind);
}

void volt_sem_destroy(volt_sem *sem) {
  volt_wait_queue_destroy_(&sem->queue, &kind);
}

uint32_t volt_sem_available(volt_sem *sem) {
  return volt_wait_queue_available_(&sem->queue, &kind);
}

uint32_t volt_sem_waiters(volt_sem *sem) {
  return volt_wait_queue_waiters_(&sem->queue, &kind);
}

bool volt_sem_is_closed(volt_sem *sem) {
  return (volt_load_acquire(&sem->queue.word) & VOLT_WORD_CLOSED_) != 0; /* C1: pairs U1, F1 */
}
