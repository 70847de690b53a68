/* sim_socket.c: the simulation's system calls. What is no simulated socket (a file) goes to the
 * real system. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* SOCK_NONBLOCK, SOCK_CLOEXEC, POLLRDHUP */
#endif
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "../op/backend.h"
#include "../sys/sys.h"
#include "sim.h"

/* ---- sockets ---- */

volt_sim_socket_ *volt_sim_socket_new_(volt_sim_net_ *net, int domain, int type) {
  volt_sim_socket_ *s = (volt_sim_socket_ *)calloc(1, sizeof *s);
  if (!s) return NULL;
  s->net = net;
  s->number = -1;
  s->domain = domain;
  s->type = type;
  s->next = net->all;
  s->here = &net->all;
  if (s->next) s->next->here = &s->next;
  net->all = s;
  return s;
}

void volt_sim_socket_free_(volt_sim_socket_ *s) {
  *s->here = s->next;
  if (s->next) s->next->here = s->here;
  free(s);
}

static int sim_socket_open(volt_io_ *io, int domain, int type, int protocol) {
  (void)protocol;
  type &= ~(SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (domain != AF_INET && domain != AF_INET6 && domain != AF_UNIX) return -EAFNOSUPPORT;
  if (type != SOCK_STREAM && type != SOCK_DGRAM) return -EPROTONOSUPPORT;
  volt_sim_net_ *net = volt_container_of(io, volt_sim_net_, io);
  volt_sim_socket_ *s = volt_sim_socket_new_(net, domain, type);
  if (!s) return -ENOMEM;
  int result = volt_sim_give_number_(s);
  if (result < 0) {
    volt_sim_socket_free_(s);
    return result;
  }
  return s->number;
}

static int sim_socket_close(int fd) {
  volt_sim_socket_ *s = volt_sim_find_(fd);
  if (!s) return volt_sys_real_.close(fd);
  if (s->type == SOCK_STREAM) {
    volt_sim_stream_close_(s);
  } else {
    volt_sim_datagram_close_(s);
  }
  volt_sim_take_number_(s);
  volt_sim_socket_free_(s);
  return 0;
}

/* Two sockets that are connected. Returns 0, or a negative errno. */
static int sim_socket_pair(volt_io_ *io, int type, int number[2]) {
  if (type != SOCK_STREAM) return -EPROTONOSUPPORT;
  number[0] = sim_socket_open(io, AF_UNIX, type, 0);
  if (number[0] < 0) return number[0];
  number[1] = sim_socket_open(io, AF_UNIX, type, 0);
  int result = number[1] < 0 ? number[1] : 0;
  volt_sim_socket_ *one = volt_sim_find_(number[0]), *other = volt_sim_find_(number[1]);
  if (result == 0 && volt_sim_conn_make_(one, other)) return 0;
  sim_socket_close(number[0]);
  if (number[1] >= 0) sim_socket_close(number[1]);
  return result < 0 ? result : -ENOMEM;
}

static int sim_socket_pipe(volt_io_ *io, int number[2]) {
  int result = sim_socket_pair(io, SOCK_STREAM, number);
  if (result < 0) return result;
  volt_sim_stream_shutdown_(volt_sim_find_(number[0]), SHUT_WR);
  volt_sim_stream_shutdown_(volt_sim_find_(number[1]), SHUT_RD);
  return 0;
}

/* An address of a unix socket exists as long as its socket. */
static int sim_socket_unlink(const char *path) {
  (void)path;
  return 0;
}

static int sim_socket_kind(int fd) {
  const volt_sim_socket_ *s = volt_sim_find_(fd);
  return s ? VOLT_FD_OTHER_ : volt_sys_real_.kind(fd); /* by a fault a read may be short */
}

static int sim_socket_unblock(int fd) {
  return volt_sim_is_number_(fd) ? 0 : volt_sys_real_.unblock(fd);
}

/* ---- addresses ---- */

/* Where the port of an address of this family is, in network order; NULL: it has none. */
static in_port_t *sim_address_port(struct sockaddr_storage *a) {
  if (a->ss_family == AF_INET) return &((struct sockaddr_in *)(void *)a)->sin_port;
  if (a->ss_family == AF_INET6) return &((struct sockaddr_in6 *)(void *)a)->sin6_port;
  return NULL;
}

static bool sim_address_is_any(const struct sockaddr_storage *a) {
  static const struct in6_addr any6 = IN6ADDR_ANY_INIT;
  if (a->ss_family == AF_INET) {
    return ((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr == htonl(INADDR_ANY);
  }
  if (a->ss_family != AF_INET6) return false;
  const struct in6_addr *mine = &((const struct sockaddr_in6 *)(const void *)a)->sin6_addr;
  return memcmp(mine, &any6, sizeof any6) == 0;
}

static bool sim_address_is_at(volt_sim_socket_ *s, const void *address, socklen_t size) {
  struct sockaddr_storage a = {0};
  memcpy(&a, address, size);
  if (s->local_size == 0 || s->local.ss_family != a.ss_family) return false;
  in_port_t *mine = sim_address_port(&s->local), *other = sim_address_port(&a);
  if (mine && other && *mine != *other) return false;
  if (mine && sim_address_is_any(&s->local)) return true;
  return s->local_size == size && memcmp(&s->local, &a, size) == 0;
}

volt_sim_socket_ *volt_sim_find_address_(volt_sim_net_ *net, int type, const void *address,
                                         socklen_t size) {
  for (volt_sim_socket_ *s = net->all; s; s = s->next) {
    bool may_have = type == SOCK_DGRAM || s->state == VOLT_SIM_LISTENS_;
    if (s->type == type && may_have && s->number >= 0 && sim_address_is_at(s, address, size))
      return s;
  }
  return NULL;
}

static bool sim_address_is_sound(const volt_sim_socket_ *s, const struct sockaddr *a,
                                 socklen_t size) {
  bool fits = size >= sizeof a->sa_family && size <= sizeof s->local;
  if (!fits || a->sa_family != s->domain) return false;
  if (s->domain == AF_INET) return size >= sizeof(struct sockaddr_in);
  return s->domain != AF_INET6 || size >= sizeof(struct sockaddr_in6);
}

/* A socket without an address gets one, with a port that none had before. */
static void sim_socket_name(volt_sim_socket_ *s) {
  if (s->local_size == 0) {
    s->local.ss_family = (sa_family_t)s->domain;
    s->local_size = s->domain == AF_INET    ? sizeof(struct sockaddr_in)
                    : s->domain == AF_INET6 ? sizeof(struct sockaddr_in6)
                                            : sizeof(sa_family_t);
    if (s->domain == AF_INET) {
      ((struct sockaddr_in *)(void *)&s->local)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    } else if (s->domain == AF_INET6) {
      ((struct sockaddr_in6 *)(void *)&s->local)->sin6_addr = in6addr_loopback;
    }
  }
  in_port_t *port = sim_address_port(&s->local);
  if (port && *port == 0) *port = htons(s->net->next_port++);
}

static int sim_socket_bind(int fd, const struct sockaddr *at, socklen_t size) {
  volt_sim_socket_ *s = volt_sim_find_(fd);
  if (!s) return -ENOTSOCK;
  if (s->local_size > 0 || !sim_address_is_sound(s, at, size)) return -EINVAL;
  for (volt_sim_socket_ *other = s->net->all; other; other = other->next) {
    bool is_rival = other->type == s->type && other->number >= 0 && !other->conn;
    if (is_rival && sim_address_is_at(other, at, size)) return -EADDRINUSE;
  }
  memcpy(&s->local, at, size);
  s->local_size = size;
  sim_socket_name(s);
  return 0;
}

static int sim_socket_listen(int fd, int backlog) {
  volt_sim_socket_ *s = volt_sim_find_(fd);
  if (!s) return -ENOTSOCK;
  if (s->type != SOCK_STREAM) return -EOPNOTSUPP;
  if (s->state != VOLT_SIM_IDLE_ && s->state != VOLT_SIM_LISTENS_) return -EINVAL;
  sim_socket_name(s);
  s->state = VOLT_SIM_LISTENS_;
  s->backlog_max = backlog > 0 ? (unsigned)backlog : 1;
  return 0;
}

static int sim_address_copy(const struct sockaddr_storage *from, socklen_t from_size,
                            struct sockaddr *to, socklen_t *size) {
  memcpy(to, from, *size < from_size ? *size : from_size);
  *size = from_size;
  return 0;
}

static int sim_socket_local(int fd, struct sockaddr *address, socklen_t *size) {
  volt_sim_socket_ *s = volt_sim_find_(fd);
  return s ? sim_address_copy(&s->local, s->local_size, address, size) : -ENOTSOCK;
}

static int sim_socket_peer(int fd, struct sockaddr *address, socklen_t *size) {
  volt_sim_socket_ *s = volt_sim_find_(fd);
  if (!s) return -ENOTSOCK;
  if (s->type == SOCK_STREAM && s->state != VOLT_SIM_CONNECTED_) return -ENOTCONN;
  return s->peer_size > 0 ? sim_address_copy(&s->peer, s->peer_size, address, size) : -ENOTCONN;
}

/* ---- connections ---- */

static int sim_socket_connect(int fd, const struct sockaddr *to, socklen_t size, bool is_shared) {
  (void)is_shared;
  volt_sim_socket_ *s = volt_sim_find_(fd);
  if (!s) return -ENOTSOCK;
  if (!sim_address_is_sound(s, to, size)) return -EINVAL;
  sim_socket_name(s);
  if (s->type == SOCK_STREAM) return volt_sim_connect_(s, to, size);
  memcpy(&s->peer, to, size);
  s->peer_size = size;
  return 0;
}

static int sim_socket_connected(int fd, const struct sockaddr *to, socklen_t size, bool is_shared) {
  (void)is_shared;
  (void)to;
  (void)size;
  volt_sim_socket_ *s = volt_sim_find_(fd);
  if (!s) return -ENOTSOCK;
  if (s->state == VOLT_SIM_CONNECTS_) return -EINPROGRESS;
  int error = s->error;
  s->error = 0;
  return -error;
}

static int sim_socket_accept(int fd) {
  volt_sim_socket_ *s = volt_sim_find_(fd);
  if (!s) return -ENOTSOCK;
  if (s->state != VOLT_SIM_LISTENS_) return -EINVAL;
  volt_sim_socket_ *server = s->backlog_first;
  if (!server) return -EAGAIN;
  if (volt_sim_happens_(s->net, s->net->faults.accept_per_million)) {
    volt_sim_became_ready_(s, POLLIN);
    return -EMFILE;
  }
  int result = volt_sim_give_number_(server);
  if (result < 0) return result;
  s->backlog_first = server->next_queued;
  if (!s->backlog_first) s->backlog_last = NULL;
  s->backlog -= 1;
  if (s->backlog > 0) volt_sim_became_ready_(s, POLLIN);
  return server->number;
}

static int sim_socket_shutdown(int fd, int how) {
  volt_sim_socket_ *s = volt_sim_find_(fd);
  if (!s) return -ENOTSOCK;
  if (s->type == SOCK_STREAM) return volt_sim_stream_shutdown_(s, how);
  if (how != SHUT_WR) s->reads_no_more = true;
  volt_sim_became_ready_(s, POLLIN);
  return 0;
}

static int sim_socket_setsockopt(int fd, int level, int name, const void *value, socklen_t size) {
  (void)level;
  (void)name;
  (void)value;
  (void)size;
  return volt_sim_find_(fd) ? 0 : -ENOTSOCK; /* none changes what is simulated */
}

uint32_t volt_sim_ready_(volt_sim_socket_ *s) {
  return s->type == SOCK_STREAM ? volt_sim_stream_ready_(s) : volt_sim_datagram_ready_(s);
}

static int sim_socket_ready(int fd, short events) {
  volt_sim_socket_ *s = volt_sim_find_(fd);
  if (!s) return volt_sys_real_.ready(fd, events);
  uint32_t bits = volt_sim_ready_(s);
  return (int)bits & (events | POLLERR | POLLHUP);
}

/* ---- bytes ---- */

enum { PARTS_MAX = 1024 }; /* as the system has it */

/* On a stream: one part after the other, until one is not moved whole. */
static ssize_t sim_stream_each(volt_sim_socket_ *s, const struct iovec *parts, size_t count,
                               ssize_t (*move)(volt_sim_socket_ *, const struct iovec *)) {
  ssize_t total = 0;
  for (size_t i = 0; i < count; i++) {
    if (parts[i].iov_len == 0) continue;
    ssize_t n = move(s, &parts[i]);
    if (n < 0 && total > 0) {
      if (n == -ECONNRESET) s->error = ECONNRESET; /* the next call returns it */
      return total;
    }
    if (n < 0) return n;
    total += n;
    if ((size_t)n < parts[i].iov_len) break;
  }
  return total;
}

static ssize_t sim_stream_recv_part(volt_sim_socket_ *s, const struct iovec *part) {
  return volt_sim_stream_recv_(s, part->iov_base, part->iov_len, false);
}

static ssize_t sim_stream_peek_part(volt_sim_socket_ *s, const struct iovec *part) {
  return volt_sim_stream_recv_(s, part->iov_base, part->iov_len, true);
}

static ssize_t sim_stream_send_part(volt_sim_socket_ *s, const struct iovec *part) {
  return volt_sim_stream_send_(s, part->iov_base, part->iov_len);
}

static ssize_t sim_socket_recvmsg(int fd, struct msghdr *message, int flags) {
  volt_sim_socket_ *s = volt_sim_find_(fd);
  if (!s) return -ENOTSOCK;
  if (s->type == SOCK_DGRAM) return volt_sim_datagram_recv_(s, message, flags);
  message->msg_controllen = 0;
  message->msg_namelen = 0;
  message->msg_flags = 0;
  bool peeks = flags & MSG_PEEK; /* the first part only: enough to see what comes */
  size_t count = peeks && message->msg_iovlen > 1 ? 1 : (size_t)message->msg_iovlen;
  return sim_stream_each(s, message->msg_iov, count,
                         peeks ? sim_stream_peek_part : sim_stream_recv_part);
}

static ssize_t sim_socket_sendmsg(int fd, const struct msghdr *message, int flags) {
  (void)flags;
  volt_sim_socket_ *s = volt_sim_find_(fd);
  if (!s) return -ENOTSOCK;
  sim_socket_name(s);
  if (s->type == SOCK_DGRAM) return volt_sim_datagram_send_(s, message);
  if (message->msg_controllen > 0) return -EOPNOTSUPP;
  return sim_stream_each(s, message->msg_iov, (size_t)message->msg_iovlen, sim_stream_send_part);
}

static ssize_t sim_socket_recv(int fd, void *to, size_t size, int flags) {
  struct iovec part = {.iov_base = to, .iov_len = size};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  return sim_socket_recvmsg(fd, &message, flags);
}

static ssize_t sim_socket_send(int fd, const void *from, size_t size, int flags) {
  struct iovec part = {.iov_base = (void *)(uintptr_t)from, .iov_len = size};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  return sim_socket_sendmsg(fd, &message, flags);
}

static ssize_t sim_socket_readv(int fd, const struct iovec *parts, int count, off_t at) {
  if (!volt_sim_is_number_(fd)) return volt_sys_real_.readv(fd, parts, count, at);
  if (at != -1) return -ESPIPE;
  if (count < 0 || count > PARTS_MAX) return -EINVAL;
  struct msghdr message = {.msg_iov = (struct iovec *)(uintptr_t)parts,
                           .msg_iovlen = (uint16_t)count};
  return sim_socket_recvmsg(fd, &message, 0);
}

static ssize_t sim_socket_writev(int fd, const struct iovec *parts, int count, off_t at) {
  if (!volt_sim_is_number_(fd)) return volt_sys_real_.writev(fd, parts, count, at);
  if (at != -1) return -ESPIPE;
  if (count < 0 || count > PARTS_MAX) return -EINVAL;
  struct msghdr message = {.msg_iov = (struct iovec *)(uintptr_t)parts,
                           .msg_iovlen = (uint16_t)count};
  return sim_socket_sendmsg(fd, &message, 0);
}

static ssize_t sim_file_readv_now(int fd, const struct iovec *parts, int count, off_t at) {
  if (volt_sim_is_number_(fd)) return -EOPNOTSUPP;
  return volt_sys_real_.readv_now(fd, parts, count, at);
}

static ssize_t sim_socket_sendfile(int to, int from, off_t at, size_t size) {
  if (!volt_sim_is_number_(to)) return volt_sys_real_.sendfile(to, from, at, size);
  uint8_t bytes[4096];
  struct iovec part = {.iov_base = bytes, .iov_len = size < sizeof bytes ? size : sizeof bytes};
  ssize_t n = volt_sys_real_.readv(from, &part, 1, at);
  return n > 0 ? sim_socket_send(to, bytes, (size_t)n, 0) : n;
}

static int sim_file_sync(int fd, int data_only) {
  return volt_sim_is_number_(fd) ? -EINVAL : volt_sys_real_.sync(fd, data_only);
}

static int sim_file_open(int directory, const char *path, int flags, mode_t mode) {
  return volt_sys_real_.open(directory, path, flags, mode);
}

const volt_sys_ volt_sys_simulated_ = {.recv = sim_socket_recv,
                                       .send = sim_socket_send,
                                       .recvmsg = sim_socket_recvmsg,
                                       .sendmsg = sim_socket_sendmsg,
                                       .readv = sim_socket_readv,
                                       .writev = sim_socket_writev,
                                       .readv_now = sim_file_readv_now,
                                       .sendfile = sim_socket_sendfile,
                                       .accept = sim_socket_accept,
                                       .connect = sim_socket_connect,
                                       .connected = sim_socket_connected,
                                       .ready = sim_socket_ready,
                                       .sync = sim_file_sync,
                                       .open = sim_file_open,
                                       .close = sim_socket_close,
                                       .socket = sim_socket_open,
                                       .bind = sim_socket_bind,
                                       .listen = sim_socket_listen,
                                       .shutdown = sim_socket_shutdown,
                                       .setsockopt = sim_socket_setsockopt,
                                       .local = sim_socket_local,
                                       .kind = sim_socket_kind,
                                       .unblock = sim_socket_unblock,
                                       .pair = sim_socket_pair,
                                       .pipe = sim_socket_pipe,
                                       .unlink = sim_socket_unlink,
                                       .peer = sim_socket_peer};
