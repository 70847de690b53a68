/* ck.c: what Concurrency Kit has, each an engine of its own: compiled for each, with ENGINE_<NAME>
 * defined. None of them sleeps. */
#include <ck_pflock.h>
#include <ck_ring.h>
#include <ck_rwlock.h>
#include <ck_spinlock.h>
#include <ck_tflock.h>
#include <sched.h>
#include <stdlib.h>

#include "threads.h"

static const char *version(void) {
  return "ck " VERSION_TEXT;
}

#if defined(ENGINE_FAS) || defined(ENGINE_TICKET) || defined(ENGINE_MCS)
/* Spinlocks; "ticket" and "mcs" serve in order. */

#if defined(ENGINE_TICKET)

static const char name[] = "ticket";
typedef ck_spinlock_ticket_t bench_lock;
typedef int bench_place;

static inline void bench_lock_init(bench_lock *lock) {
  ck_spinlock_ticket_init(lock);
}

static inline void bench_lock_take(bench_lock *lock, bench_place *place) {
  (void)place;
  ck_spinlock_ticket_lock(lock);
}

static inline void bench_lock_give(bench_lock *lock, bench_place *place) {
  (void)place;
  ck_spinlock_ticket_unlock(lock);
}

#elif defined(ENGINE_MCS)

static const char name[] = "mcs";
typedef ck_spinlock_mcs_t bench_lock; /* the end of the queue */
typedef ck_spinlock_mcs_context_t bench_place;

static inline void bench_lock_init(bench_lock *lock) {
  ck_spinlock_mcs_init(lock);
}

static inline void bench_lock_take(bench_lock *lock, bench_place *place) {
  ck_spinlock_mcs_lock(lock, place);
}

static inline void bench_lock_give(bench_lock *lock, bench_place *place) {
  ck_spinlock_mcs_unlock(lock, place);
}

#else

static const char name[] = "fas";
typedef ck_spinlock_fas_t bench_lock;
typedef int bench_place;

static inline void bench_lock_init(bench_lock *lock) {
  ck_spinlock_fas_init(lock);
}

static inline void bench_lock_take(bench_lock *lock, bench_place *place) {
  (void)place;
  ck_spinlock_fas_lock(lock);
}

static inline void bench_lock_give(bench_lock *lock, bench_place *place) {
  (void)place;
  ck_spinlock_fas_unlock(lock);
}

#endif

#include "lock_loops.h"

static const bench_workload workloads[] = {BENCH_LOCK_WORKLOADS, {NULL, NULL}};

const bench_engine BENCH_ENGINE = {name, version, workloads};

#elif defined(ENGINE_RWLOCK) || defined(ENGINE_TFLOCK) || defined(ENGINE_PFLOCK)
/* Read-write locks: "rwlock" prefers writers; "tflock" serves in order; in "pflock" readers and
 * writers take turns. */

typedef int bench_rw_place;

#if defined(ENGINE_TFLOCK)
static const char name[] = "tflock";
typedef ck_tflock_ticket_t bench_rw;
#define CK_RW(operation) ck_tflock_ticket_##operation
#elif defined(ENGINE_PFLOCK)
static const char name[] = "pflock";
typedef ck_pflock_t bench_rw;
#define CK_RW(operation) ck_pflock_##operation
#else
static const char name[] = "rwlock";
typedef ck_rwlock_t bench_rw;
#define CK_RW(operation) ck_rwlock_##operation
#endif

static inline void bench_rw_init(bench_rw *rw) {
  CK_RW(init)(rw);
}

static inline void bench_rw_read(bench_rw *rw, bench_rw_place *place) {
  (void)place;
  CK_RW(read_lock)(rw);
}

static inline void bench_rw_read_end(bench_rw *rw, bench_rw_place *place) {
  (void)place;
  CK_RW(read_unlock)(rw);
}

static inline void bench_rw_write(bench_rw *rw, bench_rw_place *place) {
  (void)place;
  CK_RW(write_lock)(rw);
}

static inline void bench_rw_write_end(bench_rw *rw, bench_rw_place *place) {
  (void)place;
  CK_RW(write_unlock)(rw);
}

#include "rwlock_loops.h"

static const bench_workload workloads[] = {BENCH_RW_WORKLOADS, {NULL, NULL}};

const bench_engine BENCH_ENGINE = {name, version, workloads};

#elif defined(ENGINE_RING)
/* The ring, which never waits: who finds it full or empty spins. One thread that sends to itself uses the form for many producers and many consumers, as
 * other queues are, too; one of each uses the form that is for one of each. With more threads than
 * cores the form for many spins for who is not running, for seconds: no mpmc.
 *
 * Now and then who spins yields: the other one may be waiting for this core.
 *
 * A ring of a power of two holds one element less: it gets the smallest that holds the capacity. */

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

static const bench_workload workloads[] = {BENCH_QUEUE_WORKLOADS, {NULL, NULL}};

const bench_engine BENCH_ENGINE = {"ring", version, workloads};

#endif
