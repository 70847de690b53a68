/* semaphore.h: a counting semaphore with direct handoff.
 *
 * Permits are taken by acquire and given back by release. While anybody waits, what is released
 * goes straight to the oldest waiter, in parts if need be, and never to the pool: first come,
 * first served, and a newcomer cannot overtake (no barging, not even by try_acquire). Tasks,
 * threads and event loops wait in the same FIFO. No wait allocates memory. A call that blocks its
 * thread for what it could try for looks for a moment before it takes its place there: some
 * microseconds, or one absence of the thread from its core. Until then it is not among the waiters;
 * its turn is that of its place; it overtakes nobody in the queue. (Not acquire_all, nor a future
 * that a thread blocks on: they queue at once.)
 *
 *   volt_sem pool = VOLT_SEM_INIT(8);
 *   if (volt_sem_acquire_blocking(&pool, 1, volt_deadline_ns(1000000)) == VOLT_OK) {
 *     use_connection();
 *     volt_sem_release(&pool, 1);
 *   }
 *
 * Permits have no owner: any thread may release what another acquired. All-zero is a valid
 * semaphore without permits.
 *
 * The limit is how many permits there are in all, held or not: what it began with, until
 * volt_sem_set_limit(). Releasing what nobody acquired adds permits beside it. A limit below what
 * is held makes debt: what is released repays it before anybody gets a permit. A request for more
 * than the limit waits until there is more.
 *
 * A bounded semaphore has no permits beside its limit: a release of more than is held aborts. That
 * finds a permit that is released twice, or was never acquired.
 *
 * Lifetime: release() does not touch the semaphore once the permits it gives can be acted upon:
 * whoever receives the last of them may destroy and free it, even while that release() is still
 * returning. One release that satisfies more than 32 waiters does so in turns, and may have to come
 * back for those after the first 32: volt_sem_destroy() waits for it. Only release() is so: a
 * set_limit() or forget() must have returned before the semaphore ends, and so must a cancel(), a
 * set_waker(), a further poll or the drop of a future, and a blocking call with a deadline, of
 * whoever else waits, also if it has been granted meanwhile.
 *
 * A waker may use the semaphore that calls it. If it serves others there, and more than 32 were
 * waiting, it calls the wakers of the next 32, and they theirs: the stack grows with each batch.
 * Let a waker make its task ready, and release there.
 *
 * Labels: permits */
#ifndef VOLT_SEMAPHORE_H
#define VOLT_SEMAPHORE_H

#include "detail/fifo.h"
#include "future.h"

/* Permits a semaphore can hold, and a request can ask for. */
#define VOLT_SEM_MAX UINT32_C(0x7fffffff)

/* Members are private. */
typedef struct volt_sem {
  volt_fifo_ queue;              /* the word's value: permits, or as an int32_t below zero, debt */
  VOLT_ATOMIC(uint32_t) limit;   /* as it shall be; a bit beside it while it changes */
  VOLT_ATOMIC(uint32_t) reached; /* not below what there is in all, while it changes */
} volt_sem;
VOLT_SIZE_AT_MOST_(volt_sem, 64);

/* permits: 0..VOLT_SEM_MAX, not checked. */
#define VOLT_SEM_INIT(permits) \
  { VOLT_FIFO_INIT_(permits), (uint32_t)(permits), (uint32_t)(permits) }

/* A bounded one. permits: as above. */
#define VOLT_SEM_INIT_BOUNDED(permits)                                                 \
  {                                                                                    \
    {VOLT_WORD_(permits) | VOLT_WORD_BOUNDED_, NULL, NULL, 0, 0}, (uint32_t)(permits), \
        (uint32_t)(permits)                                                            \
  }

VOLT_BEGIN_DECLS

/* Make *sem a semaphore with so many permits (0..VOLT_SEM_MAX; more aborts). */
VOLT_API void volt_sem_init(volt_sem *sem, uint32_t permits);

