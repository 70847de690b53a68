/* describe_io_test.c: as describe_test.c: operations on descriptors, and what is made of them.
 * BACK ENDS: epoll, uring */
#define _GNU_SOURCE

#include <volt/net.h>
#include <volt/process.h>

#include "described.h"
#include "io_scene.h"

/* "recv TCP" is volt_fd_recv. */
static void scene_operation(const scene_kind *what, char *operation, size_t size) {
  (void)snprintf(operation, size, "volt_fd_%.*s", (int)strcspn(what->name, " "), what->name);
}

static void an_operation_that_waits_says_its_descriptor(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_SCENE(what) FOR_EACH_WAY(way) {
    scene s;
    kit_one one;
    volt_description_ description;
    char operation[40], number[40];
    scene_begin(&s, k, what);
    kit_start(k, &one, (kit_way)way, what->begin(&s));
    volt_describe_(one.f, &description);
    scene_operation(what, operation, sizeof operation);
    (void)snprintf(number, sizeof number, "%d", volt_fd_number(&s.l.near));
    described_expect(&description, operation, "descriptor", &s.l.near, VOLT_ENDS_UNKNOWN_);
    assert_string_equal(description.state, number);
    assert_false(description.is_granted);
    assert_result(kit_cancel(k, &one), VOLT_ECANCELED);
    what->let(&s);
    what->expect_nothing(&s);
    scene_end(&s);
  }
}

/* The operations of the scenes above. */
#define IN_A_SCENE(constructor)                                                         \
  static void constructor##_is_described(void **state) {                                \
    const char *name = &#constructor[strlen("volt_fd_")];                               \
    size_t length = strlen(name) - strlen("_future");                                   \
    bool is_there = false;                                                              \
    (void)state;                                                                        \
    FOR_EACH_SCENE(what) {                                                              \
      if (strcspn(what->name, " ") == length && strncmp(what->name, name, length) == 0) \
        is_there = true;                                                                \
    }                                                                                   \
    assert_true(is_there);                                                              \
  }

IN_A_SCENE(volt_fd_recv_future)
IN_A_SCENE(volt_fd_recvmsg_future)
IN_A_SCENE(volt_fd_read_future)
IN_A_SCENE(volt_fd_readv_future)
IN_A_SCENE(volt_fd_ready_future)
IN_A_SCENE(volt_fd_send_future)
IN_A_SCENE(volt_fd_sendmsg_future)
IN_A_SCENE(volt_fd_write_future)
IN_A_SCENE(volt_fd_accept_future)

/* ---- those that seldom wait: before they have begun ---- */

static void expect_new(volt_future *f, const char *operation, const volt_fd *d) {
  volt_description_ description;
  volt_describe_(f, &description);
  described_expect(&description, operation, "descriptor", d, VOLT_ENDS_UNKNOWN_);
  assert_string_equal(description.state, "");
  volt_future_cancel(f);
}

static void volt_fd_connect_future_is_described(void **state) {
  io_kit *k = (io_kit *)*state;
  kit_link l;
  volt_op op;
  struct sockaddr_storage to;
  kit_link_in(k, &l, UNIX_STREAM);
  socklen_t size = kit_loopback(&to, TCP4);
  expect_new(volt_fd_connect_future(&op, &l.near, (struct sockaddr *)&to, size), "volt_fd_connect",
             &l.near);
  kit_unlink(&l);
}

static void volt_fd_writev_future_is_described(void **state) {
  io_kit *k = (io_kit *)*state;
  kit_link l;
  volt_op op;
  struct iovec part = {&op, 1};
  kit_link_in(k, &l, UNIX_STREAM);
  expect_new(volt_fd_writev_future(&op, &l.near, &part, 1, -1), "volt_fd_writev", &l.near);
  kit_unlink(&l);
}

