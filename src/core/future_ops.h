/* future_ops.h: what a primitive says about an operation so that futures can drive it. */
#ifndef VOLT_CORE_FUTURE_OPS_H
#define VOLT_CORE_FUTURE_OPS_H

#include <volt/future.h>

#include "fifo.h"

/* Sequential: the future's owner calls them. A leaf waits with one waiter, and has start, cancel,
 * set_waker; give_back unless a grant stands; waiter if that is not the future's own; outcome if a
 * grant has one; due if what it waits for can have happened before it is told. A future that is
 * composed of others has poll, cancel and leave; and through, if it takes effect when one of them
 * does: ctx->decision is handed on to them. */
typedef struct volt_future_ops_ {
  const char *name;                               /* of whose operation, for messages; or NULL */
  int (*start)(volt_future *f, volt_waker waker); /* as x(): VOLT_OK, VOLT_PENDING, error */
  bool (*cancel)(volt_future *f);                 /* as x_cancel() */
  bool (*set_waker)(volt_future *f, volt_waker waker); /* as x_set_waker() */
  void (*give_back)(volt_future *f);                   /* undo a grant that nobody has seen */
  volt_waiter *(*waiter)(volt_future *f);              /* NULL: &f->waiter */
  int (*outcome)(volt_future *f);                      /* of a grant; NULL: VOLT_OK */
  /* NULL, or for one that waits: if what it waits for has happened, complete it, which calls its
   * waker as cancel() may. Returns whether it has completed. One load if nothing has happened. */
  bool (*due)(volt_future *f);
  int (*poll)(volt_future *f, volt_ctx *ctx); /* NULL: a leaf's */
  void (*leave)(volt_future *f);              /* with poll: leave what it awaits */
  volt_future *(*through)(volt_future *f); /* with poll: the one it took effect through, or NULL */
  void (*undo)(volt_future *f); /* with poll: undo what a poll has done; NULL: nothing can be */
  bool ends_itself;             /* its poll() obeys ctx->cancel: what it awaits must end first */
} volt_future_ops_;

/* volt_future.state */
enum { VOLT_FUTURE_INIT_ = 0, VOLT_FUTURE_WAITING_ = 1, VOLT_FUTURE_READY_ = 2 };

/* The body of every constructor. Returns f. */
VOLT_API volt_future *volt_future_make_(volt_future *f, const volt_future_ops_ *ops, void *object,
                                        uint32_t n);

/* Poll one of several: also if the others have used up the budget, or it would never be looked
 * at. */
int volt_future_poll_branch_(volt_future *f, volt_ctx *ctx);

/* Ask one of several to end. Returns whether it has: one that ends_itself is asked again by the
 * next call, and registers the waker for it. */
bool volt_future_end_branch_(volt_future *f, volt_ctx *ctx);

/* Let a future wait on with nobody's waker: for one that is neither polled nor cancelled now. */
void volt_future_leave_(volt_future *f);

/* What volt_future_poll_ctx() does with a leaf, for the poll() of one that ends_itself. */
VOLT_API int volt_future_poll_leaf_(volt_future *f, volt_ctx *ctx);

/* Take the decision: true for one caller, who may grant; for every other one, what it was about has
 * been decided elsewhere. */
static inline bool volt_decide_(volt_decision_ *d) {
  return volt_exchange_relaxed(&d->taken, 1) == 0; /* relaxed: the grant orders what it decides */
}

/* Whether a branch that is ready may take effect: alone, or for the select whose decision this
 * is. */
static inline bool volt_may_take_effect_(volt_decision_ *d) {
  if (d && !d->mine) d->mine = volt_decide_(d);
  return !d || d->mine;
}

/* The leaf by which it took effect although it was cancelled, or NULL. */
const volt_future *volt_future_standing_(volt_future *f);

/* Give back what a branch has just polled as ready with, VOLT_OK, or VOLT_ELAGGED, which moves its
 * receiver: if it can be, for it is not to take effect. */
void volt_future_undo_(volt_future *f);

/* A future has ended because of ctx->cancel. */
static inline void volt_ctx_obeyed_(volt_ctx *ctx) {
  if (ctx->cancel == VOLT_CTX_CANCEL_ONCE) ctx->cancel = VOLT_CTX_GO_ON;
}

#endif
