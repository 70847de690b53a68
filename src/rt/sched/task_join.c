/* task_join.c: the holder of a task's handle looks for the result, waits for it, or gives the
 * handle up. The state word, the invariants and the races are those of task.c.
 *
 * Labels: task */
#include "../../core/future/future_ops.h"
#include "../../core/inspect/describe.h"
#include "../../core/os/check.h"
#include "../../core/os/probe.h"
#include "../../core/park/spin.h"
#include "../../core/wait/grant.h"
#include "../memory/pool.h"
#include "task_state.h"

int volt_task_result(volt_task *t) {
  /* task:J1 <- task:E1: a thread that joins, detaches or frees it sees its result */
  uint64_t state = volt_load_acquire(&t->state);
  return state & ENDED ? (int)t->frame.result : VOLT_PENDING;
}

/* ---- join ---- */

static volt_task *task_join_of(volt_future *f) {
  return (volt_task *)f->object;
}

static void task_join_check(volt_task *t, uint64_t state) {
  VOLT_CHECK(state & (SPAWNED | DETACHED), "volt_task_join", "%p was not spawned", (void *)t);
  VOLT_CHECK(!(state & (JOINER | DETACHED | GROUPED)), "volt_task_join", "%p is %s", (void *)t,
             state & JOINER     ? "being joined already"
             : state & DETACHED ? "detached"
                                : "of a group");
}

static int task_join_start(volt_future *f, volt_waker waker) {
  volt_task *t = task_join_of(f);
  /* task:J1 <- task:E1: a thread that joins, detaches or frees it sees its result */
  uint64_t state = volt_load_acquire(&t->state);
  task_join_check(t, state & ENDED ? state & ~JOINER : state);
  if (!(state & ENDED)) {
    volt_waiter_arm_(&f->waiter, t, waker);
    t->joiner = &f->waiter;
    VOLT_PROBE_ARMED(wait__begin, &f->waiter);
  }
  while (!(state & ENDED)) { /* R7 */
    /* task:J2 <-> task:E1: the thread that ends it finds the joiner */
    if (!volt_cas_acq_rel(&t->state, &state, state | JOINER)) continue;
    volt_count_from_outside_(VOLT_KIND_TASK_, VOLT_COUNTER_WAITS_, 1);
    return VOLT_PENDING;
  }
  volt_store_relaxed(&f->waiter.state, VOLT_WAITER_UNUSED_); /* the owner's own again */
  return volt_task_result(t);
}

/* Returns false: the task has ended, and another thread completes the waiter. */
static bool task_join_withdraw(volt_task *t) {
  uint64_t state = volt_load_relaxed(&t->state); /* a guess: the CAS decides */
  while (!(state & ENDED)) {
    /* task:J2 <-> task:E1: the thread that ends it finds the joiner */
    if (volt_cas_acq_rel(&t->state, &state, state & ~JOINER)) return true;
  }
  return false;
}

static bool task_join_cancel(volt_future *f) {
  if (volt_waiter_result(&f->waiter) != VOLT_PENDING) return false;
  if (task_join_withdraw(task_join_of(f))) {
    volt_store_relaxed(&f->waiter.state, VOLT_WAITER_UNUSED_); /* the owner's own again */
    volt_count_from_outside_(VOLT_KIND_TASK_, VOLT_COUNTER_CANCELS_, 1);
    VOLT_PROBE_ARMED(cancel, &f->waiter);
    return true;
  }
  volt_waiter_await_(&f->waiter);
  return false;
}

static bool task_join_set_waker(volt_future *f, volt_waker waker) {
  volt_task *t = task_join_of(f);
  if (!task_join_withdraw(t)) {
    volt_waiter_await_(&f->waiter);
    return false;
  }
  f->waiter.wake = waker.wake;
  f->waiter.ctx = waker.ctx;
  uint64_t state = volt_load_relaxed(&t->state); /* a guess: the CAS decides */
  while (!(state & ENDED)) {                     /* R7 */
    /* task:J2 <-> task:E1: the thread that ends it finds the joiner */
    if (volt_cas_acq_rel(&t->state, &state, state | JOINER)) return true;
  }
  volt_task_complete_joiner_(t); /* it has ended in between, and found no joiner */
  return true;
}

static void task_join_give_back(volt_future *f) {
  (void)f; /* nothing is lost: the task stays ended */
}

static int task_join_outcome(volt_future *f) {
  return volt_task_result(task_join_of(f));
}

static void task_join_describe(volt_future *f, volt_description_ *description) {
  (void)f;
  description->ends = VOLT_ENDS_TASK_;
}

static const volt_future_ops_ task_join_ops = {.operation = "volt_task_join",
                                               .kind = VOLT_KIND_TASK_,
                                               .start = task_join_start,
                                               .cancel = task_join_cancel,
                                               .set_waker = task_join_set_waker,
                                               .give_back = task_join_give_back,
                                               .outcome = task_join_outcome,
                                               .poll_ctx = volt_future_poll_leaf_any_,
                                               .describe = task_join_describe};

volt_future *volt_task_join_future(volt_future *f, volt_task *t) {
  return volt_future_make_(f, &task_join_ops, t, 0);
}

extern inline int volt_task_join(volt_task *);

int volt_task_join_until(volt_task *t, uint64_t deadline_ns) {
  volt_check_blocks_("volt_task_join_until", deadline_ns);
  volt_future f;
  return volt_future_wait_until(volt_task_join_future(&f, t), deadline_ns);
}

/* ---- detach ---- */

void volt_task_detach(volt_task *t) {
  /* task:J1 <- task:E1: a thread that joins, detaches or frees it sees its result */
  uint64_t state = volt_load_acquire(&t->state);
  VOLT_CHECK(!(state & (DETACHED | GROUPED)) && (state & ENDED || !(state & JOINER)),
             "volt_task_detach", "%p is %s (state %#llx)", (void *)t,
             state & DETACHED  ? "detached already"
             : state & GROUPED ? "of a group"
                               : "being joined",
             (unsigned long long)state);
  if ((state & SPAWNED) && !(state & ENDED)) {
    /* task:J2 <-> task:E1: the thread that ends it finds it detached; task:J1 <-> task:E1: the
     * thread that frees it is after all that has touched it */
    state = volt_fetch_or_acq_rel(&t->state, DETACHED);
    if (!(state & ENDED)) return; /* I4 */
  } else {
    volt_store_relaxed(&t->state, state | DETACHED); /* I5: the holder's alone */
  }
  if (t->frame.block) volt_pool_free_(t);
}
