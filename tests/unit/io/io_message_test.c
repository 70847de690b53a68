/* io_message_test.c: datagrams, addresses of senders, descriptors that are passed.
 * BACK ENDS: epoll, uring */
#define _GNU_SOURCE

#include "io_kit.h"

/* A message of one part, with room for an address and for descriptors. */
typedef struct letter {
  struct msghdr header;
  struct iovec part;
  struct sockaddr_storage from;
  char text[64];
  _Alignas(struct cmsghdr) char control[CMSG_SPACE(4 * sizeof(int))];
} letter;

static void letter_to_receive(letter *m) {
  memset(m, 0, sizeof *m);
  m->part = (struct iovec){m->text, sizeof m->text - 1};
  m->header.msg_iov = &m->part;
  m->header.msg_iovlen = 1;
  m->header.msg_name = &m->from;
  m->header.msg_namelen = sizeof m->from;
  m->header.msg_control = m->control;
  m->header.msg_controllen = sizeof m->control;
}

static void letter_to_send(letter *m, const char *text) {
  memset(m, 0, sizeof *m);
  (void)snprintf(m->text, sizeof m->text, "%s", text);
  m->part = (struct iovec){m->text, strlen(text)};
  m->header.msg_iov = &m->part;
  m->header.msg_iovlen = 1;
}

static void letter_add_descriptor(letter *m, int fd) {
  m->header.msg_control = m->control;
  m->header.msg_controllen = CMSG_SPACE(sizeof fd);
  struct cmsghdr *c = CMSG_FIRSTHDR(&m->header);
  c->cmsg_level = SOL_SOCKET;
  c->cmsg_type = SCM_RIGHTS;
  c->cmsg_len = CMSG_LEN(sizeof fd);
  memcpy(CMSG_DATA(c), &fd, sizeof fd);
}

static int letter_descriptor(letter *m) {
  int fd = -1;
  struct cmsghdr *c = CMSG_FIRSTHDR(&m->header);
  if (c && c->cmsg_type == SCM_RIGHTS) memcpy(&fd, CMSG_DATA(c), sizeof fd);
  return fd;
}

