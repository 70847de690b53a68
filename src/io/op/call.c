/* call.c: one system call of an operation. No state is shared here. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* POLLRDHUP */
#endif
#include <errno.h>
#include <limits.h>

#include "../sys/sys.h"
#include "fd.h"
#include "op.h"

/* Whether an accept() that fails so is to be tried again: the connection was aborted while it was
 * queued, or the network has failed for it alone (accept(2), "Error handling"). */
static bool call_skips(int error) {
  switch (error) {
    case ECONNABORTED:
    case EPROTO:
    case ENOPROTOOPT:
    case ENETDOWN:
    case ENONET:
    case EHOSTDOWN:
    case EHOSTUNREACH:
    case ENETUNREACH: return true;
    default: return false;
  }
}

static bool call_is_stream(const volt_op *op) {
  return op->kind == VOLT_OP_SEND_ || op->kind == VOLT_OP_WRITE_ || op->kind == VOLT_OP_SENDFILE_;
}

uint32_t volt_op_events_(const volt_op *op) {
  if (op->kind == VOLT_OP_READY_) return op->flags | POLLERR | POLLHUP;
  if (volt_op_is_of_(op, VOLT_OPS_SEND_)) return POLLOUT | POLLERR | POLLHUP;
  return POLLIN | POLLRDHUP | POLLPRI | POLLERR | POLLHUP;
}

/* ---- of each kind ---- */

/* A descriptor that blocks takes so much without blocking, if it is ready at all. */
static size_t call_at_most(const volt_op *op, size_t size) {
  return op->fd->kind == VOLT_FD_POLLED_ && size > PIPE_BUF ? PIPE_BUF : size;
}

static ssize_t call_write(volt_op *op, const volt_sys_ *sys, int fd) {
  off_t at = op->at < 0 ? -1 : (off_t)(op->at + (int64_t)op->n);
  struct iovec part = {(char *)op->memory + op->n, call_at_most(op, op->size - op->n)};
  return sys->writev(fd, &part, 1, at);
}

static ssize_t call_writev(volt_op *op, const volt_sys_ *sys, int fd) {
  const struct iovec *parts = (const struct iovec *)op->memory;
  if (op->fd->kind != VOLT_FD_POLLED_ || op->size == 0)
    return sys->writev(fd, parts, (int)op->size, (off_t)op->at);
  size_t first = 0;
  while (first + 1 < op->size && parts[first].iov_len == 0) first += 1;
  struct iovec part = {parts[first].iov_base, call_at_most(op, parts[first].iov_len)};
  return sys->writev(fd, &part, 1, (off_t)op->at);
}

static ssize_t call_connect(volt_op *op, const volt_sys_ *sys, int fd) {
  const struct sockaddr *to = (const struct sockaddr *)op->memory;
  socklen_t size = (socklen_t)op->size;
  bool has_begun = op->at || op->is_asked; /* asked: by the back end, before it goes by CALL */
  bool is_shared = op->fd->kind == VOLT_FD_POLLED_;
  int result = (has_begun ? sys->connected : sys->connect)(fd, to, size, is_shared);
  if (result != -EINPROGRESS) return result;
  op->at = 1; /* it goes on */
  return -EAGAIN;
}

static ssize_t call_ready(const volt_op *op, const volt_sys_ *sys, int fd) {
  int result = sys->ready(fd, (short)op->flags);
  return result == 0 ? -EAGAIN : result;
}

static ssize_t call_by_kind(volt_op *op, const volt_sys_ *sys, int fd) {
  char *memory = (char *)op->memory;
  int flags = (int)op->flags;
  switch (op->kind) {
    case VOLT_OP_RECV_: return sys->recv(fd, memory, op->size, flags);
    case VOLT_OP_SEND_: return sys->send(fd, memory + op->n, op->size - op->n, flags);
    case VOLT_OP_RECVMSG_: return sys->recvmsg(fd, (struct msghdr *)op->memory, flags);
    case VOLT_OP_SENDMSG_: return sys->sendmsg(fd, (const struct msghdr *)op->memory, flags);
    case VOLT_OP_CONNECT_: return call_connect(op, sys, fd);
    case VOLT_OP_ACCEPT_: return sys->accept(fd);
    case VOLT_OP_READY_: return call_ready(op, sys, fd);
    case VOLT_OP_SENDFILE_:
      return sys->sendfile(fd, op->other->number, (off_t)(op->at + (int64_t)op->n),
                           op->size - op->n);
    case VOLT_OP_READ_: {
      struct iovec part = {op->memory, op->size};
      return sys->readv(fd, &part, 1, (off_t)op->at);
    }
    case VOLT_OP_READV_:
      return sys->readv(fd, (const struct iovec *)op->memory, (int)op->size, (off_t)op->at);
    case VOLT_OP_WRITE_: return call_write(op, sys, fd);
    case VOLT_OP_WRITEV_: return call_writev(op, sys, fd);
    case VOLT_OP_SYNC_: return sys->sync(fd, (int)op->flags);
    default: return -EINVAL;
  }
}

bool volt_op_is_possible_(const volt_op *op) {
  const volt_fd *d = op->fd;
  uint32_t events = volt_op_events_(op) & ~(uint32_t)(POLLERR | POLLHUP);
  return d->io->sys->ready(d->number, (short)events) != 0;
}

ssize_t volt_op_call_(volt_op *op) {
  volt_fd *d = op->fd;
  if (d->kind == VOLT_FD_POLLED_ && op->kind != VOLT_OP_READY_ && op->kind != VOLT_OP_SYNC_ &&
      !volt_op_is_possible_(op)) {
    return -EAGAIN;
  }
  return call_by_kind(op, d->io->sys, d->number);
}

/* ---- what it has done ---- */

int volt_op_opened_(volt_op *op, int number, int *kind) {
  const volt_sys_ *sys = op->fd->io->sys;
  *kind = VOLT_FD_NONE_;
  if (op->kind != VOLT_OP_OPEN_ || number < 0) return number;
  *kind = volt_fd_prepare_(sys, number);
  if (*kind >= 0) return number;
  sys->close(number);
  return *kind;
}

bool volt_op_take_(volt_op *op, ssize_t got, int *result) {
  *result = VOLT_OK;
  if (got < 0) {
    *result = VOLT_ERRNO((int)-got);
    return !(op->kind == VOLT_OP_ACCEPT_ && call_skips((int)-got));
  }
  switch (op->kind) {
    case VOLT_OP_CONNECT_:
    case VOLT_OP_SYNC_: return true;
    case VOLT_OP_ACCEPT_: volt_fd_set_(op->other, op->fd->io, (int)got, op->fd->kind); return true;
    default: break;
  }
  if (!call_is_stream(op)) {
    op->n = (size_t)got;
    return true;
  }
  op->n += (size_t)got;
  return op->n >= op->size || got == 0; /* 0: the end of the file */
}

bool volt_op_was_short_(const volt_op *op, ssize_t got) {
  /* with one of these there is more to come than what was taken, such as the end */
  const uint32_t more = POLLPRI | POLLRDHUP | POLLHUP | POLLERR;
  const volt_fd *d = op->fd;
  if (got == -EAGAIN) return true;
  if (d->kind != VOLT_FD_TCP_ || got <= 0 || op->flags != 0) return false;
  switch (op->kind) {
    case VOLT_OP_RECV_: return (size_t)got < op->size && !(d->ready & more);
    case VOLT_OP_READ_: return (size_t)got < op->size && !(d->ready & more);
    case VOLT_OP_SEND_:
    case VOLT_OP_WRITE_: return op->n < op->size;
    default: return false;
  }
}
