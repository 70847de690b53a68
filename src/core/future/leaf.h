/* leaf.h: how a poll drives a leaf, a future that waits with one waiter (future_ops.h).
 *
 * Every function here takes a leaf and its operations. future.c gives f->ops, for every leaf. A
 * primitive may give a constant, in a poll_ctx() of its own. Then the compiler calls start()
 * directly, and leaves out what the operations do not have.
 *
 *   static int x_poll_ctx(volt_future *f, volt_ctx *ctx);
 *   static const volt_future_ops_ x_ops = {.start = x_start, ..., .poll_ctx = x_poll_ctx};
 *   static int x_poll_ctx(volt_future *f, volt_ctx *ctx) {
 *     return volt_leaf_poll_ctx_(f, ctx, &x_ops, x_start_fast);
 *   } */
#ifndef VOLT_CORE_FUTURE_LEAF_H
#define VOLT_CORE_FUTURE_LEAF_H

#include "../hooks/wait_times.h"
#include "../os/check.h"
#include "../os/probe.h"
#include "future_ops.h"

static inline volt_waiter *volt_leaf_waiter_(volt_future *f, const volt_future_ops_ *ops) {
  return ops->waiter ? ops->waiter(f) : &f->waiter;
}

/* Whether a grant cannot be given back, so that in a select the decision comes before the grant. */
static inline bool volt_leaf_is_final_(const volt_future_ops_ *ops) {
  return !ops->give_back;
}

/* f is ready, with result. Returns result. */
static inline int volt_future_end_(volt_future *f, int result) {
  VOLT_ASSERT(result != VOLT_PENDING);
  volt_future_set_result_(f, result);
  return result;
}

/* The leaf has completed with result. Returns result. */
static inline int volt_leaf_complete_(volt_future *f, const volt_future_ops_ *ops, int result) {
  if (volt_leaf_is_final_(ops) && volt_is_ok(result) && f->decision) f->decision->mine = true;
  volt_future_note_took_(f, result);
  return volt_future_end_(f, result);
}

/* f waits with the waker of ctx now. Returns VOLT_PENDING. */
static inline int volt_leaf_registered_(volt_future *f, volt_ctx *ctx) {
  volt_future_set_drop_(f, ctx->drop);
  ctx->registered += 1;
  return VOLT_PENDING;
}

/* start() has returned result. Returns the result of the poll. */
static VOLT_INLINED_ int volt_leaf_started_(volt_future *f, volt_ctx *ctx,
                                            const volt_future_ops_ *ops, int result) {
  if (result != VOLT_PENDING) return volt_leaf_complete_(f, ops, result);
  /* the granter of one whose grant can be given back does not take the decision */
  if (f->decision && volt_leaf_is_final_(ops)) f->decision->shared = true;
  volt_future_set_state_(f, VOLT_FUTURE_WAITING_);
  volt_future_note_wants_(f);
  if (VOLT_UNLIKELY(volt_wait_times_are_on_())) return volt_wait_times_registered_(f, ctx);
  (void)volt_leaf_registered_(f, ctx);
  return VOLT_PENDING; /* not result, which a register would have to keep until here */
}

/* Begin the operation of a leaf that is INIT. */
static inline int volt_leaf_start_(volt_future *f, volt_ctx *ctx, const volt_future_ops_ *ops) {
  f->decision = ctx->decision;
  return volt_leaf_started_(f, ctx, ops, ops->start(f, ctx->waker));
}

/* The leaf f waits, and its waiter *w is granted: as a poll of it. */
static VOLT_INLINED_ int volt_leaf_granted_(volt_future *f, volt_ctx *ctx,
                                            const volt_future_ops_ *ops, volt_waiter *w) {
  int result = ops->outcome ? ops->outcome(f) : (int)VOLT_OK;
  ctx->budget -= 1;
  VOLT_PROBE_LEAF(wait__end, f, w, result);
  return volt_leaf_complete_(f, ops, result);
}

/* The same where the compiler does not know the operations, so that a poll has no frame for it. */
int volt_leaf_granted_slow_(volt_future *f, volt_ctx *ctx, volt_waiter *w);

/* volt_future_poll_ctx() of a leaf without a poll() of its own.
 * start_fast: as ops->start() where that is quick; where it is not, it does nothing and returns
 *   VOLT_EAGAIN, and ops->start() is called. NULL: ops->start() is called at once. */
static VOLT_INLINED_ int volt_leaf_poll_ctx_(volt_future *f, volt_ctx *ctx,
                                             const volt_future_ops_ *ops,
                                             int (*start_fast)(volt_future *f,
                                                               const volt_waker *)) {
  if (VOLT_LIKELY(volt_ctx_goes_on_(ctx))) {
    if (volt_future_state_(f) == VOLT_FUTURE_INIT_) {
      f->decision = ctx->decision;
      int result = start_fast ? start_fast(f, &ctx->waker) : ops->start(f, ctx->waker);
      if (start_fast && result == VOLT_EAGAIN) return volt_future_poll_any_(f, ctx);
      if (result != VOLT_PENDING) ctx->budget -= 1;
      return volt_leaf_started_(f, ctx, ops, result);
    }
    if (volt_future_state_(f) == VOLT_FUTURE_WAITING_) {
      volt_waiter *w = volt_leaf_waiter_(f, ops);
      if (volt_waiter_is_granted_(w)) {
        bool is_plain = start_fast || !(ops->outcome || ops->waiter);
        return is_plain ? volt_leaf_granted_(f, ctx, ops, w) : volt_leaf_granted_slow_(f, ctx, w);
      }
    }
  }
  return volt_future_poll_any_(f, ctx);
}

#endif
