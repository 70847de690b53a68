/* group.c: tasks that end together.
 *
 * Invariants, under the lock
 *   I1  count: tasks that were spawned into the group and whose memory is not settled yet
 *   I2  a task that has not ended is in running, or in cancelled if it was asked to end
 *   I3  result: of the first that failed; from then on the group is cancelled
 *
 * Race R1: the last task ends, and whoever waits for the group destroys it. Closed: the waiter is
 *   claimed under the lock and told after it, the last access.
 * Race R2: a task is spawned while the group is being cancelled. Closed: both under the lock, so it
 *   is refused, or found in running. */
#include <volt/task.h>

#include "../check.h"
#include "../futex.h"
#include "../future.h"
#include "../waiter.h"
#include "runtime.h"

static const char name[] = "volt_group";

void volt_group_init(volt_group *g) {
  volt_short_lock_init_(&g->lock);
  g->count = 0;
  g->result = VOLT_OK;
  g->is_cancelled = 0;
  g->waiter = NULL;
  volt_task_list_init_(&g->running);
  volt_task_list_init_(&g->cancelled);
}

uint64_t volt_group_count(volt_group *g) {
  volt_short_lock_take_(&g->lock);
  uint64_t count = g->count;
  volt_short_lock_leave_(&g->lock);
  return count;
}

int volt_group_result(volt_group *g) {
  volt_short_lock_take_(&g->lock);
  int result = g->result;
  volt_short_lock_leave_(&g->lock);
  return result;
}

bool volt_group_is_cancelled(volt_group *g) {
  volt_short_lock_take_(&g->lock);
  bool is_cancelled = g->is_cancelled != 0;
  volt_short_lock_leave_(&g->lock);
  return is_cancelled;
}

void volt_group_destroy(volt_group *g) {
  uint64_t count = volt_group_count(g);
  VOLT_CHECK(count == 0, "volt_group_destroy", "%p: %llu tasks of it have not ended", (void *)g,
             (unsigned long long)count);
}

/* ---- tasks come and go ---- */

static int enter(volt_group *g, volt_rt *rt, volt_task *t) {
  volt_short_lock_take_(&g->lock);
  int result = g->is_cancelled ? (int)VOLT_ECANCELED : volt_live_add_(rt, t); /* R2 */
  if (result == VOLT_OK) {
    volt_task_list_append_(&g->running, &t->sibling);
    g->count += 1;
  }
  volt_short_lock_leave_(&g->lock);
  return result;
}

/* The lock is left with it: R1. */
static void tell_if_empty(volt_group *g) {
  volt_claimed_ claimed = {NULL, {NULL, NULL}, 0};
  g->count -= 1;
  if (g->count == 0 && g->waiter) {
    claimed = volt_waiter_claim_(g->waiter);
    g->waiter = NULL;
  }
  volt_short_lock_leave_(&g->lock);
  if (claimed.waiter) volt_waiters_grant_(&claimed, 1, VOLT_WAITER_GRANTED_);
}

int volt_group_spawn(volt_group *g, volt_rt *rt, volt_task *t) {
  if (!t) return VOLT_ENOMEM;
  volt_task_begin_(t, rt, g);
  int result = enter(g, rt, t);
  if (result == VOLT_OK) {
    volt_task_start_(t);
  } else {
    volt_task_not_begun_(t);
  }
  return result;
}

void volt_group_cancel(volt_group *g) {
  volt_short_lock_take_(&g->lock);
  g->is_cancelled = 1;
  volt_short_lock_leave_(&g->lock);
  volt_task_list_cancel_(&g->lock, &g->running, &g->cancelled, offsetof(volt_task, sibling));
}

/* The group lives until volt_group_left_(): count. */
void volt_group_leave_(volt_group *g, volt_task *t) {
  volt_short_lock_take_(&g->lock);
  volt_task_list_remove_(&t->sibling);
  int result = t->result;
  bool is_first = result < 0 && !g->is_cancelled;
  if (result < 0 && g->result == VOLT_OK) g->result = result; /* I3 */
  volt_short_lock_leave_(&g->lock);
  if (is_first) volt_group_cancel(g);
}

