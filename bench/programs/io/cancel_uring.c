/* cancel_uring.c: the limit of cancel.h by io_uring: each receive is linked to a timeout. */
#include <fcntl.h>
#include <liburing.h>

#include "cancel.h"

enum { ENTRIES = 4096, COMPLETIONS = 32768 };

static struct io_uring ring;

static struct io_uring_sqe *entry(void) {
  if (io_uring_sq_space_left(&ring) < 2) io_uring_submit(&ring);
  return io_uring_get_sqe(&ring);
}

/* A receive and its timeout end with a completion each. The kernel looks for what a linked timeout
 * has to cancel by its data: so no two receives have the same. */
static void receive(unsigned number, int fd, char *into, struct __kernel_timespec *until) {
  struct io_uring_sqe *sqe = entry();
  io_uring_prep_recv(sqe, fd, into, 64, 0);
  sqe->flags |= IOSQE_IO_LINK;
  io_uring_sqe_set_data64(sqe, 2 * number);
  sqe = io_uring_get_sqe(&ring);
  io_uring_prep_link_timeout(sqe, until, IORING_TIMEOUT_ABS);
  io_uring_sqe_set_data64(sqe, 2 * number + 1);
}

static void await_all(unsigned receives) {
  for (unsigned left = 2 * receives; left > 0;) {
    struct io_uring_cqe *cqe;
    unsigned head, seen = 0;
    io_uring_submit_and_wait(&ring, 1);
    io_uring_for_each_cqe(&ring, head, cqe) {
      seen++;
      if (io_uring_cqe_get_data64(cqe) % 2 == 0 && cqe->res != -ECANCELED && cqe->res != -EINTR) {
        cancel_fail("a receive has ended by itself");
      }
    }
    io_uring_cq_advance(&ring, seen);
    left -= seen;
  }
}

int main(int count, char **values) {
  cancel_options o = cancel_take_options(count, values);
  struct io_uring_params parameters = {
      .flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_CQSIZE,
      .cq_entries = COMPLETIONS};
  if (io_uring_queue_init_params(ENTRIES, &ring, &parameters) != 0) cancel_fail("no ring");
  int *fds = (int *)calloc(o.tasks, sizeof *fds);
  char *bytes = (char *)calloc(o.tasks, 64);
  if (!fds || !bytes) cancel_fail("calloc");
  for (unsigned i = 0; i < o.tasks; i++) {
    fds[i] = cancel_socket();
    int flags = fcntl(fds[i], F_GETFL);
    fcntl(fds[i], F_SETFL, flags & ~O_NONBLOCK); /* else the kernel does not wait */
  }
  uint64_t until = cancel_now() + CANCEL_NS;
  struct __kernel_timespec at = {.tv_sec = (long long)(until / 1000000000u),
                                 .tv_nsec = (long long)(until % 1000000000u)};
  for (unsigned i = 0; i < o.tasks; i++) receive(i, fds[i], bytes + (size_t)i * 64, &at);
  io_uring_submit(&ring);
  cancel_started(until);
  await_all(o.tasks);
  cancel_say("io_uring", until);
  return 0;
}
