/* parking.c: a worker that has no task searches, sleeps, and is woken.
 *
 * To wake a worker costs more than most polls. So while a worker is awake, one of those that sleep
 * watches: it comes back by itself every 0.75 ms, sees whether anything waits that no
 * worker takes, and takes it. While there is a watcher, a worker that goes to poll wakes none to
 * take its place, nor for a few tasks that it comes to itself while its polls are short. A watcher
 * that comes back and sees that no task was polled meanwhile, or that one of those awake has polled
 * none, watches no longer: all sleep; or a poll takes long, and until it is over none watches, and
 * all that is queued wakes a worker at once. So an idle program makes no wakes, and what another
 * worker can take waits behind a long poll for a millisecond at most, and only at its beginning.
 *
 * One of the workers that sleep is the keeper: it sleeps until the earliest timer. Work wakes the
 * others first. While a worker is awake and another one watches, there need not be a keeper: the
 * last worker that goes to sleep is the keeper.
 *
 * A worker of a runtime with a driver may have to sleep there (driver.h), and not on its parker.
 * The parker's word says so (park.c R3), so the thread that unparks it knows whether to ring its
 * doorbell. Work wakes those on their parkers first, because that costs less.
 *
 * Invariants
 *   I1  a worker that parks has an empty slot, an empty ring, and no task in its own list (home.h)
 *   I3  while a timer is started and a worker sleeps, the keeper sleeps no longer than until that
 *       timer, or is woken; or a worker is awake, which looks at the clock before it parks
 *   I4  while the driver wants a keeper and a worker sleeps, there is a keeper, or one watches, or
 *       a worker is awake that will look for one when it has found work, or will park
 *   I6  a worker that watches sleeps for WATCH_NS at most, and is not the keeper
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
 *   R4  Interleaving: a thread leaves mail for a worker, and does not see its bit; the worker does
 *       not see the mail, and sleeps. Prevented by: as in R2. The worker looks for mail after its
 *       bit is set (idle:D4). The thread leaves the mail, then does an RMW on the same word
 *       (idle:K2), then looks for the bit. For a task that this worker alone may take: home.h R1.
 *   R5  Interleaving: the driver ends the sleep of a worker while another thread clears its bit and
 *       is about to unpark it. Prevented by: the worker first says that it sleeps in the driver no
 *       more, by an RMW on its parker's word, and then clears its bit. If the bit was cleared
 *       already, it parks for that unpark, which sees where it sleeps (idle.h R4, park.c R3).
 *   R6  Interleaving: a thread counts an unpark; the worker goes on, and may be gone with the whole
 *       runtime; the thread reads there which doorbell to ring. Prevented by: it reads that before
 *       it counts, and the doorbell lives on (doorbell.h R1).
 *   R7  Interleaving: the keeper finds work as no timer is started and the driver wants no keeper, and
 *       polls for long; then a thread, or that poll, starts a timer or makes the driver want one, and
 *       the workers that sleep are not woken. Prevented by: the thread does an RMW on the idle word
 *       (idle:K2), and then looks for the keeper. If it sees none, it wakes a worker. If it sees the
 *       keeper that is about to poll, that worker's RMW (idle:D5) is the later one, so it sees the
 *       timer, or what the driver wants.
 *   R8  Interleaving: the keeper finds work, and is not the last that searches; so it wakes none, and
 *       polls for long. The one that still searches finds nothing, and has tried to be the keeper
 *       before that: it sleeps, and there is no keeper. Prevented by: a worker that is not the keeper
 *       looks after its bit is set (idle:D4) whether there has to be one and is none. The keeper gives
 *       that up, then does its RMW (idle:D5), which finds the other one searching; so D4 is the later
 *       one, and sees it. If there is a watcher at D4, that one comes back.
 *   R9  Interleaving: two workers go to sleep, and each sees the other one awake, so none is the keeper.
 *       Prevented by: the first of them watches, if no other one does. That one comes back,
 *       sees that no task was polled, and makes itself the keeper.
 *   R10 Interleaving: a worker goes to sleep, and counts on the watcher; another thread claims the
 *       watcher for a task, which is polled for long. Prevented by: whether there is a watcher is read
 *       by the CAS that sets the bit (idle:D4). The claimed one counts as searching from then on, so
 *       the last that stops finds that none watches, and looks whether a keeper is due.
 *
 * Labels: worker */
