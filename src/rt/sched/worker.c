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
 * A task that has a home, a fiber that has begun, is in the slot or in the list of that worker,
 * never in a ring. It takes turns with the tasks of the ring in the order in which both were queued
 * (home.h). Homes cost other tasks nothing: a worker tests for them only if there are any in its
 * runtime (volt_worker.how).
 *
 * Invariants
 *   I2  a task that is queued is polled: by this worker if it is in the worker's own queues; else
 *       by a worker that is awake, or was woken for it (idle.h I2); by its home (home.h I2, I3)
 *   I5  between two polls of the ring or the list, at most three are from the slot. Of two tasks in
 *       the ring and the list, the one that was queued first is polled first, unless the ring was
 *       full in between, or a thief takes others of the ring at that moment */
#include "worker.h"
#include "../../async/frame.h"
#include "../../core/os/check.h"
#include "../../core/os/hash.h"
#include "../../core/os/probe.h"
#include "../../core/park/locals.h"
#include "../fiber/stack_report.h"
#include "../host/driver.h"
#include "../host/runtime.h"
#include "homed.h"
#include "idle.h"
#include "inject.h"
#include "parking.h"
#include "task.h"
#include "task_run.h"

enum {
  LIFO_IN_A_ROW = 3,
  CHECK_MIN = 8, /* polls between two looks at the injection queue */
  CHECK_MAX = 127,
  CHECK_FIRST = 61,
  CHECK_NS = 200000,
  DRIVER_PERIODS = 4,  /* at most, between two looks at the driver */
  LONG_POLL_NS = 2000, /* on average: to wait for so long is worse than to change the worker */
  REST_NS = 1000000,   /* longer than a watcher sleeps: parking.c */
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
  VOLT_PROBE3(overflow, w->rt, w->index, count);
  volt_worker_count_(&w->counts.overflows, 1);
}

/* Behind all others of this worker; and wake another worker, because the task that runs may keep
 * this one busy for long; or if little is queued leave that to the watcher. */
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
  if (volt_worker_has_backlog_(w)) {
    volt_rt_work_queued_(w->rt);
  } else {
    volt_worker_wake_for_little_(w->rt);
  }
}

/* The same, while polls are long. To wake a worker takes time, which does not count as a poll's. */
static VOLT_NOINLINE void worker_push_from_long_poll(volt_worker *w, volt_task *t) {
  uint64_t since_ns = volt_now_ns();
  worker_push_and_wake(w, t);
  w->checked_ns += volt_now_ns() - since_ns;
}

/* Behind all others of its worker. A task without a home is for this one, or for one that it
 * wakes. */
static void worker_queue(volt_worker *w, volt_task *t) {
  if (VOLT_LIKELY(volt_task_home_(t) == 0)) {
    worker_push_and_wake(w, t);
  } else {
    volt_rt_queue_homed_(volt_homed_of_(t));
  }
}

/* Polls are long, or t may have a home. */
static VOLT_NOINLINE void worker_schedule_slow(volt_worker *w, volt_task *t) {
  uint32_t how = volt_load_relaxed(&w->how); /* home.h R5: what must be known is seen */
  uint32_t home = volt_task_home_(t);
  bool is_elsewhere = home != 0 && home != w->index + 1;
  if (is_elsewhere || (home != 0 && how & VOLT_HOW_LONG_)) {
    volt_rt_queue_homed_(volt_homed_of_(t));
  } else if (how & VOLT_HOW_LONG_) {
    worker_push_from_long_poll(w, t);
  } else {
    volt_task *before = w->lifo;
    w->lifo = t;
    if (before) worker_queue(w, before);
  }
}

/* A task was woken or spawned on this worker: it goes to the slot, and the task there to the ring.
 * If polls are long, it goes to the ring itself. The reason: the task that runs may have released a
 * lock to it, and may compute for long before its next await. In the slot, the new owner of the
 * lock would wait for that, and all that wait for the lock would wait for the owner. */
void volt_rt_schedule_next_(volt_here_ *here, volt_task *t) {
  volt_worker *w = here->worker;
  if (VOLT_UNLIKELY(volt_load_relaxed(&w->how) != 0)) { /* home.h R5: what must be known is seen */
    worker_schedule_slow(w, t);
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
    worker_queue(here->worker, t);
  } else if (volt_task_home_(t) != 0) {
    volt_rt_queue_homed_(volt_homed_of_(t));
  } else {
    volt_inject_push_(&rt->inject, t, t, 1);
    volt_rt_work_queued_(rt);
  }
}

