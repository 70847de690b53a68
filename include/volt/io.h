/* io.h: descriptors, and the operations on them as futures.
 *
 *   volt_rt_config config = {.io = volt_io_auto()};
 *   volt_rt_create(&rt, &config);
 *   ...
 *   VOLT_AWAIT(self, volt_fd_recv_future(&self->op, &self->fd, self->buffer, SIZE, 0));
 *   if (self->op.n == 0) ...                                    the peer will send no more
 *   VOLT_AWAIT(self, volt_fd_send_future(&self->op, &self->fd, self->buffer, self->op.n, 0));
 *
 * An operation is a future in the caller's memory, and allocates nothing. A task awaits it, a
 * thread blocks for it (volt_future_wait_until()), an event loop polls it (volt/loop.h). It has a
 * deadline by volt_timeout_future(), can be a branch of a select, and ends when its task is
 * cancelled, like every other future.
 *
 * Results: VOLT_OK, the codes of volt, or VOLT_ERRNO(e) if the system refuses (volt/base.h).
 * EINTR and EAGAIN never appear, and errno stays as it was. A worker blocks SIGPIPE. On any other
 * thread, and by hand, a send to a closed connection raises none either, but a write to a pipe that
 * no process reads does, and so does volt_fd_sendfile_future().
 *
 * What belongs to an operation
 * From the first poll of an operation until it is ready, or until a cancel of it has returned, its
 * volt_op, its volt_fd, its buffer and what else it was given belong to the operation: they must
 * stay where they are, and the caller must not change them.
 *
 * What a cancel leaves behind
 * When a cancel has returned, nothing of the operation goes on, and its result says what happened:
 * - VOLT_ECANCELED (or VOLT_ETIMEDOUT): nothing was moved, and volt_op.n is 0. One exception: a
 *   send, write or sendfile that had moved a part has that number of bytes in n.
 * - Otherwise the operation had been done before the cancel came: its own result stands, with n. No
 *   byte that was received is lost.
 * A connection that was accepted, or a file that was opened, and that no poll has returned is
 * closed. In a select that drops its losers, a loser has received nothing and has accepted nothing:
 * there an operation waits until it can be done, and is done in the poll that wins. A send, write or
 * sendfile of more than there is room for moves a part in each of several polls, and wins in the
 * last of them. Another branch may win before that: then n of the send that has lost says how many
 * bytes went. What works on a regular file is different: if it has begun, it is awaited, and may
 * have written its bytes. And a connect that has lost may be under way, so the socket can only be
 * closed. An operation that was begun before, outside of such a select, may have been done before
 * the select ends it: then its own result and n say so, and what it has accepted is closed.
 *
 * One operation at a time may receive from a descriptor (recv, recvmsg, accept, read of what is no
 * regular file), and one may send (send, sendmsg, sendfile, connect, write). volt_fd_ready_future()
 * and operations on a regular file may be any number. A second one that receives, or that sends,
 * aborts with a message; so does volt_fd_close() while an operation is under way.
 * volt_fd_close_future() ends operations instead.
 *
 * Back ends: io_uring, epoll, simulated (volt/simulated.h). A program sees the same on each. */
#ifndef VOLT_IO_H
#define VOLT_IO_H

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "detail/short_lock.h"
#include "runtime.h"

/* Members are private. A descriptor, and the operations that are under way on it. From the first
 * operation on it must not move until it is closed: volt_fd_detach() and volt_fd_init() move it. A
 * copy of it is no descriptor: a second close aborts. Close it before its runtime is destroyed. */
typedef struct volt_fd {
  volt_rt *rt;
  struct volt_io_ *io;
  int number; /* -1: none */
  volt_short_lock lock;
  VOLT_PLAIN(struct volt_op *) waiting; /* under the lock, like all that follows */
  VOLT_PLAIN(struct volt_op *) receiver;
  VOLT_PLAIN(struct volt_op *) sender;
  VOLT_PLAIN(struct volt_op *) closer;
  VOLT_PLAIN(uint32_t) ready;   /* POLLIN, ... : what a call may find possible */
  VOLT_PLAIN(uint32_t) reports; /* how often the back end has said that it is ready */
  VOLT_PLAIN(uint32_t) watched; /* 0: not yet; else the back end's mark */
  VOLT_PLAIN(uint32_t) calls;   /* system calls on it that have not returned */
  VOLT_PLAIN(uint8_t) is_closing;
  uint8_t kind;         /* socket, file, ... */
  uint32_t stamp;       /* which of those that have had the number */
  struct volt_fd *self; /* where it is, since the back end watches it */
} volt_fd;
VOLT_SIZE_AT_MOST_(volt_fd, 96);

