/* task.c: the life of a task, decided by one word.
 *
 * The state word. Each change that can meet another thread's is one read-modify-write; a thread
 * whose CAS fails starts over with the word that it has seen. A thread that has the task to itself
 * (before it is spawned, after ENDED) stores. A registration is a waker of this task that a future
 * holds; one wake or drop settles it.
 *
 *   bit 0  SPAWNED   set once, by spawn
 *   bit 1  ACTIVE    the task is in one queue, or on one worker, or an inspector has claimed it. Set
 *                    by the spawn, wake or cancel that finds it clear, which must then queue the
 *                    task; or by the inspector, which must release it. Cleared by the worker at the
 *                    end of a poll, or by the inspector
 *   bit 2  NOTIFIED  a wake or cancel has come while ACTIVE. Set by it; cleared by the worker
 *                    before a poll, or at its end, and then the task is polled once more; or by the
 *                    inspector, which then queues the task
 *   bit 3  COMPLETE  the task has returned, and its result is set. Set by the worker, which clears
 *                    ACTIVE for ever. A wake that comes later only settles its registration
 *   bit 4  CANCEL    the task is asked to end. Set by any thread while not COMPLETE; cleared by the
 *                    worker before a poll, set again at its end if no await has obeyed
 *   bit 5  ENDED     nothing refers to the task any more. Set once, together with COMPLETE if no
 *                    registration is left, or else by the thread that settles the last one
 *   bit 6  JOINER    the field joiner is a waiter, to be completed. Set and cleared by the thread
 *                    that joins, while not ENDED. Then it belongs to the thread that has set ENDED
 *   bit 7  DETACHED  no thread will join. Set by the handle's holder. The thread that sets the
 *                    second of ENDED and DETACHED frees the task
 *   bit 8  GROUPED   the field joiner is the group. Set by spawn; cleared, after ENDED, as the
 *                    group gives the handle to a caller
 *   bit 9  ASKED     set with CANCEL, never cleared
 *   10..63           the number of registrations, and of holds of cancellers. Registrations of the
 *                    running poll are added only at its end (volt_ctx.registered). A wake may
 *                    settle one before that, so the number may be below zero while ACTIVE
 *
 * Invariants
 *   I1  ACTIVE: in one queue, on one worker, or at one inspector; never two of these, never twice
 *   I2  a wake that comes after a poll has begun makes another poll follow
 *   I3  COMPLETE: the number of registrations is exact, and only falls
 *   I4  the task is freed, or its joiner completed, once, after ENDED
 *   I5  DETACHED stays in the word, in a free block of the pool too, until the block is a new task:
 *       a second use of a detached handle aborts
 *
 * Races
 *   R1  Interleaving: a wake comes while the task is polled. Prevented by: the wake sets NOTIFIED,
 *       so the CAS by which the worker would clear ACTIVE fails.
 *   R2  Interleaving: the worker reads NOTIFIED, the wake sets it, the poll begins: the task is
 *       polled once more than needed. Tolerated: a poll without a cause is harmless.
 *   R3  Interleaving: a future is granted; the task sees that in a poll with another cause, returns
 *       and is freed; only then the granter calls the waker. Prevented by: its registration is not
 *       settled, so the task has not ended. The wake ends it.
 *   R4  Interleaving: a wake (or spawn) queues the task; it runs and ends, and its runtime is
 *       destroyed, while the waking thread still looks for a worker to wake. Prevented by: a thread
 *       that is no worker settles the registration after that.
 *   R5  Interleaving: two threads settle the last two registrations of a COMPLETE task. Prevented
 *       by: only one of the two changes makes the count zero.
 *   R6  Interleaving: a canceller uses a task that is being freed. Prevented by: the canceller
 *       holds a registration, and gets none once the task is COMPLETE. It finds the task by a
 *       handle, or in a list that the task leaves before it has ENDED (registry.c I2; group.c).
 *   R7  Interleaving: a joiner registers while the task ends. Prevented by: the joiner's CAS fails
 *       because of ENDED, or the change that sets ENDED finds JOINER (task_join.c).
 *   R8  Interleaving: an inspector reads what a task awaits, and a wake lets the task run, or it is
 *       freed. Prevented by: the inspector sets ACTIVE by a CAS that finds it clear, under the lock
 *       of the registry, which a task leaves before it ends. From then on a wake only sets NOTIFIED
 *       (R1), and a task that nothing polls does not end.
 *   R9  Interleaving: a wake sets NOTIFIED as the inspector releases the task. Prevented by: the
 *       inspector clears ACTIVE by a CAS, which fails if NOTIFIED has come. Then it clears NOTIFIED
 *       instead, and queues the task, as a wake does. For R4 it holds no registration, but has the
 *       runtime pinned (inspect.c). */
