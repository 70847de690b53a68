/* futex_lock.h: the lock in front of a variant's FIFO: spin, then park. Three states of one word,
 * so that nobody makes a system call unless somebody sleeps.
 *
 * Race R1: a thread decides to sleep, the holder leaves and sees nobody to wake. Closed: it sleeps
 *   only after having written 2 itself, and the futex compares the word again.
 * Race R2: of two sleepers one is woken and takes the lock; leaving it, it forgets the other.
 *   Closed: who may have slept takes it with 2, so its leave() wakes once more.
 * Pairs: K1 (acquire) <- K2 (release): the holder sees what the last holder did. */
#ifndef VOLT_VARIANTS_FUTEX_LOCK_H
#define VOLT_VARIANTS_FUTEX_LOCK_H

#include "atomic_more.h"
#include "futex.h"
#include "park.h"
#include "state.h"

static inline bool volt_futex_lock_try_(volt_futex_lock_ *lock) {
  uint32_t seen = 0;
  return volt_cas_acquire(&lock->word, &seen, 1); /* K1: pairs K2 */
}

static inline void volt_futex_lock_take_(volt_futex_lock_ *lock) {
  if (volt_futex_lock_try_(lock)) return;
  for (unsigned spins = 0; spins < VOLT_SPIN; spins++) {
    volt_cpu_relax_();
    /* relaxed: a hint when to try */
    if (volt_load_relaxed(&lock->word) == 0 && volt_futex_lock_try_(lock)) return;
  }
  while (volt_exchange_acquire(&lock->word, 2) != 0) { /* K1: pairs K2 */
    volt_futex_wait32_(&lock->word, 2, VOLT_NO_DEADLINE);
  }
}

/* The exchange is the last access to *lock; a sleeper is woken by address only. */
static inline void volt_futex_lock_leave_(volt_futex_lock_ *lock) {
  uint32_t before = volt_exchange_release(&lock->word, 0); /* K2: pairs K1 */
  if (before == 2) volt_futex_wake32_(&lock->word, 1);
}

#endif
