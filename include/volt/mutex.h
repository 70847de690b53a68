/* mutex.h: a fair mutual exclusion lock for tasks, threads and event loops.
 *
 * A semaphore with one permit that goes from hand to hand: unlock gives the lock to the oldest
 * waiter, if there is one. First come, first served, no barging. Not recursive, and it has no
 * owner: a task may lock on one thread and unlock on another. A call that blocks its thread looks
 * for a moment before it takes its place in the queue, as in semaphore.h.
 *
 *   volt_mutex m = VOLT_MUTEX_INIT;
 *   volt_mutex_lock_no_deadline(&m);
 *   ...
 *   volt_mutex_unlock(&m);
 *
 * All-zero is a valid unlocked mutex. unlock() does not touch the mutex once the next one can have
 * it: "lock, see that we are the last user, unlock, free" is safe.
 *
 * Labels: permits */
#ifndef VOLT_MUTEX_H
#define VOLT_MUTEX_H

#include "detail/fifo.h"
#include "future.h"

/* Members are private. */
typedef struct volt_mutex {
  volt_fifo_ queue; /* the word's value: 0 free, 1 locked */
} volt_mutex;
VOLT_SIZE_AT_MOST_(volt_mutex, 64);

#define VOLT_MUTEX_INIT \
  { VOLT_FIFO_INIT_(0) }

VOLT_BEGIN_DECLS

/* Make *m an unlocked mutex. */
VOLT_API void volt_mutex_init(volt_mutex *m);

/* End its life. It must be unlocked and nobody may be waiting (aborts). Frees nothing. */
VOLT_API void volt_mutex_destroy(volt_mutex *m);

VOLT_API int volt_mutex_lock_slow_(volt_mutex *, volt_waiter *, volt_waker);
VOLT_API int volt_mutex_lock_blocking_slow_(volt_mutex *, uint64_t deadline_ns);
VOLT_API void volt_mutex_unlock_slow_(volt_mutex *);

/* Lock if it is free. Never waits, never fails spuriously.
 * Returns VOLT_OK (locked) or VOLT_EAGAIN (somebody holds it).
 * Threads: any. Order: success acquires what the last holder did. */
VOLT_INLINE VOLT_NODISCARD int volt_mutex_try_lock(volt_mutex *m) {
  uint64_t word = 0;
  /* permits:T1 <- permits:F1, fifo:U1: as in permits.c */
  bool locked = volt_cas_acquire(&m->queue.word, &word, VOLT_WORD_(1));
  return locked ? VOLT_OK : VOLT_EAGAIN;
}

/* Lock, or queue *w for the lock.
 * w: the caller's memory, unused or completed; must stay where it is while queued.
 * Returns VOLT_OK (locked; *w unused) or VOLT_PENDING (queued).
 * Wakes: waker, exactly once, on the unlocking thread, with nothing held.
 * Cancel: volt_mutex_cancel().
 * Threads: any; not from a signal handler. Order: the grant acquires what the last holder did. */
VOLT_INLINE VOLT_NODISCARD int volt_mutex_lock(volt_mutex *m, volt_waiter *w, volt_waker waker) {
  if (VOLT_LIKELY(volt_mutex_try_lock(m) == VOLT_OK)) return VOLT_OK;
  return volt_mutex_lock_slow_(m, w, waker);
}

/* Lock; block this thread until it is ours or deadline_ns (as volt_now_ns()) has passed.
 * Returns VOLT_OK or VOLT_ETIMEDOUT (not locked). Threads: any that may block. */
VOLT_INLINE VOLT_NODISCARD int volt_mutex_lock_blocking(volt_mutex *m, uint64_t deadline_ns) {
  if (VOLT_LIKELY(volt_mutex_try_lock(m) == VOLT_OK)) return VOLT_OK;
  return volt_mutex_lock_blocking_slow_(m, deadline_ns);
}

/* Lock; block this thread until it has the lock, however long that takes: it cannot fail.
 * Threads: any that may block. */
VOLT_INLINE void volt_mutex_lock_no_deadline(volt_mutex *m) {
  if (VOLT_LIKELY(volt_mutex_try_lock(m) == VOLT_OK)) return;
  (void)volt_mutex_lock_blocking_slow_(m, VOLT_NO_DEADLINE);
}

/* A lock as a future: nothing happens before it is polled; unlocked again if dropped unpolled.
 * f: not WAITING; its content is overwritten. Returns f. */
VOLT_API volt_future *volt_mutex_lock_future(volt_future *f, volt_mutex *m);

/* Unlock: give the lock to the oldest waiter, or free it. Aborts if it is free.
 * Wakes: the one it gives the lock to, on this thread, with nothing held.
 * Threads: any. Order: releases what this thread did before to the next holder. */
VOLT_INLINE void volt_mutex_unlock(volt_mutex *m) {
  uint64_t word = VOLT_WORD_(1);
  /* permits:F1 -> permits:A1, permits:C1, permits:D1, permits:T1: permits taken from the word
   * carry their releasers' past */
  if (VOLT_LIKELY(volt_cas_release(&m->queue.word, &word, 0))) return;
  volt_mutex_unlock_slow_(m);
}

/* Give up waiting. Returns true: cancelled, no wake will come. Returns false: granted, the lock is
 * the caller's to unlock, and its one wake has come or will come. Either way the memory of *w is
 * the caller's again. Threads: the owner of *w. */
VOLT_API VOLT_NODISCARD bool volt_mutex_cancel(volt_mutex *m, volt_waiter *w);

/* Whether somebody holds it now. A snapshot: for assertions. Threads: any. */
VOLT_API bool volt_mutex_is_locked(const volt_mutex *m);

/* How many wait now. A snapshot. Threads: any. */
VOLT_API uint32_t volt_mutex_waiters(const volt_mutex *m);

VOLT_END_DECLS
#endif
