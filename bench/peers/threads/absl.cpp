// absl.cpp: absl::Mutex, which has read locks, too; and a semaphore of a Mutex, a Condition and a
// count, as mutex.h recommends over condition variables. Engine "absl".
#include <absl/synchronization/mutex.h>
#include <absl/time/time.h>

#include "threads.h"

using bench_lock = absl::Mutex;
using bench_place = int;

static inline void bench_lock_init(bench_lock *) {
}

static inline void bench_lock_take(bench_lock *lock, bench_place *) {
  lock->Lock();
}

static inline void bench_lock_give(bench_lock *lock, bench_place *) {
  lock->Unlock();
}

using bench_rw = absl::Mutex;
using bench_rw_place = int;

static inline void bench_rw_init(bench_rw *) {
}

static inline void bench_rw_read(bench_rw *rw, bench_rw_place *) {
  rw->ReaderLock();
}

static inline void bench_rw_read_end(bench_rw *rw, bench_rw_place *) {
  rw->ReaderUnlock();
}

static inline void bench_rw_write(bench_rw *rw, bench_rw_place *) {
  rw->WriterLock();
}

static inline void bench_rw_write_end(bench_rw *rw, bench_rw_place *) {
  rw->WriterUnlock();
}

struct bench_sem {
  absl::Mutex mutex;
  uint32_t permits = 0;
};

static bool has_permits(bench_sem *sem) {
  return sem->permits > 0;
}

static inline void bench_sem_init(bench_sem *sem, uint32_t permits) {
  sem->permits = permits;
}

static inline void bench_sem_take(bench_sem *sem) {
  sem->mutex.LockWhen(absl::Condition(has_permits, sem));
  sem->permits -= 1;
  sem->mutex.Unlock();
}

static inline void bench_sem_give(bench_sem *sem) {
  sem->mutex.Lock();
  sem->permits += 1;
  sem->mutex.Unlock(); // which looks for somebody whose condition holds now
}

static inline bool bench_sem_try_take(bench_sem *sem) {
  absl::MutexLock lock(&sem->mutex);
  bool taken = sem->permits > 0;
  sem->permits -= taken;
  return taken;
}

using bench_permit = bench_sem;

static inline void bench_permit_init(bench_permit *permit) {
  bench_sem_init(permit, 1);
}

static inline void bench_permit_take(bench_permit *permit) {
  bench_sem_take(permit);
}

static inline bool bench_permit_take_within(bench_permit *permit, uint64_t ns) {
  const absl::Condition condition(has_permits, permit);
  bool taken = permit->mutex.LockWhenWithTimeout(condition, absl::Nanoseconds(ns));
  permit->permits -= taken;
  permit->mutex.Unlock(); // it is locked in either case
  return taken;
}

static inline void bench_permit_give(bench_permit *permit) {
  bench_sem_give(permit);
}

#include "lock_loops.h"
#include "permit_loops.h"
#include "rwlock_loops.h"
#include "sem_loops.h"

static const char *version() {
  return "abseil " VERSION_TEXT;
}

static const bench_workload workloads[] = {BENCH_LOCK_WORKLOADS,
                                           BENCH_RW_WORKLOADS,
                                           BENCH_SEM_WORKLOADS,
                                           BENCH_PERMIT_WORKLOADS,
                                           {nullptr, nullptr}};

extern "C" const bench_engine BENCH_ENGINE = {"absl", version, workloads};
