/* serve.c
 *
 * Algorithm: acquire takes the lock before it decides that it must wait, release before it decides
 * that nobody waits. A release serves the oldest waiters under the lock, in parts if need be
 * ("claim"), leaves it, and only then tells and wakes them.
 *
 * Source: seeds 004 and 002, acquireWait, releaseToWaiters, cancelAcquire; here for every variant.
 *
 * Invariants, whenever the lock is free
 *   I1  a permit is there for all to take => nobody waits
 *   I2  held + there for all + in the hands of releasers + gathered by waiters = constant
 *   I3  only the oldest waiter is partially served
 *   I4  need > 0 exactly while a waiter is in the FIFO; one that waits elsewhere, or is claimed, or
 *       done, has need = 0
 *   I5  nobody waits once the semaphore is closed, but for those whom a close is about to tell
 *
 * Races
 *   R1  An acquirer finds too little, a releaser finds nobody, permits lie beside a sleeper (errata
 *       E1, E2, E3). Closed: both decide with the lock held, and take() and gather() look at every
 *       place where a permit, or a waiter, can be.
 *   R2  The owner sees the grant and re-uses the waiter while the granter still reads it (E7, E8).
 *       Closed: unlink and copy under the lock, leave it, and grant last (variant_grant.c).
 *   R3  Cancel meets a releaser (E5). Closed: need, under the lock and after gather(), says who was
 *       first. If the releaser was, cancel waits for the grant and says so (E6).
 *   R4  A waker is replaced while the granter reads it (E9). Closed: as R3.
 *   R5  More waiters than a batch holds (E13). Closed: leave with the rest in hand, tell and wake
 *       them, come back. `returning` makes destroy() wait for that.
 *   R6  A release lets go of its permits under the lock and then leaves the lock; whoever took them
 *       meanwhile destroys the semaphore. Closed: destroy() takes the lock, so it comes after.
 *   R7  A release comes between two batches of a close. Closed: whoever holds the lock of a closed
 *       semaphore serves as the closer does.
 *
 * Pairs: L1 (acquire) <- U1 (release), short_lock.h; G1 (release) -> W1 (acquire), variant_grant.c. */
#include "serve.h"

#include "core/check.h"
#include "core/spin.h"
#include "rt/short_lock.h"
#include "variant_fifo.h"

/* ---- serving: the lock is held ---- */

static void claim(const volt_variant_ *v, volt_line_ *line, volt_batch_ *batch, uint32_t state) {
  volt_waiter *node = line->fifo.head;
  volt_variant_fifo_remove_(&line->fifo, node);
  batch->claims[batch->count++] =
      volt_variant_claim_of_(v->claim ? v->claim(node) : node, node, state);
}

/* Give the head of the FIFO what it may have. Returns true if it waits no more. */
static bool serve_head(volt_waiter *head, uint32_t state, uint32_t *hand) {
  uint32_t need = head->need;
  if (state == VOLT_WAITER_CLOSED_) { /* it goes with nothing: what it had gathered comes back */
    *hand += head->want - need;
    need = 0;
  } else {
    uint32_t given = *hand < need ? *hand : need;
    *hand -= given;
    need -= given;
  }
  head->need = need;
  return need == 0;
}

/* Serve the FIFO from its head. Returns true if the batch is full and there is more to do. */
static bool serve(const volt_variant_ *v, volt_line_ *line, volt_batch_ *batch, uint32_t *hand) {
  uint32_t state = v->is_closed(line) ? VOLT_WAITER_CLOSED_ : VOLT_WAITER_GRANTED_; /* R7 */
  while (line->fifo.head && (*hand > 0 || state == VOLT_WAITER_CLOSED_)) {
    if (batch->count == VOLT_WAKE_BATCH) return true;
    if (!serve_head(line->fifo.head, state, hand)) return false; /* I3 */
    claim(v, line, batch, state);
  }
  return false;
}

/* The lock is held, with hand permits to give: serve, leave the lock, tell and wake. The batch may
 * hold a claim already. */
static void serve_and_leave(const volt_variant_ *v, volt_line_ *line, volt_batch_ *batch,
                            uint32_t hand) {
  for (;;) {
    bool again;
    if (v->gather) v->gather(line);
    do {
      again = serve(v, line, batch, &hand);
    } while (!v->settle(v, line, hand));
    if (again) line->returning += 1;     /* R5 */
    volt_short_lock_leave_(&line->lock); /* the last access to the semaphore, if not again */
    volt_publish_(batch->claims, batch->count, v->spent);
    if (!again) return;
    batch->count = 0;
    volt_short_lock_take_(&line->lock);
    line->returning -= 1;
  }
}

/* ---- the operations ---- */

int volt_line_queue_(const volt_variant_ *v, volt_line_ *line, volt_waiter *w) {
  volt_short_lock_take_(&line->lock);
  int result = v->take(line, w);
  if (result == VOLT_PENDING) {
    volt_variant_fifo_push_back_(&line->fifo, w);
    v->settle(v, line, 0);
    volt_short_lock_leave_(&line->lock); /* *w is a releaser's from here */
    return VOLT_PENDING;
  }
  volt_short_lock_leave_(&line->lock);
  volt_store_relaxed(&w->state, VOLT_WAITER_UNUSED_); /* never linked: the owner's own */
  return result;
}

int volt_line_acquire_(const volt_variant_ *v, volt_line_ *line, volt_waiter *w, uint32_t n,
                       volt_waker waker) {
  if (n > VOLT_SEM_MAX) return VOLT_EINVAL;
  if (n == 0) return VOLT_OK;
  volt_waiter_prepare_(v->name, line, w, n, waker);
  return volt_line_queue_(v, line, w);
}

