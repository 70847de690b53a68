/* semaphore.h: a counting semaphore with direct handoff.
 *
 * Acquire takes permits from a pool, release gives them back. While a waiter is queued, released
 * permits go to the oldest waiter and not to the pool; they are set aside for it if it needs more.
 * So the order is first come, first served: no call overtakes a queued waiter, not even try_acquire
 * (no barging). Tasks, threads and event loops wait in the same FIFO. No wait allocates memory.
 *
 *   volt_sem pool = VOLT_SEM_INIT(8);
 *   if (volt_sem_acquire_until(&pool, 1, volt_deadline_ns(1000000)) == VOLT_OK) {
 *     use_connection();
 *     volt_sem_release(&pool, 1);
 *   }
 *
 * Permits have no owner: any thread may release what another acquired. All-zero is a valid
 * semaphore without permits.
 *
 * Blocking calls spin for about 10 us before they queue. A spinning caller is not yet a waiter: it
 * overtakes no waiter, and its position counts from when it queues. volt_sem_acquire_all() and
 * futures queue at once, even when a thread blocks on the future.
 *
 * The limit is how many permits exist, held or not: as many as the semaphore began with, until
 * volt_sem_set_limit() or volt_sem_forget() changes it. Releasing permits that were never acquired
 * creates extra permits, which the limit does not count. If the limit becomes lower than what is
 * held, the difference is the excess (volt_sem_excess()). Released permits reduce the excess first:
 * no waiter gets one before the excess is 0. A request for more than the limit waits until there
 * are enough permits, and all later requests wait behind it.
 *
 * A bounded semaphore has no extra permits: to release more than is held aborts. This finds a
 * permit that is released twice, or that was never acquired, at the latest when the other holders
 * have released theirs.
 *
 * Lifetime: a thread that gets the last permit may destroy and free the semaphore at once, even if
 * the volt_sem_release() that granted it has not returned yet. (volt_sem_destroy() waits for a call
 * that has more than 32 waiters to wake.) All other calls of other threads must have returned
 * before, even if their waiter has been granted: volt_sem_set_limit(), volt_sem_forget(),
 * volt_sem_forget_up_to(), volt_sem_cancel(), volt_sem_waiters(), volt_sem_excess(),
 * volt_waiter_set_waker(), a further poll or the drop of a future, and a blocking call with a
 * deadline.
 *
 * A waker may use the semaphore that calls it. But a release within a waker may call the wakers of
 * the next 32 waiters, and a release within one of those the next 32: the stack grows with each
 * batch. So let the waker only make its task ready to run, and let the task release.
 *
 * Labels: permits */
#ifndef VOLT_SEMAPHORE_H
#define VOLT_SEMAPHORE_H

#include "detail/fifo.h"
#include "detail/holders.h"
#include "future.h"

/* Permits a semaphore can hold, and a request can ask for. */
#define VOLT_SEM_MAX UINT32_C(0x7fffffff)

/* Members are private. */
typedef struct volt_sem {
  volt_fifo_ queue;              /* the word's value: permits; below zero (int32_t), the excess */
  VOLT_ATOMIC(uint32_t) limit;   /* the limit; its top bit: a thread is changing it */
  VOLT_ATOMIC(uint32_t) reached; /* the limit; while it changes, at least what exists */
  VOLT_KEPT_BY_HOLDERS_
} volt_sem;
VOLT_SIZE_AT_MOST_(volt_sem, 64);

/* A semaphore with so many permits. permits: 0..VOLT_SEM_MAX, not checked. */
#define VOLT_SEM_INIT(permits) \
  { VOLT_FIFO_INIT_(permits), (uint32_t)(permits), VOLT_WITH_SIGHT_((uint32_t)(permits), 0) }

/* A bounded semaphore with so many permits. permits: 0..VOLT_SEM_MAX, not checked. */
#define VOLT_SEM_INIT_BOUNDED(permits)                                                 \
  {                                                                                    \
    {VOLT_WORD_(permits) | VOLT_WORD_BOUNDED_, NULL, NULL, 0, 0}, (uint32_t)(permits), \
        VOLT_WITH_SIGHT_((uint32_t)(permits), 0)                                       \
  }

VOLT_BEGIN_DECLS

/* Make *sem a semaphore with so many permits.
 * permits: 0..VOLT_SEM_MAX (more aborts). */
VOLT_API void volt_sem_init(volt_sem *sem, uint32_t permits);

