/* uring_test.c: what only the io_uring back end has: refused system calls, full queues, requests that
 * the system ends by itself, operations of another thread's ring, and a system without io_uring.
 * BACK ENDS: none */
#define _GNU_SOURCE /* liburing.h */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <volt/net.h>

#include "fake_waker.h"
#include "io/backend/uring.h"
#include "require.h"
#include "thread_team.h"
#include "unit.h"

enum { MANY = 100, SIZE = 16 };

/* ---- the calls that fail ---- */

static struct faults {
  int refuse;      /* every third enter is refused so */
  bool is_old;     /* a read or receive that has to wait says EAGAIN */
  int setup_error; /* of the ring after `good` good ones */
  unsigned good;
  VOLT_ATOMIC(uint32_t) enters;
  void (*before_enter)(void); /* the next one */
} faults;

static void change_staged(struct io_uring *ring) {
  for (unsigned at = ring->sq.sqe_head; faults.is_old && at != ring->sq.sqe_tail; at++) {
    struct io_uring_sqe *sqe = &ring->sq.sqes[at & ring->sq.ring_mask];
    if (sqe->opcode == IORING_OP_READ) sqe->rw_flags |= RWF_NOWAIT;
    if (sqe->opcode == IORING_OP_RECV) sqe->msg_flags |= MSG_DONTWAIT;
  }
}

static bool is_refused(void) {
  return faults.refuse && volt_fetch_add_relaxed(&faults.enters, 1) % 3 == 0;
}

static int submit(struct io_uring *ring) {
  void (*before)(void) = faults.before_enter;
  if (before) {
    faults.before_enter = NULL;
    before();
  }
  change_staged(ring);
  return is_refused() ? faults.refuse : io_uring_submit_and_get_events(ring);
}

static int wait_for_one(struct io_uring *ring, struct io_uring_cqe **cqe, unsigned count,
                        struct __kernel_timespec *timeout, sigset_t *mask) {
  change_staged(ring);
  if (is_refused()) return faults.refuse;
  return io_uring_submit_and_wait_timeout(ring, cqe, count, timeout, mask);
}

static int set_up_ring(unsigned entries, struct io_uring *ring, struct io_uring_params *params) {
  if (faults.setup_error && faults.good-- == 0) return faults.setup_error;
  return io_uring_queue_init_params(entries, ring, params);
}

static const volt_uring_calls_ calls = {set_up_ring, submit, wait_for_one};

static int create_usual(volt_driver_ **out, volt_rt *rt, const volt_rt_config *config,
                        const int *doorbell) {
  static const volt_uring_setup_ setup = {.sq = 256, .cq = 4096, .calls = &calls};
  return volt_uring_create_with_(out, rt, config, doorbell, &setup);
}

static int create_tiny(volt_driver_ **out, volt_rt *rt, const volt_rt_config *config,
                       const int *doorbell) {
  static const volt_uring_setup_ setup = {.sq = 1, .cq = 2, .calls = &calls};
  return volt_uring_create_with_(out, rt, config, doorbell, &setup);
}

static const volt_io_kind usual = {create_usual};
static const volt_io_kind tiny = {create_tiny};

/* ---- a runtime, and tasks that receive ---- */

static volt_rt *rt;
static int descriptors;

static int open_descriptors(void) {
  int count = 0;
  DIR *dir = opendir("/proc/self/fd");
  REQUIRE(dir);
  while (readdir(dir)) count += 1;
  closedir(dir);
  return count;
}

static void begin(const volt_io_kind *io, uint32_t workers) {
  volt_rt_config config = {.workers = workers, .io = io};
  if (workers == 0) config.flags = VOLT_RT_BY_HAND;
  assert_result(volt_rt_create(&rt, &config), VOLT_OK);
}

static int set_up(void **state) {
  (void)state;
  memset(&faults, 0, sizeof faults);
  volt_rt_config config = {.workers = 2, .io = &usual}; /* its doorbells stay */
  if (descriptors == 0) {
    assert_result(volt_rt_create(&rt, &config), VOLT_OK);
    volt_rt_destroy(rt);
  }
  descriptors = open_descriptors();
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  assert_int_equal(volt_rt_destroy(rt), 0);
  assert_int_equal(open_descriptors(), descriptors);
  return 0;
}

