// tbb_lock.cpp: oneTBB's mutexes: engine "mutex", mutex and rw_mutex, which spin a while and then
// sleep; or, with -DQUEUING, engine "queuing", queuing_mutex and queuing_rw_mutex, which serve in
// order, and spin, yielding.
#ifdef QUEUING
#include <oneapi/tbb/queuing_mutex.h>
#include <oneapi/tbb/queuing_rw_mutex.h>
#else
#include <oneapi/tbb/mutex.h>
#include <oneapi/tbb/rw_mutex.h>
#endif

#include "crew.h"

#ifdef QUEUING

static const char name[] = "queuing";
using bench_lock = tbb::queuing_mutex;
using bench_place = tbb::queuing_mutex::scoped_lock;

static inline void bench_lock_take(bench_lock *lock, bench_place *place) {
  place->acquire(*lock);
}

static inline void bench_lock_give(bench_lock *, bench_place *place) {
  place->release();
}

using bench_rw = tbb::queuing_rw_mutex;
using bench_rw_place = tbb::queuing_rw_mutex::scoped_lock;

static inline void bench_rw_read(bench_rw *rw, bench_rw_place *place) {
  place->acquire(*rw, false);
}

static inline void bench_rw_read_end(bench_rw *, bench_rw_place *place) {
  place->release();
}

static inline void bench_rw_write(bench_rw *rw, bench_rw_place *place) {
  place->acquire(*rw, true);
}

static inline void bench_rw_write_end(bench_rw *, bench_rw_place *place) {
  place->release();
}

#else

static const char name[] = "mutex";
using bench_lock = tbb::mutex;
using bench_place = int;

static inline void bench_lock_take(bench_lock *lock, bench_place *) {
  lock->lock();
}

static inline void bench_lock_give(bench_lock *lock, bench_place *) {
  lock->unlock();
}

using bench_rw = tbb::rw_mutex;
using bench_rw_place = int;

static inline void bench_rw_read(bench_rw *rw, bench_rw_place *) {
  rw->lock_shared();
}

static inline void bench_rw_read_end(bench_rw *rw, bench_rw_place *) {
  rw->unlock_shared();
}

static inline void bench_rw_write(bench_rw *rw, bench_rw_place *) {
  rw->lock();
}

static inline void bench_rw_write_end(bench_rw *rw, bench_rw_place *) {
  rw->unlock();
}

#endif

static inline void bench_lock_init(bench_lock *) {
}

static inline void bench_rw_init(bench_rw *) {
}

#include "lock_loops.h"
#include "rwlock_loops.h"

static const char *version() {
  return "oneTBB " VERSION_TEXT;
}

static const bench_workload workloads[] = {
    BENCH_LOCK_WORKLOADS, BENCH_RW_WORKLOADS, {nullptr, nullptr}};

extern "C" const bench_engine BENCH_ENGINE = {name, version, workloads};
