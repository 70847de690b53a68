/* two_tier.c: a pool of permits, a FIFO behind a lock, and in front of it a slot for one waiter.
 *
 * Algorithm: as locked.c, but the oldest waiter, if it needs exactly one more permit, is not in the
 * FIFO but in the slot. A thread that swaps it out has the permit it needs, and takes no lock for
 * it. A release tries the slot first, then takes the lock, and tries the slot again under it.
 *
 * Source: "Fast Waiter Slot" and "Two-Tier Release" (docs/errata.md). Corrected: no waiter is put
 * back, because the slot holds none that a swap would not satisfy (docs/errata.md, E3); the slot is
 * emptied again with the lock held (E1, E2); it holds the oldest waiter, and the next oldest is
 * moved there (E4); a cancel has an outcome (E5, E6); and what serve.c corrects.
 *
 * Invariants, besides those of serve.c:
 *   I6  the waiter in the slot is older than those in the FIFO, and needs exactly one permit
 *   I7  only the holder of the lock fills the slot. Any thread may empty it, and then owns what was
 *       in it: a releaser has claimed it, its owner has cancelled it
 *   The slot may be empty while the FIFO is not: then releases go through the lock.
 *
 * Races
 *   R1  Interleaving: a release finds the slot empty; an acquirer fills it; the release finds the
 *       FIFO empty and puts its permits into the pool (docs/errata.md, E1; with a surplus E2).
 *       Prevented by: gather() moves the waiter from the slot to the FIFO with the lock held, and
 *       under the lock no other thread fills the slot.
 *   R2  Interleaving: a waiter is taken out of the slot and not satisfied; another release finds no
 *       waiter (docs/errata.md, E3). Prevented by: I6.
 *   R3  Interleaving: a newcomer takes the slot before older waiters (docs/errata.md, E4).
 *       Prevented by: settle() moves the head of the FIFO into the slot, whichever waiter that is;
 *       a newcomer goes through the FIFO.
 *   R4  Interleaving: a cancel, or a new waker, meets a releaser that has swapped the waiter out
 *       (docs/errata.md, E5, E9). Prevented by: a waiter that is in neither place is claimed (I7),
 *       so they wait for the grant. A waker is replaced in the FIFO, never in the slot.
 *
 * Costs: 1 RMW to acquire, 2 to release, 1 if the slot is full and n = 1. */
#include "two_tier.h"

#include "atomic_more.h"
#include "serve.h"

static volt_two_tier_sem *two_tier_sem_of(volt_line_ *line) {
  return (volt_two_tier_sem *)(void *)line;
}

static void two_tier_gather(volt_line_ *line) {
  volt_two_tier_sem *sem = two_tier_sem_of(line);
  /* relaxed: once empty, it stays so */
  if (!volt_load_relaxed(&sem->slot)) return;
  /* relaxed, by short_lock:L1: the thread that filled it held the lock before this one */
  volt_waiter *w = volt_exchange_relaxed(&sem->slot, (volt_waiter *)NULL);
  if (!w) return; /* I7: claimed, or cancelled */
  w->need = 1;
  volt_variant_fifo_push_front_(&line->fifo, w);
}

static bool two_tier_settle(const volt_variant_ *v, volt_line_ *line, uint32_t hand) {
  volt_two_tier_sem *sem = two_tier_sem_of(line);
  volt_waiter *head = line->fifo.head;
  if (!head) return volt_variant_pool_settle_(v, line, hand);
  /* relaxed: as in gather() */
  if (head->need == 1 && !volt_load_relaxed(&sem->slot) && !v->is_closed(line)) {
    volt_variant_fifo_remove_(&line->fifo, head);
    head->need = 0;
    /* two_tier:S1 -> two_tier:S2, two_tier:S3: a thread that empties the slot without the lock
     * sees the waiter as earlier holders of the lock left it; from here it may be claimed */
    volt_store_release(&sem->slot, head);
  }
  return true;
}

