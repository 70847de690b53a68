/* io_stream_test.c: receive and send on streams: TCP, unix sockets, pipes, terminals.
 * BACK ENDS: epoll, uring */
#define _GNU_SOURCE

#include "io_kit.h"

#define FOR_ALL(way, kind, last) \
  FOR_EACH_WAY(way)              \
  for (int kind = TCP4; kind <= (last); kind++)

static volt_future *receive(volt_op *op, volt_fd *d, void *to, size_t size, int kind) {
  return kind == PIPE || kind == PTY ? volt_fd_read_future(op, d, to, size, -1)
                                     : volt_fd_recv_future(op, d, to, size, 0);
}

static volt_future *send_all(volt_op *op, volt_fd *d, const void *from, size_t size, int kind) {
  return kind == PIPE || kind == PTY ? volt_fd_write_future(op, d, from, size, -1)
                                     : volt_fd_send_future(op, d, from, size, 0);
}

/* ---- receive ---- */

static void what_is_there_is_received(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_ALL(way, kind, PTY) {
    kit_link l;
    volt_op op;
    char text[16] = "";
    kit_link_in(k, &l, kind);
    kit_far_send(&l, "abc");
    assert_result(kit_run(k, (kit_way)way, receive(&op, &l.near, text, sizeof text, kind)),
                  VOLT_OK);
    assert_int_equal(op.n, 3);
    assert_string_equal(text, "abc");
    kit_unlink(&l);
  }
}

static void it_waits_until_something_is_there(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_ALL(way, kind, PTY) {
    kit_link l;
    volt_op op;
    kit_one one;
    char text[16] = "";
    kit_link_in(k, &l, kind);
    kit_start(k, &one, (kit_way)way, receive(&op, &l.near, text, sizeof text, kind));
    assert_result(kit_check(k, &one), VOLT_PENDING);
    kit_far_send(&l, "abc");
    assert_result(kit_finish(k, &one), VOLT_OK);
    assert_int_equal(op.n, 3);
    assert_string_equal(text, "abc");
    kit_unlink(&l);
  }
}

static void at_most_size_bytes_are_received_and_the_rest_stays(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_ALL(way, kind, PTY) {
    kit_link l;
    volt_op op;
    char text[16] = "";
    kit_link_in(k, &l, kind);
    kit_far_send(&l, "abcde");
    assert_result(kit_run(k, (kit_way)way, receive(&op, &l.near, text, 2, kind)), VOLT_OK);
    assert_int_equal(op.n, 2);
    assert_string_equal(text, "ab");
    assert_result(kit_run(k, (kit_way)way, receive(&op, &l.near, text, 16, kind)), VOLT_OK);
    assert_int_equal(op.n, 3);
    assert_string_equal(text, "cde");
    kit_unlink(&l);
  }
}

/* A short read of TCP says that no more is there, so the next one waits without a call: bytes that
 * come after it must be seen, again and again. */
static void bytes_that_come_after_a_short_read_are_seen(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_ALL(way, kind, PTY) {
    kit_link l;
    volt_op op;
    char text[16];
    kit_link_in(k, &l, kind);
    for (int i = 0; i < 20; i++) {
      kit_one one;
      memset(text, 0, sizeof text);
      if (i % 3 == 0) kit_far_send(&l, "xy");
      kit_start(k, &one, i % 2 ? BY_TASK : (kit_way)way, receive(&op, &l.near, text, 16, kind));
      if (i % 3 != 0) kit_far_send(&l, "xy");
      assert_result(kit_finish(k, &one), VOLT_OK);
      assert_int_equal(op.n, 2);
      assert_string_equal(text, "xy");
    }
    kit_unlink(&l);
  }
}

static void the_end_is_no_failure_and_n_is_0(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_ALL(way, kind, PIPE) {
    kit_link l;
    volt_op op;
    kit_one one;
    char text[16] = "";
    kit_link_in(k, &l, kind);
    kit_far_send(&l, "ab");
    kit_start(k, &one, (kit_way)way, receive(&op, &l.near, text, sizeof text, kind));
    assert_result(kit_finish(k, &one), VOLT_OK);
    assert_int_equal(op.n, 2);
    op.n = 99;
    kit_start(k, &one, (kit_way)way, receive(&op, &l.near, text, sizeof text, kind));
    assert_result(kit_check(k, &one), VOLT_PENDING);
    kit_close_far(&l);
    assert_result(kit_finish(k, &one), VOLT_OK);
    assert_int_equal(op.n, 0);
    assert_result(kit_run(k, (kit_way)way, receive(&op, &l.near, text, sizeof text, kind)),
                  VOLT_OK);
    assert_int_equal(op.n, 0); /* and it stays so */
    kit_unlink(&l);
  }
}