static volt_uring_share_ *share(void) {
  return volt_uring_share_of_(volt_rt_driver_(rt), 0);
}

typedef struct receiver {
  volt_task task;
  volt_op op;
  volt_fd fd;
  int peer;
  char buffer[SIZE];
} receiver;

static int receive(volt_task *t, volt_ctx *ctx) {
  receiver *self = volt_container_of(t, receiver, task);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT(self, volt_fd_recv_future(&self->op, &self->fd, self->buffer, SIZE, 0));
  VOLT_TASK_END(self);
}

static int receive_by_read(volt_task *t, volt_ctx *ctx) {
  receiver *self = volt_container_of(t, receiver, task);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT(self, volt_fd_read_future(&self->op, &self->fd, self->buffer, SIZE, -1));
  VOLT_TASK_END(self);
}

static receiver *receiver_open(volt_task_fn *poll) {
  int pair[2];
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
  receiver *r = VOLT_TASK_NEW(rt, receiver, poll);
  REQUIRE(r);
  r->peer = pair[1];
  REQUIRE(volt_fd_init(&r->fd, rt, pair[0], 0) == VOLT_OK);
  return r;
}

static receiver *receiver_begin(volt_task_fn *poll) {
  receiver *r = receiver_open(poll);
  assert_result(volt_spawn(rt, &r->task), VOLT_OK);
  return r;
}

static void receiver_send(receiver *r) {
  assert_int_equal(send(r->peer, "hello", 5, 0), 5);
}

static bool is_by_hand(void) {
  return share()->uring->by_hand;
}

static int join(receiver *r) {
  volt_future f;
  if (!is_by_hand()) return volt_task_join(&r->task);
  int result = volt_rt_run_until(rt, volt_task_join_future(&f, &r->task), VOLT_NO_DEADLINE);
  return result == VOLT_OK ? volt_task_result(&r->task) : result;
}

/* It has ended: with that result, or, if that is VOLT_OK, with what receiver_send() has sent. */
static void receiver_end(receiver *r, int result) {
  assert_result(join(r), result);
  assert_int_equal(r->op.n, result == VOLT_OK ? 5 : 0);
  if (result == VOLT_OK) assert_memory_equal(r->buffer, "hello", 5);
  volt_fd_close(&r->fd);
  close(r->peer);
  volt_task_detach(&r->task);
}

/* By hand: until nothing is ready. */
static void run(void) {
  while (volt_rt_run(rt) == 0) continue;
}

/* ---- full queues, refused calls ---- */

static void receive_many(void) {
  receiver *r[MANY];
  for (int i = 0; i < MANY; i++) r[i] = receiver_begin(receive);
  if (is_by_hand()) run();
  for (int i = 0; i < MANY; i += 2) receiver_send(r[i]);
  for (int i = 1; i < MANY; i += 2) volt_task_cancel(&r[i]->task);
  for (int i = 0; i < MANY; i++) receiver_end(r[i], i % 2 ? VOLT_ECANCELED : VOLT_OK);
}

static void the_queues_are_tiny_by_hand(void **state) {
  (void)state;
  begin(&tiny, 0);
  receive_many();
  assert_int_equal(share()->in_flight, 0);
}

static void the_queues_are_tiny(void **state) {
  (void)state;
  begin(&tiny, 2);
  receive_many();
}

static void the_system_refuses_every_third_call(void **state) {
  (void)state;
  static const int errors[] = {-EBUSY, -EINTR, -EAGAIN};
  for (size_t i = 0; i < 3; i++) {
    for (uint32_t workers = 0; workers <= 2; workers++) {
      if (i + workers > 0) volt_rt_destroy(rt);
      faults.refuse = errors[i];
      begin(workers == 1 ? &tiny : &usual, workers);
      receive_many();
      if (workers == 0) assert_true(share()->counts.refused > 0);
    }
  }
}

/* ---- what the system ends by itself ---- */

static void *run_on_a_thread(void *arg) {
  (void)arg;
  run();
  return NULL;
}

