/* bypass_wait.c: how a future and a blocked thread wait for an object with a bypass. Both look when
 * they are nudged. The races are those of bypass.c.
 *
 * Labels: bypass */
#include "bypass.h"

#include "../hooks/wait_times.h"
#include "../os/check.h"
#include "../park/blocker.h"
#include "../park/call.h"
#include "../park/spin.h"

/* ---- threads and fibers ---- */

/* Try to take the object for about 10 us. Returns false if the caller has to queue. */
static bool bypass_spin_and_take(volt_fifo_ *q, const volt_bypass_kind_ *kind, uint32_t want,
                                 uint64_t deadline_ns) {
  volt_spin_ spins = {0, 0};
  do {
    if (volt_bypass_try_(q, kind, want) == VOLT_OK) return true;
  } while (volt_spin_again_(&spins, deadline_ns));
  return false;
}

/* Each registration of the waker unparks once, by a nudge or by a grant. So this call waits for as
 * many unparks as there were registrations (R5). */
static int bypass_block(volt_fifo_ *q, const volt_bypass_kind_ *kind, uint32_t want, volt_waiter *w,
                        volt_parker *parker, uint64_t deadline_ns) {
  volt_waker waker = volt_parker_waker(parker);
  uint32_t registered = 1;
  bool was_nudged = false;
  const volt_call_ call = {.name = volt_kind_api_(kind->kind),
                           .kind = kind->kind,
                           .ops = kind->ops(),
                           .object = q,
                           .n = want,
                           .waiter = w};
  while (volt_park_in_(&call, parker, registered, deadline_ns) == VOLT_OK) {
    if (!volt_bypass_set_waker_(q, kind, w, waker, &was_nudged)) return volt_waiter_result(w);
    registered += 1; /* it has looked in vain */
  }
  bool cancelled = volt_bypass_cancel_(q, kind, w, &was_nudged);
  if (cancelled) volt_count_(kind->kind, VOLT_COUNTER_TIMEOUTS_);
  if (!cancelled || was_nudged) volt_park_out_(parker, registered); /* R7 */
  return cancelled ? VOLT_ETIMEDOUT : volt_waiter_result(w);
}

int volt_bypass_acquire_until_(volt_fifo_ *q, const volt_bypass_kind_ *kind, uint32_t want,
                               uint64_t deadline_ns) {
  volt_blocker_ *fiber = volt_fiber_blocker_();
#if VOLT_SIGHT /* the future notes that it is taken */
  if (fiber) return volt_future_suspend_(fiber, kind->ops(), q, want, deadline_ns);
#endif
  if (bypass_spin_and_take(q, kind, want, deadline_ns)) return VOLT_OK;
  if (fiber) return volt_future_suspend_(fiber, kind->ops(), q, want, deadline_ns);
  volt_waiter w = VOLT_WAITER_INIT;
  volt_parker parker = VOLT_PARKER_INIT;
  volt_waker waker = volt_parker_waker(&parker);
  if (volt_bypass_acquire_to_look_(q, kind, &w, want, waker) == VOLT_OK) return VOLT_OK;
  uint64_t since_ns = volt_wait_times_start_();
  int result = bypass_block(q, kind, want, &w, &parker, deadline_ns);
  volt_wait_times_stop_(kind->kind, q, since_ns);
  return result;
}

/* ---- futures ---- */

bool volt_bypass_future_cancel_(volt_future *f) {
  bool was_nudged = false;
  bool cancelled = volt_bypass_cancel_(volt_bypass_future_queue_(f), volt_bypass_future_kind_(f),
                                       &f->waiter, &was_nudged);
  volt_bypass_future_settle_(f, was_nudged); /* R7 */
  return cancelled;
}

void volt_bypass_future_give_back_(volt_future *f) {
  volt_holdable_returned_(f->ops->holds, f->object, volt_future_n_(f));
  volt_bypass_release_(volt_bypass_future_queue_(f), volt_bypass_future_kind_(f),
                       volt_future_n_(f));
}

int volt_bypass_future_poll_(volt_future *f, volt_ctx *ctx) {
  bool nudged = volt_future_is_waiting_(f) && volt_bypass_is_nudged_(&f->waiter);
  if (nudged && volt_bypass_future_set_waker_(f, ctx->waker)) { /* R6: before the result is read */
    volt_future_set_drop_(f, ctx->drop);
    ctx->registered += 1;
    return VOLT_PENDING;
  }
  return volt_future_poll_leaf_(f, ctx);
}
