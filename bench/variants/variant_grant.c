/* variant_grant.c
 *
 * Algorithm: a releaser takes a waiter out of the structure ("claim": how, is the variant's), and
 * after its last access to the semaphore stores the outcome into the waiter ("grant") and calls
 * the waker it has copied before.
 *
 * Source: src/core/permits.c, whose rules for a waiter these are.
 *
 * Invariant: a waiter is granted once, by the one who claimed it.
 *
 * Races
 *   R1  The owner sees the grant and re-uses the waiter while the granter still reads it (errata
 *       E7, E8). Closed: everything is copied into the claim; the store is the last access.
 *   R2  A waker of the batch cancels another waiter of the batch, whose grant this thread still
 *       owes: it would wait for itself. Closed: all are told before the first waker is called.
 *
 * Pairs: G1 (release) -> W1 (acquire, src/core/permits.c): the owner sees what was done before. */
#include "variant_grant.h"

#include "core/check.h"
#include "core/futex.h"

void volt_waiter_prepare_(const char *name, void *object, volt_waiter *w, uint32_t n,
                          volt_waker waker) {
  uint32_t state = volt_load_relaxed(&w->state); /* the owner's own */
  VOLT_CHECK(
      state == VOLT_WAITER_UNUSED_ || state == VOLT_WAITER_GRANTED_ || state == VOLT_WAITER_CLOSED_,
      name, "waiter %p is %s (state %u)", (void *)w,
      state <= VOLT_WAITER_AWAITED_ ? "already queued" : "not initialised", state);
  w->queue = object;
  w->wake = waker.wake;
  w->ctx = waker.ctx;
  w->want = n;
  w->need = n;
  volt_waiter_name_(w);
  volt_store_relaxed(&w->state, VOLT_WAITER_PENDING_); /* published by what links it */
}

volt_variant_claim_ volt_variant_claim_of_(volt_waiter *w, volt_waiter *node, uint32_t state) {
  volt_variant_claim_ claim = {w, node, {node->wake, node->ctx}, state, w->id};
  return claim;
}

static void grant(const volt_variant_claim_ *claim) {
  volt_waiter *w = claim->waiter;
  VOLT_CHECK(claim->id == w->id, "grant",
             "waiter %p was re-used while it was queued: it is invocation %u, was %u", (void *)w,
             (uint32_t)w->id, claim->id);
  /* relaxed: a hint (grant.c R8) */
  bool sleeps = volt_load_relaxed(&w->state) == VOLT_WAITER_AWAITED_;
  /* variant_grant:G1 -> TODO-AREA(grant|task):W1: the owner sees what was done before; last
   * access; pairs W1 */
  volt_store_release(&w->state, claim->state);
  if (sleeps) volt_futex_wake32_(&w->state, 1); /* by address only */
}

void volt_publish_(const volt_variant_claim_ *claims, unsigned count,
                   void (*spent)(volt_waiter *node)) {
  for (unsigned i = 0; i < count; i++) grant(&claims[i]);
  for (unsigned i = 0; spent && i < count; i++) spent(claims[i].node);
  for (unsigned i = 0; i < count; i++) {
    if (claims[i].waker.wake) claims[i].waker.wake(claims[i].waker.ctx);
  }
}

void volt_check_excess_(const char *name, const void *object, uint32_t given, uint32_t there) {
  VOLT_CHECK(given <= VOLT_SEM_MAX && there <= VOLT_SEM_MAX - given, name,
             "%p: release past VOLT_SEM_MAX (%u given back, %u there, at most %u)", object, given,
             there, VOLT_SEM_MAX);
}
