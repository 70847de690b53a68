/* future.h: one pollable operation, the same for every primitive.
 *
 * A future is an operation that may not have happened yet: which object, what is wanted, and the
 * waiter to wait with. It lives in its owner's memory and allocates nothing. A constructor
 * (volt_sem_acquire_future, volt_mutex_lock_future, ...) fills it in. volt_future_poll() drives it.
 * volt_future_cancel() ends it in any state, so a future can always be dropped.
 *
 *   volt_future f;                                            a thread, for at most 5 ms:
 *   int r = volt_future_wait_until(volt_sem_acquire_future(&f, &sem, 1), volt_deadline_ms(5));
 *
 *   volt_future_made(volt_sem_acquire_future(&f, &sem, 1));   an event loop (volt/loop.h)
 *   switch (volt_loop_poll(&loop, &f)) { ... }
 *
 * To make a future does nothing yet. So the compiler warns of a constructor whose result is not
 * used: most likely the await is missing. volt_future_made() says that it is not.
 *
 * Futures can be composed: of several futures (volt/select.h), of one and a deadline (volt/time.h),
 * of many steps (volt/async.h). The composition is a future again and is polled in the same way.
 * Each of its leaves registers the poller's waker. So each leaf may wake the poller, once for each
 * time it has registered the waker, also when the whole is ready already. volt_ctx counts the wakes
 * that are still to come.
 *
 * States
 *   INIT     The operation has not begun.
 *   WAITING  It is queued. The future must not move; before it is freed or given to a constructor,
 *            it must be cancelled.
 *   READY    The result stands. The memory may be used again.
 * An all-zero future has no operation: it may be cancelled, but not polled. A future that was moved
 * or copied while it was WAITING aborts when it is polled or cancelled. A future that was given to
 * a constructor while it was WAITING aborts when it is polled, or when the object grants it.
 *
 * Lifetime: a future may be freed when it is READY. The ctx of its waker may be freed only when all
 * wakes have come that were due (volt/waker.h), because a wake comes after its future is ready. A
 * thread in volt_future_wait_until(), a task, and a volt_loop wait for those wakes. Any other
 * poller whose ctx may end before the program has to count wakes, with volt_future_poll_ctx().
 * A poll or a cancel of a WAITING future may access its object until the call returns, even if the
 * future is granted meanwhile. A dump (volt/sight.h) may read its object until such a call has
 * returned. So the object must live until then.
 *
 * A poll is as new as the object. If what a waiting future waits for has happened (the token is
 * cancelled, the latch is open, the channel is closed), the poll returns that result, even if the
 * thread that wakes the waiters has not come to this one. The waker is called then, by this poll or
 * by that thread (docs/primitives/future.md).
 *
 * A grant keeps its permits from other waiters until the owner of the future acts on it. So poll a
 * future that was woken, or cancel it. */
#ifndef VOLT_FUTURE_H
#define VOLT_FUTURE_H

#include "waiter.h"

/* Members are private. Which of several futures takes effect (volt/select.h). */
typedef struct volt_decision_ {
  VOLT_ATOMIC(uint32_t) taken; /* 1 once one is chosen, by its granter or by the poller */
  bool mine;                   /* the poller knows which one */
  bool shared;                 /* one is queued, so a granter may choose it */
  bool is_open_again;          /* the poller had it for a branch that did not come to its end */
} volt_decision_;

/* Members are private. */
typedef struct volt_future {
  const struct volt_future_ops_ *ops; /* which operation */
  void *object;                       /* on which object */
  union {
    volt_wake_fn drop; /* until READY: of the volt_ctx that registered its waker, or NULL */
    int result;        /* in READY */
  } until;
  volt_decision_ *decision; /* of the select that it is a branch of, or NULL */
  volt_waiter waiter;       /* with the state, and with the operation's argument */
  VOLT_FUTURE_MADE_
} volt_future;
VOLT_SIZE_AT_MOST_(volt_future, 96);

#ifdef __cplusplus
#define VOLT_FUTURE_INIT \
  {}
#else
#define VOLT_FUTURE_INIT \
  { 0 }
#endif