static void bytes_before_the_end_come_first(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_ALL(way, kind, PIPE) {
    kit_link l;
    volt_op op;
    char text[16] = "";
    kit_link_in(k, &l, kind);
    kit_far_send(&l, "last");
    kit_close_far(&l);
    assert_result(kit_run(k, (kit_way)way, receive(&op, &l.near, text, sizeof text, kind)),
                  VOLT_OK);
    assert_int_equal(op.n, 4);
    assert_string_equal(text, "last");
    assert_result(kit_run(k, (kit_way)way, receive(&op, &l.near, text, sizeof text, kind)),
                  VOLT_OK);
    assert_int_equal(op.n, 0);
    kit_unlink(&l);
  }
}

/* It waits already when the last bytes and the end come together: one report for both. */
static void the_end_that_comes_with_bytes_is_seen(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_ALL(way, kind, PIPE) {
    for (int waits = 0; waits < 2; waits++) {
      kit_link l;
      volt_op op;
      kit_one one;
      char text[16];
      kit_link_in(k, &l, kind);
      kit_start(k, &one, (kit_way)way, receive(&op, &l.near, text, sizeof text, kind));
      if (!waits) {
        kit_far_send(&l, "first");
        assert_result(kit_finish(k, &one), VOLT_OK);
        assert_int_equal(op.n, 5);
      }
      kit_far_send(&l, "last");
      kit_close_far(&l);
      kit_settle(k);
      if (!waits) kit_start(k, &one, (kit_way)way, receive(&op, &l.near, text, sizeof text, kind));
      assert_result(kit_finish(k, &one), VOLT_OK);
      assert_int_equal(op.n, 4);
      kit_start(k, &one, (kit_way)way, receive(&op, &l.near, text, sizeof text, kind));
      assert_result(kit_finish(k, &one), VOLT_OK);
      assert_int_equal(op.n, 0);
      kit_unlink(&l);
    }
  }
}

static void a_reset_is_said_as_such(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_ALL(way, kind, TCP6) {
    kit_link l;
    volt_op op;
    kit_one one;
    char text[16];
    struct linger abort_it = {1, 0};
    kit_link_in(k, &l, kind);
    kit_start(k, &one, (kit_way)way, receive(&op, &l.near, text, sizeof text, kind));
    REQUIRE(setsockopt(l.far, SOL_SOCKET, SO_LINGER, &abort_it, sizeof abort_it) == 0);
    kit_close_far(&l);
    assert_result(kit_finish(k, &one), VOLT_ERRNO(ECONNRESET));
    assert_int_equal(volt_errno(VOLT_ERRNO(ECONNRESET)), ECONNRESET);
    assert_int_equal(op.n, 0);
    kit_unlink(&l);
  }
}

static void a_size_of_0_is_refused(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_WAY(way) {
    kit_link l;
    volt_op op;
    char text[1];
    kit_link_in(k, &l, TCP4);
    assert_result(kit_run(k, (kit_way)way, volt_fd_recv_future(&op, &l.near, text, 0, 0)),
                  VOLT_EINVAL);
    kit_far_send(&l, "a"); /* and nothing is under way on it */
    assert_result(kit_run(k, (kit_way)way, volt_fd_recv_future(&op, &l.near, text, 1, 0)), VOLT_OK);
    kit_unlink(&l);
  }
}

static void flags_are_those_of_recv(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_ALL(way, kind, UNIX_STREAM) {
    kit_link l;
    volt_op op;
    char text[16] = "";
    kit_link_in(k, &l, kind);
    kit_far_send(&l, "abc");
    for (int i = 0; i < 2; i++) {
      assert_result(kit_run(k, (kit_way)way, volt_fd_recv_future(&op, &l.near, text, 16, MSG_PEEK)),
                    VOLT_OK);
      assert_int_equal(op.n, 3);
    }
    assert_result(kit_run(k, (kit_way)way, volt_fd_recv_future(&op, &l.near, text, 16, 0)),
                  VOLT_OK);
    assert_string_equal(text, "abc");
    kit_unlink(&l);
  }
}