static void the_thread_that_has_submitted_is_gone(void **state) {
  (void)state;
  begin(&usual, 0);
  receiver *r = receiver_begin(receive);
  pthread_t thread;
  REQUIRE(pthread_create(&thread, NULL, run_on_a_thread, NULL) == 0);
  pthread_join(thread, NULL);
  assert_int_equal(share()->in_flight, 1);
  receiver_send(r);
  receiver_end(r, VOLT_OK);
}

/* Have the ring end a request behind the back of the library. */
static void end_request(uint64_t data) {
  struct io_uring_sqe *sqe = volt_uring_sqe_(share());
  io_uring_prep_cancel64(sqe, data, 0);
  io_uring_sqe_set_data64(sqe, 0);
}

static void a_request_that_nobody_has_cancelled_goes_on(void **state) {
  (void)state;
  begin(&usual, 0);
  receiver *r = receiver_begin(receive);
  run();
  end_request((uintptr_t)&r->op);
  run();
  assert_int_equal(share()->counts.completed, 1);
  assert_int_equal(share()->in_flight, 1);
  receiver_send(r);
  receiver_end(r, VOLT_OK);
}

static volt_sem sem;

typedef struct deaf {
  volt_task task;
  volt_future permit;
} deaf;

/* The worker does not hear its doorbell any more; then it waits for this thread. */
static int become_deaf(volt_task *t, volt_ctx *ctx) {
  deaf *self = volt_container_of(t, deaf, task);
  VOLT_TASK_BEGIN(self);
  end_request(VOLT_URING_DOORBELL_);
  VOLT_AWAIT(self, volt_sem_acquire_future(&self->permit, &sem, 1));
  VOLT_TASK_END(self);
}

static bool all_sleep(void) {
  volt_rt_stats_of stats;
  volt_rt_stats(rt, &stats);
  return stats.parked == stats.workers && stats.injected == 0;
}

static void the_doorbell_is_watched_again(void **state) {
  (void)state;
  begin(&usual, 1);
  volt_sem_init(&sem, 0);
  receiver *r = receiver_begin(receive); /* so the worker sleeps in its ring */
  deaf *d = VOLT_TASK_NEW(rt, deaf, become_deaf);
  assert_result(volt_spawn(rt, &d->task), VOLT_OK);
  for (int i = 0; i < 100; i++) WAIT_UNTIL(all_sleep());
  volt_sem_release(&sem, 1); /* rings */
  assert_result(volt_task_join(&d->task), VOLT_OK);
  volt_task_detach(&d->task);
  receiver_send(r);
  receiver_end(r, VOLT_OK);
  volt_sem_destroy(&sem);
}

/* ---- descriptors for which the system does not wait ---- */

static void an_old_system_says_eagain(void **state) {
  (void)state;
  faults.is_old = true;
  begin(&usual, 0);
  receiver *r[] = {receiver_begin(receive), receiver_begin(receive_by_read)};
  run();
  for (size_t i = 0; i < 2; i++) receiver_send(r[i]);
  for (size_t i = 0; i < 2; i++) receiver_end(r[i], VOLT_OK);
  receiver *cancelled = receiver_begin(receive);
  run();
  volt_task_cancel(&cancelled->task);
  receiver_end(cancelled, VOLT_ECANCELED);
}

/* ---- cancels ---- */

static void a_cancel_from_elsewhere_goes_to_the_home(void **state) {
  (void)state;
  begin(&usual, 0);
  receiver *r = receiver_begin(receive);
  run();
  volt_op op;
  fake_waker waker;
  fake_waker_init(&waker, 0, NULL);
  volt_future *closed = volt_fd_close_future(&op, &r->fd);
  /* this thread is no worker while it does not run the runtime */
  assert_result(volt_future_poll(closed, fake_waker_of(&waker)), VOLT_PENDING);
  assert_int_equal(share()->counts.mails, 0);
  run();
  assert_int_equal(share()->counts.mails, 1);
  assert_result(volt_future_poll(closed, fake_waker_of(&waker)), VOLT_OK);
  receiver_end(r, VOLT_ECLOSED);
}

