/* dump_fd_test.c: volt_dump_to_fd() and volt_dump_on_signal(). */
#define _GNU_SOURCE /* pipe2 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <volt/sight.h>

#include "require.h"
#include "sanitizer.h"
#include "sight/dump/dump_fd.h"

enum { READ = 0, WRITE = 1, LONG_MS = 60000 };

static int ends[2];
static char text[1 << 20];

static int set_up(void **state) {
  (void)state;
  return pipe2(ends, O_CLOEXEC);
}

static int tear_down(void **state) {
  (void)state;
  close(ends[READ]);
  close(ends[WRITE]);
  return 0;
}

static void *as_ctx(int fd) {
  return (void *)(intptr_t)fd;
}

/* ---- a descriptor ---- */

static void what_is_written_can_be_read(void **state) {
  (void)state;
  errno = ENOENT;
  assert_true(volt_dump_to_fd(as_ctx(ends[WRITE]), "what is written", 15));
  assert_int_equal(errno, ENOENT);
  assert_int_equal(read(ends[READ], text, sizeof text), 15);
  assert_memory_equal(text, "what is written", 15);
}

static void *read_all(void *arg) {
  (void)arg;
  size_t length = 0;
  ssize_t n;
  while (length < sizeof text / 2 && (n = read(ends[READ], text + length, 100)) > 0)
    length += (size_t)n;
  return (void *)(uintptr_t)length;
}

/* Of a pipe that has room for less, whether a write to it waits or not. */
static void a_long_text_goes_in_pieces(void **state) {
  (void)state;
  for (int how = 0; how <= O_NONBLOCK; how += O_NONBLOCK) {
    char *from = malloc(sizeof text / 2);
    pthread_t thread;
    void *length;
    assert_non_null(from);
    for (size_t i = 0; i < sizeof text / 2; i++) from[i] = (char)('a' + i % 26);
    assert_int_equal(fcntl(ends[WRITE], F_SETFL, how), 0);
    assert_int_equal(pthread_create(&thread, NULL, read_all, NULL), 0);
    assert_true(volt_dump_to_fd(as_ctx(ends[WRITE]), from, sizeof text / 2));
    pthread_join(thread, &length);
    assert_int_equal((uintptr_t)length, sizeof text / 2);
    assert_memory_equal(text, from, sizeof text / 2);
    free(from);
  }
}

/* Without it, this program would end. */
static void a_pipe_without_a_reader_raises_no_signal(void **state) {
  (void)state;
  signal(SIGPIPE, SIG_DFL);
  close(ends[READ]);
  assert_false(volt_dump_to_fd(as_ctx(ends[WRITE]), "lost", 4));
  assert_false(volt_dump_to_fd(as_ctx(ends[WRITE]), "lost", 4));
  sigset_t pending;
  sigpending(&pending);
  assert_int_equal(sigismember(&pending, SIGPIPE), 0);
  ends[READ] = dup(ends[WRITE]);
}

static void a_signal_that_was_pending_stays(void **state) {
  (void)state;
  sigset_t set, pending;
  const struct timespec at_once = {0, 0};
  sigemptyset(&set);
  sigaddset(&set, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &set, NULL);
  raise(SIGPIPE);
  close(ends[READ]);
  assert_false(volt_dump_to_fd(as_ctx(ends[WRITE]), "lost", 4));
  sigpending(&pending);
  assert_int_equal(sigismember(&pending, SIGPIPE), 1);
  assert_int_equal(sigtimedwait(&set, NULL, &at_once), SIGPIPE);
  pthread_sigmask(SIG_UNBLOCK, &set, NULL);
  ends[READ] = dup(ends[WRITE]);
}

static void a_closed_descriptor_is_refused(void **state) {
  (void)state;
  int closed = dup(ends[WRITE]);
  close(closed);
  assert_false(volt_dump_to_fd(as_ctx(closed), "lost", 4));
  assert_false(volt_dump_to_fd(as_ctx(-1), "lost", 4));
}