#include "parking.h"
#include "../../core/os/futex.h"
#include "../../core/os/probe.h"
#include "../../core/park/spin.h"
#include "../host/by_hand.h"
#include "../host/doorbell.h"
#include "idle.h"
#include "inject.h"
#include "ring.h"
#include "thread.h"

/* How often a worker searches all queues before it sleeps. */
#ifndef VOLT_RT_SEARCH_ROUNDS
#define VOLT_RT_SEARCH_ROUNDS 16
#endif

/* How long a watcher sleeps. */
#ifndef VOLT_RT_WATCH_NS
#define VOLT_RT_WATCH_NS 750000
#endif

/* ---- wake others ---- */

/* What the driver completes in sleep() may be work for which the worker wakes itself: then sleep()
 * is about to return, and needs no ring. */
void volt_worker_unpark_(volt_worker *w) {
  volt_doorbell *doorbell = w->doorbell; /* R6 */
  if (!volt_unpark_elsewhere_(&w->parker)) return;
  if (volt_thread_here_()->worker != w) volt_doorbell_ring_(doorbell);
}

/* The loop around volt_rt_run() has its waker, and may watch the driver's descriptor. */
static void parking_wake_loop(volt_rt *rt) {
  volt_idle_fence_(&rt->idle); /* by_hand.c R3 */
  volt_waker waker = rt->config.waker;
  if (rt->driver) volt_doorbell_ring_(rt->worker[0].doorbell);
  if (waker.wake) waker.wake(waker.ctx);
}

/* The bit of sleeper was cleared. */
static void parking_unpark(volt_rt *rt, unsigned sleeper) {
  volt_worker *self = volt_worker_here_(rt);
  if (self) volt_worker_count_(&self->counts.wakes, 1);
  bool by_hand = rt->config.flags & VOLT_RT_BY_HAND;
  if (by_hand && sleeper == VOLT_BY_HAND_LOOP_) {
    parking_wake_loop(rt);
  } else {
    volt_worker_unpark_(&rt->worker[by_hand ? 0 : sleeper]);
  }
}

/* Wake that sleeper if it sleeps. Returns whether it did. */
static bool parking_wake(volt_rt *rt, unsigned sleeper) {
  bool sleeps = volt_idle_claim_(&rt->idle, sleeper);
  if (sleeps) parking_unpark(rt, sleeper);
  return sleeps;
}

/* The same, for a task that was queued for it alone. */
static bool parking_wake_alone(volt_rt *rt, unsigned sleeper) {
  bool sleeps = volt_idle_claim_alone_(&rt->idle, sleeper);
  if (sleeps) parking_unpark(rt, sleeper);
  return sleeps;
}

static void parking_wake_one(volt_rt *rt, bool is_urgent) {
  uint32_t keeper = volt_load_relaxed(&rt->keeper); /* hints only: any worker would do */
  uint64_t driven = volt_load_relaxed(&rt->driven); /* as above */
  unsigned woken = volt_idle_wake_one_(&rt->idle, keeper, driven, is_urgent);
  if (woken < VOLT_IDLE_WORKERS) parking_unpark(rt, woken);
}

void volt_rt_work_queued_(volt_rt *rt) {
  parking_wake_one(rt, true);
}

void volt_worker_wake_for_little_(volt_rt *rt) {
  parking_wake_one(rt, false);
}

void volt_rt_timer_started_(void *ctx) {
  volt_rt *rt = (volt_rt *)ctx;
  volt_idle_fence_(&rt->idle); /* R2, R7 */
  /* worker:K4 <- worker:K3: the thread that starts a timer sees which worker keeps the time */
  unsigned keeper = volt_load_acquire(&rt->keeper);
  if (keeper == 0) {
    volt_worker_wake_for_little_(rt);
  } else {
    parking_wake(rt, keeper - 1);
  }
}

