/* process_test.c: child processes: what they get, how they end, and that none is left: each test ends
 * without a child and with as many descriptors as before. The children are those of sh.
 *
 * BACK ENDS: epoll, uring */
#define _GNU_SOURCE /* waitid, ... */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <volt/fiber.h>
#include <volt/process.h>
#include <volt/select.h>

#include "io_kit.h"
#include "thread_team.h"

#ifndef CLONE_PIDFD
#define CLONE_PIDFD 0x1000 /* since Linux 5.2 */
#endif

static int tear_down(void **state) {
  errno = 0;
  assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* neither a child nor a zombie */
  assert_int_equal(errno, ECHILD);
  return kit_tear_down(state);
}

#define process_test(name) cmocka_unit_test_setup_teardown(name, kit_set_up, tear_down)

static const char *const *shell(const char *script) {
  static const char *arguments[] = {"sh", "-c", NULL, NULL};
  arguments[2] = script;
  return arguments;
}

static void start(io_kit *k, volt_process *p, volt_process_config *config, const char *script) {
  config->arguments = shell(script);
  errno = KIT_ERRNO;
  assert_result(volt_process_start(p, k->rt, config), VOLT_OK);
  assert_int_equal(errno, KIT_ERRNO);
  assert_true(volt_process_number(p) > 0);
}

static int wait_for(io_kit *k, kit_way way, volt_process *p) {
  volt_process_wait w;
  assert_result(kit_run(k, way, volt_process_wait_future(&w, p)), VOLT_OK);
  return volt_process_status(p);
}

/* The status of a script that ends by itself. */
static int status_of(io_kit *k, volt_process_config *config, const char *script) {
  volt_process p;
  start(k, &p, config, script);
  int status = wait_for(k, BY_TASK, &p);
  volt_process_close(&p);
  return status;
}

/* All that a script prints, without the last newline. */
static const char *printed_by(io_kit *k, volt_process_config *config, const char *script) {
  static char text[4096];
  volt_process p;
  volt_fd out;
  volt_op op;
  size_t size = 0;
  config->out = (volt_process_stdio){.how = VOLT_STDIO_PIPE, .pipe = &out};
  start(k, &p, config, script);
  do {
    assert_result(kit_run(k, BY_TASK,
                          volt_fd_read_future(&op, &out, text + size, sizeof text - 1 - size, -1)),
                  VOLT_OK);
    size += op.n;
  } while (op.n > 0);
  text[size > 0 && text[size - 1] == '\n' ? size - 1 : size] = 0;
  volt_fd_close(&out);
  int status = wait_for(k, BY_TASK, &p);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
  volt_process_close(&p);
  return text;
}

/* ---- ends ---- */

static void its_status_is_known(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_WAY(way) {
    volt_process_config config = {.flags = 0};
    volt_process p;
    start(k, &p, &config, "exit 7");
    int status = wait_for(k, (kit_way)way, &p);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 7);
    volt_process_close(&p);
    assert_int_equal(volt_process_status(&p), status);
    volt_process_close(&p);
    start(k, &p, &config, "kill -USR1 $$");
    status = wait_for(k, (kit_way)way, &p);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGUSR1);
    volt_process_close(&p);
  }
}

static void every_wait_says_the_same(void **state) {
  io_kit *k = (io_kit *)*state;
  volt_process_config config = {.flags = 0};
  volt_process p;
  volt_process_wait w[3];
  kit_one one[3];
  start(k, &p, &config, "read x; exit 3");
  assert_int_equal(volt_process_status(&p), -1);
  for (int i = 0; i < 3; i++) {
    kit_start(k, &one[i], i == 2 ? BY_THREAD : BY_TASK, volt_process_wait_future(&w[i], &p));
  }
  for (int i = 0; i < 3; i++) {
    assert_result(kit_finish(k, &one[i]), VOLT_OK);
    assert_int_equal(WEXITSTATUS(volt_process_status(&p)), 3);
  }
  assert_int_equal(WEXITSTATUS(wait_for(k, BY_TASK, &p)), 3);
  assert_result(volt_process_kill(&p, SIGTERM), VOLT_ERRNO(ESRCH));
  volt_process_close(&p);
}

