/* grant.c: the two ends of a waiter's life.
 *
 * Algorithm: whoever grants takes the waiter out of where it is queued and copies its waker
 * ("claim"); stores the result into it ("grant"), the last access; then calls the waker. Who has it
 * was decided by the claim, so the grant is a store. In a queue no foreign code runs between the
 * two, so an owner who must know the outcome can wait for it; who waits for more than that (for a
 * call of its own to return) waits in the same way.
 *
 * Races
 *   R3  in permits.c: the owner sees the grant and re-uses the waiter while the granter still
 *       reads it. Closed: everything is copied into the claim; the store is the last access.
 *   R8  The granter looks and finds no sleeper; the owner sets AWAITED and sleeps; the grant takes
 *       the place of AWAITED, and nobody wakes the owner. Closed: it only naps, and looks again. A
 *       granter that has looked has but its store to do, so the first nap is short; the later ones,
 *       which are for whoever is yet to look and will find AWAITED, are longer.
 *
 * Pair: W1 (acquire) <- G1 (release): the owner sees all that was done before the grant. */
#include "grant.h"

#include "check.h"
#include "futex.h"
#include "spin.h"

/* R8: how long an owner sleeps before it looks again: at first, and at most. */
enum { SHORTEST_NAP_NS = 50000, LONGEST_NAP_NS = 12800000 };

void volt_waiter_check_unused_(const char *name, volt_waiter *w) {
  uint32_t state = volt_load_relaxed(&w->state); /* the owner's own */
  VOLT_CHECK(
      state == VOLT_WAITER_UNUSED_ || state == VOLT_WAITER_GRANTED_ || state == VOLT_WAITER_CLOSED_,
      name, "waiter %p is %s (state %u)", (void *)w,
      state <= VOLT_WAITER_LEAVING_ ? "already queued" : "not initialised", state);
}

void volt_waiter_name_(volt_waiter *w) {
  uint32_t use = 1;
#if VOLT_DEBUG
  static VOLT_ATOMIC(uint32_t) uses;
  use += volt_fetch_add_relaxed(&uses, 1) % 0xffff; /* a name: nothing is ordered by it */
#endif
  w->id = use << 16 | volt_waiter_place_(w);
}

void volt_waiter_arm_(volt_waiter *w, void *object, volt_waker waker) {
  w->queue = object;
  w->wake = waker.wake;
  w->ctx = waker.ctx;
  volt_waiter_name_(w);
  volt_store_relaxed(&w->state, VOLT_WAITER_PENDING_); /* published by what links it */
}

static bool grant_is_done(uint32_t state) {
  return state == VOLT_WAITER_UNUSED_ || state == VOLT_WAITER_GRANTED_ ||
         state == VOLT_WAITER_CLOSED_;
}

static int grant_result(uint32_t state) {
  if (!grant_is_done(state)) return VOLT_PENDING;
  if (state == VOLT_WAITER_GRANTED_) return VOLT_OK;
  return state == VOLT_WAITER_CLOSED_ ? VOLT_ECLOSED : VOLT_ECANCELED;
}

int volt_waiter_result(volt_waiter *w) {
  int result = grant_result(volt_load_acquire(&w->state)); /* grant:W1 <- grant:G1: TODO-REASON */
  VOLT_CHECK(result != VOLT_PENDING || volt_waiter_is_in_place_(w), "volt_waiter_result",
             "waiter %p was copied or moved while it was queued (id %#x)", (void *)w,
             (uint32_t)w->id);
  return result;
}

int volt_waiter_await_(volt_waiter *w) {
  unsigned spins = 0;
  uint64_t nap_ns = SHORTEST_NAP_NS;
  for (;;) {
    uint32_t state = volt_load_acquire(&w->state); /* grant:W1 <- grant:G1: TODO-REASON */
    if (grant_is_done(state)) return grant_result(state);
    if (spins < VOLT_SPIN) {
      spins += 1;
      volt_cpu_relax_();
      continue;
    }
    /* relaxed: AWAITED carries no data, and cannot take the place of a grant */
    if (state == VOLT_WAITER_AWAITED_ ||
        volt_cas_relaxed(&w->state, &state, VOLT_WAITER_AWAITED_)) {
      volt_futex_wait32_(&w->state, VOLT_WAITER_AWAITED_, volt_deadline_ns(nap_ns)); /* R8 */
      if (nap_ns < LONGEST_NAP_NS) nap_ns *= 2;
    }
  }
}

static void grant_one(volt_waiter *w, uint32_t state) {
  /* relaxed: a hint; who goes to sleep after this look wakes up by itself (R8) */
  bool sleeps = volt_load_relaxed(&w->state) == VOLT_WAITER_AWAITED_;
  volt_store_release(&w->state, state);         /* grant:G1 -> grant:W1: the last of *w */
  if (sleeps) volt_futex_wake32_(&w->state, 1); /* by address only */
}

void volt_waiter_dismiss_(volt_waiter *w) {
  grant_one(w, VOLT_WAITER_UNUSED_);
}

void volt_waiters_grant_(const volt_claimed_ *batch, unsigned count, uint32_t state) {
  for (unsigned i = 0; i < count; i++) {
    uint32_t id = batch[i].waiter->id;
    VOLT_CHECK(batch[i].id == id, "grant",
               "waiter %p was re-used while it was queued: it is invocation %u, was %u",
               (void *)batch[i].waiter, id, batch[i].id);
    grant_one(batch[i].waiter, state);
  }
  for (unsigned i = 0; i < count; i++) {
    if (batch[i].waker.wake) batch[i].waker.wake(batch[i].waker.ctx);
  }
}