void volt_rt_keeper_wanted_(volt_rt *rt) {
  volt_idle_fence_(&rt->idle); /* R7 */
  /* worker:K4 <- worker:K3: the thread that wants a keeper sees which worker is the keeper */
  if (volt_load_acquire(&rt->keeper) == 0) volt_worker_wake_for_little_(rt);
}

void volt_rt_rouse_(void *ctx) {
  volt_rt *rt = (volt_rt *)ctx;
  volt_idle_fence_(&rt->idle); /* by_hand.c R2 */
  parking_wake(rt, VOLT_BY_HAND_THREAD_);
}

/* home.h R1. By hand, the loop or the thread: whichever has its bit set. */
void volt_rt_task_sent_(volt_rt *rt, unsigned worker) {
  bool by_hand = rt->config.flags & VOLT_RT_BY_HAND;
  if (!by_hand) {
    parking_wake_alone(rt, worker);
  } else if (!parking_wake_alone(rt, VOLT_BY_HAND_LOOP_)) {
    parking_wake_alone(rt, VOLT_BY_HAND_THREAD_);
  }
}

/* The worker is counted as searching, as by every wake, although mail may be all that there is for
 * it. That is right, because it does search when it has looked at the mail; or it finds work, and
 * is the last that searched (idle.h R2). */
void volt_rt_mail_left_(volt_rt *rt, unsigned worker) {
  volt_idle_fence_(&rt->idle); /* R4 */
  bool by_hand = rt->config.flags & VOLT_RT_BY_HAND;
  if (!by_hand) {
    parking_wake(rt, worker);
  } else if (!parking_wake(rt, VOLT_BY_HAND_LOOP_)) {
    parking_wake(rt, VOLT_BY_HAND_THREAD_);
  }
}

/* ---- search, sleep ---- */

bool volt_rt_is_any_queued_(volt_rt *rt) {
  if (volt_inject_length_(&rt->inject) > 0) return true;
  for (unsigned i = 0; i < rt->workers; i++) {
    if (volt_ring_has_any_(&rt->worker[i].ring)) return true;
  }
  return false;
}

/* Whether what is waited for would be seen by a keeper only. */
static bool parking_needs_keeper(volt_rt *rt) {
  if (volt_timers_earliest_ns(&rt->timers) != VOLT_NO_DEADLINE) return true;
  volt_driver_ *driver = rt->driver;
  return driver && driver->ops->wants_keeper && driver->ops->wants_keeper(driver);
}

/* Whether more is queued than the workers that are awake will have polled by the time that another one
 * has woken up. */
static bool parking_is_much_queued(volt_rt *rt) {
  if (volt_inject_length_(&rt->inject) > 0) return true;
  for (unsigned i = 0; i < rt->workers; i++) {
    if (volt_worker_has_backlog_(&rt->worker[i])) return true;
  }
  return false;
}

/* Whether no worker keeps the time although one has to: a hint, for a worker that is about to poll; for
 * one that is about to sleep see R8. */
static bool parking_is_time_unkept(volt_rt *rt) {
  return rt->workers > 1 &&
         volt_load_relaxed(&rt->keeper) == 0 && /* a new keeper reads the deadline after that */
         parking_needs_keeper(rt);
}

/* It wakes a worker for the tasks that are left, or to keep the time; while one watches, only for many
 * tasks. That many are left is a hint; the rest is not. */
void volt_worker_found_(volt_worker *w) {
  volt_rt *rt = w->rt;
  w->is_searching = false;
  w->back = VOLT_NOT_BACK_;
  uint64_t before = volt_idle_found_(&rt->idle);
  if (volt_idle_searching_(before) > 1) return;
  if (parking_is_much_queued(rt)) {
    volt_rt_work_queued_(rt);
  } else if (volt_idle_watcher_(before) == 0 &&
             (volt_rt_is_any_queued_(rt) || parking_is_time_unkept(rt))) {
    volt_worker_wake_for_little_(rt);
  }
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
    VOLT_PROBE4(steal, rt, w->index, victim, count);
    volt_worker_count_(&w->counts.steals, 1);
    volt_worker_count_(&w->counts.stolen, count);
    return batch[0];
  }
  return NULL;
}