/* One operation. n: how many bytes were moved, exact whatever the result is. All else is
 * private. */
typedef struct volt_op {
  union volt_op_future_ {
    volt_future future;
    volt_blocking blocking; /* of a call on the blocking pool */
    VOLT_UNION_LIKE_(volt_op_future_, blocking)
  } as;
  size_t n;
  volt_fd *fd;
  volt_fd *other; /* accept, open: what to fill in; sendfile: the file */
  void *memory;
  size_t size;
  int64_t at;
  VOLT_PLAIN(struct volt_op *) next; /* in volt_fd.waiting; under its lock */
  VOLT_PLAIN(struct volt_op *) prev;
  VOLT_PLAIN(struct volt_op *) mail; /* to the worker that has submitted it */
  uint32_t flags;
  VOLT_PLAIN(int32_t) result;   /* under the lock of fd, like the next two */
  VOLT_PLAIN(uint8_t) is_asked; /* to end */
  VOLT_PLAIN(uint8_t) ends_due; /* what else the back end has yet to say of it */
  VOLT_ATOMIC(uint8_t) stage;
  uint8_t kind;
  uint8_t mode;
  uint8_t step;  /* 0; then the back end's, while it is submitted */
  uint16_t home; /* the worker that has submitted it */
} volt_op;
VOLT_SIZE_AT_MOST_(volt_op, 256);

/* For volt_fd_init(). */
enum volt_fd_flags {
  /* Another process has the descriptor, too, and must not see it become non-blocking: the
   * terminal, a pipe on standard input. It stays as it is. Each operation waits until it is ready,
   * and calls then. The call blocks its thread if another process reads the same pipe and was
   * first. A connect makes the socket non-blocking for the time of its call, when no process can
   * read or write there, because it is not connected yet. */
  VOLT_FD_SHARED = 1
};

VOLT_BEGIN_DECLS

/* ---- back ends ---- */

/* For volt_rt_config.io: io_uring for a runtime of one worker or by hand, if the system has it and
 * allows it; epoll for a runtime of several workers, under valgrind, and where io_uring is refused.
 * The environment variable VOLT_IO, if it is "uring" or "epoll", decides instead; with any other
 * value volt_rt_create() returns VOLT_EINVAL. The clock must not be virtual (VOLT_EINVAL). Threads:
 * any. */
VOLT_API const volt_io_kind *volt_io_auto(void);

/* For volt_rt_config.io: io_uring, one ring for each worker. If the system refuses it, or
 * is older than Linux 6.1, volt_rt_create() returns VOLT_ERRNO(e). The clock must not be virtual
 * (VOLT_EINVAL). Threads: any. */
VOLT_API const volt_io_kind *volt_io_uring(void);

/* For volt_rt_config.io: epoll, one instance for all workers. A thread of the blocking pool does
 * what works on regular files, but for a read at an offset of what is in memory already. The clock
 * must not be virtual (VOLT_EINVAL). Threads: any. */
VOLT_API const volt_io_kind *volt_io_epoll(void);

/* ---- descriptors ---- */

/* Make *d a descriptor of rt, and take the file descriptor `number` over. From now on
 * volt_fd_close() closes it. A socket, pipe or terminal becomes non-blocking, unless flags say
 * otherwise. A TCP socket that is to have another protocol on top (TLS in the kernel: TCP_ULP) gets
 * it before; one that is a volt_fd already is detached for that.
 * d: the caller's, any memory. flags: of volt_fd_flags.
 * Returns VOLT_OK; VOLT_EINVAL: rt does no I/O, or unknown flags; VOLT_ERRNO(EBADF): no such
 *   descriptor; VOLT_ERRNO(EEXIST): it is that of another volt_fd of rt. After a failure the number
 *   is still the caller's, and *d is untouched.
 * Threads: any. */
VOLT_API VOLT_NODISCARD int volt_fd_init(volt_fd *d, volt_rt *rt, int number, unsigned flags);

/* Read the number of the file descriptor, or -1 after volt_fd_close() and volt_fd_detach().
 * Threads: any, while no other closes it. */
VOLT_API int volt_fd_number(const volt_fd *d);

/* Give the file descriptor back. It stays non-blocking. No operation may be under way (aborts).
 * Returns its number; *d has none any more. Threads: the owner. */
VOLT_API int volt_fd_detach(volt_fd *d);

/* private: for C++ */
VOLT_API void volt_fd_move_(volt_fd *to, volt_fd *from);

/* Close *d at once, on this thread. No operation may be under way (aborts). Does nothing if it is
 * closed already, or if *d is all-zero.
 * Threads: the owner. */
VOLT_API void volt_fd_close(volt_fd *d);

