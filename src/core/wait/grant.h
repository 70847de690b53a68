/* grant.h: the two ends of a waiter's life, the same for everything that can be waited for. Its
 * owner arms it; one granter claims it, and then grants it. */
#ifndef VOLT_CORE_WAIT_GRANT_H
#define VOLT_CORE_WAIT_GRANT_H

#include <volt/waiter.h>

#include "../hooks/counters.h"
#include "../os/check.h"
#include "../os/probe.h"

/* Waiter states. The owner writes them before it queues and after it has cancelled; the granter
 * writes the outcome, once. In between the owner may change PENDING into AWAITED (R8), and
 * two states are cond.c's own (cond.c R7), one bypass.c's, two those of timer.c and blocking.c. REFUSED is
 * an outcome: what a waiter asks for has become impossible (budget.c R7). */
enum {
  VOLT_WAITER_UNUSED_ = 0,  /* never queued, or cancelled */
  VOLT_WAITER_PENDING_ = 1, /* linked, or claimed */
  VOLT_WAITER_AWAITED_ = 2, /* claimed, and its owner sleeps until the grant */
  VOLT_WAITER_GRANTED_ = 3,
  VOLT_WAITER_CLOSED_ = 4,
  VOLT_WAITER_TIMED_ = 5,   /* linked at a condition variable; its deadline may pass (cond.c R7) */
  VOLT_WAITER_LEAVING_ = 6, /* its deadline has passed, and its thread will unlink it */
  VOLT_WAITER_NUDGED_ = 7,  /* linked; its waker was called so that its owner looks (bypass.c) */
  VOLT_WAITER_HELD_ = 8,    /* its owner is about to use what it waits at (timer.c R6) */
  VOLT_WAITER_CLAIMED_ = 9, /* claimed, so it will not be HELD any more (blocking.c R6) */
  VOLT_WAITER_REFUSED_ = 10
};

/* Whether a state is an outcome that a granter has stored. */
static inline bool volt_waiter_is_completed_(uint32_t state) {
  return state == VOLT_WAITER_GRANTED_ || state == VOLT_WAITER_CLOSED_ ||
         state == VOLT_WAITER_REFUSED_;
}

/* A waiter that is unlinked and not granted yet, so it is its granter's, but for AWAITED; and a
 * copy of all that the granter needs when it is granted. */
typedef struct volt_claimed_ {
  volt_waiter *waiter;
  volt_waker waker;
#if VOLT_DEBUG
  uint8_t use;
#endif
} volt_claimed_;

/* Abort if *w is in use. kind: of the object that it is for. */
void volt_waiter_check_unused_(volt_kind_ kind, volt_waiter *w);

/* 16 bits of the address of *w, and never 0. Two waiters in the same aligned block of 512 KiB
 * differ; others almost always do. */
static inline uint16_t volt_waiter_place_(const volt_waiter *w) {
  uintptr_t place = (uintptr_t)w / 8; /* a waiter is longer than 16 bytes: bit 0 is not needed */
  return (uint16_t)((place ^ place >> 16) | 1);
}

/* The next in a count of uses, 1 to 255. For debug builds. */
VOLT_API uint8_t volt_waiter_use_(void);

/* Note where *w is; debug builds: and that it is used once more. */
static inline void volt_waiter_name_(volt_waiter *w) {
  w->place = volt_waiter_place_(w);
#if VOLT_DEBUG
  w->use = volt_waiter_use_();
#endif
}

/* *w has this waker now. Without one it still waits for the same task: volt_future_leave_(). */
static inline void volt_waiter_put_waker_(volt_waiter *w, volt_waker waker) {
  w->wake = waker.wake;
  w->ctx = waker.ctx;
#if VOLT_SIGHT
  if (waker.wake) w->who = volt_party_of_(waker.ctx);
#endif
}

