/* timer.c: timers in a pairing heap, touched in batched critical sections only.
 *
 * Algorithm: start submits a section that inserts the timer, and does not wait for it. cancel runs
 * a section that removes the timer, and waits for it, because it must know the outcome. expire
 * runs a section that takes out the timers that are due and grants them (the grant is the last
 * access to each). After the section it calls their wakers, of which it keeps copies. Sections run
 * in order, so an operation that comes after a start finds the timer in the heap, or expired.
 *
 * Invariants
 *   I1  A started timer is in one place: on its way to the heap, in the heap (need = 1), or its
 *       owner's again.
 *   I2  While no section runs, earliest_ns is the deadline of the root.
 *   I3  Each time that earliest_ns becomes earlier, a call of the driver begins after that.
 *
 * Races
 *   R1  Interleaving: cancel meets expire. Prevented by: each looks at need in a section, so one of
 *       the two is first. The grant is part of the section, because a thread may call wakers of
 *       others before its own run() returns, and such a waker may cancel the timer.
 *   R2  Interleaving: a timer expires and is freed while the combiner still completes the section
 *       that inserted it. Prevented by: that section has no waker, so its node is not used once
 *       another section runs.
 *   R3  Interleaving: the driver is called for one timer and reads earliest_ns; another timer
 *       becomes the earliest; no call is made for that, because one is on its way. Prevented by:
 *       `calling` is set after earliest_ns, and cleared before the driver is called. A section that
 *       finds it set knows that a call is still to begin.
 *   R4  Interleaving: the last timer expires, and the queue is destroyed while a call of the driver
 *       is still to begin, or runs. Prevented by: `calling` says that one is due, and counts those
 *       that run; destroy waits until it is 0. To count itself off is a call's last access.
 *   R5  Interleaving: a thread cancels the last timer of a runtime that was given up; the end of the
 *       runtime finds that there is none, and frees the queue while that thread, or the combiner that
 *       runs its section for it, still uses the lock. Prevented by: the end asks in a section. Sections
 *       run in order, and no thread whose section came before uses the lock once that of the end
 *       has run (bcs_lock.c I4).
 *   R6  Interleaving: a thread sees that its timer runs, and is about to cancel it; the timer
 *       expires, the end finds no timer, and frees the queue; then the thread submits its section.
 *       Prevented by: the thread makes the timer HELD before it uses the queue, if it has not
 *       expired. The section that expires it finds that, and counts the thread in `late`; the end
 *       waits until `late` is 0. */
#include <volt/timer.h>

#include "../core/os/check.h"
#include "../core/os/probe.h"
#include "../core/park/spin.h"
#include "../core/wait/grant.h"
#include "pairing_heap.h"
#include "timer_end.h"

/* How many timers one section takes out. */
#ifndef VOLT_EXPIRE_BATCH
#define VOLT_EXPIRE_BATCH 32
#endif

/* ---- the driver ---- */

/* volt_timers.calling: whether a call is to begin; and how many run, in units of CALL_RUNS. */
enum { CALL_DUE = 1, CALL_RUNS = 2 };

static void timers_call_driver(void *ctx) {
  volt_timers *t = (volt_timers *)ctx;
  volt_waker driver = {t->driver_wake, t->driver_ctx};
  /* timer:D2 <-> timer:D1, timer:D3: from here on t->call may be submitted again, and this thread sees
   * the earliest_ns for which it was submitted; R3 */
  volt_fetch_add_acq_rel(&t->calling, CALL_RUNS - CALL_DUE);
  driver.wake(driver.ctx);
  /* timer:D4 -> timer:D3: the queue and the driver end after this call; R4 */
  volt_fetch_add_release(&t->calling, UINT32_C(0) - CALL_RUNS);
}

/* The caller knows that no other thread submits a section any more. That of a call of the driver
 * (t->call) may still be queued. */
