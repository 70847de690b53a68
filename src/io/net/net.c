/* net.c: sockets that are made, that listen, and what is asked of them. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sockaddr_un */
#endif
#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>
#include <volt/net.h>

#include "../../core/os/check.h"
#include "../op/backend.h"
#include "../op/fd.h"
#include "../sys/sys.h"

static void net_none(volt_fd *d) {
  memset(d, 0, sizeof *d);
  d->number = -1;
}

/* The kind of a socket that was made so. */
static unsigned net_kind(int domain, int type, int protocol) {
  bool is_stream = (type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC)) == SOCK_STREAM;
  bool is_inet = domain == AF_INET || domain == AF_INET6;
  bool is_tcp = is_stream && is_inet && (protocol == 0 || protocol == IPPROTO_TCP);
  return is_tcp ? VOLT_FD_TCP_ : VOLT_FD_OTHER_;
}

int volt_socket_open(volt_fd *out, volt_rt *rt, int domain, int type, int protocol) {
  net_none(out);
  volt_io_ *io = volt_io_of_(rt);
  if (!io) return VOLT_EINVAL;
  int number = io->sys->socket(io, domain, type, protocol);
  if (number < 0) return VOLT_ERRNO(-number);
  volt_fd_set_(out, io, number, net_kind(domain, type, protocol));
  return VOLT_OK;
}

/* Two descriptors that are made together: how says by which call. */
static int net_open_two(volt_fd *one, volt_fd *other, volt_io_ *io, int result, const int *number) {
  if (result < 0) return VOLT_ERRNO(-result);
  volt_fd_set_(one, io, number[0], VOLT_FD_OTHER_);
  volt_fd_set_(other, io, number[1], VOLT_FD_OTHER_);
  return VOLT_OK;
}

int volt_pair_open(volt_fd *one, volt_fd *other, volt_rt *rt, int type) {
  net_none(one);
  net_none(other);
  volt_io_ *io = volt_io_of_(rt);
  if (!io) return VOLT_EINVAL;
  int number[2];
  return net_open_two(one, other, io, io->sys->pair(io, type, number), number);
}

int volt_pipe_open(volt_fd *reader, volt_fd *writer, volt_rt *rt) {
  net_none(reader);
  net_none(writer);
  volt_io_ *io = volt_io_of_(rt);
  if (!io) return VOLT_EINVAL;
  int number[2];
  return net_open_two(reader, writer, io, io->sys->pipe(io, number), number);
}

/* ---- listen ---- */

static int net_set(volt_io_ *io, int number, int level, int name, int value) {
  return io->sys->setsockopt(number, level, name, &value, sizeof value);
}

/* Returns 0 or a negative errno. */
static int net_prepare(volt_io_ *io, int number, int domain, int type, unsigned flags) {
  int result = 0;
  bool is_stream = type == SOCK_STREAM;
  if (domain == AF_UNIX) return 0;
  if (is_stream && !(flags & VOLT_LISTEN_STRICT))
    result = net_set(io, number, SOL_SOCKET, SO_REUSEADDR, 1);
  if (result == 0 && (flags & VOLT_LISTEN_REUSE_PORT))
    result = net_set(io, number, SOL_SOCKET, SO_REUSEPORT, 1);
  int is_v6_only = (flags & VOLT_LISTEN_IPV6_ONLY) != 0;
  if (result == 0 && domain == AF_INET6)
    result = net_set(io, number, IPPROTO_IPV6, IPV6_V6ONLY, is_v6_only);
  return result;
}

/* A process listens, or has listened, at this path. If none does: remove it. Returns whether it was
 * removed. */
static bool net_remove_stale(volt_io_ *io, const volt_address *at, int type) {
  if (at->as.any.sa_family != AF_UNIX || at->as.local.sun_path[0] == 0) return false;
  int probe = io->sys->socket(io, AF_UNIX, type, 0);
  if (probe < 0) return false;
  int result = io->sys->connect(probe, &at->as.any, at->size, false);
  (void)io->sys->close(probe);
  return result == -ECONNREFUSED && io->sys->unlink(at->as.local.sun_path) == 0;
}