static int udp_socket(struct sockaddr_storage *at, socklen_t *size, int kind) {
  int fd = socket(kind == TCP6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  REQUIRE(fd >= 0);
  *size = kit_loopback(at, kind);
  REQUIRE(bind(fd, (struct sockaddr *)at, *size) == 0);
  *size = sizeof *at;
  REQUIRE(getsockname(fd, (struct sockaddr *)at, size) == 0);
  return fd;
}

static void a_datagram_comes_whole_and_with_its_sender(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_WAY(way) {
    for (int kind = TCP4; kind <= TCP6; kind++) {
      struct sockaddr_storage at, from;
      socklen_t size, from_size;
      volt_fd d;
      volt_op op;
      kit_one one;
      letter m;
      assert_result(volt_fd_init(&d, k->rt, udp_socket(&at, &size, kind), 0), VOLT_OK);
      int peer = udp_socket(&from, &from_size, kind);
      letter_to_receive(&m);
      kit_start(k, &one, (kit_way)way, volt_fd_recvmsg_future(&op, &d, &m.header, 0));
      assert_result(kit_check(k, &one), VOLT_PENDING);
      assert_int_equal(sendto(peer, "first", 5, 0, (struct sockaddr *)&at, size), 5);
      assert_int_equal(sendto(peer, "2nd", 3, 0, (struct sockaddr *)&at, size), 3);
      assert_result(kit_finish(k, &one), VOLT_OK);
      assert_int_equal(op.n, 5);
      assert_string_equal(m.text, "first");
      assert_int_equal(m.header.msg_namelen, from_size);
      assert_memory_equal(&m.from, &from, from_size);
      letter_to_receive(&m);
      assert_result(kit_run(k, (kit_way)way, volt_fd_recvmsg_future(&op, &d, &m.header, 0)),
                    VOLT_OK);
      assert_string_equal(m.text, "2nd");
      close(peer);
      volt_fd_close(&d);
    }
  }
}

static void an_empty_datagram_is_no_end(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_WAY(way) {
    struct sockaddr_storage at;
    socklen_t size;
    volt_fd d;
    volt_op op;
    char text[8];
    assert_result(volt_fd_init(&d, k->rt, udp_socket(&at, &size, TCP4), 0), VOLT_OK);
    int peer = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_int_equal(sendto(peer, "", 0, 0, (struct sockaddr *)&at, size), 0);
    assert_int_equal(sendto(peer, "x", 1, 0, (struct sockaddr *)&at, size), 1);
    for (size_t n = 0; n < 2; n++) {
      assert_result(kit_run(k, (kit_way)way, volt_fd_recv_future(&op, &d, text, 8, 0)), VOLT_OK);
      assert_int_equal(op.n, n);
    }
    close(peer);
    volt_fd_close(&d);
  }
}

static void one_that_is_too_long_says_so_in_its_flags(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_WAY(way) {
    int ends[2];
    volt_fd d;
    volt_op op;
    letter m;
    REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
    assert_result(volt_fd_init(&d, k->rt, ends[0], 0), VOLT_OK);
    assert_int_equal(write(ends[1], "longer", 6), 6);
    letter_to_receive(&m);
    m.part.iov_len = 3;
    assert_result(kit_run(k, (kit_way)way, volt_fd_recvmsg_future(&op, &d, &m.header, 0)), VOLT_OK);
    assert_int_equal(op.n, 3);
    assert_string_equal(m.text, "lon");
    assert_true(m.header.msg_flags & MSG_TRUNC);
    close(ends[1]);
    volt_fd_close(&d);
  }
}

static void it_is_sent_to_an_address(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_WAY(way) {
    struct sockaddr_storage at, own;
    socklen_t size, own_size;
    volt_fd d;
    volt_op op;
    letter m;
    char text[8] = "";
    int peer = udp_socket(&at, &size, TCP4);
    assert_result(volt_fd_init(&d, k->rt, udp_socket(&own, &own_size, TCP4), 0), VOLT_OK);
    letter_to_send(&m, "to you");
    m.header.msg_name = &at;
    m.header.msg_namelen = size;
    assert_result(kit_run(k, (kit_way)way, volt_fd_sendmsg_future(&op, &d, &m.header, 0)), VOLT_OK);
    assert_int_equal(op.n, 6);
    assert_int_equal(recv(peer, text, sizeof text, 0), 6);
    assert_string_equal(text, "to you");
    close(peer);
    volt_fd_close(&d);
  }
}

/* Nobody is at the port: the system says so at the next operation. */
static void a_refusal_is_said(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_WAY(way) {
    struct sockaddr_storage at, own;
    socklen_t size, own_size;
    volt_fd d;
    volt_op op;
    char text[8];
    close(udp_socket(&at, &size, TCP4));
    assert_result(volt_fd_init(&d, k->rt, udp_socket(&own, &own_size, TCP4), 0), VOLT_OK);
    volt_future *f = volt_fd_connect_future(&op, &d, (struct sockaddr *)&at, size);
    assert_result(kit_run(k, (kit_way)way, f), VOLT_OK);
    assert_result(kit_run(k, (kit_way)way, volt_fd_send_future(&op, &d, "a", 1, 0)), VOLT_OK);
    f = volt_fd_recv_future(&op, &d, text, 8, 0);
    assert_result(kit_run(k, (kit_way)way, f), VOLT_ERRNO(ECONNREFUSED));
    volt_fd_close(&d);
  }
}

static void descriptors_are_passed(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_WAY(way) {
    kit_link l;
    volt_op op;
    kit_one one;
    letter out, in;
    int pipe_ends[2];
    kit_link_in(k, &l, UNIX_STREAM);
    kit_pair(pipe_ends, PIPE);
    letter_to_receive(&in);
    kit_start(k, &one, (kit_way)way, volt_fd_recvmsg_future(&op, &l.near, &in.header, 0));
    letter_to_send(&out, "take it");
    letter_add_descriptor(&out, pipe_ends[0]);
    assert_int_equal(sendmsg(l.far, &out.header, 0), 7);
    close(pipe_ends[0]);
    assert_result(kit_finish(k, &one), VOLT_OK);
    assert_string_equal(in.text, "take it");
    int got = letter_descriptor(&in);
    assert_true(fcntl(got, F_GETFD) & FD_CLOEXEC);
    char x = 0;
    assert_int_equal(write(pipe_ends[1], "x", 1), 1);
    assert_int_equal(read(got, &x, 1), 1);
    assert_int_equal(x, 'x');
    /* and the other way */
    letter_to_send(&out, "back");
    letter_add_descriptor(&out, got);
    volt_future *f = volt_fd_sendmsg_future(&op, &l.near, &out.header, 0);
    assert_result(kit_run(k, (kit_way)way, f), VOLT_OK);
    close(got);
    letter_to_receive(&in);
    assert_int_equal(recvmsg(l.far, &in.header, MSG_CMSG_CLOEXEC), 4);
    got = letter_descriptor(&in);
    assert_true(got >= 0);
    close(got);
    close(pipe_ends[1]);
    kit_unlink(&l);
  }
}

/* A receive that is cancelled has taken no descriptor, or it has returned it: none is lost. */
static void no_descriptor_is_lost_by_a_cancel(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_WAY(way) {
    for (int looked = 0; looked < 2; looked++) {
      kit_link l;
      volt_op op;
      kit_one one;
      letter out, in;
      kit_link_in(k, &l, UNIX_STREAM);
      int before = kit_open_descriptors();
      letter_to_receive(&in);
      kit_start(k, &one, (kit_way)way, volt_fd_recvmsg_future(&op, &l.near, &in.header, 0));
      letter_to_send(&out, "x");
      letter_add_descriptor(&out, l.far);
      assert_int_equal(sendmsg(l.far, &out.header, 0), 1);
      if (looked && way == BY_THREAD) kit_settle(k);
      int result = kit_cancel(k, &one);
      if (result != VOLT_OK) {
        assert_result(result, VOLT_ECANCELED);
        assert_int_equal(kit_open_descriptors(), before);
        letter_to_receive(&in);
        volt_future *f = volt_fd_recvmsg_future(&op, &l.near, &in.header, 0);
        assert_result(kit_run(k, (kit_way)way, f), VOLT_OK);
      }
      assert_int_equal(kit_open_descriptors(), before + 1);
      close(letter_descriptor(&in));
      kit_unlink(&l);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      kit_test(a_datagram_comes_whole_and_with_its_sender),
      kit_test(an_empty_datagram_is_no_end),
      kit_test(one_that_is_too_long_says_so_in_its_flags),
      kit_test(it_is_sent_to_an_address),
      kit_test(a_refusal_is_said),
      kit_test(descriptors_are_passed),
      kit_test(no_descriptor_is_lost_by_a_cancel),
  };
  return kit_main(tests);
}