/* How often to search. If no other worker is awake, and this one is going to sleep in the driver, what
 * completes there comes first to it when it sleeps, so it goes there at once. A watcher that has come
 * back is there to look once. */
static unsigned parking_rounds(volt_worker *w) {
  bool once = w->back == VOLT_BACK_TO_POLLS_ || volt_worker_goes_to_drive_(w);
  return once ? 1 : VOLT_RT_SEARCH_ROUNDS;
}

volt_task *volt_worker_search_(volt_worker *w) {
  volt_rt *rt = w->rt;
  if (!w->is_searching) w->is_searching = volt_idle_search_(&rt->idle, rt->workers);
  unsigned rounds = parking_rounds(w);
  volt_task *t = NULL;
  for (unsigned round = 0; w->is_searching && round < rounds && !t; round++) {
    if (round > 0) volt_cpu_relax_();
    t = volt_worker_take_outside_(w);
    if (!t && rt->workers > 1) t = parking_steal(w);
  }
  if (t) {
    volt_worker_found_(w);
  } else if (w->is_searching) {
    volt_worker_count_(&w->counts.empty_searches, 1);
  }
  return t;
}

/* Returns the deadline until which this worker sleeps: R2. */
static uint64_t parking_keep_time(volt_rt *rt, bool is_keeper) {
  if (!is_keeper || (rt->config.flags & VOLT_RT_VIRTUAL_CLOCK)) return VOLT_NO_DEADLINE;
  uint64_t timer_ns = volt_timers_earliest_ns(&rt->timers);
  uint64_t trim_ns = volt_load_relaxed(&rt->stacks.trim_ns); /* after idle:D4, as for a timer */
  return trim_ns != 0 && trim_ns < timer_ns ? trim_ns : timer_ns;
}

static void parking_give_up_keeping(volt_rt *rt) {
  /* worker:K3 -> worker:K4: the thread that starts a timer sees which worker keeps the time */
  volt_exchange_acq_rel(&rt->keeper, 0);
}

static bool parking_become_keeper(volt_worker *w) {
  uint32_t none = 0;
  /* worker:K3 -> worker:K4: the thread that starts a timer sees which worker keeps the time */
  return volt_cas_acq_rel(&w->rt->keeper, &none, w->index + 1);
}

static bool parking_must_drive(volt_worker *w, bool is_keeper) {
  volt_rt *rt = w->rt;
  volt_driver_ *driver = rt->driver;
  if (!driver || !driver->ops->must_sleep || rt->config.flags & VOLT_RT_VIRTUAL_CLOCK) return false;
  return driver->ops->must_sleep(driver, w->index,
                                 rt->workers == 1 || is_keeper); /* 1: also by hand */
}

/* keeper: it has stored that itself. */
static bool parking_must_drive_now(volt_worker *w) {
  return parking_must_drive(w, volt_load_relaxed(&w->rt->keeper) == w->index + 1);
}

/* A hint. */
bool volt_worker_goes_to_drive_(volt_worker *w) {
  volt_rt *rt = w->rt;
  if (rt->workers == 1) return parking_must_drive(w, true);
  if (!rt->may_watch || volt_worker_any_keeps_(rt)) return false;
  uint64_t word = volt_load_relaxed(&rt->idle.word); /* a hint */
  return volt_idle_is_alone_(word, w->index, rt->workers) && parking_must_drive(w, true);
}

/* Sleep in the driver. Returns whether the unpark has come. */
static bool parking_drive(volt_worker *w, unsigned sleeper, uint64_t deadline_ns) {
  volt_rt *rt = w->rt;
  uint64_t bit = UINT64_C(1) << sleeper;
  if (!volt_park_elsewhere_(&w->parker)) return true;
  volt_fetch_add_relaxed(&rt->driven, bit); /* a hint */
  unsigned events = rt->driver->ops->sleep(rt->driver, w->index, deadline_ns);
  w->has_driven = true;
  volt_fetch_add_relaxed(&rt->driven, UINT64_C(0) - bit); /* a hint */
  volt_worker_count_check_(w, events);
  return volt_park_was_elsewhere_(&w->parker);
}