/* Returns 0 or a negative errno. */
static int net_bind(volt_io_ *io, int number, const volt_address *at, int type, unsigned flags) {
  int result = net_prepare(io, number, at->as.any.sa_family, type, flags);
  if (result == 0) result = io->sys->bind(number, &at->as.any, at->size);
  if (result == -EADDRINUSE && (flags & VOLT_LISTEN_REPLACE_UNIX) && net_remove_stale(io, at, type))
    result = io->sys->bind(number, &at->as.any, at->size);
  return result;
}

static int net_open_at(volt_fd *out, volt_io_ *io, const volt_address *at, int type, int backlog,
                       unsigned flags) {
  int number = io->sys->socket(io, at->as.any.sa_family, type, 0);
  if (number < 0) return VOLT_ERRNO(-number);
  int result = net_bind(io, number, at, type, flags);
  if (result == 0 && type == SOCK_STREAM)
    result = io->sys->listen(number, backlog > 0 ? backlog : INT32_MAX);
  if (result < 0) {
    (void)io->sys->close(number);
    return VOLT_ERRNO(-result);
  }
  volt_fd_set_(out, io, number, net_kind(at->as.any.sa_family, type, 0));
  return VOLT_OK;
}

/* Every address of this machine, of IPv6 and IPv4: of IPv4 alone. Returns false if *at is something
 * else. */
static bool net_only_v4(volt_address *v4, const volt_address *at, unsigned flags) {
  if (at->as.any.sa_family != AF_INET6 || (flags & VOLT_LISTEN_IPV6_ONLY)) return false;
  if (memcmp(&at->as.v6.sin6_addr, &in6addr_any, sizeof in6addr_any) != 0) return false;
  struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = at->as.v6.sin6_port};
  return volt_address_set(v4, (const struct sockaddr *)&any, sizeof any) == VOLT_OK;
}

static int net_listen(volt_fd *out, volt_rt *rt, const volt_address *at, int type, int backlog,
                      unsigned flags) {
  const unsigned known = VOLT_LISTEN_REUSE_PORT | VOLT_LISTEN_IPV6_ONLY | VOLT_LISTEN_STRICT |
                         VOLT_LISTEN_REPLACE_UNIX;
  net_none(out);
  volt_io_ *io = volt_io_of_(rt);
  if (!io || at->size < sizeof at->as.any.sa_family || (flags & ~known)) return VOLT_EINVAL;
  int result = net_open_at(out, io, at, type, backlog, flags);
  bool has_no_v6 = result == VOLT_ERRNO(EAFNOSUPPORT) || result == VOLT_ERRNO(EADDRNOTAVAIL);
  volt_address v4;
  if (has_no_v6 && net_only_v4(&v4, at, flags))
    result = net_open_at(out, io, &v4, type, backlog, flags);
  return result;
}

int volt_listen(volt_fd *out, volt_rt *rt, const volt_address *at, int backlog, unsigned flags) {
  return net_listen(out, rt, at, SOCK_STREAM, backlog, flags);
}

int volt_udp_bind(volt_fd *out, volt_rt *rt, const volt_address *at, unsigned flags) {
  return net_listen(out, rt, at, SOCK_DGRAM, 0, flags);
}

/* ---- what is asked of a socket ---- */

typedef int net_name_fn(int number, struct sockaddr *address, socklen_t *size);

static int net_name(const volt_fd *d, net_name_fn *ask, volt_address *out) {
  struct sockaddr_storage name;
  socklen_t size = sizeof name;
  memset(out, 0, sizeof *out);
  int result = ask(d->number, (struct sockaddr *)&name, &size);
  if (result < 0) return VOLT_ERRNO(-result);
  if (size > sizeof name) size = sizeof name;
  return volt_address_set(out, (const struct sockaddr *)&name, size);
}

static bool net_is_closed(const volt_fd *d) {
  return !d->io || d->number < 0;
}

