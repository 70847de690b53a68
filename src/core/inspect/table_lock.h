/* table_lock.h: the lock of a table to which threads of the program add as they go. A thread waits for
 * it, but not for ever: its holder may be stopped, by a debugger for example. The race that it is for
 * is R2 of lock_order.c.
 *
 * Labels: lock_order */
#ifndef VOLT_CORE_INSPECT_TABLE_LOCK_H
#define VOLT_CORE_INSPECT_TABLE_LOCK_H

#include "../os/check.h"
#include "../park/spin.h"

/* All-zero is free. */
typedef struct volt_table_lock_ {
  VOLT_ATOMIC(uint32_t) word;     /* 0 free, 1 held */
  VOLT_ATOMIC(uint32_t) is_stuck; /* a wait was in vain; until it is unlocked */
} volt_table_lock_;

/* Returns false: it is held. */
static inline bool volt_table_lock_try_(volt_table_lock_ *l) {
  /* lock_order:L1 <- lock_order:U1: what the last holder has written */
  return volt_exchange_acquire(&l->word, 1) == 0;
}

/* Returns false: its holder is stopped. */
static inline bool volt_table_lock_wait_(volt_table_lock_ *l) {
  const uint64_t patience_ns = 1000000000; /* on a busy machine a thread is away for 100 ms */
  if (volt_table_lock_try_(l)) return true;
  if (volt_load_relaxed(&l->is_stuck)) return false; /* a hint */
  uint64_t until_ns = volt_now_ns() + patience_ns;
  unsigned spins = 0;
  do {
    volt_pause_(&spins);
    if (volt_table_lock_try_(l)) return true;
  } while (volt_now_ns() < until_ns);
  volt_store_relaxed(&l->is_stuck, 1); /* as above */
  return false;
}

static inline void volt_table_lock_unlock_(volt_table_lock_ *l) {
  volt_store_relaxed(&l->is_stuck, 0); /* a hint */
  /* lock_order:U1 -> lock_order:L1: the next holder sees what this one has written */
  volt_store_release(&l->word, 0);
}

#endif
