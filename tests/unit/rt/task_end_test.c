/* task_end_test.c: what a task waits for before it has ended: branches that must come to their end
 * before what they are a branch of is ready, and branches that never let go, in tasks, on a runtime by
 * hand with a virtual clock; and its wakes. */
#include "by_hand.h"

typedef struct child {
  volt_task task;
  volt_future forever;
} child;

/* An async function that a task races with a deadline. */
typedef struct inner {
  volt_async async;
  volt_future wait;
  volt_future cleanup;
  volt_group group;
} inner;

typedef struct racer {
  volt_task task;
  volt_async_fn *fn;
  inner inner;
  volt_sleep_op nap;
  volt_timeout timeout;
  volt_select select;
  volt_future *branches[2];
  int result;
} racer;

static by_hand h;
static volt_sem never; /* nobody releases it */
static volt_sem done;  /* what a cleanup waits for */
static volt_mutex mutex;
static unsigned rounds;
static trace t;

static int set_up_branches(void **state) {
  (void)state;
  by_hand_begin(&h);
  volt_sem_init(&never, 0);
  volt_sem_init(&done, 0);
  volt_mutex_init(&mutex);
  rounds = 0;
  trace_begin(&t);
  return 0;
}

static int tear_down_branches(void **state) {
  (void)state;
  assert_int_equal(volt_sem_waiters(&never) + volt_sem_waiters(&done), 0);
  by_hand_end(&h, 0);
  return 0;
}

static inner *inner_of(volt_async *a) {
  return volt_container_of(a, inner, async);
}

/* ---- what is raced ---- */

/* Comes to nothing but what is ready. */
static int is_busy(volt_async *a, volt_ctx *ctx) {
  inner *self = inner_of(a);
  VOLT_ASYNC_BEGIN(self);
  for (;;) {
    rounds += 1;
    VOLT_AWAIT(self, volt_mutex_lock_future(&self->wait, &mutex));
    volt_mutex_unlock(&mutex);
  }
  VOLT_ASYNC_END(self);
}

static int cleans_up(volt_async *a, volt_ctx *ctx) {
  inner *self = inner_of(a);
  VOLT_ASYNC_BEGIN(self);
  VOLT_AWAIT(self, volt_sem_acquire_future(&self->wait, &never, 1));
  VOLT_FINALLY(self);
  trace_note(&t, 'f');
  VOLT_AWAIT(self, volt_sem_acquire_future(&self->cleanup, &done, 1));
  trace_note(&t, 'g');
  VOLT_ASYNC_END(self);
}

static int child_poll(volt_task *task, volt_ctx *ctx) {
  child *self = volt_container_of(task, child, task);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT(self, volt_sem_acquire_future(&self->forever, &never, 1));
  VOLT_FINALLY(self);
  trace_note(&t, 'c');
  VOLT_TASK_END(self);
}

static int has_children(volt_async *a, volt_ctx *ctx) {
  inner *self = inner_of(a);
  VOLT_ASYNC_BEGIN(self);
  volt_group_init(&self->group);
  for (int i = 0; i < 2; i++) {
    child *c = VOLT_TASK_NEW(h.rt, child, child_poll);
    assert_non_null(c);
    assert_result(volt_group_spawn(&self->group, h.rt, &c->task), VOLT_OK);
  }
  VOLT_AWAIT(self, volt_group_wait_future(&self->wait, &self->group));
  VOLT_FINALLY(self);
  trace_note(&t, 'f');
  volt_group_destroy(&self->group); /* aborts if one of them has not ended */
  VOLT_ASYNC_END(self);
}

/* ---- the races ---- */

static int by_timeout(volt_task *task, volt_ctx *ctx) {
  racer *self = volt_container_of(task, racer, task);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT_RESULT(
      self, self->result,
      volt_timeout_future(&self->timeout, volt_async_future(&self->inner.async, self->fn),
                          volt_rt_timers(h.rt), 100));
  trace_note(&t, 't');
  VOLT_TASK_END(self);
}

static int by_select(volt_task *task, volt_ctx *ctx) {
  racer *self = volt_container_of(task, racer, task);
  VOLT_TASK_BEGIN(self);
  self->branches[0] = volt_async_future(&self->inner.async, self->fn);
  self->branches[1] = volt_sleep_future(&self->nap, volt_rt_timers(h.rt), 100);
  VOLT_AWAIT_RESULT(self, self->result,
                    volt_select_future(&self->select, self->branches, 2, VOLT_SELECT_BIASED));
  assert_int_equal(volt_select_winner(&self->select), 1);
  trace_note(&t, 't');
  VOLT_TASK_END(self);
}

static racer *race(volt_task_fn *how, volt_async_fn *fn) {
  racer *r = VOLT_TASK_NEW(h.rt, racer, how);
  assert_non_null(r);
  r->fn = fn;
  assert_result(volt_spawn(h.rt, &r->task), VOLT_OK);
  return r;
}

static void over(racer *r, int result, const char *expected) {
  assert_result(volt_task_join_until(&r->task, PAST_DEADLINE), VOLT_OK);
  assert_result(r->result, result);
  volt_task_detach(&r->task);
  assert_string_equal(t.text, expected);
}

