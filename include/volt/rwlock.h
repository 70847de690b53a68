/* rwlock.h: a fair read-write lock for tasks, threads and event loops.
 *
 * Many readers or one writer. It is a semaphore with 2^29-1 permits, of which a reader takes one
 * and a writer all. A queued writer gathers the permits that readers release. No new reader passes
 * a queued writer, and readers that queued behind a writer are granted together. The order is first
 * come, first served, unless it is made with a bypass (see below). Neither side starves. It has no
 * owner: what one thread locks, another may unlock. Blocking calls spin for about 10 us before they
 * queue, as in semaphore.h.
 *
 *   volt_rwlock rw = VOLT_RWLOCK_INIT;
 *   volt_rwlock_read(&rw);
 *   ...
 *   volt_rwlock_read_unlock(&rw);
 *
 * It is not recursive: a reader that locks again while a writer is queued waits for that writer,
 * which waits for that reader. A thread that has locked it for writing and locks it again aborts in the
 * builds in which a mutex does (volt/mutex.h). All-zero is a valid unlocked lock.
 *
 * With bypass
 *
 *   static volt_rwlock rw = VOLT_RWLOCK_INIT_BYPASS(VOLT_BYPASS);
 *
 * It is as with a mutex (volt/mutex.h), but only a writer may be passed: while a writer is the
 * oldest waiter, up to k callers, readers or writers, may get the lock before it. Each reader that
 * enters counts, so readers that overlap cannot keep the writer out. Readers that are the oldest
 * waiters are not passed: they are admitted together when the writer inside leaves.
 *   A waiter with p before it waits for at most (p + 1) * (k + 1) holders, and for the readers that
 * are inside when it is queued. volt_rwlock_try_read() and volt_rwlock_try_write() pass as other
 * callers do.
 *   A bypass does not make the lock recursive: a reader that locks again passes a queued writer at
 * most k times.
 *
 * Labels: permits */
#ifndef VOLT_RWLOCK_H
#define VOLT_RWLOCK_H

#include "detail/fifo.h"
#include "detail/holders.h"
#include "future.h"
#include "mutex.h" /* VOLT_BYPASS */

/* How many readers may hold it at once. One more aborts, at the latest when a reader unlocks. */
#define VOLT_RWLOCK_MAX_READERS (VOLT_RWLOCK_WRITER_ - 1)
#define VOLT_RWLOCK_WRITER_ UINT32_C(0x1fffffff)

/* Members are private. */
typedef struct volt_rwlock {
  volt_fifo_ queue; /* the word's value: 0 free, 1.. readers, VOLT_RWLOCK_WRITER_ a writer */
  uint32_t bypass;  /* how many callers may pass the oldest waiter */
  VOLT_HOLDER_      /* of the writer */
} volt_rwlock;
VOLT_SIZE_AT_MOST_(volt_rwlock, 64);

/* An unlocked lock. */
#define VOLT_RWLOCK_INIT \
  { VOLT_FIFO_INIT_(0), VOLT_WITH_SIGHT_(0, {0, NULL, 0, 0, 0}) }

/* An unlocked lock whose oldest waiter may be passed. k: as for volt_rwlock_init_bypass(). */
#define VOLT_RWLOCK_INIT_BYPASS(k) \
  { VOLT_FIFO_INIT_(0), VOLT_WITH_SIGHT_((uint32_t)(k), {0, NULL, 0, 0, 0}) }

VOLT_BEGIN_DECLS

/* Make *rw an unlocked lock. */
VOLT_API void volt_rwlock_init(volt_rwlock *rw);

/* Make *rw an unlocked lock whose oldest waiter, if that is a writer, may be passed by up to k
 * callers.
 * k: at most 255 (aborts); VOLT_BYPASS for most uses; 0: as volt_rwlock_init(). */
VOLT_API void volt_rwlock_init_bypass(volt_rwlock *rw, uint32_t k);