/* Make *sem a bounded semaphore: to release or forget more permits than are held aborts, in every
 * build, with a message that has the values, before it changes anything. Held permits are counted
 * for all threads together, so a thread may release what another thread acquired. What is set aside
 * for a waiter is not held. While volt_sem_set_limit() or volt_sem_forget() is running, a release
 * of too many may pass; the next one aborts.
 * permits: 0..VOLT_SEM_MAX (more aborts).
 * Costs: acquire costs the same. Release is a call that compares one more value. */
VOLT_API void volt_sem_init_bounded(volt_sem *sem, uint32_t permits);

/* End its life; frees nothing. No waiter may be queued (aborts), and no thread may use *sem again.
 * Waits for a release, a close, a change of the limit or a cancel that has more than 32 waiters to
 * wake, and so has to come back. So it must not be called by a waker that this semaphore calls. */
VOLT_API void volt_sem_destroy(volt_sem *sem);

/* Private: what the inline functions call if a waiter may have to be queued or woken. */
VOLT_API int volt_sem_acquire_waiter_slow_(volt_sem *, volt_waiter *, uint32_t n, volt_waker);
VOLT_API int volt_sem_acquire_until_slow_(volt_sem *, uint32_t n, uint64_t deadline_ns);
VOLT_API void volt_sem_release_slow_(volt_sem *, uint32_t n);

/* Take n permits if they are in the pool and no waiter is queued. Never waits, never fails
 * spuriously. A volt_sem_acquire_all() that is running counts as a queued waiter.
 * n: 0 succeeds always, also on a closed semaphore.
 * Returns VOLT_OK (taken), VOLT_EAGAIN (there are too few, or a waiter is queued), VOLT_ECLOSED, or
 *   VOLT_EINVAL (n above VOLT_SEM_MAX).
 * Threads: any. Order: success acquires what the releasers of the permits did before. */
VOLT_INLINE VOLT_NODISCARD int volt_sem_try_acquire(volt_sem *sem, uint32_t n) {
  uint64_t word = volt_load_relaxed(&sem->queue.word); /* a guess: the CAS decides */
  const uint64_t refuse = VOLT_WORD_QUEUED_ | VOLT_WORD_CLOSED_;
  while ((word & refuse) == 0 && (int32_t)VOLT_WORD_VALUE_(word) >= (int64_t)n) {
    uint64_t next = word - VOLT_WORD_(n);
    /* permits:T1 <- permits:F1, fifo:U1: permits carry their releasers' past */
    if (volt_cas_weak_acquire(&sem->queue.word, &word, next)) {
      volt_permits_took_(sem, n);
      return VOLT_OK;
    }
  }
  if (n == 0) return VOLT_OK;
  if (n > VOLT_SEM_MAX) return VOLT_EINVAL;
  return word & VOLT_WORD_CLOSED_ ? VOLT_ECLOSED : VOLT_EAGAIN;
}

/* Take n permits, or queue *w for them. If there are some permits but too few, they are set aside
 * for *w at once.
 * n: 0..VOLT_SEM_MAX permits; 0 succeeds without queueing. More than the limit waits until there
 *   are enough.
 * w: the caller's memory, unused or completed; must stay where it is while queued. Aborts if it is
 *   queued already.
 * waker: what waker.ctx points to must live until the wake. If waker.wake is NULL, none is called.
 * Returns VOLT_OK (taken; *w unused), VOLT_PENDING (queued), VOLT_ECLOSED (nothing taken), or
 *   VOLT_EINVAL (n above VOLT_SEM_MAX; nothing taken). A queued acquire completes with VOLT_OK (the
 *   permits are the caller's) or VOLT_ECLOSED (there are none): volt_waiter_result(w).
 * Wakes: waker, exactly once unless *w is cancelled, on the thread that grants or closes, with
 *   nothing held.
 * Cancel: volt_sem_cancel().
 * Threads: any; not from a signal handler. Order: VOLT_OK, at once or by a grant, acquires what the
 *   releasers of the permits did before. */
VOLT_INLINE VOLT_NODISCARD int volt_sem_acquire_waiter(volt_sem *sem, volt_waiter *w, uint32_t n,
                                                       volt_waker waker) {
  if (VOLT_LIKELY(volt_sem_try_acquire(sem, n) == VOLT_OK)) return VOLT_OK;
  return volt_sem_acquire_waiter_slow_(sem, w, n, waker);
}