/* Make *w PENDING, as a waiter for object. It is its owner's alone until it is linked. */
static inline void volt_waiter_arm_(volt_waiter *w, void *object, volt_waker waker) {
  w->queue = object;
#if VOLT_SIGHT
  w->who = 0;
#endif
  volt_waiter_put_waker_(w, waker);
  volt_waiter_name_(w);
  volt_store_relaxed(&w->state, VOLT_WAITER_PENDING_); /* published when it is linked */
}

/* Whether *w is where it was when it was armed, and was not initialised again since. */
static inline bool volt_waiter_is_in_place_(const volt_waiter *w) {
  return w->place == volt_waiter_place_(w);
}

/* Copy what the granter of *w needs. The caller has unlinked *w, or is about to. */
static inline volt_claimed_ volt_waiter_claim_(volt_waiter *w) {
  VOLT_CHECK(volt_waiter_is_in_place_(w), "grant",
             "waiter %p was moved or made anew while it was queued (place %#x)", (void *)w,
             (unsigned)w->place);
  volt_claimed_ claimed = {.waiter = w, .waker = {w->wake, w->ctx}};
#if VOLT_DEBUG
  claimed.use = w->use;
#endif
  return claimed;
}

/* Debug builds: abort if a claimed waiter was used since it was claimed. */
static inline void volt_claimed_check_(const volt_claimed_ *claimed) {
#if VOLT_DEBUG
  uint8_t use = claimed->waiter->use;
  VOLT_CHECK(claimed->use == use, "grant",
             "waiter %p was re-used while it was queued: it is invocation %u, was %u",
             (void *)claimed->waiter, (unsigned)use, (unsigned)claimed->use);
#else
  (void)claimed;
#endif
}

/* Store state into a claimed waiter, the last access to it. Returns false if its owner sleeps until
 * then: nothing is stored. */
static inline bool volt_waiter_store_grant_(volt_waiter *w, uint32_t state) {
  VOLT_PROBE_CLAIMED(grant, w, state);
  /* relaxed: a hint; an owner that falls asleep after this load wakes up by itself (R8) */
  if (volt_load_relaxed(&w->state) == VOLT_WAITER_AWAITED_) return false;
  /* grant:G1 -> grant:W1: the owner sees all that this thread did before the grant */
  volt_store_release(&w->state, state); /* R3: the last access to *w */
  return true;
}

/* The whole grant of a claimed waiter whose owner sleeps. */
VOLT_API void volt_waiter_grant_asleep_(volt_waiter *w, volt_waker waker, uint32_t state);

/* Grant a claimed waiter: store state into it, the last access to it; then call its waker. The
 * caller holds no lock. */
static inline void volt_waiter_grant_(volt_waiter *w, volt_waker waker, uint32_t state) {
  if (!volt_waiter_store_grant_(w, state)) {
    volt_waiter_grant_asleep_(w, waker, state);
  } else if (waker.wake) {
    waker.wake(waker.ctx);
  }
}

/* The same, of what volt_waiter_claim_() has returned. */
static inline void volt_claimed_grant_(volt_claimed_ claimed, uint32_t state) {
  volt_claimed_check_(&claimed);
  volt_waiter_grant_(claimed.waiter, claimed.waker, state);
}

/* Grant count claimed waiters: store state into each, the last access to it; then call their
 * wakers, from the copies. No waker runs before the last waiter is granted. The caller holds no
 * lock. */
VOLT_API void volt_waiters_grant_(const volt_claimed_ *batch, unsigned count, uint32_t state);

/* Give a claimed waiter back to its owner as cancelled. Its waker is not called. */
void volt_waiter_dismiss_(volt_waiter *w);

/* Whether *w is granted: volt_waiter_result() is VOLT_OK. */
static inline bool volt_waiter_is_granted_(const volt_waiter *w) {
  /* grant:W1 <- grant:G1, timer:G1: the owner sees all that the granter did before the grant */
  return volt_load_acquire(&w->state) == VOLT_WAITER_GRANTED_;
}

/* Block until a claimed waiter is granted. Returns its result. */
VOLT_API int volt_waiter_await_(volt_waiter *w);

#endif
