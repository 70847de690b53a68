/* rwlock.c: permits.h with VOLT_RWLOCK_WRITER_ permits, one for a reader, all for a writer; or
 * bypass.h, if the lock was made with a bypass. The word's value is how many permits are taken. */
#define VOLT_NO_PLACES /* where its caller stands stays noted */
#include <volt/rwlock.h>

#include "../core/hooks/holding.h"
#include "../core/inspect/describe.h"
#include "../core/os/check.h"
#include "../core/park/blocker.h"
#include "../core/park/spin.h"
#include "../core/wait/bypass.h"
#include "../core/wait/permits.h"

#define READER 1u
#define WRITER VOLT_RWLOCK_WRITER_

#if VOLT_SIGHT
VOLT_HAS_HOLDER_(volt_rwlock);
static const volt_holdable_ rwlock_holdable = {.alone = WRITER,
                                               .holder = offsetof(volt_rwlock, holder)};
#endif

static const volt_future_ops_ *rwlock_ops(void);
static const volt_permit_kind_ rwlock_kind = {.kind = VOLT_KIND_RWLOCK_,
                                              .excess = "unlocked, but it is not locked like that",
                                              .full = WRITER,
                                              .max = WRITER,
                                              .shared = READER,
                                              .serve = volt_permits_serve_,
                                              .bound = NULL,
                                              .ops = rwlock_ops,
                                              .holds = VOLT_HOLDS_(&rwlock_holdable)};

static uint32_t rwlock_budget(volt_fifo_ *q) {
  return volt_container_of(q, volt_rwlock, queue)->bypass;
}

static void rwlock_describe(volt_future *f, volt_description_ *description) {
  volt_fifo_ *q = (volt_fifo_ *)f->object;
  description->for_write = volt_future_n_(f) == WRITER;
  description->operation = description->for_write ? "volt_rwlock_write" : "volt_rwlock_read";
  volt_describe_queue_(description, q, VOLT_ENDS_HOLDERS_);
  if (description->is_granted) return;
  uint64_t word = volt_load_relaxed(&q->word); /* a snapshot */
  uint32_t taken = VOLT_WORD_VALUE_(word);
  if ((word & VOLT_WORD_QUEUED_) && rwlock_budget(q) == 0) {
    volt_describe_state_(description, "locked");
  } else if (taken == 0 || taken == WRITER) {
    volt_describe_state_(description, taken ? "locked for writing" : "free");
  } else {
    volt_describe_state_(description, "%u %s", taken, taken == 1 ? "reader" : "readers");
  }
}

static VOLT_INLINED_ int rwlock_start_fast(volt_future *f, const volt_waker *waker) {
  return volt_permit_future_start_fast_(f, &rwlock_kind, waker);
}

static int rwlock_poll_ctx(volt_future *f, volt_ctx *ctx);
static const volt_permit_future_ops_ rwlock_future_ops =
    VOLT_PERMIT_FUTURE_OPS_("volt_rwlock", VOLT_KIND_RWLOCK_, &rwlock_kind, rwlock_poll_ctx,
                            rwlock_describe, &rwlock_holdable);

static const volt_future_ops_ *rwlock_ops(void) {
  return &rwlock_future_ops.base;
}

static int rwlock_poll_ctx(volt_future *f, volt_ctx *ctx) {
  return volt_leaf_poll_ctx_(f, ctx, &rwlock_future_ops.base, rwlock_start_fast);
}

static const volt_future_ops_ *rwlock_ops_with_bypass(void);
static const volt_bypass_kind_ rwlock_bypass = {
    .kind = VOLT_KIND_RWLOCK_,
    .excess = "unlocked, but it is not locked like that",
    .full = WRITER,
    .share = READER,
    .budget = rwlock_budget,
    .ops = rwlock_ops_with_bypass,
    .holds = VOLT_HOLDS_(&rwlock_holdable)};
