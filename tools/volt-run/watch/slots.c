/* slots.c: when threads waited.
 *
 * Algorithm: 256 slots of equal width. When time has gone past the last one, each two neighbours become one, in the
 * lower half, and the width is doubled. So a picture of a minute and one of a week have the same size.
 * Invariant I1: what all slots have in all, and what a thread that folds has taken and not yet put back, is what was
 *   added: each step is one addition to a slot, or one exchange by 0 with an addition of what was taken.
 * Race R1: two threads fold at once, and the width is doubled once for both. Prevented by: the flag; the second one
 *   does not wait, and takes the last slot.
 * Race R2: a thread has read the width before another one folds, and adds after that. It is not prevented: I1 holds,
 *   and the wait stands in a slot up to twice as far from the beginning. A report counts what stands behind its own
 *   time with its last slot.
 * tests/slots_model.c runs this source by every schedule of a few preemptions. */
#include "watch/slots.h"

#include <stdbool.h>

static void slots_fold_one(_Atomic(uint64_t) *slot) {
  for (uint32_t i = 0; i < SLOTS / 2; i++) {
    uint64_t both = atomic_exchange(&slot[2 * i], 0);
    both += atomic_exchange(&slot[2 * i + 1], 0);
    atomic_fetch_add(&slot[i], both);
  }
}

/* Returns false: another thread does it, or a slot is as wide as it can be. */
static bool slots_fold(struct slots *s, uint32_t shift) {
  if (atomic_flag_test_and_set_explicit(&s->is_folded_now, memory_order_acquire)) return false;
  bool is_first = slots_shift(s) == shift && shift < SLOTS_LAST_SHIFT;
  if (is_first) {
    slots_fold_one(s->ns);
    slots_fold_one(s->waits);
    atomic_fetch_add_explicit(&s->doubled, 1, memory_order_release);
  }
  atomic_flag_clear_explicit(&s->is_folded_now, memory_order_release);
  return is_first || slots_shift(s) != shift;
}

static uint32_t slots_place(uint64_t at_ns, uint32_t shift) {
  return at_ns >> shift < SLOTS ? (uint32_t)(at_ns >> shift) : SLOTS - 1;
}

static void slots_put(_Atomic(uint64_t) *slot, uint64_t n) {
  atomic_fetch_add_explicit(slot, n, memory_order_relaxed);
}

void slots_add(struct slots *s, uint64_t since_ns, uint64_t end_ns) {
  uint32_t shift = slots_shift(s);
  while (end_ns >> shift >= SLOTS && slots_fold(s, shift)) shift = slots_shift(s);
  uint32_t last = slots_place(end_ns, shift);
  for (uint32_t i = slots_place(since_ns, shift); i < last; i++) {
    uint64_t next_ns = (uint64_t)(i + 1) << shift;
    slots_put(&s->ns[i], next_ns - since_ns);
    since_ns = next_ns;
  }
  slots_put(&s->ns[last], end_ns - since_ns);
  slots_put(&s->waits[last], 1);
}

void slots_forked(struct slots *s) {
  atomic_flag_clear(&s->is_folded_now);
}
