/* bypass.h: the engine of a mutex or rwlock with a bypass, on the FIFO (fifo.h). bypass.c says how
 * it works.
 *
 * A mutex and a rwlock use it if their `bypass` is above 0, and the permits engine (permits.h) if
 * that is 0. */
#ifndef VOLT_CORE_WAIT_BYPASS_H
#define VOLT_CORE_WAIT_BYPASS_H

#include <volt/detail/fifo.h>

#include "../future/future_ops.h"
#include "../hooks/counters.h"
#include "../hooks/holding.h"
#include "fifo.h"

/* The most that `bypass` may be: LEFT has 8 bits. */
#define VOLT_BYPASS_MAX_ 255u

typedef struct volt_bypass_kind_ {
  volt_kind_ kind;    /* for messages and counts */
  const char *excess; /* for messages: the name of the error "unlocked, but not locked" */
  uint32_t full;      /* the word's value while one caller holds the object alone */
  uint32_t share;     /* what a caller that shares the object adds to the value (a reader); or 0 */
  uint32_t (*budget)(volt_fifo_ *q);    /* how many may pass the oldest waiter: `bypass` */
  const volt_future_ops_ *(*ops)(void); /* of a future */
  const struct volt_holdable_ *holds;   /* VOLT_HOLDS_() */
} volt_bypass_kind_;

/* Abort if bypass is too large. name: of the public call. Returns bypass. */
static inline uint32_t volt_bypass_check_(const char *name, uint32_t bypass) {
  VOLT_CHECK(bypass <= VOLT_BYPASS_MAX_, name, "bypass is %u, more than %u", bypass,
             VOLT_BYPASS_MAX_);
  return bypass;
}

/* In the calls below, want is kind->full or kind->share. A call without a comment of its own is as
 * the public function of that name in mutex.h. */
int volt_bypass_try_(volt_fifo_ *q, const volt_bypass_kind_ *kind, uint32_t want);
int volt_bypass_acquire_(volt_fifo_ *q, const volt_bypass_kind_ *kind, volt_waiter *w,
                         uint32_t want, volt_waker waker);
int volt_bypass_acquire_until_(volt_fifo_ *q, const volt_bypass_kind_ *kind, uint32_t want,
                               uint64_t deadline_ns);

/* Give back `given`: what was taken; or full - share, to go on as a reader. fair: the oldest waiter
 * is granted the object, and no caller passes it. */
void volt_bypass_release_(volt_fifo_ *q, const volt_bypass_kind_ *kind, uint32_t given);
void volt_bypass_release_fair_(volt_fifo_ *q, const volt_bypass_kind_ *kind, uint32_t given);

/* *was_nudged: whether the waker of *w was called, or will be, although this returns true. */
bool volt_bypass_cancel_(volt_fifo_ *q, const volt_bypass_kind_ *kind, volt_waiter *w,
                         bool *was_nudged);

/* As volt_permits_move_(); the waiters want kind->full each. */
void volt_bypass_move_(volt_fifo_ *q, const volt_bypass_kind_ *kind, volt_fifo_ *from,
                       uint64_t from_word, volt_waiter *last, uint32_t count);

/* The value of the word now. */
uint32_t volt_bypass_value_(const volt_fifo_ *q);

/* Whether *w, linked or not, was nudged and its owner has not looked yet. */
static inline bool volt_bypass_is_nudged_(volt_waiter *w) {
  return volt_load_relaxed(&w->state) == VOLT_WAITER_NUDGED_; /* a hint; the lock decides */
}

/* ---- futures ---- */

/* The operations of a future that takes its argument: the full or the share of its kind. */
typedef struct volt_bypass_future_ops_ {
  volt_future_ops_ base; /* first */
  const volt_bypass_kind_ *kind;
} volt_bypass_future_ops_;

static inline volt_fifo_ *volt_bypass_future_queue_(volt_future *f) {
  return (volt_fifo_ *)f->object;
}

static inline const volt_bypass_kind_ *volt_bypass_future_kind_(const volt_future *f) {
  return ((const volt_bypass_future_ops_ *)(const void *)f->ops)->kind;
}

/* A nudge settles the registration (bypass.c I4), so there is nothing to drop. */
static inline void volt_bypass_future_settle_(volt_future *f, bool was_nudged) {
  if (was_nudged) volt_future_set_drop_(f, NULL);
}

int volt_bypass_future_start_(volt_future *f, volt_waker waker);
bool volt_bypass_future_cancel_(volt_future *f);
bool volt_bypass_future_set_waker_(volt_future *f, volt_waker waker);
void volt_bypass_future_give_back_(volt_future *f);
int volt_bypass_future_poll_(volt_future *f, volt_ctx *ctx);

#define VOLT_BYPASS_FUTURE_OPS_(its_operation, its_object_kind, its_kind, its_describe, \
                                its_holdable)                                           \
  {                                                                                     \
    .base = {.operation = (its_operation),                                              \
             .kind = (its_object_kind),                                                 \
             .start = volt_bypass_future_start_,                                        \
             .cancel = volt_bypass_future_cancel_,                                      \
             .set_waker = volt_bypass_future_set_waker_,                                \
             .give_back = volt_bypass_future_give_back_,                                \
             .poll_ctx = volt_future_poll_any_,                                         \
             .poll = volt_bypass_future_poll_,                                          \
             .describe = (its_describe),                                                \
             .holds = VOLT_HOLDS_(its_holdable)},                                       \
    .kind = (its_kind)                                                                  \
  }

#endif
