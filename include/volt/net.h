/* net.h: addresses, sockets that listen, names that are looked up, connections that are dialled.
 *
 * A server:
 *
 *   volt_address at;
 *   volt_address_parse(&at, "127.0.0.1:8080");
 *   volt_listen(&self->listener, rt, &at, 0, 0);
 *   for (;;) {
 *     ... find memory for one more connection
 *     VOLT_AWAIT_RESULT(self, r,
 *                       volt_fd_accept_future(&self->op, &self->listener, &connection->fd));
 *     if (r == VOLT_OK) {
 *       ... spawn its task
 *     } else {
 *       VOLT_AWAIT(self, volt_accept_pause_future(&self->pause, rt, r));
 *     }
 *   }
 *
 * A client:
 *
 *   VOLT_AWAIT(self, volt_dial_future(&self->dial, rt, &self->fd, "example.org:80", NULL));
 *
 * An address is written as one text, in the same form everywhere:
 *   127.0.0.1:80           IPv4
 *   [::1]:80               IPv6; [fe80::1%eth0]:80 with an interface
 *   :80 or *:80            every address of this machine, of IPv4 and IPv6
 *   unix:/run/x.sock       a path in the file system
 *   unix:@name             an abstract name, which is in no file system
 *   example.org:80         a name; volt_resolve_future() and volt_dial_future() only
 *   example.org:http       a service's name; the same
 * A port of 0 is one that the system chooses (volt_fd_local() says which).
 *
 * All sockets that are made here are non-blocking and O_CLOEXEC. */
#ifndef VOLT_NET_H
#define VOLT_NET_H

#include <netinet/in.h>
#include <sys/un.h>

#include "async.h"
#include "io.h"
#include "time.h"

/* ---- addresses ---- */

/* An address of a socket. as: for system calls and for volt_fd_connect_future(), with size. */
typedef struct volt_address {
  union {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    struct sockaddr_un local;
  } as;
  socklen_t size; /* how many bytes of it are used; 0: no address */
} volt_address;
VOLT_SIZE_AT_MOST_(volt_address, 128);

/* What volt_address_text() writes at most, with the 0 at its end. */
#define VOLT_ADDRESS_TEXT 128

VOLT_BEGIN_DECLS

/* Read an address from text, in one of the forms above, but no name. It looks up nothing but the
 * number of an interface behind '%'.
 * a: the caller's, filled in. text: read within the call.
 * Returns VOLT_OK; VOLT_EINVAL: it is no address ("localhost:80" is a name: volt_resolve_future() and
 *   volt_dial_future() take both); VOLT_ERRNO(ENAMETOOLONG): a path of more than 107
 *   bytes; VOLT_ERRNO(ENODEV): there is no such interface. Then a->size is 0. Threads: any. */
VOLT_API VOLT_NODISCARD int volt_address_parse(volt_address *a, const char *text);

/* Copy an address that comes from the system.
 * from: size bytes. Returns VOLT_OK; VOLT_EINVAL: it has a family other than IPv4, IPv6 and unix,
 *   or a size that is wrong for its family. Then a->size is 0. Threads: any. */
VOLT_API VOLT_NODISCARD int volt_address_set(volt_address *a, const struct sockaddr *from,
                                             socklen_t size);

/* Write an address as text, in the form that volt_address_parse() reads. Bytes of a unix address
 * that are no printable ASCII become '?'. A socket without an address is "unix:" or "?".
 * to: VOLT_ADDRESS_TEXT bytes. Returns to. Threads: any. */
VOLT_API const char *volt_address_text(const volt_address *a, char *to);

/* Read the port of an IPv4 or IPv6 address. Returns it, or 0 for any other. Threads: any. */
VOLT_API uint16_t volt_address_port(const volt_address *a);

VOLT_END_DECLS

/* ---- sockets ---- */

/* For volt_listen() and volt_udp_bind(). */
enum volt_listen_flags {
  VOLT_LISTEN_REUSE_PORT = 1, /* SO_REUSEPORT: several sockets share the port */
  VOLT_LISTEN_IPV6_ONLY = 2,  /* [::] does not take IPv4, too */
  VOLT_LISTEN_STRICT = 4,     /* no SO_REUSEADDR: not while old connections are in TIME_WAIT */
  VOLT_LISTEN_REPLACE_UNIX =
      8 /* a unix socket's path at which no process listens is removed first */
};

