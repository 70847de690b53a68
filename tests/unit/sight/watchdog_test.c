/* watchdog_test.c: workers that stay in one poll: by hand with a scripted clock; then with
 * volt_sight_enable(), where the tasks go on when they have been reported. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* pipe2, sigaction */
#endif
#include "sight/watch/watchdog.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <volt/fiber.h>
#include <volt/sight.h>

#include "by_hand.h"
#include "death.h"
#include "rt/sched/thread.h"
#include "sanitizer.h"
#include "sight/watch/sight_thread.h"
#include "thread_team.h"

#define MS UINT64_C(1000000)

/* ---- what was reported ---- */

static char reported[8192];
static VOLT_ATOMIC(uint32_t) reports;
static VOLT_ATOMIC(uint32_t) says_it_blocks;

static uint32_t report_count(void) {
  return volt_load_acquire(&reports);
}

static void forget_reports(void) {
  memset(reported, 0, sizeof reported);
  volt_store_relaxed(&reports, 0);        /* no thread reports */
  volt_store_relaxed(&says_it_blocks, 0); /* as above */
}

static void note(const char *text, size_t length) {
  REQUIRE(length > 0 && length < sizeof reported && text[length - 1] == '\n');
  memcpy(reported, text, length);
  reported[length] = 0;
  if (strstr(reported, "; it blocks in the kernel")) volt_store_release(&says_it_blocks, 1);
  volt_fetch_add_acq_rel(&reports, 1);
}

static void note_enabled(void *ctx, const char *text, size_t length) {
  REQUIRE(ctx == reported && volt_sight_is_here_());
  note(text, length);
}

#define assert_says(needle) assert_non_null(strstr(reported, (needle)))

/* ---- by hand ---- */

static by_hand h;
static const volt_watchdog_ dog = {.stall_ns = 100 * MS, .report = note};

typedef struct job {
  volt_task task;
  void (*act)(void);
  volt_future f;
  int result;
} job;

static uint32_t line_of_await;
static volt_latch opened;

static int parse_poll(volt_task *t, volt_ctx *ctx) {
  job *self = volt_container_of(t, job, task);
  VOLT_TASK_BEGIN(self);
  line_of_await = __LINE__ + 1;
  VOLT_AWAIT_RESULT(self, self->result, volt_latch_wait_future(&self->f, &opened));
  self->act();
  VOLT_RETURN(self, VOLT_OK);
  VOLT_TASK_END(self);
}

static job *spawn(volt_rt *rt, void (*act)(void)) {
  job *j = VOLT_TASK_NEW(rt, job, parse_poll);
  assert_non_null(j);
  j->act = act;
  assert_result(volt_spawn(rt, &j->task), VOLT_OK);
  return j;
}

static int set_up(void **state) {
  (void)state;
  by_hand_begin(&h);
  volt_latch_init(&opened, 1);
  volt_watchdog_begin_();
  forget_reports();
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  by_hand_end(&h, 0);
  return 0;
}

static void run_one_that(void (*act)(void)) {
  volt_latch_done(&opened);
  job *j = spawn(h.rt, act);
  by_hand_run(&h);
  assert_result(volt_task_result(&j->task), VOLT_OK);
  volt_task_detach(&j->task);
}

/* Once at stall_ns after it was first seen, then each time that has doubled. */
static void stalls(void) {
  static const unsigned at_ms[] = {1000, 1050, 1099, 1100, 1150, 1199,
                                   1200, 1399, 1400, 1950, 2600, 2601};
  static const unsigned reported_by_then[] = {0, 0, 0, 1, 1, 1, 2, 2, 3, 4, 5, 5};
  for (unsigned i = 0; i < sizeof at_ms / sizeof at_ms[0]; i++) {
    volt_watchdog_check_(&dog, at_ms[i] * MS);
    assert_int_equal(report_count(), reported_by_then[i]);
    if (i == 3) {
      char where[80];
      snprintf(where, sizeof where, " for 100 ms: watchdog_test.c:%u parse_poll or later, ",
               line_of_await);
      assert_says(where);
      assert_int_equal(strncmp(reported, "volt: worker 0 of '", 19), 0);
      assert_says(") has run task 0x");
      assert_says(" parse_poll for ");
      assert_says(" 0 tasks behind it");
      assert_ptr_equal(strchr(reported, '\n') + 1, reported + strlen(reported)); /* one line */
    }
  }
  assert_says(" for 1.6 s");
}

