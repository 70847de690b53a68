/* wait_times.c: how long waits take, while VOLT_SIGHT_WAITS is on. A wait is from when its waiter
 * is queued until its owner goes on, whatever has ended it.
 *
 * Algorithm
 *   A waiter has no room for a time. Of the waits of tasks one in some is timed, chosen at random, and
 *   stands for as many. Its time is in a table of the process, under the address of its future, and
 *   the future's state is TIMED instead of WAITING: so what polls it knows, and a future that is not
 *   timed is not looked for. If the table has no room near by, the wait is not timed.
 *   A thread that blocks has its own stack for the time, and blocks for so long that reading the clock
 *   is cheap in comparison: every wait of threads is timed.
 *
 * Invariants
 *   I1  a future has at most one place in the table; only its owner, in a poll or a cancel, takes the
 *       place and frees it, so what is in the place is the owner's
 *   I2  the memory, once given, stays: a hook may use it although it has been switched off since. So
 *       does what is in the table
 *
 * Race
 *   R1  Interleaving: histograms are emptied, because they are switched on again or another object has
 *       the name's slot now, while a thread adds to one. Tolerated: it leaves a trace of one wait. */
#include "wait_times.h"

#include <string.h>

#include "../future/future_ops.h"
#include "../future/leaf.h"
#include "../inspect/describe.h"
#include "../os/hash.h"
#include "../park/spin.h"

enum { WAIT_TIMES_NEAR = 8 };

VOLT_ATOMIC(uint32_t) volt_wait_times_sample_;
static VOLT_ATOMIC(volt_wait_times_ *) wait_times_memory;

/* This thread's: how many waits are left until one is timed; 0: not chosen yet. */
static _Thread_local uint32_t wait_times_left VOLT_TLS_FROM_THE_BEGINNING_;
static _Thread_local uint64_t wait_times_random VOLT_TLS_FROM_THE_BEGINNING_;

static volt_wait_times_ *wait_times_here(void) {
  /* wait_times:M2 <- wait_times:M1: the memory is seen as it was given */
  return volt_load_acquire(&wait_times_memory);
}

void volt_wait_times_switch_on_(volt_wait_times_ *memory, uint32_t sample) {
  /* R1 */
  for (unsigned i = 0; i < VOLT_KINDS_COUNTED_; i++)
    volt_shared_histogram_clear_(&memory->of_kind[i]);
  for (unsigned i = 0; i < VOLT_NAME_SLOTS_; i++) volt_shared_histogram_clear_(&memory->of_name[i]);
  /* wait_times:M1 -> wait_times:M2: a thread that times sees the memory as it was given */
  volt_store_release(&wait_times_memory, memory);
  volt_store_relaxed(&volt_wait_times_sample_, sample); /* a hint */
}

void volt_wait_times_switch_off_(void) {
  volt_store_relaxed(&volt_wait_times_sample_, 0); /* a hint */
}

void volt_wait_times_clear_(unsigned name_slot) {
  volt_wait_times_ *memory = wait_times_here();
  if (memory) volt_shared_histogram_clear_(&memory->of_name[name_slot]); /* R1 */
}

static void wait_times_record(volt_kind_ kind, const void *object, uint64_t since_ns,
                              uint32_t weight) {
  volt_wait_times_ *memory = wait_times_here();
  volt_named_ named;
  uint64_t now_ns = volt_now_ns();
  uint64_t ns = now_ns > since_ns ? now_ns - since_ns : 0;
  volt_shared_histogram_add_(&memory->of_kind[volt_kind_number_(kind)], ns, weight);
  if (object && volt_name_find_(object, &named)) {
    volt_shared_histogram_add_(&memory->of_name[named.slot], ns, weight);
  }
}

/* ---- which ---- */

/* On average one in sample, so that waits that alternate do not always meet the same side. */
static uint32_t wait_times_choose(uint32_t sample) {
  if (wait_times_random == 0) wait_times_random = (uint64_t)(uintptr_t)&wait_times_random;
  wait_times_random =
      wait_times_random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return 1 + (uint32_t)(wait_times_random >> 33) % (2 * sample - 1);
}

/* Whether to time this one. */
static inline bool wait_times_is_chosen(uint32_t sample) {
  uint32_t left = wait_times_left;
  wait_times_left = left - 1;
  if (VOLT_LIKELY(left > 1 && sample > 1)) return false;
  wait_times_left = wait_times_choose(sample);
  return left == 1 || sample == 1;
}

/* ---- futures ---- */

