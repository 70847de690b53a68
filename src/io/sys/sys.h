/* sys.h: the system calls of the I/O library, as a table: the real ones, those of the simulation,
 * and in tests those that fail on purpose.
 *
 * Each returns what the system call returns, or a negative errno. None touches errno. None waits: a
 * descriptor is non-blocking, and what has no such mode gets MSG_DONTWAIT. */
#ifndef VOLT_IO_SYS_SYS_H
#define VOLT_IO_SYS_SYS_H

#include <poll.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

struct volt_io_;

/* volt_fd.kind */
enum {
  VOLT_FD_NONE_,
  VOLT_FD_TCP_,    /* a stream in which a short read means that no more is there */
  VOLT_FD_OTHER_,  /* a socket, pipe, terminal, ... : it can be ready */
  VOLT_FD_POLLED_, /* the same with VOLT_FD_SHARED: ask whether it is ready, then call */
  VOLT_FD_FILE_,   /* a regular file, directory, block device */
  VOLT_FD_EVENTS_  /* timerfd, eventfd, pidfd, ...: of no file system */
};

typedef struct volt_sys_ {
  ssize_t (*recv)(int fd, void *to, size_t size, int flags);
  ssize_t (*send)(int fd, const void *from, size_t size, int flags);
  ssize_t (*recvmsg)(int fd, struct msghdr *message, int flags);
  ssize_t (*sendmsg)(int fd, const struct msghdr *message, int flags);
  ssize_t (*readv)(int fd, const struct iovec *parts, int count, off_t at);  /* at -1: no offset */
  ssize_t (*writev)(int fd, const struct iovec *parts, int count, off_t at); /* the same */
  /* readv() of a file, at an offset, without waiting for the disk. It may end before the end of the
   * file, with less. A failure: it is not possible so. */
  ssize_t (*readv_now)(int fd, const struct iovec *parts, int count, off_t at);
  ssize_t (*sendfile)(int to, int from, off_t at, size_t size);
  int (*accept)(int fd); /* non-blocking, close on exec */
  /* is_shared: the descriptor may block, and must not; another process has it, too. */
  int (*connect)(int fd, const struct sockaddr *to, socklen_t size, bool is_shared);
  /* How a connect() to that address has ended, that has said -EINPROGRESS; the same: it goes on. */
  int (*connected)(int fd, const struct sockaddr *to, socklen_t size, bool is_shared);
  int (*ready)(int fd, short events); /* poll() without waiting: which of them */
  int (*sync)(int fd, int data_only);
  int (*open)(int directory, const char *path, int flags, mode_t mode);
  int (*close)(int fd);
  int (*kind)(int fd);    /* of VOLT_FD_TCP_ and so on */
  int (*unblock)(int fd); /* make it non-blocking */
  int (*socket)(struct volt_io_ *io, int domain, int type, int protocol); /* as accept */
  int (*bind)(int fd, const struct sockaddr *at, socklen_t size);
  int (*listen)(int fd, int backlog);
  int (*shutdown)(int fd, int how);
  int (*setsockopt)(int fd, int level, int name, const void *value, socklen_t size);
  int (*local)(int fd, struct sockaddr *address, socklen_t *size); /* getsockname */
  int (*peer)(int fd, struct sockaddr *address, socklen_t *size);  /* getpeername */
  int (*pair)(struct volt_io_ *io, int type, int number[2]);       /* socketpair, as socket */
  int (*pipe)(struct volt_io_ *io, int number[2]);                 /* [0] is read from; as socket */
  int (*unlink)(const char *path); /* of a unix socket; -ENOTSOCK: it is none */
} volt_sys_;

extern const volt_sys_ volt_sys_real_;

#endif
