/* future.c: one pollable operation for every primitive.
 *
 * A future is sequential: it has one owner at a time. All concurrency is in its waiter (grant.c,
 * and the engine of its primitive).
 *
 *   state    poll                                             cancel
 *   INIT     start the operation -> WAITING or READY          -> READY (cancelled)
 *   WAITING  completed, or due -> READY; else a new waker     unlink, or give back -> READY
 *   READY    the same result again                            nothing
 *
 * A leaf waits with one waiter. Its operations have a start(). A composed future has no waiter of
 * its own; it polls the futures it is composed of.
 *
 * Invariant
 *   I1  Each registration that a volt_ctx has counted is followed by one call: of its waker, or of
 *       its drop. The granter calls the waker. This file calls the drop: when it unlinks a waiter,
 *       or replaces a waker. Only in these two ways is a wake lost, and both are intended.
 *
 * Race
 *   R1  Interleaving: volt_future_wait_until() sets its counts back while a registration is open;
 *   the unpark
 *       that comes meanwhile is lost. Prevented by: the counts are never set back. They wrap, as
 *       those of a parker do (park.c R2). */
#include "future_ops.h"

#include "../hooks/wait_times.h"
#include "../inspect/holders.h"
#include "../os/check.h"
#include "../os/futex.h"
#include "../park/blocker.h"
#include "../park/call.h"
#include "../park/spin.h"
#include "leaf.h"

extern inline void volt_future_made(const volt_future *);
extern inline int volt_future_wait(volt_future *);

enum {
  INIT = VOLT_FUTURE_INIT_,
  WAITING = VOLT_FUTURE_WAITING_,
  READY = VOLT_FUTURE_READY_,
  TIMED = VOLT_FUTURE_TIMED_
};

/* Builds that know holders: a future that was made has a word that says so. Its lowest bit is set
 * while a future that is composed is polled: it cannot be part of itself. */
#if VOLT_SIGHT
static bool future_is_made(const volt_future *f) {
  return f->ops && (f->made & ~(uintptr_t)1) == VOLT_MADE_WITH_(f->ops);
}

static void future_enter(volt_future *f) {
  VOLT_CHECK(!(f->made & 1), f->ops->operation,
             "future %p is polled inside its own poll: it awaits itself", (void *)f);
  f->made |= 1;
}
#define future_exit(f) ((f)->made &= ~(uintptr_t)1)
#else
static bool future_is_made(const volt_future *f) {
  return f->ops != NULL;
}
#define future_enter(f) ((void)0)
#define future_exit(f) ((void)0)
#endif

volt_future *volt_future_make_(volt_future *f, const volt_future_ops_ *ops, void *object,
                               uint32_t n) {
  VOLT_ASSERT(ops->poll_ctx);
  volt_future_set_ops_(f, ops);
  f->object = object;
  f->decision = NULL;
  f->waiter.need = 0; /* a FIFO that still has it finds it made anew: by need, or by place */
  f->waiter.place = 0;
  f->waiter.use = 0;
  volt_future_set_state_(f, INIT);
  volt_future_set_drop_(f, NULL);
  volt_future_set_n_(f, n);
  volt_store_relaxed(&f->waiter.state, VOLT_WAITER_UNUSED_); /* not shared in INIT */
  return f;
}

volt_future *volt_future_known_(volt_future *f, int result) {
  static const volt_future_ops_ known_ops = {.operation = "volt_future_known",
                                             .poll_ctx = volt_future_poll_any_};
  volt_future_make_(f, &known_ops, NULL, 0);
  volt_future_set_result_(f, result);
  return f;
}

static volt_waiter *future_waiter(volt_future *f) {
  return volt_leaf_waiter_(f, f->ops);
}

#if VOLT_SIGHT
void volt_future_note_took_(volt_future *f, int result) {
  if (f->ops->holds && result == VOLT_OK) {
    volt_future_note_wants_(f);
    volt_holdable_took_(f->ops->holds, f->object, volt_future_n_(f));
  }
}