/* Members are private. All-zero at first. */
typedef struct volt_accept_pause {
  volt_async async;
  volt_sleep_op sleep;
  volt_rt *rt;
  uint64_t delay_ns;
  uint64_t ended_ns;
  int result;
} volt_accept_pause;

VOLT_BEGIN_DECLS

/* Make *out a new socket, as socket().
 * out: the caller's. Returns VOLT_OK; VOLT_EINVAL: rt does no I/O; VOLT_ERRNO(e). Unless VOLT_OK,
 *   *out is closed. Threads: any. */
VOLT_API VOLT_NODISCARD int volt_socket_open(volt_fd *out, volt_rt *rt, int domain, int type,
                                             int protocol);

/* Make two unix sockets that are connected with each other, as socketpair().
 * type: SOCK_STREAM, SOCK_SEQPACKET or SOCK_DGRAM. Else as volt_socket_open(). */
VOLT_API VOLT_NODISCARD int volt_pair_open(volt_fd *one, volt_fd *other, volt_rt *rt, int type);

/* Make a pipe: what is written to *writer can be read from *reader. Else as volt_socket_open(). */
VOLT_API VOLT_NODISCARD int volt_pipe_open(volt_fd *reader, volt_fd *writer, volt_rt *rt);

/* Make *out a stream socket that listens at an address, for volt_fd_accept_future().
 * out: the caller's. at: read within the call. For every address of this machine it takes IPv4 and
 *   IPv6 on one socket, or IPv4 alone if the system has no IPv6. backlog: how many connections may
 *   wait to be accepted; 0: as many as the system allows. flags: of volt_listen_flags. If two
 *   servers start at the same moment with VOLT_LISTEN_REPLACE_UNIX, one may remove the path of the
 *   other.
 * Returns VOLT_OK; VOLT_EINVAL: rt does no I/O, no address, or unknown flags; VOLT_ERRNO(e), as
 *   EADDRINUSE, EACCES, EADDRNOTAVAIL. Unless VOLT_OK, *out is closed. The path of a unix socket
 *   stays when it is closed: the caller removes it.
 * Threads: any. */
VOLT_API VOLT_NODISCARD int volt_listen(volt_fd *out, volt_rt *rt, const volt_address *at,
                                        int backlog, unsigned flags);

/* Make *out a datagram socket at an address (UDP, or unix). SO_REUSEADDR is not set, because it
 * would let two sockets take the same port. Else as volt_listen(). */
VOLT_API VOLT_NODISCARD int volt_udp_bind(volt_fd *out, volt_rt *rt, const volt_address *at,
                                          unsigned flags);

/* A future that waits until it makes sense to accept again, when volt_fd_accept_future() has
 * failed. If no
 * descriptor or no memory was left (EMFILE, ENFILE, ENOBUFS, ENOMEM), the connection is queued
 * still, and another accept would fail, too. So this future waits: 5 ms, and twice as long each
 * time that accept fails again within a second, at most 1 s. After an error of the one connection
 * (EPERM, ETIMEDOUT, ...) it is ready at once.
 * p: the caller's, all-zero before its first use, and kept between the calls: it knows how long the
 *   last pause was. result: what the accept has returned.
 * Returns the future: polls as VOLT_OK: accept again; as result, at once, if to accept again is of
 *   no use (VOLT_ECLOSED, VOLT_ECANCELED, VOLT_ERRNO(EBADF), ...); VOLT_ECANCELED.
 * Cancel: at once. Threads: its owner, one at a time. */
VOLT_API VOLT_NODISCARD volt_future *volt_accept_pause_future(volt_accept_pause *p, volt_rt *rt,
                                                              int result);

/* Read the address that a socket has. Returns VOLT_OK; VOLT_ECLOSED: *d is closed; VOLT_ERRNO(e).
 * Threads: any, while no other closes it. */
VOLT_API VOLT_NODISCARD int volt_fd_local(const volt_fd *d, volt_address *out);

/* Read the address that a socket is connected to. Else as volt_fd_local(). */
VOLT_API VOLT_NODISCARD int volt_fd_peer(const volt_fd *d, volt_address *out);