static void threads_wait_at_once(void **state) {
  io_kit *k = (io_kit *)*state;
  volt_process_config config = {.flags = 0};
  for (int round = 0; round < 20; round++) {
    volt_process p;
    volt_process_wait w[2];
    kit_one one[2];
    start(k, &p, &config, "exit 5");
    siginfo_t info;
    REQUIRE(waitid(P_PID, (id_t)volt_process_number(&p), &info, WEXITED | WNOWAIT) == 0);
    for (int i = 0; i < 2; i++) {
      kit_start(k, &one[i], i ? BY_THREAD : BY_TASK, volt_process_wait_future(&w[i], &p));
    }
    for (int i = 0; i < 2; i++) assert_result(kit_finish(k, &one[i]), VOLT_OK);
    assert_int_equal(WEXITSTATUS(volt_process_status(&p)), 5);
    volt_process_close(&p);
  }
}

/* It ends when its input does; the pipe keeps it. */
static void start_waiting(io_kit *k, volt_process *p, volt_process_config *config, volt_fd *in) {
  config->in = (volt_process_stdio){.how = VOLT_STDIO_PIPE, .pipe = in};
  start(k, p, config, "read x");
}

static void a_wait_is_cancelled(void **state) {
  io_kit *k = (io_kit *)*state;
  volt_process_config config = {.flags = 0};
  volt_process p;
  volt_fd in;
  start_waiting(k, &p, &config, &in);
  FOR_EACH_WAY(way) {
    volt_process_wait w;
    kit_one one;
    kit_start(k, &one, (kit_way)way, volt_process_wait_future(&w, &p));
    assert_result(kit_cancel(k, &one), VOLT_ECANCELED);
  }
  assert_result(volt_process_kill(&p, 0), VOLT_OK);
  assert_int_equal(volt_process_status(&p), -1);
  volt_process_close(&p); /* kills it */
  assert_true(WIFSIGNALED(volt_process_status(&p)));
  assert_int_equal(WTERMSIG(volt_process_status(&p)), SIGKILL);
  volt_fd_close(&in);
}

static void a_close_takes_one_that_has_ended(void **state) {
  io_kit *k = (io_kit *)*state;
  volt_process_config config = {.flags = 0};
  volt_process p;
  siginfo_t info;
  start(k, &p, &config, "exit 9");
  REQUIRE(waitid(P_PID, (id_t)volt_process_number(&p), &info, WEXITED | WNOWAIT) == 0);
  volt_process_close(&p);
  assert_int_equal(WEXITSTATUS(volt_process_status(&p)), 9);
  memset((void *)&p, 0, sizeof p);
  volt_process_close(&p);
}

static void it_is_killed(void **state) {
  io_kit *k = (io_kit *)*state;
  volt_process_config config = {.flags = 0};
  volt_process p;
  volt_fd in;
  start_waiting(k, &p, &config, &in);
  assert_result(volt_process_kill(&p, 12345), VOLT_ERRNO(EINVAL));
  assert_result(volt_process_kill(&p, SIGTERM), VOLT_OK);
  int status = wait_for(k, BY_TASK, &p);
  assert_true(WIFSIGNALED(status));
  assert_int_equal(WTERMSIG(status), SIGTERM);
  volt_process_close(&p);
  volt_fd_close(&in);
}

/* Another part of the program has waited for all children. */
static void a_status_may_be_taken_away(void **state) {
  io_kit *k = (io_kit *)*state;
  volt_process_config config = {.flags = 0};
  volt_process p;
  volt_process_wait w;
  start(k, &p, &config, "exit 1");
  REQUIRE(waitpid(-1, NULL, 0) == volt_process_number(&p));
  FOR_EACH_WAY(way) {
    assert_result(kit_run(k, (kit_way)way, volt_process_wait_future(&w, &p)), VOLT_ERRNO(ECHILD));
  }
  assert_int_equal(volt_process_status(&p), -1);
  assert_result(volt_process_kill(&p, SIGTERM), VOLT_ERRNO(ESRCH));
  volt_process_close(&p);
}

/* ---- made to end ---- */

/* Says when it has set its trap. */
static void start_deaf(io_kit *k, volt_process *p, volt_process_config *config, volt_fd *out) {
  volt_op op;
  char got[8];
  config->out = (volt_process_stdio){.how = VOLT_STDIO_PIPE, .pipe = out};
  start(k, p, config, "trap '' TERM; echo set; while :; do sleep 100; done");
  assert_result(kit_run(k, BY_TASK, volt_fd_read_future(&op, out, got, sizeof got, -1)), VOLT_OK);
  assert_int_equal(op.n, 4);
}

