/* rwlock.h: a fair read-write lock for tasks, threads and event loops.
 *
 * Many readers or one writer. It is a semaphore with 2^29-1 permits of which a reader takes one
 * and a writer all: a queued writer gathers the permits that readers give back, no new reader
 * passes it, and readers that queued behind a writer are admitted together. First come, first
 * served: neither side starves. No owner: what one thread locks, another may unlock. A call that
 * blocks its thread looks for a moment before it takes its place in the queue, as in semaphore.h.
 *
 *   volt_rwlock rw = VOLT_RWLOCK_INIT;
 *   volt_rwlock_read_no_deadline(&rw);
 *   ...
 *   volt_rwlock_read_unlock(&rw);
 *
 * Not recursive: a holder that reads again while a writer is queued waits for that writer, which
 * waits for the holder. All-zero is a valid unlocked lock.
 *
 * Labels: permits */
#ifndef VOLT_RWLOCK_H
#define VOLT_RWLOCK_H

#include "detail/fifo.h"
#include "future.h"

/* More readers than this at once abort, at the latest when one of them unlocks. */
#define VOLT_RWLOCK_MAX_READERS (VOLT_RWLOCK_WRITER_ - 1)
#define VOLT_RWLOCK_WRITER_ UINT32_C(0x1fffffff)

/* Members are private. */
typedef struct volt_rwlock {
  volt_fifo_ queue; /* the word's value: 0 free, 1.. readers, VOLT_RWLOCK_WRITER_ a writer */
} volt_rwlock;
VOLT_SIZE_AT_MOST_(volt_rwlock, 64);

#define VOLT_RWLOCK_INIT \
  { VOLT_FIFO_INIT_(0) }

VOLT_BEGIN_DECLS

/* Make *rw an unlocked lock. */
VOLT_API void volt_rwlock_init(volt_rwlock *rw);

/* End its life. It must be unlocked and nobody may be waiting (aborts). Frees nothing. Waits for an
 * unlock that has more than 32 readers to wake; so not from a waker that this lock calls. */
VOLT_API void volt_rwlock_destroy(volt_rwlock *rw);

VOLT_API int volt_rwlock_lock_slow_(volt_rwlock *, volt_waiter *, uint32_t permits, volt_waker);
VOLT_API int volt_rwlock_lock_blocking_slow_(volt_rwlock *, uint32_t permits, uint64_t deadline_ns);
VOLT_API void volt_rwlock_unlock_slow_(volt_rwlock *, uint32_t permits, const char *what);

/* Lock for reading if no writer holds it and nobody waits. Never waits, never fails spuriously.
 * Returns VOLT_OK (locked) or VOLT_EAGAIN.
 * Threads: any. Order: success acquires what the last writer did. */
VOLT_INLINE VOLT_NODISCARD int volt_rwlock_try_read(volt_rwlock *rw) {
  uint64_t word = volt_load_relaxed(&rw->queue.word); /* a guess: the CAS decides */
  while ((word & VOLT_WORD_QUEUED_) == 0 && VOLT_WORD_VALUE_(word) < VOLT_RWLOCK_MAX_READERS) {
    uint64_t next = word + VOLT_WORD_ONE_;
    /* permits:T1 <- permits:F1, fifo:U1: as in permits.c */
    if (volt_cas_weak_acquire(&rw->queue.word, &word, next)) return VOLT_OK;
  }
  return VOLT_EAGAIN;
}

/* Lock for reading, or queue *w for it.
 * w: the caller's memory, unused or completed; must stay where it is while queued.
 * Returns VOLT_OK (locked; *w unused) or VOLT_PENDING (queued).
 * Wakes: waker, exactly once, on the unlocking thread, with nothing held.
 * Cancel: volt_rwlock_cancel().
 * Threads: any; not from a signal handler. Order: the grant acquires what the last writer did. */
VOLT_INLINE VOLT_NODISCARD int volt_rwlock_read(volt_rwlock *rw, volt_waiter *w, volt_waker waker) {
  if (VOLT_LIKELY(volt_rwlock_try_read(rw) == VOLT_OK)) return VOLT_OK;
  return volt_rwlock_lock_slow_(rw, w, 1, waker);
}

/* Lock for reading; block this thread until then or until deadline_ns (as volt_now_ns()).
 * Returns VOLT_OK or VOLT_ETIMEDOUT (not locked). Threads: any that may block. */
VOLT_INLINE VOLT_NODISCARD int volt_rwlock_read_blocking(volt_rwlock *rw, uint64_t deadline_ns) {
  if (VOLT_LIKELY(volt_rwlock_try_read(rw) == VOLT_OK)) return VOLT_OK;
  return volt_rwlock_lock_blocking_slow_(rw, 1, deadline_ns);
}

/* Lock for reading; block this thread until then, however long that takes: it cannot fail.
 * Threads: any that may block. */
VOLT_INLINE void volt_rwlock_read_no_deadline(volt_rwlock *rw) {
  if (VOLT_LIKELY(volt_rwlock_try_read(rw) == VOLT_OK)) return;
  (void)volt_rwlock_lock_blocking_slow_(rw, 1, VOLT_NO_DEADLINE);
}

/* A read lock as a future: nothing happens before it is polled; unlocked again if dropped
 * unpolled. f: not WAITING; its content is overwritten. Returns f. */
VOLT_API volt_future *volt_rwlock_read_future(volt_future *f, volt_rwlock *rw);

/* Give back a read lock. Aborts if nobody reads.
 * Wakes: the writer that waits at the head, if this was the last reader. Threads: any.
 * Order: releases what this thread did before to the next writer. */
