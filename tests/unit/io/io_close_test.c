/* io_close_test.c: to take over, to give back and to close a descriptor; what is under way on it then,
 * and what must abort.
 * BACK ENDS: epoll, uring */
#define _GNU_SOURCE

#include "death.h"
#include "io_scene.h"

static bool is_open(int fd) {
  return fcntl(fd, F_GETFD) >= 0;
}

/* ---- init, detach, close ---- */

static void it_takes_the_number_over(void **state) {
  io_kit *k = (io_kit *)*state;
  for (int kind = TCP4; kind <= PTY; kind++) {
    int ends[2];
    volt_fd d;
    kit_pair(ends, kind);
    assert_int_equal(fcntl(ends[0], F_GETFL) & O_NONBLOCK, 0);
    assert_result(volt_fd_init(&d, k->rt, ends[0], 0), VOLT_OK);
    assert_int_equal(volt_fd_number(&d), ends[0]);
    assert_true(fcntl(ends[0], F_GETFL) & O_NONBLOCK);
    volt_fd_close(&d);
    assert_false(is_open(ends[0]));
    assert_int_equal(volt_fd_number(&d), -1);
    volt_fd_close(&d);
    assert_int_equal(close(ends[1]), 0);
  }
}

static void what_cannot_be_taken_over_stays_the_callers(void **state) {
  io_kit *k = (io_kit *)*state;
  volt_fd d;
  volt_rt *none;
  int ends[2];
  kit_pair(ends, PIPE);
  const volt_rt_config by_hand = {.flags = VOLT_RT_BY_HAND};
  assert_result(volt_rt_create(&none, &by_hand), VOLT_OK);
  errno = KIT_ERRNO;
  assert_result(volt_fd_init(&d, none, ends[0], 0), VOLT_EINVAL);
  assert_result(volt_fd_init(&d, k->rt, ends[0], 2), VOLT_EINVAL);
  assert_result(volt_fd_init(&d, k->rt, -1, 0), VOLT_ERRNO(EBADF));
  assert_result(volt_fd_init(&d, k->rt, 100000, 0), VOLT_ERRNO(EBADF));
  volt_fd first;
  assert_result(volt_fd_init(&first, k->rt, ends[1], 0), VOLT_OK);
  assert_result(volt_fd_init(&d, k->rt, ends[1], 0), VOLT_ERRNO(EEXIST));
  assert_int_equal(volt_fd_detach(&first), ends[1]);
  assert_int_equal(errno, KIT_ERRNO);
  assert_true(is_open(ends[0]));
  assert_int_equal(fcntl(ends[0], F_GETFL) & O_NONBLOCK, 0);
  assert_int_equal(volt_rt_destroy(none), 0);
  close(ends[0]);
  close(ends[1]);
}

static void what_is_closed_may_be_closed_after_its_runtime(void **state) {
  (void)state;
  io_kit own;
  volt_fd d, moved;
  volt_op op;
  int ends[2];
  volt_waker nobody = {NULL, NULL};
  kit_begin(&own, 0);
  kit_pair(ends, PIPE);
  assert_result(volt_fd_init(&d, own.rt, ends[0], 0), VOLT_OK);
  volt_fd_move_(&moved, &d);
  assert_int_equal(volt_fd_number(&d), -1);
  assert_int_equal(volt_fd_number(&moved), ends[0]);
  volt_fd_close(&moved);
  close(ends[1]);
  kit_end(&own);
  for (int i = 0; i < 2; i++) { /* *d.io is freed */
    volt_future *f = volt_fd_close_future(&op, i == 0 ? &d : &moved);
    assert_result(volt_future_poll(f, nobody), VOLT_OK);
  }
}

static void all_zero_is_closed(void **state) {
  (void)state;
  volt_fd d;
  memset((void *)&d, 0, sizeof d);
  volt_fd_close(&d); /* not descriptor 0 */
  assert_true(is_open(0));
}