/* The poller, for the length of one poll. Code that drives futures makes it (a task's worker,
 * volt_future_wait_until(), a volt_loop); composed futures pass it on to their leaves. Code that drives
 * futures begins with VOLT_CTX_INIT(), may set drop and cancel, and reads registered and yield
 * after the poll. All else is private.
 *
 *   volt_ctx ctx = VOLT_CTX_INIT(waker);
 *   ctx.drop = settle_one;
 *   int result = volt_future_poll_ctx(&f, &ctx);
 *   expected += ctx.registered;
 *   if (result == VOLT_PENDING && ctx.yield) ... poll again when others have run
 *
 * A volt_ctx that is used for several polls gets a new budget, of less than 2^31 - 1, and a yield of 0
 * before each.
 *
 * drop(waker.ctx) is called instead of the wake if a registered waker will never be called, because
 * its future was cancelled or has another waker now. So each registration is followed by one wake
 * or one drop. When as many have come as were registered, nothing refers to waker.ctx any more. */
typedef struct volt_ctx {
  volt_waker waker;
  volt_wake_fn drop;   /* NULL: the poller does not count */
  uint32_t registered; /* how many futures have registered the waker */
  uint32_t budget;     /* how many more may turn out ready before the poller has to yield */
  uint32_t cancel;     /* VOLT_CTX_CANCEL_...: whether the poller is being cancelled */
  uint32_t yield;      /* not 0: VOLT_PENDING only to let others run: poll again without a wake */
  volt_decision_ *decision; /* private */
} volt_ctx;

/* How many ready futures a poller may meet before it has to let others run. */
#ifndef VOLT_CTX_BUDGET
#define VOLT_CTX_BUDGET 128u
#endif

/* A poller without registrations, which is not being cancelled and has no drop. waker: a
 * volt_waker. */
#define VOLT_CTX_INIT(waker) \
  { (waker), NULL, 0, VOLT_CTX_BUDGET, VOLT_CTX_GO_ON, 0, NULL }

/* volt_ctx.cancel. The first future that ends because of ONCE sets it back to GO_ON. */
enum { VOLT_CTX_GO_ON = 0, VOLT_CTX_CANCEL_ONCE = 0x7ffffffe, VOLT_CTX_CANCEL_ALL };

/* Private. The most for which polls are as quick as they can be. */
#define VOLT_CTX_BUDGET_MAX_ ((uint32_t)VOLT_CTX_CANCEL_ONCE)

/* Private. Whether the poller is not being cancelled and has a budget left: by one comparison,
 * because no budget up to that is above what a cancel is. One from 2^31 on, such as UINT32_MAX, is
 * below zero here: false is returned, and the caller looks at each of the two. */
static inline bool volt_ctx_goes_on_(const volt_ctx *ctx) {
  return (int32_t)ctx->cancel < (int32_t)ctx->budget;
}

VOLT_BEGIN_DECLS

/* Say that a future that was made here is polled later, by the name of its memory. It does nothing,
 * but without it the compiler warns that the future is not used. */
VOLT_INLINE void volt_future_made(const volt_future *f) {
  (void)f;
}

/* Start the operation, or ask whether it has completed.
 * waker: if this call returns VOLT_PENDING, it is called once: when the operation completes. A lock
 *   with bypass (volt/mutex.h) may call it earlier instead, so that a poll looks whether the lock
 *   is free. That poll may return VOLT_PENDING again, and then the waker that it was given is
 *   called once. The waker replaces that of an earlier poll, so a future may be polled by one task
 *   and then by another. Its ctx must outlive the wake, which may come after a poll has returned
 *   the result. A wake may also come after volt_future_cancel(), or after a poll with another
 *   waker: neither call says whether it will. Where that matters, use volt_loop_poll() or
 *   volt_future_poll_ctx(), which count.
 * Returns VOLT_PENDING, or the operation's result: VOLT_OK (the caller has what was asked for), or
 *   what else the constructor says (VOLT_LEADER, VOLT_DONE, VOLT_ECLOSED, VOLT_EINVAL, ...); or
 *   VOLT_ECANCELED or VOLT_ETIMEDOUT if it was given up before.
 *   After a result, every further poll returns the same and does nothing. A poll without a wake
 *   before it is harmless.
 * Wakes: the last waker given, at most once for each poll that has returned VOLT_PENDING, with no
 *   lock held. A replaced waker is called in two cases only: the grant came first, and then this
 *   call does not return VOLT_PENDING; or a call to look at a lock with bypass came first. For a
 *   composed future this holds for each of its leaves, also when the whole is ready already. The
 *   waker is called inside this call if the future only lets others run (VOLT_YIELD). The waker of
 *   the poll before is called inside this call if the future turns out ready before its wake.
 * Cancel: volt_future_cancel().
 * Threads: the future's owner, one at a time. Order: a result acquires what the granter did. */