static void an_end_begins_with_a_request(void **state) {
  io_kit *k = (io_kit *)*state;
  volt_process_config config = {.flags = 0};
  FOR_EACH_WAY(way) {
    volt_process p;
    volt_process_wait w;
    volt_fd in;
    start_waiting(k, &p, &config, &in);
    assert_result(kit_run(k, (kit_way)way, volt_process_end_future(&w, &p, 100000000000)), VOLT_OK);
    assert_int_equal(WTERMSIG(volt_process_status(&p)), SIGTERM);
    assert_result(kit_run(k, (kit_way)way, volt_process_end_future(&w, &p, 0)), VOLT_OK);
    volt_process_close(&p);
    volt_fd_close(&in);
  }
}

static void an_end_comes_to_one_that_is_deaf(void **state) {
  io_kit *k = (io_kit *)*state;
  for (uint64_t grace_ns = 0; grace_ns <= 10000000; grace_ns += 10000000) {
    volt_process_config config = {.flags = VOLT_PROCESS_GROUP};
    volt_process p;
    volt_process_wait w;
    volt_fd out;
    start_deaf(k, &p, &config, &out);
    assert_result(kit_run(k, BY_TASK, volt_process_end_future(&w, &p, grace_ns)), VOLT_OK);
    assert_int_equal(WTERMSIG(volt_process_status(&p)), SIGKILL);
    volt_process_close(&p);
    volt_fd_close(&out);
  }
}

static void an_end_is_cancelled(void **state) {
  io_kit *k = (io_kit *)*state;
  FOR_EACH_WAY(way) {
    volt_process_config config = {.flags = VOLT_PROCESS_GROUP};
    volt_process p;
    volt_process_wait w;
    volt_fd out;
    kit_one one;
    start_deaf(k, &p, &config, &out);
    kit_start(k, &one, (kit_way)way, volt_process_end_future(&w, &p, VOLT_NO_DEADLINE));
    assert_result(kit_cancel(k, &one), VOLT_ECANCELED);
    assert_result(volt_process_kill(&p, 0), VOLT_OK);
    volt_process_close(&p);
    volt_fd_close(&out);
  }
}

/* A group: the pipe has its end when no process of it is left. */
static void a_group_is_killed_as_one(void **state) {
  io_kit *k = (io_kit *)*state;
  volt_process_config config = {.flags = VOLT_PROCESS_GROUP};
  volt_process p;
  volt_fd out;
  volt_op op;
  char got[16];
  config.out = (volt_process_stdio){.how = VOLT_STDIO_PIPE, .pipe = &out};
  start(k, &p, &config, "sleep 100 & sleep 100 & echo there; wait");
  assert_result(kit_run(k, BY_TASK, volt_fd_read_future(&op, &out, got, sizeof got, -1)), VOLT_OK);
  assert_int_equal(getpgid(volt_process_number(&p)), volt_process_number(&p));
  assert_result(volt_process_kill(&p, SIGTERM), VOLT_OK);
  assert_int_equal(WTERMSIG(wait_for(k, BY_TASK, &p)), SIGTERM);
  assert_result(kit_run(k, BY_TASK, volt_fd_read_future(&op, &out, got, sizeof got, -1)), VOLT_OK);
  assert_int_equal(op.n, 0);
  volt_process_close(&p);
  volt_fd_close(&out);
}

/* ---- what it gets ---- */

static void pipes_go_through_it(void **state) {
  io_kit *k = (io_kit *)*state;
  volt_fd in, out, err;
  volt_process_config config = {.in = {.how = VOLT_STDIO_PIPE, .pipe = &in},
                                .out = {.how = VOLT_STDIO_PIPE, .pipe = &out},
                                .err = {.how = VOLT_STDIO_PIPE, .pipe = &err}};
  volt_process p;
  volt_op op;
  char got[16];
  start(k, &p, &config, "read line; echo \"out $line\"; echo \"err $line\" >&2");
  assert_result(kit_run(k, BY_TASK, volt_fd_write_future(&op, &in, "x\n", 2, -1)), VOLT_OK);
  assert_int_equal(wait_for(k, BY_TASK, &p), 0);
  assert_result(kit_run(k, BY_TASK, volt_fd_read_future(&op, &out, got, sizeof got, -1)), VOLT_OK);
  assert_int_equal(op.n, 6);
  assert_memory_equal(got, "out x\n", 6);
  assert_result(kit_run(k, BY_TASK, volt_fd_read_future(&op, &err, got, sizeof got, -1)), VOLT_OK);
  assert_int_equal(op.n, 6);
  assert_memory_equal(got, "err x\n", 6);
  volt_process_close(&p);
  volt_fd_close(&in);
  volt_fd_close(&out);
  volt_fd_close(&err);
}