/* Take n permits; block this thread until they are there or the deadline has passed. A signal does
 * not end the wait; volt_sem_close() does. To end it by a token, use volt_future_wait_until() with
 * a select of volt_sem_acquire_future() and volt_token_wait_future(). Once it is
 * granted, the call waits for its own wake, even past the deadline, because the granting thread may
 * wake other waiters first.
 * n: as volt_sem_acquire_waiter().
 * deadline_ns: as volt_now_ns(); a time in the past: take permits that are free now, but do not
 *   wait; VOLT_NO_DEADLINE: for ever.
 * volt_sem_acquire() has no deadline: it waits for as long as that takes.
 * Returns VOLT_OK (taken), VOLT_ETIMEDOUT (nothing taken; what had been set aside went to the next
 *   waiters), VOLT_ECLOSED (nothing taken), or VOLT_EINVAL (nothing taken).
 * Wakes: on VOLT_ETIMEDOUT, the waiters that get what was set aside, on this thread.
 * Threads: any that may block. Order: as volt_sem_acquire_waiter(). */
VOLT_INLINE VOLT_NODISCARD int volt_sem_acquire_until(volt_sem *sem, uint32_t n,
                                                      uint64_t deadline_ns) {
  if (VOLT_LIKELY(volt_sem_try_acquire(sem, n) == VOLT_OK)) return VOLT_OK;
  return volt_sem_acquire_until_slow_(sem, n, deadline_ns);
}
VOLT_INLINE VOLT_NODISCARD int volt_sem_acquire(volt_sem *sem, uint32_t n) {
  if (VOLT_LIKELY(volt_sem_try_acquire(sem, n) == VOLT_OK)) return VOLT_OK;
  return volt_sem_acquire_until_slow_(sem, n, VOLT_NO_DEADLINE);
}

/* The same as volt_sem_acquire_waiter() as a future: nothing happens before it is polled. If it is
 * dropped after its grant and before a poll has returned it, the permits are released.
 * f: not in use (not WAITING, future.h); its content is overwritten. Returns f. It polls as
 * volt_sem_acquire_waiter() returns. Threads: the owner of *f. */
VOLT_API VOLT_NODISCARD volt_future *volt_sem_acquire_future(volt_future *f, volt_sem *sem,
                                                             uint32_t n);

/* Give n permits: to the oldest waiters as far as they go, and what is left to the pool. Works on a
 * closed semaphore, too.
 * n: 0 does nothing. More than VOLT_SEM_MAX, together with the pool and with what is set aside for
 *   waiters, aborts. If the semaphore is bounded, more than is held aborts.
 * Wakes: every waiter that has all its permits now, oldest first, with nothing held, on this
 *   thread; those beyond the first 32 possibly on another thread that uses the semaphore meanwhile.
 * Threads: any. A signal handler only if the signal is blocked in every thread while that thread is
 *   in a call on this semaphore, and if the wakers that it calls may run there (those of blocking
 *   calls may).
 * Order: releases what this thread did before to each thread that receives a permit. A release that
 *   comes after a volt_sem_set_limit() acquires what that thread did before. */
VOLT_INLINE void volt_sem_release(volt_sem *sem, uint32_t n) {
  uint64_t word = volt_load_relaxed(&sem->queue.word); /* a guess: the CAS decides */
  volt_permits_releasing_(sem, n, &sem->kept);
  const uint64_t slow = VOLT_WORD_QUEUED_ | VOLT_WORD_BOUNDED_;
  /* modulo 2^32, so that it is right if there is an excess, too */
  while ((word & slow) == 0 && n <= VOLT_SEM_MAX - VOLT_WORD_VALUE_(word)) {
    /* permits:F1 <-> permits:A1, permits:C1, permits:D1, permits:T1: permits carry their
     * releasers' past; permits:A1 <-> permits:F1, fifo:U1: a release that comes after a change of
     * the limit sees what that thread did before (semaphore.c R15) */
    if (volt_cas_weak_acq_rel(&sem->queue.word, &word, word + VOLT_WORD_(n))) return;
  }
  volt_sem_release_slow_(sem, n);
}

/* Take all permits that are in the pool now. Works on a closed semaphore, too.
 * Returns how many it took; they are the caller's to release. 0 while a waiter is queued or there
 *   is an excess.
 * Threads: any. Order: acquires what the releasers of the permits did before. */
VOLT_API VOLT_NODISCARD uint32_t volt_sem_drain(volt_sem *sem);

/* Take all permits of the limit, or queue *w for them: afterwards no other thread holds one. It
 * waits in the FIFO, so later requests wait behind it. If the limit changes while it waits, it gets
 * as many as the limit is when it is granted; later changes do not change what it holds. With a
 * limit of 0 it completes, with no permits, as soon as there is no excess and no waiter before it.
 * It waits for no more than the limit: if there are extra permits, other threads may still hold
 * that many.
 * w: the caller's memory, unused or completed; must stay where it is while queued.
 * Returns VOLT_OK (taken), VOLT_PENDING (queued), or VOLT_ECLOSED. Once taken, volt_sem_taken(w) is
 *   how many they are.
 * Wakes, cancel, threads, order: as volt_sem_acquire_waiter(). */