VOLT_API int volt_future_poll(volt_future *f, volt_waker waker);

/* As volt_future_poll(), for code that drives or composes futures: *ctx has the waker, and counts.
 * An event loop whose waker uses memory that may be freed before the program ends needs this
 * function or volt_loop_poll(). This one is for a loop that polls again by itself, without a wake,
 * when a future only lets others run; or that ends futures by ctx->cancel, as a task is cancelled.
 * ctx: the caller's; it is used until this call returns.
 * Returns as volt_future_poll(); VOLT_PENDING with ctx->yield if the budget is used up. If
 *   ctx->cancel is set, the future is cancelled as by volt_future_cancel(), and this returns
 *   VOLT_ECANCELED, or VOLT_OK for a grant that cannot be given back. A future that must come to
 *   its end first (a group, a call on the blocking pool, VOLT_FINALLY) may stay VOLT_PENDING until
 *   then with VOLT_CTX_CANCEL_ONCE. With VOLT_CTX_CANCEL_ALL it ends within this call, which may
 *   block.
 * Threads: the future's owner, one at a time. Order: as volt_future_poll(). */
VOLT_API int volt_future_poll_ctx(volt_future *f, volt_ctx *ctx);

/* Give up the operation. Safe in every state, any number of times. Afterwards the memory is the
 * caller's. The future polls as VOLT_ECANCELED, or as the result that a poll has returned before.
 * (A future without an operation must not be polled.)
 * A grant that no poll has returned is given back: permits are released, a lock is unlocked. What a
 * poll has returned with VOLT_OK belongs to the caller, and is not given back. An element that a
 * channel has moved cannot be given back: then the future polls as VOLT_OK.
 * What must come to its end first is waited for: a call that runs on the blocking pool, tasks of a
 * group that an async function awaits, an operation that the kernel has. A thread blocks, a fiber
 * is suspended; a task that is no fiber must not do that on its worker (volt/runtime.h).
 * Wakes: if the grant came first, or a call to look at a lock with bypass, its one wake has come or
 *   will come; else none. What this future gives back, and a lock that it was called to look at, go
 *   to the next waiters: these are woken inside this call.
 * Threads: the future's owner. */
VOLT_API void volt_future_cancel(volt_future *f);

/* Block this thread, or suspend this fiber, until the future is ready, or until deadline_ns (as
 * volt_now_ns()) has passed.
 * deadline_ns: VOLT_NO_DEADLINE: wait for ever.
 * volt_future_wait() has no deadline: it waits for as long as that takes.
 * Returns the result as volt_future_poll() does, or VOLT_ETIMEDOUT: then the future was cancelled,
 *   and polls as VOLT_ETIMEDOUT.
 * Threads: the future's owner; a thread that may block. Order: as volt_future_poll(). */
VOLT_API VOLT_NODISCARD int volt_future_wait_until(volt_future *f, uint64_t deadline_ns);
VOLT_INLINE int volt_future_wait(volt_future *f) {
  return volt_future_wait_until(f, VOLT_NO_DEADLINE);
}

/* Private. A future that is ready with this result. Returns f. */
VOLT_API volt_future *volt_future_known_(volt_future *f, int result);

/* Private. Give back what a poll of *f has returned with success, if that can be given back: then f
 * polls as VOLT_ECANCELED. What cannot be given back stands. Else does nothing. */
VOLT_API void volt_future_undo_(volt_future *f);

VOLT_END_DECLS
#endif
