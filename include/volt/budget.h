/* budget.h: permits of several kinds, acquired together or not at all.
 *
 * A job needs two cores and 4 GiB and a connection. With three semaphores it holds what it has while
 * it waits for the rest, so two jobs may deadlock; or it tries all and gives back, and starves. A
 * budget has up to eight kinds of permits, with a limit each, and one FIFO. A request names an amount
 * of each kind. It is granted all of them, or it waits and holds nothing.
 *
 *   enum { CORES, MEMORY, CONNECTIONS };
 *   static volt_budget machine = VOLT_BUDGET_INIT(3, 8, UINT64_C(16) << 30, 4);
 *   static const volt_amounts job = {{2, UINT64_C(4) << 30, 1}};
 *   if (volt_budget_acquire(&machine, &job) == VOLT_OK) {
 *     run();
 *     volt_budget_release(&machine, &job);
 *   }
 *
 * Order: without bypass requests are granted strictly in the order of their arrival. No call
 * overtakes a waiter, not even volt_budget_try_acquire().
 *
 * With a bypass of k, a request that fits may be granted before older ones that do not fit. Two rules
 * bound that:
 *
 * - What the oldest waiter needs is set aside as it comes back. A request that passes it gets
 *   nothing of a kind of which the oldest waiter lacks something, and of each other kind only what
 *   that leaves. So to be passed never delays the oldest waiter: it is granted by the very release
 *   that would have granted it anyway, unless a limit is lowered meanwhile.
 * - A waiter is passed by at most k later requests in its whole life, wherever it stands in the FIFO.
 *
 * So if each holder releases within a time T, a request behind n waiters is granted within (n + 1) T,
 * whatever it asks for, also if that is everything, and whatever k is. docs/primitives/budget.md has
 * the proofs. Only the first VOLT_BUDGET_REACH waiters may be passed, and may pass: this bounds the
 * time for which the lock is held.
 *
 * A request for more than a limit cannot be granted: it returns VOLT_EINVAL at once, and
 * volt_budget_explain() says which kind is short. If a limit is lowered under what a waiter asks for,
 * that waiter completes with VOLT_EINVAL: those that wait are examined from the oldest on, and if the limit
 * is raised again meanwhile, those that were not examined yet stay.
 *
 * Permits have no owner: any thread may release what another acquired, also in parts. To release
 * more of a kind than is held aborts. If a limit becomes lower than what is held, the difference is
 * the excess (volt_budget_excess()); what is released reduces it first.
 *
 * Blocking calls that cannot have it at once spin for about 10 us before they queue, as those of a semaphore
 * do. A spinning caller overtakes no waiter, other than by the bypass as any caller. Futures queue at once.
 *
 * Lifetime: as of a semaphore. A thread that is granted something may destroy and free the budget at
 * once, even if the volt_budget_release() that granted it has not returned yet. (volt_budget_destroy()
 * waits for a call that has more than 32 waiters to wake, or that refuses one because a limit was lowered.) All
 * other calls of other threads must have returned before.
 *
 * A waker may use the budget that calls it, but not destroy it. But a release within a waker may call the wakers
 * of the next waiters, and a release within one of those the next: the stack grows with each. So let the
 * waker only make its task ready to run, and let the task release.
 *
 * All-zero is a valid budget without kinds. Nothing is ever allocated. */
#ifndef VOLT_BUDGET_H
#define VOLT_BUDGET_H

#include "detail/fifo.h"
#include "future.h"

/* How many kinds a budget can have. */
#define VOLT_BUDGET_KINDS 8
/* The highest limit of a kind. */
#define VOLT_BUDGET_MAX (UINT64_C(1) << 40)
/* The highest bypass. */
#define VOLT_BUDGET_BYPASS_MAX UINT32_C(0x7fffffff)
/* With bypass: how many waiters, from the oldest on, are considered. */
#define VOLT_BUDGET_REACH 64

/* An amount of each kind: of what is asked for, or given back. {{2, 1}} is 2 of kind 0 and 1 of kind 1.
 * Amounts of kinds that the budget does not have must be 0 (debug builds abort; in others they are
 * not looked at). */
