/* counters.c: how often threads and tasks have waited.
 *
 * Algorithm
 *   Each thread counts in memory of its own, so that counting costs no more than an increment and
 *   no cache line moves. The memory is one of `tallies`, which a thread takes when it first has to
 *   wait and gives back when it ends. What it has counted stays there: the next thread goes on from
 *   it. So the sum over all of them is what has happened so far, and nothing is added up when a
 *   thread ends. Threads without one share one, by read-modify-writes: those that have not waited
 *   yet, and those that have found none left.
 *   A hook allocates nothing: the tallies are static, and a thread-specific value is set only where
 *   the C library has memory for it from the beginning.
 *
 * Invariant
 *   I1  a tally is written by the thread that has taken it alone; `shared` by all
 *
 * Race
 *   R1  Interleaving: a thread ends and gives its tally back; another takes it, and counts on from
 *       values that are older. Prevented by: the bit is cleared by a release and set by an
 *       acquire.
 *   R2  Interleaving: a thread makes the key; another forks. In the child the key is being made for
 *       ever, and the tallies of threads that the child does not have stay taken. Prevented by: the
 *       child makes the key anew, and gives back all tallies but its own.
 *   R3  Interleaving: the program ends, and the key is deleted; a thread that runs still has to wait
 *       for the first time, and sets the key, which is another library's by now. Prevented by: the
 *       stage says that there is no key, before it is deleted. A thread that made the key meanwhile
 *       deletes it. A thread that has just read the stage may still set a key that is deleted:
 *       that is refused, unless another library makes a key at that very moment. */
#include <volt/counts.h>

#include <limits.h>
#include <pthread.h>
#include <string.h>

#include "../future/future_ops.h"
#include "../inspect/describe.h"
#include "counters.h"
#include "racy.h"

enum { TALLIES = 256, BITS = 64 };
static volt_tally_ count_tallies[TALLIES];
volt_tally_shared_ volt_tally_of_others_;
static VOLT_ATOMIC(uint64_t) count_taken[TALLIES / BITS];
static VOLT_ATOMIC(uint32_t) count_used; /* those from here on were never taken */

_Thread_local volt_tally_ *volt_tally_mine_ VOLT_TLS_FROM_THE_BEGINNING_;

/* ---- a tally for a thread ---- */

static void count_give_back(unsigned i) {
  /* counters:F1 <-> counters:A1: the next thread goes on from what this one has counted (R1) */
  (void)volt_fetch_and_acq_rel(&count_taken[i / BITS], ~(UINT64_C(1) << i % BITS));
}

/* As a thread ends. Another destructor of it may count after this: it takes one anew. */
static void count_end(void *mine) {
  volt_tally_mine_ = NULL;
  count_give_back((unsigned)((volt_tally_ *)mine - count_tallies));
}

/* Returns TALLIES: none is left. */
static unsigned count_take(void) {
  for (unsigned i = 0; i < TALLIES; i++) {
    VOLT_ATOMIC(uint64_t) *word = &count_taken[i / BITS];
    uint64_t bit = UINT64_C(1) << i % BITS;
    uint64_t seen = volt_load_relaxed(word); /* a guess: the CAS decides */
    while (!(seen & bit)) {
      /* counters:A1 <- counters:F1: this thread goes on from what the last one has counted (R1) */
      if (volt_cas_acquire(word, &seen, seen | bit)) return i;
    }
  }
  return TALLIES;
}

enum { COUNT_NO_KEY, COUNT_MAKES_KEY, COUNT_HAS_KEY, COUNT_FAILED };
static VOLT_ATOMIC(uint32_t) count_stage;
static pthread_key_t count_key; /* its value in a thread: its tally */

/* glibc has memory for the first 32 keys in each thread, and allocates for later ones. */
static bool count_key_is_free_of_cost(pthread_key_t key) {
#ifdef __GLIBC__
  return key < 32;
#else
  (void)key;
  return true;
#endif
}

/* This thread has made the key. */
static void count_publish_key(uint32_t stage) {
  uint32_t seen = COUNT_MAKES_KEY;
  /* counters:K1 -> counters:K2, counters:K3: a thread that sees HAS_KEY sees the key */
  if (volt_cas_release(&count_stage, &seen, stage)) return;
  if (stage == COUNT_HAS_KEY) (void)pthread_key_delete(count_key); /* R3 */
}