static void its_errors_may_go_to_its_output(void **state) {
  io_kit *k = (io_kit *)*state;
  volt_process_config config = {.err = {.how = VOLT_STDIO_OUTPUT}};
  assert_string_equal(printed_by(k, &config, "echo one; echo two >&2"), "one\ntwo");
}

static void the_null_device_is_empty(void **state) {
  io_kit *k = (io_kit *)*state;
  volt_process_config config = {.in = {.how = VOLT_STDIO_NONE}, .err = {.how = VOLT_STDIO_NONE}};
  assert_string_equal(printed_by(k, &config, "echo lost >&2; cat; echo end"), "end");
}

/* 0 becomes 1 and 1 becomes 0: none is overwritten on the way. */
static void descriptors_may_change_places(void **state) {
  io_kit *k = (io_kit *)*state;
  int ends[2], saved[2] = {dup(0), dup(1)};
  char got[8] = "";
  REQUIRE(saved[0] >= 0 && saved[1] >= 0 && pipe2(ends, 0) == 0);
  REQUIRE(write(ends[1], "word\n", 5) == 5);
  REQUIRE(dup2(ends[1], 0) == 0 && dup2(ends[0], 1) == 1);
  volt_process_config config = {.in = {.how = VOLT_STDIO_NUMBER, .number = 1},
                                .out = {.how = VOLT_STDIO_NUMBER, .number = 0},
                                .err = {.how = VOLT_STDIO_NONE}};
  int status = status_of(k, &config, "read x && echo \"$x!\"");
  REQUIRE(dup2(saved[0], 0) == 0 && dup2(saved[1], 1) == 1);
  assert_int_equal(status, 0);
  assert_int_equal(read(ends[0], got, sizeof got), 6);
  assert_memory_equal(got, "word!\n", 6);
  for (int i = 0; i < 2; i++) REQUIRE(close(ends[i]) == 0 && close(saved[i]) == 0);
}

static void it_gets_a_directory_and_an_environment(void **state) {
  io_kit *k = (io_kit *)*state;
  static const char *const environment[] = {"PATH=/usr/bin:/bin", "COLOUR=green", NULL};
  volt_process_config config = {.directory = "/usr", .environment = environment};
  assert_string_equal(printed_by(k, &config, "pwd; echo $COLOUR; echo [$HOME]"), "/usr\ngreen\n[]");
  REQUIRE(setenv("COLOUR", "red", 1) == 0);
  config = (volt_process_config){.program = "/bin/sh"};
  assert_string_equal(printed_by(k, &config, "echo $COLOUR"), "red");
  REQUIRE(unsetenv("COLOUR") == 0);
}

/* This thread blocks all signals and ignores SIGPIPE, as servers do. */
static void it_gets_signals_as_at_first(void **state) {
  io_kit *k = (io_kit *)*state;
  sigset_t all, before;
  volt_process_config config = {.flags = 0};
  struct sigaction ignore = {.sa_handler = SIG_IGN}, was;
  sigfillset(&all);
  REQUIRE(pthread_sigmask(SIG_BLOCK, &all, &before) == 0);
  REQUIRE(sigaction(SIGPIPE, &ignore, &was) == 0);
  const char *blocked = printed_by(k, &config, "grep ^SigBlk /proc/self/status");
  assert_string_equal(blocked, "SigBlk:\t0000000000000000");
  const char *ignored =
      printed_by(k, &config, "sed -n 's/^SigIgn:.*\\(....\\)$/\\1/p' /proc/self/status");
  assert_int_equal(strtoul(ignored, NULL, 16) >> (SIGPIPE - 1) & 1, 0);
  REQUIRE(sigaction(SIGPIPE, &was, NULL) == 0);
  REQUIRE(pthread_sigmask(SIG_SETMASK, &before, NULL) == 0);
}

