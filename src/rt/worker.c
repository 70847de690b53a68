/* worker.c: a worker takes a task, polls it (task_run.h), and takes the next. Without a task it
 * searches, and sleeps: parking.c.
 *
 * Algorithm: a task that is woken goes to the LIFO slot of the worker that has woken it, because
 * what it was granted is in that cache and other tasks wait for it. The task that was in the slot
 * goes to the ring. The slot is polled at most three times in a row while the ring has tasks, so
 * two tasks that wake each other do not keep others waiting. No worker steals from the slot. So a
 * worker whose polls are long does not use it: there a woken task goes to the ring, and another
 * worker may take it. Every 8 to 127 polls the worker looks at the injection queue, the clock and
 * the driver (driver.h). It adapts that number, so that the polls in between take about a fifth of
 * a millisecond. In between it polls its own tasks in one loop, and does nothing else for them. At
 * the driver it looks only when it has polled what was queued at its last look there, or after four
 * such periods: what completes would wait behind that queue in any case, and a queue that grows
 * beyond what the caches hold makes each poll dearer. A worker that has no task looks at the driver
 * before it searches: what is about to complete there makes its own tasks ready, and to steal
 * others instead would move their I/O to its share.
 *
 * Invariants
 *   I2  a task that is queued is polled: by this worker if it is in the worker's own queues; else
 *       by a worker that is awake, or was woken for it (idle.h I2) */
#include "../core/check.h"
#include "../core/futex.h"
#include "parts.h"
#include "task_run.h"

enum {
  LIFO_IN_A_ROW = 3,
  LOOK_MIN = 8, /* polls between two looks at the injection queue */
  LOOK_MAX = 127,
  LOOK_FIRST = 61,
  LOOK_NS = 200000,
  DRIVER_PERIODS = 4,  /* at most, between two looks at the driver */
  LONG_POLL_NS = 2000, /* on average: to wait for so long is worse than to change the worker */
  BY_HAND_POLLS = 4096 /* before the loop around volt_rt_run() goes on */
};

volt_rt *volt_rt_current(void) {
  return volt_thread_here_()->rt;
}

/* ---- queue ---- */

void volt_worker_overflow_(volt_worker *w, volt_task *t) {
  volt_task *batch[VOLT_RT_BATCH_];
  unsigned count = volt_ring_steal_(&w->ring, batch, VOLT_RT_BATCH_);
  for (unsigned i = 0; i + 1 < count; i++) batch[i]->next = batch[i + 1];
  if (count > 0) batch[count - 1]->next = t;
  volt_inject_push_(&w->rt->inject, count > 0 ? batch[0] : t, t, count + 1);
  volt_worker_count_(&w->counts.overflows, 1);
}

/* Behind all others of this worker; and wake another worker, because the task that runs may keep
 * this one busy for long. */
static void worker_push_and_wake(volt_worker *w, volt_task *t) {
  if (w->rt->workers == 1) {
    volt_worker_push_back_(w, t);
    return;
  }
  if (volt_ring_is_full_(&w->ring)) {
    volt_worker_overflow_(w, t);
  } else {
    volt_ring_push_seen_(&w->ring, t);
  }
  volt_rt_work_queued_(w->rt);
}

/* The same, while polls are long. To wake a worker takes time, which does not count as a poll's. */
static VOLT_NOINLINE void worker_push_from_long_poll(volt_worker *w, volt_task *t) {
  uint64_t since_ns = volt_now_ns();
  worker_push_and_wake(w, t);
  w->looked_ns += volt_now_ns() - since_ns;
}

/* A task was woken or spawned on this worker: it goes to the slot, and the task there to the ring.
 * If polls are long, it goes to the ring itself. The reason: the task that runs may have released a
 * lock to it, and may compute for long before its next await. In the slot, the new owner of the
 * lock would wait for that, and all that wait for the lock would wait for the owner. */
void volt_rt_schedule_next_(volt_here_ *here, volt_task *t) {
  volt_worker *w = here->worker;
  if (w->polls_are_long) {
    worker_push_from_long_poll(w, t);
    return;
  }
  volt_task *before = w->lifo;
  w->lifo = t;
  if (before) worker_push_and_wake(w, before);
}

void volt_rt_schedule_(volt_task *t) {
  volt_rt *rt = t->rt;
  volt_here_ *here = volt_thread_here_();
  if (here->rt == rt) {
    worker_push_and_wake(here->worker, t);
  } else {
    volt_inject_push_(&rt->inject, t, t, 1);
    volt_rt_work_queued_(rt);
  }
}

/* ---- take ---- */

/* Move this worker's share of the injection queue behind its own tasks, in order. Returns a task
 * only if the ring has no room. */