static void a_cancel_comes_when_it_is_over(void **state) {
  (void)state;
  begin(&usual, 0);
  receiver *r = receiver_begin(receive);
  run();
  receiver_send(r); /* the system has done it, and nobody has looked */
  volt_op op;
  fake_waker waker;
  fake_waker_init(&waker, 0, NULL);
  volt_future *closed = volt_fd_close_future(&op, &r->fd);
  assert_result(volt_future_poll(closed, fake_waker_of(&waker)), VOLT_PENDING);
  run();
  assert_result(volt_future_poll(closed, fake_waker_of(&waker)), VOLT_OK);
  assert_int_equal(share()->in_flight, 0);
  receiver_end(r, VOLT_OK); /* no byte is lost */
}

static void closed_by_a_thread_while_the_worker_sleeps(void **state) {
  (void)state;
  begin(&usual, 2);
  for (int i = 0; i < 50; i++) {
    receiver *r = receiver_begin(receive);
    volt_op op;
    if (i % 2) WAIT_UNTIL(all_sleep());
    assert_result(volt_future_wait(volt_fd_close_future(&op, &r->fd)), VOLT_OK);
    receiver_end(r, VOLT_ECLOSED);
  }
}

/* It begins to receive, and drops that in the same poll. */
static int receive_and_drop(volt_task *t, volt_ctx *ctx) {
  receiver *self = volt_container_of(t, receiver, task);
  volt_future *f = volt_fd_recv_future(&self->op, &self->fd, self->buffer, SIZE, 0);
  int result = volt_future_poll_ctx(f, ctx);
  if (result != VOLT_PENDING) return result;
  volt_future_cancel(f);
  return volt_future_poll_ctx(f, ctx);
}

static void a_cancel_inside_a_poll_waits_there(void **state) {
  (void)state;
  for (uint32_t workers = 0; workers <= 2; workers++) {
    if (workers > 0) volt_rt_destroy(rt);
    begin(workers == 1 ? &tiny : &usual, workers);
    receiver *r[MANY];
    for (int i = 0; i < MANY; i++) r[i] = receiver_open(receive_and_drop);
    for (int i = 0; i < MANY; i++) assert_result(volt_spawn(rt, &r[i]->task), VOLT_OK);
    for (int i = 0; i < MANY; i++) receiver_end(r[i], VOLT_ECANCELED);
  }
}

/* Two operations; the waker of each drops the other. */
static struct pair {
  volt_op ops[2], closers[2];
  volt_fd fds[2];
  int peers[2];
  char buffers[2][SIZE];
  hostile_waker wakers[2];
  fake_waker closed[2];
} two;

static void drop_the_other(hostile_waker *h) {
  volt_future_cancel(&two.ops[1 - h->n].as.future);
}

static int begin_two(volt_task *t, volt_ctx *ctx) {
  (void)t, (void)ctx;
  for (uint32_t i = 0; i < 2; i++) {
    hostile_waker_init(&two.wakers[i], i, NULL, drop_the_other, NULL);
    two.wakers[i].n = i;
    volt_future *f = volt_fd_recv_future(&two.ops[i], &two.fds[i], two.buffers[i], SIZE, 0);
    REQUIRE(volt_future_poll(f, hostile_waker_of(&two.wakers[i])) == VOLT_PENDING);
  }
  return VOLT_OK;
}

static void *close_two_on_a_thread(void *arg) {
  for (uint32_t i = 0; i < 2; i++) {
    fake_waker_init(&two.closed[i], i, NULL);
    volt_future *f = volt_fd_close_future(&two.closers[i], &two.fds[i]);
    REQUIRE(volt_future_poll(f, fake_waker_of(&two.closed[i])) == VOLT_PENDING);
  }
  return arg;
}

/* After the mail was taken, and before what has completed is: both have, and both are closed. */
static void close_two(void) {
  pthread_t thread;
  for (int i = 0; i < 2; i++) REQUIRE(send(two.peers[i], "hello", 5, 0) == 5);
  REQUIRE(pthread_create(&thread, NULL, close_two_on_a_thread, NULL) == 0);
  pthread_join(thread, NULL);
}

