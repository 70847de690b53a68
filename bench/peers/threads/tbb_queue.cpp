// tbb_queue.cpp: oneTBB's concurrent_bounded_queue. Engine "queue".
#include <oneapi/tbb/concurrent_queue.h>

#include "crew.h"

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

static const char *version() {
  return "oneTBB " VERSION_TEXT;
}

static const bench_workload workloads[] = {
    BENCH_QUEUE_WORKLOADS, BENCH_QUEUE_MPMC_WORKLOADS, {nullptr, nullptr}};

extern "C" const bench_engine BENCH_ENGINE = {"queue", version, workloads};
