/* io_threads_test.c: who may wait: threads, foreign loops, tasks on workers of which one sleeps; which
 * back end there is; a fork. With workers: what happens when is not said here, only what comes out.
 * BACK ENDS: epoll, uring */
#define _GNU_SOURCE

#include <sys/wait.h>

#include "alloc_count.h"
#include "io_kit.h"

static int threads_set_up(void **state) {
  io_kit *k = (io_kit *)malloc(sizeof *k);
  kit_begin(k, 2);
  *state = k;
  return 0;
}

#define threads_test(name) cmocka_unit_test_setup_teardown(name, threads_set_up, kit_tear_down)

/* ---- threads ---- */

static void a_thread_blocks_for_it(void **state) {
  io_kit *k = (io_kit *)*state;
  for (int kind = TCP4; kind <= PTY; kind++) {
    kit_link l;
    volt_op op;
    char text[8] = "";
    kit_link_in(k, &l, kind);
    volt_future *f = volt_fd_read_future(&op, &l.near, text, sizeof text, -1);
    assert_result(volt_future_wait_until(f, volt_deadline_us(500)), VOLT_ETIMEDOUT);
    assert_int_equal(op.n, 0);
    kit_far_send(&l, "abc");
    f = volt_fd_read_future(&op, &l.near, text, sizeof text, -1);
    assert_result(volt_future_wait_until(f, volt_deadline_s(KIT_SECONDS)), VOLT_OK);
    assert_int_equal(op.n, 3);
    assert_string_equal(text, "abc");
    kit_unlink(&l);
  }
}

static void echo_once(void *arg, uint32_t index) {
  kit_link *links = (kit_link *)arg;
  volt_op op;
  char text[8] = "";
  (void)index;
  for (int i = 0; i < 100; i++) {
    volt_future *f = volt_fd_recv_future(&op, &links[index].near, text, sizeof text, 0);
    REQUIRE(volt_future_wait(f) == VOLT_OK && op.n > 0);
    size_t n = op.n;
    f = volt_fd_send_future(&op, &links[index].near, text, n, 0);
    REQUIRE(volt_future_wait(f) == VOLT_OK && op.n == n);
  }
}

static void threads_wait_while_workers_sleep(void **state) {
  io_kit *k = (io_kit *)*state;
  enum { THREADS = 4 };
  kit_link links[THREADS];
  thread_team team;
  for (int i = 0; i < THREADS; i++) kit_link_in(k, &links[i], TCP4);
  thread_team_start(&team, THREADS, echo_once, links);
  for (int round = 0; round < 100; round++) {
    for (int i = 0; i < THREADS; i++) kit_far_send(&links[i], "ping");
    for (int i = 0; i < THREADS; i++) kit_far_expect(&links[i], "ping");
  }
  thread_team_join(&team);
  for (int i = 0; i < THREADS; i++) kit_unlink(&links[i]);
}

typedef struct computer {
  volt_task task;
  volt_rt *rt;
  volt_sleep_op sleep;
  VOLT_ATOMIC(uint32_t) computes, may_end;
} computer;

static int compute(volt_task *t, volt_ctx *ctx) {
  computer *self = volt_container_of(t, computer, task);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT(self, volt_sleep_future(&self->sleep, volt_rt_timers(self->rt),
                                     volt_rt_now_ns(self->rt) + 1000000));
  volt_store_release(&self->computes, 1);
  WAIT_UNTIL(volt_load_acquire(&self->may_end));
  VOLT_TASK_END(self);
}

/* The worker that kept the time computes, and the other one sleeps, as the first wait begins. */
static void a_thread_waits_while_a_worker_computes(void **state) {
  io_kit *k = (io_kit *)*state;
  if (strcmp(kit_back_end(), "epoll") != 0) skip(); /* io_uring: worker 0 has to look */
  for (int i = 0; i < 20; i++) {
    kit_link l;
    volt_op op;
    poller waits;
    computer c = {.rt = k->rt};
    char text[8] = "";
    kit_link_in(k, &l, UNIX_STREAM);
    volt_task_init(&c.task, compute);
    assert_result(volt_spawn(k->rt, &c.task), VOLT_OK);
    WAIT_UNTIL(volt_load_acquire(&c.computes));
    poller_init(&waits);
    volt_future *f = volt_fd_recv_future(&op, &l.near, text, sizeof text, 0);
    assert_result(poller_poll(&waits, f), VOLT_PENDING);
    kit_far_send(&l, "abc");
    WAIT_UNTIL(volt_load_acquire(&waits.wakes) == 1);
    assert_result(poller_poll(&waits, f), VOLT_OK);
    volt_store_release(&c.may_end, 1);
    assert_result(volt_task_join(&c.task), VOLT_OK);
    assert_string_equal(text, "abc");
    kit_unlink(&l);
  }
}