static bool two_tier_cancel(const volt_variant_ *v, volt_line_ *line, volt_waiter *w) {
  bool cancelled;
  if (volt_line_cancel_done_(v, line, w, &cancelled)) return cancelled;
  volt_waiter *seen = w;
  /* two_tier:S3 <- two_tier:S1: the owner, which takes it out without the lock, sees the waiter as
   * earlier holders of the lock left it */
  if (!volt_cas_acquire(&two_tier_sem_of(line)->slot, &seen, (volt_waiter *)NULL)) {
    return volt_line_cancel_(v, line, w);
  }
  volt_store_relaxed(&w->state, VOLT_WAITER_UNUSED_); /* in no place: its owner's alone again */
  if (w->want > 1) volt_line_release_(v, line, NULL, w->want - 1); /* I6: what it had gathered */
  return true;
}

static const volt_variant_ two_tier_variant = {
    .name = "volt_two_tier_sem",
    .take = volt_variant_pool_take_,
    .gather = two_tier_gather,
    .settle = two_tier_settle,
    .is_closed = volt_variant_pool_is_closed_,
    .close = volt_variant_pool_close_,
    .acquire = volt_line_acquire_,
    .cancel = two_tier_cancel,
};

void volt_two_tier_sem_init(volt_two_tier_sem *sem, uint32_t permits) {
  volt_variant_pool_init_(&two_tier_variant, &sem->pool, permits);
  volt_store_relaxed(&sem->slot, (volt_waiter *)NULL); /* not shared yet */
}

void volt_two_tier_sem_destroy(volt_two_tier_sem *sem) {
  volt_line_destroy_(&two_tier_variant, &sem->pool.line);
}

int volt_two_tier_sem_acquire_waiter_slow_(volt_two_tier_sem *sem, volt_waiter *w, uint32_t n,
                                           volt_waker waker) {
  return volt_line_acquire_(&two_tier_variant, &sem->pool.line, w, n, waker);
}

int volt_two_tier_sem_acquire_until_slow_(volt_two_tier_sem *sem, uint32_t n,
                                          uint64_t deadline_ns) {
  return volt_line_acquire_until_(&two_tier_variant, &sem->pool.line, n, deadline_ns);
}

bool volt_two_tier_sem_cancel(volt_two_tier_sem *sem, volt_waiter *w) {
  return two_tier_cancel(&two_tier_variant, &sem->pool.line, w);
}

bool volt_two_tier_sem_set_waker(volt_two_tier_sem *sem, volt_waiter *w, volt_waker waker) {
  return volt_line_set_waker_(&two_tier_variant, &sem->pool.line, w, waker);
}

void volt_two_tier_sem_release(volt_two_tier_sem *sem, uint32_t n) {
  if (n == 0) return;
  volt_waiter *w = NULL;
  if (volt_load_relaxed(&sem->slot)) { /* a hint: read again under the lock */
    /* two_tier:S2 <- two_tier:S1: this thread, which claims it without the lock (I7), sees the
     * waiter as earlier holders of the lock left it */
    w = volt_exchange_acquire(&sem->slot, (volt_waiter *)NULL);
  }
  if (!w) {
    volt_line_release_(&two_tier_variant, &sem->pool.line, NULL, n);
    return;
  }
  volt_check_excess_(two_tier_variant.name, sem, n, w->want - 1);
  if (n > 1) {
    volt_line_release_(&two_tier_variant, &sem->pool.line, w, n - 1);
    return;
  }
  volt_variant_claim_ claim = volt_variant_claim_of_(w, w, VOLT_WAITER_GRANTED_);
  volt_publish_(&claim, 1, NULL); /* nothing of *sem is touched after the swap */
}

void volt_two_tier_sem_close(volt_two_tier_sem *sem) {
  volt_line_close_(&two_tier_variant, &sem->pool.line);
}

bool volt_two_tier_sem_is_closed(volt_two_tier_sem *sem) {
  return volt_variant_pool_is_closed_(&sem->pool.line);
}

uint32_t volt_two_tier_sem_available(volt_two_tier_sem *sem) {
  return volt_variant_pool_available_(&sem->pool);
}

uint32_t volt_two_tier_sem_waiters(volt_two_tier_sem *sem) {
  return volt_line_waiters_(&two_tier_variant, &sem->pool.line);
}