/* A future that ends what is under way on *d, and closes it. Operations that had not been done end
 * with VOLT_ECLOSED; those that had been done keep their results. When it is ready, no operation
 * refers to *d any more, so *d may be freed.
 * op: the caller's, for this operation.
 * Returns the future: polls as VOLT_OK, or VOLT_ERRNO(e) as close() says: then it is closed all the
 *   same. VOLT_EINVAL: another volt_fd_close_future() is under way.
 * Cancel: a close that has begun is not given up, but awaited: its own result stands.
 * Threads: any, also while other threads poll operations on it that have begun. An operation that
 *   begins before this future is ready polls as VOLT_ECLOSED; one that begins when *d was freed
 *   uses freed memory. */
VOLT_API VOLT_NODISCARD volt_future *volt_fd_close_future(volt_op *op, volt_fd *d);

/* ---- sockets and pipes ---- */

/* A future of recv(). It waits until something is there, and receives that, at most size bytes.
 * op->n is how many; 0 says that the peer will send no more, or is an empty datagram.
 * op: the caller's. d: a socket. to: size bytes (0, or NULL here and in all that follow:
 *   VOLT_EINVAL). flags: as recv(); MSG_WAITALL has no effect.
 * Returns the future: polls as VOLT_OK; VOLT_ECANCELED; VOLT_ECLOSED: the descriptor was closed;
 *   VOLT_ENOMEM; VOLT_ERRNO(e).
 * Wakes: once. Cancel: as the essay above says. Threads: any may poll it. */
VOLT_API VOLT_NODISCARD volt_future *volt_fd_recv_future(volt_op *op, volt_fd *d, void *to,
                                                         size_t size, int flags);

/* A future of send(), of all size bytes: it is ready when the system has taken the last of them. If
 * it fails, is cancelled, or loses a select in between, op->n says how many were taken.
 * from: size bytes (0: VOLT_OK at once, and nothing is sent). Else as volt_fd_recv_future(). */
VOLT_API VOLT_NODISCARD volt_future *volt_fd_send_future(volt_op *op, volt_fd *d, const void *from,
                                                         size_t size, int flags);

/* A future of recvmsg(), once. It is for datagrams, addresses of senders, and descriptors that are
 * passed. op->n is its result. *message and all that it refers to are the caller's. Descriptors
 * that come are O_CLOEXEC. Else as volt_fd_recv_future(). */
VOLT_API VOLT_NODISCARD volt_future *volt_fd_recvmsg_future(volt_op *op, volt_fd *d,
                                                            struct msghdr *message, int flags);

/* A future of sendmsg(), once. On a stream op->n, its result, may be less than there is to send.
 * Else as volt_fd_send_future(). */
VOLT_API VOLT_NODISCARD volt_future *volt_fd_sendmsg_future(volt_op *op, volt_fd *d,
                                                            const struct msghdr *message,
                                                            int flags);

/* A future of connect(). After a failure or a cancel the socket can only be closed.
 * to: size bytes, the caller's until it is ready.
 * While the listener of a unix socket has no room, it tries again every 4 to 16 ms, because the
 * system reports nothing; it blocks no thread meanwhile.
 * Cancel: at once. Else as volt_fd_recv_future(). */
VOLT_API VOLT_NODISCARD volt_future *volt_fd_connect_future(volt_op *op, volt_fd *d,
                                                            const struct sockaddr *to,
                                                            socklen_t size);

/* A future of accept(): *out becomes the new connection, non-blocking and O_CLOEXEC, of the same
 * runtime. A connection that was aborted while it was queued is skipped.
 * d: a socket that listens. out: the caller's, filled in when the future polls as VOLT_OK.
 * Returns the future: as volt_fd_recv_future(). VOLT_ERRNO(EMFILE), (ENFILE), (ENOBUFS), (ENOMEM):
 *   the connection is still queued: wait, and try again (volt_accept_pause_future(),
 *   volt/net.h). */
VOLT_API VOLT_NODISCARD volt_future *volt_fd_accept_future(volt_op *op, volt_fd *d, volt_fd *out);

/* A future that waits until *d is ready for one of events, as poll() says. It moves nothing. op->n
 * is what *d is ready for, and may have POLLERR and POLLHUP besides.
 * events: of POLLIN, POLLOUT, POLLPRI, POLLRDHUP. Not for regular files (VOLT_EINVAL). Any number
 *   may be under way.
 * Returns the future: VOLT_OK; VOLT_ECANCELED; VOLT_ECLOSED; VOLT_ENOMEM; VOLT_ERRNO(e). */
VOLT_API VOLT_NODISCARD volt_future *volt_fd_ready_future(volt_op *op, volt_fd *d, unsigned events);