static void timers_await_driver(volt_timers *t) {
  unsigned spins = 0;
  /* timer:D3 <- timer:D2, timer:D4: the queue ends after the last call of the driver; R4 */
  while (volt_load_acquire(&t->calling) != 0) volt_pause_(&spins);
}

static void timers_nothing(void *arg) {
  (void)arg;
}

/* In a section: the root has changed. */
static void timers_update_earliest(volt_timers *t) {
  uint64_t now = t->root ? (uint64_t)volt_heap_timer_(t->root)->deadline_ns : VOLT_NO_DEADLINE;
  uint64_t before = volt_load_relaxed(&t->earliest_ns) ^ VOLT_NO_DEADLINE; /* in a section */
  volt_store_relaxed(&t->earliest_ns, now ^ VOLT_NO_DEADLINE); /* published by timer:D1 */
  if (now >= before || !t->driver_wake) return;
  /* timer:D1 <-> timer:D2: shows the earliest deadline, sees the call section free */
  if (volt_fetch_or_acq_rel(&t->calling, CALL_DUE) & CALL_DUE) return;
  volt_waker call = {timers_call_driver, t};
  volt_bcs_lock_submit(&t->lock, &t->call, timers_nothing, NULL, call);
}

/* ---- start and cancel ---- */

static volt_timers *timer_queue(volt_timer *timer) {
  return (volt_timers *)(void *)timer->waiter.queue;
}

/* need of its waiter: 1 exactly while it is in the heap. In a section. */
static bool timer_is_in_heap(const volt_timer *timer) {
  return timer->waiter.need == 1;
}

static void timer_insert(void *arg) {
  volt_timer *timer = (volt_timer *)arg;
  volt_timers *t = timer_queue(timer);
  t->started += 1;
  timer->number = t->started;
  timer->waiter.need = 1;
  t->root = volt_heap_insert_(t->root, &timer->waiter);
  if (t->root == &timer->waiter) timers_update_earliest(t);
}

void volt_timer_start(volt_timers *t, volt_timer *timer, uint64_t deadline_ns, volt_waker waker) {
  volt_waiter_check_unused_(VOLT_KIND_TIMER_, &timer->waiter);
  timer->waiter.want = 1;
  timer->waiter.need = 0;
  timer->deadline_ns = deadline_ns;
  volt_waiter_arm_(&timer->waiter, t, waker);
  volt_count_(VOLT_KIND_TIMER_, VOLT_COUNTER_WAITS_);
  VOLT_PROBE_ARMED(wait__begin, &timer->waiter);
  volt_waker none = {NULL, NULL}; /* R2 */
  volt_bcs_lock_submit(&t->lock, &timer->section, timer_insert, timer, none);
}

static void timer_unlink(volt_timers *t, volt_timer *timer) {
  bool first = t->root == &timer->waiter;
  t->root = volt_heap_remove_(t->root, &timer->waiter);
  timer->waiter.need = 0; /* I1 */
  if (first) timers_update_earliest(t);
}

/* Abort if *timer, which runs, was started on another queue: only sections of that may touch it. */
static void timer_check_queue(const volt_timers *t, volt_timer *timer) {
  VOLT_CHECK(timer_queue(timer) == t, volt_kind_api_(VOLT_KIND_TIMER_),
             "%p is started on %p, not on %p", (void *)timer, (void *)timer_queue(timer),
             (const void *)t);
}

/* The owner of *timer is about to use its queue. Returns VOLT_PENDING: *timer runs, and is HELD;
 * else what has become of it, and *t must not be used. R6 */
static int timer_hold(const volt_timers *t, volt_timer *timer) {
  uint32_t state = VOLT_WAITER_PENDING_;
  int result = volt_waiter_result(&timer->waiter);
  if (result != VOLT_PENDING) return result;
  timer_check_queue(t, timer);
  /* relaxed, no data: only HELD itself counts, the lock has its own order */
  if (volt_cas_relaxed(&timer->waiter.state, &state, VOLT_WAITER_HELD_)) return VOLT_PENDING;
  return volt_waiter_result(&timer->waiter); /* it has just expired */
}

