/* future.h: one pollable operation, the same for every primitive.
 *
 * A future is an operation that has not happened yet: which object, what is wanted, and the waiter
 * to wait with. It lives in its owner's memory and allocates nothing. A constructor
 * (volt_sem_acquire_future, volt_mutex_lock_future, ...) fills it in; volt_future_poll() drives it;
 * volt_future_cancel() ends it in any state, which makes it safe to drop.
 *
 *   volt_future f;
 *   volt_sem_acquire_future(&f, &sem, 1);
 *   int r = volt_block_on(&f, volt_deadline_ns(5000000));     a thread, for at most 5 ms
 *
 *   switch (volt_loop_poll(&loop, &f)) { ... }                an event loop (volt/loop.h)
 *
 * Futures are composed: of several (volt/select.h), of one and a deadline (volt/time.h), of many
 * steps (volt/async.h). What is composed is a future again, and is polled in the same way. Each of
 * its leaves registers the poller's waker. So the poller may be woken once by each leaf, also after
 * the whole is ready: volt_ctx counts the wakes that are still to come.
 *
 * Lifetime: a future may be freed when it is ready, or was cancelled. Its waker's ctx may be freed
 * only when the wakes have come that were due (volt/waker.h), because a wake comes after its future
 * is ready. A thread in volt_block_on(), a task, and a volt_loop wait for those wakes. A poller
 * whose own waker's ctx does not live as long as the program has to count, by
 * volt_future_poll_ctx().
 * A poll or a cancel of a waiting future may look at its object until it returns, also if the future
 * is granted meanwhile: no thread may end the object before that.
 *
 * States: INIT (nothing has been asked for), WAITING (queued: must not move, must not be freed, or
 * given to a constructor, before volt_future_cancel), READY (the result stands; memory may be
 * re-used). All-zero is a valid future that was never given an operation: it may be cancelled, not
 * polled. A future that was moved or copied while WAITING aborts when it is polled or cancelled. A
 * future that was given to a constructor while WAITING aborts when it is polled, or when the object
 * grants it.
 *
 * A poll is as new as the object: if what a waiting future waits for has happened (the token is
 * cancelled, the latch is open, the channel is closed), it polls as ready, also before it has been
 * told. Its waker is then called, from within that poll or by the thread that tells it
 * (docs/primitives/future.md).
 *
 * A grant to a future that nobody polls keeps the permits from everybody else, for as long as its
 * owner leaves it: poll what was woken, or cancel it. */
#ifndef VOLT_FUTURE_H
#define VOLT_FUTURE_H

#include "waiter.h"

/* Members are private. Several futures of which one may take effect (volt/select.h). */
typedef struct volt_decision_ {
  VOLT_ATOMIC(uint32_t) taken; /* by whoever grants one of them, or by the poller */
  bool mine;                   /* the poller knows by which */
  bool shared;                 /* one of them is queued: others may take it */
} volt_decision_;

/* Members are private. */
typedef struct volt_future {
  const struct volt_future_ops_ *ops; /* what kind of operation it is */
  void *object;                       /* on what */
  volt_wake_fn drop;                  /* of the ctx that its waker is from, or NULL */
  volt_decision_ *decision;           /* of the select that it is a branch of, or NULL */
  volt_waiter waiter;
  uint32_t n;     /* permits wanted */
  uint32_t state; /* INIT, WAITING, READY */
  int result;     /* in READY */
  uint32_t id;    /* its waiter's when it was queued */
} volt_future;
VOLT_SIZE_AT_MOST_(volt_future, 128);

#ifdef __cplusplus
#define VOLT_FUTURE_INIT \
  {}
#else
#define VOLT_FUTURE_INIT \
  { 0 }
#endif

/* Who polls, for the length of one poll: made by the code that drives futures (a task's worker,
 * volt_block_on(), a volt_loop), handed down by futures that are composed. Code that drives futures
 * begins with VOLT_CTX_INIT(), may set drop and cancel, and reads registered and yield afterwards;
 * all else is private.
 *
 *   volt_ctx ctx = VOLT_CTX_INIT(waker);
 *   ctx.drop = settle_one;
 *   int result = volt_future_poll_ctx(&f, &ctx);
 *   owed += ctx.registered;
 *   if (result == VOLT_PENDING && ctx.yield) ... poll again when others have run
 *
 * A volt_ctx that is used for several polls gets a new budget and a yield of false before each.
 *
 * drop(waker.ctx) is called instead of the wake when a registered waker will never be called,
 * because its future was cancelled or has moved to another waker. So each of the `registered` is
 * followed by one wake or one drop. When so many have come, nothing refers to waker.ctx. */
