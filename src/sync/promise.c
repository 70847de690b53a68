/* promise.c: the monitor (monitor.h) on the state of an operation that is not volt's.
 *
 * Algorithm: the lock is held for each step, so each step is sequential code. The user's functions
 * are called between steps, without the lock. A future queues before start() is called, so the
 * result may come at any time. A grant says only that there is a result: it stays in the promise
 * until a poll takes it.
 *
 *   state      complete()                            a future gives up, and cancel() returns false
 *   IDLE       -> COMPLETE; completes a future that  -> GIVEN_UP if there is discard() (and no
 *              waits. Aborts if there is start()        start(): the operation began by itself)
 *   STARTED    -> COMPLETE; completes the future     -> GIVEN_UP if there is discard()
 *   GIVEN_UP   -> IDLE, and calls discard()          -
 *   COMPLETE   aborts                                -> IDLE, and calls discard(), if there is one
 *
 * If cancel() returns true, the state becomes IDLE, and discard() is called, if there is one.
 *
 * Races
 *   R1  Interleaving: the result comes while its future gives up; it is lost, or discarded twice.
 *       Prevented by: complete() and the future each take one step under the lock. The later of the
 *       two finds the state that the earlier one has set, COMPLETE or GIVEN_UP.
 *   R2  Interleaving: the future is ready, and its owner frees *p while complete() is still at
 *       work. Prevented by: the last access to *p comes before a waiter is completed
 *       (volt_monitor_exit_()), and before discard() is called.
 *   R3  Interleaving: a poll of a select takes the result; then it turns out that another branch
 *       has won. Prevented by: the result is discarded, or the promise is COMPLETE again. No other
 *       operation can have begun meanwhile. */
#include <volt/promise.h>

#include "../core/future/future_ops.h"
#include "../core/os/check.h"
#include "../core/wait/monitor.h"

enum { IDLE = 0, STARTED = 1, GIVEN_UP = 2, COMPLETE = 3 };

static const volt_promise_ops *promise_ops_of(const volt_promise *p) {
  static const volt_promise_ops none = {.start = NULL, .cancel = NULL, .discard = NULL};
  return p->ops ? p->ops : &none;
}

void volt_promise_init(volt_promise *p, const volt_promise_ops *ops) {
  volt_fifo_init_(&p->queue, 0);
  p->ops = ops;
  p->state = IDLE;
  p->result = VOLT_OK;
}

void volt_promise_destroy(volt_promise *p) {
  volt_unname_at_end_(p);
  VOLT_CHECK(p->state == IDLE || p->state == COMPLETE, volt_kind_api_(VOLT_KIND_PROMISE_),
             "%p: destroyed while its operation is under way", (void *)p);
  volt_monitor_destroy_(&p->queue, VOLT_KIND_PROMISE_);
}

void volt_promise_complete(volt_promise *p, int result) {
  VOLT_CHECK(result != VOLT_PENDING, volt_kind_api_(VOLT_KIND_PROMISE_),
             "%p: VOLT_PENDING is not a result", (void *)p);
  volt_monitor_ m;
  volt_monitor_enter_(&m, &p->queue, VOLT_KIND_PROMISE_);
  uint32_t state = p->state;
  const volt_promise_ops *ops = promise_ops_of(p);
  VOLT_CHECK(state != COMPLETE && (state != IDLE || !ops->start),
             volt_kind_api_(VOLT_KIND_PROMISE_), "%p: %s", (void *)p,
             state == COMPLETE ? "completed twice" : "completed, and was not begun");
  bool is_wanted = state != GIVEN_UP; /* R1 */
  p->state = is_wanted ? COMPLETE : IDLE;
  p->result = result;
  if (is_wanted) volt_monitor_release_all_(&m);
  volt_monitor_exit_(&m); /* R2 */
  if (!is_wanted) ops->discard(p, result);
}

/* ---- the future ---- */

static volt_promise *promise_of(volt_future *f) {
  return volt_container_of(f->object, volt_promise, queue);
}

static int promise_take(volt_promise *p) {
  volt_monitor_ m;
  volt_monitor_lock_(&m, &p->queue, VOLT_KIND_PROMISE_);
  VOLT_ASSERT(p->state == COMPLETE);
  int result = p->result;
  p->state = IDLE;
  volt_monitor_unlock_(&m);
  return result;
}

/* Queue *w, unless there is a result to take. Returns the state that was found: COMPLETE, or else
 * *w is queued. */
