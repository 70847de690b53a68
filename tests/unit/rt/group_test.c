/* group_test.c: tasks that end together. */
#include "by_hand.h"
#include "thread_team.h"

/* Waits for a permit of sem, in the end for one of last if it is to be slow. */
typedef struct job {
  volt_task task;
  volt_future permit;
  volt_future slow;
  volt_group *joins;
  int result; /* of its first await */
  int returns;
  bool is_slow;
  int returns_if_cancelled;
} job;

static by_hand h;
static volt_sem sem;
static volt_sem last;
static volt_group g;
static fake_waker a;
static fake_waker b;

static int set_up(void **state) {
  (void)state;
  by_hand_begin(&h);
  volt_sem_init(&sem, 0);
  volt_sem_init(&last, 0);
  volt_group_init(&g);
  fake_waker_init(&a, 0, NULL);
  fake_waker_init(&b, 1, NULL);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  assert_int_equal(volt_group_count(&g), 0);
  volt_group_destroy(&g);
  assert_int_equal(volt_sem_waiters(&sem), 0);
  assert_int_equal(volt_sem_waiters(&last), 0);
  by_hand_end(&h, 0);
  return 0;
}

static job *job_of(volt_task *t) {
  return volt_container_of(t, job, task);
}

static int waits(volt_task *t, volt_ctx *ctx) {
  job *self = job_of(t);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT_RESULT(self, self->result, volt_sem_acquire_future(&self->permit, &sem, 1));
  if (self->is_slow) {
    VOLT_AWAIT(self, volt_sem_acquire_future(&self->slow, &last, 1));
  }
  VOLT_RETURN(self, self->result == VOLT_OK ? self->returns : self->returns_if_cancelled);
  VOLT_TASK_END(self);
}

/* More than a pool's block: its memory is seen to be freed. */
static job *new_job(int returns) {
  job *j = (job *)volt_task_new(h.rt, sizeof *j + 2000, waits);
  assert_non_null(j);
  j->returns = returns;
  j->returns_if_cancelled = VOLT_ECANCELED;
  return j;
}

static job *spawn(int returns) {
  job *j = new_job(returns);
  assert_result(volt_group_spawn(&g, h.rt, &j->task), VOLT_OK);
  by_hand_run(&h);
  return j;
}

static void release(volt_sem *s, uint32_t n) {
  volt_sem_release(s, n);
  by_hand_run(&h);
}

static void expect_ended(int result) {
  assert_int_equal(volt_group_count(&g), 0);
  assert_result(volt_group_wait(&g), result);
}

static void an_empty_group_has_ended(void **state) {
  (void)state;
  volt_future f;
  expect_ended(VOLT_OK);
  assert_result(volt_future_poll(volt_group_wait_future(&f, &g), fake_waker_of(&a)), VOLT_OK);
  assert_result(volt_group_spawn(&g, h.rt, NULL), VOLT_ENOMEM);
  expect_ended(VOLT_OK);
}

static void it_ends_with_its_last_task(void **state) {
  (void)state;
  uint64_t before = by_hand_held(&h);
  for (int i = 0; i < 3; i++) spawn(5); /* positive: not a failure */
  volt_future f;
  volt_future_made(volt_group_wait_future(&f, &g));
  for (uint64_t left = 3; left > 0; left--) {
    assert_int_equal(volt_group_count(&g), left);
    assert_result(volt_future_poll(&f, fake_waker_of(&a)), VOLT_PENDING);
    uint64_t held = by_hand_held(&h);
    release(&sem, 1);
    assert_true(by_hand_held(&h) < held); /* freed as each ends */
    assert_int_equal(fake_waker_calls(&a), left == 1);
  }
  assert_result(volt_future_poll(&f, fake_waker_of(&a)), VOLT_OK);
  assert_int_equal(by_hand_held(&h), before);
  expect_ended(VOLT_OK);
  spawn(VOLT_OK); /* it may be filled again */
  assert_int_equal(volt_group_count(&g), 1);
  release(&sem, 1);
  expect_ended(VOLT_OK);
}

static void memory_of_the_callers_is_theirs_after_the_wait(void **state) {
  (void)state;
  job own[3];
  memset((void *)own, 0, sizeof own);
  for (int i = 0; i < 3; i++) {
    volt_task_init(&own[i].task, waits);
    assert_result(volt_group_spawn(&g, h.rt, &own[i].task), VOLT_OK);
  }
  by_hand_run(&h);
  release(&sem, 3);
  expect_ended(VOLT_OK);
  memset((void *)own, 0xa5, sizeof own);
}

/* ---- failures ---- */