/* A future that sends size bytes of a regular file, from offset at on, to a socket. The bytes are
 * not copied through the caller's memory. It ends early, with VOLT_OK and op->n < size, if the file
 * does. The thread that polls it may have to wait for the disk.
 * file: the caller's, open until the future is ready (closed, or all-zero: VOLT_ECLOSED). at: below
 *   0: VOLT_EINVAL. Else as volt_fd_send_future(). */
VOLT_API VOLT_NODISCARD volt_future *volt_fd_sendfile_future(volt_op *op, volt_fd *d, volt_fd *file,
                                                             int64_t at, size_t size);

/* ---- files, and all that can be read and written ---- */

/* A future of read(), once: op->n is how many bytes; 0: the end.
 * to: size bytes (0: VOLT_EINVAL). at: the offset in a regular file; -1: its position, and for what
 *   has no offset (a pipe, a terminal, a socket, an eventfd: else VOLT_ERRNO(ESPIPE)); less:
 *   VOLT_EINVAL.
 * Cancel: of a regular file: a read that the system has begun is awaited, as long as the disk
 *   takes. A task that is cancelled waits for it without blocking its worker; volt_future_cancel()
 *   blocks its thread. Else as volt_fd_recv_future(). */
VOLT_API VOLT_NODISCARD volt_future *volt_fd_read_future(volt_op *op, volt_fd *d, void *to,
                                                         size_t size, int64_t at);

/* A future of write(), of all size bytes. Else as volt_fd_read_future() and
 * volt_fd_send_future(). */
VOLT_API VOLT_NODISCARD volt_future *volt_fd_write_future(volt_op *op, volt_fd *d, const void *from,
                                                          size_t size, int64_t at);

/* A future of readv() or preadv(), once. parts: count of them, the caller's until it is ready. Else
 * as volt_fd_read_future(). */
VOLT_API VOLT_NODISCARD volt_future *volt_fd_readv_future(volt_op *op, volt_fd *d,
                                                          const struct iovec *parts, unsigned count,
                                                          int64_t at);

/* A future of writev() or pwritev(), once: op->n may be less than there is to write. Else as
 * volt_fd_readv_future(). */
VOLT_API VOLT_NODISCARD volt_future *volt_fd_writev_future(volt_op *op, volt_fd *d,
                                                           const struct iovec *parts,
                                                           unsigned count, int64_t at);

/* For volt_fd_sync_future(). */
enum volt_fd_sync { VOLT_FD_SYNC_ALL = 0, VOLT_FD_SYNC_DATA = 1 };

/* A future of fsync(), or of fdatasync() with VOLT_FD_SYNC_DATA. Else as volt_fd_read_future(). */
VOLT_API VOLT_NODISCARD volt_future *volt_fd_sync_future(volt_op *op, volt_fd *d, unsigned how);

/* A future of openat(): *out becomes the file, O_CLOEXEC, of rt.
 * out: the caller's; has no descriptor until the future polls as VOLT_OK, and is untouched by
 *   VOLT_EINVAL. directory: a descriptor as for openat(), or AT_FDCWD. path: the caller's until it
 *   is ready. flags, mode: as open().
 * Returns the future: polls as VOLT_OK; VOLT_ECANCELED; VOLT_EINVAL: rt does no I/O; VOLT_ENOMEM;
 *   VOLT_ERRNO(e).
 * Cancel: as volt_fd_read_future(); a file that was opened is closed again. */
VOLT_API VOLT_NODISCARD volt_future *volt_open_future(volt_op *op, volt_rt *rt, volt_fd *out,
                                                      int directory, const char *path, int flags,
                                                      mode_t mode);

/* ---- without waiting ---- */

/* Try recv() once. *n: how many bytes were received; 0 as for volt_fd_recv_future().
 * Returns VOLT_OK; VOLT_EAGAIN: nothing is there; VOLT_ECLOSED; VOLT_EINVAL: size is 0;
 *   VOLT_ERRNO(e).
 * Threads: any; not while an operation that receives is under way on it (aborts). */
VOLT_API VOLT_NODISCARD int volt_fd_try_recv(volt_fd *d, void *to, size_t size, int flags,
                                             size_t *n);

/* Try send() once: *n, how many bytes were sent, may be less than size. Else as
 * volt_fd_try_recv(), but a size of 0 is VOLT_OK. */
VOLT_API VOLT_NODISCARD int volt_fd_try_send(volt_fd *d, const void *from, size_t size, int flags,
                                             size_t *n);

/* Try accept() once. *out: untouched unless VOLT_OK. Else as volt_fd_try_recv(). */
VOLT_API VOLT_NODISCARD int volt_fd_try_accept(volt_fd *d, volt_fd *out);

VOLT_END_DECLS
#endif