static uint32_t promise_enter(volt_promise *p, volt_waiter *w, volt_waker waker) {
  volt_monitor_ m;
  volt_monitor_lock_(&m, &p->queue, VOLT_KIND_PROMISE_);
  uint32_t found = p->state;
  VOLT_CHECK(found != GIVEN_UP && !volt_monitor_oldest_(&m), volt_kind_api_(VOLT_KIND_PROMISE_),
             "%p: %s", (void *)p,
             found == GIVEN_UP ? "an operation that was given up is still under way"
                               : "two futures wait at once");
  if (found == IDLE && promise_ops_of(p)->start) p->state = STARTED;
  if (found != COMPLETE) (void)volt_monitor_append_(&m, w, waker);
  volt_monitor_unlock_(&m);
  return found;
}

/* start() has returned a result, so complete() will not be called: unlink *w. */
static void promise_undo_begin(volt_promise *p, volt_waiter *w) {
  bool cancelled = volt_monitor_cancel_(&p->queue, VOLT_KIND_PROMISE_, w);
  VOLT_CHECK(cancelled, volt_kind_api_(VOLT_KIND_PROMISE_),
             "%p: completed although start() has returned a result", (void *)p);
  volt_monitor_ m;
  volt_monitor_lock_(&m, &p->queue, VOLT_KIND_PROMISE_);
  p->state = IDLE;
  volt_monitor_unlock_(&m);
}

static int promise_start(volt_future *f, volt_waker waker) {
  volt_promise *p = promise_of(f);
  const volt_promise_ops *ops = promise_ops_of(p);
  uint32_t found = promise_enter(p, &f->waiter, waker);
  if (found == COMPLETE) return promise_take(p);
  if (found == STARTED || !ops->start) return VOLT_PENDING;
  int result = ops->start(p);
  if (result != VOLT_PENDING) promise_undo_begin(p, &f->waiter);
  return result;
}

/* No future waits any more, and cancel() has stopped the operation. */
static void promise_stopped(volt_promise *p) {
  const volt_promise_ops *ops = promise_ops_of(p);
  volt_monitor_ m;
  volt_monitor_lock_(&m, &p->queue, VOLT_KIND_PROMISE_);
  VOLT_CHECK(p->state != COMPLETE, volt_kind_api_(VOLT_KIND_PROMISE_),
             "%p: completed, and cancel() said it was stopped", (void *)p);
  p->state = IDLE;
  volt_monitor_unlock_(&m);
  if (ops->discard) ops->discard(p, VOLT_ECANCELED);
}

/* No future waits any more, and the operation goes on or has completed. R1 */
static void promise_give_up(volt_promise *p) {
  const volt_promise_ops *ops = promise_ops_of(p);
  volt_monitor_ m;
  volt_monitor_lock_(&m, &p->queue, VOLT_KIND_PROMISE_);
  bool is_complete = p->state == COMPLETE;
  int result = p->result;
  if (ops->discard) p->state = is_complete ? IDLE : GIVEN_UP;
  volt_monitor_unlock_(&m); /* R2: from here on another thread may discard and free it */
  if (is_complete && ops->discard) ops->discard(p, result);
}

static bool promise_cancel(volt_future *f) {
  volt_promise *p = promise_of(f);
  const volt_promise_ops *ops = promise_ops_of(p);
  if (!volt_monitor_future_cancel_(f)) return false;
  if (ops->cancel && ops->cancel(p)) {
    promise_stopped(p);
  } else {
    promise_give_up(p);
  }
  return true;
}

static int promise_outcome(volt_future *f) {
  return promise_take(promise_of(f));
}

static void promise_give_back(volt_future *f) {
  volt_promise *p = promise_of(f);
  if (volt_future_state_(f) == VOLT_FUTURE_READY_) { /* R3 */
    volt_monitor_ m;
    volt_monitor_lock_(&m, &p->queue, VOLT_KIND_PROMISE_);
    p->result = volt_future_result_(f);
    p->state = COMPLETE;
    volt_monitor_unlock_(&m);
  }
  promise_give_up(p);
}

static const volt_future_ops_ promise_future_ops = {.operation = "volt_promise",
                                                    .kind = VOLT_KIND_PROMISE_,
                                                    .start = promise_start,
                                                    .cancel = promise_cancel,
                                                    .set_waker = volt_monitor_future_set_waker_,
                                                    .give_back = promise_give_back,
                                                    .outcome = promise_outcome,
                                                    .poll_ctx = volt_future_poll_leaf_any_,
                                                    .describe = volt_monitor_future_describe_};

volt_future *volt_promise_future(volt_future *f, volt_promise *p) {
  return volt_future_make_(f, &promise_future_ops, &p->queue, 0);
}
