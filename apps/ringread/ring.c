/* ring.c: one io_uring for many threads.
 *
 * Algorithm
 *   Submitting: an operation is a node in a queue of batched critical sections. The consumer fills
 *   in an SQE for each node. It calls io_uring_enter when it sees no further node, or when the SQ
 *   is full.
 *   Waiting: one of the waiting threads, the holder of a mutex, is the reaper. It takes every entry
 *   of the CQ, completes the operations, and sleeps in the kernel when the CQ is empty, until its
 *   own operation is completed; then it unlocks. The other threads wait with one parker for two
 *   things: that their operation is completed, and that they are the next reaper. A thread whose
 *   operation is completed does not need the mutex any more: it cancels. If the grant came first,
 *   its waker has unlocked the mutex again, on the granting thread; so a thread is never woken only
 *   to unlock.
 * An operation lives on its owner's stack. It ends twice, in either order: COMPLETED (the reaper
 * has its result) and RETURNED (the queue does not use its node any more). The thread that sets the
 * second one unparks the owner, once; a grant of the mutex unparks it, too. So the owner knows how
 * many unparks are due (1, or 2 with a grant), and returns when they have come: no thread can reach
 * its stack then.
 *
 * Invariants
 *   I1  operations between acquire and release of `room` <= entries of the CQ: it never overflows,
 *       and a thread that holds a permit waits for no other permit
 *   I2  only the consumer (or the holder of `lock`) uses the SQ, only the reaper the CQ
 *   I3  an operation that the kernel has, or has completed, and that is not COMPLETED here has an
 *       owner that is the reaper, or is queued to be, or is on its way there without waiting
 *   I4  a reaper that sleeps in the kernel has an operation of its own to come
 *   I5  only the reaper sets COMPLETED
 * No completion is left without a thread that takes it: its owner is one of the three of I3. If the
 * owner is queued, another thread is the reaper. A reaper that sleeps is woken by this completion,
 * too, and takes it; a reaper that is about to unlock makes the oldest in the queue the reaper,
 * which looks into the CQ first.
 *
 * Races
 *   R1  Interleaving: the reaper sees an empty CQ; an operation completes; the reaper sleeps.
 *       Prevented by: the kernel counts the entries itself before it sleeps, and only the reaper
 *       removes any.
 *   R2  Interleaving: the reaper takes the last entry that it needs; another comes; it unlocks.
 *       Prevented by: the next reaper looks into the CQ first (see above).
 *   R3  Interleaving: an owner is completed while the mutex is being granted to it; it returns, and
 *       no thread reaps. Prevented by: the grant decides. If the operation is COMPLETED, the waker
 *       unlocks; else the owner is the reaper, and only the owner can complete the operation (I5).
 *       The owner concludes the same from COMPLETED, and learns from cancel whether the waker has
 *       been or will be called.
 *   R4  Interleaving: a thread becomes the reaper with its operation COMPLETED, and sleeps in the
 *       kernel for ever. Prevented by: the reaper looks at its own operation first.
 *   R5  Interleaving: the reaper sleeps for an operation that is still in the queue. Prevented by:
 *       the consumer fills in and flushes without waiting for the reaper (I1: the CQ has room).
 *   R6  Interleaving: the owner is completed and returns, and its next operation has the same node
 *       while the consumer still reads it. Prevented by: it returns when COMPLETED and RETURNED.
 *   R7  Interleaving: an owner is completed and releases its permit; a new operation completes into
 *       a CQ whose entry is not free yet. Prevented by: the entry is given back before COMPLETED.
 *   R8  Interleaving: the submitting thread ends, and the kernel cancels what that thread has
 *       submitted for others and what has not begun: -ECANCELED. Prevented by the caller: ring.h.
 *
 * Pairs
 *   E1 (acq_rel) -> E1, E2 (acquire)   the owner sees the result; the thread that sets the second
 *                                      end is the last to touch the operation, but for the unpark
 *   K1 (release) -> K2 (acquire)       the reaper sees the operation that the consumer has
 *                                      submitted (the kernel orders this; C does not know it) */
#define _GNU_SOURCE /* liburing.h */
#include "ring.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <volt/park.h>

#include "common/program.h"
#include "ringread.h"

#define COMPLETED 1u
#define RETURNED 2u

struct operation {
  volt_bcs_node node;
  struct ring *ring;
  ring_fill *fill;
  void *ctx;
  int result; /* the reaper writes it before COMPLETED */
  VOLT_ATOMIC(uint32_t) ends;
  volt_parker parker;
};

int ring_init(struct ring *ring, unsigned entries, enum ring_submission submission) {
  memset(ring, 0, sizeof *ring);
  ring->submission = submission;
  int error = io_uring_queue_init(entries, &ring->uring, 0);
  if (error != 0) return error;
  volt_sem_init(&ring->room, *ring->uring.cq.kring_entries);
  volt_bcs_waitfree_init(&ring->queue);
  volt_mutex_init(&ring->reaper);
  return -pthread_mutex_init(&ring->lock, NULL);
}

void ring_destroy(struct ring *ring) {
  pthread_mutex_destroy(&ring->lock);
  volt_mutex_destroy(&ring->reaper);
  volt_sem_destroy(&ring->room);
  io_uring_queue_exit(&ring->uring);
}

struct ring_calls ring_calls(const struct ring *ring) {
  return (struct ring_calls){.submit = ring->submit_calls, .wait = ring->wait_calls};
}

/* ---- the two ends of an operation ---- */

static bool is_completed(struct operation *operation) {
  return volt_load_acquire(&operation->ends) & COMPLETED; /* E2: pairs E1 */
}

