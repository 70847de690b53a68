/* sight_thread_test.c: the thread "volt-sight": duties, descriptors, its beginning and its end. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* pipe2 */
#endif
#include "sight/watch/sight_thread.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "require.h"
#include "sanitizer.h"
#include "thread_team.h"
#include "unit.h"

/* How many threads of this process have that name. */
static unsigned threads_there(void) {
  unsigned found = 0;
  DIR *tasks = opendir("/proc/self/task");
  assert_non_null(tasks);
  for (struct dirent *entry; (entry = readdir(tasks)) != NULL;) {
    char path[300], name[32] = "";
    snprintf(path, sizeof path, "/proc/self/task/%s/comm", entry->d_name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) continue;
    if (read(fd, name, sizeof name - 1) > 0) found += strcmp(name, "volt-sight\n") == 0;
    close(fd);
  }
  closedir(tasks);
  return found;
}

typedef struct job {
  volt_duty_ duty; /* first */
  VOLT_ATOMIC(uint32_t) runs;
  VOLT_ATOMIC(uint32_t) forgotten;
  VOLT_ATOMIC(uint32_t) may_go_on;
  uint64_t again_ns;
  bool removes_itself;
} job;

static uint32_t runs_of(job *j) {
  return volt_load_acquire(&j->runs);
}

static void job_run(volt_duty_ *self, uint64_t now_ns) {
  job *j = (job *)self;
  REQUIRE(volt_sight_is_here_());
  REQUIRE(self->at_ns == VOLT_NO_DEADLINE);
  if (j->again_ns > 0) self->at_ns = now_ns + j->again_ns;
  if (j->removes_itself) volt_sight_remove_(self);
  volt_fetch_add_acq_rel(&j->runs, 1);
  WAIT_UNTIL(volt_load_acquire(&j->may_go_on) != 0);
}

static void job_forget(volt_duty_ *self) {
  volt_fetch_add_relaxed(&((job *)self)->forgotten, 1); /* one thread is here */
}

static void make(job *j, uint64_t at_ns) {
  memset((void *)j, 0, sizeof *j);
  j->duty.at_ns = at_ns;
  j->duty.run = job_run;
  j->duty.forget = job_forget;
  volt_store_relaxed(&j->may_go_on, 1); /* not shared yet */
}

static void there_while_there_is_something_to_do(void **state) {
  (void)state;
  job a, b;
  assert_int_equal(threads_there(), 0);
  make(&a, VOLT_NO_DEADLINE);
  make(&b, VOLT_NO_DEADLINE);
  for (unsigned i = 0; i < 20; i++) {
    assert_result(volt_sight_add_(&a.duty), VOLT_OK);
    assert_result(volt_sight_add_(&b.duty), VOLT_OK);
    volt_sight_remove_(&a.duty);
    volt_sight_wake_(&b.duty);
    WAIT_UNTIL(runs_of(&b) == i + 1);
    assert_int_equal(threads_there(), 1);
    volt_sight_remove_(&b.duty);
    volt_sight_remove_(&b.duty);
    assert_int_equal(threads_there(), 0);
  }
  assert_int_equal(runs_of(&a), 0);
  volt_sight_wake_(&a.duty); /* for nothing */
  assert_false(volt_sight_is_here_());
}

static void at_their_time_and_when_woken(void **state) {
  (void)state;
  job due, woken, again, never;
  make(&due, 0);
  make(&woken, VOLT_NO_DEADLINE);
  make(&again, 0);
  make(&never, VOLT_NO_DEADLINE);
  again.again_ns = 1;
  assert_result(volt_sight_add_(&never.duty), VOLT_OK);
  assert_result(volt_sight_add_(&due.duty), VOLT_OK);
  WAIT_UNTIL(runs_of(&due) == 1);
  assert_result(volt_sight_add_(&again.duty), VOLT_OK); /* at once again: it starves no other */
  assert_result(volt_sight_add_(&woken.duty), VOLT_OK);
  for (uint32_t i = 1; i <= 100; i++) {
    volt_sight_wake_(&woken.duty);
    WAIT_UNTIL(runs_of(&woken) == i);
  }
  WAIT_UNTIL(runs_of(&again) > 100);
  assert_int_equal(runs_of(&due), 1);
  assert_int_equal(runs_of(&never), 0);
  volt_sight_remove_(&again.duty);
  volt_sight_remove_(&due.duty);
  volt_sight_remove_(&woken.duty);
  volt_sight_remove_(&never.duty);
  assert_int_equal(threads_there(), 0);
}