/* Neither the pipes of its own, nor what the runtime has open: 3 is what ls has open itself. */
static void it_gets_no_other_descriptors(void **state) {
  io_kit *k = (io_kit *)*state;
  volt_fd in, err;
  volt_process_config config = {.in = {.how = VOLT_STDIO_PIPE, .pipe = &in},
                                .err = {.how = VOLT_STDIO_PIPE, .pipe = &err}};
  assert_string_equal(printed_by(k, &config, "exec ls /proc/self/fd"), "0\n1\n2\n3");
  volt_fd_close(&in);
  volt_fd_close(&err);
}

/* ---- cannot start ---- */

static int start_fails(io_kit *k, volt_process_config *config) {
  volt_process p;
  volt_fd in, out;
  config->in = (volt_process_stdio){.how = VOLT_STDIO_PIPE, .pipe = &in};
  config->out = (volt_process_stdio){.how = VOLT_STDIO_PIPE, .pipe = &out};
  memset((void *)&p, 0xff, sizeof p);
  int before = kit_open_descriptors();
  errno = KIT_ERRNO;
  int result = volt_process_start(&p, k->rt, config);
  assert_int_equal(errno, KIT_ERRNO);
  kit_expect_descriptors(before);
  volt_process_close(&p);
  return result;
}

static void a_program_that_is_not_there_fails(void **state) {
  io_kit *k = (io_kit *)*state;
  static const char *const missing[] = {"/nonexistent/program", NULL};
  static const char *const nowhere[] = {"no-such-program-in-the-path", NULL};
  static const char *const directory[] = {"/usr", NULL};
  volt_process_config config = {.arguments = missing};
  assert_result(start_fails(k, &config), VOLT_ERRNO(ENOENT));
  config.arguments = nowhere;
  assert_result(start_fails(k, &config), VOLT_ERRNO(ENOENT));
  config.arguments = directory;
  assert_result(start_fails(k, &config), VOLT_ERRNO(EACCES));
  config.arguments = shell("exit 0");
  config.directory = "/nonexistent";
  assert_result(start_fails(k, &config), VOLT_ERRNO(ENOENT));
}

static void a_config_may_be_wrong(void **state) {
  io_kit *k = (io_kit *)*state;
  static const char *const none[] = {NULL};
  volt_process p;
  volt_process_config wrong[] = {
      {.flags = 0},
      {.arguments = none},
      {.arguments = shell(":"), .flags = 2},
      {.arguments = shell(":"), .reserved = {0, 1}},
      {.arguments = shell(":"), .in = {.how = 5}},
      {.arguments = shell(":"), .in = {.how = VOLT_STDIO_OUTPUT}},
      {.arguments = shell(":"), .out = {.how = VOLT_STDIO_OUTPUT}},
      {.arguments = shell(":"), .err = {.how = 5}},
      {.arguments = shell(":"), .err = {.how = VOLT_STDIO_PIPE}},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    assert_result(volt_process_start(&p, k->rt, &wrong[i]), VOLT_EINVAL);
  }
  volt_process_config number = {.arguments = shell(":"),
                                .err = {.how = VOLT_STDIO_NUMBER, .number = 12345}};
  assert_result(volt_process_start(&p, k->rt, &number), VOLT_ERRNO(EBADF));
  volt_rt *rt;
  volt_rt_config without = {.flags = VOLT_RT_BY_HAND};
  volt_process_config right = {.arguments = shell(":")};
  assert_result(volt_rt_create(&rt, &without), VOLT_OK);
  assert_result(volt_process_start(&p, rt, &right), VOLT_EINVAL);
  volt_rt_destroy(rt);
}

/* With every number of descriptors that are left: it starts, or nothing of it is left. */
static void descriptors_may_run_out(void **state) {
  io_kit *k = (io_kit *)*state;
  struct rlimit before, few;
  unsigned failed = 0, started = 0;
  int first = dup(0);
  REQUIRE(first >= 0 && close(first) == 0 && getrlimit(RLIMIT_NOFILE, &before) == 0);
  for (int left = 0; left < 12; left++) {
    volt_process p;
    volt_fd in, out;
    volt_process_config config = {.arguments = shell("exit 0"),
                                  .in = {.how = VOLT_STDIO_PIPE, .pipe = &in},
                                  .out = {.how = VOLT_STDIO_PIPE, .pipe = &out},
                                  .err = {.how = VOLT_STDIO_NONE}};
    few = before;
    few.rlim_cur = (rlim_t)(first + left);
    int count = kit_open_descriptors();
    REQUIRE(setrlimit(RLIMIT_NOFILE, &few) == 0);
    int result = volt_process_start(&p, k->rt, &config);
    REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
    if (result == VOLT_OK) {
      started += 1;
      volt_fd_close(&in);
      volt_fd_close(&out);
    } else {
      failed += 1;
      assert_result(result, VOLT_ERRNO(EMFILE));
    }
    volt_process_close(&p);
    kit_expect_descriptors(count);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
  }
  assert_true(failed > 0 && started > 0);
}

