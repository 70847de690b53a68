/* mutex.h: a fair mutual exclusion lock for tasks, threads and event loops.
 *
 * It is a semaphore with one permit: unlock grants the lock to the oldest waiter, if there is one.
 * So the order is first come, first served, with no barging, unless it is made with a bypass (see
 * below). It is not recursive: a thread that locks it again waits for itself. Builds that know holders
 * (VOLT_SIGHT=1, as debug builds do) abort then, if the wait has no deadline, and if it was never
 * unlocked by another than the one that had locked it. It has no owner: a task may lock on one
 * thread and unlock on another. Blocking calls spin for about 10 us before they queue, as in semaphore.h.
 *
 *   volt_mutex m = VOLT_MUTEX_INIT;
 *   volt_mutex_lock(&m);
 *   ...
 *   volt_mutex_unlock(&m);
 *
 * All-zero is a valid unlocked mutex.
 *
 * With bypass
 *
 *   static volt_mutex m = VOLT_MUTEX_INIT_BYPASS(VOLT_BYPASS);
 *
 * While waiters are queued, up to k callers that do not queue may pass the oldest one: they get the
 * lock first, although they came later. For that, an unlock may leave the lock free. Then it calls
 * the oldest waiter's waker, so that the waiter looks, and takes the lock if it is still free.
 *   Between two waiters that get the lock, at most k callers get it that did not queue. Waiters do
 * not pass each other. A waiter with p before it waits for at most (p + 1) * (k + 1) critical
 * sections. volt_mutex_try_lock() passes as other callers do.
 *   With k = 0 no caller passes. With k above 0 a short critical section that many callers want is
 * faster, because not every unlock has to wait until a waiter runs. The mutex's page in
 * docs/primitives says when to choose which k.
 *   A waiter of volt_mutex_lock_future() or of a blocking call is called to look. A waiter of
 * volt_mutex_lock_waiter() or of a condition variable is granted the lock, whatever k is. While such a
 * waiter is the oldest, no caller passes it.
 *
 * Lifetime: volt_mutex_unlock() does not touch the mutex after another thread can lock it. So
 * "lock, see that there is no other user, unlock, free" is safe.
 *
 * Labels: permits */
#ifndef VOLT_MUTEX_H
#define VOLT_MUTEX_H

#include "detail/fifo.h"
#include "detail/holders.h"
#include "future.h"

/* Members are private. */
typedef struct volt_mutex {
  volt_fifo_ queue; /* the word's value: 0 free, 1 locked */
  uint32_t bypass;  /* how many callers may pass the oldest waiter */
  VOLT_HOLDER_
} volt_mutex;
VOLT_SIZE_AT_MOST_(volt_mutex, 64);

/* An unlocked mutex. */
#define VOLT_MUTEX_INIT \
  { VOLT_FIFO_INIT_(0), VOLT_WITH_SIGHT_(0, {0, NULL, 0, 0, 0}) }

/* A bypass for most uses: it has most of the speed, and the longest wait is still short. */
#define VOLT_BYPASS 16u

/* An unlocked mutex whose oldest waiter may be passed. k: as for volt_mutex_init_bypass(). */
#define VOLT_MUTEX_INIT_BYPASS(k) \
  { VOLT_FIFO_INIT_(0), VOLT_WITH_SIGHT_((uint32_t)(k), {0, NULL, 0, 0, 0}) }

VOLT_BEGIN_DECLS

/* Make *m an unlocked mutex. */
VOLT_API void volt_mutex_init(volt_mutex *m);

/* Make *m an unlocked mutex whose oldest waiter may be passed by up to k callers.
 * k: at most 255 (aborts); VOLT_BYPASS for most uses; 0: as volt_mutex_init(). */
VOLT_API void volt_mutex_init_bypass(volt_mutex *m, uint32_t k);

/* End its life; frees nothing. It must be unlocked, and no waiter may be queued (aborts). */
VOLT_API void volt_mutex_destroy(volt_mutex *m);