static void it_gives_the_number_back(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_WAY(way) {
    FOR_EACH_SCENE(what) { /* one that has waited, so it may be watched */
      scene s;
      kit_one one;
      scene_begin(&s, k, what);
      kit_start(k, &one, (kit_way)way, what->begin(&s));
      assert_result(kit_cancel(k, &one), VOLT_ECANCELED);
      int fd = volt_fd_number(&s.l.near);
      assert_int_equal(volt_fd_detach(&s.l.near), fd);
      assert_int_equal(volt_fd_number(&s.l.near), -1);
      assert_true(is_open(fd));
      assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
      volt_fd_close(&s.l.near); /* does nothing */
      assert_true(is_open(fd));
      assert_result(volt_fd_init(&s.l.near, k->rt, fd, 0), VOLT_OK); /* and once more */
      kit_start(k, &one, (kit_way)way, what->begin(&s));
      what->let(&s);
      assert_result(kit_finish(k, &one), VOLT_OK);
      what->expect_done(&s);
      scene_end(&s);
    }
  }
}

/* A number that is closed is given to the next descriptor at once: nothing of the first may reach it. */
static void the_same_number_is_used_again(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_WAY(way) {
    for (int i = 0; i < 20; i++) {
      kit_link l;
      volt_op op;
      kit_one one;
      char text[8] = "";
      kit_link_in(k, &l, i % 2 ? TCP4 : UNIX_STREAM);
      kit_start(k, &one, (kit_way)way, volt_fd_recv_future(&op, &l.near, text, 8, 0));
      assert_result(kit_check(k, &one), VOLT_PENDING);
      kit_far_send(&l, "ab");
      assert_result(kit_finish(k, &one), VOLT_OK);
      assert_string_equal(text, "ab");
      kit_far_send(&l, "unread");
      kit_unlink(&l);
    }
  }
}

/* ---- the future of a close ---- */

static void what_is_under_way_ends_as_closed(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_WAY(way) {
    for (int closer_way = BY_TASK; closer_way <= BY_THREAD; closer_way++) {
      FOR_EACH_SCENE(what) {
        scene s;
        kit_one one, closer;
        volt_op closing;
        scene_begin(&s, k, what);
        int fd = volt_fd_number(&s.l.near);
        kit_start(k, &one, (kit_way)way, what->begin(&s));
        assert_result(kit_check(k, &one), VOLT_PENDING);
        kit_start(k, &closer, (kit_way)closer_way, volt_fd_close_future(&closing, &s.l.near));
        assert_result(kit_finish(k, &one), VOLT_ECLOSED);
        assert_int_equal(s.op.n, 0);
        assert_result(kit_finish(k, &closer), VOLT_OK);
        assert_false(is_open(fd));
        assert_int_equal(volt_fd_number(&s.l.near), -1);
        memset((void *)&s.l.near, 0xee, sizeof s.l.near); /* it may be freed */
        kit_close_far(&s.l);
      }
    }
  }
}

static void what_was_done_keeps_its_result(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_SCENE(what) {
    scene s;
    kit_one one, closer;
    volt_op closing;
    scene_begin(&s, k, what);
    what->let(&s);
    kit_start(k, &one, BY_TASK, what->begin(&s));
    assert_result(kit_finish(k, &one), VOLT_OK);
    what->expect_done(&s);
    size_t n = s.op.n;
    kit_start(k, &closer, BY_TASK, volt_fd_close_future(&closing, &s.l.near));
    assert_result(kit_finish(k, &closer), VOLT_OK);
    assert_int_equal(s.op.n, n);
    kit_close_far(&s.l);
  }
}

