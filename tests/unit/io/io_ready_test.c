/* io_ready_test.c: readiness without effect, the try forms, descriptors of other processes, terminals.
 * BACK ENDS: epoll, uring */
#define _GNU_SOURCE

#include <sys/eventfd.h>

#include "io_kit.h"

/* ---- readiness ---- */

static void it_says_what_it_is_ready_for(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_WAY(way) {
    for (int kind = TCP4; kind <= PTY; kind++) {
      kit_link l;
      volt_op op;
      kit_one one;
      kit_link_in(k, &l, kind);
      kit_start(k, &one, (kit_way)way, volt_fd_ready_future(&op, &l.near, POLLIN));
      assert_result(kit_check(k, &one), VOLT_PENDING);
      kit_far_send(&l, "abc");
      assert_result(kit_finish(k, &one), VOLT_OK);
      assert_int_equal(op.n & POLLIN, POLLIN);
      assert_int_equal(op.n & (POLLERR | POLLHUP), 0);
      for (int i = 0; i < 3; i++) { /* it moves nothing, so it stays so */
        volt_future *f = volt_fd_ready_future(&op, &l.near, POLLIN);
        assert_result(kit_run(k, (kit_way)way, f), VOLT_OK);
      }
      if (kind != PIPE) {
        volt_future *f = volt_fd_ready_future(&op, &l.near, POLLIN | POLLOUT);
        assert_result(kit_run(k, (kit_way)way, f), VOLT_OK);
        assert_int_equal(op.n & (POLLIN | POLLOUT), POLLIN | POLLOUT);
      }
      kit_unlink(&l);
    }
  }
}

static void it_is_ready_no_more_when_it_was_read(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_WAY(way) {
    for (int kind = TCP4; kind <= PTY; kind++) {
      kit_link l;
      volt_op op;
      kit_one one;
      char text[8];
      kit_link_in(k, &l, kind);
      for (int i = 0; i < 3; i++) {
        kit_start(k, &one, (kit_way)way, volt_fd_ready_future(&op, &l.near, POLLIN));
        assert_result(kit_check(k, &one), VOLT_PENDING);
        kit_far_send(&l, "abc");
        assert_result(kit_finish(k, &one), VOLT_OK);
        volt_future *f = volt_fd_read_future(&op, &l.near, text, sizeof text, -1);
        assert_result(kit_run(k, (kit_way)way, f), VOLT_OK);
        assert_int_equal(op.n, 3);
      }
      kit_unlink(&l);
    }
  }
}

/* The last bytes and the end come in one report; the read of the bytes is short. */
static void the_end_behind_a_short_read_is_seen(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_WAY(way) {
    for (int kind = TCP4; kind <= TCP6; kind++) {
      kit_link l;
      volt_op op;
      kit_one one;
      char text[8];
      size_t n = 9;
      kit_link_in(k, &l, kind);
      kit_start(k, &one, (kit_way)way, volt_fd_ready_future(&op, &l.near, POLLIN));
      assert_result(kit_check(k, &one), VOLT_PENDING);
      kit_far_send(&l, "abc");
      assert_int_equal(shutdown(l.far, SHUT_WR), 0);
      assert_result(kit_finish(k, &one), VOLT_OK);
      assert_result(volt_fd_try_recv(&l.near, text, sizeof text, 0, &n), VOLT_OK);
      assert_int_equal(n, 3);
      volt_future *f = volt_fd_ready_future(&op, &l.near, POLLIN);
      assert_result(kit_run(k, (kit_way)way, f), VOLT_OK);
      assert_result(volt_fd_try_recv(&l.near, text, sizeof text, 0, &n), VOLT_OK);
      assert_int_equal(n, 0);
      kit_unlink(&l);
    }
  }
}