/* Private: what the inline functions call if a waiter may have to be queued or woken. */
VOLT_API int volt_mutex_try_slow_(volt_mutex *);
VOLT_API int volt_mutex_lock_waiter_slow_(volt_mutex *, volt_waiter *, volt_waker);
VOLT_API int volt_mutex_lock_until_slow_(volt_mutex *, uint64_t deadline_ns);
VOLT_API void volt_mutex_lock_slow_(volt_mutex *);
VOLT_API void volt_mutex_unlock_slow_(volt_mutex *);

/* Private: lock if it is free. word: what it was when it was read; or 0, to try at once. */
VOLT_INLINE VOLT_NODISCARD int volt_mutex_try_from_(volt_mutex *m, uint64_t word) {
  VOLT_TAKES_(taking, m, ALONE, 1);
  /* permits:T1 <- permits:F1, fifo:U1, bypass:F1: permits carry their releasers' past */
  bool locked = VOLT_LIKELY(word == 0) && volt_cas_acquire(&m->queue.word, &word, VOLT_WORD_(1));
  if (VOLT_LIKELY(locked)) {
    volt_holder_taken_(&m->holder, &taking);
    return VOLT_OK;
  }
  return word & VOLT_WORD_OPEN_ ? volt_mutex_try_slow_(m) : VOLT_EAGAIN;
}

/* Lock if it is free. Never waits for a holder, never fails spuriously. With bypass it may pass the
 * oldest waiter, as other callers may. Then it may also pause while another thread changes the FIFO
 * of waiters, which takes that thread a few dozen instructions.
 * Returns VOLT_OK (locked) or VOLT_EAGAIN (it is held).
 * Threads: any; with bypass not from a signal handler.
 * Order: success acquires what the last holder did. */
VOLT_INLINE VOLT_NODISCARD int volt_mutex_try_lock(volt_mutex *m) {
  /* Read first, because a CAS that fails costs as much as one that succeeds, and is followed by
   * another if callers may pass. A thread that blocks does not: it would fetch the word's cache line
   * twice, to read it and to write it. */
  return volt_mutex_try_from_(m, volt_load_relaxed(&m->queue.word)); /* a guess: the CAS decides */
}

/* Lock, or queue *w for the lock.
 * w: the caller's memory, unused or completed; must stay where it is while queued.
 * Returns VOLT_OK (locked; *w unused) or VOLT_PENDING (queued).
 * Wakes: waker, exactly once, on the thread that unlocks, with nothing held.
 * Cancel: volt_mutex_cancel().
 * Threads: any; not from a signal handler. Order: the grant acquires what the last holder did. */
VOLT_INLINE VOLT_NODISCARD int volt_mutex_lock_waiter(volt_mutex *m, volt_waiter *w,
                                                      volt_waker waker) {
  if (VOLT_LIKELY(volt_mutex_try_from_(m, 0) == VOLT_OK)) return VOLT_OK;
  return volt_mutex_lock_waiter_slow_(m, w, waker);
}

/* Lock; block this thread until it has the lock or the deadline has passed.
 * deadline_ns: as volt_now_ns(); a time in the past: do not wait; VOLT_NO_DEADLINE: for ever.
 * Returns VOLT_OK or VOLT_ETIMEDOUT (not locked). Threads: any that may block. */
VOLT_INLINE VOLT_NODISCARD int volt_mutex_lock_until(volt_mutex *m, uint64_t deadline_ns) {
  if (VOLT_LIKELY(volt_mutex_try_from_(m, 0) == VOLT_OK)) return VOLT_OK;
  return volt_mutex_lock_until_slow_(m, deadline_ns);
}

/* Lock; block this thread until it has the lock, however long that takes: it cannot fail.
 * Threads: any that may block. */
VOLT_INLINE void volt_mutex_lock(volt_mutex *m) {
  if (VOLT_LIKELY(volt_mutex_try_from_(m, 0) == VOLT_OK)) return;
  volt_mutex_lock_slow_(m);
}

/* The same as volt_mutex_lock_waiter() as a future: nothing happens before it is polled. If it is
 * dropped after its grant and before a poll has returned it, the mutex is unlocked.
 * f: not WAITING; its content is overwritten. Returns f. */
VOLT_API VOLT_NODISCARD volt_future *volt_mutex_lock_future(volt_future *f, volt_mutex *m);