static void volt_fd_sendfile_future_is_described(void **state) {
  io_kit *k = (io_kit *)*state;
  kit_link l;
  volt_op op;
  volt_fd file = {.number = -1};
  kit_link_in(k, &l, UNIX_STREAM);
  expect_new(volt_fd_sendfile_future(&op, &l.near, &file, 0, 1), "volt_fd_sendfile", &l.near);
  kit_unlink(&l);
}

static void volt_fd_sync_future_is_described(void **state) {
  io_kit *k = (io_kit *)*state;
  kit_link l;
  volt_op op;
  kit_link_in(k, &l, PIPE);
  expect_new(volt_fd_sync_future(&op, &l.near, 0), "volt_fd_sync", &l.near);
  kit_unlink(&l);
}

static void volt_open_future_is_described(void **state) {
  io_kit *k = (io_kit *)*state;
  volt_op op;
  volt_fd d;
  expect_new(volt_open_future(&op, k->rt, &d, AT_FDCWD, "/tmp", O_TMPFILE | O_RDWR, 0600),
             "volt_open", &d);
}

/* What the blocking pool does says so. io_uring does it by itself. */
static void a_call_on_the_pool_says_so(void **state) {
  io_kit *k = (io_kit *)*state;
  volt_op op;
  volt_fd d;
  volt_description_ description;
  kit_one one;
  char number[40];
  FOR_EACH_WAY(way) {
    volt_future *f = volt_open_future(&op, k->rt, &d, AT_FDCWD, "/tmp", O_TMPFILE | O_RDWR, 0600);
    assert_result(kit_run(k, (kit_way)way, f), VOLT_OK);
    volt_future_made(volt_fd_sync_future(&op, &d, 0));
    kit_start(k, &one, (kit_way)way, &op.as.future);
    volt_describe_(&op.as.future, &description);
    assert_string_equal(description.operation, "volt_fd_sync");
    if (strcmp(kit_back_end(), "epoll") == 0 && !description.is_ready && !description.is_granted) {
      (void)snprintf(number, sizeof number, "%d on the blocking pool", volt_fd_number(&d));
      assert_string_equal(description.state, number);
    }
    assert_result(kit_finish(k, &one), VOLT_OK);
    volt_fd_close(&d);
  }
}

/* It waits until a thread of the pool has returned from its call. */
static void volt_fd_close_future_is_described(void **state) {
  io_kit *k = (io_kit *)*state;
  volt_op op;
  volt_description_ description;
  kit_link l;
  kit_link_in(k, &l, UNIX_STREAM);
  volt_describe_(volt_fd_close_future(&op, &l.near), &description);
  described_expect(&description, "volt_fd_close", "descriptor", &l.near, VOLT_ENDS_UNKNOWN_);
  assert_result(kit_run(k, BY_THREAD, &op.as.future), VOLT_OK);
  close(l.far);
}

/* ---- what is made of operations ---- */

/* f waits, and awaits one future, which is that operation. */
static void expect_made_of(volt_future *f, const char *operation, const char *inner) {
  poller p;
  poller_init(&p);
  volt_description_ description = described_waiting(&p, f);
  assert_string_equal(description.operation, operation);
  assert_int_equal(description.ends, VOLT_ENDS_INNER_);
  volt_future *inside = volt_future_inside_(f, 0);
  assert_non_null(inside);
  assert_null(volt_future_inside_(f, 1));
  volt_describe_(inside, &description);
  assert_string_equal(description.operation, inner);
  described_end(&p, f);
}

static void volt_dial_future_is_described(void **state) {
  io_kit *k = (io_kit *)*state;
  volt_dial dial;
  volt_fd out;
  struct sockaddr_storage at;
  socklen_t size;
  char to[64];
  int listener = kit_listen(TCP4, 1, &at, &size);
  (void)snprintf(to, sizeof to, "127.0.0.1:%u", ntohs(((struct sockaddr_in *)&at)->sin_port));
  volt_future *f = volt_dial_future(&dial, k->rt, &out, to, NULL);
  volt_description_ description;
  volt_describe_(f, &description);
  assert_string_equal(description.operation, "volt_dial");
  assert_int_equal(description.ends, VOLT_ENDS_INNER_);
  volt_describe_(volt_future_inside_(f, 0), &description);
  assert_string_equal(description.operation, "volt_async");
  assert_null(volt_future_inside_(f, 1));
  volt_future_cancel(f);
  close(listener);
}