/* The same, bounded: a release that would make more permits than the limit says aborts, in every
 * build: with the values, and before it changes anything. A volt_sem_forget() of as many does. So a thread may release what another
 * holds, but all threads together no more than is held; what is set aside for a waiter is not held.
 * The limit is the one of volt_sem_set_limit() and volt_sem_forget(); while one of these is running,
 * a release of too many may pass, and the one that comes after it aborts. Costs: acquiring, nothing
 * more; a release is a call, which compares one value more. */
VOLT_API void volt_sem_init_bounded(volt_sem *sem, uint32_t permits);

/* End its life. Nobody may be waiting (aborts) or use it again. Frees nothing. Waits for a release
 * that has more than 32 waiters to wake; so not from a waker that this semaphore calls. */
VOLT_API void volt_sem_destroy(volt_sem *sem);

VOLT_API int volt_sem_acquire_slow_(volt_sem *, volt_waiter *, uint32_t n, volt_waker);
VOLT_API int volt_sem_acquire_blocking_slow_(volt_sem *, uint32_t n, uint64_t deadline_ns);
VOLT_API void volt_sem_release_slow_(volt_sem *, uint32_t n);

/* Take n permits if they are there and nobody waits. Never waits, never fails spuriously; a
 * volt_sem_acquire_all() counts as waiting from when it looks for them to when it has them.
 * n: 0 succeeds always, also on a closed semaphore.
 * Returns VOLT_OK (taken), VOLT_EAGAIN (there are too few, or somebody waits), VOLT_ECLOSED, or
 *   VOLT_EINVAL (n above VOLT_SEM_MAX).
 * Threads: any. Order: success acquires what the releasers of the permits did before. */
VOLT_INLINE VOLT_NODISCARD int volt_sem_try_acquire(volt_sem *sem, uint32_t n) {
  uint64_t word = volt_load_relaxed(&sem->queue.word); /* a guess: the CAS decides */
  const uint64_t refuse = VOLT_WORD_QUEUED_ | VOLT_WORD_CLOSED_;
  while ((word & refuse) == 0 && (int32_t)VOLT_WORD_VALUE_(word) >= (int64_t)n) {
    uint64_t next = word - VOLT_WORD_(n);
    /* permits:T1 <- permits:F1, fifo:U1: as in permits.c */
    if (volt_cas_weak_acquire(&sem->queue.word, &word, next)) return VOLT_OK;
  }
  if (n == 0) return VOLT_OK;
  if (n > VOLT_SEM_MAX) return VOLT_EINVAL;
  return word & VOLT_WORD_CLOSED_ ? VOLT_ECLOSED : VOLT_EAGAIN;
}

/* Take n permits, or queue *w for them.
 * n: 0..VOLT_SEM_MAX permits; 0 succeeds without queueing; more than the limit waits for more.
 * w: the caller's memory, unused or completed; must stay where it is while queued.
 * Returns VOLT_OK (taken; *w unused), VOLT_PENDING (queued), VOLT_ECLOSED, or VOLT_EINVAL (n above
 *   VOLT_SEM_MAX). Permits that are there but too few are set aside for *w at once.
 * Wakes: waker, exactly once, on the thread that grants, with nothing held.
 * Cancel: volt_sem_cancel().
 * Threads: any; not from a signal handler. Order: a grant acquires what the releasers did. */
VOLT_INLINE VOLT_NODISCARD int volt_sem_acquire(volt_sem *sem, volt_waiter *w, uint32_t n,
                                                volt_waker waker) {
  if (VOLT_LIKELY(volt_sem_try_acquire(sem, n) == VOLT_OK)) return VOLT_OK;
  return volt_sem_acquire_slow_(sem, w, n, waker);
}

/* Take n permits; block this thread until they are there or the deadline has passed.
 * deadline_ns: as volt_now_ns(); a time in the past: do not wait; VOLT_NO_DEADLINE: for ever.
 * Returns VOLT_OK, VOLT_ETIMEDOUT (nothing taken; what had been set aside went to the next),
 *   VOLT_ECLOSED, or VOLT_EINVAL. A signal does not end the wait. volt_sem_close() does; or wait
 *   by volt_block_on() for a select of the future and a volt_token_future(). If the grant wins
 *   over the deadline, it returns when its wake has come, which may be after the wakers of others.
 * Threads: any that may block. */
