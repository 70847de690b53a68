/* worker.c: a worker takes a task, polls it, and takes the next; if there is none it searches, and
 * sleeps.
 *
 * Algorithm: what a task wakes goes to the worker's LIFO slot, for what was just granted is warm
 * and others wait for it; what was there goes to the ring. The slot is polled at most three times
 * in a row, so two tasks that wake each other do not keep the rest out. Each so many polls the
 * worker looks at the injection queue first, and at the clock; so many that it is a fifth of a
 * millisecond or so.
 *
 * One of the workers that sleep is the keeper: it sleeps until the earliest timer. Work wakes the
 * others first.
 *
 * Invariants
 *   I1  a worker that parks has an empty slot and an empty ring
 *   I2  a task that is queued is found: by this worker, in its own queues; in others by whoever is
 *       awake or was woken for it (idle.h, I2)
 *   I3  a worker that sleeps and a timer that is started: the keeper sleeps no longer than until
 *       the timer, or is woken; or a worker is awake, which looks at the clock before it parks
 *
 * Race R1: what idle.h is about.
 * Race R2: a worker reads the earliest deadline and parks; a timer that is earlier is started, and
 *   whoever started it sees no keeper. Closed: the keeper sets itself, then its bit (D4 in idle.h,
 *   an RMW), then reads the deadline; the driver is called after the deadline is set, and does an
 *   RMW on the same word (K2) before it looks for the keeper. One of the RMWs is the earlier.
 * Race R4: Interleaving: a thread runs the runtime by hand until a task has ended, finds that it
 *   has not, and sleeps; a late wake on another thread ends the task, or the last call on the
 *   blocking pool returns or is given up, and neither puts anything into a queue. Prevented by, as
 *   in R2: the thread looks at both again after its bit is set (D4); the other thread does an RMW
 *   on the same word (K2) before it looks for the bit.
 * Race R5: Interleaving: volt_rt_run() sets the bit by which it asks to be called again; before it
 *   has returned, another thread is told, and calls it. Prevented by: volt_rt_run() says that it
 *   leaves before it sets the bit. The other thread waits for it, a few dozen instructions; and if
 *   the other thread was told already, the one that leaves does not go on.
 * Race R3: the runtime ends while a worker parks. Closed: as for work: is_over is among what is
 *   looked at after the bit is set.
 *
 * Pairs
 *   K1 (seq_cst, idle.h D4) <-> K2 (acq_rel)   R2
 *   K3 (acq_rel) -> K4 (acquire)               the driver sees who is the keeper
 *   O1 (seq_cst) -> O2 (seq_cst)               with D4: R3
 *   H2 (release) -> H1 (acquire)               by hand: one thread after the other
 *   H3 (seq_cst, idle.h D4) -> H4 (acq_rel)    who is told that it is to be called sees that it leaves */
#include "../core/check.h"
#include "../core/futex.h"
#include "../core/spin.h"
#include "parts.h"

/* How often a worker looks at everybody before it sleeps. */
#ifndef VOLT_RT_SEARCH_ROUNDS
#define VOLT_RT_SEARCH_ROUNDS 16
#endif

enum {
  LIFO_IN_A_ROW = 3,
  BATCH = 128,  /* tasks that are moved at once */
  LOOK_MIN = 8, /* polls between two looks at the injection queue */
  LOOK_MAX = 127,
  LOOK_FIRST = 61,
  LOOK_NS = 200000,
  BY_HAND_POLLS = 4096 /* before the loop around it has its turn */
};

/* By hand there are two that may sleep, and each has its bit: the loop around it, whose waker is
 * called, and a thread in volt_rt_run_until(), which is unparked as a worker is. */
enum { LOOP = 0, THREAD = 1 };

/* volt_rt.is_run */
enum { NOT_RUN = 0, IS_RUN = 1, LEAVES = 2 };

volt_rt *volt_rt_current(void) {
  return volt_thread_here_()->rt;
}

