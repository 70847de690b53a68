/* poller.h: one who polls by a volt_ctx, and keeps the books: each time that a future has taken its
 * waker it gets one wake or one drop, so that after the last of them nothing refers to it. */
#ifndef VOLT_TEST_POLLER_H
#define VOLT_TEST_POLLER_H

#include "unit.h"

typedef struct poller {
  volt_ctx ctx;
  VOLT_ATOMIC(uint32_t) wakes;
  VOLT_ATOMIC(uint32_t) drops;
} poller;

static inline void poller_wake_(void *arg) {
  (void)volt_fetch_add_release(&((poller *)arg)->wakes, 1);
}

static inline void poller_drop_(void *arg) {
  (void)volt_fetch_add_release(&((poller *)arg)->drops, 1);
}

static inline void poller_init(poller *p) {
  memset((void *)p, 0, sizeof *p);
  volt_waker waker = {poller_wake_, p};
  volt_ctx ctx = VOLT_CTX_INIT(waker);
  p->ctx = ctx;
  p->ctx.drop = poller_drop_;
  p->ctx.budget = VOLT_CTX_BUDGET_MAX_;
}

static inline int poller_poll(poller *p, volt_future *f) {
  p->ctx.yield = false;
  return volt_future_poll_ctx(f, &p->ctx);
}

/* So far. */
static inline void poller_expect(poller *p, uint32_t registered, uint32_t wakes, uint32_t drops) {
  assert_int_equal(p->ctx.registered, registered);
  assert_int_equal(volt_load_acquire(&p->wakes), wakes);
  assert_int_equal(volt_load_acquire(&p->drops), drops);
}

/* It was never woken, and each of its registrations has been dropped. */
static inline void poller_expect_dropped(poller *p, uint32_t registered) {
  poller_expect(p, registered, 0, registered);
}

#endif