typedef struct volt_amounts {
  uint64_t of[VOLT_BUDGET_KINDS];
} volt_amounts;

/* Members are private. */
typedef struct volt_budget {
  volt_fifo_ queue; /* its rest: how many requests have passed all waiters */
  uint32_t kinds;
  uint32_t bypass;
  VOLT_PLAIN(uint64_t) held[VOLT_BUDGET_KINDS];
  VOLT_PLAIN(uint64_t) limit[VOLT_BUDGET_KINDS];
  VOLT_PLAIN(const char *) name[VOLT_BUDGET_KINDS];
  VOLT_PLAIN(volt_waiter *) unexamined; /* a limit was lowered: from here on; NULL: none */
} volt_budget;
VOLT_SIZE_AT_MOST_(volt_budget, 256);

/* A budget of so many kinds, with the limits that follow: as many, in their order. kinds:
 * 1..VOLT_BUDGET_KINDS; limits: 0..VOLT_BUDGET_MAX; none is checked. */
#define VOLT_BUDGET_INIT(kinds, ...) VOLT_BUDGET_INIT_BYPASS(0, kinds, __VA_ARGS__)
/* The same; at most k later requests pass a waiter. k: 0..VOLT_BUDGET_BYPASS_MAX, not checked. */
#define VOLT_BUDGET_INIT_BYPASS(k, kinds, ...) \
  { VOLT_FIFO_INIT_(0), (kinds), (k), {0}, {__VA_ARGS__}, {NULL}, NULL }

VOLT_BEGIN_DECLS

/* ---- life ---- */

/* Make *b a budget of so many kinds, whose requests are granted in the order of their arrival.
 * kinds: 1..VOLT_BUDGET_KINDS (aborts). limits: the limit of each, 0..VOLT_BUDGET_MAX (more aborts);
 *   only used in this call. */
VOLT_API void volt_budget_init(volt_budget *b, uint32_t kinds, const uint64_t *limits);

/* The same; at most k later requests pass a waiter.
 * k: 0..VOLT_BUDGET_BYPASS_MAX (more aborts). */
VOLT_API void volt_budget_init_bypass(volt_budget *b, uint32_t kinds, const uint64_t *limits,
                                      uint32_t k);

/* Name a kind, so that messages and reports say "memory" and not "kind 1".
 * kind: below the number of kinds (aborts). name: the caller's, usually a literal; it has to stay as
 *   long as the budget. Threads: any. */
VOLT_API void volt_budget_name_kind(volt_budget *b, uint32_t kind, const char *name);

/* End its life; frees nothing. No waiter may be queued (aborts), and no thread may use *b again.
 * Something may still be held. Waits for a call that has more than 32 waiters to wake, or has refused one
 * (volt_budget_set_limit()), and so has to come back. So it must not be called by a waker that this budget
 * calls. */
VOLT_API void volt_budget_destroy(volt_budget *b);

/* ---- acquire ---- */

/* Take these amounts if they are there and no waiter has to come first. Never waits, never fails
 * spuriously.
 * need: only used in this call. If it is all zero, this succeeds always, also on a closed budget.
 * Returns VOLT_OK (taken), VOLT_EAGAIN (too little is there, or a waiter comes first), VOLT_ECLOSED, or
 *   VOLT_EINVAL (more than a limit; volt_budget_explain() says which).
 * Threads: any; not from a signal handler. Order: success acquires what the releasers of the permits
 *   did before. */
VOLT_API VOLT_NODISCARD int volt_budget_try_acquire(volt_budget *b, const volt_amounts *need);

