/* lock.h: the lock of a wait queue: a spin-then-sleep lock in two bits of its word.
 *
 * Algorithm: LOCKED is taken by a compare-and-swap and dropped by an exchange, which also stores
 * what the word shall be from then on: leaving the lock and letting permits go are one step. Where
 * there are fast paths, which look for QUEUED, it is taken only together with QUEUED, so that they
 * never meet it; who has none takes it always (turn.h).
 * Whoever has to sleep sets SLEEPER first; whoever drops it wakes one.
 *
 * Race R6: X and Y sleep. The lock is left and X woken, but nobody is queued any more, so X takes
 *   the fast path, and Y sleeps on. Closed: X passes the wake on; and having slept, it leaves
 *   SLEEPER set when it does take the lock.
 * Pairs: U1 (release) -> L1 (acquire): the holder sees what the last one did. */
#ifndef VOLT_SRC_LOCK_H
#define VOLT_SRC_LOCK_H

#include <volt/wait_queue.h>

#include "futex.h"
#include "park.h"

/* Sleep until LOCKED may have been dropped. word: what the word was, with LOCKED. */
static inline void volt_lock_sleep_(volt_wait_queue *q, uint64_t word) {
  uint64_t asleep = word | VOLT_WORD_SLEEPER_;
  /* relaxed: SLEEPER carries no data; the futex compares the flags again */
  if (word != asleep && !volt_cas_relaxed(&q->word, &word, asleep)) return;
  volt_futex_wait64_(&q->word, VOLT_WORD_FLAGS_(asleep), VOLT_NO_DEADLINE);
}

/* Take the lock; with if_queued, only if somebody is queued. Returns true: locked, and *word is
 * what the word was; false: nobody is queued, and *word is a word that said so. */
static inline bool volt_lock_word_(volt_wait_queue *q, bool if_queued, uint64_t *word) {
  uint64_t slept = 0; /* SLEEPER once this thread may have slept */
  for (unsigned spins = 0;; spins++) {
    *word = volt_load_relaxed(&q->word); /* a guess: the CAS decides */
    if (if_queued && !(*word & VOLT_WORD_QUEUED_)) {
      if (slept) volt_futex_wake64_(&q->word, 1); /* R6: pass it on */
      return false;
    }
    if (!(*word & VOLT_WORD_LOCKED_)) {
      uint64_t locked = *word | VOLT_WORD_LOCKED_ | slept;       /* R6 */
      if (volt_cas_acquire(&q->word, word, locked)) return true; /* L1: pairs U1 */
    } else if (spins < VOLT_SPIN) {
      volt_cpu_relax_();
    } else {
      volt_lock_sleep_(q, *word);
      slept = VOLT_WORD_SLEEPER_;
    }
  }
}

static inline bool volt_lock_if_queued_(volt_wait_queue *q, uint64_t *word) {
  return volt_lock_word_(q, true, word);
}

/* Leave the lock: from now on the word is next. The last access to *q. */
static inline void volt_unlock_(volt_wait_queue *q, uint64_t next) {
  uint64_t word = volt_exchange_release(&q->word, next);          /* U1: pairs L1, A1, C1 */
  if (word & VOLT_WORD_SLEEPER_) volt_futex_wake64_(&q->word, 1); /* R2: by address only */
}

#endif
