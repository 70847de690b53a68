/* watch.h: the latest value, and whether it has changed.
 *
 * A configuration, a state, a progress: a watcher wants the value as it is now, not the values in
 * between. The value is in the caller's memory. Each send overwrites it and increments its version.
 * A watcher that has seen one version waits for another one: it may skip versions, but not the last
 * one. There may be any number of senders and watchers; tasks, threads and event loops wait in the
 * same FIFO. Nothing is ever allocated.
 *
 *   struct config memory, config = {...};
 *   volt_watch watch;
 *   volt_watch_init(&watch, sizeof config, &memory, &config);
 *
 *   uint64_t seen = 0;                                     nothing: the first version is 1
 *   while (volt_watch_changed(&watch, &seen) == VOLT_OK) {
 *     seen = volt_watch_get(&watch, &config);              may be newer still
 *     use(&config);
 *   }
 *
 * Values are copied with memcpy() under the watch's lock. They should be small, and own nothing.
 * All-zero is not valid: a wait aborts; in debug builds a send and a get do, too. */
#ifndef VOLT_WATCH_H
#define VOLT_WATCH_H

#include "detail/fifo.h"
#include "future.h"

/* Members are private. */
typedef struct volt_watch {
  volt_fifo_ queue; /* waiters that have seen this version */
  void *value;
  size_t elem_bytes;
  VOLT_PLAIN(uint64_t) version;
} volt_watch;
VOLT_SIZE_AT_MOST_(volt_watch, 64);

VOLT_BEGIN_DECLS

/* ---- life ---- */

/* Make *w a watch whose version 1 is *initial.
 * mem: the caller's, elem_bytes of any alignment (NULL if that is 0: there is only a version); the
 *   watch's until volt_watch_destroy().
 * initial: elem_bytes are copied to mem; NULL: the value is in mem already. */
VOLT_API void volt_watch_init(volt_watch *w, size_t elem_bytes, void *mem, const void *initial);

/* End its life. Frees nothing. No waiter may be queued (aborts), and no thread may use *w again.
 * Waits for a send or a close that has more than 32 waiters to wake; so do not call it from a waker
 * that this watch calls. */
VOLT_API void volt_watch_destroy(volt_watch *w);

/* ---- change ---- */

/* Make *elem the value; its version is one more than the last.
 * elem: elem_bytes are copied.
 * Returns VOLT_OK, or VOLT_ECLOSED (nothing was changed).
 * Wakes: every waiter, oldest first, with nothing held, on this thread; those after the first 32
 *   possibly on another thread that uses the watch meanwhile.
 * Threads: any; not from a signal handler.
 * Order: releases what this thread did before to the threads that see this version or a later
 *   one. */
VOLT_API int volt_watch_send(volt_watch *w, const void *elem);

/* Changes the value in place. Returns whether that made a new version. */
typedef bool volt_watch_fn(void *value, void *arg);

/* Let fn change the value where it is. If fn returns true, the version is one more than the last.
 * The value is not copied, and no other change comes between what fn reads and what it writes.
 * fn: called once, with the value (mem of volt_watch_init()) and arg, unless the watch is closed.
 *   Other threads that use the watch wait meanwhile, so fn should be short. It must not use this
 *   watch (it would wait for itself for ever), nor leave by longjmp or an exception. If it returns
 *   false, what it wrote stays, and volt_watch_get() copies it, but no waiter is woken.
 * Returns VOLT_OK (a new version), VOLT_EAGAIN (fn returned false), or VOLT_ECLOSED (fn was not
 *   called).
 * Wakes: for a new version, as volt_watch_send(), after fn.
 * Threads: any; not from a signal handler.
 * Order: as volt_watch_send(); fn acquires what all earlier changers did before. */
VOLT_API int volt_watch_modify(volt_watch *w, volt_watch_fn *fn, void *arg);

/* ---- watch ---- */

/* Copy the value, all of one version.
 * elem: the caller's, elem_bytes.
 * Returns that version.
 * Threads: any. Order: acquires what its sender, and all earlier senders, did before. */
VOLT_API uint64_t volt_watch_get(volt_watch *w, void *elem);