void volt_future_note_wants_(volt_future *f) {
  const volt_party_ *p = VOLT_PARTY_HERE_;
  if (!f->ops->holds || f->ops->holds->alone == 0 || !p) return;
  bool is_nested = volt_load_relaxed(&p->count) > 0; /* its own */
  if (is_nested && volt_load_relaxed(&volt_lock_order_is_on_) != 0)
    volt_lock_order_note_(p, f->object);
}

void volt_future_note_left_(volt_future *f) {
  if (f->ops->holds) volt_holdable_releasing_(f->ops->holds, f->object, volt_future_n_(f));
}
#endif

/* Debug builds: a composed future queues no waiter whose place would show that it was moved. */
static void future_note_place(volt_future *f) {
#if VOLT_DEBUG
  f->waiter.place = volt_waiter_place_(&f->waiter);
#else
  (void)f;
#endif
}

static void future_check_place(const volt_future *f) {
#if VOLT_DEBUG
  VOLT_CHECK(volt_future_is_leaf_(f) || !volt_future_is_waiting_(f) ||
                 volt_waiter_is_in_place_(&f->waiter),
             "volt_future", "%p was copied or moved while what it is composed of waits",
             (const void *)f);
#else
  (void)f;
#endif
}

/* ---- leaves ---- */

static int future_result(volt_future *f) {
  int result = volt_waiter_result(future_waiter(f));
  return result == VOLT_OK && f->ops->outcome ? f->ops->outcome(f) : result;
}

static void future_drop_waker(volt_future *f, void *ctx) {
  volt_wake_fn drop = volt_future_drop_(f);
  volt_future_set_drop_(f, NULL);
  if (drop) drop(ctx); /* I1 */
}

static bool future_is_final(const volt_future *f) {
  return volt_future_is_leaf_(f) && volt_leaf_is_final_(f->ops);
}

/* Cancel a WAITING leaf. Returns false if it has completed instead. */
static bool future_withdraw(volt_future *f) {
  void *ctx = future_waiter(f)->ctx;
  if (!f->ops->cancel(f)) return false;
  future_drop_waker(f, ctx);
  return true;
}

/* f is not completed. If what it waits for has happened, complete it (monitor.c R6) and return
 * true. */
static bool future_is_due(volt_future *f) {
  return f->ops->due && f->ops->due(f);
}

int volt_future_poll_leaf_(volt_future *f, volt_ctx *ctx) {
  if (volt_future_state_(f) == INIT) return volt_leaf_start_(f, ctx, f->ops);
  if (ctx->decision && f->decision != ctx->decision && future_is_final(f) && future_withdraw(f)) {
    /* it was queued before it was in this select: queue it with its decision */
    volt_future_set_state_(f, INIT);
    return volt_leaf_start_(f, ctx, f->ops);
  }
  if (!future_is_final(f)) f->decision = ctx->decision; /* no granter reads it */
  volt_waiter *w = future_waiter(f);
  int result = future_result(f);
  if (result == VOLT_PENDING && future_is_due(f)) {
    /* its waker may have polled it meanwhile */
    if (volt_future_state_(f) == READY) return volt_future_result_(f);
    result = future_result(f);
  }
  if (result == VOLT_PENDING) {
    volt_waker before = {w->wake, w->ctx};
    if (before.wake == ctx->waker.wake && before.ctx == ctx->waker.ctx) return VOLT_PENDING;
    if (f->ops->set_waker(f, ctx->waker)) {
      future_drop_waker(f, before.ctx);
      return volt_leaf_registered_(f, ctx);
    }
    result = future_result(f); /* the grant was first */
  }
  if (result == VOLT_ECANCELED && volt_waiter_result(w) == result) {
    future_drop_waker(f, w->ctx); /* I1: dismissed (channel.c R9) */
  }
  VOLT_PROBE_LEAF(wait__end, f, w, result);
  return volt_leaf_complete_(f, f->ops, result);
}