typedef struct volt_ctx {
  volt_waker waker;
  volt_wake_fn drop;        /* NULL: nobody counts */
  uint32_t registered;      /* how many futures have taken the waker */
  uint32_t budget;          /* how many more may turn out ready before the poller has to yield */
  uint32_t cancel;          /* VOLT_CTX_CANCEL_...: whether the poller is being cancelled */
  bool yield;               /* PENDING not for a wake, but to let others run: poll again */
  volt_decision_ *decision; /* private */
} volt_ctx;

/* How often a poll may come to something that is ready before it has to let others run. */
#ifndef VOLT_CTX_BUDGET
#define VOLT_CTX_BUDGET 128u
#endif

/* A poller that nothing has registered with, and that is not being cancelled; waker: a
 * volt_waker. Drops are not told until drop is set. */
#define VOLT_CTX_INIT(waker) \
  { (waker), NULL, 0, VOLT_CTX_BUDGET, VOLT_CTX_GO_ON, false, NULL }

/* volt_ctx.cancel. ONCE is taken back by the first future that ends because of it. */
enum { VOLT_CTX_GO_ON = 0, VOLT_CTX_CANCEL_ONCE = 1, VOLT_CTX_CANCEL_ALL = 2 };

VOLT_BEGIN_DECLS

/* Start the operation, or look whether it has completed.
 * waker: called once when the operation completes, if this call returns VOLT_PENDING; it replaces
 *   the waker of an earlier poll, so a future may be polled from one task and then from another.
 *   Its ctx must outlive the wake, which may come after a poll has returned the result. A wake may
 *   also come after volt_future_cancel(), or after a poll with another waker: neither call says
 *   whether it will. Where that matters, volt_loop_poll() or volt_future_poll_ctx() counts.
 * Returns VOLT_PENDING, or the operation's result: VOLT_OK (what was asked for is the caller's), or
 *   what else the constructor says (VOLT_LEADER, VOLT_DONE, VOLT_ECLOSED, VOLT_EINVAL, ...); or
 *   VOLT_ECANCELED / VOLT_ETIMEDOUT if it was given up before.
 *   Once it is not VOLT_PENDING, every further poll returns the same and does nothing. A poll that
 *   nobody was woken for is harmless.
 * Wakes: the last waker given, once per future at most, with nothing held; a replaced waker is
 *   called only if the grant came first, and then this call does not return VOLT_PENDING. A future
 *   that is composed calls it once for each of its leaves at most, also when it is ready already.
 *   The waker is called inside this call if the future only lets others run (VOLT_YIELD). If the
 *   future turns out ready before it has been told, the waker of the poll before is called inside
 *   this call.
 * Cancel: volt_future_cancel().
 * Threads: the future's owner, one at a time. Order: a result acquires what the granter did. */
VOLT_API int volt_future_poll(volt_future *f, volt_waker waker);

/* The same for code that drives futures, or composes them: ctx says who polls, and counts. A loop
 * of one's own uses it, or volt_loop_poll(), if what its waker touches may end before the program
 * does. It uses this one if it wants to poll again by itself, rather than be woken, when a future
 * only lets others run; or if it ends futures by ctx->cancel, as a task is cancelled.
 * Returns as volt_future_poll(); VOLT_PENDING with ctx->yield if the budget is used up. If
 *   ctx->cancel is set, the future is cancelled as by volt_future_cancel(), and this returns
 *   VOLT_ECANCELED, or VOLT_OK for a grant that cannot be given back. A future that must come to
 *   its end first (a group, a call on the blocking pool, VOLT_FINALLY) may stay VOLT_PENDING until
 *   then if ctx->cancel is VOLT_CTX_CANCEL_ONCE; if it is VOLT_CTX_CANCEL_ALL it ends within this
 *   call, which may block for that.
 * Threads: the future's owner, one at a time. Order: as volt_future_poll(). */
VOLT_API int volt_future_poll_ctx(volt_future *f, volt_ctx *ctx);

/* Give up the operation. Safe in every state, any number of times; afterwards the memory is the
 * caller's and the future polls as VOLT_ECANCELED, unless it had already polled as something else
 * (or was never given an operation: then it may not be polled).
 * A grant that nobody has polled is given back: permits released, lock unlocked. What a poll has
 * returned as VOLT_OK belongs to the caller and is not given back. What cannot be given back, an
 * element that a channel has moved, stands: then the future polls as VOLT_OK.
 * Wakes: if the grant came first its one wake has come or will come; else none will.
 * Threads: the future's owner. May wake others on this thread, through what is given back. */
VOLT_API void volt_future_cancel(volt_future *f);

/* Block this thread until the future is ready or deadline_ns (as volt_now_ns()) has passed.
 * Returns the result as volt_future_poll() does, or VOLT_ETIMEDOUT: then the future was cancelled
 *   and polls as VOLT_ETIMEDOUT. With VOLT_NO_DEADLINE it waits for ever.
 * Threads: the future's owner; a thread that may block. */
VOLT_API VOLT_NODISCARD int volt_block_on(volt_future *f, uint64_t deadline_ns);

VOLT_END_DECLS
#endif