#include "task.h"
#include "../../async/frame.h"
#include "../../core/os/check.h"
#include "../../core/os/probe.h"
#include "../../core/wait/grant.h"
#include "../memory/pool.h"
#include "group.h"
#include "registry.h"
#include "task_run.h"
#include "thread.h"
#include "worker.h"

/* ---- the end ---- */

static void task_wake(void *ctx);
static void task_wake_last(void *ctx);

/* A task that joins others runs behind the tasks that are ready: some of them may be those
 * others. */
VOLT_NOINLINE void volt_task_complete_joiner_(volt_task *t) {
  volt_waiter *w = (volt_waiter *)(void *)t->joiner;
  volt_claimed_ claimed = volt_waiter_claim_(w);
  if (claimed.waker.wake == task_wake) claimed.waker.wake = task_wake_last;
  volt_count_from_outside_(VOLT_KIND_TASK_, VOLT_COUNTER_GRANTS_, 1);
  volt_waiters_grant_(&claimed, 1, VOLT_WAITER_GRANTED_);
}

/* A task of a group has ENDED: pass it to the group, or free it. */
static VOLT_NOINLINE void task_settle_grouped(volt_task *t) {
  volt_group *g = (volt_group *)(void *)t->joiner;
  bool keeps = volt_group_ended_(g, t);
  if (!keeps && t->frame.block) volt_pool_free_(t);
  volt_group_count_off_(g, keeps ? t : NULL);
}

/* Complete the joiner, or free the task, which is of no group. state: as ENDED was set. I4 */
static inline void task_settle_alone(volt_task *t, uint64_t state) {
  if (state & DETACHED) {
    if (t->frame.block) volt_pool_free_(t);
  } else if (state & JOINER) {
    volt_task_complete_joiner_(t);
  }
}

/* By the thread whose wake or drop has settled the last registration of a COMPLETE task: rare, so
 * not part of a wake. */
static VOLT_NOINLINE void task_end(volt_task *t) {
  volt_rt *rt = t->rt;
  unsigned shard = t->frame.shard;
  volt_registry *registry = volt_registry_lock_(rt, shard);
  volt_registry_unlink_(t);
  volt_registry_unlock_(registry);
  /* task:E1 <-> task:J1, task:J2, task:Q1, task:W1: after all that has touched the task; a thread
   * that joins, detaches or frees it sees its result */
  uint64_t state = volt_fetch_or_acq_rel(&t->state, ENDED);
  if (state & GROUPED) {
    task_settle_grouped(t);
  } else {
    task_settle_alone(t, state);
  }
  volt_registry_count_off_and_unlock_(volt_registry_lock_(rt, shard));
}

static bool task_is_over(uint64_t state) {
  return (state & COMPLETE) && state < ONE;
}

/* ---- wakes ---- */

/* Where a task that is woken goes: before the tasks that are ready on this worker; behind them; or
 * this thread is no worker of its runtime. */
typedef enum task_place { FIRST, LAST, OUTSIDE } task_place;