/* In a section: the owner, which has made *timer HELD, has come. Returns whether *timer is in the
 * heap; else it has expired meanwhile. */
static bool timer_held_is_in_heap(volt_timer *timer) {
  bool is_in_heap = timer_is_in_heap(timer); /* R1 */
  if (!is_in_heap) timer_queue(timer)->late -= 1;
  return is_in_heap;
}

struct timer_removal {
  volt_timer *timer;
  bool removed;
};

static void timer_remove(void *arg) {
  struct timer_removal *r = (struct timer_removal *)arg;
  r->removed = timer_held_is_in_heap(r->timer);
  if (r->removed) timer_unlink(timer_queue(r->timer), r->timer);
}

bool volt_timer_cancel(volt_timers *t, volt_timer *timer) {
  int result = timer_hold(t, timer);
  if (result != VOLT_PENDING) return result == VOLT_ECANCELED;
  struct timer_removal r = {.timer = timer, .removed = false};
  volt_bcs_node node;
  volt_bcs_lock_run(&t->lock, &node, timer_remove, &r);
  if (r.removed) {
    volt_store_relaxed(&timer->waiter.state, VOLT_WAITER_UNUSED_); /* removed: its owner's again */
    volt_count_(VOLT_KIND_TIMER_, VOLT_COUNTER_CANCELS_);
    VOLT_PROBE_ARMED(cancel, &timer->waiter);
  }
  VOLT_ASSERT(volt_waiter_result(&timer->waiter) != VOLT_PENDING);
  return r.removed;
}

struct timer_replacement {
  volt_timer *timer;
  volt_waker waker;
  bool replaced;
};

static void timer_replace_waker(void *arg) {
  struct timer_replacement *r = (struct timer_replacement *)arg;
  r->replaced = timer_held_is_in_heap(r->timer);
  if (!r->replaced) return;
  volt_store_relaxed(&r->timer->waiter.state,
                     VOLT_WAITER_PENDING_); /* in a section, its owner waits */
  r->timer->waiter.wake = r->waker.wake;
  r->timer->waiter.ctx = r->waker.ctx;
}

bool volt_timer_set_waker(volt_timers *t, volt_timer *timer, volt_waker waker) {
  if (timer_hold(t, timer) != VOLT_PENDING) return false;
  struct timer_replacement r = {.timer = timer, .waker = waker, .replaced = false};
  volt_bcs_node node;
  volt_bcs_lock_run(&t->lock, &node, timer_replace_waker, &r);
  return r.replaced;
}

int volt_timer_result(volt_timer *timer) {
  return volt_waiter_result(&timer->waiter);
}

/* ---- expire ---- */

struct timer_expiry {
  volt_timers *timers;
  uint64_t now_ns;
  unsigned count;
  volt_waker wakers[VOLT_EXPIRE_BATCH];
};

/* In a section: store the result of a timer that has expired. That is the last access to it,
 * unless its owner has made it HELD: then a section of the owner is still to come, for which it waits, so
 * the timer lives; `late` counts it. R6 */
static void timer_grant(volt_timers *t, const volt_claimed_ *claimed) {
  volt_waiter *w = claimed->waiter;
  uint32_t state = VOLT_WAITER_PENDING_;
  volt_claimed_check_(claimed);
  VOLT_PROBE_CLAIMED(grant, w, VOLT_WAITER_GRANTED_);
  /* timer:G1 -> grant:W1: the owner sees all that this thread did before the grant */
  if (volt_cas_release(&w->state, &state, VOLT_WAITER_GRANTED_)) return;
  t->late += 1;
  volt_store_relaxed(&w->state, VOLT_WAITER_GRANTED_); /* its owner waits for a later section */
}