static void a_thread_uses_files(void **state) {
  io_kit *k = (io_kit *)*state;
  volt_fd d;
  volt_op op;
  char text[8] = "";
  volt_future *f = volt_open_future(&op, k->rt, &d, AT_FDCWD, "/tmp", O_TMPFILE | O_RDWR, 0600);
  assert_result(volt_future_wait(f), VOLT_OK);
  f = volt_fd_write_future(&op, &d, "abc", 3, 0);
  assert_result(volt_future_wait(f), VOLT_OK);
  f = volt_fd_sync_future(&op, &d, VOLT_FD_SYNC_ALL);
  assert_result(volt_future_wait(f), VOLT_OK);
  f = volt_fd_read_future(&op, &d, text, 8, 0);
  assert_result(volt_future_wait(f), VOLT_OK);
  assert_string_equal(text, "abc");
  f = volt_fd_close_future(&op, &d);
  assert_result(volt_future_wait(f), VOLT_OK);
}

/* ---- tasks on workers ---- */

typedef struct echo {
  volt_task task;
  volt_fd *d;
  volt_op op;
  char text[16];
} echo;

static int echo_poll(volt_task *t, volt_ctx *ctx) {
  echo *self = volt_container_of(t, echo, task);
  VOLT_TASK_BEGIN(self);
  for (;;) {
    VOLT_AWAIT(self, volt_fd_recv_future(&self->op, self->d, self->text, sizeof self->text, 0));
    if (self->op.n == 0) break;
    VOLT_AWAIT(self, volt_fd_send_future(&self->op, self->d, self->text, self->op.n, 0));
  }
  VOLT_TASK_END(self);
}

static void tasks_echo_while_nothing_else_happens(void **state) {
  io_kit *k = (io_kit *)*state;
  enum { TASKS = 20 };
  kit_link links[TASKS];
  echo *tasks[TASKS];
  for (int i = 0; i < TASKS; i++) {
    kit_link_in(k, &links[i], i % UNIX_STREAM);
    tasks[i] = VOLT_TASK_NEW(k->rt, echo, echo_poll);
    tasks[i]->d = &links[i].near;
    assert_result(volt_spawn(k->rt, &tasks[i]->task), VOLT_OK);
  }
  for (int round = 0; round < 30; round++) {
    for (int i = 0; i < TASKS; i++) kit_far_send(&links[i], "hello");
    for (int i = 0; i < TASKS; i++) kit_far_expect(&links[i], "hello");
  }
  for (int i = 0; i < TASKS; i++) {
    if (i % 2) {
      (void)volt_task_cancel(&tasks[i]->task);
    } else {
      kit_close_far(&links[i]);
    }
    int result = volt_task_join_until(&tasks[i]->task, volt_deadline_s(KIT_SECONDS));
    assert_result(result, i % 2 ? VOLT_ECANCELED : VOLT_OK);
    volt_task_detach(&tasks[i]->task);
    kit_unlink(&links[i]);
  }
}

/* The pipe has no reader: the worker gets EPIPE, and the process, whose SIGPIPE is as ever, lives. */
static void no_worker_raises_sigpipe(void **state) {
  io_kit *k = (io_kit *)*state;
  for (int kind = UNIX_STREAM; kind <= PIPE; kind++) {
    kit_link l;
    volt_op op;
    kit_one one;
    kit_link_out(k, &l, kind);
    kit_close_far(&l);
    memset((void *)&one, 0, sizeof one);
    one.f = volt_fd_write_future(&op, &l.near, "abc", 3, -1);
    volt_task_init(&one.task, kit_one_poll_);
    assert_result(volt_spawn(k->rt, &one.task), VOLT_OK);
    int result = volt_task_join(&one.task);
    assert_result(result, VOLT_ERRNO(EPIPE));
    kit_unlink(&l);
  }
}

/* ---- a foreign loop ---- */

static void ring(void *arg) {
  uint64_t one = 1;
  REQUIRE(write(*(int *)arg, &one, sizeof one) == sizeof one);
}

static void a_loop_of_ones_own_waits(void **state) {
  io_kit *k = (io_kit *)*state;
  int ends[2];
  kit_link l;
  volt_op op;
  char text[16] = "";
  volt_loop loop = VOLT_LOOP_INIT(ring, &ends[1]);
  REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
  kit_link_in(k, &l, TCP4);
  for (int i = 0; i < 20; i++) {
    char rings[64];
    volt_future *f = volt_fd_recv_future(&op, &l.near, text, 16, 0);
    assert_result(volt_loop_poll(&loop, f), VOLT_PENDING);
    kit_far_send(&l, "abc");
    REQUIRE(read(ends[0], rings, sizeof rings) >= 8);
    assert_result(volt_loop_poll(&loop, f), VOLT_OK);
    assert_int_equal(op.n, 3);
  }
  volt_future *f = volt_fd_recv_future(&op, &l.near, text, 16, 0);
  assert_result(volt_loop_poll(&loop, f), VOLT_PENDING);
  volt_future_cancel(f);
  assert_result(volt_loop_close(&loop), VOLT_OK);
  close(ends[0]);
  close(ends[1]);
  kit_unlink(&l);
}