/* It may have been done, or not: what it says is true. */
static void what_could_be_done_is_done_or_closed(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_WAY(way) {
    kit_link l;
    kit_one one, closer;
    volt_op op, closing;
    char text[8] = "";
    kit_link_in(k, &l, TCP4);
    kit_start(k, &one, (kit_way)way, volt_fd_recv_future(&op, &l.near, text, 8, 0));
    kit_far_send(&l, "abc");
    kit_start(k, &closer, (kit_way)way, volt_fd_close_future(&closing, &l.near));
    int result = kit_finish(k, &one);
    if (result == VOLT_OK) {
      assert_int_equal(op.n, 3);
      assert_string_equal(text, "abc");
    } else {
      assert_result(result, VOLT_ECLOSED);
      assert_int_equal(op.n, 0);
      assert_string_equal(text, "");
    }
    assert_result(kit_finish(k, &closer), VOLT_OK);
    kit_close_far(&l);
  }
}

static void nothing_begins_on_it_any_more(void **state) {
  io_kit *k = (io_kit *)*state;
  kit_link l;
  kit_one one, closer;
  volt_op op, other, closing, twice;
  char text[8];
  size_t n;
  kit_link_in(k, &l, TCP4);
  kit_start(k, &one, BY_TASK, volt_fd_recv_future(&op, &l.near, text, 8, 0));
  poller_init(&closer.poller);
  volt_future *f = volt_fd_close_future(&closing, &l.near);
  int closed = poller_poll(&closer.poller, f);
  if (closed == VOLT_OK) { /* nothing had to be waited for */
    assert_result(kit_finish(k, &one), VOLT_ECLOSED);
    kit_close_far(&l);
    return;
  }
  assert_result(closed, VOLT_PENDING);
  assert_result(kit_run(k, BY_THREAD, volt_fd_send_future(&other, &l.near, "a", 1, 0)),
                VOLT_ECLOSED);
  assert_result(kit_run(k, BY_THREAD, volt_fd_ready_future(&other, &l.near, POLLIN)), VOLT_ECLOSED);
  assert_result(volt_fd_try_send(&l.near, "a", 1, 0, &n), VOLT_ECLOSED);
  assert_result(kit_run(k, BY_THREAD, volt_fd_close_future(&twice, &l.near)), VOLT_EINVAL);
  assert_result(kit_finish(k, &one), VOLT_ECLOSED);
  while (poller_poll(&closer.poller, f) == VOLT_PENDING) kit_settle(k);
  assert_result(poller_poll(&closer.poller, f), VOLT_OK);
  kit_close_far(&l);
}

static void a_close_is_not_given_up(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_WAY(way) {
    kit_link l;
    kit_one one, closer;
    volt_op op, closing;
    char text[8];
    kit_link_in(k, &l, TCP4);
    int fd = volt_fd_number(&l.near);
    kit_start(k, &one, (kit_way)way, volt_fd_recv_future(&op, &l.near, text, 8, 0));
    memset((void *)&closer, 0, sizeof closer);
    closer.way = BY_TASK;
    closer.f = volt_fd_close_future(&closing, &l.near);
    volt_task_init(&closer.task, kit_one_poll_);
    assert_result(volt_spawn(k->rt, &closer.task), VOLT_OK);
    (void)volt_rt_run(k->rt);
    assert_result(kit_finish(k, &one), VOLT_ECLOSED);
    assert_result(kit_cancel(k, &closer), VOLT_OK);
    assert_false(is_open(fd));
    kit_close_far(&l);
  }
}

static void many_that_wait_for_readiness_all_hear_of_it(void **state) {
  io_kit *k = (io_kit *)*state;
  enum { MANY = 20 };
  FOR_EACH_WAY(way) {
    kit_link l;
    kit_one ones[MANY], closer;
    volt_op ops[MANY], closing;
    kit_link_in(k, &l, TCP4);
    for (int i = 0; i < MANY; i++) {
      kit_way its = i % 3 ? (kit_way)way : BY_THREAD;
      kit_start(k, &ones[i], its, volt_fd_ready_future(&ops[i], &l.near, POLLIN));
    }
    kit_start(k, &closer, (kit_way)way, volt_fd_close_future(&closing, &l.near));
    for (int i = 0; i < MANY; i++) assert_result(kit_finish(k, &ones[i]), VOLT_ECLOSED);
    assert_result(kit_finish(k, &closer), VOLT_OK);
    kit_close_far(&l);
  }
}