static void a_waker_may_drop_what_is_in_the_same_mail(void **state) {
  (void)state;
  begin(&usual, 0);
  volt_task task;
  memset((void *)&two, 0, sizeof two);
  for (int i = 0; i < 2; i++) {
    int ends[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    REQUIRE(volt_fd_init(&two.fds[i], rt, ends[0], 0) == VOLT_OK);
    two.peers[i] = ends[1];
  }
  volt_task_init(&task, begin_two);
  assert_result(volt_spawn(rt, &task), VOLT_OK);
  run();
  faults.before_enter = close_two;
  receiver *r = receiver_begin(receive); /* so there is something to submit */
  run();
  for (int i = 0; i < 2; i++) {
    assert_int_equal(hostile_waker_calls(&two.wakers[i]), 1);
    assert_result(volt_future_poll(&two.ops[i].as.future, (volt_waker){NULL, NULL}), VOLT_OK);
    assert_memory_equal(two.buffers[i], "hello", 5);
    assert_result(volt_future_poll(&two.closers[i].as.future, (volt_waker){NULL, NULL}), VOLT_OK);
    close(two.peers[i]);
  }
  receiver_send(r);
  receiver_end(r, VOLT_OK);
}

/* ---- a unix listener without room ---- */

typedef struct one_poll {
  volt_task task;
  volt_future *f;
} one_poll;

static int one_poll_of(volt_task *t, volt_ctx *ctx) {
  return volt_future_poll_ctx(volt_container_of(t, one_poll, task)->f, ctx);
}

static int fill_listener(int *fillers, int most, struct sockaddr_storage *at, socklen_t *size) {
  int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  *at = (struct sockaddr_storage){.ss_family = AF_UNIX};
  REQUIRE(bind(listener, (struct sockaddr *)at, sizeof(sa_family_t)) == 0); /* any name */
  *size = sizeof *at;
  REQUIRE(getsockname(listener, (struct sockaddr *)at, size) == 0 && listen(listener, 0) == 0);
  bool is_full = false;
  for (int i = 0; i < most; i++) {
    fillers[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (connect(fillers[i], (struct sockaddr *)at, *size) != 0) is_full = errno == EAGAIN;
  }
  REQUIRE(is_full);
  return listener;
}

/* The system says EAGAIN, and nothing reports room: the ring would be asked again all the time. */
static void a_connect_that_finds_no_room_takes_no_time(void **state) {
  (void)state;
  enum { FILLERS = 4 };
  int fillers[FILLERS];
  struct sockaddr_storage at;
  socklen_t size;
  begin(&usual, 0);
  int listener = fill_listener(fillers, FILLERS, &at, &size);
  volt_fd d;
  one_poll one = {.f = NULL};
  volt_op op;
  REQUIRE(volt_socket_open(&d, rt, AF_UNIX, SOCK_STREAM, 0) == VOLT_OK);
  one.f = volt_fd_connect_future(&op, &d, (struct sockaddr *)&at, size);
  volt_task_init(&one.task, one_poll_of);
  assert_result(volt_spawn(rt, &one.task), VOLT_OK);
  run();
  assert_int_equal(share()->in_flight, 0);
  uint64_t enters = share()->counts.enters;
  (void)poll(NULL, 0, 20);
  run();
  assert_int_equal(share()->counts.enters, enters);
  volt_task_cancel(&one.task);
  volt_future f;
  volt_future_made(volt_task_join_future(&f, &one.task));
  assert_result(volt_rt_run_until(rt, &f, VOLT_NO_DEADLINE), VOLT_ECANCELED);
  volt_fd_close(&d);
  close(listener);
  for (int i = 0; i < FILLERS; i++) close(fillers[i]);
}

/* ---- a system without io_uring ---- */

static void what_refuses_a_ring_is_told(void **state) {
  (void)state;
  static const int errors[] = {EPERM, ENOSYS, EINVAL, ENOMEM, EMFILE};
  for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
    for (unsigned good = 0; good <= 1; good++) {
      faults.setup_error = -errors[i];
      faults.good = good;
      volt_rt_config config = {.workers = 2, .io = &usual};
      assert_result(volt_rt_create(&rt, &config), VOLT_ERRNO(errors[i]));
      assert_null(rt);
      assert_int_equal(open_descriptors(), descriptors);
    }
  }
  memset(&faults, 0, sizeof faults);
  begin(&usual, 2);
}

/* As a container does. */
static void refuse_io_uring(void) {
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_io_uring_setup, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {.len = sizeof code / sizeof *code, .filter = code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) _exit(77);
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) != 0) _exit(77);
}