/* By hand: the loop polls one descriptor, and calls volt_rt_run() when it is readable. */
static void by_hand_there_is_a_descriptor_to_poll(void **state) {
  io_kit *k = (io_kit *)*state;
  for (int way = BY_TASK; way <= BY_THREAD; way++) {
    for (int kind = TCP4; kind <= PTY; kind++) {
      kit_link l;
      volt_op op;
      char text[8] = "";
      kit_one one;
      struct pollfd io = {volt_rt_io_descriptor(k->rt), POLLIN, 0};
      kit_link_in(k, &l, kind);
      kit_start(k, &one, (kit_way)way, volt_fd_read_future(&op, &l.near, text, 8, -1));
      assert_int_equal(poll(&io, 1, 0), 0);
      kit_far_send(&l, "abc");
      int rounds = 0;
      while (kit_check(k, &one) == VOLT_PENDING) {
        assert_int_equal(poll(&io, 1, KIT_SECONDS * 1000), 1);
        assert_true(rounds++ < 10);
      }
      assert_string_equal(text, "abc");
      kit_settle(k);
      assert_int_equal(poll(&io, 1, 0), 0); /* it does not stay readable */
      assert_int_equal(volt_rt_io_descriptor(k->rt), io.fd);
      kit_unlink(&l);
    }
  }
}

static void by_hand_a_wake_makes_it_readable(void **state) {
  io_kit *k = (io_kit *)*state;
  volt_sem sem = VOLT_SEM_INIT(0);
  volt_future permit;
  kit_one one;
  struct pollfd io = {volt_rt_io_descriptor(k->rt), POLLIN, 0};
  kit_start(k, &one, BY_TASK, volt_sem_acquire_future(&permit, &sem, 1));
  assert_int_equal(poll(&io, 1, 0), 0);
  volt_sem_release(&sem, 1);
  assert_int_equal(poll(&io, 1, 0), 1);
  assert_result(kit_finish(k, &one), VOLT_OK);
  assert_int_equal(poll(&io, 1, 0), 0);
  volt_sem_destroy(&sem);
}

/* ---- which back end ---- */

static void it_has_a_name(void **state) {
  io_kit *k = (io_kit *)*state;
  bool uring = strcmp(kit_back_end(), "uring") == 0;
  assert_string_equal(volt_rt_io_name(k->rt), uring ? "io_uring" : "epoll");
}

static int create_auto(const char *variable, const char **name) {
  volt_rt *rt = NULL;
  const volt_rt_config config = {.flags = VOLT_RT_BY_HAND, .io = volt_io_auto()};
  if (variable) {
    REQUIRE(setenv("VOLT_IO", variable, 1) == 0);
  } else {
    REQUIRE(unsetenv("VOLT_IO") == 0);
  }
  int result = volt_rt_create(&rt, &config);
  if (result == VOLT_OK) {
    *name = strcmp(volt_rt_io_name(rt), "epoll") == 0 ? "epoll" : "io_uring";
    REQUIRE(volt_rt_destroy(rt) == 0);
  } else {
    assert_null(rt);
  }
  REQUIRE(unsetenv("VOLT_IO") == 0);
  return result;
}

static void the_environment_decides(void **state) {
  (void)state;
  const char *name = NULL;
  assert_result(create_auto("epoll", &name), VOLT_OK);
  assert_string_equal(name, "epoll");
  assert_result(create_auto("nothing", &name), VOLT_EINVAL);
  assert_result(create_auto("", &name), VOLT_EINVAL);
  assert_result(create_auto(NULL, &name), VOLT_OK);
  if (strcmp(kit_back_end(), "uring") == 0) { /* which is there */
    assert_string_equal(name, "io_uring");
    assert_result(create_auto("uring", &name), VOLT_OK);
    assert_string_equal(name, "io_uring");
  }
}

static void nothing_is_left_of_one_that_cannot_be_made(void **state) {
  (void)state;
  const char *name;
  int before = kit_open_descriptors();
  for (int i = 0; i < 3; i++) assert_result(create_auto("nothing", &name), VOLT_EINVAL);
  kit_expect_descriptors(before);
}

/* ---- a fork ---- */

static int before; /* inherited by this process, and so by its children */