/* Behind all others of its worker, between polls: so no other worker need be woken for it. */
static inline void worker_put_back(volt_worker *w, volt_task *t) {
  if (VOLT_LIKELY(!w->home.is_used) || volt_task_home_(t) == 0) {
    volt_worker_push_back_(w, t);
  } else {
    volt_rt_queue_homed_(volt_homed_of_(t));
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

/* The oldest in the ring and in the list, which is not empty: home.h. */
static VOLT_NOINLINE volt_task *worker_take_oldest(volt_worker *w) {
  volt_task *t = NULL;
  if (volt_ring_taken_(&w->ring) < w->home.first->behind) t = volt_ring_pop_(&w->ring);
  return t ? t : volt_home_pop_(&w->home);
}

/* The next that is not in the slot; or NULL. */
static inline volt_task *worker_pop(volt_worker *w) {
  return VOLT_LIKELY(!w->home.first) ? volt_ring_pop_(&w->ring) : worker_take_oldest(w);
}

/* What other threads have queued for this worker alone goes behind what it has. */
static void worker_receive(volt_worker *w) {
  volt_home_receive_(&w->home, volt_ring_end_(&w->ring));
}

volt_task *volt_worker_take_outside_(volt_worker *w) {
  worker_receive(w);
  volt_task *t = worker_take_injected(w);
  return t ? t : worker_pop(w);
}

/* Expire what is due. Returns whether anything was. */
static bool worker_check_clock(volt_worker *w) {
  volt_timers *timers = &w->rt->timers;
  if (volt_load_relaxed(&w->rt->stacks.trim_ns) != 0) volt_stack_trim_(w->rt); /* R1 of stack.c */
  uint64_t earliest_ns = volt_timers_earliest_ns(timers);
  if (earliest_ns == VOLT_NO_DEADLINE) return false;
  uint64_t now_ns = volt_timers_now_ns(timers);
  return earliest_ns <= now_ns && volt_timers_expire(timers, now_ns) > 0;
}

void volt_worker_note_time_(volt_worker *w, uint64_t now_ns) {
  bool is_virtual = w->rt->config.flags & VOLT_RT_VIRTUAL_CLOCK;
  w->stamp = volt_stamp_of_(is_virtual ? volt_timers_now_ns(&w->rt->timers) : now_ns);
}

static void worker_set_long(volt_worker *w, bool is_long) {
  if (is_long == !!(volt_load_relaxed(&w->how) & VOLT_HOW_LONG_)) return;
  /* relaxed: this worker alone changes the bit. Added, because others set bits beside it */
  volt_fetch_add_relaxed(&w->how, is_long ? VOLT_HOW_LONG_ : UINT32_C(0) - VOLT_HOW_LONG_);
}

/* Set the number of polls between two looks by how long the last ones took, and whether that is
 * long. */
static void worker_adapt_period(volt_worker *w) {
  uint64_t now_ns = volt_now_ns();
  uint64_t each_ns = (now_ns - w->checked_ns) / w->check_period;
  uint64_t want = each_ns > 0 ? CHECK_NS / each_ns : CHECK_MAX;
  if (want < CHECK_MIN) want = CHECK_MIN;
  if (want > CHECK_MAX) want = CHECK_MAX;
  if (want > w->check_period) want = (3 * w->check_period + want) / 4; /* longer slowly */
  w->check_period = (unsigned)want;
  if (each_ns > LONG_POLL_NS) VOLT_PROBE3(polls__long, w->rt, w->index, each_ns);
  worker_set_long(w, each_ns > LONG_POLL_NS && w->rt->workers > 1);
  volt_store_relaxed(&w->patience, volt_worker_patience_(each_ns)); /* a hint */
  w->checked_ns = now_ns;
  volt_worker_note_time_(w, now_ns);
}

/* The worker has looked at the driver, or has slept there. */
static void worker_note_driver_queue(volt_worker *w) {
  unsigned queued = volt_ring_count_(&w->ring) + volt_home_count_(&w->home);
  bool is_slow =
      w->check_period == CHECK_MIN; /* then so many polls take more than the look's time */
  unsigned most = is_slow ? 0 : DRIVER_PERIODS * w->check_period;
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
static volt_task *worker_check_sources(volt_worker *w) {
  unsigned polls = w->check_period;
  worker_adapt_period(w);
  w->until_check = w->check_period;
  worker_check_clock(w);
  if (w->rt->driver && worker_is_driver_due(w, polls)) {
    volt_worker_check_driver_(w, w->checked_ns);
    worker_note_driver_queue(w);
    w->checked_ns = w->driver_checked_ns; /* that took no poll's time */
  }
  worker_receive(w);
  return worker_take_injected(w);
}

/* The slot is empty, or is not polled this time. */
static inline volt_task *worker_take_queued(volt_worker *w) {
  if (w->lifo_run | (uintptr_t)w->home.first) { /* one branch, when neither is the case */
    volt_worker_count_(&w->counts.lifo_hits, w->lifo_run);
    w->lifo_run = 0;
    if (w->home.first) return worker_take_oldest(w);
  }
  return volt_ring_pop_(&w->ring);
}

/* The slot was polled so often that the queues are next; if they are empty, t all the same. */
static volt_task *worker_take_turn(volt_worker *w, volt_task *t) {
  volt_task *next = worker_take_queued(w);
  if (!next) return t;
  worker_put_back(w, t);
  return next;
}

/* The next task in this worker's own queues. */
static inline volt_task *worker_take_own(volt_worker *w) {
  volt_task *t = w->lifo;
  if (!t) return worker_take_queued(w);
  w->lifo = NULL;
  if (w->lifo_run == LIFO_IN_A_ROW) return worker_take_turn(w, t);
  w->lifo_run += 1;
  return t;
}

/* The same; now and then one from the injection queue; and if there is none, one that another
 * thread has queued for this worker alone. */
static volt_task *worker_take(volt_worker *w) {
  volt_task *t = w->until_check == 0 ? worker_check_sources(w) : NULL;
  if (!t) t = worker_take_own(w);
  if (t) return t;
  worker_receive(w);
  return worker_pop(w);
}

/* ---- poll ---- */

/* After the loop below, which needs no register for `left` because this is not inlined. */
static VOLT_NOINLINE void worker_note_polls(volt_worker *w, unsigned max) {
  unsigned polls = max - w->left;
  VOLT_RACY_STORE_(void *, w->ctx.waker.ctx, NULL); /* no task runs */
  w->until_check -= polls;
  volt_worker_count_(&w->counts.polls, polls);
}

/* Before a poll of t by one of several workers. */
static inline void worker_note_poll(volt_worker *w, volt_task *t) {
  if (VOLT_UNLIKELY(t->frame.polled_by != w->mark)) {
    volt_worker_count_(&w->counts.moved, t->frame.polled_by != 0);
    t->frame.polled_by = w->mark & 0x7fu;
  }
  /* a hint: else this worker comes to those tasks itself */
  bool is_urgent = volt_worker_has_backlog_(w);
  if (!volt_idle_wants_work_(&w->rt->idle, is_urgent) || volt_ring_count_(&w->ring) == 0) return;
  if (is_urgent) {
    volt_rt_work_queued_(w->rt);
  } else {
    volt_worker_wake_for_little_(w->rt);
  }
}

/* Poll t, and then the next of this worker's own, at most max in all, until there is none. Other
 * workers may steal while a task runs. */
static void worker_poll(volt_worker *w, volt_task *t, unsigned max) {
  w->left = max;
  do {
    if (!w->is_only) worker_note_poll(w, t);
    if (volt_task_run_(t, &w->ctx) == VOLT_RAN_AGAIN_) worker_put_back(w, t);
    t = --w->left > 0 ? worker_take_own(w) : NULL;
  } while (t);
  worker_note_polls(w, max);
}

/* The task that runs is about to block this worker; or a waker is, perhaps while no task runs. */
static void worker_blocks(volt_blocker_ *self, const char *call) {
  volt_worker *w = volt_container_of(self, volt_worker, blocker);
  volt_rt *rt = w->rt;
  volt_task *t = (volt_task *)w->ctx.waker.ctx; /* the one that is polled, or NULL */
  if (rt->config.hooks.blocks) {
    rt->config.hooks.blocks(call, t, rt->config.hooks.ctx);
    return;
  }
#if VOLT_DEBUG
  VOLT_CHECK(t, call, "%p: a waker that worker %u calls must not block", (void *)rt, w->index);
  volt_frame_blocks_(&t->frame, (uintptr_t)t->poll, t, call);
#endif
  uint32_t has_warned =
      volt_exchange_relaxed(&rt->has_warned, 1); /* relaxed, no data: the first says so */
  if (has_warned) return;
  volt_warn_(call, "task %p blocks worker %u of runtime %p: await a future instead (said once)",
             (void *)t, w->index, (void *)rt);
}

/* ---- run ---- */

void volt_worker_begin_here_(volt_worker *w) {
  volt_here_ *here = volt_thread_here_();
  here->rt = w->rt;
  here->worker = w;
  volt_count_from_outside_(VOLT_KIND_WORKER_, VOLT_COUNTER_WAITS_, 0); /* it has a tally now */
}

void volt_worker_end_here_(void) {
  volt_here_ *here = volt_thread_here_();
  volt_worker_end_fibers_(here->worker);
  here->rt = NULL;
  here->worker = NULL;
}

/* Search for a task; or sleep, or find that the driver has something, and return NULL. The time
 * counts as no poll's. */
static volt_task *worker_find(volt_worker *w) {
  uint64_t since_ns = volt_now_ns();
  volt_task *t = NULL;
  if (!w->rt->driver || !volt_worker_check_before_search_(w, since_ns)) {
    t = volt_worker_search_(w);
    if (!t) volt_worker_park_(w);
    if (t && w->has_skipped_check)
      volt_worker_check_driver_(w, since_ns); /* its poll may be long */
  }
  uint64_t now_ns = volt_now_ns();
  w->has_rested = w->back == VOLT_NOT_BACK_ && now_ns - since_ns > REST_NS;
  w->checked_ns += now_ns - since_ns;
  volt_worker_note_time_(w, now_ns);
  w->driver_checked_ns = now_ns;
  if (w->has_driven) volt_worker_note_check_(w, now_ns);
  w->has_driven = false;
  if (w->rt->driver) worker_note_driver_queue(w);
  return t;
}

/* The next task that this worker is to poll. Returns NULL: the runtime is over. */
static volt_task *worker_await_task(volt_worker *w) {
  while (!volt_rt_is_over_(w->rt)) {
    volt_task *t = worker_take(w);
    if (!t && worker_check_clock(w)) {
      w->back =
          VOLT_NOT_BACK_; /* a waker may have staged an operation: it looks at the driver again */
      continue;
    }
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
  volt_stack_report_begin_(w);
  volt_worker_begin_driver_(w);
  *volt_thread_blocker_() = &w->blocker;
  *volt_thread_random_() = w->random;
  w->checked_ns = volt_now_ns(); /* not since the worker was made: the thread has begun only now */
  volt_worker_note_time_(w, w->checked_ns);
  VOLT_RACY_STORE_(int32_t, w->tid, volt_thread_id_());
  volt_task *t;
  while ((t = worker_await_task(w)) != NULL) worker_poll(w, t, w->until_check);
  volt_worker_end_search_(w);
  *volt_thread_blocker_() = NULL;
  volt_worker_end_driver_(w);
  volt_stack_report_end_(w);
  volt_worker_end_here_();
}

/* Poll hand_polls times or some more, or until that task has ended; until: NULL: none. Returns
 * whether there is nothing left to poll. */
bool volt_worker_run_ready_(volt_worker *w, volt_task *until) {
  for (unsigned polls = 0; polls < w->hand_polls;) {
    volt_task *t = worker_take(w);
    if (!t && worker_check_clock(w)) continue;
    if (!t && w->rt->driver && volt_worker_check_driver_(w, volt_now_ns())) {
      polls += 1; /* it comes to an end whatever completes */
      continue;
    }
    if (!t) t = volt_worker_take_outside_(w);
    if (!t) return true;
    unsigned before = w->until_check;
    worker_poll(w, t, until ? 1 : w->until_check);
    polls += before - w->until_check;
    if (until && volt_task_result(until) != VOLT_PENDING) return false;
  }
  return false;
}

void volt_worker_init_(volt_worker *w, volt_rt *rt, unsigned index) {
  volt_ring_init_(&w->ring);
  volt_home_init_(&w->home);
  w->lifo = NULL;
  volt_task_ctx_init_(&w->ctx);
  w->blocker.blocks = worker_blocks;
  w->rt = rt;
  w->index = index;
  w->mark = (uint8_t)(w->index % 127 + 1);
  w->is_only = rt->workers == 1 && !(rt->config.flags & VOLT_RT_BY_HAND);
  w->lifo_run = 0;
  volt_store_relaxed(&w->how, 0); /* not shared yet, like the next */
  volt_store_relaxed(&w->patience, 0);
  volt_store_relaxed(&w->polls_noted, 0);
  volt_store_relaxed(&w->driver_seen_ns, 0);
  w->back = VOLT_NOT_BACK_;
  w->has_rested = false;
  w->has_skipped_check = false;
  w->has_driven = false;
  w->is_searching = rt->config.flags & VOLT_RT_BY_HAND; /* its bit is set: no thread runs it yet */
  w->until_check = 0;
  w->check_period = CHECK_FIRST;
  w->driver_queue = 0;
  w->checked_ns = volt_now_ns();
  w->left = 0;
  w->tid = 0;
  volt_worker_note_time_(w, w->checked_ns);
  w->hand_polls = BY_HAND_POLLS;
  w->random = (rt->config.seed + index + 1) * VOLT_GOLDEN_ | 1;
}
