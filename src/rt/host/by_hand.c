/* by_hand.c: run a runtime on the caller's thread: until nothing is ready, or until a future is.
 *
 * Algorithm: two sleepers have each a bit in the idle word: the loop around volt_rt_run(), whose
 * waker is called, and a thread in volt_rt_run_until(), which is unparked as a worker is. For
 * volt_rt_run_until() a task on this thread's stack awaits the future, so every kind of future can
 * be awaited, and late wakes are waited for as by any task that ends. This thread runs the runtime,
 * and joins that task. When nothing is ready it sleeps as a worker does, or lets virtual time pass.
 *
 * Races
 *   R1  Interleaving: another thread has granted the future, and is about to call its waker. The
 *       task is polled for its deadline and returns, but ends only with that wake; or it is
 *       cancelled because nothing happens, but is not queued, because that wake has begun to queue
 *       it. Nothing is ready meanwhile, and yet nothing is stalled. Prevented by: once a wake or
 *       the end is certain to come (is_due), this thread sleeps and no time passes. For tasks that
 *       the future waits for that is not known: for them this thread tries again for a while, in
 *       real time (VOLT_RT_PATIENCE_NS).
 *   R2  Interleaving: a thread finds that the task has not ended, and sleeps; a late wake on
 *       another thread ends the task, or the last call on the blocking pool returns or is given up.
 *       Neither puts a task into a queue. Prevented by: as in parking.c R2, the thread looks at
 *       both again after its bit is set (idle:D4). The other thread does an RMW on the same word
 *       (idle:K2) before it looks for the bit.
 *   R3  Interleaving: volt_rt_run() sets the bit by which it asks for its waker to be called;
 *       before it has returned, the waker is called and another thread calls volt_rt_run().
 *       Prevented by: the first call sets is_run to LEAVES before it sets the bit. The second call
 *       waits for it, a few dozen instructions. If the waker was called already, the first call
 *       does not go on.
 *   R4  Interleaving: mail is left for the driver's look as the thread sets its bit. Prevented by:
 *       as in parking.c R4, for the loop's bit and for the thread's.
 *   R5  Interleaving: a thread looks for what has completed between two runs
 *       (volt_rt_check_by_hand_()); meanwhile another thread calls volt_rt_run(). Prevented by: as
 *       in R3, is_run is LEAVES during the look. If the look has woken tasks, this thread calls the
 *       loop's waker after it. */
#include "by_hand.h"
#include "../../core/os/check.h"
#include "../../core/park/blocker.h"
#include "../../core/park/locals.h"
#include "../../core/park/spin.h"
#include "../blocking/blocking.h"
#include "../fiber/stack_report.h"
#include "../sched/idle.h"
#include "../sched/parking.h"
#include "../sched/short_lock.h"
#include "../sched/thread.h"
#include "doorbell.h"
#include "driver.h"
#include "runtime.h"

/* R1: how long a cancelled future may take to end if nothing is ready and no time passes. */
#ifndef VOLT_RT_PATIENCE_NS
#define VOLT_RT_PATIENCE_NS 1000000000
#endif

enum { NOT_RUN = 0, IS_RUN = 1, LEAVES = 2 }; /* volt_rt.is_run */

static const char by_hand_name[] = "volt_rt_run_until";

/* ---- until nothing is ready ---- */

/* The bit may be set: this thread looks for work itself from here on. If another thread has cleared
 * the bit, it has called the loop's waker, or it unparks this thread: wait for that. Returns
 * whether no other thread has. */
static bool by_hand_stop_sleeping(volt_worker *w, unsigned sleeper) {
  bool cleared = volt_idle_claim_(&w->rt->idle, sleeper);
  if (!cleared && sleeper == VOLT_BY_HAND_THREAD_ && w->is_searching) {
    volt_park_spin_(VOLT_KIND_WORKER_, &w->parker, 1, VOLT_NO_DEADLINE, VOLT_PARK_SPIN, 0);
  }
  volt_worker_end_search_(w);
  return cleared;
}

/* Nothing is ready, unless an inspector has it, which in virtual time is waited for. Returns whether
 * there is more to run. inspect.c R3 */
static bool by_hand_await_inspector(volt_worker *w) {
  volt_rt *rt = w->rt;
  if (!(rt->config.flags & VOLT_RT_VIRTUAL_CLOCK)) return false;
  volt_short_lock_await_(&rt->inspected);
  return volt_rt_is_any_queued_(rt) || volt_worker_has_mail_(w);
}