void volt_group_left_(volt_group *g) {
  volt_short_lock_take_(&g->lock);
  tell_if_empty(g);
}

/* ---- wait ---- */

static volt_group *group_of(volt_future *f) {
  return (volt_group *)f->object;
}

static int outcome(volt_future *f) {
  return group_of(f)->result; /* nobody is left who could write it */
}

static int start(volt_future *f, volt_waker waker) {
  volt_group *g = group_of(f);
  volt_waiter_arm_(&f->waiter, g, waker);
  volt_short_lock_take_(&g->lock);
  VOLT_CHECK(!g->waiter, name, "%p is being waited for already", (void *)g);
  int result = g->count > 0 ? (int)VOLT_PENDING : (int)g->result;
  if (g->count > 0) g->waiter = &f->waiter;
  volt_short_lock_leave_(&g->lock);
  if (result != VOLT_PENDING) {
    volt_store_relaxed(&f->waiter.state, VOLT_WAITER_UNUSED_); /* the owner's own again */
  }
  return result;
}

/* Under the lock: whether nobody has claimed the waiter. */
static bool is_waiting(volt_future *f) {
  return group_of(f)->waiter == &f->waiter;
}

static bool cancel(volt_future *f) {
  volt_group *g = group_of(f);
  if (volt_waiter_result(&f->waiter) != VOLT_PENDING) return false;
  volt_short_lock_take_(&g->lock);
  bool waiting = is_waiting(f);
  if (waiting) g->waiter = NULL;
  volt_short_lock_leave_(&g->lock);
  if (waiting) {
    volt_store_relaxed(&f->waiter.state, VOLT_WAITER_UNUSED_); /* the owner's own again */
  } else {
    volt_waiter_await_(&f->waiter);
  }
  return waiting;
}

static bool set_waker(volt_future *f, volt_waker waker) {
  volt_group *g = group_of(f);
  if (volt_waiter_result(&f->waiter) != VOLT_PENDING) return false;
  volt_short_lock_take_(&g->lock);
  bool waiting = is_waiting(f);
  if (waiting) {
    f->waiter.wake = waker.wake;
    f->waiter.ctx = waker.ctx;
  }
  volt_short_lock_leave_(&g->lock);
  if (!waiting) volt_waiter_await_(&f->waiter);
  return waiting;
}

static void give_back(volt_future *f) {
  (void)f; /* to know that all have ended is nothing that could be lost */
}

/* Its function is dropped: the tasks must end before that returns. */
static void end_now(volt_future *f) {
  volt_group *g = group_of(f);
  volt_future_cancel(f);
  VOLT_CHECK(volt_group_count(g) == 0 || !*volt_thread_may_not_block_(), name,
             "%p: dropped on a worker with tasks that have not ended: await the end", (void *)g);
  volt_group_wait_blocking(g, VOLT_NO_DEADLINE);
}

static int poll(volt_future *f, volt_ctx *ctx) {
  volt_group *g = group_of(f);
  if (ctx->cancel != VOLT_CTX_GO_ON) volt_group_cancel(g);
  if (ctx->cancel == VOLT_CTX_CANCEL_ALL) {
    end_now(f);
    return VOLT_ECANCELED;
  }
  int result = volt_future_poll_leaf_(f, ctx);
  if (result == VOLT_PENDING || ctx->cancel == VOLT_CTX_GO_ON) return result;
  volt_ctx_obeyed_(ctx);
  return VOLT_ECANCELED;
}

static const volt_future_ops_ ops = {.start = start,
                                     .cancel = cancel,
                                     .set_waker = set_waker,
                                     .give_back = give_back,
                                     .outcome = outcome,
                                     .poll = poll,
                                     .ends_itself = true};

volt_future *volt_group_wait_future(volt_future *f, volt_group *g) {
  return volt_future_make_(f, &ops, g, 0);
}

int volt_group_wait_blocking(volt_group *g, uint64_t deadline_ns) {
  volt_future f;
  return volt_block_on(volt_group_wait_future(&f, g), deadline_ns);
}