int volt_line_acquire_blocking_(const volt_variant_ *v, volt_line_ *line, uint32_t n,
                                uint64_t deadline_ns) {
  volt_waiter w = VOLT_WAITER_INIT;
  volt_parker parker = {0};
  int result = v->acquire(v, line, &w, n, volt_parker_waker(&parker));
  if (result != VOLT_PENDING) return result;
  if (volt_park_until(&parker, 1, deadline_ns) == VOLT_ETIMEDOUT) {
    if (v->cancel(v, line, &w)) return VOLT_ETIMEDOUT;
    volt_park_until(&parker, 1, VOLT_NO_DEADLINE); /* its wake is on the way to our parker */
  }
  return volt_waiter_result(&w);
}

void volt_line_release_(const volt_variant_ *v, volt_line_ *line, volt_waiter *claimed,
                        uint32_t hand) {
  volt_batch_ batch;
  batch.count = 0;
  if (claimed)
    batch.claims[batch.count++] = volt_variant_claim_of_(claimed, claimed, VOLT_WAITER_GRANTED_);
  volt_short_lock_take_(&line->lock);
  volt_waiter *head = line->fifo.head;
  if (head) volt_check_excess_(v->name, line, hand, head->want - head->need); /* I3 */
  serve_and_leave(v, line, &batch, hand);
}

/* Take the lock and look whether *w is in the FIFO. Returns true: it is, and the lock is held.
 * Returns false: a releaser was first, *w has completed, and the lock is not held. */
static bool lock_if_waiting(const volt_variant_ *v, volt_line_ *line, volt_waiter *w) {
  volt_short_lock_take_(&line->lock);
  if (v->gather) v->gather(line);
  if (w->need > 0) return true; /* I4 */
  v->settle(v, line, 0);
  volt_short_lock_leave_(&line->lock);
  volt_waiter_await_(w); /* R3: claimed, and no foreign code runs before it is told */
  return false;
}

bool volt_line_cancel_done_(const volt_variant_ *v, volt_line_ *line, volt_waiter *w,
                            bool *cancelled) {
  int result = volt_waiter_result(w);
  *cancelled = result == VOLT_ECANCELED;
  if (result != VOLT_PENDING) return true;
  VOLT_CHECK((void *)w->queue == (void *)line, v->name, "waiter %p is queued on %p, not on %p",
             (void *)w, (void *)w->queue, (void *)line);
  return false;
}

bool volt_line_cancel_node_(const volt_variant_ *v, volt_line_ *line, volt_waiter *w,
                            volt_waiter *node) {
  bool cancelled;
  if (volt_line_cancel_done_(v, line, w, &cancelled)) return cancelled;
  if (!lock_if_waiting(v, line, w)) return false;
  volt_variant_fifo_remove_(&line->fifo, node);
  uint32_t gathered = node->want - node->need;
  node->need = 0;
  w->need = 0;
  volt_store_relaxed(&w->state, VOLT_WAITER_UNUSED_); /* unlinked: the owner's own again */
  volt_batch_ batch;
  batch.count = 0;
  serve_and_leave(v, line, &batch, gathered);
  return true;
}

bool volt_line_cancel_(const volt_variant_ *v, volt_line_ *line, volt_waiter *w) {
  return volt_line_cancel_node_(v, line, w, w);
}

bool volt_line_set_node_waker_(const volt_variant_ *v, volt_line_ *line, volt_waiter *w,
                               volt_waiter *node, volt_waker waker) {
  bool cancelled;
  if (volt_line_cancel_done_(v, line, w, &cancelled)) return false;
  if (!lock_if_waiting(v, line, w)) return false;
  node->wake = waker.wake; /* R4 */
  node->ctx = waker.ctx;
  v->settle(v, line, 0);
  volt_short_lock_leave_(&line->lock);
  return true;
}

bool volt_line_set_waker_(const volt_variant_ *v, volt_line_ *line, volt_waiter *w,
                          volt_waker waker) {
  return volt_line_set_node_waker_(v, line, w, w, waker);
}

void volt_line_close_(const volt_variant_ *v, volt_line_ *line) {
  volt_batch_ batch;
  batch.count = 0;
  volt_short_lock_take_(&line->lock);
  v->close(line);
  serve_and_leave(v, line, &batch, 0);
}

/* ---- life and inspection ---- */

void volt_line_init_(const volt_variant_ *v, volt_line_ *line, uint32_t permits) {
  VOLT_CHECK(permits <= VOLT_SEM_MAX, v->name, "%p: %u permits, at most %u", (void *)line, permits,
             VOLT_SEM_MAX);
  volt_store_relaxed(&line->lock.word, 0); /* not shared yet */
  line->returning = 0;
  line->fifo.head = NULL;
  line->fifo.tail = NULL;
  line->fifo.waiters = 0;
}

void volt_line_destroy_(const volt_variant_ *v, volt_line_ *line) {
  for (unsigned looks = 0;;) {
    volt_short_lock_take_(&line->lock); /* R6 */
    if (v->gather) v->gather(line);
    VOLT_CHECK(line->fifo.waiters == 0, v->name, "%p: destroyed while %u waiters are queued",
               (void *)line, (uint32_t)line->fifo.waiters);
    uint32_t returning = line->returning;
    volt_short_lock_leave_(&line->lock);
    if (returning == 0) return;
    volt_pause_(&looks); /* R5: it is calling wakers */
  }
}

uint32_t volt_line_waiters_(const volt_variant_ *v, volt_line_ *line) {
  volt_short_lock_take_(&line->lock);
  if (v->gather) v->gather(line);
  uint32_t waiters = line->fifo.waiters;
  v->settle(v, line, 0);
  volt_short_lock_leave_(&line->lock);
  return waiters;
}
