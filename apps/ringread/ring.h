/* ring.h: one io_uring for many threads.
 *
 * Every thread calls ring_run() for itself and blocks until its operation is done, as if it had
 * made the system call alone. Underneath the operations of all of them go through one submission
 * queue, as many as there are with one io_uring_enter, and one of the waiting threads waits in the
 * kernel for all. There is no thread beside those of the callers.
 *
 *   static void fill(struct io_uring_sqe *sqe, void *ctx) { io_uring_prep_nop(sqe); }
 *   int result = ring_run(&ring, fill, NULL);
 *
 * The kernel ties an operation to the thread that has submitted it, which may be any: no thread may
 * end before every ring_run() has returned. */
#ifndef RINGREAD_RING_H
#define RINGREAD_RING_H

#include <liburing.h>
#include <pthread.h>
#include <stdint.h>
#include <volt/bcs_queue.h>
#include <volt/mutex.h>
#include <volt/semaphore.h>

/* How the threads share the submission side. */
enum ring_submission {
  RING_BCS,  /* batched critical sections: one system call for all that have come meanwhile */
  RING_MUTEX /* the plain form: a mutex around one system call for each */
};

/* Members are private. */
struct ring {
  enum ring_submission submission;
  struct io_uring
      uring;     /* its SQ half belongs to the submitting thread, its CQ half to the reaper */
  volt_sem room; /* a permit is an entry in the CQ */

  VOLT_CACHE_ALIGNED volt_bcs_waitfree queue; /* RING_BCS */
  pthread_mutex_t lock;                       /* RING_MUTEX */
  uint64_t submit_calls;                      /* the submitting thread's */
  VOLT_ATOMIC(uint64_t) submitted;

  VOLT_CACHE_ALIGNED volt_mutex reaper;
  uint64_t wait_calls; /* the reaper's */
};

/* io_uring_enter calls so far. */
struct ring_calls {
  uint64_t submit;
  uint64_t wait;
};

/* Fill in *sqe, all but its user_data. Called on any thread; must not block. */
typedef void ring_fill(struct io_uring_sqe *sqe, void *ctx);

/* Make a ring with so many submission entries (rounded up by the kernel).
 * Returns 0, or -errno: -ENOSYS, -EPERM and -EACCES if io_uring is not to be had here. */
int ring_init(struct ring *ring, unsigned entries, enum ring_submission submission);

/* Have one operation done; block until it is.
 * Returns what the kernel says: a count, or -errno. Threads: any that may block. */
int ring_run(struct ring *ring, ring_fill *fill, void *ctx);

/* How often the kernel was entered. Threads: any, while no thread is in ring_run(). */
struct ring_calls ring_calls(const struct ring *ring);

/* No thread may be in ring_run(). */
void ring_destroy(struct ring *ring);

#endif