static void volt_resolve_future_is_described(void **state) {
  io_kit *k = (io_kit *)*state;
  volt_resolve r;
  expect_made_of(volt_resolve_future(&r, k->rt, "localhost:1"), "volt_async", "volt_blocking");
  volt_resolve_free(&r);
}

static void volt_accept_pause_future_is_described(void **state) {
  io_kit *k = (io_kit *)*state;
  volt_accept_pause pause;
  memset((void *)&pause, 0, sizeof pause);
  expect_made_of(volt_accept_pause_future(&pause, k->rt, VOLT_ERRNO(EMFILE)), "volt_async",
                 "volt_sleep");
}

static void volt_signal_future_is_described(void **state) {
  io_kit *k = (io_kit *)*state;
  volt_signals s;
  volt_signal got;
  volt_op op;
  sigset_t set, before;
  const int number = SIGUSR2;
  sigemptyset(&set);
  sigaddset(&set, number);
  REQUIRE(pthread_sigmask(SIG_BLOCK, &set, &before) == 0);
  assert_result(volt_signals_open(&s, k->rt, &number, 1), VOLT_OK);
  expect_new(volt_signal_future(&op, &s, &got), "volt_fd_read", &s.fd);
  volt_signals_close(&s);
  REQUIRE(pthread_sigmask(SIG_SETMASK, &before, NULL) == 0);
}

static void process_start(io_kit *k, volt_process *process) {
  static const char *const argv[] = {"sleep", "60", NULL};
  const volt_process_config config = {.arguments = argv};
  assert_result(volt_process_start(process, k->rt, &config), VOLT_OK);
}

static void volt_process_wait_future_is_described(void **state) {
  io_kit *k = (io_kit *)*state;
  volt_process process;
  volt_process_wait wait;
  process_start(k, &process);
  expect_made_of(volt_process_wait_future(&wait, &process), "volt_async", "volt_fd_ready");
  volt_process_close(&process);
}

static void volt_process_end_future_is_described(void **state) {
  io_kit *k = (io_kit *)*state;
  volt_process process;
  volt_process_wait wait;
  process_start(k, &process);
  volt_description_ description;
  volt_describe_(volt_process_end_future(&wait, &process, 1000), &description);
  assert_string_equal(description.operation, "volt_async");
  assert_ptr_equal(volt_future_frame_(&wait.async.future), &wait.async.frame);
  volt_process_close(&process);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      kit_test(an_operation_that_waits_says_its_descriptor),
      kit_test(volt_fd_recv_future_is_described),
      kit_test(volt_fd_recvmsg_future_is_described),
      kit_test(volt_fd_read_future_is_described),
      kit_test(volt_fd_readv_future_is_described),
      kit_test(volt_fd_ready_future_is_described),
      kit_test(volt_fd_send_future_is_described),
      kit_test(volt_fd_sendmsg_future_is_described),
      kit_test(volt_fd_write_future_is_described),
      kit_test(volt_fd_accept_future_is_described),
      kit_test(volt_fd_connect_future_is_described),
      kit_test(volt_fd_writev_future_is_described),
      kit_test(volt_fd_sendfile_future_is_described),
      kit_test(volt_fd_sync_future_is_described),
      kit_test(volt_open_future_is_described),
      kit_test(a_call_on_the_pool_says_so),
      kit_test(volt_fd_close_future_is_described),
      kit_test(volt_dial_future_is_described),
      kit_test(volt_resolve_future_is_described),
      kit_test(volt_accept_pause_future_is_described),
      kit_test(volt_signal_future_is_described),
      kit_test(volt_process_wait_future_is_described),
      kit_test(volt_process_end_future_is_described),
  };
  return kit_main(tests);
}