/* Whether there is another version than *seen. Never waits.
 * seen: the caller's; becomes the present version if VOLT_OK.
 * Returns VOLT_OK (there is), VOLT_EAGAIN (there is not), or VOLT_ECLOSED (there is not, and there
 *   will not be).
 * Threads: any; the owner of *seen. Order: VOLT_OK acquires what the sender did before. */
VOLT_API VOLT_NODISCARD int volt_watch_try_changed(volt_watch *w, uint64_t *seen);

/* The same, or queue *waiter until there is.
 * seen: as of volt_watch_try_changed(); only used in this call.
 * waiter: the caller's memory, unused or completed; must stay where it is while queued.
 * Returns VOLT_OK (*seen is the present version; *waiter unused), VOLT_PENDING (queued), or
 *   VOLT_ECLOSED (*waiter unused). A queued wait completes with VOLT_OK: there was a change, and
 *   volt_watch_get() or volt_watch_try_changed() says which version it is now. Or it completes with
 *   VOLT_ECLOSED. volt_waiter_result() says which.
 * Wakes: waker, exactly once, on the thread that sends or closes, with nothing held.
 * Cancel: volt_watch_cancel().
 * Threads: any. Order: as volt_watch_try_changed(). */
VOLT_API VOLT_NODISCARD int volt_watch_changed_waiter(volt_watch *w, uint64_t *seen,
                                                      volt_waiter *waiter, volt_waker waker);

/* The same; block this thread until there is a change or the deadline has passed.
 * seen: the caller's; becomes the present version if VOLT_OK.
 * deadline_ns: as volt_now_ns(); a time in the past: do not wait; VOLT_NO_DEADLINE: for ever.
 * volt_watch_changed() has no deadline: it waits for as long as that takes.
 * Returns VOLT_OK (there is another version), VOLT_ETIMEDOUT (there is not), or VOLT_ECLOSED (there
 *   is not, and there will not be).
 * Threads: any that may block. Order: as volt_watch_try_changed(). */
VOLT_API VOLT_NODISCARD int volt_watch_changed_until(volt_watch *w, uint64_t *seen,
                                                     uint64_t deadline_ns);
VOLT_INLINE VOLT_NODISCARD int volt_watch_changed(volt_watch *w, uint64_t *seen) {
  return volt_watch_changed_until(w, seen, VOLT_NO_DEADLINE);
}

/* Waiting for a change as a future. The poll that returns VOLT_OK makes *seen the present version.
 * A future that is given up before, or loses a select, leaves *seen as it was.
 * f: not WAITING; its content is overwritten. seen: the caller's, until the future is ready.
 * Returns f. It polls as volt_watch_changed_waiter() returns; as VOLT_EAGAIN if *seen became the
 *   present version by another call meanwhile. */
VOLT_API VOLT_NODISCARD volt_future *volt_watch_changed_future(volt_future *f, volt_watch *w,
                                                               uint64_t *seen);

/* Give up waiting.
 * waiter: last passed to volt_watch_changed_waiter() on this watch (or never used).
 * Returns true: cancelled, no wake will come. Returns false: too late, *waiter has completed; its
 *   one wake has come or will come. Either way no version is marked as seen.
 * Threads: the owner of *waiter; that wake may come from within. */
VOLT_API VOLT_NODISCARD bool volt_watch_cancel(volt_watch *w, volt_waiter *waiter);

/* ---- close ---- */

/* Allow no more changes. A watcher that has not seen the last version still sees it, then gets
 * VOLT_ECLOSED. Closing twice does nothing more.
 * Wakes: every waiter; they complete with VOLT_ECLOSED.
 * Threads: any; not from a signal handler.
 * Order: releases what this thread did before to the threads that get VOLT_ECLOSED. */
VOLT_API void volt_watch_close(volt_watch *w);

/* ---- inspection: snapshots; any thread ---- */

/* The present version, from 1 on. Order: as volt_watch_get(). */
VOLT_API uint64_t volt_watch_version(const volt_watch *w);
/* Whether volt_watch_close() was called. Order: true acquires what the closer did before. */
VOLT_API bool volt_watch_is_closed(const volt_watch *w);
/* How many waiters are queued. */
VOLT_API uint32_t volt_watch_waiters(const volt_watch *w);

VOLT_END_DECLS
#endif