/* ---- every future ---- */

static void future_check_made(const volt_future *f, const char *call, bool is_made) {
  VOLT_CHECK(is_made, call, "%p was never given an operation", (const void *)f);
}

/* For the time of the poll, f is like all others. */
static VOLT_NOINLINE int future_poll_timed(volt_future *f, volt_ctx *ctx) {
  volt_future_set_state_(f, WAITING);
  int result = volt_future_poll_ctx(f, ctx);
  if (volt_future_state_(f) == WAITING) volt_future_set_state_(f, TIMED);
  if (volt_future_state_(f) == READY) volt_wait_times_ended_(f);
  return result;
}

/* What comes next is not timed. */
static void future_stop_timing(volt_future *f) {
  if (volt_future_state_(f) == TIMED) volt_wait_times_end_(f);
}

int volt_future_poll_any_(volt_future *f, volt_ctx *ctx) {
  future_check_made(f, "volt_future_poll", volt_future_state_(f) <= TIMED);
  if (volt_future_state_(f) == TIMED) return future_poll_timed(f, ctx);
  if (volt_future_state_(f) == READY) return volt_future_result_(f);
  if (ctx->cancel != VOLT_CTX_GO_ON && !f->ops->ends_itself) {
    volt_future_cancel(f);
    if (volt_future_result_(f) == VOLT_ECANCELED) volt_ctx_obeyed_(ctx);
    return volt_future_result_(f);
  }
  if (ctx->budget == 0) {
    ctx->yield = true;
    return VOLT_PENDING;
  }
  if (f->ops->poll) {
    future_check_place(f);
    volt_decision_ *decision = ctx->decision;
    if (!f->ops->through && !volt_future_is_leaf_(f)) ctx->decision = NULL;
    if (!volt_future_is_leaf_(f)) future_enter(f);
    int result = f->ops->poll(f, ctx);
    future_exit(f);
    ctx->decision = decision;
    if (result != VOLT_PENDING) {
      if (volt_future_is_leaf_(f)) ctx->budget -= 1;
      return volt_future_end_(f, result);
    }
    if (!volt_future_is_leaf_(f)) future_note_place(f);
    if (volt_future_state_(f) != TIMED) volt_future_set_state_(f, WAITING);
    return VOLT_PENDING;
  }
  int result = volt_future_poll_leaf_(f, ctx);
  if (result != VOLT_PENDING) ctx->budget -= 1;
  return result;
}

VOLT_NOINLINE int volt_leaf_granted_slow_(volt_future *f, volt_ctx *ctx, volt_waiter *w) {
  return volt_leaf_granted_(f, ctx, f->ops, w);
}

int volt_future_poll_leaf_any_(volt_future *f, volt_ctx *ctx) {
  return volt_leaf_poll_ctx_(f, ctx, f->ops, NULL);
}

int volt_future_poll_ctx(volt_future *f, volt_ctx *ctx) {
  future_check_made(f, "volt_future_poll", future_is_made(f));
  return f->ops->poll_ctx(f, ctx);
}

int volt_future_poll_branch_(volt_future *f, volt_ctx *ctx) {
  bool spent = ctx->budget == 0;
  if (spent) ctx->budget = 1;
  int result = volt_future_poll_ctx(f, ctx);
  if (spent) ctx->budget = 0;
  return result;
}

bool volt_future_end_branch_(volt_future *f, volt_ctx *ctx) {
  if (!volt_future_is_waiting_(f) || !f->ops->ends_itself) {
    volt_future_cancel(f);
    return true;
  }
  uint32_t before = ctx->cancel;
  if (before == VOLT_CTX_GO_ON) ctx->cancel = VOLT_CTX_CANCEL_ONCE;
  int result = volt_future_poll_branch_(f, ctx);
  ctx->cancel = before;
  if (!volt_future_standing_(f)) volt_future_undo_(f); /* its result is not used */
  return result != VOLT_PENDING;
}

