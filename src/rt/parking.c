/* parking.c: a worker that has no task searches, sleeps, and is woken.
 *
 * One of the workers that sleep is the keeper: it sleeps until the earliest timer. Work wakes the
 * others first.
 *
 * Invariants
 *   I1  a worker that parks has an empty slot and an empty ring
 *   I3  while a timer is started and a worker sleeps, the keeper sleeps no longer than until that
 *       timer, or is woken; or a worker is awake, which looks at the clock before it parks
 *
 * Races
 *   R1  Work is queued as a worker parks: idle.h R1, R2.
 *   R2  Interleaving: a worker reads the earliest deadline and parks; a thread starts a timer that
 *       is earlier, and sees no keeper. Prevented by: the worker makes itself the keeper, then sets
 *       its bit (idle:D4, an RMW), then reads the deadline. The thread sets the deadline, then does
 *       an RMW on the same word (idle:K2), then looks for the keeper. One of the two RMWs is first.
 *   R3  Interleaving: the runtime ends while a worker parks. Prevented by: as for work. The worker
 *       reads is_over after its bit is set; the thread that ends the runtime sets is_over, and then
 *       looks for bits.
 *
 * Labels: worker */
#include "../core/futex.h"
#include "../core/spin.h"
#include "parts.h"

/* How often a worker searches all queues before it sleeps. */
#ifndef VOLT_RT_SEARCH_ROUNDS
#define VOLT_RT_SEARCH_ROUNDS 16
#endif

/* ---- wake others ---- */

/* The bit of sleeper was cleared. */
static void parking_unpark(volt_rt *rt, unsigned sleeper) {
  bool by_hand = rt->config.flags & VOLT_RT_BY_HAND;
  if (by_hand && sleeper == VOLT_BY_HAND_LOOP_) {
    volt_idle_look_(&rt->idle); /* by_hand.c R3 */
    if (rt->config.waker.wake) rt->config.waker.wake(rt->config.waker.ctx);
  } else {
    volt_unpark(&rt->worker[by_hand ? 0 : sleeper].parker);
  }
}

void volt_rt_work_queued_(volt_rt *rt) {
  unsigned keeper = volt_load_relaxed(&rt->keeper); /* hint only: any worker would do */
  unsigned woken = volt_idle_wake_one_(&rt->idle, keeper - 1);
  if (woken < VOLT_IDLE_WORKERS) parking_unpark(rt, woken);
}

void volt_rt_timer_started_(void *ctx) {
  volt_rt *rt = (volt_rt *)ctx;
  volt_idle_look_(&rt->idle); /* R2 */
  /* worker:K4 <- worker:K3: the thread that starts a timer sees which worker keeps the time */
  unsigned keeper = volt_load_acquire(&rt->keeper);
  if (keeper == 0) {
    volt_rt_work_queued_(rt);
  } else if (volt_idle_claim_(&rt->idle, keeper - 1)) {
    parking_unpark(rt, keeper - 1);
  }
}

void volt_rt_rouse_(void *ctx) {
  volt_rt *rt = (volt_rt *)ctx;
  volt_idle_look_(&rt->idle); /* by_hand.c R2 */
  if (volt_idle_claim_(&rt->idle, VOLT_BY_HAND_THREAD_)) parking_unpark(rt, VOLT_BY_HAND_THREAD_);
}

/* ---- search, sleep ---- */

bool volt_rt_is_any_queued_(volt_rt *rt) {
  if (volt_inject_length_(&rt->inject) > 0) return true;
  for (unsigned i = 0; i < rt->workers; i++) {
    if (volt_ring_has_any_(&rt->worker[i].ring)) return true;
  }
  return false;
}

/* A hint, for a worker that is about to poll: whether a timer is started and no worker keeps the
 * time. */
static bool parking_is_time_unkept(volt_rt *rt) {
  return volt_load_relaxed(&rt->keeper) == 0 && /* a new keeper reads the deadline after that */
         volt_timers_earliest_ns(&rt->timers) != VOLT_NO_DEADLINE;
}