VOLT_INLINE void volt_rwlock_read_unlock(volt_rwlock *rw) {
  uint64_t word = volt_load_relaxed(&rw->queue.word); /* a guess: the CAS decides */
  while ((word & VOLT_WORD_QUEUED_) == 0 && VOLT_WORD_VALUE_(word) - 1 < VOLT_RWLOCK_MAX_READERS) {
    /* permits:F1 -> permits:A1, permits:C1, permits:D1, permits:T1: permits taken from the word
     * carry their releasers' past */
    if (volt_cas_weak_release(&rw->queue.word, &word, word - VOLT_WORD_ONE_)) return;
  }
  volt_rwlock_unlock_slow_(rw, 1, "read unlock");
}

/* Lock for writing if it is free. Never waits, never fails spuriously.
 * Returns VOLT_OK (locked) or VOLT_EAGAIN.
 * Threads: any. Order: success acquires what the last holders did. */
VOLT_INLINE VOLT_NODISCARD int volt_rwlock_try_write(volt_rwlock *rw) {
  uint64_t word = 0; /* or an unlock is still to come back, which is no matter */
  do {
    uint64_t locked = word + VOLT_WORD_(VOLT_RWLOCK_WRITER_);
    /* permits:T1 <- permits:F1, fifo:U1: as in permits.c */
    if (volt_cas_acquire(&rw->queue.word, &word, locked)) return VOLT_OK;
  } while ((word & ~VOLT_WORD_ALL_RETURNING_) == 0);
  return VOLT_EAGAIN;
}

/* Lock for writing, or queue *w for it. As volt_rwlock_read(). From the moment it is queued, no
 * new reader gets in. */
VOLT_INLINE VOLT_NODISCARD int volt_rwlock_write(volt_rwlock *rw, volt_waiter *w,
                                                 volt_waker waker) {
  if (VOLT_LIKELY(volt_rwlock_try_write(rw) == VOLT_OK)) return VOLT_OK;
  return volt_rwlock_lock_slow_(rw, w, VOLT_RWLOCK_WRITER_, waker);
}

/* Lock for writing; block this thread until then or until deadline_ns (as volt_now_ns()).
 * Returns VOLT_OK or VOLT_ETIMEDOUT (not locked). Threads: any that may block. */
VOLT_INLINE VOLT_NODISCARD int volt_rwlock_write_blocking(volt_rwlock *rw, uint64_t deadline_ns) {
  if (VOLT_LIKELY(volt_rwlock_try_write(rw) == VOLT_OK)) return VOLT_OK;
  return volt_rwlock_lock_blocking_slow_(rw, VOLT_RWLOCK_WRITER_, deadline_ns);
}

/* Lock for writing; block this thread until then, however long that takes: it cannot fail.
 * Threads: any that may block. */
VOLT_INLINE void volt_rwlock_write_no_deadline(volt_rwlock *rw) {
  if (VOLT_LIKELY(volt_rwlock_try_write(rw) == VOLT_OK)) return;
  (void)volt_rwlock_lock_blocking_slow_(rw, VOLT_RWLOCK_WRITER_, VOLT_NO_DEADLINE);
}

/* A write lock as a future: nothing happens before it is polled; unlocked again if dropped
 * unpolled. f: not WAITING; its content is overwritten. Returns f. */
VOLT_API volt_future *volt_rwlock_write_future(volt_future *f, volt_rwlock *rw);

/* Give back the write lock: to the readers at the head of the queue, all that come before the next
 * writer, or to that writer, or to nobody. Aborts if no writer holds it.
 * Wakes: those, oldest first, with nothing held, on this thread; readers beyond the first 32
 *   possibly on another one that uses the lock meanwhile. Threads: any.
 * Order: releases what this thread did before to the next holders. */
VOLT_INLINE void volt_rwlock_write_unlock(volt_rwlock *rw) {
  uint64_t word = VOLT_WORD_(VOLT_RWLOCK_WRITER_);
  /* permits:F1 -> permits:A1, permits:C1, permits:D1, permits:T1: permits taken from the word
   * carry their releasers' past */
  if (VOLT_LIKELY(volt_cas_release(&rw->queue.word, &word, 0))) return;
  volt_rwlock_unlock_slow_(rw, VOLT_RWLOCK_WRITER_, "write unlock");
}

/* Turn the write lock that the caller holds into a read lock without letting a writer in between.
 * Readers at the head of the queue are admitted with it. Aborts if no writer holds it.
 * Wakes: those readers, on this thread, with nothing held. Threads: any. */
VOLT_API void volt_rwlock_downgrade(volt_rwlock *rw);

/* Give up waiting, for either lock. Returns true: cancelled, no wake will come. Returns false:
 * granted, the lock is the caller's to unlock, and its one wake has come or will come. Either way
 * the memory of *w is the caller's again. Threads: the owner of *w. May wake others. */
VOLT_API VOLT_NODISCARD bool volt_rwlock_cancel(volt_rwlock *rw, volt_waiter *w);

/* How many readers hold it now, also while others wait; 0 if a writer holds it. A reader that was
 * let in and has not been told yet counts. A snapshot. Threads: any. */
VOLT_API uint32_t volt_rwlock_readers(const volt_rwlock *rw);

/* How many wait now, readers and writers. A snapshot. Threads: any. */
VOLT_API uint32_t volt_rwlock_waiters(const volt_rwlock *rw);

VOLT_END_DECLS
#endif
