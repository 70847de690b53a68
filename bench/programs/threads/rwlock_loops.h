/* rwlock_loops.h: the workloads of a read-write lock: alone-read, alone-write, rwlock.
 *
 * Who includes it has defined the type bench_rw; bench_rw_place, what a thread that locks brings
 * with it (an int if that is nothing); and bench_rw_init(rw), bench_rw_read(rw, place),
 * bench_rw_read_end(rw, place), bench_rw_write(rw, place), bench_rw_write_end(rw, place). An engine
 * that has a bypass defines BENCH_RW_INIT(rw, options) instead. */
#ifndef VOLT_BENCH_RWLOCK_LOOPS_H
#define VOLT_BENCH_RWLOCK_LOOPS_H

#include "threads.h"

#ifndef BENCH_RW_INIT
#define BENCH_RW_INIT(rw, o) bench_rw_init(rw)
#endif

/* Writers count twice; who reads must see both counts the same. Both are plain: the lock protects
 * them. */
static struct bench_shared {
  VOLT_CACHE_ALIGNED bench_rw rw;
  uint32_t count, again;
} bench_shared;

static void bench_rw_march_read(bench_member *m) {
  struct bench_shared *it = (struct bench_shared *)m->object;
  bench_rw_place place;
  for (uint64_t i = 0; i < m->operations; i++) {
    bench_rw_read(&it->rw, &place);
    bench_rw_read_end(&it->rw, &place);
  }
}

static void bench_rw_march_write(bench_member *m) {
  struct bench_shared *it = (struct bench_shared *)m->object;
  bench_rw_place place;
  for (uint64_t i = 0; i < m->operations; i++) {
    bench_rw_write(&it->rw, &place);
    bench_rw_write_end(&it->rw, &place);
  }
}

static bench_outcome bench_rw_alone_read(const bench_options *o) {
  static bench_crew crew;
  BENCH_RW_INIT(&bench_shared.rw, o);
  return bench_march(&crew, o, &bench_shared, bench_rw_march_read);
}

static bench_outcome bench_rw_alone_write(const bench_options *o) {
  static bench_crew crew;
  BENCH_RW_INIT(&bench_shared.rw, o);
  return bench_march(&crew, o, &bench_shared, bench_rw_march_write);
}

static void bench_rw_contend_reading(bench_member *m) {
  struct bench_shared *it = (struct bench_shared *)m->object;
  bench_rw_place place;
  uint32_t n = 0;
  while (bench_goes_on(m)) {
    bench_rw_read(&it->rw, &place);
    m->wrong += it->count != it->again;
    bench_rw_read_end(&it->rw, &place);
    if (++n == m->stride) n = bench_tell(m, n);
  }
  bench_tell(m, n);
}

static void bench_rw_contend_writing(bench_member *m) {
  struct bench_shared *it = (struct bench_shared *)m->object;
  bench_rw_place place;
  uint32_t n = 0;
  while (bench_goes_on(m)) {
    bench_rw_write(&it->rw, &place);
    it->count += 1;
    it->again += 1;
    bench_rw_write_end(&it->rw, &place);
    if (++n == m->stride) n = bench_tell(m, n);
  }
  bench_tell(m, n);
}

static void bench_rw_contend(bench_member *m) {
  if (m->index < m->amount) {
    bench_rw_contend_writing(m);
  } else {
    bench_rw_contend_reading(m);
  }
}

static bench_outcome bench_rw_rwlock(const bench_options *o) {
  static bench_crew crew;
  BENCH_RW_INIT(&bench_shared.rw, o);
  bench_outcome outcome = bench_contest(&crew, o, &bench_shared, bench_rw_contend);
  uint32_t written = (uint32_t)bench_crew_did(&crew, 0, (unsigned)o->amount);
  bench_require(bench_shared.count == written, "one writer at a time has the lock");
  for (unsigned i = 0; i < o->tasks; i++) {
    bench_require(crew.members[i].wrong == 0, "nobody writes while others read");
  }
  return outcome;
}

#define BENCH_RW_WORKLOADS                                                      \
  {"alone-read", bench_rw_alone_read}, {"alone-write", bench_rw_alone_write}, { \
    "rwlock", bench_rw_rwlock                                                   \
  }

#endif
