/* grant.h: the two ends of a waiter's life, the same for everything that can be waited for: armed
 * by its owner; claimed by one granter, and told. */
#ifndef VOLT_CORE_GRANT_H
#define VOLT_CORE_GRANT_H

#include <volt/waiter.h>

#include "check.h"

/* Waiter states. Written by the owner before it queues and after it has cancelled, and by the
 * granter, once. */
enum {
  VOLT_WAITER_UNUSED_ = 0,  /* never queued, or cancelled */
  VOLT_WAITER_PENDING_ = 1, /* linked, or claimed */
  VOLT_WAITER_AWAITED_ = 2, /* claimed, and its owner naps until the grant */
  VOLT_WAITER_GRANTED_ = 3,
  VOLT_WAITER_CLOSED_ = 4,
  VOLT_WAITER_TIMED_ = 5,  /* linked at a condition variable; its thread may time out (cond.c R7) */
  VOLT_WAITER_LEAVING_ = 6 /* its thread has timed out, and is about to unlink it */
};

/* A waiter that nobody else can reach any more and that has not been told yet: all that must be
 * known of it afterwards. */
typedef struct volt_claimed_ {
  volt_waiter *waiter;
  volt_waker waker;
  uint32_t id;
} volt_claimed_;

/* Abort if *w is in use. name: of whose operation, for the message. */
void volt_waiter_check_unused_(const char *name, volt_waiter *w);

/* Make *w wait for object. The owner's own until it is linked. */
VOLT_API void volt_waiter_arm_(volt_waiter *w, void *object, volt_waker waker);

/* 16 bits of where it is: others differ that are up to 512 KiB away. */
static inline uint32_t volt_waiter_place_(const volt_waiter *w) {
  uintptr_t place = (uintptr_t)w / 8;
  return (uint32_t)((place ^ place >> 16) & 0xffff);
}

/* Give *w the id of a new use: 16 bits of where it is, above them which use it is, from 1 on; in
 * release builds always 1. */
VOLT_API void volt_waiter_name_(volt_waiter *w);

/* Whether *w is where it was queued, and was not made anew since. */
static inline bool volt_waiter_is_in_place_(const volt_waiter *w) {
  return (w->id & 0xffff) == volt_waiter_place_(w) && w->id >> 16 != 0;
}

static inline volt_claimed_ volt_waiter_claim_(volt_waiter *w) {
  VOLT_CHECK(volt_waiter_is_in_place_(w), "grant",
             "waiter %p was moved or made anew while it was queued (id %#x)", (void *)w,
             (uint32_t)w->id);
  volt_claimed_ claimed = {.waiter = w, .waker = {w->wake, w->ctx}, .id = w->id};
  return claimed;
}

/* Nothing is held: store state into every waiter, the last access to it; then call the wakers. No
 * foreign code runs before the last of them has been told. */
VOLT_API void volt_waiters_grant_(const volt_claimed_ *batch, unsigned count, uint32_t state);

/* Give a claimed waiter back to its owner as if it had been cancelled: no wake comes of it. */
void volt_waiter_dismiss_(volt_waiter *w);

/* Block until a claimed waiter is granted, however long that takes. Returns its result. */
VOLT_API int volt_waiter_await_(volt_waiter *w);

#endif