/* Settle a registration without waking. */
static void task_drop(void *ctx) {
  volt_task *t = (volt_task *)ctx;
  /* task:W1 <-> task:C1, task:C2, task:E1, task:P1, task:Q1: the thread that ends it is after all
   * that touched it */
  uint64_t before = volt_fetch_add_acq_rel(&t->state, ONE_LESS);
  if (task_is_over(before - ONE)) task_end(t);
}

/* A worker settles the registration by the same change that sets ACTIVE: the runtime cannot end
 * under it. Any other thread does so after it has queued the task (R4). */
static inline void task_wake_in(volt_task *t, task_place place, volt_here_ *here) {
  const uint64_t settled = place == OUTSIDE ? 0 : ONE;
  uint64_t state = volt_load_relaxed(&t->state); /* a guess: the CAS decides */
  for (;;) {
    bool queue = !(state & (ACTIVE | COMPLETE));
    uint64_t next = state - settled + ACTIVE;
    if (VOLT_UNLIKELY(!queue)) {
      next = state - ONE;
      if (state & ACTIVE) next |= NOTIFIED; /* R1 */
    }
    /* task:W1 <-> task:C1, task:C2, task:E1, task:P1, task:Q1: the thread that ends it is after all
     * that touched it */
    if (!volt_cas_acq_rel(&t->state, &state, next)) continue;
    if (queue && place == FIRST) {
      volt_rt_schedule_next_(here, t);
    } else if (queue) {
      volt_rt_schedule_(t);
      if (!settled) task_drop(t);
    } else if (task_is_over(next)) {
      task_end(t); /* R3 */
    }
    return;
  }
}

static void task_wake_outside(volt_task *t) {
  task_wake_in(t, OUTSIDE, NULL);
}

static void task_wake(void *ctx) {
  volt_task *t = (volt_task *)ctx;
  volt_here_ *here = volt_thread_here_();
  if (VOLT_LIKELY(here->rt == t->rt)) {
    task_wake_in(t, FIRST, here);
  } else {
    task_wake_outside(t);
  }
}

static void task_wake_last(void *ctx) {
  volt_task *t = (volt_task *)ctx;
  if (volt_rt_is_here_(t->rt)) {
    task_wake_in(t, LAST, NULL);
  } else {
    task_wake_outside(t);
  }
}

/* ---- polls ---- */

/* Change the state of a task that has returned. Returns the new state: with ENDED if no
 * registration is left, which only this change can decide. */
static uint64_t task_set_complete(volt_task *t, uint64_t registered) {
  uint64_t state = volt_load_relaxed(&t->state); /* a guess: the CAS decides */
  uint64_t next;
  do {
    next = ((state & ~(ACTIVE | NOTIFIED)) | COMPLETE) + registered * ONE;
    if (task_is_over(next)) next |= ENDED;
    /* task:Q1 <-> task:E1, task:W1: after every wake, and before the end; task:E1 <-> task:J1,
     * task:J2, task:Q1, task:W1: a thread that joins, detaches or frees it sees its result */
  } while (!volt_cas_acq_rel(&t->state, &state, next));
  return next;
}

/* A task of a group has ENDED, and is out of the registry, which is locked: settle it, and then
 * count it off, because a thread that has shut the runtime down may rely on the group to be
 * empty. */
static VOLT_NOINLINE void task_retire_grouped(volt_task *t, volt_registry *registry) {
  volt_rt *rt = t->rt;
  unsigned shard = t->frame.shard;
  volt_registry_unlock_(registry);
  task_settle_grouped(t);
  volt_registry_count_off_and_unlock_(volt_registry_lock_(rt, shard));
}

/* The task leaves the registry before it can be ENDED (registry.c I2). If a registration is left,
 * the task goes back: task_end() will take it out. No other thread sees the task missing meanwhile,
 * because the registry is locked. */
