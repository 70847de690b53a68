/* task_run.h: a worker polls a task. The state word, the invariants and the races are those of
 * task.c.
 *
 * Labels: task */
#ifndef VOLT_RT_SCHED_TASK_RUN_H
#define VOLT_RT_SCHED_TASK_RUN_H

#include "../../core/hooks/racy.h"
#include "../../core/os/check.h"
#include "../../core/os/probe.h"
#include "task_state.h"

#if defined(VOLT_MODEL) /* there, a fiber is a task whose poll runs until its next wait */
#define volt_fiber_run_(t, ctx, result) (result)
#define volt_worker_stamp_(ctx) UINT32_C(0)
#else
#include "../fiber/fiber_run.h"
#endif
#include "task_holds.h"

/* What a poll has left of a task. */
typedef enum volt_ran_ {
  VOLT_RAN_WAITS_, /* it waits, or has ended: the worker must not touch it */
  VOLT_RAN_AGAIN_  /* it must be polled again, behind the others */
} volt_ran_;

/* A wake or a cancel has come before the poll, which sees to them. Returns the new state. */
uint64_t volt_task_take_notice_(volt_task *t, volt_ctx *ctx);

/* The poll is over, and the task has not returned: it yields, or a cancel is left over. */
volt_ran_ volt_task_suspend_slow_(volt_task *t, uint64_t state, const volt_ctx *ctx);

/* The task has returned. */
void volt_task_complete_(volt_task *t, uint64_t registered, int result);

/* The poll is over, and the task has not returned. state: a guess, the CAS decides. yields: it is
 * polled again without a wake. disobeyed: CANCEL if no await has obeyed it, else 0. */
volt_ran_ volt_task_put_down_slow_(volt_task *t, uint64_t state, uint64_t registered, bool yields,
                                   uint64_t disobeyed);

/* The same where the task waits. state: the guess is that no wake has come since it was read: with
 * ACTIVE, without NOTIFIED. */
static inline volt_ran_ volt_task_put_down_(volt_task *t, uint64_t state, uint64_t registered) {
  VOLT_PROBE_AWAITS(task__suspend, t, registered);
  VOLT_ASSERT((state & (ACTIVE | NOTIFIED)) == ACTIVE);
  uint64_t next = state - ACTIVE + registered * ONE;
  /* task:Q1 -> task:C1, task:E1, task:W1: the thread that ends it is after all that touched it; an
   * inspector sees what it awaits. It acquires nothing: no other thread has changed the word. R1 */
  if (VOLT_LIKELY(volt_cas_release(&t->state, &state, next))) return VOLT_RAN_WAITS_;
  return volt_task_put_down_slow_(t, state, registered, false, 0);
}

/* A poll has ended, and the task waits for a wake: for inspectors. */
static inline void volt_task_note_wait_(volt_task *t, const volt_ctx *ctx) {
  (void)ctx;
  t->polls += 1;
  VOLT_RACY_STORE_(uint32_t, t->since, volt_worker_stamp_(ctx));
}

/* Poll a task that is ACTIVE and in no queue. ctx: this worker's. */
static inline volt_ran_ volt_task_run_(volt_task *t, volt_ctx *ctx) {
  /* task:P1 <- task:C2, task:W1: the poll sees what the waking thread did; R2 */
  uint64_t state = volt_load_acquire(&t->state);
  VOLT_ASSERT((state & (ACTIVE | COMPLETE)) == ACTIVE);
  VOLT_RACY_STORE_(void *, ctx->waker.ctx, t); /* inspectors see which task this worker polls */
  ctx->registered = 0;
  ctx->budget = VOLT_CTX_BUDGET;
  ctx->cancel = VOLT_CTX_GO_ON;
  ctx->yield = 0;
  if (VOLT_UNLIKELY(state & (NOTIFIED | CANCEL))) state = volt_task_take_notice_(t, ctx);
  volt_party_enters_(t, ctx);
  VOLT_PROBE_TASK(task__begin, t, frame.step);
  int result = t->poll(t, ctx);
  if (result != VOLT_PENDING) result = volt_fiber_run_(t, ctx, result);
  volt_party_leaves_(t, ctx, result);
  if (result != VOLT_PENDING) {
    volt_task_complete_(t, ctx->registered, result);
    return VOLT_RAN_WAITS_;
  }
  if (VOLT_LIKELY((ctx->cancel | ctx->yield) == VOLT_CTX_GO_ON)) { /* which is 0 */
    volt_task_note_wait_(t, ctx);
    return volt_task_put_down_(t, state, ctx->registered);
  }
  if (ctx->cancel == VOLT_CTX_GO_ON && ctx->registered == 0) return VOLT_RAN_AGAIN_;
  return volt_task_suspend_slow_(t, state, ctx);
}

#endif