/* End its life; frees nothing. It must be unlocked, and no waiter may be queued (aborts). Waits for
 * an unlock that has more than 32 readers to wake. So it must not be called by a waker that this
 * lock calls. */
VOLT_API void volt_rwlock_destroy(volt_rwlock *rw);

/* Private: what the inline functions call if a waiter may have to be queued or woken. */
VOLT_API int volt_rwlock_try_slow_(volt_rwlock *, uint32_t permits);
VOLT_API int volt_rwlock_lock_waiter_slow_(volt_rwlock *, volt_waiter *, uint32_t permits,
                                           volt_waker);
VOLT_API int volt_rwlock_lock_until_slow_(volt_rwlock *, uint32_t permits, uint64_t deadline_ns);
VOLT_API void volt_rwlock_lock_slow_(volt_rwlock *, uint32_t permits);
VOLT_API void volt_rwlock_unlock_slow_(volt_rwlock *, uint32_t permits, const char *what);

/* Lock for reading if no writer holds it and no waiter is queued. Never waits for a holder, never
 * fails spuriously. With bypass it may pass a queued writer, and may pause, as
 * volt_mutex_try_lock().
 * Returns VOLT_OK (locked) or VOLT_EAGAIN.
 * Threads: any; with bypass not from a signal handler.
 * Order: success acquires what the last writer did. */
VOLT_INLINE VOLT_NODISCARD int volt_rwlock_try_read(volt_rwlock *rw) {
  uint64_t word = volt_load_relaxed(&rw->queue.word); /* a guess: the CAS decides */
  while ((word & VOLT_WORD_QUEUED_) == 0 && VOLT_WORD_VALUE_(word) < VOLT_RWLOCK_MAX_READERS) {
    uint64_t next = word + VOLT_WORD_ONE_;
    /* permits:T1 <- permits:F1, fifo:U1, bypass:F1: permits carry their releasers' past */
    if (volt_cas_weak_acquire(&rw->queue.word, &word, next)) {
      volt_shared_took_(rw, 1);
      return VOLT_OK;
    }
  }
  return word & VOLT_WORD_OPEN_ ? volt_rwlock_try_slow_(rw, 1) : VOLT_EAGAIN;
}

/* Lock for reading, or queue *w for it.
 * w: the caller's memory, unused or completed; must stay where it is while queued.
 * Returns VOLT_OK (locked; *w unused) or VOLT_PENDING (queued).
 * Wakes: waker, exactly once, on the thread that unlocks, with nothing held.
 * Cancel: volt_rwlock_cancel().
 * Threads: any; not from a signal handler. Order: the grant acquires what the last writer did. */
VOLT_INLINE VOLT_NODISCARD int volt_rwlock_read_waiter(volt_rwlock *rw, volt_waiter *w,
                                                       volt_waker waker) {
  if (VOLT_LIKELY(volt_rwlock_try_read(rw) == VOLT_OK)) return VOLT_OK;
  return volt_rwlock_lock_waiter_slow_(rw, w, 1, waker);
}

/* Lock for reading; block this thread until it has the lock or the deadline has passed.
 * deadline_ns: as volt_now_ns(); a time in the past: do not wait; VOLT_NO_DEADLINE: for ever.
 * Returns VOLT_OK or VOLT_ETIMEDOUT (not locked). Threads: any that may block. */
VOLT_INLINE VOLT_NODISCARD int volt_rwlock_read_until(volt_rwlock *rw, uint64_t deadline_ns) {
  if (VOLT_LIKELY(volt_rwlock_try_read(rw) == VOLT_OK)) return VOLT_OK;
  return volt_rwlock_lock_until_slow_(rw, 1, deadline_ns);
}

/* Lock for reading; block this thread until it has the lock, however long that takes: it cannot
 * fail.
 * Threads: any that may block. */
