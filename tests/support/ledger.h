/* ledger.h: what must hold of permits whatever the threads do.
 *
 * ledger: no permit is held twice, and all come back. Take in the ledger after the acquire, give
 * in it before the release. fifo_check: who arrived first is served first. */
#ifndef VOLT_TEST_LEDGER_H
#define VOLT_TEST_LEDGER_H

#include <volt/detail/atomic.h>

#include "require.h"

typedef struct ledger {
  VOLT_ATOMIC(uint32_t) held;
  VOLT_ATOMIC(uint32_t) highest;
  uint32_t total; /* how many permits there are */
} ledger;

static inline void ledger_init(ledger *l, uint32_t total) {
  volt_store_relaxed(&l->held, 0);
  volt_store_relaxed(&l->highest, 0);
  l->total = total;
}

static inline void ledger_take(ledger *l, uint32_t n) {
  uint32_t now = volt_fetch_add_relaxed(&l->held, n) + n;
  REQUIRE(now >= n && now <= l->total);
  uint32_t highest = volt_load_relaxed(&l->highest);
  while (highest < now && !volt_cas_relaxed(&l->highest, &highest, now)) {
  }
}

static inline void ledger_give(ledger *l, uint32_t n) {
  REQUIRE(volt_fetch_add_relaxed(&l->held, 0u - n) >= n);
}

static inline uint32_t ledger_held(ledger *l) {
  return volt_load_relaxed(&l->held);
}

/* The most that were held at once. */
static inline uint32_t ledger_highest(ledger *l) {
  return volt_load_relaxed(&l->highest);
}

typedef struct fifo_check {
  VOLT_ATOMIC(uint32_t) arrived;
  VOLT_ATOMIC(uint32_t) served;
} fifo_check;

static inline void fifo_check_init(fifo_check *f) {
  volt_store_relaxed(&f->arrived, 0);
  volt_store_relaxed(&f->served, 0);
}

/* Returns the ticket of who arrives now. Arrivals must be ordered by something else. */
static inline uint32_t fifo_check_arrive(fifo_check *f) {
  return volt_fetch_add_relaxed(&f->arrived, 1);
}

/* The holder of the ticket is served, while nobody else can be: it must be its turn. */
static inline void fifo_check_serve(fifo_check *f, uint32_t ticket) {
  REQUIRE(volt_fetch_add_relaxed(&f->served, 1) == ticket);
}

#endif