/* Say that nothing more will be sent (SHUT_WR: the peer reads the end), or received (SHUT_RD), or
 * neither (SHUT_RDWR). Operations on *d may be under way: a receive ends with n == 0 after SHUT_RD.
 * Returns VOLT_OK, also if the peer is gone already; VOLT_ECLOSED: *d is closed; VOLT_ERRNO(e).
 * Threads: any, while no other closes it. */
VOLT_API int volt_fd_shutdown(const volt_fd *d, int how);

/* Send small amounts at once (TCP_NODELAY), instead of waiting until the peer has acknowledged
 * those before. For protocols in which one side waits for the other's answer.
 * Returns VOLT_OK, also for a socket that is not of TCP; else as volt_fd_local(). Threads: any. */
VOLT_API int volt_fd_nodelay(const volt_fd *d);

/* Notice that the peer is gone although nothing is sent. After idle_s seconds without traffic the
 * system asks it every interval_s seconds; after `count` unanswered questions operations end with
 * VOLT_ERRNO(ETIMEDOUT). 0: what the system has set. Else as volt_fd_nodelay(). */
VOLT_API int volt_fd_keepalive(const volt_fd *d, unsigned idle_s, unsigned interval_s,
                               unsigned count);

VOLT_END_DECLS

/* ---- descriptors that are passed ---- */

/* How many descriptors one message can pass. */
#define VOLT_RIGHTS_MAX 253

/* One message of a unix socket, with descriptors (SCM_RIGHTS). message: for
 * volt_fd_sendmsg_future() and volt_fd_recvmsg_future(). All else is private. It must not move
 * between the functions below and the operation. */
typedef struct volt_rights {
  struct msghdr message;
  struct iovec part;
  union {
    size_t aligned;
    char bytes[CMSG_SPACE(sizeof(int) * VOLT_RIGHTS_MAX)];
  } control;
} volt_rights;

VOLT_BEGIN_DECLS

/* Prepare a message that passes descriptors with its first byte. They stay open here: the receiver
 * gets copies. On a stream the system may take fewer than size bytes; the descriptors have gone
 * with the first of them, so the rest is sent without (volt_fd_send_future()).
 * m: the caller's. from: size bytes, at least one, the caller's until it is sent. numbers: count of
 *   them, copied.
 * Returns VOLT_OK; VOLT_EINVAL: count above VOLT_RIGHTS_MAX, or size is 0. Threads: m's owner. */
VOLT_API VOLT_NODISCARD int volt_rights_put(volt_rights *m, const void *from, size_t size,
                                            const int *numbers, unsigned count);

/* Prepare to receive a message with up to VOLT_RIGHTS_MAX descriptors.
 * m: the caller's. to: size bytes, the caller's until it is received. Threads: m's owner. */
VOLT_API void volt_rights_expect(volt_rights *m, void *to, size_t size);

/* Take the descriptors that came with a message. They are the caller's then, and O_CLOEXEC
 * (volt_fd_init() makes one a volt_fd). Those beyond room are closed. After volt_rights_expect() it
 * may be called at any time when no operation uses *m, and takes nothing if none came, or if they
 * were taken before.
 * numbers: room of them. *count: how many were written.
 * Returns VOLT_OK; VOLT_ERRNO(EMSGSIZE): more came than there was room for, or than this process
 *   could take: the first *count of them were taken, the others are closed. Threads: m's owner. */
VOLT_API VOLT_NODISCARD int volt_rights_take(volt_rights *m, int *numbers, unsigned room,
                                             unsigned *count);

/* Close the descriptors that came with a message and were not taken. As volt_rights_take(). */
VOLT_API void volt_rights_drop(volt_rights *m);

VOLT_END_DECLS

/* ---- names ---- */

/* What volt_resolve_future() reads at most: a name of 253 bytes, ':', and a service of 32. */
#define VOLT_RESOLVE_TEXT 288

/* Addresses that were looked up. addresses, count: what was found, until volt_resolve_free(). All
 * else is private. */
typedef struct volt_resolve {
  const volt_address *addresses;
  size_t count;
  volt_async async;
  volt_blocking call;
  volt_rt *rt;
  volt_address one;
  int error; /* of getaddrinfo(), or 0 */
  char text[VOLT_RESOLVE_TEXT];
} volt_resolve;

