/* handoff.c: what it costs to queue and be granted, and to queue and give up, without threads: all
 * waiters are polled by hand in one thread. */
#include <stdio.h>

#include <volt/volt.h>

#include "engines.h"

static bench_loop_fn *loop_of(const bench_engine *e, unsigned kind) {
  bench_loop_fn *loops[] = {e->handoff_1, e->handoff_8, e->cancel_1, e->cancel_8};
  return loops[kind];
}

void bench_handoff(void) {
  static const char *const kinds[] = {
      "handoff cycle, 1 waiter: acquire queues, release hands over, one thread",
      "handoff cycle, 8 waiters: release grants the oldest, which queues again, one thread",
      "cancel cycle: acquire queues, cancel, nobody else waits, one thread",
      "cancel cycle: acquire queues, cancel, behind 8 others, one thread",
  };
  static const char *const sections[] = {"handoff-1", "handoff-8", "cancel-1", "cancel-9"};
  static VOLT_CACHE_ALIGNED bench_memory engines[BENCH_ENGINES];
  for (unsigned kind = 0; kind < 4; kind++) {
    bench_case cases[BENCH_ENGINES];
    for (unsigned i = 0; i < BENCH_ENGINES; i++) {
      const bench_engine *e = bench_engines[i];
      e->init(&engines[i], 0);
      cases[i] = (bench_case){e->name,
                              i == BENCH_VOLT ? NULL : bench_engines[BENCH_VOLT]->name,
                              bench_measure_loop,
                              &engines[i],
                              loop_of(e, kind),
                              NULL,
                              0};
    }
    const bench_table table = {sections[kind], kinds[kind], NULL, "x volt", cases, BENCH_ENGINES};
    bench_run(&table);
  }
}