/* ---- misuse ---- */

typedef struct crime {
  io_kit own;
  kit_link l;
  kit_one one;
  volt_op op, second;
  char text[8];
} crime;

static crime guilty;

/* In the child: a runtime of its own, and an operation that waits. */
static void prepare(volt_future *(*begin)(volt_op *, volt_fd *)) {
  kit_begin(&guilty.own, 0);
  kit_link_in(&guilty.own, &guilty.l, TCP4);
  kit_start(&guilty.own, &guilty.one, BY_TASK, begin(&guilty.op, &guilty.l.near));
}

static volt_future *begin_recv(volt_op *op, volt_fd *d) {
  return volt_fd_recv_future(op, d, guilty.text, sizeof guilty.text, 0);
}

static volt_future *begin_send(volt_op *op, volt_fd *d) {
  (void)kit_fill(&guilty.l);
  return volt_fd_send_future(op, d, guilty.text, 1, 0);
}

static void two_receive(void *arg) {
  (void)arg;
  prepare(begin_recv);
  (void)kit_run(&guilty.own, BY_THREAD, begin_recv(&guilty.second, &guilty.l.near));
}

static void two_send(void *arg) {
  (void)arg;
  prepare(begin_send);
  (void)kit_run(&guilty.own, BY_TASK,
                volt_fd_write_future(&guilty.second, &guilty.l.near, "a", 1, -1));
}

static void close_under_it(void *arg) {
  (void)arg;
  prepare(begin_recv);
  volt_fd_close(&guilty.l.near);
}

static void detach_under_it(void *arg) {
  (void)arg;
  prepare(begin_recv);
  (void)volt_fd_detach(&guilty.l.near);
}

static void try_under_it(void *arg) {
  size_t n;
  (void)arg;
  prepare(begin_recv);
  ignore_result(volt_fd_try_recv(&guilty.l.near, guilty.text, 1, 0, &n));
}

static void try_send_under_it(void *arg) {
  size_t n;
  (void)arg;
  prepare(begin_send);
  ignore_result(volt_fd_try_send(&guilty.l.near, "a", 1, 0, &n));
}

/* ---- it is moved, copied, given away, or left to itself ---- */

static void wait_by_thread(void) {
  kit_begin(&guilty.own, 0);
  kit_link_in(&guilty.own, &guilty.l, TCP4);
  kit_start(&guilty.own, &guilty.one, BY_THREAD, begin_recv(&guilty.op, &guilty.l.near));
}

static void destroy_while_open(void *arg) {
  (void)arg;
  kit_begin(&guilty.own, 0);
  kit_link_in(&guilty.own, &guilty.l, UNIX_STREAM);
  (void)volt_rt_destroy(guilty.own.rt);
}

static void destroy_while_it_waits(void *arg) {
  (void)arg;
  wait_by_thread();
  (void)volt_rt_destroy(guilty.own.rt);
}

/* Its number is another file's by now. */
static void copy_and_close(volt_fd *copy) {
  wait_by_thread();
  kit_far_send(&guilty.l, "a");
  (void)kit_finish(&guilty.own, &guilty.one);
  *copy = guilty.l.near;
  int number = volt_fd_number(copy);
  volt_fd_close(&guilty.l.near);
  REQUIRE(dup3(STDIN_FILENO, number, O_CLOEXEC) == number);
}

static void close_a_copy(void *arg) {
  copy_and_close((volt_fd *)arg);
  volt_fd_close((volt_fd *)arg);
}

static void detach_a_copy(void *arg) {
  copy_and_close((volt_fd *)arg);
  (void)volt_fd_detach((volt_fd *)arg);
}

static void close_a_copy_by_future(void *arg) {
  copy_and_close((volt_fd *)arg);
  (void)kit_run(&guilty.own, BY_THREAD, volt_fd_close_future(&guilty.second, (volt_fd *)arg));
}

