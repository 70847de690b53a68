/* statistics.c: what a gate counts. A thread adds to its part, with atomic operations, because a
 * part may have several threads; a reader adds the parts up. */
#include "gate/statistics.h"

struct statistics_part *statistics_mine(struct statistics *s) {
  static atomic_uint threads;
  static _Thread_local unsigned mine; /* from 1 on */
  if (mine == 0) mine = 1 + atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed);
  return &s->parts[mine % STATISTICS_PARTS];
}

void statistics_count(struct statistics *s, enum count kind, uint64_t n) {
  atomic_fetch_add_explicit(&statistics_mine(s)->counts[kind], n, memory_order_relaxed);
}

void statistics_refused(struct statistics *s, enum gate_reason reason) {
  atomic_fetch_add_explicit(&statistics_mine(s)->refused[reason], 1, memory_order_relaxed);
}

void statistics_read(const struct statistics *s, struct statistics_values *values) {
  *values = (struct statistics_values){.wait = {.count = 0}};
  for (unsigned p = 0; p < STATISTICS_PARTS; p++) {
    const struct statistics_part *part = &s->parts[p];
    for (unsigned i = 0; i < COUNT_KINDS; i++) {
      values->counts[i] += atomic_load_explicit(&part->counts[i], memory_order_relaxed);
    }
    for (unsigned i = 0; i < REASON_KINDS; i++) {
      values->refused[i] += atomic_load_explicit(&part->refused[i], memory_order_relaxed);
    }
    volt_shared_histogram_read_(&part->wait, &values->wait);
    volt_shared_histogram_read_(&part->hold, &values->hold);
  }
  values->counts[COUNT_ADMITTED] = values->wait.count; /* each admission has a wait */
  for (unsigned i = 0; i < REASON_KINDS; i++) values->refused_all += values->refused[i];
}

/* *newer becomes what was added since *older. Its longest is what the steps say of it. */
static void statistics_subtract_times(volt_histogram *newer, const volt_histogram *older) {
  newer->count = 0;
  for (unsigned i = 0; i < VOLT_HISTOGRAM_STEPS; i++) {
    newer->step[i] -= older->step[i];
    newer->count += newer->step[i];
  }
  newer->sum_ns -= older->sum_ns;
  newer->longest_ns = volt_histogram_at_ns(newer, 1);
}

void statistics_subtract(struct statistics_values *newer, const struct statistics_values *older) {
  for (unsigned i = 0; i < COUNT_KINDS; i++) newer->counts[i] -= older->counts[i];
  for (unsigned i = 0; i < REASON_KINDS; i++) newer->refused[i] -= older->refused[i];
  newer->refused_all -= older->refused_all;
  statistics_subtract_times(&newer->wait, &older->wait);
  statistics_subtract_times(&newer->hold, &older->hold);
}
