/* net_socket_test.c: sockets, pipes and pairs that are made, sockets that listen, what is asked of
 * them, and the pause after an accept that has failed.
 *
 * BACK ENDS: epoll, uring */
#define _GNU_SOURCE /* struct ucred, ... */
#include <sys/resource.h>
#include <sys/stat.h>
#include <volt/net.h>

#include "io_kit.h"

static volt_address address(const char *text) {
  volt_address a;
  assert_result(volt_address_parse(&a, text), VOLT_OK);
  return a;
}

static const char *text_of(const volt_address *a) {
  static char text[2][VOLT_ADDRESS_TEXT];
  static int which;
  which = 1 - which;
  return volt_address_text(a, text[which]);
}

static int option_of(const volt_fd *d, int level, int name) {
  int value = -1;
  socklen_t size = sizeof value;
  REQUIRE(getsockopt(volt_fd_number(d), level, name, &value, &size) == 0);
  return value;
}

static void listen_at(io_kit *k, volt_fd *listener, const char *text, unsigned flags) {
  volt_address a = address(text);
  errno = KIT_ERRNO;
  assert_result(volt_listen(listener, k->rt, &a, 0, flags), VOLT_OK);
  assert_int_equal(errno, KIT_ERRNO);
  assert_int_equal(option_of(listener, SOL_SOCKET, SO_ACCEPTCONN), 1);
  assert_true(fcntl(volt_fd_number(listener), F_GETFL) & O_NONBLOCK);
  assert_true(fcntl(volt_fd_number(listener), F_GETFD) & FD_CLOEXEC);
}

static int listen_fails(io_kit *k, const volt_address *a, unsigned flags) {
  volt_fd listener;
  memset((void *)&listener, 0xff, sizeof listener);
  errno = KIT_ERRNO;
  int result = volt_listen(&listener, k->rt, a, 0, flags);
  assert_int_equal(errno, KIT_ERRNO);
  assert_int_equal(volt_fd_number(&listener), -1);
  volt_fd_close(&listener);
  return result;
}

/* ---- made ---- */

static void a_socket_is_made(void **state) {
  io_kit *k = (io_kit *)*state;
  volt_fd d;
  assert_result(volt_socket_open(&d, k->rt, AF_INET, SOCK_STREAM, 0), VOLT_OK);
  assert_true(fcntl(volt_fd_number(&d), F_GETFL) & O_NONBLOCK);
  assert_true(fcntl(volt_fd_number(&d), F_GETFD) & FD_CLOEXEC);
  assert_int_equal(option_of(&d, SOL_SOCKET, SO_TYPE), SOCK_STREAM);
  volt_fd_close(&d);
  errno = KIT_ERRNO;
  assert_result(volt_socket_open(&d, k->rt, 12345, SOCK_STREAM, 0), VOLT_ERRNO(EAFNOSUPPORT));
  assert_int_equal(errno, KIT_ERRNO);
  assert_int_equal(volt_fd_number(&d), -1);
}

static void a_runtime_without_io_has_none(void **state) {
  (void)state;
  volt_rt *rt;
  volt_rt_config config = {.flags = VOLT_RT_BY_HAND};
  volt_address a = address("127.0.0.1:0");
  volt_fd d, other;
  assert_result(volt_rt_create(&rt, &config), VOLT_OK);
  assert_result(volt_socket_open(&d, rt, AF_INET, SOCK_STREAM, 0), VOLT_EINVAL);
  assert_result(volt_pair_open(&d, &other, rt, SOCK_STREAM), VOLT_EINVAL);
  assert_result(volt_pipe_open(&d, &other, rt), VOLT_EINVAL);
  assert_result(volt_listen(&d, rt, &a, 0, 0), VOLT_EINVAL);
  assert_result(volt_udp_bind(&d, rt, &a, 0), VOLT_EINVAL);
  assert_int_equal(volt_fd_number(&d), -1);
  volt_rt_destroy(rt);
}

/* What is sent at one comes at the other. */
static void expect_way(io_kit *k, volt_fd *from, volt_fd *to) {
  volt_op op;
  char got[8] = "";
  FOR_EACH_WAY(way) {
    assert_result(kit_run(k, (kit_way)way, volt_fd_write_future(&op, from, "word", 4, -1)),
                  VOLT_OK);
    assert_result(kit_run(k, (kit_way)way, volt_fd_read_future(&op, to, got, sizeof got, -1)),
                  VOLT_OK);
    assert_int_equal(op.n, 4);
    assert_memory_equal(got, "word", 4);
  }
}

