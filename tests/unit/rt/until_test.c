/* until_test.c: volt_rt_run_until(): what it runs, when time passes, when it sleeps, and what it says
 * if nothing can come of it. */
#define _GNU_SOURCE /* nanosleep */
#include "by_hand.h"

#include <time.h>
#include <volt/select.h>

#include "death.h"
#include "thread_team.h"

typedef struct job {
  volt_task task;
  volt_future permit;
  volt_sleep_op nap;
  volt_blocking call;
  uint64_t deadline_ns;
  char letter;
} job;

static by_hand h;
static volt_sem sem;
static volt_future f;
static volt_sleep_op nap;
static trace t;

static int set_up(void **state) {
  (void)state;
  by_hand_begin(&h);
  volt_sem_init(&sem, 0);
  trace_begin(&t);
  return 0;
}

/* The same with the real clock. */
static int set_up_real(void **state) {
  (void)state;
  volt_rt_config config = by_hand_config(&h);
  config.flags = VOLT_RT_BY_HAND;
  assert_result(volt_rt_create(&h.rt, &config), VOLT_OK);
  volt_sem_init(&sem, 0);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  assert_int_equal(volt_sem_waiters(&sem), 0);
  by_hand_end(&h, 0);
  return 0;
}

static job *job_of(volt_task *task) {
  return volt_container_of(task, job, task);
}

static job *spawn(volt_task_fn *poll, char letter, uint64_t deadline_ns) {
  job *j = VOLT_TASK_NEW(h.rt, job, poll);
  assert_non_null(j);
  j->letter = letter;
  j->deadline_ns = deadline_ns;
  assert_result(volt_spawn(h.rt, &j->task), VOLT_OK);
  volt_task_detach(&j->task);
  return j;
}

static int sleeps(volt_task *task, volt_ctx *ctx) {
  job *self = job_of(task);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT(self, volt_sleep_future(&self->nap, volt_rt_timers(h.rt), self->deadline_ns));
  trace_note(&t, self->letter);
  VOLT_TASK_END(self);
}

static int gives_after_a_sleep(volt_task *task, volt_ctx *ctx) {
  job *self = job_of(task);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT(self, volt_sleep_future(&self->nap, volt_rt_timers(h.rt), self->deadline_ns));
  volt_sem_release(&sem, 1);
  VOLT_TASK_END(self);
}

static volt_future *permit(void) {
  return volt_sem_acquire_future(&f, &sem, 1);
}

static void expect_now(uint64_t now_ns) {
  assert_true(volt_rt_now_ns(h.rt) == now_ns);
}

/* ---- what it runs ---- */

static void a_future_that_is_ready(void **state) {
  (void)state;
  volt_sem_release(&sem, 1);
  assert_result(volt_rt_run_until(h.rt, permit(), VOLT_NO_DEADLINE), VOLT_OK);
  assert_result(volt_future_poll(&f, fake_waker_of(&h.waker)), VOLT_OK);
  expect_now(0);
  assert_int_equal(fake_waker_calls(&h.waker), 0); /* the thread is there itself */
}

static void its_result_is_the_futures(void **state) {
  (void)state;
  volt_sem_close(&sem);
  assert_result(volt_rt_run_until(h.rt, permit(), VOLT_NO_DEADLINE), VOLT_ECLOSED);
  assert_result(volt_rt_run_until(h.rt, &f, 0), VOLT_ECLOSED); /* what is ready is never late */
}

static int turns(volt_task *task, volt_ctx *ctx) {
  job *self = job_of(task);
  VOLT_TASK_BEGIN(self);
  while (self->deadline_ns > 0) {
    self->deadline_ns -= 1;
    if (self->deadline_ns == 10) volt_sem_release(&sem, 1);
    VOLT_YIELD(self);
  }
  VOLT_TASK_END(self);
}

