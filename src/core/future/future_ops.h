/* future_ops.h: what a primitive says about an operation so that a future can drive it. */
#ifndef VOLT_CORE_FUTURE_FUTURE_OPS_H
#define VOLT_CORE_FUTURE_FUTURE_OPS_H

#include <volt/detail/holders.h>
#include <volt/future.h>

#include "../os/check.h"
#include "../wait/fifo.h"

/* The future's owner calls these functions, one at a time.
 *
 * Each has
 *   poll_ctx    as volt_future_poll_ctx(). volt_future_poll_leaf_any_, of a leaf without a poll;
 *               volt_future_poll_any_, of all others; or one of its own, so that the compiler
 *               knows the operations: of a leaf, volt_leaf_poll_ctx_() with them (leaf.h)
 *
 * A leaf waits with one waiter. It has
 *   start, cancel, set_waker   as the public x(), x_cancel(), volt_waiter_set_waker()
 *   give_back   undoes a grant that no poll has returned. NULL: a grant cannot be undone (final)
 *   waiter      which waiter it waits with; NULL: &f->waiter
 *   outcome     the result that goes with a grant; NULL: VOLT_OK
 *   due         completes a waiting future if what it waits for has happened already, and calls its
 *               waker then. Returns whether it has completed. One load if nothing has happened.
 *               NULL: a poll need not look, because its waiter is completed in the same step
 *
 * A composed future awaits other futures. It has cancel, and
 *   poll        as volt_future_poll_ctx()
 *   leave       leaves all that it awaits (volt_future_leave_())
 *   through     the inner future whose result became its own, or NULL. A future that completes
 *               when one of several does has it; then ctx->decision is passed on to those
 *   undo        undoes what its last poll has done; NULL: that cannot be undone
 *   ends_itself its poll() acts on ctx->cancel, because the inner futures have to end first
 *   inside      the i-th of the futures that it awaits; NULL: there are no more
 *   frame       if it is an async function: where that stands
 * A leaf that cannot end at once (a call on the blocking pool) has poll and ends_itself, too. Its
 * poll() gets ctx->decision. If it does not use volt_future_poll_leaf_(), it needs no start.
 *
 * Each has, for an inspector (describe.h; the debugger reads the first two in a core)
 *   operation   "volt_sem_acquire": the constructor, without "_future"
 *   kind        what f->object is; VOLT_KIND_NONE_, which is 0: it has none
 *   describe    says more of what it waits for. If look->is_granted, it reads nothing but *f: the
 *               object may be gone. NULL: any thread may end the wait */
struct volt_frame;
struct volt_description_;

typedef struct volt_future_ops_ {
  const char *operation;
  volt_kind_ kind;
  int (*start)(volt_future *f, volt_waker waker);
  bool (*cancel)(volt_future *f);
  bool (*set_waker)(volt_future *f, volt_waker waker);
  void (*give_back)(volt_future *f);
  volt_waiter *(*waiter)(volt_future *f);
  int (*outcome)(volt_future *f);
  bool (*due)(volt_future *f);
  int (*poll_ctx)(volt_future *f, volt_ctx *ctx);
  int (*poll)(volt_future *f, volt_ctx *ctx);
  void (*leave)(volt_future *f);
  volt_future *(*through)(volt_future *f);
  void (*undo)(volt_future *f);
  volt_future *(*inside)(volt_future *f, unsigned i);
  struct volt_frame *(*frame)(volt_future *f);
  void (*describe)(volt_future *f, struct volt_description_ *description);
  const struct volt_holdable_ *holds; /* what a grant gives to hold (holding.h); NULL: nothing */
  bool ends_itself;
} volt_future_ops_;
#ifndef VOLT_MODEL
VOLT_STATIC_ASSERT_(offsetof(volt_future_ops_, operation) == 0, "tools/bpftrace/waits.bt reads it");
#endif

/* What volt_future_state_() returns. */
enum {
  VOLT_FUTURE_INIT_ = 0,
  VOLT_FUTURE_WAITING_ = 1,
  VOLT_FUTURE_READY_ = 2,
  VOLT_FUTURE_TIMED_ = 3 /* it is WAITING, and its wait is timed (wait_times.h) */
};

/* The members of a future, for its owner. The state is a member of its own in the waiter, so a
 * granter may read the other members while the owner writes it. */

static inline uint8_t volt_future_state_(const volt_future *f) {
  return f->waiter.future;
}

/* Whether it waits with a waiter of its own. */
static inline bool volt_future_is_leaf_(const volt_future *f) {
  return f->ops->start || f->ops->set_waker;
}

/* Whether it is WAITING, timed or not. */
static inline bool volt_future_is_waiting_(const volt_future *f) {
  return f->waiter.future & VOLT_FUTURE_WAITING_;
}

static inline void volt_future_set_state_(volt_future *f, uint8_t state) {
  f->waiter.future = state;
}

/* The operation's argument, such as permits wanted. It is the waiter's want: so from the start on
 * it is what the engine writes there (volt/detail/fifo.h). With permits, and for a channel until
 * the waiter is claimed, that is the argument itself. */
static inline uint32_t volt_future_n_(const volt_future *f) {
  return f->waiter.want;
}

/* Only while its waiter is not queued. */
static inline void volt_future_set_n_(volt_future *f, uint32_t n) {
  f->waiter.want = n;
}

/* Of a future that is READY. */
static inline int volt_future_result_(const volt_future *f) {
  VOLT_ASSERT(volt_future_state_(f) == VOLT_FUTURE_READY_);
  return f->until.result;
}

