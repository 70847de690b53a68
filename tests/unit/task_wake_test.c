/* task_wake_test.c: a task and its wakes: it has ended only when each wake that was on its way has
 * come, or cannot come any more. Futures are polled here by the task's ctx but held outside, so that
 * a task can return with a wake still to come. */
#include "by_hand.h"

typedef struct job {
  volt_task task;
  volt_future first;
  volt_future second;
  volt_select select;
  volt_future *branches[2];
  volt_future *outside;
  int result;
  int polls;
} job;

static by_hand h;
static volt_sem sem;
static volt_sem other;
static volt_future outside;
static fake_waker a;

static int set_up(void **state) {
  (void)state;
  by_hand_begin(&h);
  volt_sem_init(&sem, 0);
  volt_sem_init(&other, 0);
  volt_sem_acquire_future(&outside, &sem, 1);
  fake_waker_init(&a, 0, NULL);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  assert_int_equal(volt_sem_waiters(&sem), 0);
  assert_int_equal(volt_sem_waiters(&other), 0);
  by_hand_end(&h, 0);
  return 0;
}

static job *job_of(volt_task *task) {
  return volt_container_of(task, job, task);
}

/* More than a pool's block: its memory is seen to be freed. */
static job *new_job(volt_task_fn *poll) {
  job *j = (job *)volt_task_new(h.rt, sizeof *j + 2000, poll);
  assert_non_null(j);
  return j;
}

static job *spawn_and_run(volt_task_fn *poll) {
  job *j = new_job(poll);
  j->outside = &outside;
  assert_result(volt_spawn(h.rt, &j->task), VOLT_OK);
  by_hand_run(&h);
  return j;
}

static void expect_not_ended(job *j, uint64_t live) {
  assert_result(volt_task_result(&j->task), VOLT_PENDING);
  assert_result(volt_task_join_blocking(&j->task, PAST_DEADLINE), VOLT_ETIMEDOUT);
  by_hand_expect_live(&h, live);
}

/* ---- it has returned, and a wake is still to come ---- */

static int leaves_its_waker(volt_task *task, volt_ctx *ctx) {
  job *self = job_of(task);
  self->polls += 1;
  REQUIRE(volt_future_poll_ctx(self->outside, ctx) == VOLT_PENDING);
  return VOLT_EAGAIN;
}

static void the_late_wake_ends_it(void **state) {
  (void)state;
  job *j = spawn_and_run(leaves_its_waker);
  expect_not_ended(j, 1);
  assert_false(volt_task_cancel(&j->task)); /* it has returned already */
  volt_sem_release(&sem, 1);
  assert_result(volt_task_result(&j->task), VOLT_EAGAIN); /* it need not run for that */
  by_hand_run(&h);
  assert_int_equal(j->polls, 1);
  by_hand_expect_live(&h, 0);
  assert_result(volt_future_poll(&outside, fake_waker_of(&a)), VOLT_OK);
  volt_task_detach(&j->task);
}

static void a_future_that_is_cancelled_ends_it(void **state) {
  (void)state;
  job *j = spawn_and_run(leaves_its_waker);
  expect_not_ended(j, 1);
  volt_future_cancel(&outside);
  assert_result(volt_task_result(&j->task), VOLT_EAGAIN);
  volt_task_detach(&j->task);
}

static void a_future_that_moves_away_ends_it(void **state) {
  (void)state;
  job *j = spawn_and_run(leaves_its_waker);
  assert_result(volt_future_poll(&outside, fake_waker_of(&a)), VOLT_PENDING);
  assert_result(volt_task_result(&j->task), VOLT_EAGAIN);
  volt_task_detach(&j->task);
  volt_sem_release(&sem, 1);
  assert_int_equal(fake_waker_calls(&a), 1);
  assert_result(volt_future_poll(&outside, fake_waker_of(&a)), VOLT_OK);
}

static void its_joiner_is_told_by_the_late_wake(void **state) {
  (void)state;
  job *j = spawn_and_run(leaves_its_waker);
  volt_future join;
  volt_task_join_future(&join, &j->task);
  assert_result(volt_future_poll(&join, fake_waker_of(&a)), VOLT_PENDING);
  volt_sem_release(&sem, 1);
  assert_int_equal(fake_waker_calls(&a), 1);
  assert_result(volt_future_poll(&join, fake_waker_of(&a)), VOLT_EAGAIN);
  volt_task_detach(&j->task);
  volt_future_cancel(&outside);
  assert_int_equal(volt_sem_available(&sem), 1);
}