static const volt_bypass_future_ops_ rwlock_bypass_ops = VOLT_BYPASS_FUTURE_OPS_(
    "volt_rwlock", VOLT_KIND_RWLOCK_, &rwlock_bypass, rwlock_describe, &rwlock_holdable);

static const volt_future_ops_ *rwlock_ops_with_bypass(void) {
  return &rwlock_bypass_ops.base;
}

extern inline int volt_rwlock_try_read(volt_rwlock *);
extern inline int volt_rwlock_read_waiter(volt_rwlock *, volt_waiter *, volt_waker);
extern inline int volt_rwlock_read_until(volt_rwlock *, uint64_t);
extern inline void volt_rwlock_read(volt_rwlock *);
extern inline void volt_rwlock_read_unlock(volt_rwlock *);
extern inline int volt_rwlock_try_write(volt_rwlock *);
extern inline int volt_rwlock_write_waiter(volt_rwlock *, volt_waiter *, volt_waker);
extern inline int volt_rwlock_write_until(volt_rwlock *, uint64_t);
extern inline void volt_rwlock_write(volt_rwlock *);
extern inline void volt_rwlock_write_unlock(volt_rwlock *);

void volt_rwlock_init(volt_rwlock *rw) {
  volt_rwlock_init_bypass(rw, 0);
}

void volt_rwlock_init_bypass(volt_rwlock *rw, uint32_t k) {
  volt_fifo_init_(&rw->queue, 0);
  rw->bypass = volt_bypass_check_("volt_rwlock_init_bypass", k);
  volt_holder_init_(&rw->holder);
}

int volt_rwlock_try_slow_(volt_rwlock *rw, uint32_t permits) {
  return volt_holdable_note_call_(&rwlock_holdable, rw, permits,
                                  volt_bypass_try_(&rw->queue, &rwlock_bypass, permits));
}

static int rwlock_lock(volt_rwlock *rw, volt_waiter *w, uint32_t permits, volt_waker waker) {
  if (rw->bypass > 0) return volt_bypass_acquire_(&rw->queue, &rwlock_bypass, w, permits, waker);
  return volt_permits_acquire_(&rw->queue, &rwlock_kind, w, permits, waker);
}

int volt_rwlock_lock_waiter_slow_(volt_rwlock *rw, volt_waiter *w, uint32_t permits,
                                  volt_waker waker) {
  volt_holder_is_waited_for_(&rw->holder);
  return volt_holdable_note_call_(&rwlock_holdable, rw, permits,
                                  rwlock_lock(rw, w, permits, waker));
}

static int rwlock_lock_until(volt_rwlock *rw, uint32_t permits, uint64_t deadline_ns) {
  if (rw->bypass > 0)
    return volt_bypass_acquire_until_(&rw->queue, &rwlock_bypass, permits, deadline_ns);
  return volt_permits_acquire_until_(&rw->queue, &rwlock_kind, permits, deadline_ns);
}

int volt_rwlock_lock_until_slow_(volt_rwlock *rw, uint32_t permits, uint64_t deadline_ns) {
  volt_check_blocks_("volt_rwlock_lock_blocking", deadline_ns);
  volt_holder_is_waited_for_(&rw->holder);
  if (deadline_ns == VOLT_NO_DEADLINE)
    volt_holdable_check_relock_(&rwlock_holdable, rw, "volt_rwlock");
  return volt_holdable_note_blocking_(&rwlock_holdable, rw, permits,
                                      rwlock_lock_until(rw, permits, deadline_ns));
}

void volt_rwlock_lock_slow_(volt_rwlock *rw, uint32_t permits) {
  volt_blocker_ *fiber = volt_shield_();
  (void)volt_rwlock_lock_until_slow_(rw, permits, VOLT_NO_DEADLINE);
  volt_unshield_(fiber);
}

