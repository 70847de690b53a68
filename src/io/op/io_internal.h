/* io_internal.h: the parts of the I/O of one runtime, and how an operation goes through them.
 *
 * An operation is done in one of three ways (volt_op.mode), which its first poll chooses:
 *   CALL   The poller makes the system call, which does not wait. If it says EAGAIN, the operation
 *          waits in the list of its descriptor until the back end reports that this is ready; the
 *          poller that this wakes makes the call again. The system never has the buffer. So a
 *          cancel takes effect at once, and in a select one branch alone has an effect. With epoll
 *          and in simulation all operations on sockets and pipes go this way; with io_uring those
 *          in a select, and those of a thread that is no worker.
 *   WHOLE  The back end does it all and reports the result. Only a worker submits, to its own share
 *          of the back end (volt_op.home). The system has the buffer until the report. So a cancel
 *          is asked for, and the operation ends with one more report, that of the cancel.
 *   POOL   A thread of the blocking pool makes the call: regular files, where the back end cannot.
 *
 * What changes while an operation is under way is under the lock of its descriptor: the list
 * volt_fd.waiting, and result, is_asked, ends_due of each operation in it. The lock is held for a
 * few dozen instructions, and no waker is called under it.
 *
 *   stage      CALL                                      WHOLE
 *   NEW        not in the list. If it is polled, that    the same
 *              poll is counted in volt_fd.calls
 *   WAITING    in the list, for readiness                in the list, submitted
 *   WOKEN      in the list, waiter granted or claimed:   -
 *              its poller will call again
 *   ENDED      -                                         in the list; result stands, and the
 *                                                        report of a cancel is due
 *   OVER       out of the list; result stands; its       the same
 *              waiter is granted or claimed
 * HELD is added while its owner is inside a poll or a cancel of it that may use the descriptor. An
 * operation that is HELD stays in the list until its owner has the lock, so a thread that closes
 * the descriptor cannot free it meanwhile (op.h, R1).
 *
 * Labels: io */
#ifndef VOLT_IO_OP_IO_INTERNAL_H
#define VOLT_IO_OP_IO_INTERNAL_H

#include <volt/io.h>

#include "../../rt/host/driver.h"
#include "../sys/sys.h"

/* volt_op.stage */
enum {
  VOLT_OP_NEW_ = 0,
  VOLT_OP_WAITING_ = 2,
  VOLT_OP_WOKEN_ = VOLT_OP_WAITING_ | 1, /* so that a thread makes it that by one OR, HELD or not */
  VOLT_OP_ENDED_ = 4,
  VOLT_OP_OVER_ = 8,
  VOLT_OP_HELD_ = 16 /* beside one of them */
};
enum { VOLT_OP_CALL_ = 1, VOLT_OP_WHOLE_, VOLT_OP_POOL_ }; /* volt_op.mode; 0: not chosen yet */

/* volt_op.kind */
enum {
  VOLT_OP_RECV_,
  VOLT_OP_SEND_,
  VOLT_OP_RECVMSG_,
  VOLT_OP_SENDMSG_,
  VOLT_OP_CONNECT_,
  VOLT_OP_ACCEPT_,
  VOLT_OP_READY_,
  VOLT_OP_SENDFILE_,
  VOLT_OP_READ_,
  VOLT_OP_WRITE_,
  VOLT_OP_READV_,
  VOLT_OP_WRITEV_,
  VOLT_OP_SYNC_,
  VOLT_OP_OPEN_,
  VOLT_OP_CLOSE_
};

/* volt_fd.kind */
enum {
  VOLT_FD_NONE_,
  VOLT_FD_TCP_,    /* a stream in which a short read means that no more is there */
  VOLT_FD_OTHER_,  /* a socket, pipe, terminal, ... : it can be ready */
  VOLT_FD_POLLED_, /* the same with VOLT_FD_SHARED: ask whether it is ready, then call */
  VOLT_FD_FILE_,   /* a regular file, directory, block device */
  VOLT_FD_EVENTS_  /* timerfd, eventfd, pidfd, ...: of no file system */
};

typedef struct volt_io_ volt_io_;