/* Returns whether nothing is ready, or the loop's waker was called. */
static bool by_hand_run_until_idle(volt_worker *w, unsigned sleeper, volt_task *until) {
  volt_rt *rt = w->rt;
  for (;;) {
    if (!volt_worker_run_ready_(w, until)) return false;
    if (by_hand_await_inspector(w)) continue;
    volt_store_relaxed(&w->parker.word,
                       0);  /* before idle:D4, so before the next unpark: idle.h R5 */
    w->is_searching = true; /* from when the bit is cleared */
    /* relaxed: a thread that sees the bit sees it, by idle:D4 and idle:K2; R3 */
    if (sleeper == VOLT_BY_HAND_LOOP_) volt_store_relaxed(&rt->is_run, LEAVES);
    volt_idle_park_(&rt->idle, sleeper, 0); /* R2, R3, R4 */
    if (!volt_rt_is_any_queued_(rt) && !volt_worker_has_mail_(w)) return true;
    if (!by_hand_stop_sleeping(w, sleeper) && sleeper == VOLT_BY_HAND_LOOP_) return true; /* R3 */
    volt_store_relaxed(&rt->is_run, IS_RUN); /* the waker was not called */
  }
}

/* One thread at a time, which runs no task. */
static void by_hand_begin(volt_worker *w, const char *call) {
  VOLT_CHECK(!volt_rt_current(), call, "%p: called from a task", (void *)w->rt);
  unsigned spins = 0;
  uint32_t seen = NOT_RUN;
  /* by_hand:H1 <- by_hand:H2: after all that the last thread to run it did */
  while (!volt_cas_acquire(&w->rt->is_run, &seen, IS_RUN)) {
    VOLT_CHECK(seen != IS_RUN, call, "%p: two threads run it at once", (void *)w->rt);
    if (seen == LEAVES) volt_pause_(&spins); /* R3 */
    seen = NOT_RUN;
  }
  by_hand_stop_sleeping(w, VOLT_BY_HAND_LOOP_);
}

static void by_hand_end(volt_worker *w) {
  /* by_hand:H2 -> by_hand:H1: the next thread that runs it is after this one */
  volt_store_release(&w->rt->is_run, NOT_RUN);
}

static bool by_hand_run(volt_worker *w, unsigned sleeper, volt_task *until) {
  volt_blocker_ **blocker = volt_thread_blocker_();
  volt_blocker_ *before = *blocker;
  *blocker = &w->blocker;
  volt_worker_begin_here_(w);
  volt_stack_report_begin_(w);
  uint64_t now_ns = volt_now_ns();
  w->driver_checked_ns = now_ns;
  volt_worker_note_time_(w, now_ns);
  uint64_t random = *volt_thread_random_();
  *volt_thread_random_() = w->random;
  bool idle = by_hand_run_until_idle(w, sleeper, until);
  w->random = *volt_thread_random_();
  *volt_thread_random_() = random;
  volt_stack_report_end_(w);
  volt_worker_end_here_();
  *blocker = before;
  return idle;
}

bool volt_rt_is_by_hand_(volt_rt *rt) {
  return rt->config.flags & VOLT_RT_BY_HAND;
}

bool volt_rt_check_by_hand_(volt_rt *rt) {
  volt_worker *w = &rt->worker[0];
  uint32_t seen = NOT_RUN;
  /* by_hand:H1 <- by_hand:H2: after all that the last thread to run it did; R5 */
  if (!volt_cas_acquire(&rt->is_run, &seen, LEAVES)) return false;
  volt_here_ *here = volt_thread_here_();
  volt_here_ before = *here; /* it may run tasks of another runtime */
  volt_worker_begin_here_(w);
  bool any = rt->driver->ops->check(rt->driver, 0);
  *here = before;
  bool woken = volt_worker_has_tasks_(w);
  by_hand_end(w);
  if (woken) volt_rt_work_queued_(rt);
  volt_doorbell_ring_(w->doorbell); /* check() may have taken the loop's ring off */
  return any;
}

uint64_t volt_worker_run_by_hand_(volt_worker *w) {
  by_hand_begin(w, "volt_rt_run");
  bool idle = by_hand_run(w, VOLT_BY_HAND_LOOP_, NULL);
  uint64_t next_ns = idle ? volt_timers_earliest_ns(&w->rt->timers) : 0;
  by_hand_end(w);
  return next_ns;
}

uint64_t volt_rt_run(volt_rt *rt) {
  VOLT_CHECK(rt->config.flags & VOLT_RT_BY_HAND, "volt_rt_run", "%p has workers of its own",
             (void *)rt);
  return volt_worker_run_by_hand_(&rt->worker[0]);
}

/* ---- until a future is ready ---- */

typedef struct run_until {
  volt_task task;
  volt_future *awaited;
  volt_timeout timeout;
  int result;
  bool is_due; /* a poll or the end of the task is certain to come */
} run_until;