static void a_task_that_stalls(void **state) {
  (void)state;
  run_one_that(stalls);
}

static void look_once(void) {
  static uint64_t at_ns;
  at_ns += 1000 * MS;
  volt_watchdog_check_(&dog, at_ns);
}

/* A worker that is busy with one task after the other does not stand still. */
static void many_short_polls(void **state) {
  (void)state;
  volt_latch_done(&opened);
  job *jobs[20];
  for (unsigned i = 0; i < 20; i++) jobs[i] = spawn(h.rt, look_once);
  by_hand_run(&h);
  for (unsigned i = 0; i < 20; i++) volt_task_detach(&jobs[i]->task);
  look_once();
  look_once(); /* nothing runs */
  assert_int_equal(report_count(), 0);
}

/* The same task again is another poll. */
static void polls_itself(void) {
  look_once();
}

static int again_poll(volt_task *t, volt_ctx *ctx) {
  job *self = volt_container_of(t, job, task);
  VOLT_TASK_BEGIN(self);
  for (self->result = 0; self->result < 20; self->result++) {
    polls_itself();
    VOLT_YIELD(self);
  }
  VOLT_RETURN(self, VOLT_OK);
  VOLT_TASK_END(self);
}

static void one_task_that_yields(void **state) {
  (void)state;
  job *j = VOLT_TASK_NEW(h.rt, job, again_poll);
  assert_non_null(j);
  assert_result(volt_spawn(h.rt, &j->task), VOLT_OK);
  by_hand_run(&h);
  assert_result(volt_task_result(&j->task), VOLT_OK);
  volt_task_detach(&j->task);
  assert_int_equal(report_count(), 0);
}

/* After one stall, the next begins anew; what was before a volt_watchdog_begin_() is forgotten. */
static void stalls_twice(void) {
  volt_watchdog_check_(&dog, 0);
  volt_watchdog_check_(&dog, 99 * MS);
  volt_watchdog_begin_();
  volt_watchdog_check_(&dog, 100 * MS);
  volt_watchdog_check_(&dog, 199 * MS);
  assert_int_equal(report_count(), 0);
  volt_watchdog_check_(&dog, 200 * MS);
  assert_int_equal(report_count(), 1);
}

static void forgotten(void **state) {
  (void)state;
  run_one_that(stalls_twice);
}

/* ---- with the thread ---- */

static volt_rt *rt;
static VOLT_ATOMIC(uint32_t) may_end;

static void compute_until_reported(void) {
  while (report_count() == 0 && volt_load_relaxed(&may_end) == 0) continue; /* the report orders */
}

static int bell[2];

static void block_until_reported(void) {
  char byte;
  REQUIRE(read(bell[0], &byte, 1) == 1);
}

static void start_runtime(void) {
  volt_rt_config config = {.workers = 2, .thread_prefix = "dogged"};
  assert_result(volt_rt_create(&rt, &config), VOLT_OK);
}

static void enable(uint32_t flags, uint64_t stall_ns) {
  volt_sight_config config = {
      .flags = flags, .stall_ns = stall_ns, .report = note_enabled, .ctx = reported};
  forget_reports();
  assert_result(volt_sight_enable(&config), VOLT_OK);
}

static void run_on_worker(void (*act)(void)) {
  volt_latch_init(&opened, 0);
  job *j = spawn(rt, act);
  assert_result(volt_task_join(&j->task), VOLT_OK);
  volt_task_detach(&j->task);
}

static void a_worker_that_computes(void **state) {
  (void)state;
  start_runtime();
  enable(VOLT_SIGHT_WATCHDOG, 0);
  uint64_t began_ns = volt_now_ns();
  run_on_worker(compute_until_reported);
  assert_true(volt_now_ns() - began_ns >= 100 * MS); /* not before it is true */
  volt_sight_disable();                              /* no report comes any more */
  assert_true(report_count() >= 1);
  assert_says("volt: worker ");
  assert_says(" of 'dogged' (thread ");
  assert_says(" parse_poll for ");
  assert_says("; it computes\n");
  assert_int_equal(volt_rt_destroy(rt), 0);
}

