/* latch.h: wait until a count has come down to zero: a latch, a wait group.
 *
 *   volt_latch left = VOLT_LATCH_INIT(0);
 *   for (int i = 0; i < jobs; i++) {
 *     volt_latch_add(&left, 1);
 *     start(&job[i]);                 each ends with volt_latch_done(&left)
 *   }
 *   volt_latch_wait_no_deadline(&left);
 *
 * At zero it is open: everybody who waits is let go, and nobody has to wait. Counted up again it is
 * shut again, for those who come then. Whoever finds it open, or is told, may free it if it will be
 * counted up no more: nobody who counted down looks at it again. But others who wait may: a cancel,
 * a set_waker, a further poll or the drop of a future, and a wait with a deadline look at the latch
 * until they return, also after it has opened; nobody may be in one of these then.
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

/* count: 0..VOLT_LATCH_MAX. */
#define VOLT_LATCH_INIT(count) \
  { VOLT_FIFO_INIT_(count) }

VOLT_BEGIN_DECLS

/* Make *l a latch with this count. */
VOLT_API void volt_latch_init(volt_latch *l, uint32_t count);

/* End its life. Nobody may be waiting (aborts) or use it again; those who were let go may not have
 * been told yet. The count may be anything. Waits for who opened it, if that one has more than 32
 * waiters to tell; so not from a waker that this latch calls. */
VOLT_API void volt_latch_destroy(volt_latch *l);

/* Private: when a turn with the queue is needed; or to abort. */
VOLT_API void volt_latch_add_slow_(volt_latch *l, uint32_t n);
VOLT_API void volt_latch_count_down_slow_(volt_latch *l, uint32_t n);

/* Count n up. Those who were let go before stay so.
 * n: beyond VOLT_LATCH_MAX in all aborts. Threads: any. Order: none. */
VOLT_INLINE void volt_latch_add(volt_latch *l, uint32_t n) {
  uint64_t word = volt_load_relaxed(&l->queue.word); /* a guess: the CAS decides */
  while (!(word & VOLT_WORD_LOCKED_) && n <= VOLT_LATCH_MAX - VOLT_WORD_VALUE_(word)) {
    if (volt_cas_relaxed(&l->queue.word, &word, word + VOLT_WORD_(n))) return; /* only a count */
  }
  volt_latch_add_slow_(l, n);
}

/* Count n down; at zero, let everybody go.
 * n: below zero aborts; 0 does nothing.
 * Wakes: at zero everybody who waits, oldest first, with nothing held, on this thread; those beyond
 *   the first 32 possibly on another one that uses the latch meanwhile.
 * Threads: any; not from a signal handler. Order: releases what this thread did before to whoever
 *   is let go by this or a later call. */
VOLT_INLINE void volt_latch_count_down(volt_latch *l, uint32_t n) {
  uint64_t word = volt_load_relaxed(&l->queue.word); /* a guess: the CAS decides */
  while (!(word & VOLT_WORD_LOCKED_) && n <= VOLT_WORD_VALUE_(word) &&
         (n < VOLT_WORD_VALUE_(word) || !(word & VOLT_WORD_QUEUED_))) {
    /* latch:F1 -> latch:T1, fifo:L1: whoever finds it open sees what came before every count
     * down */
    if (volt_cas_weak_release(&l->queue.word, &word, word - VOLT_WORD_(n))) return;
  }
  volt_latch_count_down_slow_(l, n);
}

/* Count one down. */
VOLT_INLINE void volt_latch_done(volt_latch *l) {
  volt_latch_count_down(l, 1);
}

/* Look whether it is open. Never waits.
 * Returns VOLT_OK (it is open) or VOLT_EAGAIN.
 * Threads: any. Order: VOLT_OK acquires what all who counted down did before. */
VOLT_INLINE VOLT_NODISCARD int volt_latch_try_wait(volt_latch *l) {
  /* latch:T1 <- latch:F1, fifo:U1: whoever finds it open sees what came before every count down */
  uint64_t word = volt_load_acquire(&l->queue.word);
  return VOLT_WORD_VALUE_(word) == 0 ? VOLT_OK : VOLT_EAGAIN;
}

/* Queue *w until the latch is open.
 * w: the caller's memory, unused or completed; must stay where it is while queued.
 * Returns VOLT_OK (it is open; *w unused) or VOLT_PENDING (queued).
 * Wakes: waker, exactly once, with nothing held. Cancel: volt_latch_cancel().
 * Threads: any; not from a signal handler. Order: being let go acquires what all who counted down
 *   did before. */
VOLT_API VOLT_NODISCARD int volt_latch_wait(volt_latch *l, volt_waiter *w, volt_waker waker);

/* Block this thread until the latch is open or the deadline has passed.
 * deadline_ns: as volt_now_ns(); a time in the past: do not wait; VOLT_NO_DEADLINE: for ever.
 * Returns VOLT_OK or VOLT_ETIMEDOUT. Threads: any that may block. */
VOLT_API VOLT_NODISCARD int volt_latch_wait_blocking(volt_latch *l, uint64_t deadline_ns);

/* The same, however long that takes: it cannot fail. Threads: any that may block. Order: as
 * volt_latch_wait(). */
VOLT_API void volt_latch_wait_no_deadline(volt_latch *l);

/* Waiting as a future: nothing happens before it is polled.
 * f: not WAITING; its content is overwritten. Returns f. */
VOLT_API volt_future *volt_latch_wait_future(volt_future *f, volt_latch *l);

/* Give up waiting.
 * w: last passed to volt_latch_wait() on this latch (or never used).
 * Returns true: cancelled, no wake will come. Returns false: it has opened; the one wake of *w has
 *   come or will come.
 * Threads: the owner of *w; that wake may come from within. */
VOLT_API bool volt_latch_cancel(volt_latch *l, volt_waiter *w);

/* The count now. A snapshot. Threads: any. */
VOLT_API uint32_t volt_latch_count(const volt_latch *l);

/* How many wait now. A snapshot. Threads: any. */
VOLT_API uint32_t volt_latch_waiters(const volt_latch *l);

VOLT_END_DECLS
#endif