static void room_and_the_end_are_seen(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_WAY(way) {
    FOR_EACH_STREAM(kind) {
      kit_link l;
      volt_op op, end;
      kit_one one, other;
      size_t at = 0;
      kit_link_out(k, &l, kind);
      kit_start(k, &other, (kit_way)way, volt_fd_ready_future(&end, &l.near, POLLRDHUP));
      (void)kit_fill(&l);
      kit_start(k, &one, (kit_way)way, volt_fd_ready_future(&op, &l.near, POLLOUT));
      assert_result(kit_check(k, &one), VOLT_PENDING);
      while (kit_check(k, &one) == VOLT_PENDING) (void)kit_drain(l.far, &at);
      assert_result(kit_finish(k, &one), VOLT_OK);
      assert_int_equal(op.n & POLLOUT, POLLOUT);
      assert_result(kit_check(k, &other), VOLT_PENDING);
      assert_int_equal(shutdown(l.far, SHUT_WR), 0);
      assert_result(kit_finish(k, &other), VOLT_OK);
      assert_int_equal(end.n & POLLRDHUP, POLLRDHUP);
      kit_unlink(&l);
    }
  }
}

static void a_half_closed_peer_is_no_room(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_WAY(way) {
    FOR_EACH_STREAM(kind) {
      kit_link l;
      volt_op room, urgent;
      kit_one one, other;
      size_t at = 0;
      kit_link_out(k, &l, kind);
      (void)kit_fill(&l);
      kit_start(k, &one, (kit_way)way, volt_fd_ready_future(&room, &l.near, POLLOUT));
      kit_start(k, &other, (kit_way)way, volt_fd_ready_future(&urgent, &l.near, POLLPRI));
      assert_int_equal(shutdown(l.far, SHUT_WR), 0);
      for (int i = 0; i < 20; i++) {
        assert_result(kit_check(k, &one), VOLT_PENDING);
        assert_result(kit_check(k, &other), VOLT_PENDING);
      }
      while (kit_check(k, &one) == VOLT_PENDING) (void)kit_drain(l.far, &at);
      assert_result(kit_finish(k, &one), VOLT_OK);
      assert_int_equal(room.n & POLLOUT, POLLOUT);
      assert_result(kit_cancel(k, &other), VOLT_ECANCELED);
      kit_unlink(&l);
    }
  }
}

static void errors_and_hang_ups_are_always_said(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_WAY(way) {
    kit_link l;
    volt_op op;
    kit_one one;
    kit_link_in(k, &l, PIPE);
    kit_start(k, &one, (kit_way)way, volt_fd_ready_future(&op, &l.near, POLLIN));
    kit_close_far(&l);
    assert_result(kit_finish(k, &one), VOLT_OK);
    assert_int_equal(op.n & POLLHUP, POLLHUP);
    kit_unlink(&l);
    kit_link_out(k, &l, PIPE);
    (void)kit_fill(&l);
    kit_start(k, &one, (kit_way)way, volt_fd_ready_future(&op, &l.near, POLLOUT));
    assert_result(kit_check(k, &one), VOLT_PENDING);
    kit_close_far(&l);
    assert_result(kit_finish(k, &one), VOLT_OK);
    assert_int_equal(op.n & POLLERR, POLLERR);
    kit_unlink(&l);
  }
}

static void any_number_may_wait_beside_a_receiver(void **state) {
  io_kit *k = (io_kit *)*state;
  enum { MANY = 10 };
  FOR_EACH_WAY(way) {
    kit_link l;
    volt_op ops[MANY], op;
    kit_one ones[MANY], one;
    char text[8] = "";
    kit_link_in(k, &l, TCP4);
    for (int i = 0; i < MANY; i++) {
      kit_start(k, &ones[i], (kit_way)(i % 2), volt_fd_ready_future(&ops[i], &l.near, POLLIN));
    }
    assert_result(kit_cancel(k, &ones[3]), VOLT_ECANCELED);
    assert_result(kit_cancel(k, &ones[6]), VOLT_ECANCELED);
    kit_start(k, &one, (kit_way)way, volt_fd_recv_future(&op, &l.near, text, 2, 0));
    kit_far_send(&l, "all"); /* more than is received: it stays ready */
    for (int i = 0; i < MANY; i++) {
      if (i != 3 && i != 6) assert_result(kit_finish(k, &ones[i]), VOLT_OK);
    }
    assert_result(kit_finish(k, &one), VOLT_OK);
    assert_string_equal(text, "al");
    kit_unlink(&l);
  }
}

