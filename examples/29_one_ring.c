/* 29_one_ring.c: sixteen threads read a file through one io_uring, whose submission queue has four entries.
 * A mutex admits one submitter at a time, permits keep the completion queue from overflowing, and one
 * thread takes completions and wakes the thread that waits for each. Ends with 77 without io_uring.
 *
 *   cc -std=c11 29_one_ring.c $(pkg-config --cflags --libs volt-sync liburing)
 *
 * prints: 16 threads read 3200 blocks, 3200 of them right; 0 overflows */
#define _GNU_SOURCE /* liburing.h */
#include <liburing.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <volt/volt.h>

enum { THREADS = 16, READS = 200, BLOCKS = 64, BLOCK = 512, ENTRIES = 4, SKIPPED = 77 };

struct ring {
  struct io_uring uring;
  volt_mutex submitting; /* the submission queue is the owner's */
  volt_sem room;         /* a permit is an entry of the completion queue */
  atomic_uint submitted; /* C does not know that a submission is before its completion */
  int overflows;         /* the reaper's */
  pthread_t reaper;
};

/* An operation, on the stack of the thread that waits for it. */
struct request {
  volt_promise done;
  int result;
};

static void must(int error, const char *what) { /* 0: success, of volt, pthreads and liburing */
  if (error == 0) return;
  fprintf(stderr, "%s: error %d\n", what, error);
  exit(EXIT_FAILURE);
}

/* ---- the ring ---- */

/* Begin a submission, with a permit. The submission queue is the caller's until submit(). */
static struct io_uring_sqe *begin(struct ring *ring) {
  volt_mutex_lock(&ring->submitting);
  return io_uring_get_sqe(&ring->uring); /* not NULL: each entry is submitted at once */
}

static void submit(struct ring *ring, struct io_uring_sqe *sqe, struct request *request) {
  int taken;
  io_uring_sqe_set_data(sqe, request);
  atomic_fetch_add(&ring->submitted, 1);
  do { /* an entry that is not taken stays in the queue */
    taken = io_uring_submit(&ring->uring);
  } while (taken == -EINTR || taken == -EAGAIN);
  volt_mutex_unlock(&ring->submitting);
  must(taken - 1, "io_uring_submit");
}

/* The only thread that uses the completion queue. */
static void *reap(void *arg) {
  struct ring *ring = arg;
  for (;;) {
    struct io_uring_cqe *cqe;
    int error = io_uring_wait_cqe(&ring->uring, &cqe);
    if (error == -EINTR) continue;
    must(error, "io_uring_wait_cqe");
    (void)atomic_load(&ring->submitted);
    ring->overflows += io_uring_cq_has_overflow(&ring->uring);
    struct request *request = io_uring_cqe_get_data(cqe);
    int result = cqe->res;
    io_uring_cqe_seen(&ring->uring, cqe); /* the entry is free before its permit is */
    if (request == NULL) return NULL;
    request->result = result;
    volt_promise_complete(&request->done, VOLT_OK);
  }
}

/* As pread(), for any number of threads, but that a failure is a negative errno. */
static int ring_read(struct ring *ring, int fd, void *to, unsigned bytes, off_t offset) {
  struct request request = {.done = VOLT_PROMISE_INIT(NULL)};
  volt_future completion;
  must(volt_sem_acquire(&ring->room, 1), "room");
  struct io_uring_sqe *sqe = begin(ring);
  io_uring_prep_read(sqe, fd, to, bytes, (__u64)offset);
  submit(ring, sqe, &request);
  must(volt_future_wait(volt_promise_future(&completion, &request.done)), "completion");
  volt_sem_release(&ring->room, 1);
  return request.result;
}

static void ring_open(struct ring *ring) {
  int error = io_uring_queue_init(ENTRIES, &ring->uring, 0);
  if (error == -ENOSYS || error == -EPERM || error == -ENOMEM) {
    fprintf(stderr, "skipped: this system refuses io_uring: %s\n", strerror(-error));
    exit(SKIPPED);
  }
  must(error, "io_uring_queue_init");
  volt_mutex_init(&ring->submitting);
  volt_sem_init(&ring->room, *ring->uring.cq.kring_entries);
  must(pthread_create(&ring->reaper, NULL, reap, ring), "pthread_create");
}

static void ring_close(struct ring *ring) {
  must(volt_sem_acquire(&ring->room, 1), "room");
  struct io_uring_sqe *sqe = begin(ring);
  io_uring_prep_nop(sqe);
  submit(ring, sqe, NULL); /* without a request: the reaper ends */
  must(pthread_join(ring->reaper, NULL), "pthread_join");
  io_uring_queue_exit(&ring->uring);
}

/* ---- a program that uses it ---- */

static struct ring ring;
static int file;
static atomic_uint right;

static void *read_blocks(void *arg) {
  unsigned number = *(unsigned *)arg;
  unsigned char buffer[BLOCK], expected[BLOCK];
  for (unsigned i = 0; i < READS; i++) {
    unsigned block = (number + i * 7) % BLOCKS;
    memset(expected, (int)block, BLOCK);
    int bytes = ring_read(&ring, file, buffer, BLOCK, (off_t)block * BLOCK);
    if (bytes == BLOCK && memcmp(buffer, expected, BLOCK) == 0) atomic_fetch_add(&right, 1);
  }
  return NULL;
}

int main(void) {
  pthread_t threads[THREADS];
  unsigned numbers[THREADS];
  FILE *blocks = tmpfile();
  must(blocks == NULL, "tmpfile");
  for (int i = 0; i < BLOCKS * BLOCK; i++) fputc(i / BLOCK, blocks);
  must(fflush(blocks), "fflush");
  file = fileno(blocks);
  ring_open(&ring);
  for (unsigned i = 0; i < THREADS; i++) {
    numbers[i] = i;
    must(pthread_create(&threads[i], NULL, read_blocks, &numbers[i]), "pthread_create");
  }
  for (int i = 0; i < THREADS; i++) must(pthread_join(threads[i], NULL), "pthread_join");
  ring_close(&ring);
  fclose(blocks);
  printf("%d threads read %d blocks, %u of them right; ", THREADS, THREADS * READS, right);
  printf("%d overflows\n", ring.overflows);
}