/* remove() waits for what runs, so that its memory may go. */
static void *go_on_later(void *arg) {
  job *j = arg;
  WAIT_UNTIL(runs_of(j) == 1);
  for (unsigned i = 0; i < 100; i++) sched_yield();
  volt_store_release(&j->may_go_on, 2);
  return NULL;
}

static void removed_while_it_runs(void **state) {
  (void)state;
  job *j = malloc(sizeof *j);
  pthread_t other;
  assert_non_null(j);
  make(j, 0);
  volt_store_relaxed(&j->may_go_on, 0); /* not shared yet */
  assert_int_equal(pthread_create(&other, NULL, go_on_later, j), 0);
  assert_result(volt_sight_add_(&j->duty), VOLT_OK);
  WAIT_UNTIL(runs_of(j) == 1);
  volt_sight_remove_(&j->duty);
  assert_int_equal(volt_load_relaxed(&j->may_go_on), 2); /* what the other has stored */
  pthread_join(other, NULL);
  free(j);
}

static void removes_itself(void **state) {
  (void)state;
  job j, next;
  make(&j, 0);
  make(&next, 0);
  j.removes_itself = next.removes_itself = true;
  for (unsigned i = 1; i <= 10; i++) {
    j.duty.at_ns = next.duty.at_ns = 0;
    assert_result(volt_sight_add_(&j.duty), VOLT_OK);
    WAIT_UNTIL(runs_of(&j) == i);
    assert_result(volt_sight_add_(&next.duty), VOLT_OK); /* the thread may be ending */
    WAIT_UNTIL(runs_of(&next) == i);
    volt_sight_remove_(&j.duty); /* waits until it has returned */
    volt_sight_remove_(&next.duty);
  }
  assert_int_equal(threads_there(), 0);
}

/* ---- descriptors ---- */

typedef struct pipe_end {
  volt_sight_fd_ fd; /* first */
  int other;
  VOLT_ATOMIC(uint32_t) bytes;
  VOLT_ATOMIC(uint32_t) hung_up;
} pipe_end;

static void pipe_ready(volt_sight_fd_ *self, short revents) {
  pipe_end *p = (pipe_end *)self;
  char bytes[16];
  REQUIRE(volt_sight_is_here_());
  ssize_t got = revents & POLLIN ? read(self->fd, bytes, sizeof bytes) : 0;
  if (got > 0) volt_fetch_add_acq_rel(&p->bytes, (uint32_t)got);
  if (got <= 0 && (revents & POLLHUP)) {
    volt_sight_remove_fd_(self);
    volt_fetch_add_acq_rel(&p->hung_up, 1);
  }
}

static void pipe_open(pipe_end *p) {
  int ends[2];
  memset((void *)p, 0, sizeof *p);
  assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
  p->fd = (volt_sight_fd_){.fd = ends[0], .events = POLLIN, .ready = pipe_ready};
  p->other = ends[1];
}

static void descriptors(void **state) {
  (void)state;
  static pipe_end p[VOLT_SIGHT_FDS_ + 1];
  for (unsigned i = 0; i <= VOLT_SIGHT_FDS_; i++) pipe_open(&p[i]);
  for (unsigned i = 0; i < VOLT_SIGHT_FDS_; i++) {
    assert_result(volt_sight_add_fd_(&p[i].fd), VOLT_OK);
  }
  assert_result(volt_sight_add_fd_(&p[VOLT_SIGHT_FDS_].fd), VOLT_EAGAIN);
  for (unsigned i = 0; i < VOLT_SIGHT_FDS_; i++) {
    assert_int_equal(write(p[i].other, "abc", 3), 3);
    WAIT_UNTIL(volt_load_acquire(&p[i].bytes) == 3);
  }
  volt_sight_remove_fd_(&p[0].fd);
  assert_int_equal(write(p[0].other, "abc", 3), 3);
  assert_result(volt_sight_add_fd_(&p[VOLT_SIGHT_FDS_].fd), VOLT_OK); /* there is room now */
  for (unsigned i = 1; i <= VOLT_SIGHT_FDS_; i++) {
    close(p[i].other);
    WAIT_UNTIL(volt_load_acquire(&p[i].hung_up) == 1);
  }
  assert_int_equal(volt_load_relaxed(&p[0].bytes), 3); /* it was not called any more */
  for (unsigned i = 0; i <= VOLT_SIGHT_FDS_; i++) {
    volt_sight_remove_fd_(&p[i].fd);
    close(p[i].fd.fd);
  }
  close(p[0].other);
  assert_int_equal(threads_there(), 0);
}