static void unknown_events_are_refused(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_WAY(way) {
    const unsigned wrong[] = {0, POLLNVAL, POLLIN | 0x10000u};
    kit_link l;
    volt_op op;
    kit_link_in(k, &l, TCP4);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
      volt_future *f = volt_fd_ready_future(&op, &l.near, wrong[i]);
      assert_result(kit_run(k, (kit_way)way, f), VOLT_EINVAL);
    }
    kit_unlink(&l);
  }
}

static void an_eventfd_is_read(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_WAY(way) {
    volt_fd d;
    volt_op op;
    kit_one one;
    uint64_t count = 0;
    int fd = eventfd(0, EFD_CLOEXEC);
    assert_result(volt_fd_init(&d, k->rt, fd, 0), VOLT_OK);
    for (uint64_t i = 1; i < 4; i++) {
      kit_start(k, &one, (kit_way)way, volt_fd_read_future(&op, &d, &count, sizeof count, -1));
      assert_result(kit_check(k, &one), VOLT_PENDING);
      assert_int_equal(write(fd, &i, sizeof i), sizeof i);
      assert_result(kit_finish(k, &one), VOLT_OK);
      assert_int_equal(count, i);
    }
    volt_fd_close(&d);
  }
}

/* ---- try ---- */

static void try_does_it_once_or_says_that_it_cannot(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_STREAM(kind) {
    kit_link l;
    char text[16] = "";
    size_t n = 99;
    kit_link_in(k, &l, kind);
    errno = KIT_ERRNO;
    assert_result(volt_fd_try_recv(&l.near, text, 16, 0, &n), VOLT_EAGAIN);
    assert_result(volt_fd_try_send(&l.near, "out", 3, 0, &n), VOLT_OK);
    assert_int_equal(errno, KIT_ERRNO);
    assert_int_equal(n, 3);
    kit_far_expect(&l, "out");
    kit_far_send(&l, "in");
    struct pollfd p = {volt_fd_number(&l.near), POLLIN, 0};
    assert_int_equal(poll(&p, 1, KIT_SECONDS * 1000), 1);
    assert_result(volt_fd_try_recv(&l.near, text, 16, 0, &n), VOLT_OK);
    assert_int_equal(n, 2);
    assert_string_equal(text, "in");
    size_t filled = kit_fill(&l), at = 0;
    assert_result(volt_fd_try_send(&l.near, "x", 1, 0, &n), VOLT_EAGAIN);
    while (at < filled) (void)kit_drain(l.far, &at);
    kit_close_far(&l);
    assert_int_equal(poll(&p, 1, KIT_SECONDS * 1000), 1);
    assert_result(volt_fd_try_recv(&l.near, text, 16, 0, &n), VOLT_OK);
    assert_int_equal(n, 0);
    kit_unlink(&l);
    assert_result(volt_fd_try_recv(&l.near, text, 16, 0, &n), VOLT_ECLOSED);
  }
}

/* A try that finds nothing must not lose what comes next for an operation that waits. */
static void try_and_wait_take_turns(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_WAY(way) {
    FOR_EACH_STREAM(kind) {
      kit_link l;
      kit_link_in(k, &l, kind);
      for (int i = 0; i < 10; i++) {
        volt_op op;
        kit_one one;
        char text[8] = "";
        size_t n;
        assert_result(volt_fd_try_recv(&l.near, text, 8, 0, &n), VOLT_EAGAIN);
        if (i % 2) kit_far_send(&l, "ab");
        kit_start(k, &one, (kit_way)way, volt_fd_recv_future(&op, &l.near, text, 8, 0));
        if (i % 2 == 0) kit_far_send(&l, "ab");
        assert_result(kit_finish(k, &one), VOLT_OK);
        assert_string_equal(text, "ab");
      }
      kit_unlink(&l);
    }
  }
}