VOLT_API VOLT_NODISCARD int volt_sem_acquire_all_waiter(volt_sem *sem, volt_waiter *w,
                                                        volt_waker waker);

/* How many permits the last volt_sem_acquire_all_waiter() with *w took. To be asked only after that has
 * returned VOLT_OK, or *w has completed with VOLT_OK. Threads: the owner of *w. */
VOLT_API uint32_t volt_sem_taken(const volt_waiter *w);

/* The same as volt_sem_acquire_all_waiter(), but block this thread until the permits are taken or the
 * deadline has passed.
 * taken: *taken becomes how many it took, 0 unless VOLT_OK; may be NULL.
 * deadline_ns: as volt_now_ns(); a time in the past: do not wait; VOLT_NO_DEADLINE: for ever.
 * volt_sem_acquire_all() has no deadline: it waits for as long as that takes.
 * Returns VOLT_OK, VOLT_ETIMEDOUT (nothing taken), or VOLT_ECLOSED. Threads: any that may block. */
VOLT_API VOLT_NODISCARD int volt_sem_acquire_all_until(volt_sem *sem, uint32_t *taken,
                                                       uint64_t deadline_ns);
VOLT_INLINE VOLT_NODISCARD int volt_sem_acquire_all(volt_sem *sem, uint32_t *taken) {
  return volt_sem_acquire_all_until(sem, taken, VOLT_NO_DEADLINE);
}

/* The same as volt_sem_acquire_all_waiter() as a future: nothing happens before it is polled. If it is
 * dropped after its grant and before a poll has returned it, the permits are released.
 * f: not in use (not WAITING, future.h); its content is overwritten. Returns f. It polls as
 * volt_sem_acquire_all_waiter() returns. Threads: the owner of *f. */
VOLT_API VOLT_NODISCARD volt_future *volt_sem_acquire_all_future(volt_future *f, volt_sem *sem);

/* How many permits a volt_sem_acquire_all_future() took, once it has polled as VOLT_OK.
 * Threads: the future's owner. */
VOLT_API uint32_t volt_sem_future_taken(const volt_future *f);

/* Change the limit, and with it how many permits exist. A higher limit releases the difference. A
 * lower one takes the difference from the pool; what is not in the pool becomes the excess. What is
 * set aside for a waiter counts as held. Works on a closed semaphore, too.
 * limit: 0..VOLT_SEM_MAX (more aborts).
 * Wakes: as volt_sem_release(). A lower limit wakes a volt_sem_acquire_all() that has enough now.
 *   Aborts if the permits that exist, plus what all calls that run at this moment add, are more
 *   than VOLT_SEM_MAX.
 * Threads: any. If several threads set it at once, the last one wins: each changes the count by the
 *   difference from the limit that it replaced. Order: permits that are added carry what this
 *   thread did before. */
VOLT_API void volt_sem_set_limit(volt_sem *sem, uint32_t limit);

/* Let n permits that the caller holds disappear, instead of releasing them. They reduce the excess
 * first. What is left of n lowers the limit, not below 0: an extra permit just disappears. Works on
 * a closed semaphore, too.
 * n: 0 does nothing. More than the caller holds is not noticed: fewer permits exist than should. If
 *   the semaphore is bounded, more than is held aborts.
 * Wakes: as volt_sem_release(): a volt_sem_acquire_all() that waited for these permits only, and
 *   the waiters that can be granted then.
 * Threads: any. Order: releases what this thread did before to a volt_sem_acquire_all(). */
VOLT_API void volt_sem_forget(volt_sem *sem, uint32_t n);

/* Let permits that are in the pool disappear, n at most: take them as volt_sem_drain() does, and
 * forget them as volt_sem_forget() does. (For permits that are held, use volt_sem_set_limit().)
 * Returns how many were forgotten: fewer than n if there are fewer in the pool; 0 while a waiter is
 *   queued or there is an excess.
 * Threads: any. Order: acquires as volt_sem_drain(), releases as volt_sem_forget(). */
VOLT_API uint32_t volt_sem_forget_up_to(volt_sem *sem, uint32_t n);