static void it_returns_as_soon_as_it_is_ready(void **state) {
  (void)state;
  job *j = VOLT_TASK_NEW(h.rt, job, turns);
  j->deadline_ns = 1000000; /* more polls than volt_rt_run() makes in one go */
  assert_result(volt_spawn(h.rt, &j->task), VOLT_OK);
  assert_result(volt_rt_run_until(h.rt, permit(), VOLT_NO_DEADLINE), VOLT_OK);
  assert_in_range(j->deadline_ns, 5, 10);
  assert_int_equal(fake_waker_calls(&h.waker), 1); /* as it was spawned */
  by_hand_run(&h);                                 /* the rest */
  assert_result(volt_task_result(&j->task), VOLT_OK);
  volt_task_detach(&j->task);
  spawn(sleeps, 'a', 0);
  assert_int_equal(fake_waker_calls(&h.waker), 2); /* it is called again */
  by_hand_run(&h);
}

/* ---- virtual time ---- */

static void time_passes_when_nothing_is_ready(void **state) {
  (void)state;
  spawn(sleeps, 'c', 3000000000);
  spawn(sleeps, 'a', 1000);
  spawn(sleeps, 'b', 2000);
  spawn(sleeps, 'd', 4000000000);
  volt_future_made(volt_sleep_future(&nap, volt_rt_timers(h.rt), 3000000000));
  assert_result(volt_rt_run_until(h.rt, &nap.future, VOLT_NO_DEADLINE), VOLT_OK);
  expect_now(3000000000);
  assert_string_equal(t.text, "abc");
  by_hand_expect_live(&h, 1);
  volt_rt_advance(h.rt, 1000000000);
  by_hand_run(&h);
  assert_string_equal(t.text, "abcd");
}

static void a_task_makes_it_ready(void **state) {
  (void)state;
  spawn(gives_after_a_sleep, 0, 77);
  assert_result(volt_rt_run_until(h.rt, permit(), VOLT_NO_DEADLINE), VOLT_OK);
  expect_now(77);
}

static void the_deadline_is_of_its_clock(void **state) {
  (void)state;
  spawn(gives_after_a_sleep, 0, 500);
  assert_result(volt_rt_run_until(h.rt, permit(), 499), VOLT_ETIMEDOUT);
  expect_now(499);
  assert_result(volt_future_poll(&f, fake_waker_of(&h.waker)), VOLT_ECANCELED);
  assert_result(volt_rt_run_until(h.rt, permit(), 501), VOLT_OK);
  expect_now(500);
}

/* ---- calls that block ---- */

static uint64_t seen_ns;

static uint64_t parks(void) {
  volt_worker_stats stats;
  (void)volt_rt_worker_stats(h.rt, 0, &stats);
  return stats.parks;
}

/* Until the thread that runs the runtime has nothing more to do; and then for long enough that it
 * would have let time pass. */
static int blocks(void *arg) {
  uint64_t before = *(uint64_t *)arg;
  struct timespec some = {0, 20000000};
  while (parks() == before) (void)nanosleep(&(struct timespec){0, 100000}, NULL);
  (void)nanosleep(&some, NULL);
  seen_ns = volt_rt_now_ns(h.rt);
  return 7;
}

static void time_stands_still_while_a_call_runs(void **state) {
  (void)state;
  uint64_t before = parks();
  volt_blocking call;
  spawn(sleeps, 'a', 1000);
  volt_future_made(volt_blocking_future(&call, h.rt, blocks, &before));
  assert_int_equal(volt_rt_run_until(h.rt, &call.future, VOLT_NO_DEADLINE), 7);
  assert_true(seen_ns == 0);
  expect_now(0);
  assert_string_equal(t.text, "");
  volt_rt_advance(h.rt, 1000);
  by_hand_run(&h);
}

static int awaits_a_call(volt_task *task, volt_ctx *ctx) {
  job *self = job_of(task);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT(self, volt_blocking_future(&self->call, h.rt, blocks, &self->deadline_ns));
  VOLT_TASK_END(self);
}

static void time_passes_once_the_call_has_returned(void **state) {
  (void)state;
  for (int i = 0; i < 20; i++) {
    spawn(awaits_a_call, 0, parks());
    uint64_t until_ns = volt_rt_now_ns(h.rt) + 1000;
    volt_future_made(volt_sleep_future(&nap, volt_rt_timers(h.rt), until_ns));
    assert_result(volt_rt_run_until(h.rt, &nap.future, VOLT_NO_DEADLINE), VOLT_OK);
    assert_true(seen_ns == until_ns - 1000);
    expect_now(until_ns);
  }
}