static int without_mark(void) {
  int count = 0;
  for (int fd = 3; fd < 4096; fd++) {
    int flags = fcntl(fd, F_GETFD);
    count += flags >= 0 && !(flags & FD_CLOEXEC);
  }
  return count;
}

/* The child has no workers and must not use the runtime. It may run a program: no descriptor of the
 * runtime, nor of a connection, is open there; and the parent goes on. */
static void a_child_inherits_nothing(void **state) {
  io_kit *k = (io_kit *)*state;
  kit_link l;
  volt_op op;
  char text[8] = "";
  kit_link_in(k, &l, TCP4);
  volt_future *f = volt_fd_recv_future(&op, &l.near, text, 8, 0);
  assert_result(volt_future_wait_until(f, volt_deadline_us(200)), VOLT_ETIMEDOUT);
  assert_int_equal(without_mark(), before);
  FILE *child = popen("exec 2>&-; ls /proc/self/fd | wc -l", "re");
  REQUIRE(child);
  REQUIRE(fgets(text, sizeof text, child));
  assert_int_equal(pclose(child), 0);
  assert_int_equal(atoi(text), before + 3); /* 0, 1, and the directory */
  kit_far_send(&l, "still");
  f = volt_fd_recv_future(&op, &l.near, text, 8, 0);
  assert_result(volt_future_wait_until(f, volt_deadline_s(KIT_SECONDS)), VOLT_OK);
  assert_int_equal(op.n, 5);
  kit_unlink(&l);
}

/* ---- given up ---- */

static int result_in_child(int (*what)(void)) {
  int status;
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) _exit(what());
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  return WEXITSTATUS(status);
}

/* In the child. Returns its exit status. */
static int give_up_with_one_open(void) {
  static io_kit k;
  static kit_link l;
  const int others = kit_threads();
  kit_begin(&k, 2);
  kit_link_in(&k, &l, UNIX_STREAM);
  if (volt_rt_shutdown_background(k.rt) != VOLT_OK) return 1;
  WAIT_UNTIL(kit_threads() == others); /* that which would free the runtime has ended, too */
  volt_fd_close(&l.near);
  return volt_load_relaxed(&k.held) > 0 ? 23 : 2;
}

/* That is no misuse, as it is of volt_rt_destroy(). */
static void a_runtime_that_is_given_up_may_have_one_open(void **state) {
  (void)state;
  assert_int_equal(result_in_child(give_up_with_one_open), 23);
}

/* In the child: the same with one whose number is in a part of the table that there was no memory for. */
static int give_up_with_one_unmarked(void) {
  enum { FAR = 300 }; /* no other number is near */
  static io_kit k;
  static volt_fd d;
  const int others = kit_threads();
  int ends[2];
  kit_begin(&k, 2);
  kit_pair(ends, PIPE);
  int number = fcntl(ends[0], F_DUPFD_CLOEXEC, FAR);
  if (number < FAR) return 3;
  bool can_lack = alloc_count_lack_memory(true);
  int result = volt_fd_init(&d, k.rt, number, 0);
  (void)alloc_count_lack_memory(false);
  if (!can_lack) return 24;
  if (result != VOLT_OK || volt_rt_shutdown_background(k.rt) != VOLT_OK) return 1;
  WAIT_UNTIL(kit_threads() == others);
  int held = (int)volt_load_relaxed(&k.held);
  volt_fd_close(&d);
  return held > 0 ? 23 : 2;
}

static void so_may_it_have_one_that_lacked_memory(void **state) {
  (void)state;
  int result = result_in_child(give_up_with_one_unmarked);
  if (result == 24) skip(); /* the allocator is a sanitizer's */
  assert_int_equal(result, 23);
}

int main(void) {
  before = without_mark();
  const struct CMUnitTest tests[] = {
      threads_test(a_thread_blocks_for_it),
      threads_test(threads_wait_while_workers_sleep),
      threads_test(a_thread_waits_while_a_worker_computes),
      threads_test(a_thread_uses_files),
      threads_test(tasks_echo_while_nothing_else_happens),
      threads_test(no_worker_raises_sigpipe),
      threads_test(a_loop_of_ones_own_waits),
      kit_test(by_hand_there_is_a_descriptor_to_poll),
      kit_test(by_hand_a_wake_makes_it_readable),
      kit_test(it_has_a_name),
      cmocka_unit_test(the_environment_decides),
      cmocka_unit_test(nothing_is_left_of_one_that_cannot_be_made),
      threads_test(a_child_inherits_nothing),
      cmocka_unit_test(a_runtime_that_is_given_up_may_have_one_open),
      cmocka_unit_test(so_may_it_have_one_that_lacked_memory),
  };
  return kit_main(tests);
}