static void pipes_and_pairs_are_connected(void **state) {
  io_kit *k = (io_kit *)*state;
  volt_fd one, other;
  assert_result(volt_pipe_open(&one, &other, k->rt), VOLT_OK);
  expect_way(k, &other, &one);
  volt_fd_close(&one);
  volt_fd_close(&other);
  for (int type = SOCK_STREAM; type <= SOCK_DGRAM; type++) {
    assert_result(volt_pair_open(&one, &other, k->rt, type), VOLT_OK);
    expect_way(k, &other, &one);
    expect_way(k, &one, &other);
    volt_fd_close(&one);
    volt_fd_close(&other);
  }
  assert_true(volt_errno(volt_pair_open(&one, &other, k->rt, 77)) != 0);
  assert_int_equal(volt_fd_number(&one), -1);
}

/* ---- listen ---- */

/* Whether a client gets to it. Leaves nothing behind. */
static int dial(io_kit *k, volt_fd *listener, const volt_address *to) {
  volt_fd client, server;
  volt_op op;
  volt_address local, peer;
  assert_result(volt_socket_open(&client, k->rt, to->as.any.sa_family, SOCK_STREAM, 0), VOLT_OK);
  int result = kit_run(k, BY_TASK, volt_fd_connect_future(&op, &client, &to->as.any, to->size));
  if (result == VOLT_OK) {
    assert_result(kit_run(k, BY_TASK, volt_fd_accept_future(&op, listener, &server)), VOLT_OK);
    assert_result(volt_fd_local(&client, &local), VOLT_OK);
    assert_result(volt_fd_peer(&server, &peer), VOLT_OK);
    assert_int_equal(volt_address_port(&local), volt_address_port(&peer));
    expect_way(k, &client, &server);
    expect_way(k, &server, &client);
    volt_fd_close(&server);
  }
  volt_fd_close(&client);
  return result;
}

/* The address with the port that the listener has. */
static volt_address at_port_of(const volt_fd *listener, const char *format) {
  volt_address local;
  char text[VOLT_ADDRESS_TEXT];
  assert_result(volt_fd_local(listener, &local), VOLT_OK);
  assert_true(volt_address_port(&local) != 0);
  (void)snprintf(text, sizeof text, format, volt_address_port(&local));
  return address(text);
}

static void it_listens(void **state) {
  io_kit *k = (io_kit *)*state;
  volt_fd listener;
  volt_address to, local;
  listen_at(k, &listener, "127.0.0.1:0", 0);
  to = at_port_of(&listener, "127.0.0.1:%u");
  assert_result(volt_fd_local(&listener, &local), VOLT_OK);
  assert_string_equal(text_of(&local), text_of(&to));
  assert_result(dial(k, &listener, &to), VOLT_OK);
  assert_result(volt_fd_peer(&listener, &local), VOLT_ERRNO(ENOTCONN));
  volt_fd_close(&listener);
  assert_result(dial(k, NULL, &to), VOLT_ERRNO(ECONNREFUSED));
}

static void every_address_is_of_both_families(void **state) {
  io_kit *k = (io_kit *)*state;
  volt_fd listener;
  listen_at(k, &listener, ":0", 0);
  volt_address v4 = at_port_of(&listener, "127.0.0.1:%u");
  volt_address v6 = at_port_of(&listener, "[::1]:%u");
  assert_result(dial(k, &listener, &v4), VOLT_OK);
  assert_result(dial(k, &listener, &v6), VOLT_OK);
  volt_fd_close(&listener);
  listen_at(k, &listener, ":0", VOLT_LISTEN_IPV6_ONLY);
  v4 = at_port_of(&listener, "127.0.0.1:%u");
  v6 = at_port_of(&listener, "[::1]:%u");
  assert_result(dial(k, &listener, &v4), VOLT_ERRNO(ECONNREFUSED));
  assert_result(dial(k, &listener, &v6), VOLT_OK);
  volt_fd_close(&listener);
}