/* Unlock: grant the lock to the oldest waiter; leave it free if there is none. With bypass it may
 * leave the lock free and call the oldest waiter to look. Aborts if it is not locked.
 * Wakes: the waiter that gets the lock, unless it was called to look before; or the waiter that is
 *   called to look. On this thread, with nothing held.
 * Threads: any. Order: releases what this thread did before to the next holder. */
VOLT_INLINE void volt_mutex_unlock(volt_mutex *m) {
  uint64_t word = VOLT_WORD_(1);
  volt_holder_releasing_(&m->holder, m, 1);
  /* permits:F1 -> bypass:A1, bypass:L1, fifo:L1, permits:A1, permits:C1, permits:D1, permits:T1:
   * permits carry their releasers' past */
  if (VOLT_LIKELY(volt_cas_release(&m->queue.word, &word, 0))) return;
  volt_mutex_unlock_slow_(m);
}

/* The same, but the oldest waiter is granted the lock, whatever the bypass. For a holder that has
 * had the lock for long, or will ask for it again at once. Without bypass it is
 * volt_mutex_unlock().
 * Wakes: the waiter that gets the lock, unless it was called to look before; on this thread, with
 *   nothing held.
 * Threads: any. Order: as volt_mutex_unlock(). */
VOLT_API void volt_mutex_unlock_fair(volt_mutex *m);

/* Give up waiting.
 * w: last passed to volt_mutex_lock_waiter() on this mutex (or never used).
 * Returns true: cancelled, no wake will come. Returns false: granted, the lock is the caller's to
 *   unlock, and its one wake has come or will come. Either way the memory of *w is the caller's
 *   again.
 * Threads: the owner of *w. */
VOLT_API VOLT_NODISCARD bool volt_mutex_cancel(volt_mutex *m, volt_waiter *w);

/* Whether it is locked now. A snapshot: for assertions. Threads: any. */
VOLT_API bool volt_mutex_is_locked(const volt_mutex *m);

/* How many waiters are queued now. A snapshot. Threads: any. */
VOLT_API uint32_t volt_mutex_waiters(const volt_mutex *m);

VOLT_END_DECLS

/* And where the call stands. (volt_x)(object) is without; so are all calls of a file that defines
 * VOLT_NO_PLACES before it includes volt, because it waits on behalf of its own callers. */
#if VOLT_SIGHT
static inline volt_mutex *volt_mutex_tried_at_(volt_mutex *m, const char *file, uint32_t line) {
  volt_party_is_at_(m, file, line);
  return m;
}
static inline volt_mutex *volt_mutex_locked_at_(volt_mutex *m, const char *file, uint32_t line) {
  volt_party_locks_at_(m, file, line);
  return m;
}
static inline volt_mutex *volt_mutex_blocks_at_(volt_mutex *m, const char *call, const char *file,
                                                uint32_t line) {
  volt_party_blocks_at_(call, m, file, line);
  return m;
}
#ifndef VOLT_NO_PLACES
#define volt_mutex_try_lock(m) volt_mutex_try_lock(volt_mutex_tried_at_((m), __FILE__, __LINE__))
#define volt_mutex_try_from_(m, ...) \
  volt_mutex_try_from_(volt_mutex_tried_at_((m), __FILE__, __LINE__), __VA_ARGS__)
#define volt_mutex_lock_waiter(m, ...) \
  volt_mutex_lock_waiter(volt_mutex_locked_at_((m), __FILE__, __LINE__), __VA_ARGS__)
#define volt_mutex_lock_until(m, ...)                                                            \
  volt_mutex_lock_until(volt_mutex_blocks_at_((m), "volt_mutex_lock_until", __FILE__, __LINE__), \
                        __VA_ARGS__)
#define volt_mutex_lock(m) \
  volt_mutex_lock(volt_mutex_blocks_at_((m), "volt_mutex_lock", __FILE__, __LINE__))
#undef volt_mutex_unlock                              /* detail/holders.h */
static inline void volt_mutex_unlock(volt_mutex *m) { /* for its address */
  volt_mutex_unlock_sight_(m);
}
#define volt_mutex_unlock(m) volt_mutex_unlock_sight_(volt_mutex_tried_at_((m), __FILE__, __LINE__))
#endif
#endif
#endif