/* How volt_dial_future() dials. All-zero: the defaults. */
typedef struct volt_dial_config {
  uint64_t attempt_ns; /* how long each address has; 0: 5 s; VOLT_NO_DEADLINE: as the system does */
  unsigned flags;      /* of volt_dial_flags */
  uint64_t reserved[2];
} volt_dial_config;

enum volt_dial_flags {
  VOLT_DIAL_DELAY = 1 /* small amounts wait for each other: no TCP_NODELAY */
};

/* Members are private. */
typedef struct volt_dial {
  volt_future future;
  volt_async async;
  volt_rt *rt;
  volt_fd *out;
  size_t next;
  uint64_t attempt_ns;
  unsigned flags;
  int result;
  volt_resolve resolve;
  volt_timeout timeout;
  volt_op op;
} volt_dial;

VOLT_BEGIN_DECLS

/* A future of the addresses that a text stands for: of all forms above. A name is looked up with
 * getaddrinfo() on the blocking pool; what is no name is ready at once, and uses no thread. The
 * addresses are in the order in which to try them: as the system prefers them (RFC 6724), with the
 * families by turns (RFC 8305).
 * r: the caller's; volt_resolve_free() afterwards, whatever the result is. text: copied.
 * Returns the future: polls as VOLT_OK: r->count is at least 1; VOLT_EINVAL: it is neither an
 *   address nor a name with a port, or the service is not known; VOLT_ERRNO(ENXIO): there is no
 *   such name, or it has no address; VOLT_ERRNO(EREMOTEIO): no server has answered for now: try
 *   later; VOLT_ERRNO(EPROTO): a server has answered with a failure; VOLT_ENOMEM; VOLT_ERRNO(e);
 *   what volt_blocking_future() says; VOLT_ECANCELED. volt_resolve_error() has the text.
 * Cancel: as volt_blocking_future(): if the call has begun, it is awaited, and that may take as
 *   long as the system's time limit for name servers.
 * Threads: its owner, one at a time. */
VOLT_API VOLT_NODISCARD volt_future *volt_resolve_future(volt_resolve *r, volt_rt *rt,
                                                         const char *text);

/* Say why a lookup has failed, as gai_strerror() does. Returns the text, in static memory; NULL: it
 * has not failed, or not for a reason of getaddrinfo(). Threads: r's owner. */
VOLT_API const char *volt_resolve_error(const volt_resolve *r);

/* Free the addresses. r: may be all-zero, or freed before; no lookup is under way. Threads: r's
 * owner. */
VOLT_API void volt_resolve_free(volt_resolve *r);

/* A future of a stream connection to what a text stands for: the addresses are looked up
 * (volt_resolve_future()) and tried in turn. The next attempt begins when the one before has
 * failed, or has taken attempt_ns. To limit the whole, use volt_timeout_future().
 * d: the caller's. out: the caller's; becomes the connection when the future polls as VOLT_OK; has
 *   none in every other case. to: copied. config: copied; NULL: the defaults.
 * Returns the future: polls as VOLT_OK; VOLT_EINVAL: rt does no I/O, unknown flags, reserved not
 *   zero, or as volt_resolve_future(); as volt_resolve_future(), if that fails; else why the last
 *   address has failed: VOLT_ETIMEDOUT: attempt_ns has passed; VOLT_ERRNO(ECONNREFUSED) and others;
 *   VOLT_ECANCELED. volt_dial_error() has a text.
 * Cancel: an attempt at once; a lookup as volt_resolve_future(). A connection that no poll has
 *   returned is closed, also one that loses a select or comes as its deadline passes.
 * Threads: its owner, one at a time. */
VOLT_API VOLT_NODISCARD volt_future *volt_dial_future(volt_dial *d, volt_rt *rt, volt_fd *out,
                                                      const char *to,
                                                      const volt_dial_config *config);

/* Say why a dial has failed. result: what its future has returned. Returns the text, in static
 * memory: of the lookup if that has failed, else volt_strerror(). Threads: d's owner. */
VOLT_API const char *volt_dial_error(const volt_dial *d, int result);

VOLT_END_DECLS
#endif