int volt_future_poll(volt_future *f, volt_waker waker) {
  volt_ctx ctx = VOLT_CTX_INIT(waker);
  int result = volt_future_poll_ctx(f, &ctx);
  if (result == VOLT_PENDING && ctx.yield && waker.wake) waker.wake(waker.ctx);
  return result;
}

void volt_future_cancel(volt_future *f) {
  future_check_made(f, "volt_future_cancel", !f->ops || future_is_made(f));
  if (volt_future_state_(f) == READY) return;
  future_stop_timing(f);
  int result = VOLT_ECANCELED;
  if (f->ops && !volt_future_is_leaf_(f)) {
    future_check_place(f);
    if (!f->ops->cancel(f)) result = VOLT_OK;
  } else if (volt_future_state_(f) == WAITING && !future_withdraw(f) &&
             volt_waiter_result(future_waiter(f)) == VOLT_OK) {
    if (future_is_final(f)) {
      result = future_result(f);
    } else {
      f->ops->give_back(f);
    }
  }
  volt_future_end_(f, result);
}

void volt_future_await_end_(volt_future *f) {
  volt_waiter *w = future_waiter(f);
  if (!volt_fiber_blocker_()) {
    const volt_call_ call = {.name = "volt_future_cancel", .future = f, .waiter = w};
    volt_check_may_block_(call.name);
    volt_sleep_begin_(&call, VOLT_NO_DEADLINE);
    volt_waiter_await_(w);
    volt_sleep_end_();
    return;
  }
  volt_parker parker = VOLT_PARKER_INIT;
  volt_waker before = {w->wake, w->ctx};
  if (!f->ops->set_waker(f, volt_parker_waker(&parker))) return; /* the grant was first */
  volt_park_out_(&parker, 1);
  if (before.wake) before.wake(before.ctx); /* I1: as the granter would have */
}

const volt_future *volt_future_standing_(volt_future *f) {
  if (volt_future_state_(f) != READY || !volt_is_ok(volt_future_result_(f))) return NULL;
  if (!f->ops->through) return future_is_final(f) ? f : NULL;
  volt_future *inner = f->ops->through(f);
  return inner ? volt_future_standing_(inner) : NULL;
}

/* A branch that is ready must not take effect. VOLT_ELAGGED is an error that has moved its receiver. */
void volt_future_undo_(volt_future *f) {
  if (volt_future_state_(f) != READY) return;
  if (!volt_is_ok(volt_future_result_(f)) && volt_future_result_(f) != VOLT_ELAGGED) return;
  volt_future *inner = f->ops->through ? f->ops->through(f) : NULL;
  if (inner) {
    volt_future_undo_(inner);
    volt_future_set_result_(f, volt_future_result_(inner));
  } else if (f->ops->undo || (volt_future_is_leaf_(f) && f->ops->give_back)) {
    volt_future_note_left_(f);
    (f->ops->undo ? f->ops->undo : f->ops->give_back)(f);
    volt_future_set_result_(f, VOLT_ECANCELED);
  }
}

void volt_future_leave_(volt_future *f) {
  static const volt_waker no_waker = {NULL, NULL};
  if (!volt_future_is_waiting_(f)) return;
  if (!volt_future_is_leaf_(f)) {
    f->ops->leave(f);
    return;
  }
  void *ctx = future_waiter(f)->ctx;
  bool replaced = f->ops->set_waker(f, no_waker);
  bool dismissed = !replaced && volt_waiter_result(future_waiter(f)) == VOLT_ECANCELED;
  if (replaced || dismissed) future_drop_waker(f, ctx); /* I1 */
}

void volt_future_requeue_(volt_future *f, const volt_decision_ *d) {
  if (!volt_future_is_waiting_(f)) return;
  if (volt_future_is_leaf_(f)) {
    if (f->decision != d || !future_is_final(f)) return;
    future_stop_timing(f);
    if (future_withdraw(f)) volt_future_set_state_(f, INIT);
    return;
  }
  volt_future *inner;
  for (unsigned i = 0; f->ops->inside && (inner = f->ops->inside(f, i)) != NULL; i++) {
    volt_future_requeue_(inner, d);
  }
}