static int by_hand_await(volt_task *t, volt_ctx *ctx) {
  run_until *self = volt_container_of(t, run_until, task);
  self->is_due = false;
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT_RESULT(self, self->result, self->awaited);
  self->is_due = true;
  VOLT_RETURN(self, self->result);
  VOLT_TASK_END(self);
}

static bool by_hand_run_until(volt_worker *w, volt_task *t) {
  by_hand_stop_sleeping(w, VOLT_BY_HAND_THREAD_);
  return by_hand_run(w, VOLT_BY_HAND_THREAD_, t);
}

static bool by_hand_sleep_until(volt_worker *w, uint64_t deadline_ns) {
  volt_worker_begin_here_(w); /* what the driver wakes goes into the queue of this worker */
  bool woken = volt_worker_sleep_(w, VOLT_BY_HAND_THREAD_, deadline_ns);
  volt_worker_end_here_();
  volt_worker_end_search_(w);
  return woken;
}

static void by_hand_end_until(volt_worker *w) {
  by_hand_stop_sleeping(w, VOLT_BY_HAND_THREAD_);
  by_hand_end(w);
}

/* Virtual time passes only while nothing else can happen. Returns false: nothing can happen any
 * more. */
static bool by_hand_pass_time(volt_rt *rt) {
  if (volt_blocking_pool_is_busy_(&rt->blocking)) {
    by_hand_sleep_until(&rt->worker[0], VOLT_NO_DEADLINE);
    return true;
  }
  if (by_hand_sleep_until(&rt->worker[0], 0)) return true; /* it was woken by now */
  uint64_t next_ns = volt_timers_earliest_ns(&rt->timers);
  if (next_ns == VOLT_NO_DEADLINE) return false;
  volt_timers_expire(&rt->timers, next_ns);
  return true;
}

/* Nothing is ready, and the bit is set. Returns false: nothing can make the future ready. */
static bool by_hand_await_more(volt_rt *rt, const run_until *u) {
  bool is_virtual = rt->config.flags & VOLT_RT_VIRTUAL_CLOCK;
  if (is_virtual && !u->is_due) return by_hand_pass_time(rt); /* R1 */
  uint64_t next_ns = is_virtual ? VOLT_NO_DEADLINE : volt_timers_earliest_ns(&rt->timers);
  by_hand_sleep_until(&rt->worker[0], next_ns);
  return true;
}

/* Run tasks until that one has ended. Returns its result, or VOLT_ESTALLED. */
static int by_hand_join(volt_rt *rt, run_until *u) {
  volt_worker *w = &rt->worker[0];
  volt_waker rouse = {.wake = volt_rt_rouse_, .ctx = rt};
  volt_future ended;
  bool stalled = false;
  uint64_t end_ns = 0;
  unsigned spins = 0;
  volt_future_made(volt_task_join_future(&ended, &u->task));
  while (volt_future_poll(&ended, rouse) == VOLT_PENDING) {
    if (!by_hand_run_until(w, &u->task)) continue;
    if (volt_future_poll(&ended, rouse) != VOLT_PENDING) break; /* R2 */
    if (by_hand_await_more(rt, u)) continue;
    if (!stalled) {
      stalled = true;
      end_ns = volt_deadline_ns(VOLT_RT_PATIENCE_NS);
      u->is_due = volt_task_cancel(&u->task);
      continue;
    }
    VOLT_CHECK(volt_now_ns() < end_ns, by_hand_name,
               "%p: nothing can make future %p ready, and it cannot be cancelled", (void *)rt,
               (void *)u->awaited);
    volt_pause_(&spins); /* R1 */
  }
  int result = volt_task_result(&u->task);
  return stalled && result == VOLT_ECANCELED ? (int)VOLT_ESTALLED : result;
}

int volt_rt_run_until(volt_rt *rt, volt_future *f, uint64_t deadline_ns) {
  VOLT_CHECK(rt->config.flags & VOLT_RT_BY_HAND, by_hand_name, "%p has workers of its own",
             (void *)rt);
  run_until u;
  volt_task_init(&u.task, by_hand_await);
  u.awaited = f;
  u.is_due = false;
  if (deadline_ns != VOLT_NO_DEADLINE) {
    u.awaited = volt_timeout_future(&u.timeout, f, &rt->timers, deadline_ns);
  }
  by_hand_begin(&rt->worker[0], by_hand_name);
  int result = volt_spawn(rt, &u.task);
  if (result == VOLT_OK) result = by_hand_join(rt, &u);
  by_hand_end_until(&rt->worker[0]);
  return result;
}