VOLT_INLINE VOLT_NODISCARD int volt_sem_acquire_blocking(volt_sem *sem, uint32_t n,
                                                         uint64_t deadline_ns) {
  if (VOLT_LIKELY(volt_sem_try_acquire(sem, n) == VOLT_OK)) return VOLT_OK;
  return volt_sem_acquire_blocking_slow_(sem, n, deadline_ns);
}

/* An acquire of n permits as a future: nothing happens before it is polled. Given back if dropped.
 * f: not WAITING; its content is overwritten. Returns f. */
VOLT_API volt_future *volt_sem_acquire_future(volt_future *f, volt_sem *sem, uint32_t n);

/* Give n permits: to the oldest waiters as far as they go, the rest to the pool.
 * n: 0 does nothing. More than VOLT_SEM_MAX, together with the pool and with what is set aside for
 *   waiters, aborts; if the semaphore is bounded, more than is held aborts. Works on a closed
 *   semaphore, too.
 * Wakes: everyone it satisfies, oldest first, with nothing held, on this thread; those beyond the
 *   first 32 possibly on another one that uses the semaphore meanwhile.
 * Threads: any; a signal handler only if the signal is blocked in every thread while that thread is
 *   in a call on this semaphore, and if the wakers that it calls may run there (those of blocking
 *   calls may).
 * Order: releases what this thread did before to whoever receives a permit. */
VOLT_INLINE void volt_sem_release(volt_sem *sem, uint32_t n) {
  uint64_t word = volt_load_relaxed(&sem->queue.word); /* a guess: the CAS decides */
  const uint64_t slow = VOLT_WORD_QUEUED_ | VOLT_WORD_BOUNDED_;
  /* modulo 2^32, so that it is right if there is debt, too */
  while ((word & slow) == 0 && n <= VOLT_SEM_MAX - VOLT_WORD_VALUE_(word)) {
    /* permits:F1 -> permits:A1, permits:C1, permits:D1, permits:T1: permits taken from the word
     * carry their releasers' past */
    if (volt_cas_weak_release(&sem->queue.word, &word, word + VOLT_WORD_(n))) return;
  }
  volt_sem_release_slow_(sem, n);
}

/* Take everything that is in the pool now. Works on a closed semaphore, too.
 * Returns how many permits that were: the caller's to release. 0 in debt, or while somebody waits.
 * Threads: any. Order: acquires what the releasers of the permits did before. */
VOLT_API VOLT_NODISCARD uint32_t volt_sem_drain(volt_sem *sem);

/* Take all permits of the limit, or queue *w for them: so that nobody else holds one.
 * In the FIFO: later requests wait behind it. If the limit changes while it waits, it gets as many
 * as the limit is when it is served; afterwards it holds what it got. With a limit of 0 it gets
 * none, as soon as there is no debt and nobody before it. Permits beside the limit stay for others,
 * who may hold some of those that count.
 * w: the caller's memory, unused or completed; must stay where it is while queued.
 * Returns VOLT_OK (taken), VOLT_PENDING (queued), or VOLT_ECLOSED. Once taken, volt_sem_taken(w) is
 *   how many they are.
 * Wakes, cancel, threads, order: as volt_sem_acquire(). */
VOLT_API VOLT_NODISCARD int volt_sem_acquire_all(volt_sem *sem, volt_waiter *w, volt_waker waker);

/* How many permits the last volt_sem_acquire_all() with *w took. Threads: the owner of *w. */
VOLT_API uint32_t volt_sem_taken(const volt_waiter *w);

/* The same; blocks this thread until they are there or deadline_ns (as volt_now_ns()) has passed.
 * *taken: how many it took, 0 unless VOLT_OK; may be NULL.
 * Returns VOLT_OK, VOLT_ETIMEDOUT (nothing taken), or VOLT_ECLOSED. Threads: any that may block. */
VOLT_API VOLT_NODISCARD int volt_sem_acquire_all_blocking(volt_sem *sem, uint32_t *taken,
                                                          uint64_t deadline_ns);