/* Have count_end() called when this thread ends. Returns whether that is possible. */
static bool count_watch_end(volt_tally_ *mine) {
  uint32_t seen = COUNT_NO_KEY;
  /* relaxed, no data: it says which thread makes the key */
  if (volt_load_relaxed(&count_stage) == COUNT_NO_KEY &&
      volt_cas_relaxed(&count_stage, &seen, COUNT_MAKES_KEY)) {
    bool made = pthread_key_create(&count_key, count_end) == 0;
    if (made && !count_key_is_free_of_cost(count_key)) {
      (void)pthread_key_delete(count_key);
      made = false;
    }
    count_publish_key(made ? COUNT_HAS_KEY : COUNT_FAILED);
  }
  /* counters:K2 <- counters:K1: a thread that sees HAS_KEY sees the key */
  return volt_load_acquire(&count_stage) == COUNT_HAS_KEY &&
         pthread_setspecific(count_key, mine) == 0;
}

/* The library is unloaded, or the program ends: count_end() is not called any more. Threads that run
 * still have no key from now on (R3). */
static VOLT_AT_UNLOAD_ void count_unload(void) {
  /* counters:K3 <- counters:K1: this thread sees the key that it deletes */
  uint32_t stage = volt_exchange_acquire(&count_stage, COUNT_FAILED);
  if (stage == COUNT_HAS_KEY) (void)pthread_key_delete(count_key);
}

static void count_note_used(uint32_t used) {
  uint32_t seen = volt_load_relaxed(&count_used); /* a bound; the counts themselves are relaxed */
  /* relaxed, no data: a bound, as above */
  while (seen < used && !volt_cas_relaxed(&count_used, &seen, used)) {
  }
}

VOLT_NOINLINE void volt_count_take_tally_(void) {
  unsigned i = count_take();
  if (i == TALLIES) return;
  if (count_watch_end(&count_tallies[i])) {
    count_note_used(i + 1);
    volt_tally_mine_ = &count_tallies[i];
  } else {
    count_give_back(i);
  }
}

/* R2. relaxed: no other thread is here */
void volt_count_forget_(void) {
  if (volt_load_relaxed(&count_stage) == COUNT_MAKES_KEY) {
    volt_store_relaxed(&count_stage, COUNT_NO_KEY);
  }
  for (unsigned i = 0; i < TALLIES / BITS; i++) volt_store_relaxed(&count_taken[i], 0);
  if (!volt_tally_mine_) return;
  unsigned mine = (unsigned)(volt_tally_mine_ - count_tallies);
  volt_store_relaxed(&count_taken[mine / BITS], UINT64_C(1) << mine % BITS);
}

void volt_count_from_outside_(volt_kind_ kind, volt_counter_ what, uint64_t n) {
  volt_count_here_();
  volt_count_many_(kind, what, n);
}

/* ---- kinds ---- */

volt_kind_ volt_kind_of_(volt_future *f) {
  volt_future *inside;
  while ((inside = volt_future_inside_(f, 0)) != NULL) f = inside;
  return volt_kind_counted_(f->ops->kind);
}

/* ---- reading ---- */

static uint64_t count_sum(unsigned kind, volt_counter_ what) {
  uint64_t sum = volt_load_relaxed(&volt_tally_of_others_.of[kind][what]); /* a snapshot */
  uint32_t used = volt_load_relaxed(&count_used);                          /* as above */
  for (unsigned i = 0; i < used; i++) {
    sum += volt_racy_load_64_(&count_tallies[i].of[kind][what]);
  }
  return sum;
}

unsigned volt_counts(volt_counts_of *counts, unsigned max) {
  for (unsigned i = 0; i < VOLT_KINDS_COUNTED_ && i < max; i++) {
    counts[i] = (volt_counts_of){
        .kind = volt_kind_name_((volt_kind_)(i + 1)),
        .waits = count_sum(i, VOLT_COUNTER_WAITS_),
        .grants = count_sum(i, VOLT_COUNTER_GRANTS_),
        .cancels = count_sum(i, VOLT_COUNTER_CANCELS_),
        .timeouts = count_sum(i, VOLT_COUNTER_TIMEOUTS_),
        .closes = count_sum(i, VOLT_COUNTER_CLOSES_),
        .sleeps = count_sum(i, VOLT_COUNTER_SLEEPS_),
        .naps = count_sum(i, VOLT_COUNTER_NAPS_),
    };
  }
  return VOLT_KINDS_COUNTED_;
}