static void move_while_it_waits(void *arg) {
  wait_by_thread();
  *(volt_fd *)arg = guilty.l.near;
  memset((void *)&guilty.l.near, 0, sizeof guilty.l.near);
  kit_far_send(&guilty.l, "a");
  kit_settle(&guilty.own);
}

static void move_when_it_has_waited(void *arg) {
  wait_by_thread();
  kit_far_send(&guilty.l, "a");
  (void)kit_finish(&guilty.own, &guilty.one);
  *(volt_fd *)arg = guilty.l.near;
  (void)kit_run(&guilty.own, BY_THREAD, begin_recv(&guilty.op, (volt_fd *)arg));
}

/* For another descriptor, or for the same, which then is reported, or closed. */
static void make_anew(void *arg) {
  const int how = *(const int *)arg;
  kit_link other;
  wait_by_thread();
  kit_link_in(&guilty.own, &other, TCP4);
  volt_future *f = begin_recv(&guilty.op, how & 1 ? &other.near : &guilty.l.near);
  if (how & 1) kit_start(&guilty.own, &guilty.one, BY_THREAD, f);
  if (how & 2) kit_far_send(&guilty.l, "a");
  if (how & 2) kit_settle(&guilty.own);
  (void)kit_run(&guilty.own, BY_TASK, volt_fd_close_future(&guilty.second, &guilty.l.near));
}

static void what_belongs_to_the_runtime_is_not_taken_away(void **state) {
  (void)state;
  static volt_fd copy;
  const char *fd = death_address(&guilty.l.near), *of_copy = death_address(&copy);
  assert_death(destroy_while_open, NULL, "volt_rt_destroy", "is open", "nothing waits");
  assert_death(destroy_while_it_waits, NULL, "volt_rt_destroy", "is open", "waits: volt_fd_recv");
  assert_death(close_a_copy, &copy, "volt_fd_close", of_copy, "it is a copy");
  assert_death(detach_a_copy, &copy, "volt_fd_detach", of_copy, "it is a copy");
  assert_death(close_a_copy_by_future, &copy, "volt_fd_close_future", of_copy, "it is a copy");
  assert_death(move_while_it_waits, &copy, fd, "was moved");
  assert_death(move_when_it_has_waited, &copy, of_copy, "was moved from", fd);
  for (int how = 0; how < 4; how++) {
    assert_death(make_anew, &how, fd, death_address(&guilty.op), "while it waits here");
  }
}

static void misuse_aborts_with_values(void **state) {
  (void)state;
  const char *fd = death_address(&guilty.l.near);
  assert_death(two_receive, NULL, fd, death_address(&guilty.op), death_address(&guilty.second));
  assert_death(two_send, NULL, fd, death_address(&guilty.op), death_address(&guilty.second));
  assert_death(close_under_it, NULL, fd, death_address(&guilty.op));
  assert_death(detach_under_it, NULL, fd, death_address(&guilty.op));
  assert_death(try_under_it, NULL, fd, death_address(&guilty.op));
  assert_death(try_send_under_it, NULL, fd, death_address(&guilty.op));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      kit_test(it_takes_the_number_over),
      kit_test(what_cannot_be_taken_over_stays_the_callers),
      kit_test(all_zero_is_closed),
      cmocka_unit_test(what_is_closed_may_be_closed_after_its_runtime),
      kit_test(it_gives_the_number_back),
      kit_test(the_same_number_is_used_again),
      kit_test(what_is_under_way_ends_as_closed),
      kit_test(what_was_done_keeps_its_result),
      kit_test(what_could_be_done_is_done_or_closed),
      kit_test(nothing_begins_on_it_any_more),
      kit_test(a_close_is_not_given_up),
      kit_test(many_that_wait_for_readiness_all_hear_of_it),
      cmocka_unit_test(misuse_aborts_with_values),
      cmocka_unit_test(what_belongs_to_the_runtime_is_not_taken_away),
  };
  return kit_main(tests);
}