/* A watcher that has come back to polls does not spin before it sleeps again. */
bool volt_worker_sleep_(volt_worker *w, unsigned sleeper, uint64_t deadline_ns) {
  volt_rt *rt = w->rt;
  unsigned spins = w->back == VOLT_BACK_TO_POLLS_ ? 0 : VOLT_PARK_SPIN;
  volt_worker_count_(&w->counts.parks, 1);
  bool woken = parking_must_drive_now(w) ? parking_drive(w, sleeper, deadline_ns)
                                         : volt_park_spin_(VOLT_KIND_WORKER_, &w->parker, 1,
                                                           deadline_ns, spins, 0) == VOLT_OK;
  if (!woken && !volt_idle_claim_(&rt->idle, sleeper)) { /* R5, idle.h R4 */
    volt_park_spin_(VOLT_KIND_WORKER_, &w->parker, 1, VOLT_NO_DEADLINE, VOLT_PARK_SPIN, 0);
    woken = true;
  }
  volt_worker_count_(&w->counts.woken, woken);
  return woken;
}

/* ---- park ---- */

/* How a worker sleeps. */
typedef struct parking_as {
  bool is_keeper;
  bool watches;
  bool is_watched; /* this one or another one watches */
} parking_as;

#if defined(VOLT_MODEL) /* there, nothing is counted */

static void parking_note_polls(volt_worker *w) {
  (void)w;
}

static bool parking_are_others_polling(volt_worker *w) {
  (void)w;
  return volt_model_polls_go_on();
}

static bool parking_is_any_in_a_long_poll(volt_worker *w, uint64_t word) {
  (void)w, (void)word;
  return false;
}

#else

static uint64_t parking_bit_of(unsigned worker) {
  return UINT64_C(1) << worker % 64;
}

/* How many tasks each other worker has polled so far. All of this is hints. */
static void parking_note_polls(volt_worker *w) {
  for (unsigned i = 0; i < w->rt->workers; i++) {
    volt_worker *other = &w->rt->worker[i];
    if (other == w) continue;
    volt_store_relaxed(&other->polls_noted, volt_load_relaxed(&other->counts.polls)); /* hints */
  }
}

static bool parking_has_polled(volt_worker *other) {
  uint64_t polls = volt_load_relaxed(&other->counts.polls); /* hints */
  return polls != volt_load_relaxed(&other->polls_noted);
}

/* Whether others have polled since then, and none of them is awake and has not: that one is in a long
 * poll, which is noted. */
static bool parking_are_others_polling(volt_worker *w) {
  volt_rt *rt = w->rt;
  uint64_t word = volt_load_relaxed(&rt->idle.word); /* a hint, as all here */
  uint64_t in_long_polls = 0;
  bool has_any = false;
  for (unsigned i = 0; i < rt->workers; i++) {
    volt_worker *other = &rt->worker[i];
    if (other == w) continue;
    bool has_polled = parking_has_polled(other);
    bool is_parked = volt_idle_is_parked_(&rt->idle, word, i);
    has_any = has_any || has_polled;
    if (!has_polled && !is_parked) in_long_polls |= parking_bit_of(i);
  }
  volt_store_relaxed(&rt->in_long_polls, in_long_polls); /* a hint */
  return has_any && in_long_polls == 0;
}

/* Whether a worker of those noted is still in the same poll: it has neither polled another task nor gone
 * to sleep. */
static bool parking_is_any_in_a_long_poll(volt_worker *w, uint64_t word) {
  volt_rt *rt = w->rt;
  uint64_t noted = volt_load_relaxed(&rt->in_long_polls); /* a hint, as all here */
  if (VOLT_LIKELY(noted == 0)) return false;
  for (unsigned i = 0; i < rt->workers; i++) {
    volt_worker *other = &rt->worker[i];
    if (other == w || !(noted & parking_bit_of(i))) continue;
    bool has_polled = parking_has_polled(other);
    if (!has_polled && !volt_idle_is_parked_(&rt->idle, word, i)) return true;
  }
  volt_store_relaxed(&rt->in_long_polls, 0); /* a hint */
  return false;
}

