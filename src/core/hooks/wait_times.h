/* wait_times.h: how long waits take, while VOLT_SIGHT_WAITS is on. wait_times.c says how it works. */
#ifndef VOLT_CORE_HOOKS_WAIT_TIMES_H
#define VOLT_CORE_HOOKS_WAIT_TIMES_H

#include <volt/future.h>

#include "counters.h"
#include "histogram.h"
#include "named.h"

enum { VOLT_TIMED_MAX_ = 8192 };

/* A wait that is timed. */
typedef struct volt_timed_ {
  VOLT_ATOMIC(const volt_future *) future; /* NULL: the place is free */
  const void *object;
  uint64_t since_ns;
  volt_kind_ kind;
  uint32_t weight;
} volt_timed_;

/* All-zero at first. 19 MiB, of which what is written is used. */
typedef struct volt_wait_times_ {
  volt_shared_histogram_ of_kind[VOLT_KINDS_COUNTED_];
  volt_shared_histogram_ of_name[VOLT_NAME_SLOTS_];
  volt_timed_ timed[VOLT_TIMED_MAX_];
} volt_wait_times_;

/* From now on time one wait of tasks in `sample`, 1 to 2^31, and every wait of threads; all histograms
 * are empty. memory: for ever; the same at each call. */
VOLT_API void volt_wait_times_switch_on_(volt_wait_times_ *memory, uint32_t sample);
VOLT_API void volt_wait_times_switch_off_(void); /* async-signal-safe */

/* An object has this slot of the names now: it begins with none. */
void volt_wait_times_clear_(unsigned name_slot);

#if defined(VOLT_MODEL) /* it orders nothing, so the model checker does without */
static inline bool volt_wait_times_are_on_(void) {
  return false;
}
#else
extern VOLT_ATOMIC(uint32_t) volt_wait_times_sample_; /* 0: off */

static inline bool volt_wait_times_are_on_(void) {
  return volt_load_relaxed(&volt_wait_times_sample_) !=
         0; /* a hint: it may be on for some time more */
}
#endif

/* ---- futures ---- */

/* f has begun to wait, in a poll with ctx (NULL: none). Perhaps it is TIMED from now on. */
void volt_wait_times_begin_(volt_future *f, const volt_ctx *ctx);

/* The same, and f has registered the waker of ctx: as volt_leaf_registered_(), at the end of a
 * function, which needs no frame for this. Returns VOLT_PENDING. */
int volt_wait_times_registered_(volt_future *f, volt_ctx *ctx);

/* f, which is TIMED, becomes WAITING; its wait is over. */
void volt_wait_times_end_(volt_future *f);

/* f, which was TIMED, is not WAITING any more: its wait is over. */
void volt_wait_times_ended_(const volt_future *f);

/* ---- blocking calls that have no future ---- */

/* A thread is about to block. Returns the time; 0: it is not timed. */
uint64_t volt_wait_times_start_(void);

/* It goes on. */
void volt_wait_times_stop_(volt_kind_ kind, const void *object, uint64_t since_ns);

#endif
