/* variant_pool.c: permits in a word of their own.
 *
 * Invariant: a permit is in the pool only while nobody waits. Anybody may take permits, by CAS;
 *   only the holder of the lock puts any there or closes it. So with the lock held the number can
 *   fall, and nothing else can happen to it.
 *
 * Race R1: an acquirer sees an empty pool, a release finds no waiter and fills it, the acquirer
 *   queues beside the permits. Closed: the acquirer drains the pool with the lock held, and it
 *   grows only so.
 *
 * Pairs
 *   T1 (state.h), D1 (acquire) <- R1 (release)   permits carry their releasers' past: all writes of
 *                                                the word are RMWs, one release sequence
 *   C1 (acquire) <- X1 (release)                 who sees CLOSED sees what came before close() */
#include "variant_pool.h"

#include "atomic_more.h"

static volt_variant_pool_ *pool_of(volt_line_ *line) {
  return (volt_variant_pool_ *)(void *)line;
}

int volt_variant_pool_take_(volt_line_ *line, volt_waiter *w) {
  volt_variant_pool_ *pool = pool_of(line);
  uint32_t need = w->need;
  uint32_t seen = volt_load_relaxed(&pool->permits); /* CLOSED, and 0, are certain; else a guess */
  while (seen != 0) {
    if (seen & VOLT_VARIANT_POOL_CLOSED_) return VOLT_ECLOSED;
    uint32_t given = seen < need ? seen : need;
    /* variant_pool:D1 <- TODO-AREA():R1: permits carry their releasers' past */
    if (volt_cas_acquire(&pool->permits, &seen, seen - given)) {
      w->need = need - given;
      return given == need ? VOLT_OK : VOLT_PENDING;
    }
  }
  return VOLT_PENDING;
}

bool volt_variant_pool_settle_(const volt_variant_ *v, volt_line_ *line, uint32_t hand) {
  if (line->fifo.head || hand == 0) return true;
  volt_variant_pool_ *pool = pool_of(line);
  volt_check_excess_(v->name, line, hand, volt_variant_pool_available_(pool));
  volt_fetch_add_release(&pool->permits, hand); /* R1: pairs T1, D1 */
  return true;
}

bool volt_variant_pool_is_closed_(volt_line_ *line) {
  /* variant_pool:C1 <- variant_pool:X1: who sees CLOSED sees what came before close() */
  return (volt_load_acquire(&pool_of(line)->permits) & VOLT_VARIANT_POOL_CLOSED_) != 0;
}

void volt_variant_pool_close_(volt_line_ *line) {
  /* variant_pool:X1 -> variant_pool:C1: who sees CLOSED sees what came before close() */
  volt_fetch_or_release(&pool_of(line)->permits, VOLT_VARIANT_POOL_CLOSED_);
}

uint32_t volt_variant_pool_available_(volt_variant_pool_ *pool) {
  return volt_load_relaxed(&pool->permits) & ~VOLT_VARIANT_POOL_CLOSED_; /* a snapshot */
}

void volt_variant_pool_init_(const volt_variant_ *v, volt_variant_pool_ *pool, uint32_t permits) {
  volt_line_init_(v, &pool->line, permits);
  volt_store_relaxed(&pool->permits, permits); /* not shared yet */
}
