/* future.c: one pollable operation for every primitive.
 *
 * A future is sequential: one owner at a time. All that is concurrent happens in its waiter, under
 * the rules of wait_queue.c.
 *
 *   state    poll                                          cancel
 *   INIT     start: -> WAITING or READY                    -> READY (cancelled)
 *   WAITING  completed: -> READY; else a new waker         unlinked, or given back: -> READY
 *   READY    the same result again                         nothing
 */
#include "future.h"

#include "check.h"
#include "park.h"

enum { INIT = 0, WAITING = 1, READY = 2 };

volt_future *volt_future_make_(volt_future *f, const volt_future_ops_ *ops, void *object,
                               uint32_t n) {
  f->ops = ops;
  f->object = object;
  f->n = n;
  f->state = INIT;
  f->result = VOLT_PENDING;
  f->id = 0;
  f->waiter.id = 0;
  volt_store_relaxed(&f->waiter.state, VOLT_WAITER_UNUSED_); /* not shared: INIT */
  return f;
}

static int ready(volt_future *f, int result) {
  f->state = READY;
  f->result = result;
  return result;
}

static void check_waiter(const volt_future *f) {
  uint32_t id = f->waiter.id;
  VOLT_CHECK(f->id == id, "volt_future",
             "%p: its waiter was used behind its back: it is invocation %u, was %u",
             (const void *)f, id, f->id);
}

int volt_future_poll(volt_future *f, volt_waker waker) {
  VOLT_CHECK(f->ops && f->state <= READY, "volt_future_poll", "%p was never given an operation",
             (void *)f);
  if (f->state == READY) return f->result;
  if (f->state == INIT) {
    int result = f->ops->start(f, waker);
    if (result != VOLT_PENDING) return ready(f, result);
    f->state = WAITING;
    f->id = f->waiter.id;
    return VOLT_PENDING;
  }
  check_waiter(f);
  int result = volt_waiter_result(&f->waiter);
  if (result == VOLT_PENDING) {
    bool same = f->waiter.wake == waker.wake && f->waiter.ctx == waker.ctx;
    if (same || f->ops->set_waker(f, waker)) return VOLT_PENDING;
    result = volt_waiter_result(&f->waiter); /* it was granted first */
  }
  return ready(f, result);
}

/* End a WAITING future. Returns true: nothing was granted. Returns false: it has completed. */
static bool withdraw(volt_future *f) {
  check_waiter(f);
  return f->ops->cancel(f);
}

void volt_future_cancel(volt_future *f) {
  if (f->state == READY) return;
  if (f->state == WAITING && !withdraw(f) && volt_waiter_result(&f->waiter) == VOLT_OK) {
    f->ops->give_back(f);
  }
  ready(f, VOLT_ECANCELED);
}

int volt_block_on(volt_future *f, uint64_t deadline_ns) {
  volt_parker parker = {0};
  int result = volt_future_poll(f, volt_parker_waker(&parker));
  if (result != VOLT_PENDING) return result;
  if (volt_park_until(&parker, 1, deadline_ns) == VOLT_ETIMEDOUT) {
    if (withdraw(f)) return ready(f, VOLT_ETIMEDOUT);
    volt_park_until(&parker, 1, VOLT_NO_DEADLINE); /* its wake is on the way to our parker */
  }
  return ready(f, volt_waiter_result(&f->waiter));
}

int volt_permit_future_start_(volt_future *f, volt_waker waker) {
  return volt_wait_queue_acquire_((volt_wait_queue *)f->object, f->ops->kind, &f->waiter, f->n,
                                  waker);
}

bool volt_permit_future_cancel_(volt_future *f) {
  return volt_wait_queue_cancel_((volt_wait_queue *)f->object, f->ops->kind, &f->waiter);
}

bool volt_permit_future_set_waker_(volt_future *f, volt_waker waker) {
  return volt_wait_queue_set_waker_((volt_wait_queue *)f->object, f->ops->kind, &f->waiter, waker);
}

void volt_permit_future_give_back_(volt_future *f) {
  volt_wait_queue_release_((volt_wait_queue *)f->object, f->ops->kind, f->n);
}