/* It starts, and no pidfd can be made: it is ended, and nothing of it is left. */
static void without_a_pidfd_it_is_ended(void **state) {
  io_kit *k = (io_kit *)*state;
  struct rlimit before, none;
  volt_process p;
  volt_process_config config = {.arguments = shell("read x")};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
  none = before;
  none.rlim_cur = 0;
  REQUIRE(setrlimit(RLIMIT_NOFILE, &none) == 0);
  int result = volt_process_start(&p, k->rt, &config);
  REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
  assert_result(result, VOLT_ERRNO(EMFILE));
  volt_process_close(&p);
}

/* What this process has inherited itself is not its children's either. */
static void keep_what_was_inherited(void) {
  for (int fd = 3; fd < 1024; fd++) (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
}

/* ---- fibers ---- */

typedef struct closing {
  volt_task other; /* runs while the fiber is suspended */
  volt_process process;
  bool other_ran;
  bool other_ran_meanwhile;
} closing;

static int runs_meanwhile(volt_task *t, volt_ctx *ctx) {
  (void)ctx;
  volt_container_of(t, closing, other)->other_ran = true;
  return VOLT_OK;
}

static int closes(void *arg) {
  closing *c = (closing *)arg;
  volt_task_init(&c->other, runs_meanwhile);
  REQUIRE(volt_spawn(volt_rt_current(), &c->other) == VOLT_OK);
  volt_process_close(&c->process);
  c->other_ran_meanwhile = c->other_ran;
  return VOLT_OK;
}

/* A process that is killed may have ended before its fiber would have to wait for that. */
static void a_close_suspends_a_fiber(void **state) {
  io_kit *k = (io_kit *)*state;
  bool was_suspended = false;
  for (int i = 0; i < 1000 && !was_suspended; i++) {
    volt_process_config config = {.flags = 0};
    closing c = {.other_ran = false};
    start(k, &c.process, &config, "exec sleep 1000");
    volt_task *t = volt_fiber_new(k->rt, closes, &c, NULL);
    assert_non_null(t);
    assert_result(volt_spawn(k->rt, t), VOLT_OK);
    volt_future ended;
    assert_result(kit_run(k, BY_TASK, volt_task_join_future(&ended, t)), VOLT_OK);
    volt_task_detach(t);
    kit_settle(k);
    assert_true(c.other_ran);
    was_suspended = c.other_ran_meanwhile;
  }
  assert_true(was_suspended);
}

/* ---- other code of this process takes every status ---- */

enum { STARTS = 300 };

/* Each start is told that its program runs, whatever has become of the child since. */
static void start_many(io_kit *k, unsigned flags) {
  for (int i = 0; i < STARTS; i++) {
    static const char *const arguments[] = {"true", NULL};
    const volt_process_config config = {.arguments = arguments, .flags = flags};
    volt_process p;
    volt_process_wait w;
    assert_result(volt_process_start(&p, k->rt, &config), VOLT_OK);
    int result = kit_run(k, BY_TASK, volt_process_wait_future(&w, &p));
    assert_true(result == VOLT_OK || result == VOLT_ERRNO(ECHILD));
    if (result != VOLT_OK) assert_int_equal(volt_process_status(&p), -1);
    assert_result(volt_process_kill(&p, SIGKILL), VOLT_ERRNO(ESRCH));
    volt_process_close(&p);
  }
}

static void a_child_that_is_reaped_at_once_has_run(void **state) {
  void (*before)(int) = signal(SIGCHLD, SIG_IGN);
  start_many((io_kit *)*state, 0);
  start_many((io_kit *)*state, VOLT_PROCESS_GROUP);
  (void)signal(SIGCHLD, before);
}

static VOLT_ATOMIC(uint32_t) reaping;

static void reap_all(void *arg, uint32_t index) {
  (void)arg, (void)index;
  while (volt_load_acquire(&reaping)) {
    if (waitpid(-1, NULL, WNOHANG) <= 0) (void)sched_yield();
  }
}

static void a_child_that_another_thread_reaps_has_run(void **state) {
  thread_team team;
  volt_store_release(&reaping, 1);
  thread_team_start(&team, 1, reap_all, NULL);
  start_many((io_kit *)*state, 0);
  volt_store_release(&reaping, 0);
  thread_team_join(&team);
}

struct starter {
  io_kit *kit;
  volt_process process;
  int before, after;
};

static void start_between(void *arg, uint32_t index) {
  (void)index;
  struct starter *s = (struct starter *)arg;
  volt_process_config config = {.arguments = shell("exit 0")};
  s->before = 1;
  REQUIRE(volt_process_start(&s->process, s->kit->rt, &config) == VOLT_OK);
  s->after = 2;
}

/* A build with ThreadSanitizer reports a race here if it loses sight of a thread that starts a child. */
static void a_start_leaves_its_thread_as_it_was(void **state) {
  struct starter s = {.kit = (io_kit *)*state};
  thread_team_run(1, start_between, &s);
  s.before += s.after;
  assert_int_equal(s.before, 3);
  s.after = WEXITSTATUS(wait_for(s.kit, BY_TASK, &s.process));
  assert_int_equal(s.after, 0);
  volt_process_close(&s.process);
}

/* A signal is sent to a child that was reaped: to no other process of that number, and to no group. */
static void what_was_reaped_gets_no_signal(void **state) {
  io_kit *k = (io_kit *)*state;
  for (unsigned flags = 0; flags <= VOLT_PROCESS_GROUP; flags++) {
    volt_process_config config = {.flags = flags};
    volt_process p;
    start(k, &p, &config, "exit 0");
    while (waitpid(volt_process_number(&p), NULL, 0) < 0) assert_int_equal(errno, EINTR);
    assert_result(volt_process_kill(&p, SIGKILL), VOLT_ERRNO(ESRCH));
    volt_process_close(&p);
  }
}

/* ---- before its program ---- */

static void is_handled(int number) {
  (void)number;
}

/* What this process handles has its default action there; what it ignores is ignored, but SIGPIPE. */
static void its_signals_are_as_after_exec(void **state) {
  io_kit *k = (io_kit *)*state;
  volt_process_config config = {.flags = 0};
  (void)signal(SIGUSR1, is_handled);
  (void)signal(SIGUSR2, SIG_IGN);
  (void)signal(SIGPIPE, SIG_IGN);
  int status = status_of(k, &config, "kill -USR2 $$; kill -USR1 $$");
  assert_true(WIFSIGNALED(status));
  assert_int_equal(WTERMSIG(status), SIGUSR1);
  status = status_of(k, &config, "kill -PIPE $$");
  assert_true(WIFSIGNALED(status));
  assert_int_equal(WTERMSIG(status), SIGPIPE);
  (void)signal(SIGUSR1, SIG_DFL);
  (void)signal(SIGUSR2, SIG_DFL);
  (void)signal(SIGPIPE, SIG_DFL);
}

/* ---- where a signal cannot go to a pidfd: under valgrind; here a filter says so ---- */

typedef struct refusal {
  volt_process p[2];
  uint32_t error; /* of the filter */
  bool is_filtered;
} refusal;

static void without_signals_to_pidfds(void *arg, uint32_t index) {
  refusal *r = (refusal *)arg;
  volt_process *p = r->p;
  struct sock_filter steps[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_send_signal, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | r->error),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog filter = {sizeof steps / sizeof steps[0], steps};
  (void)index;
  r->is_filtered = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && /* of this thread alone */
                   prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
  for (unsigned i = 0; i < 2; i++) {
    REQUIRE(volt_process_kill(&p[i], 0) == VOLT_OK);
    volt_process_close(&p[i]); /* kills it */
    REQUIRE(WTERMSIG(volt_process_status(&p[i])) == SIGKILL);
  }
}

static void it_is_killed_by_its_number(void **state) {
  io_kit *k = (io_kit *)*state;
  refusal with[] = {{.error = ENOSYS}, {.error = EPERM}};
  for (unsigned w = 0; w < 2; w++) {
    refusal *r = &with[w];
    volt_fd in[2];
    thread_team team;
    for (unsigned i = 0; i < 2; i++) {
      volt_process_config config = {.flags = i ? VOLT_PROCESS_GROUP : 0};
      start_waiting(k, &r->p[i], &config, &in[i]);
    }
    thread_team_start(&team, 1, without_signals_to_pidfds, r);
    thread_team_join(&team);
    for (unsigned i = 0; i < 2; i++) volt_fd_close(&in[i]);
    if (!r->is_filtered) skip(); /* valgrind knows no such filters, and needs none */
  }
}

/* In the order of PATH; a directory that is empty is the present one. */
static void it_is_searched_for_in_path(void **state) {
  io_kit *k = (io_kit *)*state;
  char *before = strdup(getenv("PATH")), here[] = "/tmp/volt-path-XXXXXX", name[64];
  static const char *const arguments[] = {"volt-is-found", NULL};
  volt_process_config config = {.arguments = arguments};
  volt_process p;
  REQUIRE(mkdtemp(here) && snprintf(name, sizeof name, "%s/volt-is-found", here) > 0);
  FILE *file = fopen(name, "w");
  REQUIRE(file && fputs("#!/bin/sh\nexit 5\n", file) >= 0 && fclose(file) == 0);
  REQUIRE(setenv("PATH", here, 1) == 0);
  assert_result(volt_process_start(&p, k->rt, &config), VOLT_ERRNO(EACCES)); /* not executable */
  REQUIRE(chmod(name, 0700) == 0);
  char path[128];
  REQUIRE(snprintf(path, sizeof path, "/nowhere:/etc/passwd:%s:/bin", here) > 0);
  REQUIRE(setenv("PATH", path, 1) == 0);
  assert_result(volt_process_start(&p, k->rt, &config), VOLT_OK);
  assert_int_equal(WEXITSTATUS(wait_for(k, BY_TASK, &p)), 5);
  volt_process_close(&p);
  REQUIRE(unlink(name) == 0 && rmdir(here) == 0);
  assert_result(volt_process_start(&p, k->rt, &config), VOLT_ERRNO(ENOENT));
  REQUIRE(setenv("PATH", before, 1) == 0);
  free(before);
}

static int ends_at_once(void *arg) {
  (void)arg;
  _exit(0);
}

/* An emulator may know no such descriptors. */
static bool system_has_pidfds(void) {
  static _Alignas(16) char stack[65536];
  int pidfd = -1;
  pid_t child = clone(ends_at_once, stack + sizeof stack, CLONE_PIDFD | SIGCHLD, NULL, &pidfd);
  if (child < 0) return false;
  (void)waitpid(child, NULL, 0);
  return close(pidfd) == 0;
}

int main(void) {
  if (!system_has_pidfds()) return KIT_SKIPPED;
  keep_what_was_inherited();
  const struct CMUnitTest tests[] = {
      process_test(its_status_is_known),
      process_test(every_wait_says_the_same),
      process_test(threads_wait_at_once),
      process_test(a_wait_is_cancelled),
      process_test(a_close_takes_one_that_has_ended),
      process_test(it_is_killed),
      process_test(a_status_may_be_taken_away),
      process_test(a_close_suspends_a_fiber),
      process_test(an_end_begins_with_a_request),
      process_test(an_end_comes_to_one_that_is_deaf),
      process_test(an_end_is_cancelled),
      process_test(a_group_is_killed_as_one),
      process_test(pipes_go_through_it),
      process_test(its_errors_may_go_to_its_output),
      process_test(the_null_device_is_empty),
      process_test(descriptors_may_change_places),
      process_test(it_gets_a_directory_and_an_environment),
      process_test(it_gets_signals_as_at_first),
      process_test(it_gets_no_other_descriptors),
      process_test(a_program_that_is_not_there_fails),
      process_test(a_config_may_be_wrong),
      process_test(descriptors_may_run_out),
      process_test(without_a_pidfd_it_is_ended),
      process_test(a_child_that_is_reaped_at_once_has_run),
      process_test(a_child_that_another_thread_reaps_has_run),
      process_test(a_start_leaves_its_thread_as_it_was),
      process_test(what_was_reaped_gets_no_signal),
      process_test(its_signals_are_as_after_exec),
      process_test(it_is_searched_for_in_path),
      process_test(it_is_killed_by_its_number),
  };
  return kit_main(tests);
}