VOLT_NOINLINE void volt_task_complete_(volt_task *t, uint64_t registered, int result) {
  VOLT_ASSERT(result != VOLT_PENDING); /* else it would not have returned */
  VOLT_PROBE2(task__done, t, result);
  if (VOLT_DEBUG || VOLT_SIGHT) volt_frame_check_end_(&t->frame, (uintptr_t)t->poll, result);
  t->frame.result = result;
  volt_registry *registry = volt_registry_lock_(t->rt, t->frame.shard);
  volt_registry_unlink_(t);
  uint64_t state = task_set_complete(t, registered);
  if (VOLT_UNLIKELY(!(state & ENDED))) {
    volt_registry_link_again_(t);
    volt_registry_unlock_(registry);
  } else if (state & GROUPED) {
    task_retire_grouped(t, registry);
  } else {
    volt_registry_count_off_and_unlock_(registry);
    task_settle_alone(t, state);
  }
}

VOLT_NOINLINE volt_ran_ volt_task_put_down_slow_(volt_task *t, uint64_t state, uint64_t registered,
                                                 bool yields, uint64_t disobeyed) {
  for (;;) {
    bool again = yields || (state & NOTIFIED); /* R1 */
    uint64_t next = again ? state & ~NOTIFIED : state & ~ACTIVE;
    next = (next | disobeyed) + registered * ONE;
    /* task:Q1 <-> task:C1, task:E1, task:W1: the thread that ends it is after all that touched it;
     * an inspector sees what it awaits */
    if (volt_cas_acq_rel(&t->state, &state, next)) {
      return again ? VOLT_RAN_AGAIN_ : VOLT_RAN_WAITS_;
    }
  }
}

VOLT_NOINLINE volt_ran_ volt_task_suspend_slow_(volt_task *t, uint64_t state, const volt_ctx *ctx) {
  if (!ctx->yield) volt_task_note_wait_(t, ctx);
  VOLT_PROBE_AWAITS(task__suspend, t, ctx->registered);
  uint64_t disobeyed = ctx->cancel == VOLT_CTX_GO_ON ? 0 : CANCEL;
  return volt_task_put_down_slow_(t, state, ctx->registered, ctx->yield != 0, disobeyed);
}

VOLT_NOINLINE uint64_t volt_task_take_notice_(volt_task *t, volt_ctx *ctx) {
  /* task:P1 <-> task:C2, task:W1: the poll sees what the waking thread did; I2 */
  uint64_t state = volt_fetch_and_acq_rel(&t->state, ~(NOTIFIED | CANCEL));
  if (state & CANCEL) ctx->cancel = VOLT_CTX_CANCEL_ONCE;
  return state & ~(NOTIFIED | CANCEL);
}

void volt_task_ctx_init_(volt_ctx *ctx) {
  volt_waker waker = {.wake = task_wake, .ctx = NULL};
  volt_ctx fresh = VOLT_CTX_INIT(waker);
  fresh.drop = task_drop;
  *ctx = fresh;
}

/* ---- make, spawn ---- */

void volt_task_init(volt_task *t, volt_task_fn *poll) {
  volt_store_relaxed(&t->state, 0); /* not shared yet */
  t->poll = poll;
  t->rt = NULL;
  t->joiner = NULL;
  volt_task_holds_init_(t);
  t->frame.awaiting = NULL;
  t->frame.step = 0;
  t->frame.result = VOLT_OK;
  t->frame.is_finally = 0;
  t->frame.polled_by = 0;
  t->frame.block = 0;
  t->frame.member = 0;
  t->frame.site = 0;
  t->polls = 0;
  t->since = 0;
}

void volt_task_begin_(volt_task *t, volt_rt *rt, volt_group *group) {
  uint64_t state = volt_load_relaxed(&t->state); /* the spawner's own */
  VOLT_CHECK(state == 0 && t->poll, "volt_spawn", "%p was %s (state %#llx)", (void *)t,
             state & DETACHED ? "detached"
             : state          ? "spawned before"
                              : "not initialised",
             (unsigned long long)state);
  VOLT_CHECK(VOLT_LIKELY(t->rt == rt) || !t->frame.block, "volt_spawn",
             "%p is from the pool of runtime %p, not of %p", (void *)t, (void *)t->rt, (void *)rt);
  t->rt = rt;
  t->joiner = group;
  volt_task_born_(t);
  uint64_t begun = SPAWNED | ACTIVE | (group ? GROUPED : 0);
  if (VOLT_UNLIKELY(!volt_rt_is_here_(rt))) begun += ONE; /* R4: until volt_task_start_() */
  volt_store_relaxed(&t->state, begun); /* published by the queue that it is put into */
}

