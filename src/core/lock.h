/* lock.h: the lock of a wait queue: a bit of its word.
 *
 * Algorithm: LOCKED is taken by a compare-and-swap, and left by a store, which also says what the
 * word shall be from then on: leaving the lock and letting permits go are one step. A store will do,
 * for while LOCKED is set nobody else writes the word. Where there are fast paths, which look for
 * QUEUED, it is taken only together with QUEUED, so that they never meet it; who has none takes it
 * always (turn.h).
 * It is held for a few dozen instructions, with no foreign code and no wait inside. So leaving it
 * tells nobody; who finds it taken waits a little and looks again (park.h).
 *
 * Pairs: U1 (release) -> L1 (acquire): the holder sees what the last one did. All that happened to
 *   the word before U1 happened before it, for L1 is an RMW: whoever reads U1, or what RMWs have
 *   made of it, may rely on that as if there were RMWs alone. */
#ifndef VOLT_SRC_LOCK_H
#define VOLT_SRC_LOCK_H

#include <volt/wait_queue.h>

#include "park.h"

/* Take the lock: *word is what the word was. */
static inline void volt_fifo_lock_(volt_fifo_ *q, uint64_t *word) {
  for (unsigned looks = 0;;) {
    *word = volt_load_relaxed(&q->word); /* a guess: the CAS decides */
    if (*word & VOLT_WORD_LOCKED_) {
      volt_pause_(&looks);
    } else if (volt_cas_acquire(&q->word, word, *word | VOLT_WORD_LOCKED_)) { /* L1: pairs U1 */
      return;
    }
  }
}

/* Take the lock, but only while a waiter is queued. Returns true: locked, and *word is what the word
 * was; false: no waiter is queued, and *word is a word that said so. */
static inline bool volt_fifo_lock_if_queued_(volt_fifo_ *q, uint64_t *word) {
  for (unsigned looks = 0;;) {
    *word = volt_load_relaxed(&q->word); /* a guess: the CAS decides */
    if (!(*word & VOLT_WORD_QUEUED_)) return false;
    if (*word & VOLT_WORD_LOCKED_) {
      volt_pause_(&looks);
    } else if (volt_cas_acquire(&q->word, word, *word | VOLT_WORD_LOCKED_)) { /* L1: pairs U1 */
      return true;
    }
  }
}

/* Take the lock if it is free: *word is what the word was. */
static inline bool volt_fifo_try_lock_(volt_fifo_ *q, uint64_t *word) {
  *word = volt_load_relaxed(&q->word); /* a guess: the CAS decides */
  if (*word & VOLT_WORD_LOCKED_) return false;
  return volt_cas_acquire(&q->word, word, *word | VOLT_WORD_LOCKED_); /* L1: pairs U1 */
}

/* The queue of an object that its caller only looks at: all that changes is the lock. */
static inline volt_fifo_ *volt_fifo_to_look_at_(const volt_fifo_ *q) {
  return (volt_fifo_ *)(uintptr_t)q;
}

/* Leave the lock: from now on the word is next. The last access to *q. */
static inline void volt_fifo_unlock_exact_(volt_fifo_ *q, uint64_t next) {
  volt_store_release(&q->word, next); /* U1: pairs L1, A1, C1 */
}

#endif