/* f becomes READY, and every poll returns result. */
static inline void volt_future_set_result_(volt_future *f, int result) {
  volt_future_set_state_(f, VOLT_FUTURE_READY_);
  f->until.result = result;
}

/* What is called if the waker that is registered is not to be called; or NULL. f is not READY. */
static inline volt_wake_fn volt_future_drop_(const volt_future *f) {
  VOLT_ASSERT(volt_future_state_(f) != VOLT_FUTURE_READY_);
  return f->until.drop;
}

static inline void volt_future_set_drop_(volt_future *f, volt_wake_fn drop) {
  VOLT_ASSERT(volt_future_state_(f) != VOLT_FUTURE_READY_);
  f->until.drop = drop;
}

#if VOLT_SIGHT
/* f, which can be held, is ready with result; or what it got is about to be given back. */
VOLT_SIGHT_API_ void volt_future_note_took_(volt_future *f, int result);
VOLT_SIGHT_API_ void volt_future_note_left_(volt_future *f);
/* f, which can be held, waits. */
VOLT_SIGHT_API_ void volt_future_note_wants_(volt_future *f);
#else
#define volt_future_note_took_(f, result) ((void)0)
#define volt_future_note_left_(f) ((void)0)
#define volt_future_note_wants_(f) ((void)0)
#endif

/* As it is made, or while it has not begun: which operation it is. */
#if VOLT_SIGHT
#define VOLT_MADE_WITH_(ops) ((uintptr_t)(ops) ^ (uintptr_t)0x766f6c74)
#endif
static inline void volt_future_set_ops_(volt_future *f, const volt_future_ops_ *ops) {
  f->ops = ops;
#if VOLT_SIGHT
  f->made = VOLT_MADE_WITH_(ops);
#endif
}

/* The body of every constructor. Returns f. */
VOLT_API volt_future *volt_future_make_(volt_future *f, const volt_future_ops_ *ops, void *object,
                                        uint32_t n);

/* In a fiber: await the future that volt_future_make_() makes of ops, object and n, as
 * volt_future_wait_until() does. */
struct volt_blocker_;
int volt_future_suspend_(struct volt_blocker_ *fiber, const volt_future_ops_ *ops, void *object,
                         uint32_t n, uint64_t deadline_ns);

/* Poll an inner future, even if the others have used up the budget: else it might never be
 * polled. */
VOLT_API int volt_future_poll_branch_(volt_future *f, volt_ctx *ctx);

/* Cancel an inner future. Returns whether it has ended. If not (it ends_itself), it has registered
 * the poller's waker, and the next call asks again. */
bool volt_future_end_branch_(volt_future *f, volt_ctx *ctx);

/* A waiting leaf whose cancel has to wait for its end, which may take long: wait for the grant. A
 * thread blocks (it is reported if it must not), a fiber is suspended. */
VOLT_API void volt_future_await_end_(volt_future *f);

/* The deadline of a future that waits has passed: cancel it. Returns its result: VOLT_ETIMEDOUT, or
 * what it has come to first. */
VOLT_API int volt_future_give_up_(volt_future *f);

/* Let a waiting future wait on without a waker: its owner will poll it again, or cancel it. */
VOLT_API void volt_future_leave_(volt_future *f);

/* Poll f as a leaf. For a leaf that has a poll() of its own. */
VOLT_API int volt_future_poll_leaf_(volt_future *f, volt_ctx *ctx);

/* volt_future_poll_ctx() of every future, whatever its state. */
VOLT_API int volt_future_poll_any_(volt_future *f, volt_ctx *ctx);

/* The same of a leaf that has no poll(): what is usual is short. */
VOLT_API int volt_future_poll_leaf_any_(volt_future *f, volt_ctx *ctx);

/* Take the decision of a select. Returns true to one caller, which may grant its branch. Returns
 * false to every other: another branch was chosen. */
static inline bool volt_decide_(volt_decision_ *d) {
  /* relaxed, no data: the grant has its own order */
  return volt_exchange_relaxed(&d->taken, 1) == 0;
}

/* Whether a branch that is ready may take effect. It may if it is in no select (NULL), or if the
 * poller has the decision of its select, or takes it now. */
static inline bool volt_may_take_effect_(volt_decision_ *d) {
  if (d && !d->mine) d->mine = volt_decide_(d);
  return !d || d->mine;
}

/* The poller has the decision for a branch that is pending after all, such as a send that has moved
 * a part. The select whose decision it is frees it in the same poll (select.c R4). */
static inline void volt_decide_again_(volt_decision_ *d) {
  if (d && d->mine) d->is_open_again = true;
}

/* Each leaf below f that is queued with the decision d begins anew when it is polled next. The
 * poller has d. */
void volt_future_requeue_(volt_future *f, const volt_decision_ *d);

/* If f is ready by a grant that cannot be undone: the leaf that was granted. Else NULL. */
const volt_future *volt_future_standing_(volt_future *f);

/* As give_back: the grant took nothing, so there is nothing to undo. */
static inline void volt_future_took_nothing_(volt_future *f) {
  (void)f;
}

/* A future has ended because of ctx->cancel; a cancel that is for one future is used up. */
static inline void volt_ctx_obeyed_(volt_ctx *ctx) {
  if (ctx->cancel == VOLT_CTX_CANCEL_ONCE) ctx->cancel = VOLT_CTX_GO_ON;
}

#endif