int volt_fd_local(const volt_fd *d, volt_address *out) {
  return net_is_closed(d) ? (int)VOLT_ECLOSED : net_name(d, d->io->sys->local, out);
}

int volt_fd_peer(const volt_fd *d, volt_address *out) {
  return net_is_closed(d) ? (int)VOLT_ECLOSED : net_name(d, d->io->sys->peer, out);
}

int volt_fd_shutdown(const volt_fd *d, int how) {
  if (net_is_closed(d)) return VOLT_ECLOSED;
  int result = d->io->sys->shutdown(d->number, how);
  return result < 0 && result != -ENOTCONN ? VOLT_ERRNO(-result) : (int)VOLT_OK;
}

static int net_set_tcp(const volt_fd *d, int name, int value) {
  int result = net_set(d->io, d->number, IPPROTO_TCP, name, value);
  bool is_not_tcp = result == -EOPNOTSUPP || result == -ENOPROTOOPT;
  return result < 0 && !is_not_tcp ? VOLT_ERRNO(-result) : (int)VOLT_OK;
}

int volt_fd_nodelay(const volt_fd *d) {
  return net_is_closed(d) ? (int)VOLT_ECLOSED : net_set_tcp(d, TCP_NODELAY, 1);
}

int volt_fd_keepalive(const volt_fd *d, unsigned idle_s, unsigned interval_s, unsigned count) {
  if (net_is_closed(d)) return VOLT_ECLOSED;
  int set = net_set(d->io, d->number, SOL_SOCKET, SO_KEEPALIVE, 1);
  int result = set < 0 ? VOLT_ERRNO(-set) : (int)VOLT_OK;
  if (result == VOLT_OK && idle_s) result = net_set_tcp(d, TCP_KEEPIDLE, (int)idle_s);
  if (result == VOLT_OK && interval_s) result = net_set_tcp(d, TCP_KEEPINTVL, (int)interval_s);
  if (result == VOLT_OK && count) result = net_set_tcp(d, TCP_KEEPCNT, (int)count);
  return result;
}

/* ---- after accept() has failed ---- */

static const uint64_t pause_first_ns = 5000000, pause_max_ns = 1000000000;

static bool net_is_exhausted(int e) {
  return e == EMFILE || e == ENFILE || e == ENOBUFS || e == ENOMEM;
}

/* Errors of the connection, and not of the socket that listens: accept(2). */
static bool net_is_of_connection(int e) {
  return e == ENETDOWN || e == EPROTO || e == ENOPROTOOPT || e == EHOSTDOWN || e == ENONET ||
         e == EHOSTUNREACH || e == ENETUNREACH || e == ECONNABORTED || e == EPERM || e == ETIMEDOUT;
}

static volt_future *net_pause(volt_accept_pause *p) {
  uint64_t now_ns = volt_rt_now_ns(p->rt);
  bool is_again = p->delay_ns && now_ns - p->ended_ns < pause_max_ns;
  p->delay_ns = is_again ? p->delay_ns * 2 : pause_first_ns;
  if (p->delay_ns > pause_max_ns) p->delay_ns = pause_max_ns;
  return volt_sleep_future(&p->sleep, volt_rt_timers(p->rt), now_ns + p->delay_ns);
}

static int net_pause_run(volt_async *a, volt_ctx *ctx) {
  volt_accept_pause *p = volt_container_of(a, volt_accept_pause, async);
  VOLT_ASYNC_BEGIN(p);
  if (net_is_of_connection(volt_errno(p->result))) VOLT_RETURN(p, VOLT_OK);
  if (!net_is_exhausted(volt_errno(p->result))) VOLT_RETURN(p, p->result);
  VOLT_AWAIT(p, net_pause(p));
  p->ended_ns = volt_rt_now_ns(p->rt);
  VOLT_ASYNC_END(p);
}

volt_future *volt_accept_pause_future(volt_accept_pause *p, volt_rt *rt, int result) {
  p->rt = rt;
  p->result = result;
  return volt_async_future(&p->async, net_pause_run);
}
