/* nap.c: what the system does not report: that a unix listener has room for one more connection.
 *
 * Algorithm: the operation waits as for readiness. A list has the number and the mark of its
 * descriptor, and one timer of the runtime ticks while the list is not empty. When the time of an
 * entry has come, each operation that waits for its descriptor makes its call again. The connect
 * waits for longer if there is still no room. No entry is taken out early: a descriptor that was
 * closed has another mark by then, and the report meets nothing (watched.c R7).
 *
 * Races
 *   R9  Interleaving: a tick finds the list empty and stops; another thread adds an entry, for which
 *       no timer runs. Prevented by: both look under the lock of the list. A thread that finds that
 *       no timer runs starts it.
 *   R10 Interleaving: the tick comes after the entry was added, and before the operation waits.
 *       Prevented by: it is a report like any other (fd.c R2).
 *   R11 Interleaving: the socket is connected in another way, and can take no more; the tick comes,
 *       and another operation waits until it can. Prevented by: the report names no event.
 *   R12 Interleaving: a runtime is given up, and is not freed because a timer runs, which is the
 *       list's. Prevented by: the end looks whether a descriptor is open, and if none is, ends the
 *       list, before it looks whether a timer is started.
 *
 * Labels: io */
#include <stdlib.h>

#include "../../rt/sched/short_lock.h"
#include "nap.h"

static const uint64_t nap_tick_ns = 4000000;

static void nap_tick(void *ctx);

static void nap_start_timer(volt_naps_ *naps) {
  volt_waker waker = {.wake = nap_tick, .ctx = naps};
  volt_timers *timers = volt_rt_timers(naps->rt);
  volt_timer_start(timers, &naps->timer, volt_rt_now_ns(naps->rt) + nap_tick_ns, waker);
}

/* Add a list to that of *naps, whose lock is held. */
static void nap_add(volt_naps_ *naps, volt_nap_entry_ *first, volt_nap_entry_ *last) {
  last->next = naps->first;
  naps->first = first;
}

/* One tick has passed for an entry that no other thread sees. Returns whether it was reported. */
static bool nap_is_over(volt_naps_ *naps, volt_nap_entry_ *nap) {
  if (--nap->ticks > 0) return false;
  (void)volt_watched_report_(naps->table, nap->number, nap->mark, 0); /* R11 */
  free(nap);
  return true;
}

static void nap_tick(void *ctx) {
  volt_naps_ *naps = (volt_naps_ *)ctx;
  volt_short_lock_lock_(&naps->lock);
  volt_nap_entry_ *next, *nap = naps->first;
  naps->first = NULL;
  volt_short_lock_unlock_(&naps->lock);
  volt_nap_entry_ *left = NULL, *last = NULL;
  for (; nap; nap = next) {
    next = nap->next;
    if (nap_is_over(naps, nap)) continue;
    nap->next = left;
    left = nap;
    if (!last) last = nap;
  }
  volt_short_lock_lock_(&naps->lock);
  if (left) nap_add(naps, left, last);
  bool goes_on = naps->first != NULL;
  naps->is_ticking = goes_on; /* R9 */
  volt_short_lock_unlock_(&naps->lock);
  if (goes_on) nap_start_timer(naps);
}

int volt_nap_(volt_naps_ *naps, int number, uint32_t mark, uint32_t ticks) {
  volt_nap_entry_ *nap = (volt_nap_entry_ *)malloc(sizeof *nap);
  if (!nap) return VOLT_ENOMEM;
  nap->number = (uint32_t)number;
  nap->mark = mark;
  nap->ticks = ticks;
  volt_short_lock_lock_(&naps->lock);
  nap_add(naps, nap, nap);
  bool is_ticking = naps->is_ticking;
  naps->is_ticking = true;
  volt_short_lock_unlock_(&naps->lock);
  if (!is_ticking) nap_start_timer(naps); /* R9 */
  return VOLT_OK;
}

void volt_naps_init_(volt_naps_ *naps, volt_rt *rt, volt_watch_table *table) {
  volt_short_lock_init_(&naps->lock);
  naps->first = NULL;
  naps->is_ticking = false;
  naps->timer.waiter.place = 0;
  volt_store_relaxed(&naps->timer.waiter.state, 0); /* not shared yet: unused */
  naps->rt = rt;
  naps->table = table;
}

void volt_naps_end_(volt_naps_ *naps) {
  if (naps->is_ticking) (void)volt_timer_cancel(volt_rt_timers(naps->rt), &naps->timer);
  for (volt_nap_entry_ *next, *nap = naps->first; nap; nap = next) {
    next = nap->next;
    free(nap);
  }
  naps->is_ticking = false;
  naps->first = NULL;
}

bool volt_naps_are_needed_(volt_naps_ *naps) {
  if (volt_watched_owns_any_(naps->table)) return true;
  volt_naps_end_(naps); /* R12 */
  return false;
}