/* It wakes a worker for the tasks that are left, or to keep the time. */
void volt_worker_found_(volt_worker *w) {
  volt_rt *rt = w->rt;
  w->is_searching = false;
  bool last = volt_idle_found_(&rt->idle);
  if (last && (volt_rt_is_any_queued_(rt) || parking_is_time_unkept(rt))) volt_rt_work_queued_(rt);
}

static uint64_t parking_next_random(volt_worker *w) {
  uint64_t x = w->random;
  x ^= x << 13;
  x ^= x >> 7;
  x ^= x << 17;
  return w->random = x;
}

static volt_task *parking_steal(volt_worker *w) {
  volt_rt *rt = w->rt;
  unsigned first = (unsigned)(parking_next_random(w) % rt->workers);
  volt_task *batch[VOLT_RT_BATCH_];
  for (unsigned i = 0; i < rt->workers; i++) {
    unsigned victim = (first + i) % rt->workers;
    if (victim == w->index) continue;
    unsigned count = volt_ring_steal_(&rt->worker[victim].ring, batch, VOLT_RT_BATCH_);
    if (count == 0) continue;
    for (unsigned at = 1; at < count; at++) volt_worker_push_back_(w, batch[at]);
    volt_worker_count_(&w->counts.steals, 1);
    volt_worker_count_(&w->counts.stolen, count);
    return batch[0];
  }
  return NULL;
}

volt_task *volt_worker_search_(volt_worker *w) {
  volt_rt *rt = w->rt;
  if (!w->is_searching) w->is_searching = volt_idle_search_(&rt->idle, rt->workers);
  volt_task *t = NULL;
  for (unsigned round = 0; w->is_searching && round < VOLT_RT_SEARCH_ROUNDS && !t; round++) {
    if (round > 0) volt_cpu_relax_();
    t = volt_worker_take_outside_(w);
    if (!t && rt->workers > 1) t = parking_steal(w);
  }
  if (t) volt_worker_found_(w);
  return t;
}

/* Returns the deadline until which this worker sleeps: R2. */
static uint64_t parking_keep_time(volt_rt *rt, bool is_keeper) {
  if (!is_keeper || (rt->config.flags & VOLT_RT_VIRTUAL_CLOCK)) return VOLT_NO_DEADLINE;
  return volt_timers_earliest_ns(&rt->timers);
}

static bool parking_become_keeper(volt_worker *w) {
  uint32_t none = 0;
  /* worker:K3 -> worker:K4: the thread that starts a timer sees which worker keeps the time */
  return volt_cas_acq_rel(&w->rt->keeper, &none, w->index + 1);
}

bool volt_worker_sleep_(volt_worker *w, unsigned sleeper, uint64_t deadline_ns) {
  volt_rt *rt = w->rt;
  volt_worker_count_(&w->counts.parks, 1);
  if (volt_park_spin_(&w->parker, 1, deadline_ns, VOLT_PARK_SPIN, 0) == VOLT_OK) return true;
  if (volt_idle_claim_(&rt->idle, sleeper)) return false; /* idle.h R4 */
  volt_park_spin_(&w->parker, 1, VOLT_NO_DEADLINE, VOLT_PARK_SPIN, 0);
  return true;
}

void volt_worker_park_(volt_worker *w) {
  volt_rt *rt = w->rt;
  VOLT_ASSERT(!w->lifo && volt_ring_count_(&w->ring) == 0); /* I1 */
  volt_store_relaxed(&w->parker.word, 0); /* new: the bit is clear, so no unpark is on its way */
  bool is_keeper = parking_become_keeper(w);
  volt_idle_park_(&rt->idle, w->index, w->is_searching); /* R1, R2, R3 */
  w->is_searching = true;
  bool work = volt_rt_is_any_queued_(rt) || volt_rt_is_over_(rt);
  if (!work || !volt_idle_claim_(&rt->idle, w->index)) {
    volt_worker_sleep_(w, w->index, parking_keep_time(rt, is_keeper));
  }
  /* worker:K3 -> worker:K4: the thread that starts a timer sees which worker keeps the time */
  if (is_keeper) volt_exchange_acq_rel(&rt->keeper, 0);
}

void volt_worker_end_search_(volt_worker *w) {
  if (w->is_searching) volt_idle_found_(&w->rt->idle);
  w->is_searching = false;
}
