/* mutex.c: permits.h with one permit; or bypass.h, if the mutex was made with a bypass. The word is
 * zero while the mutex is free and no waiter is queued. */
#define VOLT_NO_PLACES /* where its caller stands stays noted */
#include <volt/mutex.h>

#include "../core/hooks/holding.h"
#include "../core/inspect/describe.h"
#include "../core/os/check.h"
#include "../core/park/blocker.h"
#include "../core/park/spin.h"
#include "../core/wait/bypass.h"
#include "../core/wait/permits.h"
#include "mutex_move.h"

#if VOLT_SIGHT
VOLT_HAS_HOLDER_(volt_mutex);
static const volt_holdable_ mutex_holdable = {.alone = 1, .holder = offsetof(volt_mutex, holder)};
#endif

static const volt_future_ops_ *mutex_ops(void);
static const volt_permit_kind_ mutex_kind = {.kind = VOLT_KIND_MUTEX_,
                                             .excess = "unlocked, but it is not locked",
                                             .full = 1,
                                             .max = 1,
                                             .shared = 0,
                                             .serve = volt_permits_serve_,
                                             .bound = NULL,
                                             .ops = mutex_ops,
                                             .holds = VOLT_HOLDS_(&mutex_holdable)};

static uint32_t mutex_budget(volt_fifo_ *q) {
  return volt_container_of(q, volt_mutex, queue)->bypass;
}

static void mutex_describe(volt_future *f, volt_description_ *description) {
  volt_fifo_ *q = (volt_fifo_ *)f->object;
  volt_describe_queue_(description, q, VOLT_ENDS_HOLDERS_);
  if (description->is_granted) return;
  uint64_t word = volt_load_relaxed(&q->word); /* a snapshot */
  bool is_handed_on = (word & VOLT_WORD_QUEUED_) && mutex_budget(q) == 0;
  volt_describe_state_(description, VOLT_WORD_VALUE_(word) || is_handed_on ? "locked" : "free");
}

static VOLT_INLINED_ int mutex_start_fast(volt_future *f, const volt_waker *waker) {
  return volt_permit_future_start_fast_(f, &mutex_kind, waker);
}

static int mutex_poll_ctx(volt_future *f, volt_ctx *ctx);
static const volt_permit_future_ops_ mutex_future_ops =
    VOLT_PERMIT_FUTURE_OPS_("volt_mutex_lock", VOLT_KIND_MUTEX_, &mutex_kind, mutex_poll_ctx,
                            mutex_describe, &mutex_holdable);

static const volt_future_ops_ *mutex_ops(void) {
  return &mutex_future_ops.base;
}

static int mutex_poll_ctx(volt_future *f, volt_ctx *ctx) {
  return volt_leaf_poll_ctx_(f, ctx, &mutex_future_ops.base, mutex_start_fast);
}

static const volt_future_ops_ *mutex_ops_with_bypass(void);
static const volt_bypass_kind_ mutex_bypass = {.kind = VOLT_KIND_MUTEX_,
                                               .excess = "unlocked, but it is not locked",
                                               .full = 1,
                                               .share = 0,
                                               .budget = mutex_budget,
                                               .ops = mutex_ops_with_bypass,
                                               .holds = VOLT_HOLDS_(&mutex_holdable)};
static const volt_bypass_future_ops_ mutex_bypass_ops = VOLT_BYPASS_FUTURE_OPS_(
    "volt_mutex_lock", VOLT_KIND_MUTEX_, &mutex_bypass, mutex_describe, &mutex_holdable);

static const volt_future_ops_ *mutex_ops_with_bypass(void) {
  return &mutex_bypass_ops.base;
}

extern inline int volt_mutex_try_from_(volt_mutex *, uint64_t);
extern inline int volt_mutex_try_lock(volt_mutex *);
extern inline int volt_mutex_lock_waiter(volt_mutex *, volt_waiter *, volt_waker);
extern inline int volt_mutex_lock_until(volt_mutex *, uint64_t);
extern inline void volt_mutex_lock(volt_mutex *);
extern inline void volt_mutex_unlock(volt_mutex *);

void volt_mutex_init(volt_mutex *m) {
  volt_mutex_init_bypass(m, 0);
}

void volt_mutex_init_bypass(volt_mutex *m, uint32_t k) {
  volt_fifo_init_(&m->queue, 0);
  m->bypass = volt_bypass_check_("volt_mutex_init_bypass", k);
  volt_holder_init_(&m->holder);
}

