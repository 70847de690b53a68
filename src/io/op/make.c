/* make.c: the public constructors of operations, and the calls that do not wait. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* POLLRDHUP, O_CLOEXEC */
#endif
#include <errno.h>
#include <fcntl.h>

#include "../sys/sys.h"
#include "backend.h"
#include "fd.h"
#include "op.h"

/* What is not written through, and what is: the types of the system calls that differ by const. */
static void *make_plain(const void *memory) {
  return (void *)(uintptr_t)memory;
}

static volt_future *make_failed(volt_op *op, int result) {
  op->result = result;
  return &op->as.future;
}

static volt_future *make_with_flags(volt_op *op, unsigned flags) {
  op->flags = flags;
  return &op->as.future;
}

/* ---- sockets and pipes ---- */

volt_future *volt_fd_recv_future(volt_op *op, volt_fd *d, void *to, size_t size, int flags) {
  volt_op_make_(op, d, VOLT_OP_RECV_, to, size, 0);
  if (size == 0 || !to) return make_failed(op, VOLT_EINVAL);
  return make_with_flags(op, (unsigned)flags);
}

volt_future *volt_fd_send_future(volt_op *op, volt_fd *d, const void *from, size_t size,
                                 int flags) {
  volt_op_make_(op, d, VOLT_OP_SEND_, make_plain(from), size, 0);
  if (size == 0) return make_failed(op, VOLT_OK);
  if (!from) return make_failed(op, VOLT_EINVAL);
  return make_with_flags(op, (unsigned)flags);
}

volt_future *volt_fd_recvmsg_future(volt_op *op, volt_fd *d, struct msghdr *message, int flags) {
  volt_op_make_(op, d, VOLT_OP_RECVMSG_, message, 0, 0);
  if (!message) return make_failed(op, VOLT_EINVAL);
  return make_with_flags(op, (unsigned)flags | MSG_CMSG_CLOEXEC);
}

volt_future *volt_fd_sendmsg_future(volt_op *op, volt_fd *d, const struct msghdr *message,
                                    int flags) {
  volt_op_make_(op, d, VOLT_OP_SENDMSG_, make_plain(message), 0, 0);
  if (!message) return make_failed(op, VOLT_EINVAL);
  return make_with_flags(op, (unsigned)flags);
}

volt_future *volt_fd_connect_future(volt_op *op, volt_fd *d, const struct sockaddr *to,
                                    socklen_t size) {
  volt_op_make_(op, d, VOLT_OP_CONNECT_, make_plain(to), size, 0);
  return to ? &op->as.future : make_failed(op, VOLT_EINVAL);
}

volt_future *volt_fd_accept_future(volt_op *op, volt_fd *d, volt_fd *out) {
  volt_op_make_(op, d, VOLT_OP_ACCEPT_, NULL, 0, 0);
  op->other = out;
  return out ? &op->as.future : make_failed(op, VOLT_EINVAL);
}

volt_future *volt_fd_ready_future(volt_op *op, volt_fd *d, unsigned events) {
  unsigned known = POLLIN | POLLOUT | POLLPRI | POLLRDHUP;
  volt_op_make_(op, d, VOLT_OP_READY_, NULL, 0, 0);
  bool is_valid = events != 0 && !(events & ~known);
  if (!is_valid || (d->io && d->kind == VOLT_FD_FILE_)) return make_failed(op, VOLT_EINVAL);
  return make_with_flags(op, events);
}

volt_future *volt_fd_sendfile_future(volt_op *op, volt_fd *d, volt_fd *file, int64_t at,
                                     size_t size) {
  volt_op_make_(op, d, VOLT_OP_SENDFILE_, NULL, size, at);
  op->other = file;
  if (at < 0 || !file) return make_failed(op, VOLT_EINVAL);
  if (size == 0) return make_failed(op, VOLT_OK);
  return &op->as.future;
}

/* ---- files, and all that can be read and written ---- */

volt_future *volt_fd_read_future(volt_op *op, volt_fd *d, void *to, size_t size, int64_t at) {
  volt_op_make_(op, d, VOLT_OP_READ_, to, size, at);
  if (size == 0 || at < -1 || !to) return make_failed(op, VOLT_EINVAL);
  return &op->as.future;
}

volt_future *volt_fd_write_future(volt_op *op, volt_fd *d, const void *from, size_t size,
                                  int64_t at) {
  volt_op_make_(op, d, VOLT_OP_WRITE_, make_plain(from), size, at);
  if (at < -1) return make_failed(op, VOLT_EINVAL);
  if (size == 0) return make_failed(op, VOLT_OK);
  return from ? &op->as.future : make_failed(op, VOLT_EINVAL);
}