/* ---- block_on ---- */

static void future_block_drop(void *ctx) {
  volt_unpark((volt_parker *)ctx);
}

int volt_future_give_up_(volt_future *f) {
  future_stop_timing(f);
  bool cancelled = volt_future_is_leaf_(f) ? future_withdraw(f) : f->ops->cancel(f);
  if (cancelled) {
    volt_count_(volt_kind_of_(f), VOLT_COUNTER_TIMEOUTS_);
    return volt_future_end_(f, VOLT_ETIMEDOUT);
  }
  int result = volt_future_is_leaf_(f) ? future_result(f) : (int)VOLT_OK;
  volt_future_note_took_(f, result);
  return volt_future_end_(f, result);
}

/* f waits, and nothing but a release ends that. */
static void future_check_relock(const volt_future *f) {
  (void)f;
#if VOLT_SIGHT
  if (f->ops->holds) volt_holdable_check_relock_(f->ops->holds, f->object, f->ops->operation);
#endif
}

/* R1: where the counts of wakes begin: just before they wrap, so that every call meets the wrap. */
#define FIRST (UINT32_MAX / 2)

struct blocked {
  volt_parker parker;
  volt_ctx ctx;
  uint32_t seen; /* how many have unparked it; each of ctx.registered does so once */
};

/* Block until the next wake, or let others run if that is what the poll asks for. Returns false if
 * the deadline has passed. */
static bool future_block_await_poll(volt_future *f, struct blocked *b, uint64_t deadline_ns) {
  if (b->ctx.yield) {
    b->ctx.yield = false;
    volt_yield_();
    return deadline_ns == VOLT_NO_DEADLINE || volt_now_ns() < deadline_ns;
  }
  bool was_woken = b->seen != FIRST; /* under constant wakes, the deadline still counts */
  if (was_woken && deadline_ns != VOLT_NO_DEADLINE && volt_now_ns() >= deadline_ns) return false;
  const volt_call_ call = {.name = "volt_future_wait_until",
                           .future = f,
                           .waiter = volt_future_is_leaf_(f) ? future_waiter(f) : NULL};
  if (deadline_ns == VOLT_NO_DEADLINE) future_check_relock(f);
  if (volt_park_in_(&call, &b->parker, b->seen + 1, deadline_ns) != VOLT_OK) return false;
  b->seen += volt_unparks_since_(&b->parker, b->seen);
  return true;
}

int volt_future_suspend_(volt_blocker_ *fiber, const volt_future_ops_ *ops, void *object,
                         uint32_t n, uint64_t deadline_ns) {
  volt_future f;
  return fiber->block_on(fiber, volt_future_make_(&f, ops, object, n), deadline_ns);
}

/* The parker is on this stack, so the call returns only when each registration has unparked it. */
int volt_future_wait_until(volt_future *f, uint64_t deadline_ns) {
  volt_blocker_ *fiber = volt_fiber_blocker_();
  if (fiber) return fiber->block_on(fiber, f, deadline_ns);
  volt_check_blocks_("volt_future_wait_until", deadline_ns);
  struct blocked b = {VOLT_PARKER_INIT, VOLT_CTX_INIT(volt_parker_waker(&b.parker)), FIRST};
  b.ctx.drop = future_block_drop;
  b.ctx.registered = FIRST;
  volt_unparks_set_(&b.parker, FIRST);
  int result;
  do {
    b.ctx.budget = VOLT_CTX_BUDGET;
    result = volt_future_poll_ctx(f, &b.ctx);
    if (result == VOLT_PENDING && !future_block_await_poll(f, &b, deadline_ns))
      result = volt_future_give_up_(f);
  } while (result == VOLT_PENDING);
  if (b.ctx.registered != b.seen) volt_park_out_(&b.parker, b.ctx.registered);
  return result;
}