/* This thread runs the tasks of w's runtime from here on; or none any more. */
static void begin_here(volt_worker *w) {
  volt_here_ *here = volt_thread_here_();
  here->rt = w->rt;
  here->worker = w;
}

static void end_here(void) {
  volt_here_ *here = volt_thread_here_();
  here->rt = NULL;
  here->worker = NULL;
}

static void add(VOLT_ATOMIC(uint64_t) *counter, uint64_t n) {
  uint64_t before = volt_load_relaxed(counter); /* this worker alone writes it */
  volt_store_relaxed(counter, before + n);      /* for statistics */
}

/* ---- wake others ---- */

/* sleeper: whose bit was cleared. */
static void unpark(volt_rt *rt, unsigned sleeper) {
  bool by_hand = rt->config.flags & VOLT_RT_BY_HAND;
  if (by_hand && sleeper == LOOP) {
    volt_idle_look_(&rt->idle); /* H4: pairs H3; R5 */
    if (rt->config.waker.wake) rt->config.waker.wake(rt->config.waker.ctx);
  } else {
    volt_unpark(&rt->worker[by_hand ? 0 : sleeper].parker);
  }
}

void volt_rt_work_queued_(volt_rt *rt) {
  unsigned keeper = volt_load_relaxed(&rt->keeper); /* hint only: any worker would do */
  unsigned woken = volt_idle_wake_one_(&rt->idle, keeper - 1);
  if (woken < VOLT_IDLE_WORKERS) unpark(rt, woken);
}

void volt_rt_timer_started_(void *ctx) {
  volt_rt *rt = (volt_rt *)ctx;
  volt_idle_look_(&rt->idle); /* K2: pairs K1; R2 */
  /* worker:K4 <- worker:K3: the driver sees who is the keeper */
  unsigned keeper = volt_load_acquire(&rt->keeper);
  if (keeper == 0) {
    volt_rt_work_queued_(rt);
  } else if (volt_idle_claim_(&rt->idle, keeper - 1)) {
    unpark(rt, keeper - 1);
  }
}

void volt_rt_rouse_(void *ctx) {
  volt_rt *rt = (volt_rt *)ctx;
  volt_idle_look_(&rt->idle); /* K2: pairs K1; R4 */
  if (volt_idle_claim_(&rt->idle, THREAD)) unpark(rt, THREAD);
}

/* ---- queue ---- */

/* The ring is full: move half of it to the injection queue, the older one, and t after it. */
static void overflow(volt_worker *w, volt_task *t) {
  volt_task *batch[BATCH];
  unsigned count = volt_ring_steal_(&w->ring, batch, BATCH);
  for (unsigned i = 0; i + 1 < count; i++) batch[i]->next = batch[i + 1];
  if (count > 0) batch[count - 1]->next = t;
  volt_inject_push_(&w->rt->inject, count > 0 ? batch[0] : t, t, count + 1);
  add(&w->counts.overflows, 1);
}

/* Behind all others of this worker. */
static void push_back(volt_worker *w, volt_task *t) {
  if (volt_ring_is_full_(&w->ring)) {
    overflow(w, t);
  } else {
    volt_ring_push_(&w->ring, t);
  }
}

/* The same, and see to it that another worker comes: the task that runs may do so for long. */
static void push_seen(volt_worker *w, volt_task *t) {
  if (w->rt->workers == 1) {
    push_back(w, t);
    return;
  }
  if (volt_ring_is_full_(&w->ring)) {
    overflow(w, t);
  } else {
    volt_ring_push_seen_(&w->ring, t);
  }
  volt_rt_work_queued_(w->rt);
}

/* A task was woken or spawned on its own worker: it is next, and who was next is queued. */
static void push_lifo(volt_worker *w, volt_task *t) {
  volt_task *before = w->lifo;
  w->lifo = t;
  if (before) push_seen(w, before);
}