static VOLT_ATOMIC(uint32_t) may_begin;

static void wait_at_the_gate(const char *name, void *ctx) {
  (void)name;
  (void)ctx;
  while (volt_load_acquire(&may_begin) == 0) (void)nanosleep(&(struct timespec){0, 100000}, NULL);
}

static int never(void *arg) {
  (void)arg;
  REQUIRE(false);
  return VOLT_OK;
}

static void give_up_when_it_sleeps(void *arg, uint32_t index) {
  (void)index;
  while (parks() == 0) (void)nanosleep(&(struct timespec){0, 100000}, NULL);
  volt_future_cancel((volt_future *)arg);
}

static void time_passes_once_the_call_is_given_up(void **state) {
  (void)state;
  by_hand_end(&h, 0);
  volt_rt_config config = by_hand_config(&h);
  config.hooks.thread_start = wait_at_the_gate;
  volt_store_relaxed(&may_begin, 0); /* published by the threads' start */
  assert_result(volt_rt_create(&h.rt, &config), VOLT_OK);
  volt_blocking call;
  volt_future *queued = volt_blocking_future(&call, h.rt, never, NULL);
  assert_result(volt_future_poll(queued, fake_waker_of(&h.waker)), VOLT_PENDING);
  thread_team team;
  thread_team_start(&team, 1, give_up_when_it_sleeps, queued);
  volt_future_made(volt_sleep_future(&nap, volt_rt_timers(h.rt), 1000));
  assert_result(volt_rt_run_until(h.rt, &nap.future, VOLT_NO_DEADLINE), VOLT_OK);
  thread_team_join(&team);
  expect_now(1000);
  assert_result(volt_future_poll(queued, fake_waker_of(&h.waker)), VOLT_ECANCELED);
  volt_store_release(&may_begin, 1);
}

/* ---- nothing can make it ready ---- */

static void a_future_that_nothing_can_make_ready(void **state) {
  (void)state;
  assert_result(volt_rt_run_until(h.rt, permit(), VOLT_NO_DEADLINE), VOLT_ESTALLED);
  assert_result(volt_future_poll(&f, fake_waker_of(&h.waker)), VOLT_ECANCELED);
  assert_int_equal(volt_sem_waiters(&sem), 0);
  by_hand_expect_live(&h, 0);
}

static int takes(volt_task *task, volt_ctx *ctx) {
  job *self = job_of(task);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT(self, volt_sem_acquire_future(&self->permit, &sem, 1));
  VOLT_TASK_END(self);
}

static void what_has_to_end_first_does(void **state) {
  (void)state;
  volt_group g;
  volt_group_init(&g);
  job *j = VOLT_TASK_NEW(h.rt, job, takes);
  assert_result(volt_group_spawn(&g, h.rt, &j->task), VOLT_OK);
  volt_future_made(volt_group_wait_future(&f, &g));
  assert_result(volt_rt_run_until(h.rt, &f, VOLT_NO_DEADLINE), VOLT_ESTALLED);
  assert_int_equal(volt_group_count(&g), 0);
  volt_group_destroy(&g);
}

static int insists(volt_task *task, volt_ctx *ctx) {
  job *self = job_of(task);
  VOLT_TASK_BEGIN(self);
  VOLT_FINALLY(self);
  VOLT_AWAIT(self, volt_sem_acquire_future(&self->permit, &sem, 1));
  VOLT_TASK_END(self);
}

static void run_until_group(void *arg) {
  (void)!volt_rt_run_until(h.rt, volt_group_wait_future(&f, (volt_group *)arg), VOLT_NO_DEADLINE);
}

static void run_until_permit(void *arg) {
  (void)arg;
  (void)!volt_rt_run_until(h.rt, permit(), VOLT_NO_DEADLINE);
}

