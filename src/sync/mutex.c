/* mutex.c: permits.h with one permit. The word is zero while that permit is free. */
#include <volt/mutex.h>

#include "../core/check.h"
#include "../core/permits.h"
#include "mutex_move.h"

static const volt_permit_kind_ mutex_kind = {.name = "volt_mutex",
                                             .excess = "unlocked, but it is not locked",
                                             .full = 1,
                                             .max = 1,
                                             .shared = 0,
                                             .serve = volt_permits_serve_,
                                             .bound = NULL};

static VOLT_INLINED_ int mutex_start_short(volt_future *f, const volt_waker *waker) {
  return volt_permit_future_start_short_(f, &mutex_kind, waker);
}

static int mutex_poll_ctx(volt_future *f, volt_ctx *ctx);
static const volt_permit_future_ops_ mutex_future_ops =
    VOLT_PERMIT_FUTURE_OPS_(&mutex_kind, mutex_poll_ctx);

static int mutex_poll_ctx(volt_future *f, volt_ctx *ctx) {
  return volt_leaf_poll_ctx_(f, ctx, &mutex_future_ops.base, mutex_start_short);
}

extern inline int volt_mutex_try_lock(volt_mutex *);
extern inline int volt_mutex_lock(volt_mutex *, volt_waiter *, volt_waker);
extern inline int volt_mutex_lock_blocking(volt_mutex *, uint64_t);
extern inline void volt_mutex_lock_no_deadline(volt_mutex *);
extern inline void volt_mutex_unlock(volt_mutex *);

void volt_mutex_init(volt_mutex *m) {
  volt_fifo_init_(&m->queue, 0);
}

int volt_mutex_lock_slow_(volt_mutex *m, volt_waiter *w, volt_waker waker) {
  return volt_permits_acquire_(&m->queue, &mutex_kind, w, 1, waker);
}

int volt_mutex_lock_blocking_slow_(volt_mutex *m, uint64_t deadline_ns) {
  return volt_permits_acquire_blocking_(&m->queue, &mutex_kind, 1, deadline_ns);
}

volt_future *volt_mutex_lock_future(volt_future *f, volt_mutex *m) {
  return volt_future_make_(f, &mutex_future_ops.base, &m->queue, 1);
}

void volt_mutex_move_(volt_mutex *m, volt_fifo_ *from, uint64_t from_word, volt_waiter *last,
                      uint32_t count) {
  volt_permits_move_(&m->queue, &mutex_kind, from, from_word, last, count);
}

bool volt_mutex_cancel(volt_mutex *m, volt_waiter *w) {
  return volt_permits_cancel_(&m->queue, &mutex_kind, w);
}

void volt_mutex_unlock_slow_(volt_mutex *m) {
  volt_permits_release_short_(&m->queue, &mutex_kind, 1);
}

void volt_mutex_destroy(volt_mutex *m) {
  volt_permits_destroy_(&m->queue, &mutex_kind);
  VOLT_CHECK(!volt_mutex_is_locked(m), "volt_mutex_destroy", "%p: destroyed while it is locked",
             (void *)m);
}

bool volt_mutex_is_locked(const volt_mutex *m) {
  return volt_permits_available_(&m->queue, &mutex_kind) == 0;
}

uint32_t volt_mutex_waiters(const volt_mutex *m) {
  return volt_fifo_count_(&m->queue);
}
