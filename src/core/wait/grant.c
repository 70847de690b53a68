/* grant.c: the two ends of a waiter's life. Its owner arms it; one granter claims and grants it.
 *
 * Algorithm
 *   A granter unlinks the waiter and copies its waker: the claim, under the lock of the FIFO. It
 *   releases the lock. It stores the result into the waiter: the grant, its last access to the
 *   waiter. It calls the waker from its copy.
 *   The claim already decides the outcome, so the grant is a plain store. The granter of a FIFO
 *   runs no code of users between claim and grant, so cancel and set_waker may wait for the grant.
 *   The blocking pool, a group and a task use the same wait, volt_waiter_await_(), for something
 *   longer.
 *
 * Races
 *   R3  Interleaving: the owner sees the grant and re-uses the waiter while the granter still reads
 *       it. Prevented by: the granter copies all that it needs into the claim; the grant is its
 *       last access.
 *   R8  Interleaving: the granter sees no sleeping owner; the owner sets AWAITED and goes to sleep;
 *       the grant overwrites AWAITED, and no thread wakes the owner. Prevented by: the owner naps
 *       and looks again. A granter that has looked is about to store, so the first nap is short. A
 *       granter that has not looked yet finds AWAITED and wakes the owner, so later naps may be
 *       longer. */
#include "grant.h"

#include "../hooks/counters.h"
#include "../os/check.h"
#include "../os/futex.h"
#include "../park/spin.h"

/* R8: how long an owner naps, at first and at most. */
enum { SHORTEST_NAP_NS = 50000, LONGEST_NAP_NS = 12800000 };

static bool grant_is_done(uint32_t state) {
  return state == VOLT_WAITER_UNUSED_ || volt_waiter_is_completed_(state);
}

void volt_waiter_check_unused_(volt_kind_ kind, volt_waiter *w) {
  uint32_t state = volt_load_relaxed(&w->state); /* the caller is its owner */
  VOLT_CHECK(grant_is_done(state), volt_kind_api_(kind), "waiter %p is %s (state %u)", (void *)w,
             state <= VOLT_WAITER_CLAIMED_ ? "already queued" : "not initialised", state);
}

uint8_t volt_waiter_use_(void) {
  static VOLT_ATOMIC(uint32_t) uses;
  /* relaxed: a number, which orders nothing */
  return (uint8_t)(1 + volt_fetch_add_relaxed(&uses, 1) % 0xff);
}

static int grant_result(uint32_t state) {
  if (!grant_is_done(state)) return VOLT_PENDING;
  if (state == VOLT_WAITER_GRANTED_) return VOLT_OK;
  if (state == VOLT_WAITER_REFUSED_) return VOLT_EINVAL;
  return state == VOLT_WAITER_CLOSED_ ? VOLT_ECLOSED : VOLT_ECANCELED;
}

int volt_waiter_result(volt_waiter *w) {
  /* grant:W1 <- grant:G1, timer:G1: the owner sees all that the granter did before the grant */
  int result = grant_result(volt_load_acquire(&w->state));
  VOLT_CHECK(result != VOLT_PENDING || volt_waiter_is_in_place_(w), "volt_waiter_result",
             "waiter %p was copied or moved while it was queued (place %#x)", (void *)w,
             (unsigned)w->place);
  return result;
}

int volt_waiter_await_(volt_waiter *w) {
  unsigned spins = 0;
  uint64_t nap_ns = SHORTEST_NAP_NS;
  for (;;) {
    /* grant:W1 <- grant:G1, timer:G1: the owner sees all that the granter did before the grant */
    uint32_t state = volt_load_acquire(&w->state);
    if (grant_is_done(state)) return grant_result(state);
    if (spins < VOLT_SPIN) {
      spins += 1;
      volt_cpu_relax_();
      continue;
    }
    /* relaxed, no data: only AWAITED itself counts. It does not overwrite a grant */
    if (state == VOLT_WAITER_AWAITED_ ||
        volt_cas_relaxed(&w->state, &state, VOLT_WAITER_AWAITED_)) {
      volt_count_(VOLT_KIND_LOCK_, VOLT_COUNTER_NAPS_);
      volt_futex_wait32_(&w->state, VOLT_WAITER_AWAITED_, volt_now_ns() + nap_ns); /* R8 */
      if (nap_ns < LONGEST_NAP_NS) nap_ns *= 2;
    }
  }
}

/* The owner of *w sleeps until it is granted. */
static VOLT_NOINLINE void grant_wake_owner(volt_waiter *w, uint32_t state) {
  /* grant:G1 -> grant:W1: the owner sees all that this thread did before the grant */
  volt_store_release(&w->state, state); /* R3: the last access to *w */
  volt_futex_wake32_(&w->state, 1);     /* by its address, *w may be gone */
}

VOLT_NOINLINE void volt_waiter_grant_asleep_(volt_waiter *w, volt_waker waker, uint32_t state) {
  grant_wake_owner(w, state);
  if (waker.wake) waker.wake(waker.ctx);
}

void volt_waiter_dismiss_(volt_waiter *w) {
  const volt_waker no_waker = {NULL, NULL};
  volt_waiter_grant_(w, no_waker, VOLT_WAITER_UNUSED_);
}

void volt_waiters_grant_(const volt_claimed_ *batch, unsigned count, uint32_t state) {
  for (unsigned i = 0; i < count; i++) {
    volt_waiter *w = batch[i].waiter;
    volt_claimed_check_(&batch[i]);
    if (!volt_waiter_store_grant_(w, state)) grant_wake_owner(w, state);
  }
  for (unsigned i = 0; i < count; i++) {
    if (batch[i].waker.wake) batch[i].waker.wake(batch[i].waker.ctx);
  }
}
