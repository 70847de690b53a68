/* short_lock.h: the lock of what is held for a few dozen instructions, with no foreign code and no
 * wait inside. Leaving it is one store, so it tells nobody: who finds it held waits a little and
 * looks again. No order among those who wait.
 *
 * Pair L1 (acquire) <- U1 (release): the holder sees what the last one did. */
#ifndef VOLT_RT_SHORT_LOCK_H
#define VOLT_RT_SHORT_LOCK_H

#include <volt/detail/short_lock.h>

#include "../core/spin.h"

static inline void volt_short_lock_init_(volt_short_lock *l) {
  volt_store_relaxed(&l->word, 0); /* not shared yet */
}

static inline void volt_short_lock_take_(volt_short_lock *l) {
  uint32_t seen = 0;
  unsigned spins = 0;
  /* short_lock:L1 <- short_lock:U1: TODO-REASON */
  while (seen != 0 || !volt_cas_acquire(&l->word, &seen, 1)) {
    volt_pause_(&spins);
    seen = volt_load_relaxed(&l->word); /* a guess: the CAS decides */
  }
}

/* The last access to *l. */
static inline void volt_short_lock_leave_(volt_short_lock *l) {
  volt_store_release(&l->word, 0); /* short_lock:U1 -> short_lock:L1: TODO-REASON */
}

#endif