/* A system without IPv6 is one whose socket() says so. */
static int socket_without_v6(volt_io_ *io, int domain, int type, int protocol) {
  if (domain == AF_INET6) return -EAFNOSUPPORT;
  return volt_sys_real_.socket(io, domain, type, protocol);
}

static void without_ipv6_every_address_is_of_ipv4(void **state) {
  io_kit *k = (io_kit *)*state;
  volt_io_ *io = volt_io_of_driver_(volt_rt_driver_(k->rt));
  const volt_sys_ *real = io->sys;
  volt_sys_ sys = *real;
  volt_fd listener;
  volt_address any = address(":0"), one = address("[::1]:0");
  sys.socket = socket_without_v6;
  io->sys = &sys;
  listen_at(k, &listener, ":0", 0);
  volt_address v4 = at_port_of(&listener, "127.0.0.1:%u");
  assert_result(dial(k, &listener, &v4), VOLT_OK);
  volt_fd_close(&listener);
  assert_result(listen_fails(k, &any, VOLT_LISTEN_IPV6_ONLY), VOLT_ERRNO(EAFNOSUPPORT));
  assert_result(listen_fails(k, &one, 0), VOLT_ERRNO(EAFNOSUPPORT));
  io->sys = real;
}

static void a_port_is_taken_once(void **state) {
  io_kit *k = (io_kit *)*state;
  volt_fd one, two;
  listen_at(k, &one, "127.0.0.1:0", 0);
  volt_address same = at_port_of(&one, "127.0.0.1:%u");
  assert_result(listen_fails(k, &same, 0), VOLT_ERRNO(EADDRINUSE));
  assert_result(listen_fails(k, &same, VOLT_LISTEN_REUSE_PORT), VOLT_ERRNO(EADDRINUSE));
  volt_fd_close(&one);
  listen_at(k, &one, "127.0.0.1:0", VOLT_LISTEN_REUSE_PORT);
  same = at_port_of(&one, "127.0.0.1:%u");
  assert_result(volt_listen(&two, k->rt, &same, 0, VOLT_LISTEN_REUSE_PORT), VOLT_OK);
  volt_fd_close(&one);
  volt_fd_close(&two);
}

static void reuse_of_an_address_can_be_left_out(void **state) {
  io_kit *k = (io_kit *)*state;
  volt_fd d;
  listen_at(k, &d, "127.0.0.1:0", 0);
  assert_int_equal(option_of(&d, SOL_SOCKET, SO_REUSEADDR), 1);
  volt_fd_close(&d);
  listen_at(k, &d, "127.0.0.1:0", VOLT_LISTEN_STRICT);
  assert_int_equal(option_of(&d, SOL_SOCKET, SO_REUSEADDR), 0);
  volt_fd_close(&d);
}

static void what_cannot_be_is_refused(void **state) {
  io_kit *k = (io_kit *)*state;
  volt_address a = address("127.0.0.1:0"), none = {.size = 0};
  volt_address elsewhere = address("192.0.2.1:0");
  assert_result(listen_fails(k, &a, 16), VOLT_EINVAL);
  assert_result(listen_fails(k, &none, 0), VOLT_EINVAL);
  assert_result(listen_fails(k, &elsewhere, 0), VOLT_ERRNO(EADDRNOTAVAIL));
}

/* ---- unix ---- */

static char directory[] = "/tmp/net_socket_test.XXXXXX";

static volt_address path(const char *name) {
  char text[64];
  (void)snprintf(text, sizeof text, "unix:%s/%s", directory, name);
  return address(text);
}

static void a_unix_path_stays_and_is_replaced(void **state) {
  io_kit *k = (io_kit *)*state;
  volt_fd one, two;
  volt_address at = path("s"), local;
  assert_result(volt_listen(&one, k->rt, &at, 0, VOLT_LISTEN_REPLACE_UNIX), VOLT_OK);
  assert_result(dial(k, &one, &at), VOLT_OK);
  assert_result(volt_fd_local(&one, &local), VOLT_OK);
  assert_string_equal(text_of(&local), text_of(&at));
  assert_result(listen_fails(k, &at, VOLT_LISTEN_REPLACE_UNIX), VOLT_ERRNO(EADDRINUSE));
  volt_fd_close(&one);
  assert_result(listen_fails(k, &at, 0), VOLT_ERRNO(EADDRINUSE));
  assert_result(volt_listen(&two, k->rt, &at, 0, VOLT_LISTEN_REPLACE_UNIX), VOLT_OK);
  assert_result(dial(k, &two, &at), VOLT_OK);
  volt_fd_close(&two);
  assert_int_equal(unlink(at.as.local.sun_path), 0);
}