static void a_result_stands_and_more_polls_do_nothing(void **state) {
  io_kit *k = (io_kit *)*state;
  kit_link l;
  volt_op op;
  char text[16] = "";
  kit_link_in(k, &l, TCP4);
  kit_far_send(&l, "abc");
  volt_future *f = volt_fd_recv_future(&op, &l.near, text, 2, 0);
  assert_result(kit_run(k, BY_TASK, f), VOLT_OK);
  poller p;
  poller_init(&p);
  for (int i = 0; i < 3; i++) assert_result(poller_poll(&p, f), VOLT_OK);
  volt_future_cancel(f);
  assert_result(poller_poll(&p, f), VOLT_OK);
  assert_int_equal(op.n, 2);
  poller_expect(&p, 0, 0, 0);
  assert_result(kit_run(k, BY_TASK, volt_fd_recv_future(&op, &l.near, text, 16, 0)), VOLT_OK);
  assert_int_equal(op.n, 1); /* the cancel has undone nothing, the polls have taken nothing */
  kit_unlink(&l);
}

/* ---- send ---- */

static void all_of_it_is_sent(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_ALL(way, kind, PTY) {
    kit_link l;
    volt_op op;
    kit_link_out(k, &l, kind);
    assert_result(kit_run(k, (kit_way)way, send_all(&op, &l.near, "hello", 5, kind)), VOLT_OK);
    assert_int_equal(op.n, 5);
    kit_far_expect(&l, "hello");
    kit_unlink(&l);
  }
}

static void nothing_to_send_is_ready_at_once(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_ALL(way, kind, PIPE) {
    kit_link l;
    volt_op op;
    kit_link_out(k, &l, kind);
    (void)kit_fill(&l);
    op.n = 99;
    assert_result(kit_run(k, (kit_way)way, send_all(&op, &l.near, "", 0, kind)), VOLT_OK);
    assert_int_equal(op.n, 0);
    kit_unlink(&l);
  }
}

/* More than the system takes at a time: it is ready when the last byte is taken, not before. */
static void a_large_send_goes_on_as_room_appears(void **state) {
  io_kit *k = (io_kit *)*state;
  enum { SIZE = 5 << 20 };
  unsigned char *bytes = (unsigned char *)malloc(SIZE);
  REQUIRE(bytes);
  for (size_t i = 0; i < SIZE; i++) bytes[i] = (unsigned char)(i % 251);
  FOR_ALL(way, kind, PIPE) {
    kit_link l;
    volt_op op;
    kit_one one;
    size_t at = 0;
    kit_link_out(k, &l, kind);
    kit_start(k, &one, (kit_way)way, send_all(&op, &l.near, bytes, SIZE, kind));
    while (kit_check(k, &one) == VOLT_PENDING) {
      assert_true(at < SIZE);
      (void)kit_drain(l.far, &at);
    }
    assert_result(kit_finish(k, &one), VOLT_OK);
    assert_int_equal(op.n, SIZE);
    while (at < SIZE) (void)kit_drain(l.far, &at);
    assert_int_equal(at, SIZE);
    kit_unlink(&l);
  }
  free(bytes);
}

static void both_directions_at_once(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_ALL(way, kind, UNIX_STREAM) {
    kit_link l;
    volt_op in, out;
    kit_one receiver, sender;
    char text[8] = "";
    size_t at = 0;
    kit_link_out(k, &l, kind);
    kit_start(k, &receiver, (kit_way)way, receive(&in, &l.near, text, sizeof text, kind));
    size_t filled = kit_fill(&l);
    unsigned char next = (unsigned char)(filled % 251);
    kit_start(k, &sender, (kit_way)way, send_all(&out, &l.near, &next, 1, kind));
    kit_far_send(&l, "in");
    assert_result(kit_finish(k, &receiver), VOLT_OK);
    assert_string_equal(text, "in");
    assert_result(kit_check(k, &sender), VOLT_PENDING);
    while (kit_check(k, &sender) == VOLT_PENDING) (void)kit_drain(l.far, &at);
    assert_result(kit_finish(k, &sender), VOLT_OK);
    while (at < filled + 1) (void)kit_drain(l.far, &at);
    assert_int_equal(at, filled + 1);
    kit_unlink(&l);
  }
}

static void to_send_to_who_is_gone_is_epipe(void **state) {
  io_kit *k = (io_kit *)*state;
  void (*before)(int) = signal(SIGPIPE, SIG_IGN); /* this thread is no worker */
  FOR_EACH_WAY(way) {
    for (int kind = UNIX_STREAM; kind <= PIPE; kind++) {
      kit_link l;
      volt_op op;
      kit_link_out(k, &l, kind);
      kit_close_far(&l);
      assert_result(kit_run(k, (kit_way)way, send_all(&op, &l.near, "abc", 3, kind)),
                    VOLT_ERRNO(EPIPE));
      assert_int_equal(op.n, 0);
      kit_unlink(&l);
    }
  }
  (void)signal(SIGPIPE, before);
}