static void *wait_for_report(void *unused) {
  (void)unused;
  WAIT_UNTIL(volt_load_acquire(&says_it_blocks) != 0); /* it is reported until then */
  REQUIRE(write(bell[1], "x", 1) == 1);
  return NULL;
}

static void a_worker_that_blocks(void **state) {
  (void)state;
  pthread_t other;
  start_runtime();
  assert_int_equal(pipe2(bell, O_CLOEXEC), 0);
  assert_int_equal(pthread_create(&other, NULL, wait_for_report, NULL), 0);
  enable(VOLT_SIGHT_WATCHDOG, 20 * MS);
  run_on_worker(block_until_reported);
  pthread_join(other, NULL);
  volt_sight_disable();
  assert_says("; it blocks in the kernel");
  assert_says(": volt_blocking_future() is for that\n");
  close(bell[0]);
  close(bell[1]);
  assert_int_equal(volt_rt_destroy(rt), 0);
}

/* The signal goes to the worker, and its answer to the report. The test has frame pointers only if
 * it is compiled so; its innermost frame is known anyway. */
static void with_its_stack(void **state) {
  (void)state;
  start_runtime();
  enable(VOLT_SIGHT_WATCHDOG | VOLT_SIGHT_STACKS, 20 * MS);
  run_on_worker(compute_until_reported);
  volt_sight_disable(); /* no report comes any more */
  const char *behind = strchr(reported, '\n');
  assert_non_null(behind);
  assert_int_equal(strncmp(behind + 1, "    ", 4), 0);
  assert_non_null(strstr(behind, "+0x"));
  struct sigaction now;
  assert_int_equal(sigaction(volt_thread_signal_(), NULL, &now), 0);
  assert_true(now.sa_handler == SIG_DFL);
  assert_int_equal(volt_rt_destroy(rt), 0);
}

static void ignore_it(int signal_number) {
  (void)signal_number;
}

static void the_signal_is_taken(void **state) {
  (void)state;
  struct sigaction mine = {.sa_handler = ignore_it}, before, now;
  volt_sight_config config = {.flags = VOLT_SIGHT_WATCHDOG | VOLT_SIGHT_STACKS};
  assert_int_equal(sigaction(volt_thread_signal_(), &mine, &before), 0);
  assert_result(volt_sight_enable(&config), VOLT_EAGAIN);
  assert_int_equal(sigaction(volt_thread_signal_(), &before, &now), 0);
  assert_true(now.sa_handler == ignore_it);
  assert_result(volt_sight_enable(&config), VOLT_OK);
  assert_result(volt_sight_enable(&config), VOLT_OK);
  volt_sight_disable();
}

/* ---- enable and disable ---- */

static void refused(void **state) {
  (void)state;
  volt_sight_config config = {.flags = UINT32_C(1) << 31};
  assert_result(volt_sight_enable(&config), VOLT_EINVAL);
  config.flags = 0;
  config.reserved[3] = 1;
  assert_result(volt_sight_enable(&config), VOLT_EINVAL);
  assert_result(volt_sight_enable(NULL), VOLT_EINVAL);
  volt_sight_disable();
}

static void waits_are_switched(void **state) {
  (void)state;
  volt_histogram waits;
  volt_sem sem;
  volt_sem_init(&sem, 0);
  assert_result(volt_name(&sem, "sem"), VOLT_OK);
  for (unsigned i = 0; i < 3; i++) {
    volt_sight_config config = {.flags = VOLT_SIGHT_WAITS};
    assert_result(volt_sight_enable(&config), VOLT_OK);
    assert_result(volt_waits_of(&sem, &waits), VOLT_OK);
    assert_int_equal(waits.count, 0);
    assert_result(volt_sem_acquire_until(&sem, 1, PAST_DEADLINE), VOLT_ETIMEDOUT);
    assert_result(volt_waits_of(&sem, &waits), VOLT_OK);
    assert_int_equal(waits.count, 1);
    if (i > 0) volt_sight_disable();
  }
  assert_result(volt_sem_acquire_until(&sem, 1, PAST_DEADLINE), VOLT_ETIMEDOUT);
  assert_result(volt_waits_of(&sem, &waits), VOLT_OK);
  assert_int_equal(waits.count, 1);
  volt_sem_destroy(&sem);
}