static volt_task *worker_take_injected(volt_worker *w) {
  volt_inject *inject = &w->rt->inject;
  uint64_t length = volt_inject_length_(inject);
  if (length == 0) return NULL;
  volt_task *batch[VOLT_RT_BATCH_];
  uint64_t share = length / w->rt->workers + 1;
  unsigned room = volt_ring_room_(&w->ring);
  unsigned max = share < VOLT_RT_BATCH_ ? (unsigned)share : VOLT_RT_BATCH_;
  unsigned count = volt_inject_pop_(inject, batch, max < room ? max : room ? room : 1);
  volt_worker_count_(&w->counts.injected, count);
  if (room == 0) return count > 0 ? batch[0] : NULL;
  volt_ring_push_all_(&w->ring, batch, count);
  return NULL;
}

/* A task from the injection queue, behind those of this worker; or NULL. */
volt_task *volt_worker_take_outside_(volt_worker *w) {
  volt_task *t = worker_take_injected(w);
  return t ? t : volt_ring_pop_(&w->ring);
}

/* Expire what is due. Returns whether anything was. */
static bool worker_look_at_clock(volt_worker *w) {
  volt_timers *timers = &w->rt->timers;
  uint64_t earliest_ns = volt_timers_earliest_ns(timers);
  if (earliest_ns == VOLT_NO_DEADLINE) return false;
  uint64_t now_ns = volt_timers_now_ns(timers);
  w->ctx.waker.ctx = NULL; /* no task runs */
  return earliest_ns <= now_ns && volt_timers_expire(timers, now_ns) > 0;
}

/* Set the number of polls between two looks by how long the last ones took, and whether that is
 * long. */
static void worker_adapt_period(volt_worker *w) {
  uint64_t now_ns = volt_now_ns();
  uint64_t each_ns = (now_ns - w->looked_ns) / w->look_period;
  uint64_t want = each_ns > 0 ? LOOK_NS / each_ns : LOOK_MAX;
  if (want < LOOK_MIN) want = LOOK_MIN;
  if (want > LOOK_MAX) want = LOOK_MAX;
  if (want > w->look_period) want = (3 * w->look_period + want) / 4; /* longer slowly */
  w->look_period = (unsigned)want;
  w->polls_are_long = each_ns > LONG_POLL_NS && w->rt->workers > 1;
  w->looked_ns = now_ns;
}

/* The worker has looked at the driver, or has slept there. */
static void worker_note_driver_queue(volt_worker *w) {
  unsigned queued = volt_ring_count_(&w->ring);
  bool is_slow = w->look_period == LOOK_MIN; /* then so many polls take more than the look's time */
  unsigned most = is_slow ? 0 : DRIVER_PERIODS * w->look_period;
  w->driver_queue = queued < most ? queued : most;
}

/* After so many polls. */
static bool worker_is_driver_due(volt_worker *w, unsigned polls) {
  bool is_due = w->driver_queue <= polls;
  if (!is_due) w->driver_queue -= polls;
  return is_due;
}

/* Look at the clock, the driver and the injection queue. Returns a task only if the ring has no
 * room. */
static volt_task *worker_look(volt_worker *w) {
  unsigned polls = w->look_period;
  worker_adapt_period(w);
  w->until_look = w->look_period;
  worker_look_at_clock(w);
  if (w->rt->driver && worker_is_driver_due(w, polls)) {
    volt_worker_look_driver_(w, w->looked_ns);
    worker_note_driver_queue(w);
    w->looked_ns = w->driver_looked_ns; /* that took no poll's time */
  }
  return worker_take_injected(w);
}

/* The slot is empty, or is not polled this time. */
static inline volt_task *worker_take_from_ring(volt_worker *w) {
  if (w->lifo_run > 0) volt_worker_count_(&w->counts.lifo_hits, w->lifo_run);
  w->lifo_run = 0;
  return volt_ring_pop_(&w->ring);
}

/* The slot was polled so often that the ring is next; if that is empty, t all the same. */
static volt_task *worker_take_turn(volt_worker *w, volt_task *t) {
  volt_task *next = worker_take_from_ring(w);
  if (!next) return t;
  volt_worker_push_back_(w, t);
  return next;
}

/* The next task in this worker's own queues. */
static inline volt_task *worker_take_own(volt_worker *w) {
  volt_task *t = w->lifo;
  if (!t) return worker_take_from_ring(w);
  w->lifo = NULL;
  if (w->lifo_run == LIFO_IN_A_ROW) return worker_take_turn(w, t);
  w->lifo_run += 1;
  return t;
}

/* The same; now and then one from the injection queue. */
static volt_task *worker_take(volt_worker *w) {
  volt_task *t = w->until_look == 0 ? worker_look(w) : NULL;
  return t ? t : worker_take_own(w);
}

/* ---- poll ---- */

/* Poll t, and then the next of this worker's own, at most max in all, until there is none. Other
 * workers may steal while a task runs. */
static void worker_poll(volt_worker *w, volt_task *t, unsigned max) {
  unsigned left = max;
  do {
    /* a hint: else this worker comes to those tasks itself */
    if (volt_idle_wants_work_(&w->rt->idle) && volt_ring_count_(&w->ring) > 0) {
      volt_rt_work_queued_(w->rt);
    }
    if (volt_task_run_(t, &w->ctx) == VOLT_RAN_AGAIN_) volt_worker_push_back_(w, t);
    left -= 1;
    t = left > 0 ? worker_take_own(w) : NULL;
  } while (t);
  w->until_look -= max - left;
  volt_worker_count_(&w->counts.polls, max - left);
}