static void the_first_failure_cancels_the_others(void **state) {
  (void)state;
  job *fails = spawn(VOLT_EAGAIN);
  job own[2];
  memset((void *)own, 0, sizeof own);
  for (int i = 0; i < 2; i++) {
    volt_task_init(&own[i].task, waits);
    own[i].returns_if_cancelled = VOLT_EINVAL; /* later, and not the first */
    assert_result(volt_group_spawn(&g, h.rt, &own[i].task), VOLT_OK);
  }
  by_hand_run(&h);
  assert_result(fails->result, VOLT_OK);
  release(&sem, 1);
  for (int i = 0; i < 2; i++) assert_result(own[i].result, VOLT_ECANCELED);
  expect_ended(VOLT_EAGAIN);
}

static void others_may_go_on_after_it(void **state) {
  (void)state;
  spawn(VOLT_EAGAIN);
  job *slow = spawn(VOLT_OK);
  slow->is_slow = true;
  volt_future f;
  volt_future_made(volt_group_wait_future(&f, &g));
  assert_result(volt_future_poll(&f, fake_waker_of(&a)), VOLT_PENDING);
  release(&sem, 1);
  assert_result(slow->result, VOLT_ECANCELED);
  assert_result(volt_future_poll(&f, fake_waker_of(&a)), VOLT_PENDING); /* until all have ended */
  job *refused = new_job(VOLT_OK);                                      /* it takes no more */
  assert_result(volt_group_spawn(&g, h.rt, &refused->task), VOLT_ECANCELED);
  assert_int_equal(volt_group_count(&g), 1);
  release(&last, 1);
  assert_int_equal(fake_waker_calls(&a), 1);
  assert_result(volt_future_poll(&f, fake_waker_of(&a)), VOLT_EAGAIN);
  volt_task_detach(&refused->task); /* nothing has happened to it */
}

static void a_task_that_was_refused_may_be_spawned_elsewhere(void **state) {
  (void)state;
  volt_group_cancel(&g);
  job *j = new_job(7);
  assert_result(volt_group_spawn(&g, h.rt, &j->task), VOLT_ECANCELED);
  by_hand_expect_live(&h, 0);
  assert_result(volt_spawn(h.rt, &j->task), VOLT_OK);
  by_hand_run(&h);
  release(&sem, 1);
  assert_int_equal(volt_task_join(&j->task), 7);
  volt_task_detach(&j->task);
}

static void a_group_that_was_cancelled(void **state) {
  (void)state;
  for (int i = 0; i < 200; i++) spawn(VOLT_OK);
  release(&sem, 2);
  assert_int_equal(volt_group_count(&g), 198);
  volt_group_cancel(&g);
  volt_group_cancel(&g);
  by_hand_run(&h);
  expect_ended(VOLT_ECANCELED);
}

static void a_runtime_that_is_over_takes_nothing(void **state) {
  (void)state;
  job *j = new_job(VOLT_OK);
  assert_result(volt_rt_shutdown(h.rt, VOLT_NO_DEADLINE), VOLT_OK);
  assert_result(volt_group_spawn(&g, h.rt, &j->task), VOLT_ECLOSED);
  assert_int_equal(volt_group_count(&g), 0);
  volt_task_detach(&j->task);
  expect_ended(VOLT_OK);
}

/* ---- tasks of the group spawn into it ---- */

static int grows(volt_task *t, volt_ctx *ctx) {
  job *self = job_of(t);
  (void)ctx;
  for (int i = 0; i < self->returns; i++) {
    job *child = (job *)volt_task_new(h.rt, sizeof *child, grows);
    REQUIRE(child);
    child->returns = self->returns - 1;
    REQUIRE(volt_group_spawn(&g, h.rt, &child->task) == VOLT_OK);
  }
  return VOLT_OK;
}

static void tasks_of_it_spawn_into_it(void **state) {
  (void)state;
  job *root = (job *)volt_task_new(h.rt, sizeof *root, grows);
  root->returns = 5; /* 1 + 5 * (1 + 4 * (1 + 3 * (1 + 2 * (1 + 1)))) = 326 */
  assert_result(volt_group_spawn(&g, h.rt, &root->task), VOLT_OK);
  volt_future f;
  volt_future_made(volt_group_wait_future(&f, &g));
  assert_result(volt_future_poll(&f, fake_waker_of(&a)), VOLT_PENDING);
  by_hand_run(&h);
  assert_int_equal(by_hand_stats(&h).spawned, 326);
  assert_int_equal(fake_waker_calls(&a), 1);
  assert_result(volt_future_poll(&f, fake_waker_of(&a)), VOLT_OK);
}

/* ---- who waits ---- */

static int parent(volt_task *t, volt_ctx *ctx) {
  job *self = job_of(t);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT_RESULT(self, self->result, volt_group_wait_future(&self->permit, self->joins));
  VOLT_AWAIT(self, volt_sem_acquire_future(&self->slow, &last, 1));
  VOLT_TASK_END(self);
}