/* A back end. All-const, beside its volt_driver_ops_. */
typedef struct volt_io_ops_ {
  /* An operation on d waits for readiness for the first time: from now on call
   * volt_fd_became_ready_() each time that d becomes ready for something, and once at first for
   * what it is ready for already.
   * *mark: what d->watched becomes, not 0. Returns VOLT_OK or VOLT_ERRNO(e). Any thread; the lock
   * of d is not held, but one thread at a time calls it for d. */
  int (*watch)(volt_io_ *io, volt_fd *d, uint32_t *mark);

  /* d is about to be closed, or given back, and d->watched is its mark. After the return no thread
   * calls volt_fd_became_ready_(d), nor is one in it. Any thread. */
  void (*unwatch)(volt_io_ *io, volt_fd *d);

  /* d is watched, and mark is its mark. After so many ticks (nap.h) each operation that waits
   * for it calls again. Returns VOLT_OK or VOLT_ENOMEM. Any thread; no lock is held. NULL: what
   * an operation waits for is always reported. */
  int (*nap)(volt_io_ *io, volt_fd *d, uint32_t mark, uint32_t ticks);

  /* Whether this back end can do op as WHOLE. NULL: none. */
  bool (*does_whole)(volt_io_ *io, const volt_op *op);

  /* Do op: on the worker op->home, whose thread this is. It is in the list, WAITING. The back end
   * calls volt_op_ended_() on that thread, not within this call. */
  void (*submit)(volt_io_ *io, volt_op *op);

  /* End op early, if that can be: on any thread. is_asked and ends_due were set under the lock,
   * once for each submit(); the lock is not held. The back end calls volt_op_cancel_ended_() once,
   * on the worker op->home, before or after volt_op_ended_(). */
  void (*cancel)(volt_io_ *io, volt_op *op);
} volt_io_ops_;

/* The I/O of one runtime: the first part of each back end's own struct. */
struct volt_io_ {
  volt_driver_ driver; /* first */
  volt_rt *rt;
  const volt_io_ops_ *ops;
  VOLT_PLAIN(const volt_sys_ *) sys;
  struct volt_watch_table *numbers; /* whose they are; NULL: the back end knows by itself */
};

static inline volt_io_ *volt_io_of_driver_(volt_driver_ *driver) {
  return volt_container_of(driver, volt_io_, driver);
}

/* ---- fd.c ---- */

/* The I/O of a runtime; NULL: it does none. Then this says so on standard error, once. */
volt_io_ *volt_io_of_(volt_rt *rt);

/* Make *d a descriptor of io. number: a descriptor that does not block, which d now has; -1: none
 * yet. kind: of VOLT_FD_NONE_ and so on. */
void volt_fd_set_(volt_fd *d, volt_io_ *io, int number, unsigned kind);

/* *d, which has no number, has this one from now on. */
void volt_fd_take_number_(volt_fd *d, int number, unsigned kind);

/* Take the number away from *d, and then use d->io no more: the end of its runtime may free it. where:
 * for the message if *d is a copy. Returns the number; -1: there was none. */
int volt_fd_give_number_(volt_fd *d, const char *where);

/* The back end: d is ready for bits: of POLLIN, POLLOUT, POLLPRI, POLLRDHUP, POLLERR, POLLHUP.
 * Wakes the operations that wait for one of them. Any thread. */
void volt_fd_became_ready_(volt_fd *d, uint32_t bits);

/* ---- whole.c ---- */

/* The back end has done op (WHOLE): result is what the system call returns, or a negative errno. On
 * the worker op->home. If a part is left to do, or if the system has ended it although no thread
 * has asked, it is submitted again. Else it is OVER, and its owner is woken, unless the report of a
 * cancel is to come. */
void volt_op_ended_(volt_op *op, int result);

/* The back end: the cancel of op has ended, whatever it did. On the worker op->home. If op is OVER,
 * its owner is woken. */
void volt_op_cancel_ended_(volt_op *op);

/* Whether op is OVER, so a cancel need not be submitted. On the worker op->home. */
bool volt_op_is_over_(volt_op *op);

/* ---- call.c ---- */

/* One system call of op, which does not wait. Returns the number of bytes or 0, or a negative
 * errno; -EAGAIN: it has to wait. */
ssize_t volt_op_call_(volt_op *op);

/* For which events op has to wait after -EAGAIN. */
uint32_t volt_op_events_(const volt_op *op);

/* ---- epoll.c: also used by io_uring, for what waits for readiness ---- */

/* An epoll instance of a runtime, and which descriptors it watches (watched.h). */
typedef struct volt_epoll_ volt_epoll_;

#endif
