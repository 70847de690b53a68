/* short_lock.h: a lock that is held for a few dozen instructions, with no foreign code and no wait
 * inside. To unlock is one store, so it wakes no thread: a thread that finds the lock held waits a
 * little and tries again. No order among threads that wait. */
#ifndef VOLT_RT_SCHED_SHORT_LOCK_H
#define VOLT_RT_SCHED_SHORT_LOCK_H

#include <volt/detail/short_lock.h>

#include "../../core/park/spin.h"

static inline void volt_short_lock_init_(volt_short_lock *l) {
  volt_store_relaxed(&l->word, 0); /* not shared yet */
}

/* The lock is held: wait until it seems free. */
static VOLT_NOINLINE VOLT_UNUSED_OK_ void volt_short_lock_wait_(volt_short_lock *l) {
  unsigned spins = 0;
  do {
    volt_pause_(&spins);
  } while (volt_load_relaxed(&l->word) != 0); /* a guess: the CAS decides */
}

static inline void volt_short_lock_lock_(volt_short_lock *l) {
  uint32_t seen = 0;
  /* short_lock:L1 <- short_lock:U1: the holder sees what those before it did */
  while (VOLT_UNLIKELY(!volt_cas_acquire(&l->word, &seen, 1))) {
    volt_short_lock_wait_(l);
    seen = 0;
  }
}

/* Returns false: it was held until deadline_ns (as volt_now_ns()). */
static inline bool volt_short_lock_lock_until_(volt_short_lock *l, uint64_t deadline_ns) {
  uint32_t seen = 0;
  unsigned spins = 0;
  /* short_lock:L1 <- short_lock:U1: the holder sees what those before it did */
  while (VOLT_UNLIKELY(!volt_cas_acquire(&l->word, &seen, 1))) {
    if (volt_now_ns() >= deadline_ns) return false;
    volt_pause_(&spins);
    seen = 0;
  }
  return true;
}

/* Wait until no thread holds it that took it before what this thread has seen. */
static inline void volt_short_lock_await_(volt_short_lock *l) {
  unsigned spins = 0;
  /* short_lock:A1 <- short_lock:U1: this thread sees what the last holder did */
  while (volt_load_acquire(&l->word) != 0) volt_pause_(&spins);
}

/* The last access to *l. */
static inline void volt_short_lock_unlock_(volt_short_lock *l) {
  /* short_lock:U1 -> short_lock:A1, short_lock:L1: the next holder sees what this one did */
  volt_store_release(&l->word, 0);
}

#endif
