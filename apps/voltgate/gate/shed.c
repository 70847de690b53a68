/* shed.c: controlled delay, at the moment of the grant.
 *
 * Time is cut into intervals. The first decision after the end of one closes it, and says what holds
 * during the next: overload, if there were admissions and even the one that had waited least had
 * waited longer than the target. An interval that ended more than an interval ago says nothing:
 * no client has come since. Admissions without a wait count, too: they end an overload.
 *
 * The numbers are read one by one. What a race of two decisions at the edge of an interval can do is
 * to count one of them in the wrong interval. */
#include "gate/shed.h"

/* A shortest wait is kept as wait + 1; 0: there is none. */

static void shed_shorten(struct shed *s, uint64_t wait_ns) {
  uint64_t kept = wait_ns + 1;
  uint64_t shortest = atomic_load_explicit(&s->shortest_ns, memory_order_relaxed);
  while ((shortest == 0 || kept < shortest) &&
         !atomic_compare_exchange_weak_explicit(&s->shortest_ns, &shortest, kept,
                                                memory_order_relaxed, memory_order_relaxed)) {
  }
}

static void shed_close_interval(struct shed *s, uint64_t target_ns, uint64_t interval_ns,
                                uint64_t now_ns) {
  uint64_t end = atomic_load_explicit(&s->interval_end_ns, memory_order_relaxed);
  if (now_ns < end) return;
  if (!atomic_compare_exchange_strong_explicit(&s->interval_end_ns, &end, now_ns + interval_ns,
                                               memory_order_relaxed, memory_order_relaxed)) {
    return; /* another thread closes it */
  }
  uint64_t shortest = atomic_exchange_explicit(&s->shortest_ns, 0, memory_order_relaxed);
  bool is_recent = now_ns - end < interval_ns;
  bool is_overloaded = is_recent && shortest != 0 && shortest - 1 > target_ns;
  atomic_store_explicit(&s->is_overloaded, is_overloaded, memory_order_relaxed);
}

bool shed_decide(struct shed *s, uint64_t target_ns, uint64_t interval_ns, uint64_t now_ns,
                 uint64_t wait_ns) {
  if (target_ns == 0) return false;
  shed_close_interval(s, target_ns, interval_ns, now_ns);
  shed_shorten(s, wait_ns);
  return wait_ns > 2 * target_ns && atomic_load_explicit(&s->is_overloaded, memory_order_relaxed);
}
