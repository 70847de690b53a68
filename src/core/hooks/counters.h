/* counters.h: how the library counts what threads and tasks wait for (volt/counts.h). counters.c says
 * how it works. To count is a load, a test and an increment of memory that no other thread writes;
 * only what has to wait counts, and what ends a wait. */
#ifndef VOLT_CORE_HOOKS_COUNTERS_H
#define VOLT_CORE_HOOKS_COUNTERS_H

#include <volt/base.h>
#include <volt/detail/atomic.h>

#include "kind.h"
#include "named.h"

/* What has happened: the members of volt_counts_of. */
typedef enum volt_counter_ {
  VOLT_COUNTER_WAITS_,
  VOLT_COUNTER_GRANTS_,
  VOLT_COUNTER_CLOSES_, /* next to it: volt_count_claims_() */
  VOLT_COUNTER_CANCELS_,
  VOLT_COUNTER_TIMEOUTS_,
  VOLT_COUNTER_SLEEPS_,
  VOLT_COUNTER_NAPS_,
  VOLT_COUNTERS_ /* how many there are */
} volt_counter_;

/* In the child of a fork(): the other threads' tallies may be taken. */
void volt_count_forget_(void);

/* As which kind the wait of f is counted: by its object, or by that of the first future within it. */
struct volt_future;
volt_kind_ volt_kind_of_(struct volt_future *f);

/* The counts of one thread: a cache line each kind. Not atomic, so that to count is one instruction,
 * and the compiler still knows what it knew of other memory: the thread that sums them up peeks. */
typedef struct volt_tally_ {
  uint64_t of[VOLT_KINDS_COUNTED_][8];
} volt_tally_;

/* The counts of threads that have no tally. */
typedef struct volt_tally_shared_ {
  VOLT_ATOMIC(uint64_t) of[VOLT_KINDS_COUNTED_][8];
} volt_tally_shared_;

/* It has happened n times; kind is counted as itself. It makes no call, so a function that counts
 * needs no frame for it. */
#if defined(VOLT_MODEL) /* it orders nothing, so the model checker does without */
static inline void volt_count_many_(volt_kind_ kind, volt_counter_ what, uint64_t n) {
  (void)kind;
  (void)what;
  (void)n;
}
static inline void volt_count_here_(void) {
}
#else
/* This thread's; NULL: it has none yet, or there was none left. */
extern _Thread_local volt_tally_ *volt_tally_mine_ VOLT_TLS_FROM_THE_BEGINNING_;
extern volt_tally_shared_ volt_tally_of_others_;

static inline void volt_count_many_(volt_kind_ kind, volt_counter_ what, uint64_t n) {
  volt_tally_ *mine = volt_tally_mine_;
  if (VOLT_LIKELY(mine != NULL)) {
    mine->of[volt_kind_number_(kind)][what] += n; /* no other thread writes it */
  } else {
    volt_fetch_add_relaxed(&volt_tally_of_others_.of[volt_kind_number_(kind)][what],
                           n); /* a count */
  }
}

/* This thread is about to do something slow: see that it has a tally from now on. */
void volt_count_take_tally_(void);
static inline void volt_count_here_(void) {
  if (VOLT_UNLIKELY(volt_tally_mine_ == NULL)) volt_count_take_tally_();
}
#endif

static inline void volt_count_(volt_kind_ kind, volt_counter_ what) {
  volt_count_many_(kind, what, 1);
}

/* A waiter was queued, by its owner. */
static inline void volt_count_wait_(volt_kind_ kind) {
  volt_count_(kind, VOLT_COUNTER_WAITS_);
}

/* n waiters of one object are claimed: they are granted, or their object was closed. */
static inline void volt_count_claims_(volt_kind_ kind, uint64_t n, bool is_closed) {
  volt_count_many_(kind, (volt_counter_)(VOLT_COUNTER_GRANTS_ + is_closed), n);
}

/* An owner has cancelled its waiter. */
static inline void volt_count_cancel_(volt_kind_ kind) {
  volt_count_(kind, VOLT_COUNTER_CANCELS_);
}

/* For the other libraries: as volt_count_many_(), and volt_count_here_(). */
VOLT_API void volt_count_from_outside_(volt_kind_ kind, volt_counter_ what, uint64_t n);

#endif