static void a_reader_that_stands_still_is_given_up(void **state) {
  (void)state;
  for (int how = 0; how <= O_NONBLOCK; how += O_NONBLOCK) {
    assert_int_equal(fcntl(ends[WRITE], F_SETFL, how), 0);
    assert_false(volt_dump_write_(ends[WRITE], text, sizeof text, 20));
  }
}

static void on_alarm(int number) {
  (void)number;
}

/* A signal that comes again and again neither makes it write to a full pipe, nor wait longer. */
static void a_signal_does_not_make_it_wait(void **state) {
  (void)state;
  const struct itimerval often = {{0, 5000}, {0, 5000}}, never = {{0, 0}, {0, 0}};
  struct sigaction ours = {.sa_handler = on_alarm, .sa_flags = SA_RESTART}, before;
  assert_int_equal(sigaction(SIGALRM, &ours, &before), 0);
  for (int how = 0; how <= O_NONBLOCK; how += O_NONBLOCK) {
    assert_int_equal(fcntl(ends[WRITE], F_SETFL, how), 0);
    assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
    assert_false(volt_dump_write_(ends[WRITE], text, sizeof text, 100));
    assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
  }
  assert_int_equal(sigaction(SIGALRM, &before, NULL), 0);
}

/* ---- a signal ---- */

/* What comes from the pipe until there is `words`. */
static void expect_dump(const char *words) {
  size_t length = 0;
  text[0] = 0;
  while (!strstr(text, words)) {
    struct pollfd ask = {.fd = ends[READ], .events = POLLIN};
    assert_int_equal(poll(&ask, 1, LONG_MS), 1);
    ssize_t n = read(ends[READ], text + length, sizeof text - 1 - length);
    assert_true(n > 0);
    length += (size_t)n;
    text[length] = 0;
  }
}

static void expect_no_dump(void) {
  struct pollfd ask = {.fd = ends[READ], .events = POLLIN};
  assert_int_equal(poll(&ask, 1, 0), 0);
}

static VOLT_ATOMIC(uint32_t) handled;

static void handle_before(int number) {
  (void)number;
  (void)volt_fetch_add_relaxed(&handled, 1);
}

static volt_rt *runtime(void) {
  volt_rt *rt;
  volt_rt_config config = {.workers = 1, .thread_prefix = "signalled"};
  assert_result(volt_rt_create(&rt, &config), VOLT_OK);
  return rt;
}

static void a_signal_dumps(void **state) {
  (void)state;
  volt_rt *rt = runtime();
  assert_result(volt_dump_on_signal(SIGUSR1, ends[WRITE], 0), VOLT_OK);
  for (int i = 0; i < 3; i++) {
    raise(SIGUSR1);
    expect_dump("'signalled': 1 worker, 0 tasks\nworker 0: ");
  }
  assert_result(volt_dump_on_signal(0, -1, 0), VOLT_OK);
  volt_rt_destroy(rt);
}

static void the_handler_from_before_comes_back(void **state) {
  (void)state;
  volt_store_relaxed(&handled, 0);
  signal(SIGUSR1, handle_before);
  assert_result(volt_dump_on_signal(SIGUSR1, ends[WRITE], VOLT_DUMP_NO_TASKS), VOLT_OK);
  assert_result(volt_dump_on_signal(0, -1, 0), VOLT_OK);
  raise(SIGUSR1);
  assert_int_equal(volt_load_relaxed(&handled), 1);
  expect_no_dump();
  assert_result(volt_dump_on_signal(0, -1, 0), VOLT_OK); /* nothing to undo */
  signal(SIGUSR1, SIG_DFL);
}

/* One that was put above it stays. */
static void a_later_handler_stays(void **state) {
  (void)state;
  volt_store_relaxed(&handled, 0);
  assert_result(volt_dump_on_signal(SIGUSR1, ends[WRITE], 0), VOLT_OK);
  signal(SIGUSR1, handle_before);
  assert_result(volt_dump_on_signal(0, -1, 0), VOLT_OK);
  raise(SIGUSR1);
  assert_int_equal(volt_load_relaxed(&handled), 1);
  signal(SIGUSR1, SIG_DFL);
}