VOLT_INLINE void volt_rwlock_read(volt_rwlock *rw) {
  if (VOLT_LIKELY(volt_rwlock_try_read(rw) == VOLT_OK)) return;
  volt_rwlock_lock_slow_(rw, 1);
}

/* The same as volt_rwlock_read_waiter() as a future: nothing happens before it is polled. If it is
 * dropped after its grant and before a poll has returned it, the lock is unlocked.
 * f: not WAITING; its content is overwritten. Returns f. */
VOLT_API VOLT_NODISCARD volt_future *volt_rwlock_read_future(volt_future *f, volt_rwlock *rw);

/* Unlock a lock for reading. Aborts if no reader holds it.
 * Wakes: if this was the last reader, the oldest waiter, a writer: it gets the lock, or, with
 *   bypass, is called to look. Not if it was called to look before. On this thread, with nothing
 *   held.
 * Threads: any.
 * Order: releases what this thread did before to the next writer. */
VOLT_INLINE void volt_rwlock_read_unlock(volt_rwlock *rw) {
  uint64_t word = volt_load_relaxed(&rw->queue.word); /* a guess: the CAS decides */
  volt_shared_releasing_(rw, 1);
  while ((word & VOLT_WORD_QUEUED_) == 0 && VOLT_WORD_VALUE_(word) - 1 < VOLT_RWLOCK_MAX_READERS) {
    /* permits:F1 -> bypass:A1, bypass:L1, permits:A1, permits:C1, permits:D1, permits:T1: permits
     * carry their releasers' past */
    if (volt_cas_weak_release(&rw->queue.word, &word, word - VOLT_WORD_ONE_)) return;
  }
  volt_rwlock_unlock_slow_(rw, 1, "read unlock");
}

/* Lock for writing if it is free. Never waits for a holder, never fails spuriously. With bypass it
 * may pass a queued writer, and may pause, as volt_mutex_try_lock().
 * Returns VOLT_OK (locked) or VOLT_EAGAIN.
 * Threads: any; with bypass not from a signal handler.
 * Order: success acquires what the last holders did. */
VOLT_INLINE VOLT_NODISCARD int volt_rwlock_try_write(volt_rwlock *rw) {
  VOLT_TAKES_(taking, rw, ALONE, VOLT_RWLOCK_WRITER_);
  uint64_t word = 0; /* RETURNING does not matter: an unlock that has yet to come back */
  do {
    uint64_t locked = word + VOLT_WORD_(VOLT_RWLOCK_WRITER_);
    /* permits:T1 <- permits:F1, fifo:U1, bypass:F1: permits carry their releasers' past */
    if (volt_cas_acquire(&rw->queue.word, &word, locked)) {
      volt_holder_taken_(&rw->holder, &taking);
      return VOLT_OK;
    }
  } while ((word & ~VOLT_WORD_ALL_RETURNING_) == 0);
  return word & VOLT_WORD_OPEN_ ? volt_rwlock_try_slow_(rw, VOLT_RWLOCK_WRITER_) : VOLT_EAGAIN;
}

/* Lock for writing, or queue *w for it. Once it is queued, no new reader passes it. With bypass,
 * readers that pass the oldest waiter pass *w, too. While *w itself is the oldest, none passes it.
 * w: the caller's memory, unused or completed; must stay where it is while queued.
 * Returns VOLT_OK (locked; *w unused) or VOLT_PENDING (queued).
 * Wakes: waker, exactly once, on the thread that unlocks, with nothing held.
 * Cancel: volt_rwlock_cancel().
 * Threads: any; not from a signal handler. Order: the grant acquires what the last holders did. */
VOLT_INLINE VOLT_NODISCARD int volt_rwlock_write_waiter(volt_rwlock *rw, volt_waiter *w,
                                                        volt_waker waker) {
  if (VOLT_LIKELY(volt_rwlock_try_write(rw) == VOLT_OK)) return VOLT_OK;
  return volt_rwlock_lock_waiter_slow_(rw, w, VOLT_RWLOCK_WRITER_, waker);
}