/* The place of f, or NULL; with take: a free one is taken for it, if it has none. */
static volt_timed_ *wait_times_place(volt_wait_times_ *memory, const volt_future *f, bool take) {
  volt_timed_ *found = NULL;
  for (unsigned i = 0; i < WAIT_TIMES_NEAR; i++) {
    volt_timed_ *t = &memory->timed[((volt_hash_(f) >> 40) + i) % VOLT_TIMED_MAX_];
    const volt_future *seen = volt_load_relaxed(&t->future); /* its own, I1; or a guess */
    if (seen == f) return t;
    if (!seen && !found) found = t;
  }
  const volt_future *none = NULL;
  /* wait_times:P1 <- wait_times:P2: what the last owner did with the place comes before */
  return take && found && volt_cas_acquire(&found->future, &none, f) ? found : NULL;
}

static VOLT_NOINLINE void wait_times_time(volt_future *f, uint32_t weight) {
  volt_timed_ *t = wait_times_place(wait_times_here(), f, true);
  if (!t) return;
  volt_description_ description;
  description.object = NULL;
  /* relaxed: only what has a name has a histogram of its own */
  if (volt_load_relaxed(&volt_name_count_) != 0) volt_describe_briefly_(f, &description);
  t->object = description.object;
  t->kind = volt_kind_of_(f);
  t->weight = weight;
  t->since_ns = volt_now_ns();
  volt_future_set_state_(f, VOLT_FUTURE_TIMED_);
}

/* Not inlined, as what locals.c has of a thread. */
VOLT_NOINLINE void volt_wait_times_begin_(volt_future *f, const volt_ctx *ctx) {
  uint32_t sample = volt_load_relaxed(&volt_wait_times_sample_); /* a hint */
  bool is_threads = ctx && ctx->waker.wake == volt_parker_wake_;
  if (sample == 0 || !(is_threads || wait_times_is_chosen(sample))) return;
  wait_times_time(f, is_threads ? 1 : sample);
}

/* Not inlined, so that volt_wait_times_registered_() has no frame. */
static VOLT_NOINLINE int wait_times_begin_and_register(volt_future *f, volt_ctx *ctx) {
  volt_wait_times_begin_(f, ctx);
  return volt_leaf_registered_(f, ctx);
}

/* Of most waits it is enough to know that they are none of those that are chosen. */
VOLT_NOINLINE int volt_wait_times_registered_(volt_future *f, volt_ctx *ctx) {
  uint32_t left = wait_times_left;
  bool may_be_chosen = left <= 1 || volt_load_relaxed(&volt_wait_times_sample_) <= 1; /* a hint */
  if (VOLT_UNLIKELY(may_be_chosen || ctx->waker.wake == volt_parker_wake_)) {
    return wait_times_begin_and_register(f, ctx);
  }
  wait_times_left = left - 1;
  return volt_leaf_registered_(f, ctx);
}

VOLT_NOINLINE void volt_wait_times_ended_(const volt_future *f) {
  volt_timed_ *t = wait_times_place(wait_times_here(), f, false);
  if (!t) return;
  const volt_timed_ copy = {
      .object = t->object, .since_ns = t->since_ns, .kind = t->kind, .weight = t->weight};
  /* wait_times:P2 -> wait_times:P1: the next owner of the place comes after */
  volt_store_release(&t->future, NULL);
  wait_times_record(copy.kind, copy.object, copy.since_ns, copy.weight);
}

void volt_wait_times_end_(volt_future *f) {
  volt_future_set_state_(f, VOLT_FUTURE_WAITING_);
  volt_wait_times_ended_(f);
}

/* ---- blocking calls ---- */

VOLT_NOINLINE static uint64_t wait_times_now(void) {
  return volt_now_ns();
}

uint64_t volt_wait_times_start_(void) {
  return volt_wait_times_are_on_() ? wait_times_now() : 0;
}

VOLT_NOINLINE void volt_wait_times_stop_(volt_kind_ kind, const void *object, uint64_t since_ns) {
  if (since_ns != 0) wait_times_record(kind, object, since_ns, 1);
}

/* ---- read ---- */

int volt_waits_of(const void *object, volt_histogram *waits) {
  volt_named_ named;
  volt_wait_times_ *memory = wait_times_here();
  if (!volt_name_find_(object, &named)) return VOLT_EINVAL;
  if (!memory) return VOLT_EAGAIN;
  memset(waits, 0, sizeof *waits);
  volt_shared_histogram_read_(&memory->of_name[named.slot], waits);
  return VOLT_OK;
}

int volt_waits_of_kind(unsigned kind, volt_histogram *waits) {
  volt_wait_times_ *memory = wait_times_here();
  if (kind >= VOLT_KINDS_COUNTED_) return VOLT_EINVAL;
  if (!memory) return VOLT_EAGAIN;
  memset(waits, 0, sizeof *waits);
  volt_shared_histogram_read_(&memory->of_kind[kind], waits);
  return VOLT_OK;
}
