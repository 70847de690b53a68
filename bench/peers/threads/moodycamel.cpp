// moodycamel.cpp: what concurrentqueue has, each an engine of its own: compiled for each, with
// ENGINE_<NAME> defined.
#include <concurrentqueue/blockingconcurrentqueue.h>

#include "threads.h"

static const char *version() {
  return "concurrentqueue " VERSION_TEXT;
}

#if defined(ENGINE_SEM)
// LightweightSemaphore, which spins a while and then sleeps.

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

static const bench_workload workloads[] = {
    BENCH_SEM_WORKLOADS, BENCH_PERMIT_WORKLOADS, {nullptr, nullptr}};

extern "C" const bench_engine BENCH_ENGINE = {"sem", version, workloads};

#elif defined(ENGINE_QUEUE) || defined(ENGINE_UNBOUNDED)
// BlockingConcurrentQueue, by tokens. It has no capacity: "queue" keeps to one by a
// LightweightSemaphore of free places, as the author's bounded queues do; in "unbounded" a sender
// runs ahead as far as it likes. (One thread that sends to itself needs no places: there it is as it
// comes.)

struct bench_queue {
  using elements_queue = moodycamel::BlockingConcurrentQueue<uint64_t>;
  elements_queue *elements = nullptr;
  alignas(VOLT_CACHE_LINE) moodycamel::LightweightSemaphore places;
};

struct bench_sender {
  bench_queue *queue;
  moodycamel::ProducerToken token;
};

struct bench_receiver {
  bench_queue *queue;
  moodycamel::ConsumerToken token;
};

static inline void bench_queue_init(bench_queue *queue, uint32_t capacity) {
  static constexpr std::size_t producers = 128;
  queue->elements = new bench_queue::elements_queue(capacity, producers, 0);
  queue->places.signal(capacity);
}

static inline bench_sender bench_sender_of(bench_queue *queue) {
  return {queue, moodycamel::ProducerToken(*queue->elements)};
}

static inline bench_receiver bench_receiver_of(bench_queue *queue) {
  return {queue, moodycamel::ConsumerToken(*queue->elements)};
}

static inline bool bench_try_send(bench_sender *sender, uint64_t value) {
  return sender->queue->elements->try_enqueue(sender->token, value);
}

static inline bool bench_try_recv(bench_receiver *receiver, uint64_t *value) {
  return receiver->queue->elements->try_dequeue(receiver->token, *value);
}

static inline void bench_send(bench_sender *sender, uint64_t value) {
#ifndef ENGINE_UNBOUNDED
  while (!sender->queue->places.wait()) continue; // interrupted
#endif
  bench_require(sender->queue->elements->enqueue(sender->token, value), "there is memory");
}

static inline uint64_t bench_recv(bench_receiver *receiver) {
  uint64_t value = 0;
  receiver->queue->elements->wait_dequeue(receiver->token, value);
#ifndef ENGINE_UNBOUNDED
  receiver->queue->places.signal();
#endif
  return value;
}

#define BENCH_QUEUE_MPMC
#include "queue_loops.h"

#ifdef ENGINE_UNBOUNDED
static const char name[] = "unbounded";
#else
static const char name[] = "queue";
#endif

static const bench_workload workloads[] = {
    BENCH_QUEUE_WORKLOADS, BENCH_QUEUE_MPMC_WORKLOADS, {nullptr, nullptr}};

extern "C" const bench_engine BENCH_ENGINE = {name, version, workloads};

#endif