static void timers_take_due(void *arg) {
  struct timer_expiry *e = (struct timer_expiry *)arg;
  volt_timers *t = e->timers;
  while (t->root && e->count < VOLT_EXPIRE_BATCH) {
    volt_timer *first = volt_heap_timer_(t->root);
    if (first->deadline_ns > e->now_ns || first->deadline_ns == VOLT_NO_DEADLINE) return;
    VOLT_PROBE4(timer__fire, t, &first->waiter, first->deadline_ns, e->now_ns);
    volt_claimed_ claimed = volt_waiter_claim_(&first->waiter);
    timer_unlink(t, first);
    e->wakers[e->count++] = claimed.waker; /* expire() calls it */
    volt_count_(VOLT_KIND_TIMER_, VOLT_COUNTER_GRANTS_);
    timer_grant(t, &claimed);
  }
}

static void timers_set_time(volt_timers *t, uint64_t now_ns) {
  uint64_t before = volt_load_relaxed(&t->virtual_ns); /* relaxed: a clock orders nothing */
  /* relaxed, no data: as above, a clock orders nothing */
  while (before < now_ns && !volt_cas_relaxed(&t->virtual_ns, &before, now_ns)) continue;
}

size_t volt_timers_expire(volt_timers *t, uint64_t now_ns) {
  size_t expired = 0;
  timers_set_time(t, now_ns);
  for (;;) {
    struct timer_expiry e;
    e.timers = t;
    e.now_ns = now_ns;
    e.count = 0;
    volt_bcs_node node;
    volt_bcs_lock_run(&t->lock, &node, timers_take_due, &e);
    if (e.count == 0) return expired;
    expired += e.count;
    for (unsigned i = 0; i < e.count; i++) {
      if (e.wakers[i].wake) e.wakers[i].wake(e.wakers[i].ctx);
    }
  }
}

uint64_t volt_timers_earliest_ns(volt_timers *t) {
  /* relaxed: a snapshot; for the driver, timer:D2 has acquired the store */
  return volt_load_relaxed(&t->earliest_ns) ^ VOLT_NO_DEADLINE;
}

/* ---- life ---- */

void volt_timers_init(volt_timers *t, volt_waker driver) {
  volt_bcs_lock_init(&t->lock);
  t->lock.brief = true; /* its sections are short, and a poll that starts a timer must not wait */
  t->root = NULL;
  t->started = 0;
  t->late = 0;
  volt_store_relaxed(&t->earliest_ns, 0); /* not shared yet */
  volt_store_relaxed(&t->calling, 0);
  t->driver_wake = driver.wake;
  t->driver_ctx = driver.ctx;
  volt_store_relaxed(&t->virtual_ns, 0);
  t->is_virtual = false;
}

void volt_timers_init_virtual(volt_timers *t, volt_waker driver) {
  volt_timers_init(t, driver);
  t->is_virtual = true;
}

uint64_t volt_timers_now_ns(volt_timers *t) {
  return t->is_virtual ? volt_load_relaxed(&t->virtual_ns) : volt_now_ns(); /* set_time() */
}

void volt_timers_destroy(volt_timers *t) {
  volt_unname_at_end_(t);
  timers_await_driver(t);
  volt_bcs_lock_destroy(&t->lock);
  VOLT_CHECK(!t->root, "volt_timers_destroy", "%p: destroyed while a timer is started", (void *)t);
}

/* What the end of a runtime finds in a section. */
struct timers_found {
  volt_timers *timers;
  bool any; /* in the heap */
  bool any_late;
};

static void timers_find(void *arg) {
  struct timers_found *found = (struct timers_found *)arg;
  found->any = found->timers->root != NULL;
  found->any_late = found->timers->late > 0;
}

bool volt_timers_are_used_(volt_timers *t) {
  struct timers_found found = {.timers = t, .any = false, .any_late = false};
  unsigned spins = 0;
  for (;;) {
    volt_bcs_node node;
    volt_bcs_lock_run(&t->lock, &node, timers_find, &found); /* R5 */
    if (found.any || !found.any_late) break;
    volt_pause_(&spins); /* R6 */
  }
  if (!found.any) timers_await_driver(t);
  return found.any;
}