static void try_accepts(void **state) {
  io_kit *k = (io_kit *)*state;
  struct sockaddr_storage at;
  socklen_t size;
  volt_fd listener, out;
  int fd = kit_listen(TCP4, 4, &at, &size);
  assert_result(volt_fd_init(&listener, k->rt, fd, 0), VOLT_OK);
  assert_result(volt_fd_try_accept(&listener, &out), VOLT_EAGAIN);
  int client = kit_socket_for(&at);
  REQUIRE(connect(client, (struct sockaddr *)&at, size) == 0);
  assert_result(volt_fd_try_accept(&listener, &out), VOLT_OK);
  assert_true(fcntl(volt_fd_number(&out), F_GETFL) & O_NONBLOCK);
  assert_true(fcntl(volt_fd_number(&out), F_GETFD) & FD_CLOEXEC);
  assert_result(volt_fd_try_accept(&listener, &out), VOLT_EAGAIN);
  volt_fd_close(&out);
  volt_fd_close(&listener);
  close(client);
}

/* ---- descriptors that stay as they are ---- */

static void a_shared_one_stays_blocking_and_does_not_block(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_WAY(way) {
    for (int kind = TCP4; kind <= PTY; kind++) {
      int ends[2];
      volt_fd d;
      volt_op op;
      kit_one one;
      char text[8] = "";
      kit_pair(ends, kind);
      assert_result(volt_fd_init(&d, k->rt, ends[0], VOLT_FD_SHARED), VOLT_OK);
      assert_int_equal(fcntl(ends[0], F_GETFL) & O_NONBLOCK, 0);
      kit_start(k, &one, (kit_way)way, volt_fd_read_future(&op, &d, text, 8, -1));
      assert_result(kit_check(k, &one), VOLT_PENDING);
      assert_int_equal(write(ends[1], "ab", 2), 2);
      assert_result(kit_finish(k, &one), VOLT_OK);
      assert_string_equal(text, "ab");
      kit_start(k, &one, (kit_way)way, volt_fd_read_future(&op, &d, text, 8, -1));
      assert_result(kit_cancel(k, &one), VOLT_ECANCELED);
      assert_int_equal(fcntl(ends[0], F_GETFL) & O_NONBLOCK, 0);
      volt_fd_close(&d);
      close(ends[1]);
    }
  }
}

static void all_is_written_to_a_shared_one(void **state) {
  io_kit *k = (io_kit *)*state;
  enum { SIZE = 1 << 20 };
  unsigned char *bytes = (unsigned char *)malloc(SIZE);
  REQUIRE(bytes);
  for (size_t i = 0; i < SIZE; i++) bytes[i] = (unsigned char)(i % 251);
  FOR_EACH_WAY(way) {
    int ends[2];
    volt_fd d;
    volt_op op;
    kit_one one;
    size_t at = 0;
    kit_pair(ends, PIPE);
    kit_no_block(ends[0]);
    assert_result(volt_fd_init(&d, k->rt, ends[1], VOLT_FD_SHARED), VOLT_OK);
    kit_start(k, &one, (kit_way)way, volt_fd_write_future(&op, &d, bytes, SIZE, -1));
    while (kit_check(k, &one) == VOLT_PENDING) (void)kit_drain(ends[0], &at);
    assert_result(kit_finish(k, &one), VOLT_OK);
    while (at < SIZE) (void)kit_drain(ends[0], &at);
    volt_fd_close(&d);
    close(ends[0]);
  }
  free(bytes);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      kit_test(it_says_what_it_is_ready_for),
      kit_test(it_is_ready_no_more_when_it_was_read),
      kit_test(the_end_behind_a_short_read_is_seen),
      kit_test(room_and_the_end_are_seen),
      kit_test(a_half_closed_peer_is_no_room),
      kit_test(errors_and_hang_ups_are_always_said),
      kit_test(any_number_may_wait_beside_a_receiver),
      kit_test(unknown_events_are_refused),
      kit_test(an_eventfd_is_read),
      kit_test(try_does_it_once_or_says_that_it_cannot),
      kit_test(try_and_wait_take_turns),
      kit_test(try_accepts),
      kit_test(a_shared_one_stays_blocking_and_does_not_block),
      kit_test(all_is_written_to_a_shared_one),
  };
  return kit_main(tests);
}
