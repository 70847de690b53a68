/* permit_loops.h: the workload timeout, of a lock or of a semaphore with one permit.
 *
 * Who includes it has defined the type bench_permit and bench_permit_init(p), bench_permit_take(p),
 * bench_permit_give(p), and bench_permit_take_within(p, ns), which gives up at a time so far from
 * now, and returns whether it has taken it. Who sleeps is woken up to 50 us after that time, which
 * is the kernel's slack for timers, and may be given the permit meanwhile: then it is not lost. */
#ifndef VOLT_BENCH_PERMIT_LOOPS_H
#define VOLT_BENCH_PERMIT_LOOPS_H

#include "threads.h"

enum { BENCH_HELD_NS = 1000, BENCH_PATIENCE_NS = 20000 };

static struct bench_permitted {
  VOLT_CACHE_ALIGNED bench_permit permit;
  uint64_t count; /* plain: the permit protects it */
} bench_permitted;

/* Of a hundred attempts in a row amount have a deadline, spread evenly; threads begin at different
 * places of that pattern. */
static void bench_permit_contend(bench_member *m) {
  struct bench_permitted *it = (struct bench_permitted *)m->object;
  uint64_t turn = m->index * 100 / m->tasks;
  uint32_t n = 0;
  while (bench_goes_on(m)) {
    turn += m->amount;
    bool taken = true;
    if (turn >= 100) {
      turn -= 100;
      taken = bench_permit_take_within(&it->permit, BENCH_PATIENCE_NS);
    } else {
      bench_permit_take(&it->permit);
    }
    if (taken) {
      uint64_t count = it->count;
      bench_work(bench_now_ns(), BENCH_HELD_NS);
      it->count = count + 1; /* if others were inside meanwhile, theirs are lost */
      bench_permit_give(&it->permit);
    } else {
      m->lost[m->phase] += 1;
    }
    if (++n == m->stride) n = bench_tell(m, n);
  }
  bench_tell(m, n);
}

static bench_outcome bench_permit_timeout(const bench_options *o) {
  static bench_crew crew;
  bench_permit_init(&bench_permitted.permit);
  bench_outcome outcome = bench_contest(&crew, o, &bench_permitted, bench_permit_contend);
  bench_require(bench_permitted.count == bench_crew_did(&crew, 0, o->tasks),
                "one thread at a time has the permit");
  outcome.lost = bench_crew_lost(&crew);
  return outcome;
}

#define BENCH_PERMIT_WORKLOADS \
  { "timeout", bench_permit_timeout }

#endif