int volt_mutex_try_slow_(volt_mutex *m) {
  return volt_holdable_note_call_(&mutex_holdable, m, 1,
                                  volt_bypass_try_(&m->queue, &mutex_bypass, 1));
}

static int mutex_lock(volt_mutex *m, volt_waiter *w, volt_waker waker) {
  if (m->bypass > 0) return volt_bypass_acquire_(&m->queue, &mutex_bypass, w, 1, waker);
  return volt_permits_acquire_(&m->queue, &mutex_kind, w, 1, waker);
}

int volt_mutex_lock_waiter_slow_(volt_mutex *m, volt_waiter *w, volt_waker waker) {
  volt_holder_is_waited_for_(&m->holder);
  return volt_holdable_note_call_(&mutex_holdable, m, 1, mutex_lock(m, w, waker));
}

static int mutex_lock_until(volt_mutex *m, uint64_t deadline_ns) {
  if (m->bypass > 0) return volt_bypass_acquire_until_(&m->queue, &mutex_bypass, 1, deadline_ns);
  return volt_permits_acquire_until_(&m->queue, &mutex_kind, 1, deadline_ns);
}

int volt_mutex_lock_until_slow_(volt_mutex *m, uint64_t deadline_ns) {
  volt_check_blocks_("volt_mutex_lock_until", deadline_ns);
  volt_holder_is_waited_for_(&m->holder);
  if (deadline_ns == VOLT_NO_DEADLINE)
    volt_holdable_check_relock_(&mutex_holdable, m, "volt_mutex_lock");
  return volt_holdable_note_blocking_(&mutex_holdable, m, 1, mutex_lock_until(m, deadline_ns));
}

void volt_mutex_lock_slow_(volt_mutex *m) {
  volt_blocker_ *fiber = volt_shield_();
  (void)volt_mutex_lock_until_slow_(m, VOLT_NO_DEADLINE);
  volt_unshield_(fiber);
}

volt_future *volt_mutex_lock_future(volt_future *f, volt_mutex *m) {
  const volt_future_ops_ *ops = m->bypass > 0 ? &mutex_bypass_ops.base : &mutex_future_ops.base;
  return volt_future_make_(f, ops, &m->queue, 1);
}

void volt_mutex_move_(volt_mutex *m, volt_fifo_ *from, uint64_t from_word, volt_waiter *last,
                      uint32_t count) {
  if (m->bypass > 0) {
    volt_bypass_move_(&m->queue, &mutex_bypass, from, from_word, last, count);
  } else {
    volt_permits_move_(&m->queue, &mutex_kind, from, from_word, last, count);
  }
}

bool volt_mutex_cancel(volt_mutex *m, volt_waiter *w) {
  bool
      was_nudged; /* never: the waiters of volt_mutex_lock_waiter() and of a condition variable are not */
  if (m->bypass > 0) return volt_bypass_cancel_(&m->queue, &mutex_bypass, w, &was_nudged);
  return volt_permits_cancel_(&m->queue, &mutex_kind, w);
}

void volt_mutex_unlock_slow_(volt_mutex *m) {
  if (m->bypass > 0) {
    volt_bypass_release_(&m->queue, &mutex_bypass, 1);
  } else {
    volt_permits_release_fast_(&m->queue, &mutex_kind, 1);
  }
}

void volt_mutex_unlock_fair(volt_mutex *m) {
  if (m->bypass > 0) {
    volt_holder_releasing_(&m->holder, m, 1);
    volt_bypass_release_fair_(&m->queue, &mutex_bypass, 1);
  } else {
    volt_mutex_unlock(m);
  }
}

void volt_mutex_destroy(volt_mutex *m) {
  volt_unname_at_end_(m);
  volt_permits_destroy_(&m->queue, &mutex_kind);
  VOLT_CHECK(!volt_mutex_is_locked(m), "volt_mutex_destroy", "%p: destroyed while it is locked",
             (void *)m);
}

bool volt_mutex_is_locked(const volt_mutex *m) {
  if (m->bypass > 0) return volt_bypass_value_(&m->queue) != 0;
  return volt_permits_available_(&m->queue, &mutex_kind) == 0;
}

uint32_t volt_mutex_waiters(const volt_mutex *m) {
  return volt_fifo_count_(&m->queue);
}