static volt_future *make_vector(volt_op *op, volt_fd *d, unsigned kind, const struct iovec *parts,
                                unsigned count, int64_t at) {
  volt_op_make_(op, d, kind, make_plain(parts), count, at);
  if (at < -1 || (count > 0 && !parts)) return make_failed(op, VOLT_EINVAL);
  return &op->as.future;
}

volt_future *volt_fd_readv_future(volt_op *op, volt_fd *d, const struct iovec *parts,
                                  unsigned count, int64_t at) {
  return make_vector(op, d, VOLT_OP_READV_, parts, count, at);
}

volt_future *volt_fd_writev_future(volt_op *op, volt_fd *d, const struct iovec *parts,
                                   unsigned count, int64_t at) {
  return make_vector(op, d, VOLT_OP_WRITEV_, parts, count, at);
}

volt_future *volt_fd_sync_future(volt_op *op, volt_fd *d, unsigned how) {
  volt_op_make_(op, d, VOLT_OP_SYNC_, NULL, 0, 0);
  if (how > VOLT_FD_SYNC_DATA) return make_failed(op, VOLT_EINVAL);
  return make_with_flags(op, how);
}

volt_future *volt_open_future(volt_op *op, volt_rt *rt, volt_fd *out, int directory,
                              const char *path, int flags, mode_t mode) {
  volt_io_ *io = volt_io_of_(rt);
  volt_op_make_(op, out, VOLT_OP_OPEN_, make_plain(path), mode, directory);
  op->other = out;
  if (!io) {
    out->io = NULL; /* so it is closed */
    out->number = -1;
    return make_failed(op, VOLT_EINVAL);
  }
  volt_fd_set_(out, io, -1, VOLT_FD_NONE_);
  if (!path) return make_failed(op, VOLT_EINVAL);
  return make_with_flags(op, (unsigned)flags | O_CLOEXEC);
}

/* ---- without waiting ---- */

/* Of a call that is made at once, and never polled: all that a call looks at. */
static void make_call(volt_op *op, volt_fd *d, unsigned kind, void *memory, size_t size,
                      int flags) {
  op->n = 0;
  op->fd = d;
  op->other = NULL;
  op->memory = memory;
  op->size = size;
  op->at = 0;
  op->flags = (unsigned)flags;
  op->kind = (uint8_t)kind;
}

/* One call of op. Returns its result, or VOLT_EAGAIN. */
static int make_try(volt_op *op) {
  volt_fd *d = op->fd;
  if (!d->io) return VOLT_ECLOSED;
  volt_short_lock_lock_(&d->lock);
  int result = volt_op_enter_(op);
  uint32_t seen = d->reports;
  if (result == VOLT_OK) d->calls += 1;
  volt_short_lock_unlock_(&d->lock);
  if (result != VOLT_OK) return result;
  ssize_t got = volt_op_call_(op);
  while (got != -EAGAIN && !volt_op_take_(op, got, &result)) {
    if (op->n > 0) break;
    got = volt_op_call_(op);
  }
  volt_claims_ claims;
  claims.count = 0;
  volt_short_lock_lock_(&d->lock);
  if (d->reports == seen && volt_op_was_short_(op, got)) d->ready &= ~volt_op_bits_(op);
  d->calls -= 1;
  volt_op_leave_(op, &claims);
  volt_short_lock_unlock_(&d->lock);
  volt_claims_grant_(&claims);
  return got == -EAGAIN ? (int)VOLT_EAGAIN : result;
}

int volt_fd_try_recv(volt_fd *d, void *to, size_t size, int flags, size_t *n) {
  volt_op op;
  *n = 0;
  if (size == 0 || !to) return VOLT_EINVAL;
  make_call(&op, d, VOLT_OP_RECV_, to, size, flags);
  int result = make_try(&op);
  *n = op.n;
  return result;
}

int volt_fd_try_send(volt_fd *d, const void *from, size_t size, int flags, size_t *n) {
  volt_op op;
  *n = 0;
  if (size == 0) return VOLT_OK;
  if (!from) return VOLT_EINVAL;
  make_call(&op, d, VOLT_OP_SEND_, make_plain(from), size, flags);
  int result = make_try(&op);
  *n = op.n;
  return result;
}

int volt_fd_try_accept(volt_fd *d, volt_fd *out) {
  volt_op op;
  volt_future_made(volt_fd_accept_future(&op, d, out));
  return out ? make_try(&op) : (int)VOLT_EINVAL;
}