/* The same as a future: nothing happens before it is polled. Given back if dropped.
 * f: not WAITING; its content is overwritten. Returns f. */
VOLT_API volt_future *volt_sem_acquire_all_future(volt_future *f, volt_sem *sem);

/* How many permits it took, once it has polled as VOLT_OK. Threads: the future's owner. */
VOLT_API uint32_t volt_sem_future_taken(const volt_future *f);

/* Change the limit, and with it how many permits there are in all.
 * limit: 0..VOLT_SEM_MAX (more aborts). A higher one releases the difference. A lower one takes the
 *   difference from the pool; what is not there becomes debt. What is set aside for a waiter counts
 *   as held. Works on a closed semaphore, too.
 * Wakes: as volt_sem_release(); a lower limit, a volt_sem_acquire_all() for which that is enough.
 * Threads: any. Of several at a time each makes its difference, so that the last one stands; what
 *   they raise and lower at one time, together with what there is, must not pass VOLT_SEM_MAX
 *   (aborts). */
VOLT_API void volt_sem_set_limit(volt_sem *sem, uint32_t limit);

/* Let n permits that the caller holds disappear, instead of releasing them. They repay what debt
 * there is; the limit is lower by the others, but not below 0: permits that were beside it are just
 * gone.
 * n: 0 does nothing; more than the caller holds is not noticed: there are fewer than there should
 *   be. If the semaphore is bounded, more than is held aborts. Works on a closed semaphore, too.
 * Wakes: a volt_sem_acquire_all() that was waiting for them only, and whoever can be served then,
 *   on this thread. Threads: any. Order: releases what this thread did before to who takes all. */
VOLT_API void volt_sem_forget(volt_sem *sem, uint32_t n);

/* Let permits that are in the pool disappear, n at most: takes them as volt_sem_drain() does, and
 * forgets them as volt_sem_forget() does.
 * Returns how many were forgotten: fewer than n if there are fewer in the pool; 0 in debt, or while
 *   a waiter is queued. (To get rid of permits that are held, use volt_sem_set_limit().)
 * Threads: any. Order: acquires as volt_sem_drain(), releases as volt_sem_forget(). */
VOLT_API uint32_t volt_sem_forget_up_to(volt_sem *sem, uint32_t n);

/* Give up waiting.
 * w: last passed to volt_sem_acquire() on this semaphore (or never used).
 * Returns true: cancelled, no wake will come, permits set aside for *w went to the next waiters.
 *   Returns false: too late, it has completed: see volt_waiter_result(w): VOLT_OK, the permits are
 *   the caller's to release; VOLT_ECLOSED, there are none. Its one wake has come or will come.
 *   Either way the memory of *w is the caller's again.
 * Threads: the owner of *w. May wake others on this thread. */
VOLT_API VOLT_NODISCARD bool volt_sem_cancel(volt_sem *sem, volt_waiter *w);

/* Close: every waiter completes with VOLT_ECLOSED and every later acquire returns it. Permits,
 * those set aside for waiters included, stay in the pool and can still be released to it. Closing
 * twice does nothing more.
 * Wakes: every waiter, oldest first, on this thread, with nothing held. Threads: any. */
VOLT_API void volt_sem_close(volt_sem *sem);

/* Permits in the pool now; 0 while somebody waits, or in debt. A snapshot. Threads: any. */
VOLT_API uint32_t volt_sem_available(const volt_sem *sem);

/* How many wait now. A snapshot. Threads: any. */
VOLT_API uint32_t volt_sem_waiters(const volt_sem *sem);

/* Whether volt_sem_close() has been called. Threads: any. Order: acquires what the closer did. */
VOLT_API bool volt_sem_is_closed(const volt_sem *sem);

/* The limit: the last that was set, less what was forgotten then. A snapshot. Threads: any. */
VOLT_API uint32_t volt_sem_limit(const volt_sem *sem);

/* How many permits must be released before there are any to take: more are held, or set aside for
 * the waiter that is next, than the limit. A snapshot. Threads: any. */
VOLT_API uint32_t volt_sem_debt(const volt_sem *sem);

VOLT_END_DECLS
#endif