void volt_rt_schedule_(volt_task *t, volt_rt_order_ order) {
  volt_rt *rt = t->rt;
  volt_here_ *here = volt_thread_here_();
  if (here->rt == rt) {
    if (order == VOLT_RT_NEXT_) {
      push_lifo(here->worker, t);
    } else {
      push_seen(here->worker, t);
    }
  } else {
    volt_inject_push_(&rt->inject, t, t, 1);
    volt_rt_work_queued_(rt);
  }
}

/* ---- take ---- */

/* From the injection queue, this worker's share of it: behind its own, in order. Returns one of
 * them only if there is no room for it. */
static volt_task *take_injected(volt_worker *w) {
  volt_inject *inject = &w->rt->inject;
  uint64_t length = volt_inject_length_(inject);
  if (length == 0) return NULL;
  volt_task *batch[BATCH];
  uint64_t share = length / w->rt->workers + 1;
  uint32_t room = VOLT_RT_RING - volt_ring_count_(&w->ring);
  unsigned max = share < BATCH ? (unsigned)share : BATCH;
  unsigned count = volt_inject_pop_(inject, batch, max < room ? max : room ? room : 1);
  add(&w->counts.injected, count);
  if (room == 0) return count > 0 ? batch[0] : NULL;
  for (unsigned i = 0; i < count; i++) push_back(w, batch[i]);
  return NULL;
}

/* The next of those from outside, behind those of this worker. */
static volt_task *take_outside(volt_worker *w) {
  volt_task *t = take_injected(w);
  return t ? t : volt_ring_pop_(&w->ring);
}

static uint64_t next_random(volt_worker *w) {
  uint64_t x = w->random;
  x ^= x << 13;
  x ^= x >> 7;
  x ^= x << 17;
  return w->random = x;
}

static volt_task *steal(volt_worker *w) {
  volt_rt *rt = w->rt;
  unsigned first = (unsigned)(next_random(w) % rt->workers);
  volt_task *batch[BATCH];
  for (unsigned i = 0; i < rt->workers; i++) {
    unsigned victim = (first + i) % rt->workers;
    if (victim == w->index) continue;
    unsigned count = volt_ring_steal_(&rt->worker[victim].ring, batch, BATCH);
    if (count == 0) continue;
    for (unsigned at = 1; at < count; at++) push_back(w, batch[at]);
    add(&w->counts.steals, 1);
    add(&w->counts.stolen, count);
    return batch[0];
  }
  return NULL;
}

/* Expire what is due. Returns whether anything was. */
static bool look_at_clock(volt_worker *w) {
  volt_timers *timers = &w->rt->timers;
  uint64_t earliest_ns = volt_timers_earliest_ns(timers);
  if (earliest_ns == VOLT_NO_DEADLINE) return false;
  uint64_t now_ns = volt_timers_now_ns(timers);
  return earliest_ns <= now_ns && volt_timers_expire(timers, now_ns) > 0;
}

/* How many polls fit between two looks, by how long the last ones took. */
static void adapt_look(volt_worker *w) {
  uint64_t now_ns = volt_now_ns();
  uint64_t each_ns = (now_ns - w->looked_ns) / w->look_period;
  uint64_t want = each_ns > 0 ? LOOK_NS / each_ns : LOOK_MAX;
  if (want < LOOK_MIN) want = LOOK_MIN;
  if (want > LOOK_MAX) want = LOOK_MAX;
  if (want > w->look_period) want = (3 * w->look_period + want) / 4; /* longer slowly */
  w->look_period = (unsigned)want;
  w->looked_ns = now_ns;
}

static volt_task *take_lifo(volt_worker *w) {
  volt_task *t = w->lifo;
  if (!t) return NULL;
  w->lifo = NULL;
  if (w->lifo_run == LIFO_IN_A_ROW) {
    push_back(w, t);
    return NULL;
  }
  w->lifo_run += 1;
  add(&w->counts.lifo_hits, 1);
  return t;
}

