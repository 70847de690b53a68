/* queue_loops.h: the workloads of a queue of 64-bit numbers between threads: alone-chan, spsc,
 * pingpong and, the same, chan-pingpong; and mpmc where BENCH_QUEUE_MPMC is defined.
 *
 * Who includes it has defined
 *   bench_queue, bench_queue_init(queue, capacity): for so many elements
 *   bench_sender, bench_receiver: a thread's own access to it: bench_sender_of(queue),
 *     bench_receiver_of(queue)
 *   bench_try_send(sender, value), bench_try_recv(receiver, value pointer): whether it did
 *   bench_send(sender, value), bench_recv(receiver): waits until it can */
#ifndef VOLT_BENCH_QUEUE_LOOPS_H
#define VOLT_BENCH_QUEUE_LOOPS_H

#include "threads.h"

static struct bench_cushioned {
  VOLT_CACHE_ALIGNED bench_queue queue;
} bench_queues[2]; /* pingpong has two */

/* ---- one thread ---- */

static void bench_queue_march(bench_member *m) {
  bench_queue *queue = (bench_queue *)m->object;
  bench_sender sender = bench_sender_of(queue);
  bench_receiver receiver = bench_receiver_of(queue);
  uint64_t value = 0, sum = 0, wrong = 0;
  for (uint64_t i = 0; i < m->operations; i++) {
    wrong += !bench_try_send(&sender, i);
    wrong += !bench_try_recv(&receiver, &value);
    sum += value;
  }
  m->sum = sum;
  m->wrong += wrong;
}

static bench_outcome bench_queue_alone(const bench_options *o) {
  static bench_crew crew;
  bench_queue_init(&bench_queues[0].queue, (uint32_t)o->amount);
  bench_outcome outcome = bench_march(&crew, o, &bench_queues[0].queue, bench_queue_march);
  const bench_member *m = &crew.members[0];
  bench_require(m->wrong == 0 && m->sum == o->operations * (o->operations - 1) / 2,
                "what was sent is received");
  return outcome;
}

/* ---- one sends, one receives ---- */

static void bench_queue_pass(bench_member *m) {
  bench_queue *queue = (bench_queue *)m->object;
  if (m->index == 0) {
    bench_sender sender = bench_sender_of(queue);
    for (uint64_t i = 0; i < m->operations; i++) bench_send(&sender, i);
  } else {
    bench_receiver receiver = bench_receiver_of(queue);
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < m->operations; i++) wrong += bench_recv(&receiver) != i;
    m->wrong += wrong;
  }
}

static bench_outcome bench_queue_spsc(const bench_options *o) {
  static bench_crew crew;
  bench_queue_init(&bench_queues[0].queue, (uint32_t)o->amount);
  bench_outcome outcome = bench_march(&crew, o, &bench_queues[0].queue, bench_queue_pass);
  bench_require(crew.members[1].wrong == 0, "what was sent is received in order");
  outcome.ns *= 2; /* an element is two operations */
  outcome.cpu_ns *= 2;
  return outcome;
}

/* Member 0 serves. */
static void bench_queue_play(bench_member *m) {
  struct bench_cushioned *queues = (struct bench_cushioned *)m->object;
  bench_receiver mine = bench_receiver_of(&queues[m->index].queue);
  bench_sender others = bench_sender_of(&queues[1 - m->index].queue);
  uint64_t wrong = 0;
  for (uint64_t i = 0; i < m->operations; i++) {
    if (m->index == 0) bench_send(&others, i);
    wrong += bench_recv(&mine) != i;
    if (m->index == 1) bench_send(&others, i);
  }
  m->wrong += wrong;
}

static bench_outcome bench_queue_pingpong(const bench_options *o) {
  static bench_crew crew;
  for (unsigned i = 0; i < 2; i++) bench_queue_init(&bench_queues[i].queue, 1);
  bench_outcome outcome = bench_march(&crew, o, bench_queues, bench_queue_play);
  for (unsigned i = 0; i < 2; i++) {
    bench_require(crew.members[i].wrong == 0, "what was sent is received in order");
  }
  return outcome;
}

#define BENCH_QUEUE_WORKLOADS                                    \
  {"alone-chan", bench_queue_alone}, {"spsc", bench_queue_spsc}, \
      {"pingpong", bench_queue_pingpong}, {                      \
    "chan-pingpong", bench_queue_pingpong                        \
  }

/* ---- half of them send, half receive ---- */
#ifdef BENCH_QUEUE_MPMC

static void bench_queue_crowd(bench_member *m) {
  bench_queue *queue = (bench_queue *)m->object;
  uint64_t first = m->index / 2 * m->operations, sum = 0;
  if (m->index % 2 == 0) {
    bench_sender sender = bench_sender_of(queue);
    for (uint64_t i = 0; i < m->operations; i++) bench_send(&sender, first + i);
  } else {
    bench_receiver receiver = bench_receiver_of(queue);
    for (uint64_t i = 0; i < m->operations; i++) sum += bench_recv(&receiver);
  }
  m->sum = sum;
}

static bench_outcome bench_queue_mpmc(const bench_options *o) {
  static bench_crew crew;
  bench_queue_init(&bench_queues[0].queue, (uint32_t)o->amount);
  bench_outcome outcome = bench_march(&crew, o, &bench_queues[0].queue, bench_queue_crowd);
  uint64_t elements = o->operations * (o->tasks / 2), sum = 0;
  for (unsigned i = 0; i < o->tasks; i++) sum += crew.members[i].sum;
  bench_require(sum == elements * (elements - 1) / 2, "what was sent is received");
  outcome.ns *= 2; /* an element is two operations */
  outcome.cpu_ns *= 2;
  return outcome;
}

#define BENCH_QUEUE_MPMC_WORKLOADS \
  { "mpmc", bench_queue_mpmc }

#endif
#endif
