// tbb.cpp: what oneTBB has, each an engine of its own: compiled for each, with ENGINE_<NAME> defined.
#include <oneapi/tbb/concurrent_queue.h>
#include <oneapi/tbb/mutex.h>
#include <oneapi/tbb/queuing_mutex.h>
#include <oneapi/tbb/queuing_rw_mutex.h>
#include <oneapi/tbb/rw_mutex.h>

#include "threads.h"

static const char *version() {
  return "oneTBB " VERSION_TEXT;
}

#if defined(ENGINE_MUTEX) || defined(ENGINE_QUEUING)
// "mutex": mutex and rw_mutex, which spin a while and then sleep; "queuing": queuing_mutex and
// queuing_rw_mutex, which serve in order, and spin, yielding.

#ifdef ENGINE_QUEUING

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

static const bench_workload workloads[] = {
    BENCH_LOCK_WORKLOADS, BENCH_RW_WORKLOADS, {nullptr, nullptr}};

extern "C" const bench_engine BENCH_ENGINE = {name, version, workloads};

#elif defined(ENGINE_QUEUE)
// concurrent_bounded_queue

using bench_queue = tbb::concurrent_bounded_queue<uint64_t>;
using bench_sender = bench_queue *;
using bench_receiver = bench_queue *;

static inline void bench_queue_init(bench_queue *queue, uint32_t capacity) {
  queue->set_capacity(static_cast<bench_queue::size_type>(capacity));
}

static inline bench_sender bench_sender_of(bench_queue *queue) {
  return queue;
}

static inline bench_receiver bench_receiver_of(bench_queue *queue) {
  return queue;
}

static inline bool bench_try_send(bench_sender *sender, uint64_t value) {
  return (*sender)->try_push(value);
}

static inline bool bench_try_recv(bench_receiver *receiver, uint64_t *value) {
  return (*receiver)->try_pop(*value);
}

static inline void bench_send(bench_sender *sender, uint64_t value) {
  (*sender)->push(value);
}

static inline uint64_t bench_recv(bench_receiver *receiver) {
  uint64_t value = 0;
  (*receiver)->pop(value);
  return value;
}

#define BENCH_QUEUE_MPMC
#include "queue_loops.h"

static const bench_workload workloads[] = {
    BENCH_QUEUE_WORKLOADS, BENCH_QUEUE_MPMC_WORKLOADS, {nullptr, nullptr}};

extern "C" const bench_engine BENCH_ENGINE = {"queue", version, workloads};

#endif