/* Take these amounts, or queue *w for them.
 * w: the caller's memory, unused or completed; must stay where it is while queued. Aborts if it is
 *   queued already.
 * need: the caller's; it must stay, and must not change, while *w is queued.
 * waker: what waker.ctx points to must live until the wake. If waker.wake is NULL, none is called.
 * Returns VOLT_OK (taken; *w unused), VOLT_PENDING (queued), VOLT_ECLOSED, or VOLT_EINVAL (nothing
 *   taken). A queued acquire completes with VOLT_OK (the amounts are the caller's), VOLT_ECLOSED or
 *   VOLT_EINVAL (a limit was lowered under what it asks for): volt_waiter_result(w).
 * Wakes: waker, exactly once unless *w is cancelled, on the thread that grants, closes or lowers, with
 *   nothing held.
 * Cancel: volt_budget_cancel().
 * Threads: any; not from a signal handler. Order: VOLT_OK, at once or by a grant, acquires what the
 *   releasers of the permits did before. */
VOLT_API VOLT_NODISCARD int volt_budget_acquire_waiter(volt_budget *b, volt_waiter *w,
                                                       const volt_amounts *need, volt_waker waker);

/* Take these amounts; block this thread until they are there or the deadline has passed. A signal
 * does not end the wait; volt_budget_close() does.
 * need: only used in this call.
 * deadline_ns: as volt_now_ns(); a time in the past: take what is free now, but do not wait;
 *   VOLT_NO_DEADLINE: for ever.
 * volt_budget_acquire() has no deadline: it waits for as long as that takes.
 * Returns VOLT_OK (taken), VOLT_ETIMEDOUT, VOLT_ECLOSED or VOLT_EINVAL (nothing taken).
 * Wakes: on VOLT_ETIMEDOUT, the waiters that can be granted now, on this thread.
 * Threads: any that may block. Order: as volt_budget_acquire_waiter(). */
VOLT_API VOLT_NODISCARD int volt_budget_acquire_until(volt_budget *b, const volt_amounts *need,
                                                      uint64_t deadline_ns);
VOLT_INLINE VOLT_NODISCARD int volt_budget_acquire(volt_budget *b, const volt_amounts *need) {
  return volt_budget_acquire_until(b, need, VOLT_NO_DEADLINE);
}

/* The same as volt_budget_acquire_waiter() as a future: nothing happens before it is polled. If it is
 * dropped after its grant and before a poll has returned it, the amounts are released.
 * f: not in use (not WAITING, future.h); its content is overwritten.
 * need: the caller's; it must stay, and must not change, until the future is ready or cancelled, and
 *   in a select or a join until that is.
 * Returns f. It polls as volt_budget_acquire_waiter() returns. Threads: the owner of *f. */
VOLT_API VOLT_NODISCARD volt_future *volt_budget_acquire_future(volt_future *f, volt_budget *b,
                                                                const volt_amounts *need);

/* Give up waiting.
 * w: last passed to volt_budget_acquire_waiter() on this budget (or never used).
 * Returns true: cancelled, no wake will come, nothing is held. Returns false: too late, it has
 *   completed. Then volt_waiter_result(w) is VOLT_OK (the amounts are the caller's to release),
 *   VOLT_ECLOSED or VOLT_EINVAL. Its one wake has come or will come, and what its waker's ctx points to
 *   is in use until then. Either way the memory of *w is the caller's again.
 * Wakes: the waiters that can be granted now, on this thread. Threads: the owner of *w. */
VOLT_API VOLT_NODISCARD bool volt_budget_cancel(volt_budget *b, volt_waiter *w);

/* ---- release, close, limits ---- */

/* Give these amounts back: all that a request has taken, or a part, or what several have taken. Works
 * on a closed budget, too.
 * amounts: only used in this call. More of a kind than is held aborts, in every build, with a message
 *   that has the values, before it changes anything.
 * Wakes: every waiter that can be granted now, in the order in which they are granted, with nothing
 *   held, on this thread; those beyond the first 32 possibly on another thread that uses the budget
 *   meanwhile. While another thread lowers a limit, possibly all of them on that one.
 * Threads: any; not from a signal handler. Order: releases what this thread did before to each
 *   thread that receives a permit. */
VOLT_API void volt_budget_release(volt_budget *b, const volt_amounts *amounts);

