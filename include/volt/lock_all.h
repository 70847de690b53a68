/* lock_all.h: several mutexes and semaphores, locked together, where they are not in one budget.
 *
 *   volt_lockable both[] = {{.mutex = &from->lock}, {.mutex = &to->lock}};
 *   if (volt_lock_all_until(both, 2, volt_deadline_ms(50)) == VOLT_OK) {
 *     transfer(from, to);
 *     volt_unlock_all(both, 2);
 *   }
 *
 * They are locked one after the other, in the order of their addresses, each in its own FIFO. So callers
 * that use these functions alone never deadlock, whatever sets they ask for, as long as the permits that they
 * ask for exist. (Of a bounded semaphore that is checked at the beginning: VOLT_EINVAL. If its limit is
 * lowered below that afterwards, or an unbounded one never has so many, the caller waits until there are,
 * and holds the objects of lower addresses: those that want these wait as well.) Each caller that waits gets
 * the object after those that came to it before, but for what a mutex's bypass allows, and for the time for
 * which a blocking call spins before it queues. If the wait ends otherwise, by a deadline, a cancel, or a
 * closed semaphore, nothing is kept.
 *
 * What it does not promise:
 * - While it waits for one object it holds those before. They are idle, and others wait for them. A budget
 *   (volt/budget.h) holds nothing while it waits.
 * - There is not one queue for all: of two callers the later one may have everything first, if the first one waits
 *   for an object that the other does not need.
 * - A thread that holds a lock already when it calls, or locks another one afterwards, may deadlock with
 *   others, as with any two locks. (In builds with VOLT_SIGHT=1 the order of locks is checked: each of the
 *   mutexes comes after what the thread held before the call.) */
#ifndef VOLT_LOCK_ALL_H
#define VOLT_LOCK_ALL_H

#include "mutex.h"
#include "semaphore.h"

/* How many objects can be locked at once. */
#define VOLT_LOCK_ALL_MAX 64

/* One of the objects: a mutex, or permits of a semaphore. {.mutex = &m}, or {.sem = &s, .permits = 2}. */
typedef struct volt_lockable {
  volt_mutex *mutex; /* NULL: it is a semaphore */
  volt_sem *sem;     /* NULL: it is a mutex */
  uint32_t permits;  /* of the semaphore: 0..VOLT_SEM_MAX; of a bounded one: 0..its limit */
} volt_lockable;

/* Members are private. A caller that waits by a future. */
typedef struct volt_lock_all_op {
  volt_future future;
  volt_future one; /* locks the object that it waits for */
  volt_lockable *items;
  uint32_t count;
  uint32_t locked; /* how many it has, from the first on */
} volt_lock_all_op;

VOLT_BEGIN_DECLS

/* Lock all of them if that needs no wait; else none.
 * items: put into the order of their addresses; so the list is the caller's alone during the call, and two
 *   threads do not share one. None twice, and each with either a mutex or a semaphore (aborts).
 * count: 0..VOLT_LOCK_ALL_MAX (more aborts); 0 succeeds.
 * Returns VOLT_OK, VOLT_EAGAIN, VOLT_ECLOSED (a semaphore is closed) or VOLT_EINVAL (more permits than
 *   VOLT_SEM_MAX, or than the limit of a bounded semaphore; found before anything is locked): nothing is held
 *   then. While it runs, others may find an object taken that it gives back.
 * Wakes: if it fails, those that are granted what it gives back, on this thread.
 * Threads: any. Order: success acquires what those did that had them before. */
VOLT_API VOLT_NODISCARD int volt_try_lock_all(volt_lockable *items, uint32_t count);

/* Lock all of them; block this thread until it has them or the deadline has passed.
 * items, count: as of volt_try_lock_all().
 * deadline_ns: as volt_now_ns(); a time in the past: do not wait; VOLT_NO_DEADLINE: for ever.
 * volt_lock_all() has no deadline: it waits for as long as that takes.
 * Returns VOLT_OK, VOLT_ETIMEDOUT, VOLT_ECLOSED (when it has come to the semaphore that is closed) or
 *   VOLT_EINVAL (at once, as of volt_try_lock_all()): nothing is held then.
 * Wakes: if it fails, those that are granted what it gives back, on this thread.
 * Threads: any that may block. Order: as volt_try_lock_all(). */
VOLT_API VOLT_NODISCARD int volt_lock_all_until(volt_lockable *items, uint32_t count,
                                                uint64_t deadline_ns);
VOLT_INLINE VOLT_NODISCARD int volt_lock_all(volt_lockable *items, uint32_t count) {
  return volt_lock_all_until(items, count, VOLT_NO_DEADLINE);
}

/* The same as a future: nothing is locked before it is polled. If it is dropped, what it has is
 * unlocked, also after its grant and before a poll has returned it.
 * op: the caller's, not in use; its content is overwritten. items: as of volt_try_lock_all(); the caller's,
 *   until the future is ready or cancelled, and in a select or a join until that is.
 * Returns &op->future. It polls as VOLT_OK, VOLT_ECLOSED or VOLT_EINVAL (as permits and limits were in this
 *   call).
 * Wakes: if it is dropped, or fails, those that are granted what it gives back, on that thread.
 * Threads: the owner of *op. */
VOLT_API VOLT_NODISCARD volt_future *volt_lock_all_future(volt_lock_all_op *op,
                                                          volt_lockable *items, uint32_t count);

/* Unlock all of them: release the permits, unlock the mutexes. They may also be unlocked one by one.
 * items, count: as they were locked.
 * Wakes: those that are granted, on this thread. Threads: any. Order: releases what this thread did
 *   before to the next holder of each. */
VOLT_API void volt_unlock_all(volt_lockable *items, uint32_t count);

VOLT_END_DECLS

/* And where the call stands, as in volt/mutex.h. A future's is where it is awaited. */
#if VOLT_SIGHT
static inline volt_lockable *volt_lock_all_at_(volt_lockable *items, const char *file,
                                               uint32_t line) {
  volt_party_is_at_(items, file, line);
  return items;
}
#ifndef VOLT_NO_PLACES
#define volt_try_lock_all(items, ...) \
  volt_try_lock_all(volt_lock_all_at_((items), __FILE__, __LINE__), __VA_ARGS__)
#define volt_lock_all_until(items, ...) \
  volt_lock_all_until(volt_lock_all_at_((items), __FILE__, __LINE__), __VA_ARGS__)
#define volt_lock_all(items, ...) \
  volt_lock_all(volt_lock_all_at_((items), __FILE__, __LINE__), __VA_ARGS__)
#define volt_unlock_all(items, ...) \
  volt_unlock_all(volt_lock_all_at_((items), __FILE__, __LINE__), __VA_ARGS__)
#endif
#endif
#endif