static void expect_created(const volt_io_kind *kind, const char *name) {
  volt_rt_config config = {.workers = 1, .io = kind};
  REQUIRE(volt_rt_create(&rt, &config) == VOLT_OK);
  REQUIRE(strcmp(volt_rt_io_name(rt), name) == 0);
  volt_rt_destroy(rt);
}

static void expect_refused(const volt_io_kind *kind, int result) {
  volt_rt_config config = {.workers = 1, .io = kind};
  REQUIRE(volt_rt_create(&rt, &config) == result);
}

static void expect_choices(bool has_uring) {
  unsetenv("VOLT_IO");
  expect_created(volt_io_epoll(), "epoll");
  expect_created(volt_io_auto(), has_uring ? "io_uring" : "epoll");
  setenv("VOLT_IO", "epoll", 1);
  expect_created(volt_io_auto(), "epoll");
  setenv("VOLT_IO", "uring", 1);
  if (has_uring) {
    expect_created(volt_io_auto(), "io_uring");
  } else {
    expect_refused(volt_io_auto(), VOLT_ERRNO(EPERM));
    expect_refused(volt_io_uring(), VOLT_ERRNO(EPERM));
  }
  setenv("VOLT_IO", "", 1);
  expect_refused(volt_io_auto(), VOLT_EINVAL);
  setenv("VOLT_IO", "io_uring", 1);
  expect_refused(volt_io_auto(), VOLT_EINVAL);
  expect_created(volt_io_epoll(), "epoll"); /* it decides for auto alone */
}

static int status_of(pid_t child) {
  int status;
  REQUIRE(child > 0 && waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void auto_takes_what_the_system_has(void **state) {
  (void)state;
  for (int has_uring = 0; has_uring <= 1; has_uring++) {
    pid_t child = fork();
    if (child == 0) {
      if (!has_uring) refuse_io_uring();
      expect_choices(has_uring);
      _exit(0);
    }
    int status = status_of(child);
    if (status == 77) print_message("no seccomp: skipped\n");
    assert_true(status == 0 || (status == 77 && !has_uring));
  }
  begin(&usual, 1);
}

static void a_child_that_execs_does_no_harm(void **state) {
  (void)state;
  begin(&usual, 2);
  receiver *r = receiver_begin(receive);
  WAIT_UNTIL(all_sleep());
  pid_t child = fork();
  if (child == 0) {
    execl("/bin/sh", "sh", "-c",
          "for i in /proc/self/fd/*; do readlink $i; done | grep -q anon_inode:.io_uring",
          (char *)NULL);
    _exit(127);
  }
  assert_int_equal(status_of(child), 1); /* it has not found a ring */
  receiver_send(r);
  receiver_end(r, VOLT_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
      TEST(the_queues_are_tiny_by_hand),
      TEST(the_queues_are_tiny),
      TEST(the_system_refuses_every_third_call),
      TEST(the_thread_that_has_submitted_is_gone),
      TEST(a_request_that_nobody_has_cancelled_goes_on),
      TEST(the_doorbell_is_watched_again),
      TEST(an_old_system_says_eagain),
      TEST(a_cancel_from_elsewhere_goes_to_the_home),
      TEST(a_cancel_comes_when_it_is_over),
      TEST(closed_by_a_thread_while_the_worker_sleeps),
      TEST(a_cancel_inside_a_poll_waits_there),
      TEST(a_waker_may_drop_what_is_in_the_same_mail),
      TEST(a_connect_that_finds_no_room_takes_no_time),
      TEST(what_refuses_a_ring_is_told),
      TEST(auto_takes_what_the_system_has),
      TEST(a_child_that_execs_does_no_harm),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
