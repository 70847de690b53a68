/* sharded_rwlock.h: a read-write lock for data that many cores read and few threads write.
 *
 * It is several read-write locks, the shards, each on a cache line of its own. A reader locks one
 * shard. A writer locks all of them. So readers of different shards write to no common cache line,
 * and a writer takes time for each shard.
 *
 * When it is worth it, by a simulated machine (docs/scale.md; it was not measured), with a shard
 * for each worker and up to 1 % of writers:
 *   sections that are next to empty, nothing apart: faster than one volt_rwlock from 2 cores on, 2
 *     to 17 times with 1 % of writers, and 6 to 190 times if all read;
 *   1 us of work apart: no difference up to 8 cores; from 16 cores on 1.5 to 4 times with 1 % of
 *     writers, and 3 to 22 times if all read.
 * Slower: with a third of writers from 16 cores on, and with 10 % of writers on 128 cores. With
 * 10 % of writers or more and short sections, one volt_rwlock with bypass is faster from 16 cores
 * on. With 1 % of writers and work apart also in the first 25 ms of a runtime, by up to 4 times.
 *
 *   static volt_rwlock_shard shards[16];
 *   volt_sharded_rwlock table_lock;
 *   volt_sharded_rwlock_init(&table_lock, shards, 16);
 *
 *   uint32_t shard = volt_sharded_rwlock_here(&table_lock);
 *   volt_sharded_rwlock_read(&table_lock, shard);
 *   ... read ...
 *   volt_sharded_rwlock_read_unlock(&table_lock, shard);
 *
 *   volt_sharded_rwlock_write(&table_lock);
 *   ... write ...
 *   volt_sharded_rwlock_write_unlock(&table_lock);
 *
 * A good number of shards is the number of workers or busy threads. A reader unlocks the shard that
 * it has locked, so it keeps that shard's number. A task may unlock on another thread. With one
 * shard it is a volt_rwlock. All-zero is not valid: to lock it aborts.
 *
 * Order: writers get the lock in the order in which they came to the first shard. On each shard,
 * readers and writers are served first come, first served. A writer locks the shards one after
 * another. While it waits for one of them, no reader gets those that it has. So a thread that holds
 * the lock for reading must not lock it again, on any shard: with a writer in between it would wait
 * for itself.
 *
 * Lifetime: a thread that has locked it for writing, and sees that there is no other user, may
 * unlock it, destroy it and free it. A reader may not: a writer may still be unlocking other
 * shards. */
#ifndef VOLT_SHARDED_RWLOCK_H
#define VOLT_SHARDED_RWLOCK_H

#include "rwlock.h"

/* Members are private. One shard, alone on its cache line. */
typedef struct volt_rwlock_shard {
  VOLT_CACHE_ALIGNED volt_rwlock lock;
} volt_rwlock_shard;

/* Members are private. */
typedef struct volt_sharded_rwlock {
  volt_rwlock_shard *shards;
  uint32_t count;
} volt_sharded_rwlock;

/* Members are private. A writer that waits by a future. */
typedef struct volt_sharded_write {
  volt_future future;
  volt_future shard; /* locks the shard that it waits for */
  volt_sharded_rwlock *lock;
  uint32_t locked; /* how many shards it has, from the first on */
} volt_sharded_write;
VOLT_SIZE_AT_MOST_(volt_sharded_rwlock, 16);

VOLT_BEGIN_DECLS

/* ---- life ---- */

/* Make *s an unlocked lock.
 * shards: memory for count shards, the caller's, the lock's until volt_sharded_rwlock_destroy();
 *   its content is overwritten. Aligned to VOLT_CACHE_LINE (aborts). count: at least 1 (aborts).
 * Threads: one, before others use *s. */
VOLT_API void volt_sharded_rwlock_init(volt_sharded_rwlock *s, volt_rwlock_shard *shards,
                                       uint32_t count);