static void a_send_that_fails_in_the_middle_says_how_far_it_came(void **state) {
  io_kit *k = (io_kit *)*state;
  enum { SIZE = 5 << 20 };
  unsigned char *bytes = (unsigned char *)calloc(1, SIZE);
  REQUIRE(bytes);
  FOR_EACH_WAY(way) {
    kit_link l;
    volt_op op;
    kit_one one;
    size_t at = 0;
    kit_link_out(k, &l, UNIX_STREAM);
    for (size_t i = 0; i < SIZE; i++) bytes[i] = (unsigned char)(i % 251);
    kit_start(k, &one, (kit_way)way, volt_fd_send_future(&op, &l.near, bytes, SIZE, 0));
    assert_result(kit_check(k, &one), VOLT_PENDING);
    kit_take(l.far, &at, 4096);
    assert_true(at > 0 && at < SIZE);
    kit_close_far(&l);
    assert_result(kit_finish(k, &one), VOLT_ERRNO(EPIPE));
    assert_true(op.n >= at && op.n < SIZE);
    kit_unlink(&l);
  }
  free(bytes);
}

/* ---- parts ---- */

static void parts_are_scattered_and_gathered(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_ALL(way, kind, PIPE) {
    kit_link l;
    volt_op op;
    char a[4] = "", b[8] = "";
    struct iovec in[] = {{a, 3}, {b, 7}};
    struct iovec out[] = {{(void *)"one", 3}, {(void *)"two", 3}};
    kit_link_in(k, &l, kind);
    kit_far_send(&l, "123456");
    assert_result(kit_run(k, (kit_way)way, volt_fd_readv_future(&op, &l.near, in, 2, -1)), VOLT_OK);
    assert_int_equal(op.n, 6);
    assert_string_equal(a, "123");
    assert_string_equal(b, "456");
    kit_unlink(&l);
    kit_link_out(k, &l, kind);
    assert_result(kit_run(k, (kit_way)way, volt_fd_writev_future(&op, &l.near, out, 2, -1)),
                  VOLT_OK);
    assert_int_equal(op.n, 6);
    kit_far_expect(&l, "onetwo");
    kit_unlink(&l);
  }
}

static void a_gather_is_one_write_and_may_be_short(void **state) {
  io_kit *k = (io_kit *)*state;
  enum { SIZE = 5 << 20 };
  unsigned char *bytes = (unsigned char *)malloc(SIZE);
  REQUIRE(bytes);
  for (size_t i = 0; i < SIZE; i++) bytes[i] = (unsigned char)(i % 251);
  FOR_ALL(way, kind, PIPE) {
    if (kind == TCP4 || kind == TCP6) continue; /* how much it takes depends on the far end */
    kit_link l;
    volt_op op;
    size_t at = 0;
    struct iovec part = {bytes, SIZE};
    kit_link_out(k, &l, kind);
    assert_result(kit_run(k, (kit_way)way, volt_fd_writev_future(&op, &l.near, &part, 1, -1)),
                  VOLT_OK);
    assert_true(op.n > 0 && op.n < SIZE);
    while (at < op.n) REQUIRE(kit_drain(l.far, &at) > 0);
    assert_int_equal(at, op.n);
    kit_unlink(&l);
  }
  free(bytes);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      kit_test(what_is_there_is_received),
      kit_test(it_waits_until_something_is_there),
      kit_test(at_most_size_bytes_are_received_and_the_rest_stays),
      kit_test(bytes_that_come_after_a_short_read_are_seen),
      kit_test(the_end_is_no_failure_and_n_is_0),
      kit_test(bytes_before_the_end_come_first),
      kit_test(the_end_that_comes_with_bytes_is_seen),
      kit_test(a_reset_is_said_as_such),
      kit_test(a_size_of_0_is_refused),
      kit_test(flags_are_those_of_recv),
      kit_test(a_result_stands_and_more_polls_do_nothing),
      kit_test(all_of_it_is_sent),
      kit_test(nothing_to_send_is_ready_at_once),
      kit_test(a_large_send_goes_on_as_room_appears),
      kit_test(both_directions_at_once),
      kit_test(to_send_to_who_is_gone_is_epipe),
      kit_test(a_send_that_fails_in_the_middle_says_how_far_it_came),
      kit_test(parts_are_scattered_and_gathered),
      kit_test(a_gather_is_one_write_and_may_be_short),
  };
  return kit_main(tests);
}