#endif

/* Whether it sleeps as the keeper, if there is none: no other worker is awake; or one is in a long poll; or
 * little happens, so that a watcher would come back more often than anything else. */
static bool parking_is_to_keep(volt_worker *w, uint64_t word) {
  if (w->back == VOLT_BACK_TO_NONE_ || w->has_rested) return true;
  if (volt_idle_is_alone_(word, w->index, w->rt->workers)) return true;
  return parking_is_any_in_a_long_poll(w, word);
}

/* Set the bit: I6, R9. Unless it is to be the keeper it watches, if no other one does. One that comes
 * back to polls watches again, also if all others sleep, unless it is the keeper. */
static parking_as parking_set_bit(volt_worker *w) {
  volt_rt *rt = w->rt;
  uint64_t word = volt_load_relaxed(&rt->idle.word); /* a hint; then a guess, and the CAS decides */
  bool keeps = parking_is_to_keep(w, word);
  parking_as as = {.is_keeper = keeps && parking_become_keeper(w)};
  bool may_watch = !as.is_keeper && (!keeps || w->back == VOLT_BACK_TO_POLLS_);
  do {
    bool is_free = volt_idle_watcher_(word) == 0;
    as.watches = may_watch && is_free;
    as.is_watched = as.watches || !is_free;
  } while (!volt_idle_try_park_(&rt->idle, w->index, &word, w->is_searching, as.watches));
  return as;
}

static parking_as parking_begin(volt_worker *w) {
  if (w->rt->may_watch) return parking_set_bit(w);
  parking_as as = {.is_keeper = parking_become_keeper(w)};
  volt_idle_park_(&w->rt->idle, w->index, w->is_searching);
  return as;
}

/* It sleeps, and watches. */
static void parking_watch(volt_worker *w) {
  parking_note_polls(w);
  bool woken = volt_worker_sleep_(w, w->index, volt_deadline_ns(VOLT_RT_WATCH_NS));
  bool is_back = !woken && !volt_worker_has_tasks_(w);
  w->back = !is_back                        ? VOLT_NOT_BACK_
            : parking_are_others_polling(w) ? VOLT_BACK_TO_POLLS_
                                            : VOLT_BACK_TO_NONE_;
}

void volt_worker_park_(volt_worker *w) {
  volt_rt *rt = w->rt;
  VOLT_ASSERT(!volt_worker_has_tasks_(w)); /* I1 */
  volt_store_relaxed(&w->parker.word, 0); /* before idle:D4, so before the next unpark: idle.h R5 */
  parking_as as = parking_begin(w);       /* R1, R2, R3, R4, R9 */
  w->is_searching = true;
  bool work = volt_rt_is_any_queued_(rt) || volt_rt_is_over_(rt) || volt_worker_has_mail_(w);
  if (!work && !as.is_keeper && !as.is_watched) work = parking_is_time_unkept(rt); /* R8 */
  if (!work && w->has_skipped_check)
    work = !parking_must_drive_now(w); /* it was to look there as it sleeps */
  if (!work || !volt_idle_claim_(&rt->idle, w->index)) {
    VOLT_PROBE3(worker__park, rt, w->index, as.is_keeper);
    if (as.watches) {
      parking_watch(w);
    } else {
      w->back = VOLT_NOT_BACK_;
      volt_worker_sleep_(w, w->index, parking_keep_time(rt, as.is_keeper));
    }
    VOLT_PROBE2(worker__unpark, rt, w->index);
  }
  if (as.is_keeper) parking_give_up_keeping(rt);
}

void volt_worker_end_search_(volt_worker *w) {
  if (w->is_searching) volt_idle_found_(&w->rt->idle);
  w->is_searching = false;
}