/* Lock for writing; block this thread until it has the lock or the deadline has passed.
 * deadline_ns: as volt_now_ns(); a time in the past: do not wait; VOLT_NO_DEADLINE: for ever.
 * Returns VOLT_OK or VOLT_ETIMEDOUT (not locked). Threads: any that may block. */
VOLT_INLINE VOLT_NODISCARD int volt_rwlock_write_until(volt_rwlock *rw, uint64_t deadline_ns) {
  if (VOLT_LIKELY(volt_rwlock_try_write(rw) == VOLT_OK)) return VOLT_OK;
  return volt_rwlock_lock_until_slow_(rw, VOLT_RWLOCK_WRITER_, deadline_ns);
}

/* Lock for writing; block this thread until it has the lock, however long that takes: it cannot
 * fail.
 * Threads: any that may block. */
VOLT_INLINE void volt_rwlock_write(volt_rwlock *rw) {
  if (VOLT_LIKELY(volt_rwlock_try_write(rw) == VOLT_OK)) return;
  volt_rwlock_lock_slow_(rw, VOLT_RWLOCK_WRITER_);
}

/* The same as volt_rwlock_write_waiter() as a future: nothing happens before it is polled. If it is
 * dropped after its grant and before a poll has returned it, the lock is unlocked.
 * f: not WAITING; its content is overwritten. Returns f. */
VOLT_API VOLT_NODISCARD volt_future *volt_rwlock_write_future(volt_future *f, volt_rwlock *rw);

/* Unlock a lock for writing. If the oldest waiter is a writer, it gets the lock; with bypass, it
 * may be called to look instead. If it is a reader, all readers before the next writer get it.
 * Aborts if no writer holds it.
 * Wakes: these waiters, oldest first, with nothing held, on this thread; readers beyond the first
 *   32 possibly on another thread that uses the lock meanwhile. Not a writer that was called to
 *   look before.
 * Threads: any.
 * Order: releases what this thread did before to the next holders. */
VOLT_INLINE void volt_rwlock_write_unlock(volt_rwlock *rw) {
  uint64_t word = VOLT_WORD_(VOLT_RWLOCK_WRITER_);
  volt_holder_releasing_(&rw->holder, rw, VOLT_RWLOCK_WRITER_);
  /* permits:F1 -> bypass:A1, bypass:L1, permits:A1, permits:C1, permits:D1, permits:T1: permits
   * carry their releasers' past */
  if (VOLT_LIKELY(volt_cas_release(&rw->queue.word, &word, 0))) return;
  volt_rwlock_unlock_slow_(rw, VOLT_RWLOCK_WRITER_, "write unlock");
}

/* The same, but a writer that is the oldest waiter is granted the lock, whatever the bypass.
 * Without bypass it is volt_rwlock_write_unlock().
 * Wakes: as volt_rwlock_write_unlock(). Threads: any. Order: as volt_rwlock_write_unlock(). */
VOLT_API void volt_rwlock_write_unlock_fair(volt_rwlock *rw);

/* Change the lock for writing that the caller holds into a lock for reading; no writer gets the
 * lock in between. Readers that are queued before the next writer get it, too. Aborts if no writer
 * holds it.
 * Wakes: these readers, on this thread, with nothing held. Threads: any.
 * Order: releases what this thread did before to the next holders. */
VOLT_API void volt_rwlock_downgrade(volt_rwlock *rw);

/* Give up waiting, to read or to write.
 * w: last passed to volt_rwlock_read_waiter() or volt_rwlock_write_waiter() on this lock (or never
 *   used).
 * Returns true: cancelled, no wake will come. Returns false: granted, the lock is the caller's to
 *   unlock, and its one wake has come or will come. Either way the memory of *w is the caller's
 *   again.
 * Threads: the owner of *w. May wake others on this thread. */
VOLT_API VOLT_NODISCARD bool volt_rwlock_cancel(volt_rwlock *rw, volt_waiter *w);