static void what_does_not_end_aborts(void **state) {
  (void)state;
  volt_group g;
  volt_group_init(&g);
  job *j = VOLT_TASK_NEW(h.rt, job, insists);
  assert_result(volt_group_spawn(&g, h.rt, &j->task), VOLT_OK);
  assert_death(run_until_group, &g, "volt_rt_run_until", death_address(h.rt),
               "nothing can make future", death_address(&f), "cannot be cancelled");
  volt_sem_release(&sem, 1);
  by_hand_run(&h);
  volt_group_destroy(&g);
}

static void a_runtime_that_is_over(void **state) {
  (void)state;
  assert_result(volt_rt_shutdown(h.rt, VOLT_NO_DEADLINE), VOLT_OK);
  assert_result(volt_rt_run_until(h.rt, permit(), VOLT_NO_DEADLINE), VOLT_ECLOSED);
  volt_sem_release(&sem, 1);
  assert_result(volt_future_wait_until(&f, PAST_DEADLINE), VOLT_OK); /* it was not polled */
}

/* Another thread grants it together with a future whose waker comes first, and takes its time. */
static struct {
  volt_future first;
  VOLT_ATOMIC(uint32_t) granted;
  uint64_t parks;
} slow;

static void wake_slowly(void *ctx) {
  (void)ctx;
  volt_store_release(&slow.granted, 1);
  while (parks() < slow.parks + 2) (void)nanosleep(&(struct timespec){0, 100000}, NULL);
  (void)nanosleep(&(struct timespec){0, 20000000}, NULL);
}

static void give_both(void *arg, uint32_t index) {
  (void)arg;
  (void)index;
  while (volt_sem_waiters(&sem) < 2) (void)nanosleep(&(struct timespec){0, 100000}, NULL);
  volt_sem_release(&sem, 2);
}

static int waits_for_the_grant(volt_task *task, volt_ctx *ctx) {
  job *self = job_of(task);
  VOLT_TASK_BEGIN(self);
  while (volt_load_acquire(&slow.granted) == 0) VOLT_YIELD(self);
  VOLT_TASK_END(self);
}

static void a_wake_that_is_on_its_way_is_awaited(void **state) {
  (void)state;
  for (uint64_t deadline_ns = 7; deadline_ns > 0;
       deadline_ns = deadline_ns == 7 ? VOLT_NO_DEADLINE : 0) {
    slow.parks = parks();
    volt_store_relaxed(&slow.granted, 0); /* published by the threads' start */
    volt_waker slowly = {wake_slowly, NULL};
    volt_future_made(volt_sem_acquire_future(&slow.first, &sem, 1));
    assert_result(volt_future_poll(&slow.first, slowly), VOLT_PENDING);
    thread_team team;
    thread_team_start(&team, 1, give_both, NULL);
    spawn(waits_for_the_grant, 0, 0);
    int result = volt_rt_run_until(h.rt, permit(), deadline_ns);
    thread_team_join(&team);
    assert_result(result, deadline_ns == 7 ? VOLT_OK : VOLT_ESTALLED);
    assert_int_equal(volt_sem_available(&sem), deadline_ns == 7 ? 0 : 1); /* it was given back */
  }
}

/* The same, one level down: a task that the future waits for takes the permit. */
static void a_wake_of_a_task_below_is_awaited(void **state) {
  (void)state;
  volt_group group;
  volt_future all;
  volt_group_init(&group);
  slow.parks = parks();
  volt_store_relaxed(&slow.granted, 0); /* published by the threads' start */
  volt_waker slowly = {wake_slowly, NULL};
  volt_future_made(volt_sem_acquire_future(&slow.first, &sem, 1));
  assert_result(volt_future_poll(&slow.first, slowly), VOLT_PENDING);
  job *below = VOLT_TASK_NEW(h.rt, job, takes);
  assert_result(volt_group_spawn(&group, h.rt, &below->task), VOLT_OK);
  thread_team team;
  thread_team_start(&team, 1, give_both, NULL);
  spawn(waits_for_the_grant, 0, 0);
  int result = volt_rt_run_until(h.rt, volt_group_wait_future(&all, &group), VOLT_NO_DEADLINE);
  thread_team_join(&team);
  assert_true(result == VOLT_OK || result == VOLT_ESTALLED);
  assert_int_equal(volt_group_count(&group), 0);
  volt_group_destroy(&group);
}