static void detached_it_is_freed_by_the_late_wake(void **state) {
  (void)state;
  uint64_t before = by_hand_held(&h);
  for (int cancelled = 0; cancelled < 2; cancelled++) {
    volt_sem_acquire_future(&outside, &sem, 1);
    job *j = spawn_and_run(leaves_its_waker);
    volt_task_detach(&j->task);
    assert_true(by_hand_held(&h) > before);
    if (!cancelled) volt_sem_release(&sem, 1);
    volt_future_cancel(&outside);
    assert_int_equal(by_hand_held(&h), before);
    by_hand_expect_live(&h, 0);
    assert_result(volt_sem_try_acquire(&sem, 1), cancelled ? VOLT_EAGAIN : VOLT_OK);
  }
}

static void its_group_waits_for_the_late_wake(void **state) {
  (void)state;
  volt_group g;
  volt_group_init(&g);
  uint64_t before = by_hand_held(&h);
  job *j = new_job(leaves_its_waker);
  j->outside = &outside;
  assert_result(volt_group_spawn(&g, h.rt, &j->task), VOLT_OK);
  by_hand_run(&h);
  assert_int_equal(volt_group_count(&g), 1);
  assert_result(volt_group_wait_blocking(&g, PAST_DEADLINE), VOLT_ETIMEDOUT);
  volt_group_cancel(&g); /* it has returned already */
  volt_sem_release(&sem, 1);
  assert_result(volt_group_wait_blocking(&g, VOLT_NO_DEADLINE), VOLT_EAGAIN);
  assert_int_equal(by_hand_held(&h), before);
  volt_group_destroy(&g);
  volt_future_cancel(&outside);
}

/* A select of two. One branch is granted, its waker not yet called; before it is, the task runs for
 * the sake of the other branch, finds the grant, and returns. */
static int selects(volt_task *task, volt_ctx *ctx) {
  job *self = job_of(task);
  VOLT_TASK_BEGIN(self);
  self->branches[0] = volt_sem_acquire_future(&self->first, &sem, 1);
  self->branches[1] = volt_sem_acquire_future(&self->second, &other, 1);
  VOLT_AWAIT(self, volt_select_future(&self->select, self->branches, 2, VOLT_SELECT_BIASED));
  VOLT_TASK_END(self);
}

static void run_it_between_grant_and_wake(hostile_waker *w) {
  job *j = (job *)w->object;
  volt_sem_release(&other, 1);
  by_hand_run(&h);
  REQUIRE(volt_select_winner(&j->select) == 0);
  w->result = volt_task_result(&j->task);
}

static void a_wake_after_its_end_by_another(void **state) {
  (void)state;
  hostile_waker first;
  hostile_waker_init(&first, 0, NULL, run_it_between_grant_and_wake, NULL);
  assert_result(volt_future_poll(&outside, hostile_waker_of(&first)), VOLT_PENDING);
  job *j = spawn_and_run(selects);
  first.object = j;
  volt_sem_release(&sem, 2); /* both are granted, then both are woken, this one first */
  assert_int_equal(hostile_waker_calls(&first), 1);
  assert_result(first.result, VOLT_PENDING); /* it had returned and not ended */
  assert_result(volt_task_result(&j->task), VOLT_OK);
  assert_int_equal(volt_sem_available(&other), 1); /* the loser has given it back */
  assert_result(volt_future_poll(&outside, fake_waker_of(&a)), VOLT_OK);
  volt_task_detach(&j->task);
}

/* ---- a future goes from task to task ---- */

static int awaits_outside(volt_task *task, volt_ctx *ctx) {
  job *self = job_of(task);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT_RESULT(self, self->result, self->outside);
  VOLT_TASK_END(self);
}

static int polls_outside_once(volt_task *task, volt_ctx *ctx) {
  job *self = job_of(task);
  VOLT_TASK_BEGIN(self);
  self->result = volt_future_poll_ctx(self->outside, ctx);
  VOLT_AWAIT(self, volt_sem_acquire_future(&self->first, &other, 1));
  VOLT_TASK_END(self);
}