/* End its life; frees nothing. It must be unlocked, and no waiter may be queued (aborts). Waits as
 * volt_rwlock_destroy(). */
VOLT_API void volt_sharded_rwlock_destroy(volt_sharded_rwlock *s);

/* ---- read ---- */

/* A shard for this thread to read by. Threads are numbered as they first ask, and threads with
 * neighbouring numbers get different shards, if there is more than one.
 * Returns a number below the count of shards; the same in each call of one thread. Threads: any. */
VOLT_API uint32_t volt_sharded_rwlock_here(const volt_sharded_rwlock *s);

/* Private: the number of a shard is too large. Aborts. */
VOLT_API void volt_sharded_rwlock_refuse_(const volt_sharded_rwlock *s, uint32_t shard);
VOLT_INLINE volt_rwlock *volt_sharded_rwlock_shard_(volt_sharded_rwlock *s, uint32_t shard) {
  if (VOLT_UNLIKELY(shard >= s->count)) volt_sharded_rwlock_refuse_(s, shard);
  return &s->shards[shard].lock;
}

/* Lock a shard for reading if no writer has it and no waiter is queued for it. Never waits. It also
 * fails while a volt_sharded_rwlock_try_write() of another thread has the shard, although that call
 * may then fail, too.
 * shard: of volt_sharded_rwlock_here(), or any other below the count (else aborts).
 * Returns VOLT_OK (locked) or VOLT_EAGAIN.
 * Threads: any. Order: success acquires what the last writer did. */
VOLT_INLINE VOLT_NODISCARD int volt_sharded_rwlock_try_read(volt_sharded_rwlock *s,
                                                            uint32_t shard) {
  return (volt_rwlock_try_read)(volt_sharded_rwlock_shard_(s, shard));
}

/* Lock a shard for reading; block this thread until it has the lock or the deadline has passed.
 * shard: as for volt_sharded_rwlock_try_read(). deadline_ns: as volt_now_ns(); a time in the past:
 *   do not wait; VOLT_NO_DEADLINE: for ever.
 * Returns VOLT_OK or VOLT_ETIMEDOUT (not locked). Threads: any that may block.
 * Order: as volt_sharded_rwlock_try_read(). */
VOLT_INLINE VOLT_NODISCARD int volt_sharded_rwlock_read_until(volt_sharded_rwlock *s,
                                                              uint32_t shard,
                                                              uint64_t deadline_ns) {
  return (volt_rwlock_read_until)(volt_sharded_rwlock_shard_(s, shard), deadline_ns);
}

/* Lock a shard for reading; block this thread until it has the lock, however long that takes: it
 * cannot fail.
 * Threads: any that may block. Order: as volt_sharded_rwlock_try_read(). */
VOLT_INLINE void volt_sharded_rwlock_read(volt_sharded_rwlock *s, uint32_t shard) {
  (volt_rwlock_read)(volt_sharded_rwlock_shard_(s, shard));
}

/* The same as a future: nothing happens before it is polled. If it is dropped after its grant and
 * before a poll has returned it, the shard is unlocked.
 * f: not WAITING; its content is overwritten. shard: as for volt_sharded_rwlock_try_read().
 * Returns f. Polls as VOLT_OK. */
VOLT_API VOLT_NODISCARD volt_future *volt_sharded_rwlock_read_future(volt_future *f,
                                                                     volt_sharded_rwlock *s,
                                                                     uint32_t shard);

/* Unlock a shard that was locked for reading. Aborts if no reader has it.
 * shard: the one that was locked.
 * Wakes: the oldest waiter of the shard, a writer, if this was its last reader; on this thread,
 *   with nothing held.
 * Threads: any. Order: releases what this thread did before to the next writer. */
VOLT_INLINE void volt_sharded_rwlock_read_unlock(volt_sharded_rwlock *s, uint32_t shard) {
  volt_rwlock_read_unplaced_(volt_sharded_rwlock_shard_(s, shard));
}

/* ---- write ---- */

