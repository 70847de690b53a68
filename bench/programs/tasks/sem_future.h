/* sem_future.h: the semaphore that a file is compiled for (ENGINE_<NAME>, see
 * tests/support/engine.h), and its future. With RT_NATIVE that is the library's own; else it is
 * made here of the engine's waiter, in the same way for all, so that the queues are compared and
 * nothing else. */
#ifndef VOLT_BENCH_SEM_FUTURE_H
#define VOLT_BENCH_SEM_FUTURE_H

#include "core/future/future_ops.h"
#include "engine.h"
#include "tasks.h"

#ifdef RT_NATIVE

#define engine_sem_future volt_sem_acquire_future

#else

static int sem_future_start(volt_future *f, volt_waker waker) {
  return engine_sem_acquire_waiter((engine_sem *)f->object, &f->waiter, volt_future_n_(f), waker);
}

static bool sem_future_cancel(volt_future *f) {
  return engine_sem_cancel((engine_sem *)f->object, &f->waiter);
}

static bool sem_future_set_waker(volt_future *f, volt_waker waker) {
  return engine_sem_set_waker((engine_sem *)f->object, &f->waiter, waker);
}

static void sem_future_give_back(volt_future *f) {
  engine_sem_release((engine_sem *)f->object, volt_future_n_(f));
}

static const volt_future_ops_ sem_future_ops = {.start = sem_future_start,
                                                .cancel = sem_future_cancel,
                                                .set_waker = sem_future_set_waker,
                                                .give_back = sem_future_give_back,
                                                .poll_ctx = volt_future_poll_leaf_any_};

static inline volt_future *engine_sem_future(volt_future *f, engine_sem *sem, uint32_t n) {
  return volt_future_make_(f, &sem_future_ops, sem, n);
}

#endif

#endif
