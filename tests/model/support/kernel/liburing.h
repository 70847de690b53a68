// liburing.h for a model: as much of it as uring.c and uring_ring.c use, on the rings of model_kernel.hpp.
// Any use of a ring is an access to a VOLT_PLAIN: two threads that use it at once are reported.
#ifndef VOLT_MODEL_LIBURING_H
#define VOLT_MODEL_LIBURING_H

#include <signal.h>
#include <volt/base.h>
#include <volt/detail/atomic.h>

enum { MODEL_SQ = 4, MODEL_CQ = 8 };

enum {
  IORING_OP_POLL_ADD,
  IORING_OP_ASYNC_CANCEL,
  IORING_OP_RECV,
  IORING_OP_SEND,
  IORING_OP_RECVMSG,
  IORING_OP_SENDMSG,
  IORING_OP_ACCEPT,
  IORING_OP_CONNECT,
  IORING_OP_READ,
  IORING_OP_WRITE,
  IORING_OP_READV,
  IORING_OP_WRITEV,
  IORING_OP_FSYNC,
  IORING_OP_OPENAT,
  IORING_OP_SENDMSG_ZC
};
enum { IORING_SQ_CQ_OVERFLOW = 2, IORING_SQ_TASKRUN = 4 };
enum { IORING_CQE_F_MORE = 2 };
enum { IORING_FEAT_NODROP = 2, IORING_FEAT_EXT_ARG = 256 };
enum { IORING_REGISTER_ENABLE_RINGS = 12 };
enum {
  IORING_SETUP_CQSIZE = 8,
  IORING_SETUP_R_DISABLED = 64,
  IORING_SETUP_SUBMIT_ALL = 128,
  IORING_SETUP_TASKRUN_FLAG = 512,
  IORING_SETUP_SINGLE_ISSUER = 4096,
  IORING_SETUP_DEFER_TASKRUN = 8192
};

struct __kernel_timespec {
  int64_t tv_sec;
  long long tv_nsec;
};
struct io_uring_params {
  unsigned cq_entries, flags;
};
struct io_uring_probe {
  int unused;
};
struct io_uring_sqe {
  uint64_t user_data;
  uint64_t target; // of a cancel
  int opcode;
  int fd;
};
struct io_uring_cqe {
  uint64_t user_data;
  int32_t res;
  uint32_t flags;
};
struct io_uring_sq {
  VOLT_ATOMIC(uint32_t) *kflags;
  unsigned staged;
  struct io_uring_sqe sqes[MODEL_SQ];
};
struct io_uring_cq {
  unsigned *khead;
  unsigned head, tail, ring_mask;
  struct io_uring_cqe cqes[MODEL_CQ];
};
struct io_uring {
  struct io_uring_sq sq;
  struct io_uring_cq cq;
  unsigned features;
  int ring_fd;
  VOLT_PLAIN(uint32_t) uses;
};

#define IO_URING_READ_ONCE(word) volt_load_relaxed(&(word))

// model_kernel.cpp
int io_uring_queue_init_params(unsigned entries, struct io_uring *ring,
                               struct io_uring_params *params);
void io_uring_queue_exit(struct io_uring *ring);
int io_uring_submit_and_get_events(struct io_uring *ring);
int io_uring_submit_and_wait_timeout(struct io_uring *ring, struct io_uring_cqe **cqe,
                                     unsigned count, struct __kernel_timespec *timeout,
                                     sigset_t *mask);
struct io_uring_sqe *io_uring_get_sqe(struct io_uring *ring);

static inline struct io_uring_probe *io_uring_get_probe_ring(struct io_uring *) {
  static struct io_uring_probe probe;
  return &probe;
}
static inline bool io_uring_opcode_supported(const struct io_uring_probe *, int) {
  return true;
}
static inline void io_uring_free_probe(struct io_uring_probe *) {
}
static inline int io_uring_ring_dontfork(struct io_uring *) {
  return 0;
}
static inline int io_uring_register(unsigned, unsigned, const void *, unsigned) {
  return 0;
}
static inline int io_uring_register_ring_fd(struct io_uring *) {
  return 1;
}
static inline int io_uring_unregister_ring_fd(struct io_uring *) {
  return 1;
}

static inline void io_uring_sqe_set_data64(struct io_uring_sqe *sqe, uint64_t data) {
  sqe->user_data = data;
}
static inline void io_uring_sqe_set_data(struct io_uring_sqe *sqe, void *data) {
  sqe->user_data = reinterpret_cast<uint64_t>(data);
}
static inline void io_uring_prep_cancel64(struct io_uring_sqe *sqe, uint64_t target, int) {
  sqe->opcode = IORING_OP_ASYNC_CANCEL;
  sqe->target = target;
}
static inline void io_uring_prep_cancel(struct io_uring_sqe *sqe, const void *target, int flags) {
  io_uring_prep_cancel64(sqe, reinterpret_cast<uint64_t>(target), flags);
}
static inline void io_uring_prep_poll_multishot(struct io_uring_sqe *sqe, int fd, unsigned) {
  sqe->opcode = IORING_OP_POLL_ADD;
  sqe->fd = fd;
}
static inline unsigned io_uring_sq_ready(const struct io_uring *ring) {
  return ring->sq.staged;
}
static inline unsigned io_uring_cq_ready(const struct io_uring *ring) {
  return ring->cq.tail - *ring->cq.khead;
}
static inline void io_uring_cq_advance(struct io_uring *ring, unsigned count) {
  ring->uses += 1;
  *ring->cq.khead += count;
}

#endif
