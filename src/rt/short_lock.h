/* short_lock.h: the lock of what is held for a few dozen instructions, with no foreign code and no
 * wait inside. Leaving it is one store, so it tells nobody: who finds it held for longer, because
 * its holder was preempted, naps and looks again. No order among those who wait.
 *
 * Pair L1 (acquire) <- U1 (release): the holder sees what the last one did. */
#ifndef VOLT_RT_SHORT_LOCK_H
#define VOLT_RT_SHORT_LOCK_H

#include <volt/task.h>

#include "../futex.h"
#include "../park.h"

#ifndef VOLT_SHORT_LOCK_NAP_NS
#define VOLT_SHORT_LOCK_NAP_NS 20000
#endif

/* word: 0 free, 1 held. */

static inline void volt_short_lock_init_(volt_short_lock *l) {
  volt_store_relaxed(&l->word, 0); /* not shared yet */
}

static inline void volt_short_lock_slow_(volt_short_lock *l) {
  for (unsigned looks = 1;; looks++) {
    uint32_t seen = volt_load_relaxed(&l->word);                   /* a guess: the CAS decides */
    if (seen == 0 && volt_cas_acquire(&l->word, &seen, 1)) return; /* L1: pairs U1 */
    if (looks % (VOLT_SPIN + 1) != 0) {
      volt_cpu_relax_();
    } else {
      volt_futex_wait32_(&l->word, 1, volt_deadline_ns(VOLT_SHORT_LOCK_NAP_NS));
    }
  }
}

static inline void volt_short_lock_take_(volt_short_lock *l) {
  uint32_t seen = 0;
  if (!volt_cas_acquire(&l->word, &seen, 1)) volt_short_lock_slow_(l); /* L1: pairs U1 */
}

/* The last access to *l. */
static inline void volt_short_lock_leave_(volt_short_lock *l) {
  volt_store_release(&l->word, 0); /* U1: pairs L1 */
}

#endif