/* How many readers hold it now, also while waiters are queued; 0 if a writer holds it. A reader
 * that is about to be granted the lock counts. A snapshot. Threads: any. */
VOLT_API uint32_t volt_rwlock_readers(const volt_rwlock *rw);

/* How many waiters are queued now, readers and writers. A snapshot. Threads: any. */
VOLT_API uint32_t volt_rwlock_waiters(const volt_rwlock *rw);

VOLT_END_DECLS

/* And where the call stands. (volt_x)(object) is without; so are all calls of a file that defines
 * VOLT_NO_PLACES before it includes volt, because it waits on behalf of its own callers. */
#if VOLT_SIGHT
static inline volt_rwlock *volt_rwlock_tried_at_(volt_rwlock *rw, const char *file, uint32_t line) {
  volt_party_is_at_(rw, file, line);
  return rw;
}
static inline volt_rwlock *volt_rwlock_locked_at_(volt_rwlock *rw, const char *file,
                                                  uint32_t line) {
  volt_party_locks_at_(rw, file, line);
  return rw;
}
static inline volt_rwlock *volt_rwlock_blocks_at_(volt_rwlock *rw, const char *call,
                                                  const char *file, uint32_t line) {
  volt_party_blocks_at_(call, rw, file, line);
  return rw;
}
#define volt_rwlock_read_unplaced_ volt_rwlock_read_unlock_sight_
#ifndef VOLT_NO_PLACES
#define volt_rwlock_try_read(rw) \
  volt_rwlock_try_read(volt_rwlock_tried_at_((rw), __FILE__, __LINE__))
#define volt_rwlock_read_waiter(rw, ...) \
  volt_rwlock_read_waiter(volt_rwlock_locked_at_((rw), __FILE__, __LINE__), __VA_ARGS__)
#define volt_rwlock_read_until(rw, ...) \
  volt_rwlock_read_until(               \
      volt_rwlock_blocks_at_((rw), "volt_rwlock_read_until", __FILE__, __LINE__), __VA_ARGS__)
#define volt_rwlock_read(rw) \
  volt_rwlock_read(volt_rwlock_blocks_at_((rw), "volt_rwlock_read", __FILE__, __LINE__))
#define volt_rwlock_try_write(rw) \
  volt_rwlock_try_write(volt_rwlock_tried_at_((rw), __FILE__, __LINE__))
#define volt_rwlock_write_waiter(rw, ...) \
  volt_rwlock_write_waiter(volt_rwlock_locked_at_((rw), __FILE__, __LINE__), __VA_ARGS__)
#define volt_rwlock_write_until(rw, ...) \
  volt_rwlock_write_until(               \
      volt_rwlock_blocks_at_((rw), "volt_rwlock_write_until", __FILE__, __LINE__), __VA_ARGS__)
#define volt_rwlock_write(rw) \
  volt_rwlock_write(volt_rwlock_blocks_at_((rw), "volt_rwlock_write", __FILE__, __LINE__))
#undef volt_rwlock_read_unlock /* detail/holders.h */
#undef volt_rwlock_write_unlock
static inline void volt_rwlock_read_unlock(volt_rwlock *rw) { /* for its address */
  volt_rwlock_read_unlock_sight_(rw);
}
static inline void volt_rwlock_write_unlock(volt_rwlock *rw) { /* for its address */
  volt_rwlock_write_unlock_sight_(rw);
}
#define volt_rwlock_read_unlock(rw) \
  volt_rwlock_read_unlock_sight_(volt_rwlock_tried_at_((rw), __FILE__, __LINE__))
#define volt_rwlock_write_unlock(rw) \
  volt_rwlock_write_unlock_sight_(volt_rwlock_tried_at_((rw), __FILE__, __LINE__))
#endif
#else
#define volt_rwlock_read_unplaced_ volt_rwlock_read_unlock
#endif
#endif