static void the_last_that_polled_is_woken(void **state) {
  (void)state;
  job *from = spawn_and_run(polls_outside_once);
  assert_result(from->result, VOLT_PENDING);
  job *to = spawn_and_run(awaits_outside);
  uint64_t polls = by_hand_worker(&h).polls;
  volt_sem_release(&sem, 1);
  by_hand_run(&h);
  assert_int_equal(by_hand_worker(&h).polls, polls + 1); /* of the one, not of the other */
  assert_result(volt_task_result(&to->task), VOLT_OK);
  assert_result(to->result, VOLT_OK);
  assert_result(volt_task_result(&from->task), VOLT_PENDING);
  volt_task_detach(&to->task); /* its memory is gone before the other ends */
  volt_sem_release(&other, 1);
  by_hand_run(&h);
  assert_result(volt_task_result(&from->task), VOLT_OK);
  volt_task_detach(&from->task);
}

static void the_first_may_end_before_the_wake(void **state) {
  (void)state;
  job *from = spawn_and_run(polls_outside_once);
  job *to = spawn_and_run(awaits_outside);
  volt_sem_release(&other, 1);
  by_hand_run(&h);
  assert_result(volt_task_result(&from->task), VOLT_OK);
  volt_task_detach(&from->task);
  assert_result(volt_task_result(&to->task), VOLT_PENDING);
  volt_sem_release(&sem, 1);
  by_hand_run(&h);
  assert_result(volt_task_result(&to->task), VOLT_OK);
  volt_task_detach(&to->task);
}

/* ---- a wake during the poll ---- */

static int wakes_itself(volt_task *task, volt_ctx *ctx) {
  job *self = job_of(task);
  self->polls += 1;
  int result = volt_future_poll_ctx(self->outside, ctx);
  if (self->polls == 1) volt_sem_release(&sem, 1);
  return result;
}

static void a_wake_during_the_poll_makes_another_follow(void **state) {
  (void)state;
  job *j = spawn_and_run(wakes_itself);
  assert_int_equal(j->polls, 2);
  assert_result(volt_task_result(&j->task), VOLT_OK);
  volt_task_detach(&j->task);
}

static int returns_though_woken(volt_task *task, volt_ctx *ctx) {
  job *self = job_of(task);
  self->polls += 1;
  REQUIRE(volt_future_poll_ctx(self->outside, ctx) == VOLT_PENDING);
  volt_sem_release(&sem, 1);
  return VOLT_OK;
}

static void a_wake_during_the_last_poll_leaves_nothing(void **state) {
  (void)state;
  job *j = spawn_and_run(returns_though_woken);
  assert_int_equal(j->polls, 1);
  assert_result(volt_task_result(&j->task), VOLT_OK);
  volt_task_detach(&j->task);
  volt_future_cancel(&outside);
}

static int waits_for_both(volt_task *task, volt_ctx *ctx) {
  job *self = job_of(task);
  VOLT_TASK_BEGIN(self);
  self->branches[0] = volt_sem_acquire_future(&self->first, &sem, 1);
  self->branches[1] = volt_sem_acquire_future(&self->second, &other, 1);
  VOLT_AWAIT(self, volt_select_future(&self->select, self->branches, 2, VOLT_SELECT_BIASED));
  VOLT_AWAIT(self, volt_sem_acquire_future(&self->second, &other, 1));
  VOLT_TASK_END(self);
}

static void two_wakes_before_a_poll_are_one_poll(void **state) {
  (void)state;
  job *j = spawn_and_run(waits_for_both);
  uint64_t polls = by_hand_worker(&h).polls;
  volt_sem_release(&other, 1);
  volt_sem_release(&sem, 1);
  by_hand_run(&h);
  assert_int_equal(by_hand_worker(&h).polls, polls + 1);
  assert_result(volt_task_result(&j->task), VOLT_OK); /* the loser's permit was there for it */
  volt_task_detach(&j->task);
}

#define A_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      A_TEST(the_late_wake_ends_it),
      A_TEST(a_future_that_is_cancelled_ends_it),
      A_TEST(a_future_that_moves_away_ends_it),
      A_TEST(its_joiner_is_told_by_the_late_wake),
      A_TEST(detached_it_is_freed_by_the_late_wake),
      A_TEST(its_group_waits_for_the_late_wake),
      A_TEST(a_wake_after_its_end_by_another),
      A_TEST(the_last_that_polled_is_woken),
      A_TEST(the_first_may_end_before_the_wake),
      A_TEST(a_wake_during_the_poll_makes_another_follow),
      A_TEST(a_wake_during_the_last_poll_leaves_nothing),
      A_TEST(two_wakes_before_a_poll_are_one_poll),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