/* The next task of this worker's own, or now and then of those from outside. */
static volt_task *take(volt_worker *w) {
  if (w->until_look == 0) {
    adapt_look(w);
    w->until_look = w->look_period;
    look_at_clock(w);
    volt_task *t = take_injected(w);
    if (t) return t;
  }
  volt_task *t = take_lifo(w);
  if (t) return t;
  w->lifo_run = 0;
  return volt_ring_pop_(&w->ring);
}

/* Poll it. Others may be taken while it runs. */
static void run(volt_worker *w, volt_task *t) {
  /* a hint: this worker comes to them at the latest */
  if (volt_idle_wants_work_(&w->rt->idle) && volt_ring_count_(&w->ring) > 0) {
    volt_rt_work_queued_(w->rt);
  }
  w->until_look -= w->until_look > 0;
  add(&w->counts.polls, 1);
  w->running = t;
  volt_ran_ ran = volt_task_run_(t);
  w->running = NULL;
  if (ran == VOLT_RAN_AGAIN_) push_back(w, t);
}

/* The task that runs, or a waker, is about to block this worker. */
static void blocks(volt_no_block_ *no_block, const char *call) {
  volt_worker *w = volt_container_of(no_block, volt_worker, no_block);
  volt_rt *rt = w->rt;
  if (rt->config.hooks.blocks) {
    rt->config.hooks.blocks(call, w->running, rt->config.hooks.ctx);
    return;
  }
#if VOLT_DEBUG
  VOLT_CHECK(false, call,
             "task %p: a thread that runs tasks must not block: await a future instead",
             (void *)w->running);
#endif
  uint32_t said = volt_exchange_relaxed(&rt->has_said, 1); /* one of them says so */
  if (said) return;
  volt_warn_(call, "task %p blocks worker %u of runtime %p: await a future instead (said once)",
             (void *)w->running, w->index, (void *)rt);
}

/* ---- search, sleep ---- */

/* Whether there is work that any worker may take. For idle.h: after D4 or D5. */
static bool is_any_queued(volt_rt *rt) {
  if (volt_inject_length_(&rt->inject) > 0) return true;
  for (unsigned i = 0; i < rt->workers; i++) {
    if (volt_ring_has_any_(&rt->worker[i].ring)) return true;
  }
  return false;
}

/* Whether a timer may come before anybody looks at the clock: a hint, for who is going to poll. */
static bool is_time_unkept(volt_rt *rt) {
  return volt_load_relaxed(&rt->keeper) == 0 && /* who becomes it reads the deadline after that */
         volt_timers_earliest_ns(&rt->timers) != VOLT_NO_DEADLINE;
}

/* It has found work. Others are woken for what it leaves behind, and to keep the time. */
static void stop_searching(volt_worker *w) {
  if (!w->is_searching) return;
  volt_rt *rt = w->rt;
  w->is_searching = false;
  bool last = volt_idle_found_(&rt->idle);
  if (last && (is_any_queued(rt) || is_time_unkept(rt))) volt_rt_work_queued_(rt);
}

static volt_task *search(volt_worker *w) {
  volt_rt *rt = w->rt;
  if (!w->is_searching) w->is_searching = volt_idle_search_(&rt->idle, rt->workers);
  volt_task *t = NULL;
  for (unsigned round = 0; w->is_searching && round < VOLT_RT_SEARCH_ROUNDS && !t; round++) {
    if (round > 0) volt_cpu_relax_();
    t = take_outside(w);
    if (!t && rt->workers > 1) t = steal(w);
  }
  if (t) stop_searching(w);
  return t;
}

/* Returns the deadline that this worker sleeps until: R2. */
static uint64_t keep_time(volt_rt *rt, bool is_keeper) {
  if (!is_keeper || (rt->config.flags & VOLT_RT_VIRTUAL_CLOCK)) return VOLT_NO_DEADLINE;
  return volt_timers_earliest_ns(&rt->timers);
}