/* ---- signals and fork ---- */

static job *to_wake;

static void wake_it(int signal_number) {
  (void)signal_number;
  volt_sight_wake_(&to_wake->duty);
}

static void woken_by_a_signal_handler(void **state) {
  (void)state;
  job j;
  make(&j, VOLT_NO_DEADLINE);
  to_wake = &j;
  struct sigaction action = {.sa_handler = wake_it}, before;
  assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
  assert_result(volt_sight_add_(&j.duty), VOLT_OK);
  for (uint32_t i = 1; i <= 20; i++) {
    assert_int_equal(raise(SIGUSR1), 0);
    WAIT_UNTIL(runs_of(&j) == i);
  }
  volt_sight_remove_(&j.duty);
  assert_int_equal(sigaction(SIGUSR1, &before, NULL), 0);
}

#if !UNDER_TSAN /* it lets the child of a fork() start no thread */
static int in_the_child(job *j) {
  if (volt_load_relaxed(&j->forgotten) != 1) return 1;
  if (threads_there() != 0) return 2;
  volt_sight_remove_(&j->duty); /* for nothing */
  uint32_t before = runs_of(j);
  j->duty.at_ns = 0;
  if (volt_sight_add_(&j->duty) != VOLT_OK) return 3;
  WAIT_UNTIL(runs_of(j) > before);
  if (threads_there() != 1) return 4;
  volt_sight_remove_(&j->duty);
  return threads_there() == 0 ? 0 : 5;
}

static void the_child_of_a_fork(void **state) {
  (void)state;
  job j;
  make(&j, VOLT_NO_DEADLINE);
  assert_result(volt_sight_add_(&j.duty), VOLT_OK);
  pid_t child = fork();
  if (child == 0) _exit(in_the_child(&j));
  int status = -1;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  volt_sight_wake_(&j.duty); /* the parent's goes on */
  WAIT_UNTIL(runs_of(&j) == 1);
  assert_int_equal(volt_load_relaxed(&j.forgotten), 0);
  volt_sight_remove_(&j.duty);
}

#endif

/* ---- at once ---- */

/* As from volt_sight_config.period_ns of VOLT_NO_DEADLINE: a sum that wraps would be always due. */
static void after_the_end_of_time(void **state) {
  (void)state;
  assert_int_equal(volt_sight_after_(5, 7), 12);
  assert_int_equal(volt_sight_after_(5, VOLT_NO_DEADLINE - 6), VOLT_NO_DEADLINE - 1);
  assert_int_equal(volt_sight_after_(5, VOLT_NO_DEADLINE - 5), VOLT_NO_DEADLINE);
  assert_int_equal(volt_sight_after_(5, VOLT_NO_DEADLINE), VOLT_NO_DEADLINE);
}

static void add_wake_remove(void *arg, uint32_t index) {
  (void)arg;
  job *j = malloc(sizeof *j);
  REQUIRE(j != NULL);
  for (unsigned i = 0; i < 200; i++) {
    make(j, index == 0 ? 0 : VOLT_NO_DEADLINE);
    REQUIRE(volt_sight_add_(&j->duty) == VOLT_OK);
    if (index != 1) {
      volt_sight_wake_(&j->duty);
      WAIT_UNTIL(runs_of(j) > 0);
    }
    volt_sight_remove_(&j->duty);
  }
  free(j);
}

static void many_at_once(void **state) {
  (void)state;
  thread_team_run(4, add_wake_remove, NULL);
  assert_int_equal(threads_there(), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(there_while_there_is_something_to_do),
    cmocka_unit_test(at_their_time_and_when_woken),
    cmocka_unit_test(removed_while_it_runs),
    cmocka_unit_test(removes_itself),
    cmocka_unit_test(descriptors),
    cmocka_unit_test(woken_by_a_signal_handler),
#if !UNDER_TSAN
    cmocka_unit_test(the_child_of_a_fork),
#endif
    cmocka_unit_test(after_the_end_of_time),
    cmocka_unit_test(many_at_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