static void a_file_is_not_replaced(void **state) {
  io_kit *k = (io_kit *)*state;
  volt_address at = path("f");
  struct stat there;
  int file = open(at.as.local.sun_path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  REQUIRE(file >= 0 && close(file) == 0);
  assert_result(listen_fails(k, &at, VOLT_LISTEN_REPLACE_UNIX), VOLT_ERRNO(EADDRINUSE));
  assert_int_equal(stat(at.as.local.sun_path, &there), 0);
  assert_int_equal(unlink(at.as.local.sun_path), 0);
}

static void an_abstract_name_leaves_with_its_socket(void **state) {
  io_kit *k = (io_kit *)*state;
  volt_fd one;
  char text[64];
  (void)snprintf(text, sizeof text, "unix:@net_socket_test.%d", (int)getpid());
  for (int i = 0; i < 2; i++) {
    listen_at(k, &one, text, 0);
    volt_address at = address(text);
    assert_result(dial(k, &one, &at), VOLT_OK);
    volt_fd_close(&one);
  }
}

/* ---- datagrams ---- */

static void datagrams_know_their_sender(void **state) {
  io_kit *k = (io_kit *)*state;
  volt_fd one, two;
  volt_address any = address("127.0.0.1:0"), at, from;
  volt_op op;
  char got[16];
  assert_result(volt_udp_bind(&one, k->rt, &any, 0), VOLT_OK);
  assert_result(volt_udp_bind(&two, k->rt, &any, 0), VOLT_OK);
  assert_int_equal(option_of(&one, SOL_SOCKET, SO_REUSEADDR), 0);
  at = at_port_of(&two, "127.0.0.1:%u");
  struct iovec out = {"datagram", 8}, in = {got, sizeof got};
  struct msghdr message = {
      .msg_name = &at.as, .msg_namelen = at.size, .msg_iov = &out, .msg_iovlen = 1};
  assert_result(kit_run(k, BY_TASK, volt_fd_sendmsg_future(&op, &one, &message, 0)), VOLT_OK);
  message = (struct msghdr){
      .msg_name = &from.as, .msg_namelen = sizeof from.as, .msg_iov = &in, .msg_iovlen = 1};
  assert_result(kit_run(k, BY_TASK, volt_fd_recvmsg_future(&op, &two, &message, 0)), VOLT_OK);
  assert_int_equal(op.n, 8);
  from.size = message.msg_namelen;
  at = at_port_of(&one, "127.0.0.1:%u");
  assert_string_equal(text_of(&from), text_of(&at));
  volt_fd_close(&one);
  volt_fd_close(&two);
}

/* ---- asked ---- */

static void a_shutdown_is_the_end_for_the_peer(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_STREAM(kind) {
    kit_link l;
    volt_op op;
    kit_one one;
    char got[4];
    kit_link_in(k, &l, kind);
    assert_result(volt_fd_shutdown(&l.near, SHUT_WR), VOLT_OK);
    REQUIRE(poll(&(struct pollfd){l.far, POLLIN, 0}, 1, KIT_SECONDS * 1000) == 1);
    assert_int_equal(read(l.far, got, sizeof got), 0);
    kit_far_send(&l, "x");
    assert_result(kit_run(k, BY_TASK, volt_fd_recv_future(&op, &l.near, got, 4, 0)), VOLT_OK);
    kit_start(k, &one, BY_TASK, volt_fd_recv_future(&op, &l.near, got, 4, 0));
    assert_result(volt_fd_shutdown(&l.near, SHUT_RD), VOLT_OK);
    assert_result(kit_finish(k, &one), VOLT_OK);
    assert_int_equal(op.n, 0);
    kit_unlink(&l);
  }
}

static void what_is_asked_of_no_socket_fails(void **state) {
  io_kit *k = (io_kit *)*state;
  volt_fd d, other;
  volt_address a;
  memset((void *)&d, 0, sizeof d);
  for (int i = 0; i < 2; i++) { /* all-zero, then closed */
    assert_result(volt_fd_local(&d, &a), VOLT_ECLOSED);
    assert_result(volt_fd_peer(&d, &a), VOLT_ECLOSED);
    assert_result(volt_fd_shutdown(&d, SHUT_RDWR), VOLT_ECLOSED);
    assert_result(volt_fd_nodelay(&d), VOLT_ECLOSED);
    assert_result(volt_fd_keepalive(&d, 0, 0, 0), VOLT_ECLOSED);
    assert_result(volt_socket_open(&d, k->rt, AF_INET, SOCK_STREAM, 0), VOLT_OK);
    assert_result(volt_fd_shutdown(&d, SHUT_RDWR), VOLT_OK);
    volt_fd_close(&d);
  }
  assert_result(volt_pipe_open(&d, &other, k->rt), VOLT_OK);
  errno = KIT_ERRNO;
  assert_result(volt_fd_local(&d, &a), VOLT_ERRNO(ENOTSOCK));
  assert_result(volt_fd_shutdown(&d, SHUT_WR), VOLT_ERRNO(ENOTSOCK));
  assert_result(volt_fd_nodelay(&d), VOLT_ERRNO(ENOTSOCK));
  assert_result(volt_fd_keepalive(&d, 1, 1, 1), VOLT_ERRNO(ENOTSOCK));
  assert_int_equal(errno, KIT_ERRNO);
  volt_fd_close(&d);
  volt_fd_close(&other);
}

static void options_of_tcp_are_set(void **state) {
  io_kit *k = (io_kit *)*state;
  volt_fd d, other;
  assert_result(volt_socket_open(&d, k->rt, AF_INET6, SOCK_STREAM, 0), VOLT_OK);
  assert_int_equal(option_of(&d, IPPROTO_TCP, TCP_NODELAY), 0);
  assert_result(volt_fd_nodelay(&d), VOLT_OK);
  assert_int_equal(option_of(&d, IPPROTO_TCP, TCP_NODELAY), 1);
  int interval = option_of(&d, IPPROTO_TCP, TCP_KEEPINTVL);
  assert_result(volt_fd_keepalive(&d, 11, 0, 3), VOLT_OK);
  assert_int_equal(option_of(&d, SOL_SOCKET, SO_KEEPALIVE), 1);
  assert_int_equal(option_of(&d, IPPROTO_TCP, TCP_KEEPIDLE), 11);
  assert_int_equal(option_of(&d, IPPROTO_TCP, TCP_KEEPINTVL), interval);
  assert_int_equal(option_of(&d, IPPROTO_TCP, TCP_KEEPCNT), 3);
  assert_result(volt_fd_keepalive(&d, 0, 7, 0), VOLT_OK);
  assert_int_equal(option_of(&d, IPPROTO_TCP, TCP_KEEPINTVL), 7);
  assert_result(volt_fd_keepalive(&d, 100000, 0, 0), VOLT_ERRNO(EINVAL));
  volt_fd_close(&d);
  assert_result(volt_pair_open(&d, &other, k->rt, SOCK_STREAM), VOLT_OK);
  assert_result(volt_fd_nodelay(&d), VOLT_OK);
  assert_result(volt_fd_keepalive(&d, 1, 1, 1), VOLT_OK);
  volt_fd_close(&d);
  volt_fd_close(&other);
}

/* ---- the pause ---- */

static uint64_t first_ms(volt_rt *rt, volt_accept_pause *p, int result) {
  volt_future *f = volt_accept_pause_future(p, rt, result);
  uint64_t begin_ns = volt_rt_now_ns(rt);
  assert_result(volt_rt_run_until(rt, f, VOLT_NO_DEADLINE), VOLT_OK);
  return (volt_rt_now_ns(rt) - begin_ns) / 1000000;
}

static void the_pause_grows_and_begins_anew(void **state) {
  (void)state;
  volt_rt *rt;
  volt_rt_config config = {.flags = VOLT_RT_BY_HAND | VOLT_RT_VIRTUAL_CLOCK};
  assert_result(volt_rt_create(&rt, &config), VOLT_OK);
  volt_accept_pause p;
  memset((void *)&p, 0, sizeof p);
  static const uint64_t want[] = {5, 10, 20, 40, 80, 160, 320, 640, 1000, 1000};
  static const int full[] = {EMFILE, ENFILE, ENOBUFS, ENOMEM};
  for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
    assert_int_equal(first_ms(rt, &p, VOLT_ERRNO(full[i % 4])), want[i]);
  }
  volt_rt_advance(rt, 999999999);
  assert_int_equal(first_ms(rt, &p, VOLT_ERRNO(EMFILE)), 1000);
  volt_rt_advance(rt, 1000000000);
  assert_int_equal(first_ms(rt, &p, VOLT_ERRNO(EMFILE)), 5);
  volt_rt_destroy(rt);
}