static bool become_keeper(volt_worker *w) {
  uint32_t none = 0;
  /* worker:K3 -> worker:K4: the driver sees who is the keeper */
  return volt_cas_acq_rel(&w->rt->keeper, &none, w->index + 1);
}

/* The bit is set. Sleep until somebody clears it, who then counts this worker as searching.
 * Returns false: it was this thread that has cleared it, because the time has come. */
static bool sleep_until(volt_worker *w, unsigned sleeper, uint64_t deadline_ns) {
  volt_rt *rt = w->rt;
  add(&w->counts.parks, 1);
  if (volt_park_spin_(&w->parker, 1, deadline_ns, VOLT_PARK_SPIN, 0) == VOLT_OK) return true;
  if (volt_idle_claim_(&rt->idle, sleeper)) return false; /* idle.h R4 */
  volt_park_spin_(&w->parker, 1, VOLT_NO_DEADLINE, VOLT_PARK_SPIN, 0);
  return true;
}

static bool is_over(volt_rt *rt) {
  return volt_load_seq_cst(&rt->is_over) != 0; /* worker:O2 <-> runtime:O1: TODO-REASON */
}

static void park(volt_worker *w) {
  volt_rt *rt = w->rt;
  VOLT_ASSERT(!w->lifo && volt_ring_count_(&w->ring) == 0); /* I1 */
  volt_store_relaxed(&w->parker.word, 0); /* new: the bit is clear, so nobody is to unpark it */
  bool is_keeper = become_keeper(w);
  volt_idle_park_(&rt->idle, w->index, w->is_searching); /* D4, K1 */
  w->is_searching = true;
  bool work = is_any_queued(rt) || is_over(rt);
  if (!work || !volt_idle_claim_(&rt->idle, w->index)) {
    sleep_until(w, w->index, keep_time(rt, is_keeper));
  }
  /* worker:K3 -> worker:K4: the driver sees who is the keeper */
  if (is_keeper) volt_exchange_acq_rel(&rt->keeper, 0);
}

static void end_of_search(volt_worker *w) {
  if (w->is_searching) volt_idle_found_(&w->rt->idle);
  w->is_searching = false;
}

void volt_worker_main_(void *arg) {
  volt_worker *w = (volt_worker *)arg;
  begin_here(w);
  *volt_thread_may_not_block_() = &w->no_block;
  *volt_thread_random_() = w->random;
  while (!is_over(w->rt)) {
    volt_task *t = take(w);
    if (!t && look_at_clock(w)) continue;
    if (!t) t = search(w);
    if (!t) {
      park(w);
      continue;
    }
    stop_searching(w);
    run(w, t);
  }
  end_of_search(w);
  *volt_thread_may_not_block_() = NULL;
  end_here();
}

/* ---- by hand ---- */

/* The bit may be set: this thread looks for work itself from here on. If somebody has cleared it
 * before, the loop's waker was called for that, and a thread is owed an unpark. Returns whether nobody
 * has. */
static bool stop_sleeping(volt_worker *w, unsigned sleeper) {
  bool cleared = volt_idle_claim_(&w->rt->idle, sleeper);
  if (!cleared && sleeper == THREAD && w->is_searching) {
    volt_park_spin_(&w->parker, 1, VOLT_NO_DEADLINE, VOLT_PARK_SPIN, 0);
  }
  end_of_search(w);
  return cleared;
}

/* Poll at most BY_HAND_POLLS times, or until that task has ended; until: NULL: none. Returns
 * whether there is nothing left to poll. */
static bool run_ready(volt_worker *w, volt_task *until) {
  for (unsigned polls = 0; polls < BY_HAND_POLLS;) {
    volt_task *t = take(w);
    if (!t && look_at_clock(w)) continue;
    if (!t) t = take_outside(w);
    if (!t) return true;
    run(w, t);
    polls += 1;
    if (until && volt_task_result(until) != VOLT_PENDING) return false;
  }
  return false;
}