/* Lock for writing if no shard is locked and no waiter is queued for one. Never waits.
 * Returns VOLT_OK (locked) or VOLT_EAGAIN (no shard is locked by this call).
 * Wakes: on failure, waiters that queued for the shards that it had locked, on this thread.
 * Threads: any. Order: success acquires what the last holders did. */
VOLT_API VOLT_NODISCARD int volt_sharded_rwlock_try_write(volt_sharded_rwlock *s);

/* Lock for writing; block this thread until it has every shard or the deadline has passed.
 * deadline_ns: as for volt_sharded_rwlock_read_until().
 * Returns VOLT_OK or VOLT_ETIMEDOUT (no shard is locked by this call).
 * Wakes: at VOLT_ETIMEDOUT, waiters of the shards that it had, on this thread.
 * Threads: any that may block. Order: as volt_sharded_rwlock_try_write(). */
VOLT_API VOLT_NODISCARD int volt_sharded_rwlock_write_until(volt_sharded_rwlock *s,
                                                            uint64_t deadline_ns);

/* Lock for writing; block this thread until it has every shard, however long that takes: it cannot
 * fail.
 * Threads: any that may block. Order: as volt_sharded_rwlock_try_write(). */
VOLT_API void volt_sharded_rwlock_write(volt_sharded_rwlock *s);

/* The same as a future: nothing happens before it is polled.
 * w: the caller's memory, not pending; its content is overwritten. It must stay where it is until
 *   the future is ready or cancelled.
 * Returns &w->future: polls as VOLT_OK.
 * Wakes: the poller, once for each shard that it has to wait for.
 * Cancel: volt_future_cancel(); the shards that it has are unlocked. If it is dropped after its
 *   last grant and before a poll has returned it, all shards are unlocked.
 * Threads: the owner of *w, one at a time. Order: as volt_sharded_rwlock_try_write(). */
VOLT_API VOLT_NODISCARD volt_future *volt_sharded_rwlock_write_future(volt_sharded_write *w,
                                                                      volt_sharded_rwlock *s);

/* Unlock a lock for writing, shard by shard. Aborts if no writer holds it.
 * Wakes: the waiters that get a shard, on this thread, with nothing held.
 * Threads: any. Order: releases what this thread did before to the next holders. */
VOLT_API void volt_sharded_rwlock_write_unlock(volt_sharded_rwlock *s);

/* ---- inspection ---- */

/* How many readers hold it now, on all shards together. A snapshot of each shard in turn. Threads:
 * any. */
VOLT_API uint32_t volt_sharded_rwlock_readers(const volt_sharded_rwlock *s);

/* How many waiters are queued now, on all shards together; a writer is queued for one at a time. A
 * snapshot of each shard in turn. Threads: any. */
VOLT_API uint32_t volt_sharded_rwlock_waiters(const volt_sharded_rwlock *s);

VOLT_END_DECLS

#if VOLT_SIGHT /* as in volt/rwlock.h */
static inline volt_sharded_rwlock *volt_sharded_blocks_at_(volt_sharded_rwlock *s, const char *call,
                                                           const char *file, uint32_t line) {
  volt_party_is_at_(s, file, line);
  if (VOLT_UNLIKELY((VOLT_PARTY_HERE_->who & 3) == VOLT_WHO_TASK_)) volt_party_blocks_(call);
  return s;
}
#ifndef VOLT_NO_PLACES
#define volt_sharded_rwlock_read_until(s, ...)                                            \
  volt_sharded_rwlock_read_until(                                                         \
      volt_sharded_blocks_at_((s), "volt_sharded_rwlock_read_until", __FILE__, __LINE__), \
      __VA_ARGS__)
#define volt_sharded_rwlock_read(s, ...) \
  volt_sharded_rwlock_read(              \
      volt_sharded_blocks_at_((s), "volt_sharded_rwlock_read", __FILE__, __LINE__), __VA_ARGS__)
#endif
#endif
#endif
