/* sys.c: the real system calls. Each leaves errno as it was, and is tried again after a signal. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* accept4, preadv, sendfile, POLLRDHUP */
#endif
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sys.h"

/* result = call, or the negative errno; errno as before. */
#define SYS_TRY(result, call)                 \
  do {                                        \
    int sys_before_ = errno;                  \
    do {                                      \
      (result) = (call);                      \
    } while ((result) < 0 && errno == EINTR); \
    if ((result) < 0) (result) = -errno;      \
    errno = sys_before_;                      \
  } while (0)

/* recv() and send(). At those of the C library pthread_cancel() may end a thread, which no thread
 * of volt is asked to do, and to allow it takes two read-modify-writes before a call and two after
 * it. A sanitizer has to see the calls, so there they are the library's. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SYS_BY_LIBRARY 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define SYS_BY_LIBRARY 1
#endif
#endif
#if !defined(SYS_recvfrom) || !defined(SYS_sendto)
#define SYS_BY_LIBRARY 1
#endif
#ifdef SYS_BY_LIBRARY
#define SYS_RECV(fd, to, size, flags) recv(fd, to, size, flags)
#define SYS_SEND(fd, from, size, flags) send(fd, from, size, flags)
#else
#define SYS_RECV(fd, to, size, flags) syscall(SYS_recvfrom, fd, to, size, flags, NULL, NULL)
#define SYS_SEND(fd, from, size, flags) syscall(SYS_sendto, fd, from, size, flags, NULL, 0)
#endif

static ssize_t sys_recv(int fd, void *to, size_t size, int flags) {
  ssize_t result;
  SYS_TRY(result, SYS_RECV(fd, to, size, flags | MSG_DONTWAIT));
  return result;
}

static ssize_t sys_send(int fd, const void *from, size_t size, int flags) {
  ssize_t result;
  SYS_TRY(result, SYS_SEND(fd, from, size, flags | MSG_DONTWAIT | MSG_NOSIGNAL));
  return result;
}

static ssize_t sys_recvmsg(int fd, struct msghdr *message, int flags) {
  ssize_t result;
  SYS_TRY(result, recvmsg(fd, message, flags | MSG_DONTWAIT));
  return result;
}

static ssize_t sys_sendmsg(int fd, const struct msghdr *message, int flags) {
  ssize_t result;
  SYS_TRY(result, sendmsg(fd, message, flags | MSG_DONTWAIT | MSG_NOSIGNAL));
  return result;
}

static ssize_t sys_readv(int fd, const struct iovec *parts, int count, off_t at) {
  ssize_t result;
  SYS_TRY(result, at < 0 ? readv(fd, parts, count) : preadv(fd, parts, count, at));
  return result;
}

static ssize_t sys_readv_now(int fd, const struct iovec *parts, int count, off_t at) {
#ifdef RWF_NOWAIT
  ssize_t result;
  SYS_TRY(result, preadv2(fd, parts, count, at, RWF_NOWAIT));
  return result;
#else
  (void)fd;
  (void)parts;
  (void)count;
  (void)at;
  return -EOPNOTSUPP;
#endif
}

static ssize_t sys_writev(int fd, const struct iovec *parts, int count, off_t at) {
  ssize_t result;
  SYS_TRY(result, at < 0 ? writev(fd, parts, count) : pwritev(fd, parts, count, at));
  return result;
}

static ssize_t sys_sendfile(int to, int from, off_t at, size_t size) {
  ssize_t result;
  SYS_TRY(result, sendfile(to, from, &at, size));
  return result;
}

static int sys_accept(int fd) {
  int result;
  SYS_TRY(result, accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC));
  return result;
}

/* After EINTR the connect goes on by itself. */
static int sys_connect_now(int fd, const struct sockaddr *to, socklen_t size) {
  int before = errno;
  int result = connect(fd, to, size) ? -errno : 0;
  errno = before;
  return result == -EINTR ? -EINPROGRESS : result;
}

/* Whether a connect() waits: datagrams have no connection. */
static bool sys_connect_waits(int fd) {
  int type = SOCK_STREAM;
  socklen_t size = sizeof type;
  int result;
  SYS_TRY(result, getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size));
  return result == 0 && type != SOCK_DGRAM && type != SOCK_RAW;
}

/* There is no flag for one connect(). The descriptor is non-blocking for the time of the call: until
 * it is connected, no process can read or write there. */
static int sys_connect(int fd, const struct sockaddr *to, socklen_t size, bool is_shared) {
  int flags = O_NONBLOCK;
  int result;
  if (is_shared && sys_connect_waits(fd)) SYS_TRY(flags, fcntl(fd, F_GETFL));
  if (flags < 0) return flags;
  if (flags & O_NONBLOCK) return sys_connect_now(fd, to, size);
  SYS_TRY(result, fcntl(fd, F_SETFL, flags | O_NONBLOCK));
  if (result < 0) return result;
  int connected = sys_connect_now(fd, to, size);
  SYS_TRY(result, fcntl(fd, F_SETFL, flags));
  return connected;
}

static int sys_ready(int fd, short events) {
  struct pollfd one = {.fd = fd, .events = events};
  int result;
  SYS_TRY(result, poll(&one, 1, 0));
  return result > 0 ? one.revents : result;
}

/* Asked again, connect() says how it has ended; and the socket knows that it has. */
static int sys_connected(int fd, const struct sockaddr *to, socklen_t size, bool is_shared) {
  int result = sys_connect(fd, to, size, is_shared);
  if (result == -EALREADY) return -EINPROGRESS;
  return result == -EISCONN ? 0 : result;
}

