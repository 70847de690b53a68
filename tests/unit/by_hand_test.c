/* by_hand_test.c: a runtime in a loop of one's own: what volt_rt_run() returns, when the waker is
 * called, what is counted. */
#include "by_hand.h"

typedef struct job {
  volt_task task;
  volt_future permit;
  volt_sleep nap;
  uint64_t deadline_ns;
  unsigned left;
  char letter;
} job;

static by_hand h;
static volt_sem sem;
static trace t;

static int set_up(void **state) {
  (void)state;
  by_hand_begin(&h);
  volt_sem_init(&sem, 0);
  trace_begin(&t);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  by_hand_end(&h, 0);
  return 0;
}

static job *job_of(volt_task *task) {
  return volt_container_of(task, job, task);
}

static job *new_job(volt_task_fn *poll, char letter) {
  job *j = VOLT_TASK_NEW(h.rt, job, poll);
  REQUIRE(j);
  j->letter = letter;
  return j;
}

/* Nobody joins it. From a task: of the same runtime. */
static job *spawn(volt_task_fn *poll, char letter) {
  job *j = new_job(poll, letter);
  REQUIRE(volt_spawn(h.rt, &j->task) == VOLT_OK);
  volt_task_detach(&j->task);
  return j;
}

static job *hold(job *j) {
  assert_result(volt_spawn(h.rt, &j->task), VOLT_OK);
  return j;
}

static void expect_trace(const char *want) {
  assert_string_equal(t.text, want);
}

static int notes(volt_task *task, volt_ctx *ctx) {
  (void)ctx;
  trace_note(&t, job_of(task)->letter);
  return VOLT_OK;
}

static int spawns_three(volt_task *task, volt_ctx *ctx) {
  (void)notes(task, ctx);
  for (char letter = '1'; letter <= '3'; letter++) spawn(notes, letter);
  return VOLT_OK;
}

static int takes_one(volt_task *task, volt_ctx *ctx) {
  job *self = job_of(task);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT(self, volt_sem_acquire_future(&self->permit, &sem, 1));
  trace_note(&t, self->letter);
  VOLT_TASK_END(self);
}

static int gives_one(volt_task *task, volt_ctx *ctx) {
  (void)notes(task, ctx);
  volt_sem_release(&sem, 1);
  return VOLT_OK;
}

/* ---- volt_rt_run() ---- */

static int turns_until_told(volt_task *task, volt_ctx *ctx) {
  job *self = job_of(task);
  VOLT_TASK_BEGIN(self);
  while (self->left) {
    VOLT_YIELD(self);
  }
  VOLT_TASK_END(self);
}

static void tasks_from_outside_get_their_turn(void **state) {
  (void)state;
  job *turning[3];
  for (int i = 0; i < 3; i++) {
    turning[i] = new_job(turns_until_told, 0);
    turning[i]->left = 1;
    hold(turning[i]);
  }
  for (int again = 0; again < 3; again++) {
    trace_begin(&t);
    assert_int_equal(volt_rt_run(h.rt), 0); /* they are ready still */
    uint64_t before = by_hand_worker(&h).polls;
    spawn(notes, 'x');
    spawn(notes, 'y');
    assert_int_equal(volt_rt_run(h.rt), 0);
    expect_trace("xy");
    uint64_t polls = by_hand_worker(&h).polls - before;
    assert_in_range(polls, 1000, 9999);
  }
  for (int i = 0; i < 3; i++) turning[i]->left = 0;
  assert_true(by_hand_run(&h) == VOLT_NO_DEADLINE);
  for (int i = 0; i < 3; i++) volt_task_detach(&turning[i]->task);
}

static int sleeps(volt_task *task, volt_ctx *ctx) {
  job *self = job_of(task);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT(self, volt_sleep_until(&self->nap, volt_rt_timers(h.rt), self->deadline_ns));
  trace_note(&t, self->letter);
  VOLT_TASK_END(self);
}

static void spawn_sleeper(char letter, uint64_t deadline_ns) {
  spawn(sleeps, letter)->deadline_ns = deadline_ns;
}

static void run_returns_the_next_deadline(void **state) {
  (void)state;
  assert_true(volt_rt_run(h.rt) == VOLT_NO_DEADLINE);
  spawn_sleeper('a', 200);
  assert_int_equal(volt_rt_run(h.rt), 200);
  spawn_sleeper('b', 100);
  assert_int_equal(volt_rt_run(h.rt), 100);
  volt_rt_advance(h.rt, 100);
  assert_int_equal(volt_rt_run(h.rt), 200);
  volt_rt_advance(h.rt, 100);
  assert_true(volt_rt_run(h.rt) == VOLT_NO_DEADLINE);
  expect_trace("ba");
}

/* ---- the waker ---- */