static void only_what_may_end_is_waited_for(void **state) {
  io_kit *k = (io_kit *)*state;
  volt_accept_pause p;
  kit_one one;
  memset((void *)&p, 0, sizeof p);
  FOR_EACH_WAY(way) {
    kit_way w = (kit_way)way;
    assert_result(kit_run(k, w, volt_accept_pause_future(&p, k->rt, VOLT_ERRNO(EPROTO))), VOLT_OK);
    assert_result(kit_run(k, w, volt_accept_pause_future(&p, k->rt, VOLT_ERRNO(EBADF))),
                  VOLT_ERRNO(EBADF));
    assert_result(kit_run(k, w, volt_accept_pause_future(&p, k->rt, VOLT_ECLOSED)), VOLT_ECLOSED);
    assert_result(kit_run(k, w, volt_accept_pause_future(&p, k->rt, VOLT_ECANCELED)),
                  VOLT_ECANCELED);
    kit_start(k, &one, w, volt_accept_pause_future(&p, k->rt, VOLT_ERRNO(EMFILE)));
    assert_result(kit_cancel(k, &one), VOLT_ECANCELED);
  }
}

/* A connection that cannot be accepted for want of a descriptor is not lost. */
static void a_connection_waits_for_a_descriptor(void **state) {
  io_kit *k = (io_kit *)*state;
  volt_fd listener, client, server;
  volt_op op;
  volt_accept_pause p;
  struct rlimit before, none;
  memset((void *)&p, 0, sizeof p);
  listen_at(k, &listener, "127.0.0.1:0", 0);
  volt_address to = at_port_of(&listener, "127.0.0.1:%u");
  assert_result(volt_socket_open(&client, k->rt, AF_INET, SOCK_STREAM, 0), VOLT_OK);
  assert_result(kit_run(k, BY_TASK, volt_fd_connect_future(&op, &client, &to.as.any, to.size)),
                VOLT_OK);
  REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
  none = before;
  none.rlim_cur = 0;
  REQUIRE(setrlimit(RLIMIT_NOFILE, &none) == 0);
  int result = kit_run(k, BY_TASK, volt_fd_accept_future(&op, &listener, &server));
  REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
  assert_result(result, VOLT_ERRNO(EMFILE));
  assert_result(kit_run(k, BY_TASK, volt_accept_pause_future(&p, k->rt, result)), VOLT_OK);
  assert_result(kit_run(k, BY_TASK, volt_fd_accept_future(&op, &listener, &server)), VOLT_OK);
  expect_way(k, &client, &server);
  volt_fd_close(&listener);
  volt_fd_close(&client);
  volt_fd_close(&server);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      kit_test(a_socket_is_made),
      cmocka_unit_test(a_runtime_without_io_has_none),
      kit_test(pipes_and_pairs_are_connected),
      kit_test(it_listens),
      kit_test(every_address_is_of_both_families),
      kit_test(without_ipv6_every_address_is_of_ipv4),
      kit_test(a_port_is_taken_once),
      kit_test(reuse_of_an_address_can_be_left_out),
      kit_test(what_cannot_be_is_refused),
      kit_test(a_unix_path_stays_and_is_replaced),
      kit_test(a_file_is_not_replaced),
      kit_test(an_abstract_name_leaves_with_its_socket),
      kit_test(datagrams_know_their_sender),
      kit_test(a_shutdown_is_the_end_for_the_peer),
      kit_test(what_is_asked_of_no_socket_fails),
      kit_test(options_of_tcp_are_set),
      cmocka_unit_test(the_pause_grows_and_begins_anew),
      kit_test(only_what_may_end_is_waited_for),
      kit_test(a_connection_waits_for_a_descriptor),
  };
  REQUIRE(mkdtemp(directory));
  int result = kit_main(tests);
  REQUIRE(rmdir(directory) == 0);
  return result;
}
