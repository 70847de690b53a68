/* serve.c: the two ends of a waiter's life in a variant; what a variant does with its lock held;
 * and permits in a word of their own.
 *
 * Algorithm: an acquire takes the lock before it decides that it must wait, a release before it
 * decides that no thread waits. A release serves the oldest waiters under the lock, in parts if
 * need be: it unlinks them and copies what it needs of them ("claim"). It unlocks, then stores the
 * outcome into every claimed waiter ("grant"), then calls the wakers it has copied.
 * Three variants keep the permits that are free in a word of their own, the pool: a permit is there
 * only while no thread waits. Any thread takes permits by CAS; only the holder of the lock adds
 * permits or sets CLOSED. So while the lock is held the number can fall, and nothing else can
 * happen to it.
 *
 * Source: acquireWait, releaseToWaiters and cancelAcquire of both editions of "Counting Semaphore
 * Algorithm" (docs/errata.md), here for every variant; for a waiter's two ends, src/core/wait/permits.c.
 *
 * Invariants, whenever the lock is free
 *   I1  a permit is free => no thread waits
 *   I2  held + free + in the hands of releasers + gathered by waiters = constant
 *   I3  only the oldest waiter is partially served
 *   I4  need > 0 exactly while a waiter is in the FIFO; one that waits elsewhere, or is claimed, or
 *       completed, has need = 0. It is granted once, by the thread that claimed it
 *   I5  no thread waits once the semaphore is closed, except those that a close is about to
 *       complete
 *
 * Races
 *   R1  Interleaving: an acquirer finds too few permits; a releaser finds no waiter and makes its
 *       permits free; the acquirer sleeps beside them (docs/errata.md, E1, E2, E3). Prevented by:
 *       both decide with the lock held, and take() and gather() visit every place where a permit,
 *       or a waiter, can be. A pool grows only under the lock, so the drain under it is the last.
 *   R2  Interleaving: the owner sees the grant and uses the waiter again while the granter still
 *       reads it (docs/errata.md, E7, E8). Prevented by: the granter unlinks the waiter and copies
 *       it under the lock; the grant is the last access.
 *   R3  Interleaving: a cancel meets a releaser (docs/errata.md, E5). Prevented by: need, under the
 *       lock and after gather(), says which was first. If the releaser was, the cancel waits for
 *       the grant and returns false (docs/errata.md, E6).
 *   R4  Interleaving: a waker is replaced while the granter reads it (docs/errata.md, E9).
 *       Prevented by: as R3.
 *   R5  Interleaving: more waiters are to be served than a batch holds (docs/errata.md, E13).
 *       Prevented by: the releaser unlocks, keeps the rest of the permits, grants and wakes the
 *       batch, and comes back. `returning` makes destroy() wait for that.
 *   R6  Interleaving: a release makes its permits free under the lock; another thread takes them
 *       and destroys the semaphore before the release unlocks. Prevented by: destroy() takes the
 *       lock, so it comes after.
 *   R7  Interleaving: a release comes between two batches of a close. Prevented by: every holder of
 *       the lock of a closed semaphore serves as the closer does.
 *   R8  Interleaving: a waker of the batch cancels another waiter of the batch, which this thread
 *       has claimed and not granted: it would wait for itself. Prevented by: every waiter of the
 *       batch is granted before the first waker is called. */
#include "serve.h"

#include "atomic_more.h"
#include "core/os/check.h"
#include "core/park/spin.h"
#include "rt/sched/short_lock.h"

/* ---- a waiter's two ends ---- */

void volt_waiter_prepare_(const char *name, void *object, volt_waiter *w, uint32_t n,
                          volt_waker waker) {
  uint32_t state = volt_load_relaxed(&w->state); /* relaxed: its owner is the only writer */
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
  volt_store_relaxed(&w->state, VOLT_WAITER_PENDING_); /* relaxed: published by what links it */
}

volt_variant_claim_ volt_variant_claim_of_(volt_waiter *w, volt_waiter *node, uint32_t state) {
  volt_variant_claim_ claim = {w, node, {node->wake, node->ctx}, state, w->use};
  return claim;
}