static void a_busy_branch_does_not_stop_the_clock(void **state) {
  (void)state;
  racer *a = race(by_timeout, is_busy);
  racer *b = race(by_select, is_busy);
  assert_int_equal(volt_rt_run(h.rt), 0); /* they would go on for ever */
  assert_true(rounds > 128);
  volt_rt_advance(h.rt, 100);
  assert_true(by_hand_run(&h) == VOLT_NO_DEADLINE);
  over(a, VOLT_ETIMEDOUT, "tt");
  over(b, VOLT_OK, "tt");
}

static void a_busy_future_does_not_stop_a_thread_s_clock(void **state) {
  (void)state;
  inner i;
  volt_future *f = volt_async_future(&i.async, is_busy);
  assert_result(volt_future_wait_until(f, PAST_DEADLINE), VOLT_ETIMEDOUT);
  assert_true(rounds <= 129);
}

static void a_busy_future_lets_a_loop_have_its_turn(void **state) {
  (void)state;
  inner i;
  fake_waker a;
  fake_waker_init(&a, 0, NULL);
  volt_future *f = volt_async_future(&i.async, is_busy);
  for (uint32_t polls = 1; polls <= 3; polls++) {
    assert_result(volt_future_poll(f, fake_waker_of(&a)), VOLT_PENDING);
    assert_int_equal(fake_waker_calls(&a), polls); /* poll again */
  }
  volt_future_cancel(f);
  assert_result(volt_future_poll(f, fake_waker_of(&a)), VOLT_ECANCELED);
}

static void a_loser_cleans_up(volt_task_fn *how, int result) {
  racer *r = race(how, cleans_up);
  by_hand_run(&h);
  volt_rt_advance(h.rt, 100);
  by_hand_run(&h);
  assert_string_equal(t.text, "f"); /* it waits behind VOLT_FINALLY, and so does the whole */
  volt_sem_release(&done, 1);
  by_hand_run(&h);
  over(r, result, "fgt");
}

static void the_inner_one_cleans_up_after_the_deadline(void **state) {
  (void)state;
  a_loser_cleans_up(by_timeout, VOLT_ETIMEDOUT);
}

static void the_loser_of_a_select_cleans_up(void **state) {
  (void)state;
  a_loser_cleans_up(by_select, VOLT_OK);
}

static void a_cancelled_task_cleans_up_inside_a_timeout(void **state) {
  (void)state;
  racer *r = race(by_timeout, cleans_up);
  by_hand_run(&h);
  assert_true(volt_task_cancel(&r->task));
  by_hand_run(&h);
  assert_string_equal(t.text, "f");
  volt_sem_release(&done, 1);
  by_hand_run(&h);
  over(r, VOLT_ECANCELED, "fgt");
}

static void a_group_ends_before_its_function(void **state) {
  (void)state;
  racer *a = race(by_timeout, has_children);
  by_hand_run(&h);
  volt_rt_advance(h.rt, 100);
  by_hand_run(&h);
  over(a, VOLT_ETIMEDOUT, "ccft");
  racer *b = race(by_timeout, has_children);
  assert_true(volt_task_cancel(&b->task));
  by_hand_run(&h);
  assert_result(volt_task_result(&b->task), VOLT_OK);
  volt_task_detach(&b->task);
}

/* ==== a task and its wakes ====
 *
 * It has ended only when each wake that was on its way has come, or cannot come any more. Futures are
 * polled here by the ctx of the task but held outside, so that it can return with a wake still to come. */

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

static volt_sem sem;
static volt_sem other;
static volt_future outside;
static fake_waker a;

static int set_up(void **state) {
  (void)state;
  by_hand_begin(&h);
  volt_sem_init(&sem, 0);
  volt_sem_init(&other, 0);
  volt_future_made(volt_sem_acquire_future(&outside, &sem, 1));
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
  assert_result(volt_task_join_until(&j->task, PAST_DEADLINE), VOLT_ETIMEDOUT);
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
  volt_future_made(volt_task_join_future(&join, &j->task));
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
    volt_future_made(volt_sem_acquire_future(&outside, &sem, 1));
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
  assert_result(volt_group_wait_until(&g, PAST_DEADLINE), VOLT_ETIMEDOUT);
  volt_group_cancel(&g); /* it has returned already */
  volt_sem_release(&sem, 1);
  assert_result(volt_group_wait(&g), VOLT_EAGAIN);
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
#define BRANCH_TEST(name) cmocka_unit_test_setup_teardown(name, set_up_branches, tear_down_branches)

int main(void) {
  const struct CMUnitTest tests[] = {
      BRANCH_TEST(a_busy_branch_does_not_stop_the_clock),
      BRANCH_TEST(a_busy_future_does_not_stop_a_thread_s_clock),
      BRANCH_TEST(a_busy_future_lets_a_loop_have_its_turn),
      BRANCH_TEST(the_inner_one_cleans_up_after_the_deadline),
      BRANCH_TEST(the_loser_of_a_select_cleans_up),
      BRANCH_TEST(a_cancelled_task_cleans_up_inside_a_timeout),
      BRANCH_TEST(a_group_ends_before_its_function),
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
