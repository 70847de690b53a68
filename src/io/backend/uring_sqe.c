/* uring_sqe.c: what to ask of the system for an operation, and what its answer means.
 *
 * Most operations are one request: the system tries, waits until the descriptor is ready, and tries
 * again. Two cannot be. A descriptor with VOLT_FD_SHARED may block, so the system is asked to wait
 * only. And older systems answer EAGAIN for some kinds of non-blocking descriptors (pipes and
 * terminals before Linux 6.5), instead of waiting. There volt_op.step is POLL: the request is to
 * wait until the descriptor is ready, and then this thread makes the call, which does not wait
 * (call.c). If the call says EAGAIN, the operation is submitted again. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* liburing.h */
#endif
#include <errno.h>
#include <fcntl.h>
#include <poll.h>

#include "../op/op.h"
#include "../sys/sys.h"
#include "uring.h"

enum { URING_SQE_POLL = 1 }; /* volt_op.step */

/* What Linux moves at most in one call. */
#define URING_SQE_MOST 0x7ffff000u

/* How much of memory is left to move; of readv and writev, how many parts. */
static unsigned uring_sqe_left(const volt_op *op) {
  size_t left = op->size - op->n;
  return left < URING_SQE_MOST ? (unsigned)left : URING_SQE_MOST;
}

/* ---- to the system ---- */

/* recv() gives what is there, on every back end. */
static int uring_sqe_recv_flags(const volt_op *op) {
  return (int)op->flags & ~(MSG_DONTWAIT | MSG_WAITALL);
}

/* MSG_WAITALL: the system goes on after a short send to a stream. */
static int uring_sqe_send_flags(const volt_op *op) {
  return ((int)op->flags & ~MSG_DONTWAIT) | MSG_NOSIGNAL;
}

static uint64_t uring_sqe_at(const volt_op *op) {
  return op->at < 0 ? UINT64_MAX : (uint64_t)op->at; /* UINT64_MAX: its position */
}

static void uring_sqe_poll(struct io_uring_sqe *sqe, const volt_op *op) {
  uint32_t events = volt_op_events_(op);
  if (op->kind != VOLT_OP_READY_) events &= ~(uint32_t)POLLPRI; /* no call takes that */
  io_uring_prep_poll_add(sqe, op->fd->number, events);
}

/* What moves bytes between memory and a socket. */
static void uring_sqe_message(struct io_uring_sqe *sqe, const volt_op *op) {
  int fd = op->fd->number;
  char *rest = (char *)op->memory + op->n;
  unsigned left = uring_sqe_left(op);
  switch (op->kind) {
    case VOLT_OP_RECV_:
      io_uring_prep_recv(sqe, fd, op->memory, left, uring_sqe_recv_flags(op));
      break;
    case VOLT_OP_SEND_:
      io_uring_prep_send(sqe, fd, rest, left, uring_sqe_send_flags(op) | MSG_WAITALL);
      break;
    case VOLT_OP_RECVMSG_:
      io_uring_prep_recvmsg(sqe, fd, (struct msghdr *)op->memory,
                            (unsigned)uring_sqe_recv_flags(op) | MSG_CMSG_CLOEXEC);
      break;
    default:
      io_uring_prep_sendmsg(sqe, fd, (const struct msghdr *)op->memory,
                            (unsigned)uring_sqe_send_flags(op));
  }
}

/* What moves bytes between memory and any descriptor. */
static void uring_sqe_transfer(struct io_uring_sqe *sqe, const volt_op *op) {
  int fd = op->fd->number;
  unsigned left = uring_sqe_left(op);
  switch (op->kind) {
    case VOLT_OP_READ_: io_uring_prep_read(sqe, fd, op->memory, left, uring_sqe_at(op)); break;
    case VOLT_OP_WRITE_:
      io_uring_prep_write(sqe, fd, (char *)op->memory + op->n, left,
                          op->at < 0 ? UINT64_MAX : (uint64_t)op->at + op->n);
      break;
    case VOLT_OP_READV_:
      io_uring_prep_readv(sqe, fd, (const struct iovec *)op->memory, left, uring_sqe_at(op));
      break;
    default:
      io_uring_prep_writev(sqe, fd, (const struct iovec *)op->memory, left, uring_sqe_at(op));
  }
}

static void uring_sqe_open(struct io_uring_sqe *sqe, const volt_op *op) {
  io_uring_prep_openat(sqe, (int)op->at, (const char *)op->memory, (int)op->flags | O_CLOEXEC,
                       (mode_t)op->size);
}

void volt_uring_fill_in_(struct io_uring_sqe *sqe, volt_op *op) {
  if (op->fd && op->fd->kind == VOLT_FD_POLLED_) op->step = URING_SQE_POLL;
  if (op->step == URING_SQE_POLL) {
    uring_sqe_poll(sqe, op);
    return;
  }
  switch (op->kind) {
    case VOLT_OP_READY_: uring_sqe_poll(sqe, op); break;
    case VOLT_OP_CONNECT_:
      io_uring_prep_connect(sqe, op->fd->number, (const struct sockaddr *)op->memory,
                            (socklen_t)op->size);
      break;
    case VOLT_OP_ACCEPT_:
      io_uring_prep_accept(sqe, op->fd->number, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
      break;
    case VOLT_OP_SYNC_:
      io_uring_prep_fsync(sqe, op->fd->number,
                          op->flags & VOLT_FD_SYNC_DATA ? IORING_FSYNC_DATASYNC : 0);
      break;
    case VOLT_OP_OPEN_: uring_sqe_open(sqe, op); break;
    case VOLT_OP_READ_:
    case VOLT_OP_WRITE_:
    case VOLT_OP_READV_:
    case VOLT_OP_WRITEV_: uring_sqe_transfer(sqe, op); break;
    default: uring_sqe_message(sqe, op);
  }
}

/* ---- from the system ---- */

/* Whether an operation that has ended so has to wait until its descriptor is ready. */
static bool uring_sqe_has_to_poll(const volt_op *op, int result) {
  /* connect() was begun, and ended by the system before the connection was there */
  if (op->kind == VOLT_OP_CONNECT_) return result == -EALREADY || result == -EINPROGRESS;
  return result == -EAGAIN;
}

int volt_uring_result_(volt_op *op, int result) {
  if (op->kind == VOLT_OP_READY_) { /* the ring adds POLLRDHUP */
    int asked = result < 0 ? result : result & (int)volt_op_events_(op);
    return asked == 0 ? -EAGAIN : asked;
  }
  if (op->step == URING_SQE_POLL) return result < 0 ? result : (int)volt_op_call_(op);
  if (!uring_sqe_has_to_poll(op, result)) return result;
  op->step = URING_SQE_POLL;
  if (op->kind == VOLT_OP_CONNECT_) op->at = 1; /* call.c asks how it has ended */
  return -EAGAIN;
}