void volt_publish_(const volt_variant_claim_ *claims, unsigned count,
                   void (*spent)(volt_waiter *node)) {
  for (unsigned i = 0; i < count; i++) {
    volt_waiter *w = claims[i].waiter;
    VOLT_CHECK(claims[i].use == w->use, "grant",
               "waiter %p was re-used while it was queued: it is invocation %u, was %u", (void *)w,
               (unsigned)w->use, (unsigned)claims[i].use);
    volt_variant_grant_(w, claims[i].state);
  }
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

/* ---- serving: the lock is held ---- */

static void serve_claim(const volt_variant_ *v, volt_line_ *line, volt_batch_ *batch,
                        uint32_t state) {
  volt_waiter *node = line->fifo.head;
  volt_variant_fifo_remove_(&line->fifo, node);
  batch->claims[batch->count++] =
      volt_variant_claim_of_(v->claim ? v->claim(node) : node, node, state);
}

/* Give the head of the FIFO what there is for it. Returns true if it has all it needs. */
static bool serve_give_head(volt_waiter *head, uint32_t state, uint32_t *hand) {
  uint32_t need = head->need;
  if (state == VOLT_WAITER_CLOSED_) { /* it gets nothing: what it had gathered comes back */
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

/* Serve the FIFO from its head. Returns true if the batch is full and more is to be done. */
static bool serve_fifo(const volt_variant_ *v, volt_line_ *line, volt_batch_ *batch,
                       uint32_t *hand) {
  uint32_t state = v->is_closed(line) ? VOLT_WAITER_CLOSED_ : VOLT_WAITER_GRANTED_; /* R7 */
  while (line->fifo.head && (*hand > 0 || state == VOLT_WAITER_CLOSED_)) {
    if (batch->count == VOLT_WAKE_BATCH) return true;
    if (!serve_give_head(line->fifo.head, state, hand)) return false; /* I3 */
    serve_claim(v, line, batch, state);
  }
  return false;
}

/* The lock is held, and hand permits are to be given: serve, unlock, grant and wake. The batch may
 * have a claim already. */
static void serve_and_unlock(const volt_variant_ *v, volt_line_ *line, volt_batch_ *batch,
                             uint32_t hand) {
  for (;;) {
    bool again;
    if (v->gather) v->gather(line);
    do {
      again = serve_fifo(v, line, batch, &hand);
    } while (!v->settle(v, line, hand));
    if (again) line->returning += 1;      /* R5 */
    volt_short_lock_unlock_(&line->lock); /* the last access to the semaphore, if not again */
    volt_publish_(batch->claims, batch->count, v->spent);
    if (!again) return;
    batch->count = 0;
    volt_short_lock_lock_(&line->lock);
    line->returning -= 1;
  }
}

/* ---- the operations ---- */

int volt_line_queue_(const volt_variant_ *v, volt_line_ *line, volt_waiter *w) {
  volt_short_lock_lock_(&line->lock);
  int result = v->take(line, w);
  if (result == VOLT_PENDING) {
    volt_variant_fifo_push_back_(&line->fifo, w);
    v->settle(v, line, 0);
    volt_short_lock_unlock_(&line->lock); /* from here *w may be claimed */
    return VOLT_PENDING;
  }
  volt_short_lock_unlock_(&line->lock);
  volt_store_relaxed(&w->state, VOLT_WAITER_UNUSED_); /* never linked: its owner's alone */
  return result;
}

int volt_line_acquire_(const volt_variant_ *v, volt_line_ *line, volt_waiter *w, uint32_t n,
                       volt_waker waker) {
  if (n > VOLT_SEM_MAX) return VOLT_EINVAL;
  if (n == 0) return VOLT_OK;
  volt_waiter_prepare_(v->name, line, w, n, waker);
  return volt_line_queue_(v, line, w);
}

int volt_line_acquire_until_(const volt_variant_ *v, volt_line_ *line, uint32_t n,
                             uint64_t deadline_ns) {
  volt_waiter w = VOLT_WAITER_INIT;
  volt_parker parker = {0};
  int result = v->acquire(v, line, &w, n, volt_parker_waker(&parker));
  if (result != VOLT_PENDING) return result;
  if (volt_park_until(&parker, 1, deadline_ns) == VOLT_ETIMEDOUT) {
    if (v->cancel(v, line, &w)) return VOLT_ETIMEDOUT;
    volt_park_until(&parker, 1, VOLT_NO_DEADLINE); /* its wake is on the way to this parker */
  }
  return volt_waiter_result(&w);
}

void volt_line_release_(const volt_variant_ *v, volt_line_ *line, volt_waiter *claimed,
                        uint32_t hand) {
  volt_batch_ batch;
  batch.count = 0;
  if (claimed)
    batch.claims[batch.count++] = volt_variant_claim_of_(claimed, claimed, VOLT_WAITER_GRANTED_);
  volt_short_lock_lock_(&line->lock);
  volt_waiter *head = line->fifo.head;
  if (head) volt_check_excess_(v->name, line, hand, head->want - head->need); /* I3 */
  serve_and_unlock(v, line, &batch, hand);
}

/* Lock if *w is in the FIFO. Returns false: a releaser was first, *w has completed, and the lock is
 * not held. */
static bool serve_lock_if_waiting(const volt_variant_ *v, volt_line_ *line, volt_waiter *w) {
  volt_short_lock_lock_(&line->lock);
  if (v->gather) v->gather(line);
  if (w->need > 0) return true; /* I4 */
  v->settle(v, line, 0);
  volt_short_lock_unlock_(&line->lock);
  volt_waiter_await_(w); /* R3: claimed, and no foreign code runs before its grant */
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
  if (!serve_lock_if_waiting(v, line, w)) return false;
  volt_variant_fifo_remove_(&line->fifo, node);
  uint32_t gathered = node->want - node->need;
  node->need = 0;
  w->need = 0;
  volt_store_relaxed(&w->state, VOLT_WAITER_UNUSED_); /* unlinked: its owner's alone again */
  volt_batch_ batch;
  batch.count = 0;
  serve_and_unlock(v, line, &batch, gathered);
  return true;
}

bool volt_line_cancel_(const volt_variant_ *v, volt_line_ *line, volt_waiter *w) {
  return volt_line_cancel_node_(v, line, w, w);
}

bool volt_line_set_node_waker_(const volt_variant_ *v, volt_line_ *line, volt_waiter *w,
                               volt_waiter *node, volt_waker waker) {
  bool cancelled;
  if (volt_line_cancel_done_(v, line, w, &cancelled)) return false;
  if (!serve_lock_if_waiting(v, line, w)) return false;
  node->wake = waker.wake; /* R4 */
  node->ctx = waker.ctx;
  v->settle(v, line, 0);
  volt_short_lock_unlock_(&line->lock);
  return true;
}

bool volt_line_set_waker_(const volt_variant_ *v, volt_line_ *line, volt_waiter *w,
                          volt_waker waker) {
  return volt_line_set_node_waker_(v, line, w, w, waker);
}

void volt_line_close_(const volt_variant_ *v, volt_line_ *line) {
  volt_batch_ batch;
  batch.count = 0;
  volt_short_lock_lock_(&line->lock);
  v->close(line);
  serve_and_unlock(v, line, &batch, 0);
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
  for (unsigned spins = 0;;) {
    volt_short_lock_lock_(&line->lock); /* R6 */
    if (v->gather) v->gather(line);
    VOLT_CHECK(line->fifo.waiters == 0, v->name, "%p: destroyed while %u waiters are queued",
               (void *)line, (uint32_t)line->fifo.waiters);
    uint32_t returning = line->returning;
    volt_short_lock_unlock_(&line->lock);
    if (returning == 0) return;
    volt_pause_(&spins); /* R5: a releaser is calling wakers */
  }
}

uint32_t volt_line_waiters_(const volt_variant_ *v, volt_line_ *line) {
  volt_short_lock_lock_(&line->lock);
  if (v->gather) v->gather(line);
  uint32_t waiters = line->fifo.waiters;
  v->settle(v, line, 0);
  volt_short_lock_unlock_(&line->lock);
  return waiters;
}

/* ---- permits in a word of their own ---- */

static volt_variant_pool_ *serve_pool_of(volt_line_ *line) {
  return (volt_variant_pool_ *)(void *)line;
}

int volt_variant_pool_take_(volt_line_ *line, volt_waiter *w) {
  volt_variant_pool_ *pool = serve_pool_of(line);
  uint32_t need = w->need;
  uint32_t seen = volt_load_relaxed(&pool->permits); /* CLOSED and 0 are certain */
  while (seen != 0) {
    if (seen & VOLT_VARIANT_POOL_CLOSED_) return VOLT_ECLOSED;
    uint32_t given = seen < need ? seen : need;
    /* serve:D1 <- serve:F1: permits carry their releasers' past; all writes of the word are RMWs */
    if (volt_cas_acquire(&pool->permits, &seen, seen - given)) {
      w->need = need - given;
      return given == need ? VOLT_OK : VOLT_PENDING;
    }
  }
  return VOLT_PENDING;
}

bool volt_variant_pool_settle_(const volt_variant_ *v, volt_line_ *line, uint32_t hand) {
  if (line->fifo.head || hand == 0) return true;
  volt_variant_pool_ *pool = serve_pool_of(line);
  volt_check_excess_(v->name, line, hand, volt_variant_pool_available_(pool));
  /* serve:F1 -> serve:T1, serve:D1: permits carry their releasers' past */
  volt_fetch_add_release(&pool->permits, hand);
  return true;
}

bool volt_variant_pool_is_closed_(volt_line_ *line) {
  /* serve:C1 <- serve:X1: a thread that sees CLOSED sees what came before close() */
  return (volt_load_acquire(&serve_pool_of(line)->permits) & VOLT_VARIANT_POOL_CLOSED_) != 0;
}

void volt_variant_pool_close_(volt_line_ *line) {
  /* serve:X1 -> serve:C1: a thread that sees CLOSED sees what came before close() */
  volt_fetch_or_release(&serve_pool_of(line)->permits, VOLT_VARIANT_POOL_CLOSED_);
}

uint32_t volt_variant_pool_available_(volt_variant_pool_ *pool) {
  return volt_load_relaxed(&pool->permits) & ~VOLT_VARIANT_POOL_CLOSED_; /* a snapshot */
}

void volt_variant_pool_init_(const volt_variant_ *v, volt_variant_pool_ *pool, uint32_t permits) {
  volt_line_init_(v, &pool->line, permits);
  volt_store_relaxed(&pool->permits, permits); /* not shared yet */
}