/* Give up waiting.
 * w: last passed to volt_sem_acquire_waiter() or volt_sem_acquire_all_waiter() on this semaphore
 *   (or never used).
 * Returns true: cancelled, no wake will come, permits set aside for *w went to the next waiters.
 *   Returns false: too late, it has completed. Then volt_waiter_result(w) is VOLT_OK (the permits
 *   are the caller's to release) or VOLT_ECLOSED (there are none). Its one wake has come or will
 *   come, and what its waker's ctx points to is in use until then. Either way the memory of *w is
 *   the caller's again.
 * Wakes: the waiters that get what was set aside for *w, on this thread. Threads: the owner of
 *   *w. */
VOLT_API VOLT_NODISCARD bool volt_sem_cancel(volt_sem *sem, volt_waiter *w);

/* Close: every waiter completes with VOLT_ECLOSED and every later acquire returns it (but 0 permits
 * can still be acquired). What was set aside for waiters goes back to the pool. Held permits can
 * still be released, and volt_sem_drain() still takes. A second close does nothing.
 * Wakes: every waiter, oldest first, with nothing held, on this thread; those beyond the first 32
 *   possibly on another thread that uses the semaphore meanwhile, and that of a future possibly by
 *   its own poll. Threads: any.
 * Order: releases what this thread did before to waiters and callers of acquire that get
 *   VOLT_ECLOSED, and to volt_sem_is_closed(); not to volt_sem_try_acquire(). */
VOLT_API void volt_sem_close(volt_sem *sem);

/* Permits in the pool now; 0 while a waiter is queued or there is an excess. A snapshot.
 * Threads: any. */
VOLT_API uint32_t volt_sem_available(const volt_sem *sem);

/* How many waiters are queued now. A snapshot. Threads: any. */
VOLT_API uint32_t volt_sem_waiters(const volt_sem *sem);

/* Whether volt_sem_close() has been called. Threads: any. Order: acquires what the closer did. */
VOLT_API bool volt_sem_is_closed(const volt_sem *sem);

/* The limit: the last that was set, less what volt_sem_forget() has taken from it. A snapshot.
 * Threads: any. */
VOLT_API uint32_t volt_sem_limit(const volt_sem *sem);

/* The excess: how many permits must be released before there is one to take, because more are held
 * or set aside for the next waiter than the limit. A snapshot.
 * Threads: any. Order: acquires what the releasers did before that have reduced it. */
VOLT_API uint32_t volt_sem_excess(const volt_sem *sem);

VOLT_END_DECLS

/* And where the call stands. (volt_x)(object) is without; so are all calls of a file that defines
 * VOLT_NO_PLACES before it includes volt, because it waits on behalf of its own callers. */
#if VOLT_SIGHT
static inline volt_sem *volt_sem_tried_at_(volt_sem *sem, const char *file, uint32_t line) {
  volt_party_is_at_(sem, file, line);
  return sem;
}
static inline volt_sem *volt_sem_locked_at_(volt_sem *sem, const char *file, uint32_t line) {
  volt_party_is_at_(sem, file, line); /* permits have no order */
  return sem;
}
static inline volt_sem *volt_sem_blocks_at_(volt_sem *sem, const char *call, const char *file,
                                            uint32_t line) {
  volt_party_is_at_(sem, file, line);
  if (VOLT_UNLIKELY((VOLT_PARTY_HERE_->who & 3) == VOLT_WHO_TASK_)) volt_party_blocks_(call);
  return sem;
}
#ifndef VOLT_NO_PLACES
#define volt_sem_try_acquire(sem, ...) \
  volt_sem_try_acquire(volt_sem_tried_at_((sem), __FILE__, __LINE__), __VA_ARGS__)
#define volt_sem_acquire_waiter(sem, ...) \
  volt_sem_acquire_waiter(volt_sem_locked_at_((sem), __FILE__, __LINE__), __VA_ARGS__)
#define volt_sem_acquire_until(sem, ...)                                                           \
  volt_sem_acquire_until(volt_sem_blocks_at_((sem), "volt_sem_acquire_until", __FILE__, __LINE__), \
                         __VA_ARGS__)
#define volt_sem_acquire(sem, ...) \
  volt_sem_acquire(volt_sem_blocks_at_((sem), "volt_sem_acquire", __FILE__, __LINE__), __VA_ARGS__)
#undef volt_sem_release                                          /* detail/holders.h */
static inline void volt_sem_release(volt_sem *sem, uint32_t n) { /* for its address */
  volt_sem_release_sight_(sem, n);
}
#define volt_sem_release(sem, ...) \
  volt_sem_release_sight_(volt_sem_tried_at_((sem), __FILE__, __LINE__), __VA_ARGS__)
#endif
#endif
#endif