static void another_signal_takes_its_place(void **state) {
  (void)state;
  volt_store_relaxed(&handled, 0);
  signal(SIGUSR1, handle_before);
  volt_rt *rt = runtime();
  assert_result(volt_dump_on_signal(SIGUSR1, ends[WRITE], 0), VOLT_OK);
  assert_result(volt_dump_on_signal(SIGUSR2, ends[WRITE], 0), VOLT_OK);
  raise(SIGUSR1);
  assert_int_equal(volt_load_relaxed(&handled), 1);
  raise(SIGUSR2);
  expect_dump("'signalled'");
  assert_result(volt_dump_on_signal(0, -1, 0), VOLT_OK);
  volt_rt_destroy(rt);
  signal(SIGUSR1, SIG_DFL);
}

/* All threads of the program block it: the one that dumps does not. */
static void a_signal_that_all_threads_block(void **state) {
  (void)state;
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &set, NULL);
  volt_rt *rt = runtime();
  assert_result(volt_dump_on_signal(SIGUSR1, ends[WRITE], 0), VOLT_OK);
  kill(getpid(), SIGUSR1);
  expect_dump("'signalled'");
  assert_result(volt_dump_on_signal(0, -1, 0), VOLT_OK);
  volt_rt_destroy(rt);
  kill(getpid(), SIGUSR1); /* would end the program on a thread that does not block it */
  int taken;
  assert_int_equal(sigwait(&set, &taken), 0);
  pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

static void what_it_refuses(void **state) {
  (void)state;
  assert_result(volt_dump_on_signal(SIGUSR1, ends[WRITE], 64), VOLT_EINVAL);
  assert_result(volt_dump_on_signal(SIGKILL, ends[WRITE], 0), VOLT_EINVAL);
  assert_result(volt_dump_on_signal(-1, ends[WRITE], 0), VOLT_EINVAL);
}

/* The child has the handler from before, and may ask for dumps of its own. */
static void a_child_has_none(void **state) {
  (void)state;
  volt_store_relaxed(&handled, 0);
  signal(SIGUSR1, handle_before);
  assert_result(volt_dump_on_signal(SIGUSR1, ends[WRITE], 0), VOLT_OK);
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    raise(SIGUSR1);
    bool is_before = volt_load_relaxed(&handled) == 1;
    /* ThreadSanitizer does not know threads of a child */
    bool again = UNDER_TSAN || volt_dump_on_signal(SIGUSR1, ends[WRITE], 0) == VOLT_OK;
    bool ended = volt_dump_on_signal(0, -1, 0) == VOLT_OK;
    _exit(is_before && again && ended ? 0 : 1);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  assert_result(volt_dump_on_signal(0, -1, 0), VOLT_OK);
  signal(SIGUSR1, SIG_DFL);
}

int main(void) {
#define WITH_PIPE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      WITH_PIPE(what_is_written_can_be_read),
      WITH_PIPE(a_long_text_goes_in_pieces),
      WITH_PIPE(a_pipe_without_a_reader_raises_no_signal),
      WITH_PIPE(a_signal_that_was_pending_stays),
      WITH_PIPE(a_closed_descriptor_is_refused),
      WITH_PIPE(a_reader_that_stands_still_is_given_up),
      WITH_PIPE(a_signal_does_not_make_it_wait),
      WITH_PIPE(a_signal_dumps),
      WITH_PIPE(the_handler_from_before_comes_back),
      WITH_PIPE(a_later_handler_stays),
      WITH_PIPE(another_signal_takes_its_place),
      WITH_PIPE(a_signal_that_all_threads_block),
      WITH_PIPE(what_it_refuses),
      WITH_PIPE(a_child_has_none),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