static job *spawn_parent(void) {
  job *j = VOLT_TASK_NEW(h.rt, job, parent);
  assert_non_null(j);
  j->joins = &g;
  assert_result(volt_spawn(h.rt, &j->task), VOLT_OK);
  return j;
}

/* polled: whether the parent waits already when it is cancelled. */
static void cancel_a_parent(bool polled) {
  job *slow = spawn(VOLT_OK);
  slow->is_slow = true;
  job *p = spawn_parent();
  if (polled) by_hand_run(&h);
  assert_true(volt_task_cancel(&p->task));
  by_hand_run(&h);
  assert_result(slow->result, VOLT_ECANCELED);
  assert_int_equal(volt_group_count(&g), 1);
  assert_result(volt_task_result(&p->task), VOLT_PENDING); /* no child outlives it */
  release(&last, 1);
  assert_int_equal(volt_group_count(&g), 0);
  assert_result(p->result, VOLT_ECANCELED);
  assert_result(volt_task_result(&p->task), VOLT_PENDING); /* it has obeyed by that */
  release(&last, 1);
  assert_result(volt_task_join(&p->task), VOLT_OK);
  volt_task_detach(&p->task);
}

static void a_parent_is_cancelled_while_it_waits(void **state) {
  (void)state;
  cancel_a_parent(true);
}

static void a_parent_is_cancelled_before_it_waits(void **state) {
  (void)state;
  cancel_a_parent(false);
}

static void a_parent_is_cancelled_as_the_last_child_ends(void **state) {
  (void)state;
  spawn(VOLT_OK);
  job *p = spawn_parent();
  by_hand_run(&h);
  volt_sem_release(&sem, 1);
  assert_true(volt_task_cancel(&p->task));
  volt_sem_release(&last, 1);
  by_hand_run(&h);
  assert_result(p->result, VOLT_ECANCELED);
  assert_result(volt_group_result(&g), VOLT_OK); /* the child had its permit: asked too late */
  assert_result(volt_task_join(&p->task), VOLT_OK);
  volt_task_detach(&p->task);
}

static void a_wait_that_is_cancelled_leaves_the_tasks(void **state) {
  (void)state;
  spawn(VOLT_OK);
  volt_future f;
  for (int polled = 0; polled < 2; polled++) {
    volt_future_made(volt_group_wait_future(&f, &g));
    if (polled) assert_result(volt_future_poll(&f, fake_waker_of(&a)), VOLT_PENDING);
    volt_future_cancel(&f);
    assert_result(volt_future_poll(&f, fake_waker_of(&a)), VOLT_ECANCELED);
  }
  assert_result(volt_group_wait_until(&g, PAST_DEADLINE), VOLT_ETIMEDOUT);
  volt_future_made(volt_group_wait_future(&f, &g));
  assert_result(volt_future_poll(&f, fake_waker_of(&a)), VOLT_PENDING);
  assert_result(volt_future_poll(&f, fake_waker_of(&b)), VOLT_PENDING);
  release(&sem, 1);
  assert_int_equal(fake_waker_calls(&a), 0);
  assert_int_equal(fake_waker_calls(&b), 1);
  volt_future_cancel(&f); /* it has been told already */
  assert_result(volt_future_poll(&f, fake_waker_of(&a)), VOLT_ECANCELED);
  expect_ended(VOLT_OK);
}

static int waited; /* what the thread has got */

static void wait_in_thread(void *arg, uint32_t index) {
  (void)arg;
  (void)index;
  waited = volt_group_wait(&g);
}

static void a_thread_waits(void **state) {
  (void)state;
  spawn(VOLT_EINVAL);
  thread_team team;
  thread_team_start(&team, 1, wait_in_thread, NULL);
  release(&sem, 1);
  thread_team_join(&team);
  assert_result(waited, VOLT_EINVAL);
}

#define A_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      A_TEST(an_empty_group_has_ended),
      A_TEST(it_ends_with_its_last_task),
      A_TEST(memory_of_the_callers_is_theirs_after_the_wait),
      A_TEST(the_first_failure_cancels_the_others),
      A_TEST(others_may_go_on_after_it),
      A_TEST(a_task_that_was_refused_may_be_spawned_elsewhere),
      A_TEST(a_group_that_was_cancelled),
      A_TEST(a_runtime_that_is_over_takes_nothing),
      A_TEST(tasks_of_it_spawn_into_it),
      A_TEST(a_parent_is_cancelled_while_it_waits),
      A_TEST(a_parent_is_cancelled_before_it_waits),
      A_TEST(a_parent_is_cancelled_as_the_last_child_ends),
      A_TEST(a_wait_that_is_cancelled_leaves_the_tasks),
      A_TEST(a_thread_waits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