/* Returns true if that was the second end: the owner is to be unparked, and waits for it. */
static bool end(struct operation *operation, uint32_t which) {
  uint32_t before = volt_fetch_or_acq_rel(&operation->ends, which); /* E1: pairs E1, E2 */
  return (before | which) == (COMPLETED | RETURNED);
}

/* ---- the submission side ---- */

/* Whether the same call may succeed later. */
static bool is_passing(int error) {
  return error == -EINTR || error == -EAGAIN || error == -EBUSY;
}

/* Hand to the kernel what is in the SQ: with one call, unless it takes less than all. */
static void flush(void *ctx) {
  struct ring *ring = ctx;
  /* relaxed: the consumer's own; K1 publishes what it has filled in */
  uint64_t so_far = volt_load_relaxed(&ring->submitted);
  volt_store_release(&ring->submitted, so_far + io_uring_sq_ready(&ring->uring)); /* K1: pairs K2 */
  while (io_uring_sq_ready(&ring->uring) > 0) {
    int taken = io_uring_submit(&ring->uring);
    ring->submit_calls += 1;
    if (taken > 0) continue;
    if (taken < 0 && !is_passing(taken)) fatal("io_uring_enter: %s", strerror(-taken));
    sched_yield();
  }
}

static void fill_in(struct ring *ring, struct operation *operation) {
  struct io_uring_sqe *sqe = io_uring_get_sqe(&ring->uring);
  if (sqe == NULL) {
    flush(ring);
    sqe = io_uring_get_sqe(&ring->uring);
  }
  operation->fill(sqe, operation->ctx);
  io_uring_sqe_set_data(sqe, operation);
}

static struct operation *operation_of(volt_bcs_node *node) {
  return volt_container_of(node, struct operation, node);
}

static void handle(volt_bcs_node *node, void *ctx) {
  fill_in(ctx, operation_of(node));
}

static void done(volt_bcs_node *node, void *ctx) {
  (void)ctx;
  struct operation *operation = operation_of(node);
  if (end(operation, RETURNED)) volt_unpark(&operation->parker);
}

static void submit(struct ring *ring, struct operation *operation) {
  static const volt_bcs_ops ops = {.handle = handle, .done = done, .flush = flush};
  if (ring->submission == RING_BCS) {
    volt_bcs_waitfree_submit_ops(&ring->queue, &operation->node, &ops, ring);
    return;
  }
  pthread_mutex_lock(&ring->lock);
  fill_in(ring, operation);
  flush(ring);
  pthread_mutex_unlock(&ring->lock);
  done(&operation->node, ring);
}

/* ---- the completion side ---- */

/* Take every entry there is. Returns false if there was none. */
static bool take_entries(struct ring *ring, volt_unpark_list *completed) {
  struct io_uring_cqe *cqe;
  bool any = false;
  while (io_uring_peek_cqe(&ring->uring, &cqe) == 0) {
    (void)volt_load_acquire(&ring->submitted); /* K2: pairs K1 */
    struct operation *operation = io_uring_cqe_get_data(cqe);
    operation->result = cqe->res;
    io_uring_cqe_seen(&ring->uring, cqe); /* R7 */
    if (end(operation, COMPLETED)) volt_unpark_later(&operation->parker, completed);
    any = true;
  }
  return any;
}

static void sleep_for_entry(struct ring *ring) {
  int error = io_uring_enter((unsigned)ring->uring.ring_fd, 0, 1, IORING_ENTER_GETEVENTS, NULL);
  ring->wait_calls += 1;
  if (error < 0 && !is_passing(error)) fatal("io_uring_enter: %s", strerror(-error));
}

/* The caller is the reaper. */
static void reap_until(struct ring *ring, struct operation *operation) {
  volt_unpark_list completed = {.count = 0};
  while (!is_completed(operation)) { /* R4 */
    if (take_entries(ring, &completed)) {
      volt_unpark_all(&completed);
    } else {
      sleep_for_entry(ring);
    }
  }
}

/* A grant of the mutex, on the thread that unlocks it. If it unlocks in turn, the next grant runs
 * inside this one: as deep as there are threads, at most. */
static void become_reaper(void *ctx) {
  struct operation *operation = ctx;
  if (is_completed(operation)) volt_mutex_unlock(&operation->ring->reaper); /* R3 */
  volt_unpark(&operation->parker);
}

static void wait_for(struct ring *ring, struct operation *operation) {
  volt_waiter waiter = VOLT_WAITER_INIT;
  volt_waker waker = {become_reaper, operation};
  uint32_t unparks = 1;
  /* a reaper may be about to complete it: to let it run is cheaper than to sleep in the queue */
  if (!is_completed(operation) && volt_mutex_is_locked(&ring->reaper)) sched_yield();
  bool reaper = !is_completed(operation);
  if (reaper && volt_mutex_lock_waiter(&ring->reaper, &waiter, waker) != VOLT_OK) {
    volt_park_until(&operation->parker, 1, VOLT_NO_DEADLINE);
    reaper = !is_completed(operation); /* then it was a grant that has unparked us */
    if (reaper || !volt_mutex_cancel(&ring->reaper, &waiter)) unparks += 1;
  }
  if (reaper) {
    reap_until(ring, operation);
    volt_mutex_unlock(&ring->reaper);
  }
  volt_park_until(&operation->parker, unparks, VOLT_NO_DEADLINE);
}

int ring_run(struct ring *ring, ring_fill *fill, void *ctx) {
  int result = volt_sem_acquire(&ring->room, 1); /* I1 */
  if (result != VOLT_OK) fatal("volt_sem_acquire_until: %s", volt_strerror(result));
  struct operation operation = {.ring = ring, .fill = fill, .ctx = ctx, .parker = VOLT_PARKER_INIT};
  submit(ring, &operation);
  wait_for(ring, &operation);
  volt_sem_release(&ring->room, 1);
  return operation.result;
}