static void expect_wakes(uint32_t calls) {
  assert_int_equal(fake_waker_calls(&h.waker), calls);
}

static void the_waker_is_called_once_for_each_return(void **state) {
  (void)state;
  for (uint32_t i = 1; i <= 4; i++) {
    expect_wakes(i - 1);
    for (int k = 0; k < 3; k++) spawn(notes, 'a');
    expect_wakes(i); /* the first time before volt_rt_run() was ever called */
    by_hand_run(&h);
    expect_wakes(i);
  }
}

static void the_waker_is_called_for_a_wake_a_cancel_and_the_time(void **state) {
  (void)state;
  job *j = hold(new_job(takes_one, 'w'));
  spawn_sleeper('s', 10);
  expect_wakes(1);
  by_hand_run(&h);
  volt_sem_release(&sem, 1);
  expect_wakes(2);
  by_hand_run(&h);
  expect_trace("w");
  volt_task_detach(&j->task);
  j = hold(new_job(takes_one, 'w'));
  expect_wakes(3);
  by_hand_run(&h);
  assert_true(volt_task_cancel(&j->task));
  expect_wakes(4);
  by_hand_run(&h);
  volt_rt_advance(h.rt, 9);
  expect_wakes(4);
  volt_rt_advance(h.rt, 1);
  expect_wakes(5);
  by_hand_run(&h);
  expect_trace("ws");
  volt_task_detach(&j->task);
}

static void the_waker_is_called_for_an_earlier_deadline(void **state) {
  (void)state;
  volt_sleep late;
  volt_sleep early;
  fake_waker a;
  fake_waker_init(&a, 0, NULL);
  by_hand_run(&h);
  volt_sleep_until(&late, volt_rt_timers(h.rt), 200);
  volt_sleep_until(&early, volt_rt_timers(h.rt), 100);
  assert_result(volt_future_poll(&late.future, fake_waker_of(&a)), VOLT_PENDING);
  expect_wakes(1);
  assert_int_equal(volt_rt_run(h.rt), 200);
  assert_result(volt_future_poll(&early.future, fake_waker_of(&a)), VOLT_PENDING);
  expect_wakes(2);
  assert_int_equal(volt_rt_run(h.rt), 100);
  volt_future_cancel(&early.future);
  volt_future_cancel(&late.future);
}

static void what_tasks_do_needs_no_waker(void **state) {
  (void)state;
  spawn(takes_one, 'w');
  by_hand_run(&h);
  spawn(gives_one, 'a');
  spawn(spawns_three, 'b');
  expect_wakes(2);
  by_hand_run(&h);
  expect_wakes(2);
}

/* ---- counts ---- */

static void what_is_counted(void **state) {
  (void)state;
  volt_worker_stats worker;
  assert_result(volt_rt_worker_stats(h.rt, 1, &worker), VOLT_EINVAL);
  volt_rt_stats_of stats = by_hand_stats(&h);
  assert_int_equal(stats.workers, 1);
  assert_int_equal(stats.live, 0);
  assert_int_equal(stats.injected, 0);
  job *j = hold(new_job(takes_one, 'w'));
  spawn(spawns_three, 'a');
  stats = by_hand_stats(&h);
  assert_int_equal(stats.live, 2);
  assert_int_equal(stats.spawned, 2);
  assert_int_equal(stats.injected, 2);
  assert_int_equal(by_hand_worker(&h).polls, 0);
  by_hand_run(&h);
  stats = by_hand_stats(&h);
  assert_int_equal(stats.live, 1);
  assert_int_equal(stats.spawned, 5);
  assert_int_equal(stats.injected, 0);
  assert_int_equal(stats.cancelled, 0);
  assert_int_equal(stats.parked, 1);
  assert_int_equal(stats.searching, 0);
  worker = by_hand_worker(&h);
  assert_int_equal(worker.polls, 5);
  assert_int_equal(worker.lifo_hits, 1);
  assert_int_equal(worker.injected, 2);
  assert_int_equal(worker.steals + worker.stolen + worker.overflows + worker.queued, 0);
  volt_sem_release(&sem, 1);
  by_hand_run(&h);
  by_hand_expect_live(&h, 0);
  assert_int_equal(by_hand_stats(&h).spawned, 5);
  volt_task_detach(&j->task);
}

#define A_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      A_TEST(tasks_from_outside_get_their_turn),
      A_TEST(run_returns_the_next_deadline),
      A_TEST(the_waker_is_called_once_for_each_return),
      A_TEST(the_waker_is_called_for_a_wake_a_cancel_and_the_time),
      A_TEST(the_waker_is_called_for_an_earlier_deadline),
      A_TEST(what_tasks_do_needs_no_waker),
      A_TEST(what_is_counted),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