/* ---- misuse ---- */

static int runs_until(volt_task *task, volt_ctx *ctx) {
  (void)task;
  (void)ctx;
  run_until_permit(NULL);
  return VOLT_OK;
}

static void spawn_and_run(void *arg) {
  spawn(*(volt_task_fn **)arg, 0, 0);
  by_hand_run(&h);
}

static void from_a_task(void **state) {
  (void)state;
  volt_task_fn *poll = runs_until;
  assert_death(spawn_and_run, &poll, "volt_rt_run_until", death_address(h.rt),
               "called from a task");
}

static void a_runtime_with_workers(void **state) {
  (void)state;
  volt_rt *by_hand_rt = h.rt;
  volt_rt_config config;
  memset(&config, 0, sizeof config);
  config.workers = 1;
  assert_result(volt_rt_create(&h.rt, &config), VOLT_OK);
  assert_death(run_until_permit, NULL, "volt_rt_run_until", death_address(h.rt),
               "has workers of its own");
  assert_int_equal(volt_rt_destroy(h.rt), 0);
  h.rt = by_hand_rt;
}

/* ---- the real clock ---- */

static void give_when_it_sleeps(void *arg, uint32_t index) {
  (void)arg;
  (void)index;
  while (parks() == 0) (void)nanosleep(&(struct timespec){0, 100000}, NULL);
  volt_sem_release(&sem, 1);
}

static void another_thread_makes_it_ready(void **state) {
  (void)state;
  thread_team team;
  thread_team_start(&team, 1, give_when_it_sleeps, NULL);
  assert_result(volt_rt_run_until(h.rt, permit(), VOLT_NO_DEADLINE), VOLT_OK);
  thread_team_join(&team);
  assert_int_equal(fake_waker_calls(&h.waker), 0);
}

static void it_sleeps_until_the_deadline(void **state) {
  (void)state;
  uint64_t deadline_ns = volt_deadline_ns(3000000);
  assert_result(volt_rt_run_until(h.rt, permit(), deadline_ns), VOLT_ETIMEDOUT);
  assert_true(volt_now_ns() >= deadline_ns);
  assert_result(volt_rt_run_until(h.rt, permit(), deadline_ns), VOLT_ETIMEDOUT); /* past */
  job *j = VOLT_TASK_NEW(h.rt, job, gives_after_a_sleep);
  j->deadline_ns = volt_deadline_ns(1000000);
  assert_result(volt_spawn(h.rt, &j->task), VOLT_OK);
  assert_result(volt_rt_run_until(h.rt, permit(), VOLT_NO_DEADLINE), VOLT_OK);
  by_hand_run(&h);
  volt_task_detach(&j->task);
}

#define A_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define A_REAL_TEST(name) cmocka_unit_test_setup_teardown(name, set_up_real, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      A_TEST(a_future_that_is_ready),
      A_TEST(its_result_is_the_futures),
      A_TEST(it_returns_as_soon_as_it_is_ready),
      A_TEST(time_passes_when_nothing_is_ready),
      A_TEST(a_task_makes_it_ready),
      A_TEST(the_deadline_is_of_its_clock),
      A_TEST(time_stands_still_while_a_call_runs),
      A_TEST(time_passes_once_the_call_has_returned),
      A_TEST(time_passes_once_the_call_is_given_up),
      A_TEST(a_future_that_nothing_can_make_ready),
      A_TEST(what_has_to_end_first_does),
      A_TEST(what_does_not_end_aborts),
      A_TEST(a_wake_that_is_on_its_way_is_awaited),
      A_TEST(a_wake_of_a_task_below_is_awaited),
      A_TEST(a_runtime_that_is_over),
      A_TEST(from_a_task),
      A_TEST(a_runtime_with_workers),
      A_REAL_TEST(another_thread_makes_it_ready),
      A_REAL_TEST(it_sleeps_until_the_deadline),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