static int sys_sync(int fd, int data_only) {
  int result;
  SYS_TRY(result, data_only ? fdatasync(fd) : fsync(fd));
  return result;
}

static int sys_open(int directory, const char *path, int flags, mode_t mode) {
  int result;
  SYS_TRY(result, openat(directory, path, flags, mode));
  return result;
}

/* Not again after EINTR: Linux has closed it. */
static int sys_close(int fd) {
  int before = errno;
  int result = close(fd) && errno != EINTR ? -errno : 0;
  errno = before;
  return result;
}

static int sys_socket(struct volt_io_ *io, int domain, int type, int protocol) {
  (void)io; /* they are the system's, and not a runtime's */
  int result;
  SYS_TRY(result, socket(domain, type | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol));
  return result;
}

static int sys_pair(struct volt_io_ *io, int type, int number[2]) {
  int result;
  (void)io;
  SYS_TRY(result, socketpair(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, number));
  return result;
}

static int sys_pipe(struct volt_io_ *io, int number[2]) {
  int result;
  (void)io;
  SYS_TRY(result, pipe2(number, O_NONBLOCK | O_CLOEXEC));
  return result;
}

static int sys_unlink(const char *path) {
  struct stat there;
  int result;
  SYS_TRY(result, lstat(path, &there));
  if (result == 0 && !S_ISSOCK(there.st_mode)) return -ENOTSOCK;
  if (result == 0) SYS_TRY(result, unlink(path));
  return result;
}

static int sys_bind(int fd, const struct sockaddr *at, socklen_t size) {
  int result;
  SYS_TRY(result, bind(fd, at, size));
  return result;
}

static int sys_listen(int fd, int backlog) {
  int result;
  SYS_TRY(result, listen(fd, backlog));
  return result;
}

static int sys_shutdown(int fd, int how) {
  int result;
  SYS_TRY(result, shutdown(fd, how));
  return result;
}

static int sys_setsockopt(int fd, int level, int name, const void *value, socklen_t size) {
  int result;
  SYS_TRY(result, setsockopt(fd, level, name, value, size));
  return result;
}

static int sys_local(int fd, struct sockaddr *address, socklen_t *size) {
  int result;
  SYS_TRY(result, getsockname(fd, address, size));
  return result;
}

static int sys_peer(int fd, struct sockaddr *address, socklen_t *size) {
  int result;
  SYS_TRY(result, getpeername(fd, address, size));
  return result;
}

/* Whether a protocol is on top of TCP, such as TLS in the kernel: it hands out records, so a short
 * read does not say that no more is there. */
static bool sys_has_upper_layer(int fd) {
  char name[16] = "";
  socklen_t size = sizeof name;
  int result;
  SYS_TRY(result, getsockopt(fd, IPPROTO_TCP, TCP_ULP, name, &size));
  return result == 0 && size > 0 && name[0] != 0;
}

/* Whether it is a TCP socket, also one that listens, and a plain one. */
static bool sys_is_tcp(int fd) {
  int domain = 0;
  int type = 0;
  int protocol = 0;
  socklen_t size = sizeof domain;
  int result;
  SYS_TRY(result, getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size));
  if (result < 0) return false;
  SYS_TRY(result, getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size));
  if (result < 0) return false;
  SYS_TRY(result, getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &size));
  if (result < 0) return false;
  bool is_inet = domain == AF_INET || domain == AF_INET6;
  return is_inet && type == SOCK_STREAM && protocol == IPPROTO_TCP && !sys_has_upper_layer(fd);
}

static int sys_kind(int fd) {
  struct stat status;
  int result;
  SYS_TRY(result, fstat(fd, &status));
  if (result < 0) return result;
  if (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode) || S_ISBLK(status.st_mode)) {
    return VOLT_FD_FILE_;
  }
  if ((status.st_mode & S_IFMT) == 0) return VOLT_FD_EVENTS_;
  return S_ISSOCK(status.st_mode) && sys_is_tcp(fd) ? VOLT_FD_TCP_ : VOLT_FD_OTHER_;
}

static int sys_unblock(int fd) {
  int flags;
  SYS_TRY(flags, fcntl(fd, F_GETFL));
  if (flags < 0 || flags & O_NONBLOCK) return flags < 0 ? flags : 0;
  int result;
  SYS_TRY(result, fcntl(fd, F_SETFL, flags | O_NONBLOCK));
  return result;
}

const volt_sys_ volt_sys_real_ = {.recv = sys_recv,
                                  .send = sys_send,
                                  .recvmsg = sys_recvmsg,
                                  .sendmsg = sys_sendmsg,
                                  .readv = sys_readv,
                                  .writev = sys_writev,
                                  .readv_now = sys_readv_now,
                                  .sendfile = sys_sendfile,
                                  .accept = sys_accept,
                                  .connect = sys_connect,
                                  .connected = sys_connected,
                                  .ready = sys_ready,
                                  .sync = sys_sync,
                                  .open = sys_open,
                                  .close = sys_close,
                                  .socket = sys_socket,
                                  .bind = sys_bind,
                                  .listen = sys_listen,
                                  .shutdown = sys_shutdown,
                                  .setsockopt = sys_setsockopt,
                                  .local = sys_local,
                                  .peer = sys_peer,
                                  .pair = sys_pair,
                                  .pipe = sys_pipe,
                                  .unlink = sys_unlink,
                                  .kind = sys_kind,
                                  .unblock = sys_unblock};
