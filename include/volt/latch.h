/* latch.h: wait until a count has come down to zero (a latch; Go's wait group).
 *
 *   volt_latch left = VOLT_LATCH_INIT(0);
 *   for (int i = 0; i < jobs; i++) {
 *     volt_latch_add(&left, 1);
 *     start(&job[i]);                 each ends with volt_latch_done(&left)
 *   }
 *   volt_latch_wait(&left);
 *
 * At zero the latch is open: all waiters are released, and later waits return at once. Counted up
 * again, it is shut for waits that begin then; waiters that were released stay released.
 *
 * Lifetime: a thread that finds the latch open, or whose wait has completed, may free it if no
 * thread will count it up again, because a volt_latch_count_down() does not touch the latch after
 * its last step. (If more than 32 waiters were released, call volt_latch_destroy() first, which
 * waits for that count down.) Other calls must have returned, because they read the latch: a
 * cancel, a set_waker, a further poll or the drop of a future, and a wait with a deadline.
 *
 * All-zero is an open latch. Nothing is ever allocated. */
#ifndef VOLT_LATCH_H
#define VOLT_LATCH_H

#include "detail/fifo.h"
#include "future.h"

/* The highest count. */
#define VOLT_LATCH_MAX UINT32_MAX

/* Members are private. */
typedef struct volt_latch {
  volt_fifo_ queue; /* the value of its word is the count */
} volt_latch;
VOLT_SIZE_AT_MOST_(volt_latch, 64);

/* A latch with this count. count: 0..VOLT_LATCH_MAX. */
#define VOLT_LATCH_INIT(count) \
  { VOLT_FIFO_INIT_(count) }

VOLT_BEGIN_DECLS

/* Make *l a latch with this count. */
VOLT_API void volt_latch_init(volt_latch *l, uint32_t count);

/* End its life; frees nothing. No waiter may wait for the latch to open (aborts), and no thread may
 * use *l again. Released waiters need not have been woken yet. The count may be anything. Waits for
 * a volt_latch_count_down() that has more than 32 waiters to wake. So it must not be called by a
 * waker that this latch calls. */
VOLT_API void volt_latch_destroy(volt_latch *l);

/* Private: if the lock is needed, or to abort. */
VOLT_API void volt_latch_add_slow_(volt_latch *l, uint32_t n);
VOLT_API void volt_latch_count_down_slow_(volt_latch *l, uint32_t n);

/* Count n up. Waiters that were released stay released.
 * n: a count beyond VOLT_LATCH_MAX aborts. Threads: any. Order: none. */
VOLT_INLINE void volt_latch_add(volt_latch *l, uint32_t n) {
  uint64_t word = volt_load_relaxed(&l->queue.word); /* a guess: the CAS decides */
  while (!(word & VOLT_WORD_LOCKED_) && n <= VOLT_LATCH_MAX - VOLT_WORD_VALUE_(word)) {
    /* relaxed, no data: adding publishes nothing */
    if (volt_cas_relaxed(&l->queue.word, &word, word + VOLT_WORD_(n))) return;
  }
  volt_latch_add_slow_(l, n);
}

/* Count n down; at zero, release all waiters.
 * n: a count below zero aborts; 0 does nothing.
 * Wakes: at zero all waiters, oldest first, with nothing held, on this thread; those beyond the
 *   first 32 possibly on another thread that uses the latch meanwhile.
 * Threads: any; not from a signal handler. Order: releases what this thread did before to each
 *   waiter that is released by this or a later call. */
VOLT_INLINE void volt_latch_count_down(volt_latch *l, uint32_t n) {
  uint64_t word = volt_load_relaxed(&l->queue.word); /* a guess: the CAS decides */
  while (!(word & VOLT_WORD_LOCKED_) && n <= VOLT_WORD_VALUE_(word) &&
         (n < VOLT_WORD_VALUE_(word) || !(word & VOLT_WORD_QUEUED_))) {
    /* latch:F1 -> latch:T1, fifo:L1: a thread that finds it open sees what came before each
     * count down */
    if (volt_cas_weak_release(&l->queue.word, &word, word - VOLT_WORD_(n))) return;
  }
  volt_latch_count_down_slow_(l, n);
}

/* The same as volt_latch_count_down() by one. */
VOLT_INLINE void volt_latch_done(volt_latch *l) {
  volt_latch_count_down(l, 1);
}

/* Look whether it is open. Never waits.
 * Returns VOLT_OK (it is open) or VOLT_EAGAIN.
 * Threads: any. Order: VOLT_OK acquires what all threads did before they counted down. */
VOLT_INLINE VOLT_NODISCARD int volt_latch_try_wait(volt_latch *l) {
  /* latch:T1 <- latch:F1, fifo:U1: a thread that finds it open sees what came before each count
   * down */
  uint64_t word = volt_load_acquire(&l->queue.word);
  return VOLT_WORD_VALUE_(word) == 0 ? VOLT_OK : VOLT_EAGAIN;
}

/* Queue *w until the latch is open.
 * w: the caller's memory, unused or completed; must stay where it is while queued.
 * Returns VOLT_OK (it is open; *w unused) or VOLT_PENDING (queued).
 * Wakes: waker, exactly once, with nothing held. Cancel: volt_latch_cancel().
 * Threads: any; not from a signal handler. Order: the release of a waiter acquires what all threads
 *   did before they counted down. */
VOLT_API VOLT_NODISCARD int volt_latch_wait_waiter(volt_latch *l, volt_waiter *w, volt_waker waker);

/* Block this thread until the latch is open or the deadline has passed.
 * deadline_ns: as volt_now_ns(); a time in the past: do not wait; VOLT_NO_DEADLINE: for ever.
 * Returns VOLT_OK or VOLT_ETIMEDOUT. Threads: any that may block. */
VOLT_API VOLT_NODISCARD int volt_latch_wait_until(volt_latch *l, uint64_t deadline_ns);

/* Block this thread until the latch is open, however long that takes: it cannot fail.
 * Threads: any that may block. Order: as volt_latch_wait_waiter(). */
VOLT_API void volt_latch_wait(volt_latch *l);

/* The same as volt_latch_wait_waiter() as a future: nothing happens before it is polled.
 * f: not WAITING; its content is overwritten. Returns f. */
VOLT_API VOLT_NODISCARD volt_future *volt_latch_wait_future(volt_future *f, volt_latch *l);

/* Give up waiting.
 * w: last passed to volt_latch_wait_waiter() on this latch (or never used).
 * Returns true: cancelled, no wake will come. Returns false: the latch has opened; the one wake of
 *   *w has come or will come.
 * Threads: the owner of *w. That wake may come from within this call. */
VOLT_API bool volt_latch_cancel(volt_latch *l, volt_waiter *w);

/* The count now. A snapshot. Threads: any. */
VOLT_API uint32_t volt_latch_count(const volt_latch *l);

/* How many waiters are queued now. A snapshot. Threads: any. */
VOLT_API uint32_t volt_latch_waiters(const volt_latch *l);

VOLT_END_DECLS
#endif