/* Returns whether nothing is ready, or the loop was told that something is. */
static bool run_until_idle(volt_worker *w, unsigned sleeper, volt_task *until) {
  volt_rt *rt = w->rt;
  for (;;) {
    if (!run_ready(w, until)) return false;
    volt_store_relaxed(&w->parker.word, 0); /* new: the bit is clear, so nobody is to unpark it */
    w->is_searching = true;                 /* from when the bit is cleared */
    /* relaxed: who is told that it is to be run sees it: H3 */
    if (sleeper == LOOP) volt_store_relaxed(&rt->is_run, LEAVES);
    volt_idle_park_(&rt->idle, sleeper, 0); /* D4, K1, H3 */
    if (!is_any_queued(rt)) return true;
    if (!stop_sleeping(w, sleeper) && sleeper == LOOP) return true; /* R5 */
    volt_store_relaxed(&rt->is_run, IS_RUN);                        /* nobody was told */
  }
}

/* One thread at a time, and no task of it. */
static void begin_by_hand(volt_worker *w, const char *call) {
  VOLT_CHECK(!volt_rt_current(), call, "%p: called from a task", (void *)w->rt);
  unsigned looks = 0;
  uint32_t seen = NOT_RUN;
  /* worker:H1 <- worker:H2: TODO-REASON */
  while (!volt_cas_acquire(&w->rt->is_run, &seen, IS_RUN)) {
    VOLT_CHECK(seen != IS_RUN, call, "%p: two threads run it at once", (void *)w->rt);
    if (seen == LEAVES) volt_pause_(&looks); /* R5 */
    seen = NOT_RUN;
  }
  stop_sleeping(w, LOOP);
}

static void end_by_hand(volt_worker *w) {
  volt_store_release(&w->rt->is_run, NOT_RUN); /* worker:H2 -> worker:H1: TODO-REASON */
}

static bool run_by_hand(volt_worker *w, unsigned sleeper, volt_task *until) {
  volt_no_block_ **may_not_block = volt_thread_may_not_block_();
  volt_no_block_ *before = *may_not_block;
  *may_not_block = &w->no_block;
  begin_here(w);
  uint64_t random = *volt_thread_random_();
  *volt_thread_random_() = w->random;
  bool idle = run_until_idle(w, sleeper, until);
  w->random = *volt_thread_random_();
  *volt_thread_random_() = random;
  end_here();
  *may_not_block = before;
  return idle;
}

uint64_t volt_worker_run_by_hand_(volt_worker *w) {
  begin_by_hand(w, "volt_rt_run");
  bool idle = run_by_hand(w, LOOP, NULL);
  uint64_t next_ns = idle ? volt_timers_earliest_ns(&w->rt->timers) : 0;
  end_by_hand(w);
  return next_ns;
}

void volt_worker_begin_until_(volt_worker *w) {
  begin_by_hand(w, "volt_rt_run_until");
}

bool volt_worker_run_until_(volt_worker *w, volt_task *until) {
  stop_sleeping(w, THREAD);
  return run_by_hand(w, THREAD, until);
}

bool volt_worker_sleep_until_(volt_worker *w, uint64_t deadline_ns) {
  bool woken = sleep_until(w, THREAD, deadline_ns);
  end_of_search(w);
  return woken;
}

void volt_worker_end_until_(volt_worker *w) {
  stop_sleeping(w, THREAD);
  end_by_hand(w);
}

void volt_worker_init_(volt_worker *w, volt_rt *rt, unsigned index) {
  volt_ring_init_(&w->ring);
  w->lifo = NULL;
  w->running = NULL;
  w->no_block.blocks = blocks;
  w->rt = rt;
  w->index = index;
  w->lifo_run = 0;
  w->is_searching = rt->config.flags & VOLT_RT_BY_HAND; /* its bit is set: nobody runs it yet */
  w->until_look = 0;
  w->look_period = LOOK_FIRST;
  w->looked_ns = volt_now_ns();
  w->random = (rt->config.seed + index + 1) * UINT64_C(0x9e3779b97f4a7c15) | 1;
}
