/* lock_loops.h: the workloads of a mutex: alone-mutex, mutex, waits.
 *
 * Who includes it has defined the type bench_lock; bench_place, what a thread that locks brings
 * with it (an int if that is nothing); and bench_lock_init(lock), bench_lock_take(lock, place),
 * bench_lock_give(lock, place). Objects are all-zero, or constructed, before init. An engine that
 * has a bypass defines BENCH_LOCK_INIT(lock, options) instead. */
#ifndef VOLT_BENCH_LOCK_LOOPS_H
#define VOLT_BENCH_LOCK_LOOPS_H

#include "threads.h"

#ifndef BENCH_LOCK_INIT
#define BENCH_LOCK_INIT(lock, o) bench_lock_init(lock)
#endif

/* The count stands beside the lock, as what a lock protects does. */
static struct bench_locked {
  VOLT_CACHE_ALIGNED bench_lock lock;
  uint64_t count; /* plain: the lock protects it */
} bench_locked;

static void bench_lock_march(bench_member *m) {
  struct bench_locked *it = (struct bench_locked *)m->object;
  bench_place place;
  for (uint64_t i = 0; i < m->operations; i++) {
    bench_lock_take(&it->lock, &place);
    bench_lock_give(&it->lock, &place);
  }
}

static bench_outcome bench_lock_alone(const bench_options *o) {
  static bench_crew crew;
  BENCH_LOCK_INIT(&bench_locked.lock, o);
  return bench_march(&crew, o, &bench_locked, bench_lock_march);
}

static void bench_lock_contend(bench_member *m) {
  struct bench_locked *it = (struct bench_locked *)m->object;
  bench_place place;
  uint32_t n = 0;
  while (bench_goes_on(m)) {
    bench_lock_take(&it->lock, &place);
    it->count += 1;
    bench_lock_give(&it->lock, &place);
    if (++n == m->stride) n = bench_tell(m, n);
  }
  bench_tell(m, n);
}

static void bench_lock_wait(bench_member *m) {
  struct bench_locked *it = (struct bench_locked *)m->object;
  bench_place place;
  uint64_t work_ns = m->amount;
  uint32_t n = 0;
  while (bench_goes_on(m)) {
    uint64_t start_ns = bench_now_ns();
    bench_lock_take(&it->lock, &place);
    uint64_t taken_ns = bench_now_ns();
    uint64_t count = it->count;
    bench_work(taken_ns, work_ns);
    it->count = count + 1; /* if others were inside meanwhile, theirs are lost */
    bench_lock_give(&it->lock, &place);
    histogram_add(&m->waits, taken_ns - start_ns);
    if (++n == m->stride) n = bench_tell(m, n);
  }
  bench_tell(m, n);
}

static bench_outcome bench_lock_contest(bench_crew *crew, const bench_options *o,
                                        bench_body *body) {
  BENCH_LOCK_INIT(&bench_locked.lock, o);
  bench_outcome outcome = bench_contest(crew, o, &bench_locked, body);
  bench_require(bench_locked.count == bench_crew_did(crew, 0, o->tasks),
                "one thread at a time has the lock");
  return outcome;
}

static bench_outcome bench_lock_mutex(const bench_options *o) {
  static bench_crew crew;
  return bench_lock_contest(&crew, o, bench_lock_contend);
}

static bench_outcome bench_lock_waits(const bench_options *o) {
  static bench_crew crew;
  bench_outcome outcome = bench_lock_contest(&crew, o, bench_lock_wait);
  bench_crew_waits(&crew, &outcome);
  return outcome;
}

#define BENCH_LOCK_WORKLOADS                                        \
  {"alone-mutex", bench_lock_alone}, {"mutex", bench_lock_mutex}, { \
    "waits", bench_lock_waits                                       \
  }

#endif