/* Close: every waiter completes with VOLT_ECLOSED and every later acquire returns it (but nothing at
 * all can still be acquired). What is held can still be released. A second close does nothing.
 * Wakes: every waiter, oldest first, with nothing held, on this thread; those beyond the first 32
 *   possibly on another thread that uses the budget meanwhile, and that of a future possibly by its
 *   own poll. Threads: any.
 * Order: releases what this thread did before to waiters and callers that get VOLT_ECLOSED, and to
 *   volt_budget_is_closed(). */
VOLT_API void volt_budget_close(volt_budget *b);

/* Change the limit of a kind. A higher limit makes the difference free. A lower one takes it from what
 * is free; what is held beyond it becomes the excess. Waiters that ask for more than the new limit
 * complete with VOLT_EINVAL, unless the limit is raised again before they are examined. Works on a closed
 * budget, too.
 * Cost: of a lower limit, each waiter is examined once, VOLT_BUDGET_REACH of them at a time. In between the lock
 *   is free, and wakers are called. Until all are examined, newcomers queue.
 * kind: below the number of kinds (aborts). limit: 0..VOLT_BUDGET_MAX (more aborts).
 * Wakes: as volt_budget_release(); and before, the waiters that are refused, those beyond the first 32
 *   possibly on another thread as well.
 * Threads: any; if several threads set it at once, the last one wins. Order: permits that are added
 *   carry what this thread did before. */
VOLT_API void volt_budget_set_limit(volt_budget *b, uint32_t kind, uint64_t limit);

/* ---- inspection: snapshots; any thread ---- */

/* Say in words what a request waits for: the first kind of which it asks for more than its limit,
 * or else for more than there is for it now; or that another request comes first, that the budget is
 * closed, or that all is there. "memory: 8192 asked for, the limit is 4096".
 * text: at least `bytes` bytes; cut off and ended by 0 if they are too few.
 * Returns what volt_budget_try_acquire() would return now; takes nothing. */
VOLT_API int volt_budget_explain(const volt_budget *b, const volt_amounts *need, char *text,
                                 size_t bytes);

/* What volt_budget_inspect() sees of a kind. */
typedef struct volt_budget_kind {
  const char *name; /* NULL: it has none */
  uint64_t limit;
  uint64_t held;
  uint64_t free;    /* 0 while there is an excess */
  uint64_t excess;  /* held beyond the limit */
  uint64_t aside;   /* of what is free: set aside for the oldest waiter */
  uint32_t waiters; /* of those counted below: that ask for more of it than is free */
} volt_budget_kind;

/* All that is known of a budget at one moment. */
typedef struct volt_budget_state {
  uint32_t kinds;
  uint32_t waiters;
  uint32_t counted; /* of the waiters, from the oldest on: VOLT_BUDGET_REACH at most */
  uint32_t passed;  /* how many later requests have passed the oldest waiter */
  bool is_closed;
  volt_budget_kind of[VOLT_BUDGET_KINDS];
} volt_budget_state;

/* Write into *state how much of each kind is held, free and waited for: all at one moment. Takes
 * the lock for a bounded time: it looks at no more waiters than a release. */
VOLT_API void volt_budget_inspect(const volt_budget *b, volt_budget_state *state);

/* The limit of a kind, what is held of it, what is free (0 while there is an excess), and by how much
 * what is held exceeds the limit. While a waiter is queued, what is free may be set aside for it.
 * kind: below the number of kinds (aborts). */
VOLT_API uint64_t volt_budget_limit(const volt_budget *b, uint32_t kind);
VOLT_API uint64_t volt_budget_held(const volt_budget *b, uint32_t kind);
VOLT_API uint64_t volt_budget_available(const volt_budget *b, uint32_t kind);
VOLT_API uint64_t volt_budget_excess(const volt_budget *b, uint32_t kind);

/* How many waiters are queued. */
VOLT_API uint32_t volt_budget_waiters(const volt_budget *b);

/* Whether volt_budget_close() has been called. Order: acquires what the closer did. */
VOLT_API bool volt_budget_is_closed(const volt_budget *b);

VOLT_END_DECLS
#endif