void volt_task_start_(volt_task *t) {
  VOLT_PROBE_TASK(task__spawn, t, rt);
  volt_here_ *here = volt_thread_here_();
  if (VOLT_LIKELY(here->rt == t->rt)) {
    volt_rt_schedule_next_(here, t);
  } else {
    volt_task_deliver_(t, true);
  }
}

void volt_task_not_begun_(volt_task *t) {
  volt_store_relaxed(&t->state, 0); /* the spawner's own again */
}

void volt_task_ungroup_(volt_task *t) {
  uint64_t state = volt_load_relaxed(&t->state); /* ENDED: the group's own */
  volt_store_relaxed(&t->state, state & ~GROUPED);
}

void volt_task_regroup_(volt_task *t) {
  uint64_t state = volt_load_relaxed(&t->state); /* ENDED: the holder's own */
  volt_store_relaxed(&t->state, state | GROUPED);
}

/* ---- cancel ---- */

bool volt_task_ask_(volt_task *t, bool *schedule) {
  uint64_t state = volt_load_relaxed(&t->state); /* a guess: the CAS decides */
  for (;;) {
    if (state & COMPLETE) return false; /* R6 */
    *schedule = !(state & ACTIVE);
    uint64_t next = (state | CANCEL | ASKED | (*schedule ? ACTIVE : NOTIFIED)) + ONE;
    /* task:W1 <-> task:C1, task:C2, task:E1, task:P1, task:Q1: the thread that ends it is after all
     * that touched it */
    if (volt_cas_acq_rel(&t->state, &state, next)) return true;
  }
}

void volt_task_deliver_(volt_task *t, bool schedule) {
  if (schedule) volt_rt_schedule_(t);
  task_drop(t); /* R4 */
}

bool volt_task_cancel(volt_task *t) {
  uint64_t state = volt_load_relaxed(&t->state); /* the caller knows whether it was spawned */
  VOLT_CHECK((state & (SPAWNED | DETACHED)) == SPAWNED, "volt_task_cancel", "%p %s", (void *)t,
             state & DETACHED ? "is detached" : "was not spawned");
  bool schedule;
  if (!volt_task_ask_(t, &schedule)) return false;
  volt_task_deliver_(t, schedule);
  return true;
}

/* ---- inspect ---- */

bool volt_task_claim_(volt_task *t, uint64_t *state) {
  *state = volt_load_relaxed(&t->state); /* a guess: the CAS decides */
  while (!(*state & (ACTIVE | COMPLETE))) {
    /* task:C1 <-> task:C2, task:Q1, task:W1: the inspector sees what the last poll has left; R8. A
     * thread that wakes the task sees that an inspector is at work; inspect.c R3 */
    if (volt_cas_acq_rel(&t->state, state, *state | ACTIVE)) return true;
  }
  return false;
}

void volt_task_release_(volt_task *t) {
  uint64_t state = volt_load_relaxed(&t->state); /* a guess: the CAS decides */
  uint64_t done;
  do {
    done = state & NOTIFIED ? NOTIFIED : ACTIVE; /* R9 */
    /* task:C2 -> task:C1, task:P1, task:W1: the next poll is after what the inspector has read */
  } while (!volt_cas_release(&t->state, &state, state & ~done));
  if (done == NOTIFIED) volt_rt_schedule_(t);
}

bool volt_task_is_cancelled(volt_task *t) {
  return volt_load_relaxed(&t->state) & ASKED; /* the answer orders nothing else */
}
