/* until.c: run a runtime by hand until a future is ready.
 *
 * Algorithm: a task on this thread's stack awaits the future. So every kind of future can be
 * awaited, and wakes that are still to come are waited for as by any task that ends. This thread
 * runs the runtime, and joins that task. When nothing is ready it sleeps as a worker does, or lets
 * virtual time pass.
 *
 * Race R1: Interleaving: another thread has granted the future, and is about to call its waker.
 *   The task is polled for its deadline and returns, and has not ended before that wake; or it is
 *   cancelled because nothing happens, and is not queued, because that wake has begun to queue it.
 *   Nothing is ready meanwhile, and yet nothing is stalled. Prevented by: once it is certain that
 *   something comes (is_due), this thread sleeps, and no time passes. This is not known of tasks that
 *   the future waits for: for them this thread looks again for a while, in real time (PATIENCE). */
#include "../core/check.h"
#include "../core/spin.h"
#include "parts.h"

/* R1: how long a cancelled future may take to end if nothing is ready and no time passes. */
#ifndef VOLT_RT_PATIENCE_NS
#define VOLT_RT_PATIENCE_NS 1000000000
#endif

static const char name[] = "volt_rt_run_until";

typedef struct until {
  volt_task task;
  volt_future *awaited;
  volt_timeout timeout;
  int result;
  bool is_due; /* the task: something is on its way by which it is polled, or has ended */
} until;

static int await(volt_task *t, volt_ctx *ctx) {
  until *self = volt_container_of(t, until, task);
  self->is_due = false;
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT_RESULT(self, self->result, self->awaited);
  self->is_due = true;
  VOLT_RETURN(self, self->result);
  VOLT_TASK_END(self);
}

/* The time of a virtual clock passes only while nothing else can happen. Returns false: nothing can
 * happen any more. */
static bool pass_time(volt_rt *rt) {
  if (volt_blocking_pool_is_busy_(&rt->blocking)) {
    volt_worker_sleep_until_(&rt->worker[0], VOLT_NO_DEADLINE);
    return true;
  }
  if (volt_worker_sleep_until_(&rt->worker[0], 0)) return true; /* it was woken by now */
  uint64_t next_ns = volt_timers_earliest_ns(&rt->timers);
  if (next_ns == VOLT_NO_DEADLINE) return false;
  volt_timers_expire(&rt->timers, next_ns);
  return true;
}

/* Nothing is ready, and this thread has said so. Returns false: nothing ever will be. */
static bool await_more(volt_rt *rt, const until *u) {
  bool is_virtual = rt->config.flags & VOLT_RT_VIRTUAL_CLOCK;
  if (is_virtual && !u->is_due) return pass_time(rt); /* R1 */
  uint64_t next_ns = is_virtual ? VOLT_NO_DEADLINE : volt_timers_earliest_ns(&rt->timers);
  volt_worker_sleep_until_(&rt->worker[0], next_ns);
  return true;
}

/* Until that task has ended. Returns what it has returned, or VOLT_ESTALLED. */
static int run(volt_rt *rt, until *u) {
  volt_worker *w = &rt->worker[0];
  volt_waker rouse = {volt_rt_rouse_, rt};
  volt_future ended;
  bool stalled = false;
  uint64_t end_ns = 0;
  unsigned looks = 0;
  volt_task_join_future(&ended, &u->task);
  while (volt_future_poll(&ended, rouse) == VOLT_PENDING) {
    if (!volt_worker_run_until_(w, &u->task)) continue;
    if (volt_future_poll(&ended, rouse) != VOLT_PENDING) break; /* worker.c R4 */
    if (await_more(rt, u)) continue;
    if (!stalled) {
      stalled = true;
      end_ns = volt_deadline_ns(VOLT_RT_PATIENCE_NS);
      u->is_due = volt_task_cancel(&u->task);
      continue;
    }
    VOLT_CHECK(volt_now_ns() < end_ns, name,
               "%p: nothing can make future %p ready, and it cannot be cancelled", (void *)rt,
               (void *)u->awaited);
    volt_pause_(&looks); /* R1 */
  }
  int result = volt_task_result(&u->task);
  return stalled && result == VOLT_ECANCELED ? (int)VOLT_ESTALLED : result;
}

int volt_rt_run_until(volt_rt *rt, volt_future *f, uint64_t deadline_ns) {
  VOLT_CHECK(rt->config.flags & VOLT_RT_BY_HAND, name, "%p has workers of its own", (void *)rt);
  until u;
  volt_task_init(&u.task, await);
  u.awaited = f;
  u.is_due = false;
  if (deadline_ns != VOLT_NO_DEADLINE) {
    u.awaited = volt_timeout_future(&u.timeout, f, &rt->timers, deadline_ns);
  }
  volt_worker_begin_until_(&rt->worker[0]);
  int result = volt_spawn(rt, &u.task);
  if (result == VOLT_OK) result = run(rt, &u);
  volt_worker_end_until_(&rt->worker[0]);
  return result;
}