/* The task that this worker polls, or NULL. */
static volt_task *worker_running(volt_worker *w) {
  return (volt_task *)w->ctx.waker.ctx;
}

/* The task that runs, or a waker that it calls, is about to block this worker. */
static void worker_blocks(volt_blocker_ *self, const char *call) {
  volt_worker *w = volt_container_of(self, volt_worker, blocker);
  volt_rt *rt = w->rt;
  if (rt->config.hooks.blocks) {
    rt->config.hooks.blocks(call, worker_running(w), rt->config.hooks.ctx);
    return;
  }
#if VOLT_DEBUG
  VOLT_CHECK(false, call,
             "task %p: a thread that runs tasks must not block: await a future instead",
             (void *)worker_running(w));
#endif
  uint32_t said = volt_exchange_relaxed(&rt->has_said, 1); /* the first says so */
  if (said) return;
  volt_warn_(call, "task %p blocks worker %u of runtime %p: await a future instead (said once)",
             (void *)worker_running(w), w->index, (void *)rt);
}

/* ---- run ---- */

void volt_worker_begin_here_(volt_worker *w) {
  volt_here_ *here = volt_thread_here_();
  here->rt = w->rt;
  here->worker = w;
}

void volt_worker_end_here_(void) {
  volt_here_ *here = volt_thread_here_();
  here->rt = NULL;
  here->worker = NULL;
}

/* Search for a task; or sleep, or find that the driver has something, and return NULL. The time
 * counts as no poll's. */
static volt_task *worker_find(volt_worker *w) {
  uint64_t since_ns = volt_now_ns();
  volt_task *t = NULL;
  if (!w->rt->driver || !volt_worker_look_before_search_(w, since_ns)) {
    t = volt_worker_search_(w);
    if (!t) volt_worker_park_(w);
  }
  uint64_t now_ns = volt_now_ns();
  w->looked_ns += now_ns - since_ns;
  w->driver_looked_ns = now_ns;
  if (w->rt->driver) worker_note_driver_queue(w);
  return t;
}

/* The next task that this worker is to poll. Returns NULL: the runtime is over. */
static volt_task *worker_await_task(volt_worker *w) {
  while (!volt_rt_is_over_(w->rt)) {
    volt_task *t = worker_take(w);
    if (!t && worker_look_at_clock(w)) continue;
    if (!t) t = worker_find(w);
    if (!t) continue;
    if (w->is_searching) volt_worker_found_(w);
    return t;
  }
  return NULL;
}

void volt_worker_main_(void *arg) {
  volt_worker *w = (volt_worker *)arg;
  volt_worker_begin_here_(w);
  volt_worker_begin_driver_(w);
  *volt_thread_blocker_() = &w->blocker;
  *volt_thread_random_() = w->random;
  w->looked_ns = volt_now_ns(); /* not since the worker was made: the thread has begun only now */
  volt_task *t;
  while ((t = worker_await_task(w)) != NULL) worker_poll(w, t, w->until_look);
  volt_worker_end_search_(w);
  *volt_thread_blocker_() = NULL;
  volt_worker_end_driver_(w);
  volt_worker_end_here_();
}

/* Poll BY_HAND_POLLS times or some more, or until that task has ended; until: NULL: none. Returns
 * whether there is nothing left to poll. */
bool volt_worker_run_ready_(volt_worker *w, volt_task *until) {
  for (unsigned polls = 0; polls < BY_HAND_POLLS;) {
    volt_task *t = worker_take(w);
    if (!t && worker_look_at_clock(w)) continue;
    if (!t && w->rt->driver && volt_worker_look_driver_(w, volt_now_ns())) {
      polls += 1; /* it comes to an end whatever completes */
      continue;
    }
    if (!t) t = volt_worker_take_outside_(w);
    if (!t) return true;
    unsigned before = w->until_look;
    worker_poll(w, t, until ? 1 : w->until_look);
    polls += before - w->until_look;
    if (until && volt_task_result(until) != VOLT_PENDING) return false;
  }
  return false;
}

void volt_worker_init_(volt_worker *w, volt_rt *rt, unsigned index) {
  volt_ring_init_(&w->ring);
  w->lifo = NULL;
  volt_task_ctx_init_(&w->ctx);
  w->blocker.blocks = worker_blocks;
  w->rt = rt;
  w->index = index;
  w->lifo_run = 0;
  w->polls_are_long = false;
  w->is_searching = rt->config.flags & VOLT_RT_BY_HAND; /* its bit is set: no thread runs it yet */
  w->until_look = 0;
  w->look_period = LOOK_FIRST;
  w->driver_queue = 0;
  w->looked_ns = volt_now_ns();
  w->random = (rt->config.seed + index + 1) * UINT64_C(0x9e3779b97f4a7c15) | 1;
}
