/* ck_ring.c: Concurrency Kit's ring, which never waits: who finds it full or empty spins. Engine
 * "ring". One thread that sends to itself uses the form for many producers and many consumers, as
 * other queues are, too; one of each uses the form that is for one of each. With more threads than
 * cores the form for many spins for who is not running, for seconds: no mpmc.
 *
 * Now and then who spins yields: the other one may be waiting for this core.
 *
 * A ring of a power of two holds one element less: it gets the smallest that holds the capacity. */
#include <ck_ring.h>
#include <sched.h>
#include <stdlib.h>

#include "crew.h"

typedef struct bench_queue {
  ck_ring_t ring;
  ck_ring_buffer_t *buffer;
} bench_queue;
typedef bench_queue *bench_sender;
typedef bench_queue *bench_receiver;

static inline void bench_queue_init(bench_queue *queue, uint32_t capacity) {
  unsigned size = 4; /* its least */
  while (size < capacity + 1) size *= 2;
  queue->buffer = (ck_ring_buffer_t *)calloc(size, sizeof *queue->buffer);
  bench_require(queue->buffer != NULL, "there is memory for a ring");
  ck_ring_init(&queue->ring, size);
}

static inline bench_sender bench_sender_of(bench_queue *queue) {
  return queue;
}

static inline bench_receiver bench_receiver_of(bench_queue *queue) {
  return queue;
}

static inline bool bench_try_send(bench_sender *sender, uint64_t value) {
  bench_queue *queue = *sender;
  return ck_ring_enqueue_mpmc(&queue->ring, queue->buffer, (void *)(uintptr_t)value);
}

static inline bool bench_try_recv(bench_receiver *receiver, uint64_t *value) {
  bench_queue *queue = *receiver;
  void *entry = NULL;
  bool taken = ck_ring_dequeue_mpmc(&queue->ring, queue->buffer, &entry);
  *value = (uintptr_t)entry;
  return taken;
}

static inline void look_again(unsigned *looks) {
  if (++*looks % 4096 == 0) {
    sched_yield();
  } else {
    ck_pr_stall();
  }
}

static inline void bench_send(bench_sender *sender, uint64_t value) {
  bench_queue *queue = *sender;
  void *entry = (void *)(uintptr_t)value;
  unsigned looks = 0;
  while (!ck_ring_enqueue_spsc(&queue->ring, queue->buffer, entry)) look_again(&looks);
}

static inline uint64_t bench_recv(bench_receiver *receiver) {
  bench_queue *queue = *receiver;
  void *entry = NULL;
  unsigned looks = 0;
  while (!ck_ring_dequeue_spsc(&queue->ring, queue->buffer, &entry)) look_again(&looks);
  return (uintptr_t)entry;
}

#include "queue_loops.h"

static const char *version(void) {
  return "ck " VERSION_TEXT;
}

static const bench_workload workloads[] = {BENCH_QUEUE_WORKLOADS, {NULL, NULL}};

const bench_engine BENCH_ENGINE = {"ring", version, workloads};
