// moodycamel_sem.cpp: LightweightSemaphore, which spins a while and then sleeps. Engine "sem".
#include <concurrentqueue/blockingconcurrentqueue.h>

#include "crew.h"

using bench_sem = moodycamel::LightweightSemaphore;

static inline void bench_sem_init(bench_sem *sem, uint32_t permits) {
  if (permits > 0) sem->signal(permits);
}

static inline void bench_sem_take(bench_sem *sem) {
  while (!sem->wait()) continue; // interrupted
}

static inline void bench_sem_give(bench_sem *sem) {
  sem->signal();
}

static inline bool bench_sem_try_take(bench_sem *sem) {
  return sem->tryWait();
}

using bench_permit = moodycamel::LightweightSemaphore;

static inline void bench_permit_init(bench_permit *permit) {
  bench_sem_init(permit, 1);
}

static inline void bench_permit_take(bench_permit *permit) {
  bench_sem_take(permit);
}

static inline bool bench_permit_take_within(bench_permit *permit, uint64_t ns) {
  return permit->wait(static_cast<std::int64_t>(ns / 1000));
}

static inline void bench_permit_give(bench_permit *permit) {
  bench_sem_give(permit);
}

#include "permit_loops.h"
#include "sem_loops.h"

static const char *version() {
  return "concurrentqueue " VERSION_TEXT;
}

static const bench_workload workloads[] = {
    BENCH_SEM_WORKLOADS, BENCH_PERMIT_WORKLOADS, {nullptr, nullptr}};

extern "C" const bench_engine BENCH_ENGINE = {"sem", version, workloads};