static const volt_future_ops_ *rwlock_ops_of(const volt_rwlock *rw) {
  return rw->bypass > 0 ? &rwlock_bypass_ops.base : &rwlock_future_ops.base;
}

volt_future *volt_rwlock_read_future(volt_future *f, volt_rwlock *rw) {
  return volt_future_make_(f, rwlock_ops_of(rw), &rw->queue, READER);
}

volt_future *volt_rwlock_write_future(volt_future *f, volt_rwlock *rw) {
  return volt_future_make_(f, rwlock_ops_of(rw), &rw->queue, WRITER);
}

/* Abort if the caller cannot hold so many permits. While no waiter is queued, the word says whether
 * a writer or readers hold the lock. With bypass it always does. */
static void rwlock_check_held(volt_rwlock *rw, uint32_t permits, const char *what) {
  uint64_t word = volt_load_relaxed(&rw->queue.word); /* not stale: the caller holds the lock */
  uint32_t taken = VOLT_WORD_VALUE_(word);
  bool held = permits == WRITER ? taken == WRITER : taken != 0 && taken != WRITER;
  bool is_unknown = (word & VOLT_WORD_QUEUED_) && rw->bypass == 0;
  VOLT_CHECK(held || is_unknown, "volt_rwlock", "%p: %s, but it is %s", (void *)rw, what,
             taken == 0        ? "not locked"
             : taken == WRITER ? "locked for writing"
                               : "read-locked");
}

void volt_rwlock_unlock_slow_(volt_rwlock *rw, uint32_t permits, const char *what) {
  rwlock_check_held(rw, permits, what);
  if (rw->bypass > 0) {
    volt_bypass_release_(&rw->queue, &rwlock_bypass, permits);
  } else {
    volt_permits_release_fast_(&rw->queue, &rwlock_kind, permits);
  }
}

void volt_rwlock_write_unlock_fair(volt_rwlock *rw) {
  if (rw->bypass > 0) {
    rwlock_check_held(rw, WRITER, "write unlock");
    volt_holder_releasing_(&rw->holder, rw, WRITER);
    volt_bypass_release_fair_(&rw->queue, &rwlock_bypass, WRITER);
  } else {
    volt_rwlock_write_unlock(rw);
  }
}

void volt_rwlock_downgrade(volt_rwlock *rw) {
  rwlock_check_held(rw, WRITER, "downgrade");
  volt_holder_releasing_(&rw->holder, rw, WRITER);
  volt_shared_took_(rw, READER);
  if (rw->bypass > 0) {
    volt_bypass_release_(&rw->queue, &rwlock_bypass, WRITER - READER);
  } else {
    volt_permits_release_(&rw->queue, &rwlock_kind, WRITER - READER);
  }
}

bool volt_rwlock_cancel(volt_rwlock *rw, volt_waiter *w) {
  bool was_nudged; /* never: the waiters of volt_rwlock_write_waiter() are not */
  if (rw->bypass > 0) return volt_bypass_cancel_(&rw->queue, &rwlock_bypass, w, &was_nudged);
  return volt_permits_cancel_(&rw->queue, &rwlock_kind, w);
}

void volt_rwlock_destroy(volt_rwlock *rw) {
  volt_unname_at_end_(rw);
  volt_permits_destroy_(&rw->queue, &rwlock_kind);
  VOLT_CHECK(volt_permits_available_(&rw->queue, &rwlock_kind) == WRITER, "volt_rwlock_destroy",
             "%p: destroyed while it is locked", (void *)rw);
}

uint32_t volt_rwlock_readers(const volt_rwlock *rw) {
  uint32_t held = rw->bypass > 0 ? volt_bypass_value_(&rw->queue)
                                 : volt_permits_held_(&rw->queue, &rwlock_kind);
  return held == WRITER ? 0 : held;
}

uint32_t volt_rwlock_waiters(const volt_rwlock *rw) {
  return volt_fifo_count_(&rw->queue);
}