#if !UNDER_TSAN
static int in_the_child(void) {
  volt_sem sem;
  volt_histogram before, after;
  volt_sem_init(&sem, 0);
  (void)volt_waits_of_kind(0, &before);
  if (volt_sem_acquire_until(&sem, 1, PAST_DEADLINE) != VOLT_ETIMEDOUT) return 1;
  (void)volt_waits_of_kind(0, &after);
  if (before.count != after.count) return 2; /* nothing is enabled */
  volt_sight_disable();
  volt_sight_config config = {.flags = VOLT_SIGHT_WATCHDOG | VOLT_SIGHT_WAITS};
  if (volt_sight_enable(&config) != VOLT_OK) return 3;
  volt_sight_disable();
  return 0;
}

static void the_child_of_a_fork(void **state) {
  (void)state;
  volt_sight_config config = {.flags = VOLT_SIGHT_WATCHDOG | VOLT_SIGHT_WAITS};
  assert_result(volt_sight_enable(&config), VOLT_OK);
  pid_t child = fork();
  if (child == 0) _exit(in_the_child());
  int status = -1;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  volt_sight_disable();
}

#endif

static void stall_and_abort(void *unused) {
  (void)unused;
  start_runtime();
  volt_sight_config config = {.flags = VOLT_SIGHT_WATCHDOG | VOLT_SIGHT_ABORT, .stall_ns = MS};
  REQUIRE(volt_sight_enable(&config) == VOLT_OK);
  run_on_worker(compute_until_reported);
}

static void aborts_after_a_report(void **state) {
  (void)state;
  assert_death(stall_and_abort, NULL, "volt: worker ", " of 'dogged' (thread ", " parse_poll for ");
}

static void disable_in_report(void *ctx, const char *text, size_t length) {
  (void)ctx;
  (void)text;
  (void)length;
  volt_sight_disable();
}

static void ask_for_dumps_in_report(void *ctx, const char *text, size_t length) {
  (void)ctx;
  (void)text;
  (void)length;
  REQUIRE(volt_dump_on_signal(0, -1, 0) == VOLT_OK);
}

typedef void report_fn(void *ctx, const char *text, size_t length);

static void report_to(void *report) {
  start_runtime();
  volt_sight_config config = {
      .flags = VOLT_SIGHT_WATCHDOG, .stall_ns = MS, .report = *(report_fn **)report};
  REQUIRE(volt_sight_enable(&config) == VOLT_OK);
  run_on_worker(compute_until_reported);
}

static void disabled_in_a_report(void **state) {
  (void)state;
  report_fn *report = disable_in_report;
  assert_death(report_to, (void *)&report, "volt_sight_disable", "called from a report");
}

static void asked_for_dumps_in_a_report(void **state) {
  (void)state;
  report_fn *report = ask_for_dumps_in_report;
  assert_death(report_to, (void *)&report, "volt_dump_on_signal", "called from a report");
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(aborts_after_a_report),
    cmocka_unit_test(disabled_in_a_report),
    cmocka_unit_test(asked_for_dumps_in_a_report),
    cmocka_unit_test_setup_teardown(a_task_that_stalls, set_up, tear_down),
    cmocka_unit_test_setup_teardown(many_short_polls, set_up, tear_down),
    cmocka_unit_test_setup_teardown(one_task_that_yields, set_up, tear_down),
    cmocka_unit_test_setup_teardown(forgotten, set_up, tear_down),
    cmocka_unit_test(refused),
    cmocka_unit_test(waits_are_switched),
    cmocka_unit_test(a_worker_that_computes),
    cmocka_unit_test(a_worker_that_blocks),
    cmocka_unit_test(with_its_stack),
    cmocka_unit_test(the_signal_is_taken),
#if !UNDER_TSAN /* it lets the child of a fork() start no thread */
    cmocka_unit_test(the_child_of_a_fork),
#endif
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
