/* task_test.c: the life of one task: made, spawned, joined, detached; its memory. How it is
 * cancelled is in task_cancel_test.c, what it waits for before it has ended in task_end_test.c. */
#include "by_hand.h"
#include "thread_team.h"

/* Takes a permit, leaves what it was told to. */
typedef struct job {
  volt_task task;
  volt_future permit;
  volt_future join;
  volt_task *other;
  int argument;
  int twice; /* of the argument */
  int returns;
  int joined; /* the other's result */
  volt_rt *ran_on;
} job;

typedef struct big_job {
  job job;
  char more[4000]; /* its memory comes straight from the allocator */
} big_job;

static by_hand h;
static volt_sem sem;
static fake_waker a;
static fake_waker b;

static int set_up(void **state) {
  (void)state;
  by_hand_begin(&h);
  volt_sem_init(&sem, 0);
  fake_waker_init(&a, 0, NULL);
  fake_waker_init(&b, 1, NULL);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  by_hand_end(&h, 0);
  return 0;
}

static int job_poll(volt_task *t, volt_ctx *ctx) {
  job *self = volt_container_of(t, job, task);
  VOLT_TASK_BEGIN(self);
  self->ran_on = volt_rt_current();
  VOLT_AWAIT(self, volt_sem_acquire_future(&self->permit, &sem, 1));
  self->twice = 2 * self->argument;
  VOLT_RETURN(self, self->returns);
  VOLT_TASK_END(self);
}

static int joins_poll(volt_task *t, volt_ctx *ctx) {
  job *self = volt_container_of(t, job, task);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT_RESULT(self, self->joined, volt_task_join_future(&self->join, self->other));
  VOLT_TASK_END(self);
}

static job *new_job(volt_task_fn *poll) {
  job *j = VOLT_TASK_NEW(h.rt, job, poll);
  assert_non_null(j);
  return j;
}

static job *spawn_job(int returns) {
  job *j = new_job(job_poll);
  j->returns = returns;
  assert_result(volt_spawn(h.rt, &j->task), VOLT_OK);
  return j;
}

static void spawn_joiner(job *j, volt_task *other) {
  j->other = other;
  assert_result(volt_spawn(h.rt, &j->task), VOLT_OK);
}

static void expect_ended(job *j, int result) {
  assert_result(volt_task_result(&j->task), result);
  assert_result(volt_task_join(&j->task), result);
}

/* ---- make ---- */

static void new_memory_is_zero_and_its_own(void **state) {
  (void)state;
  static const size_t sizes[] = {
      sizeof(volt_task), sizeof(volt_task) + 1, 256, 257, 1023, 1024, 1025, 100000};
  enum { SIZES = sizeof sizes / sizeof *sizes, EACH = 3 };
  for (int again = 0; again < 2; again++) { /* what was given back is zero as well */
    char *memory[SIZES * EACH];
    for (size_t i = 0; i < SIZES * EACH; i++) {
      size_t bytes = sizes[i / EACH];
      memory[i] = (char *)volt_task_new(h.rt, bytes, job_poll);
      assert_non_null(memory[i]);
      assert_int_equal((uintptr_t)memory[i] % _Alignof(max_align_t), 0);
      for (size_t at = sizeof(volt_task); at < bytes; at++) assert_int_equal(memory[i][at], 0);
      memset(memory[i] + sizeof(volt_task), (int)i + 1, bytes - sizeof(volt_task));
    }
    for (size_t i = 0; i < SIZES * EACH; i++) {
      size_t bytes = sizes[i / EACH];
      for (size_t at = sizeof(volt_task); at < bytes; at++) {
        assert_int_equal(memory[i][at], (int)i + 1);
      }
      volt_task_detach((volt_task *)(void *)memory[i]);
    }
  }
}

/* The size of a type with more alignment is a multiple of that. */
static void new_memory_is_aligned_as_its_size_may_need(void **state) {
  (void)state;
  enum { SIZES = (1024 - sizeof(volt_task)) / 16 + 1 };
  void *memory[SIZES];
  for (unsigned i = 0; i < SIZES; i++) {
    size_t bytes = sizeof(volt_task) + 16 * i;
    memory[i] = volt_task_new(h.rt, bytes, job_poll);
    assert_non_null(memory[i]);
    for (size_t alignment = 16; alignment <= 64 && bytes % alignment == 0; alignment *= 2) {
      assert_int_equal((uintptr_t)memory[i] % alignment, 0);
    }
  }
  for (unsigned i = 0; i < SIZES; i++) volt_task_detach((volt_task *)memory[i]);
}

static void init_sets_the_task_only(void **state) {
  (void)state;
  job j;
  memset((void *)&j, 0, sizeof j);
  j.argument = 4;
  j.returns = VOLT_EAGAIN;
  volt_task_init(&j.task, job_poll);
  assert_int_equal(j.argument, 4);
  assert_result(volt_spawn(h.rt, &j.task), VOLT_OK);
  volt_sem_release(&sem, 1);
  by_hand_run(&h);
  expect_ended(&j, VOLT_EAGAIN);
  assert_int_equal(j.twice, 8);
  memset((void *)&j, 0, sizeof j); /* joined: it is ours again */
  volt_task_init(&j.task, job_poll);
  assert_result(volt_spawn(h.rt, &j.task), VOLT_OK);
  volt_sem_release(&sem, 1);
  by_hand_run(&h);
  expect_ended(&j, VOLT_OK);
}

/* ---- spawn ---- */

static void spawn_of_null_is_no_memory(void **state) {
  (void)state;
  assert_result(volt_spawn(h.rt, NULL), VOLT_ENOMEM);
  by_hand_expect_live(&h, 0);
  assert_int_equal(by_hand_stats(&h).spawned, 0);
}

static void arguments_and_results_pass_by_value(void **state) {
  (void)state;
  job *j = new_job(job_poll);
  j->argument = 21;
  j->returns = 17; /* a positive result is the task's own, but for VOLT_PENDING */
  assert_result(volt_spawn(h.rt, &j->task), VOLT_OK);
  assert_null(j->ran_on); /* not here and now */
  by_hand_expect_live(&h, 1);
  assert_result(volt_task_result(&j->task), VOLT_PENDING);
  by_hand_run(&h);
  assert_ptr_equal(j->ran_on, h.rt);
  assert_null(volt_rt_current());
  assert_result(volt_task_result(&j->task), VOLT_PENDING);
  volt_sem_release(&sem, 1);
  assert_result(volt_task_result(&j->task), VOLT_PENDING);
  by_hand_run(&h);
  assert_int_equal(volt_task_result(&j->task), 17);
  assert_int_equal(volt_task_join(&j->task), 17);
  assert_int_equal(j->twice, 42);
  by_hand_expect_live(&h, 0);
  assert_int_equal(by_hand_stats(&h).spawned, 1);
  volt_task_detach(&j->task);
}

static int at_once_poll(volt_task *t, volt_ctx *ctx) {
  (void)t;
  (void)ctx;
  return VOLT_ECLOSED;
}

static void a_poll_function_needs_no_macros(void **state) {
  (void)state;
  job *j = new_job(at_once_poll);
  assert_result(volt_spawn(h.rt, &j->task), VOLT_OK);
  by_hand_run(&h);
  expect_ended(j, VOLT_ECLOSED);
  volt_task_detach(&j->task);
}

static int spawns_poll(volt_task *t, volt_ctx *ctx) {
  job *self = volt_container_of(t, job, task);
  (void)ctx;
  return volt_spawn(volt_rt_current(), self->other);
}

static void a_task_may_spawn(void **state) {
  (void)state;
  job *child = new_job(at_once_poll);
  job *parent = new_job(spawns_poll);
  spawn_joiner(parent, &child->task);
  by_hand_run(&h);
  expect_ended(parent, VOLT_OK);
  expect_ended(child, VOLT_ECLOSED);
  volt_task_detach(&child->task);
  volt_task_detach(&parent->task);
}

/* ---- join ---- */

static void it_may_be_joined_again_after_its_end(void **state) {
  (void)state;
  job *j = spawn_job(VOLT_EINVAL);
  volt_sem_release(&sem, 1);
  by_hand_run(&h);
  for (int i = 0; i < 3; i++) {
    volt_future f;
    expect_ended(j, VOLT_EINVAL);
    volt_future_made(volt_task_join_future(&f, &j->task));
    for (int k = 0; k < 2; k++) {
      assert_result(volt_future_poll(&f, fake_waker_of(&a)), VOLT_EINVAL);
    }
  }
  assert_int_equal(fake_waker_calls(&a), 0);
  volt_task_detach(&j->task);
}

static void a_join_that_times_out_may_be_repeated(void **state) {
  (void)state;
  job *j = spawn_job(VOLT_OK);
  for (int i = 0; i < 3; i++) {
    assert_result(volt_task_join_until(&j->task, PAST_DEADLINE), VOLT_ETIMEDOUT);
    assert_result(volt_task_result(&j->task), VOLT_PENDING);
  }
  volt_sem_release(&sem, 1);
  by_hand_run(&h);
  expect_ended(j, VOLT_OK);
  volt_task_detach(&j->task);
}

static void a_task_may_have_timed_out_itself(void **state) {
  (void)state;
  job *j = spawn_job(VOLT_ETIMEDOUT);
  volt_sem_release(&sem, 1);
  by_hand_run(&h);
  assert_result(volt_task_join_until(&j->task, PAST_DEADLINE), VOLT_ETIMEDOUT);
  assert_result(volt_task_result(&j->task), VOLT_ETIMEDOUT);
  volt_task_detach(&j->task);
}

static void a_join_wakes_its_last_waker_once(void **state) {
  (void)state;
  job *j = spawn_job(9);
  volt_future f;
  volt_future_made(volt_task_join_future(&f, &j->task));
  assert_result(volt_future_poll(&f, fake_waker_of(&a)), VOLT_PENDING);
  by_hand_run(&h);
  assert_result(volt_future_poll(&f, fake_waker_of(&b)), VOLT_PENDING);
  volt_sem_release(&sem, 1);
  by_hand_run(&h);
  assert_int_equal(fake_waker_calls(&a), 0);
  assert_int_equal(fake_waker_calls(&b), 1);
  assert_int_equal(volt_future_poll(&f, fake_waker_of(&a)), 9);
  volt_future_cancel(&f); /* ready: nothing */
  volt_task_detach(&j->task);
}

static void a_cancelled_join_leaves_the_task_alone(void **state) {
  (void)state;
  job *j = spawn_job(VOLT_OK);
  volt_future f;
  for (int polled = 0; polled < 2; polled++) {
    volt_future_made(volt_task_join_future(&f, &j->task));
    if (polled) assert_result(volt_future_poll(&f, fake_waker_of(&a)), VOLT_PENDING);
    volt_future_cancel(&f);
    assert_result(volt_future_poll(&f, fake_waker_of(&a)), VOLT_ECANCELED);
  }
  volt_future_made(volt_task_join_future(
      &f, &j->task)); /* and now one that is cancelled when it has been told */
  assert_result(volt_future_poll(&f, fake_waker_of(&a)), VOLT_PENDING);
  volt_sem_release(&sem, 1);
  by_hand_run(&h);
  assert_int_equal(fake_waker_calls(&a), 1);
  volt_future_cancel(&f);
  assert_result(volt_future_poll(&f, fake_waker_of(&a)), VOLT_ECANCELED);
  expect_ended(j, VOLT_OK);
  assert_int_equal(j->twice, 0);
  volt_task_detach(&j->task);
}

static void a_task_joins_a_task(void **state) {
  (void)state;
  job *j = spawn_job(VOLT_EAGAIN);
  job *before = new_job(joins_poll);
  spawn_joiner(before, &j->task);
  by_hand_run(&h);
  assert_result(volt_task_result(&before->task), VOLT_PENDING);
  volt_sem_release(&sem, 1);
  by_hand_run(&h);
  expect_ended(before, VOLT_OK);
  assert_result(before->joined, VOLT_EAGAIN);
  job *after = new_job(joins_poll); /* it has ended: ready at once */
  spawn_joiner(after, &j->task);
  by_hand_run(&h);
  expect_ended(after, VOLT_OK);
  assert_result(after->joined, VOLT_EAGAIN);
  volt_task_detach(&j->task);
  volt_task_detach(&before->task);
  volt_task_detach(&after->task);
}

static void join_in_thread(void *arg, uint32_t index) {
  job *j = (job *)arg;
  (void)index;
  j->joined = volt_task_join(&j->task);
}

static void a_thread_joins_a_task(void **state) {
  (void)state;
  job *j = spawn_job(11);
  thread_team team;
  thread_team_start(&team, 1, join_in_thread, j);
  by_hand_run(&h);
  volt_sem_release(&sem, 1);
  by_hand_run(&h);
  thread_team_join(&team);
  assert_int_equal(j->joined, 11);
  volt_task_detach(&j->task);
}

/* ---- detach ---- */

static big_job *new_big(void) {
  big_job *big = (big_job *)volt_task_new(h.rt, sizeof *big, job_poll);
  assert_non_null(big);
  return big;
}

static void detached_unspawned_it_is_freed_at_once(void **state) {
  (void)state;
  uint64_t before = by_hand_held(&h);
  big_job *big = new_big();
  assert_true(by_hand_held(&h) > before);
  volt_task_detach(&big->job.task);
  assert_int_equal(by_hand_held(&h), before);
  volt_task_detach(&new_job(job_poll)->task);
}

static void detached_before_its_end_it_is_freed_at_its_end(void **state) {
  (void)state;
  uint64_t before = by_hand_held(&h);
  for (int polled = 0; polled < 2; polled++) {
    big_job *big = new_big();
    assert_result(volt_spawn(h.rt, &big->job.task), VOLT_OK);
    if (polled) by_hand_run(&h);
    volt_task_detach(&big->job.task);
    by_hand_run(&h);
    assert_true(by_hand_held(&h) > before);
    volt_sem_release(&sem, 1);
    by_hand_run(&h);
    assert_int_equal(by_hand_held(&h), before);
    by_hand_expect_live(&h, 0);
  }
}

static void detached_after_its_end_it_is_freed_at_once(void **state) {
  (void)state;
  uint64_t before = by_hand_held(&h);
  big_job *big = new_big();
  assert_result(volt_spawn(h.rt, &big->job.task), VOLT_OK);
  volt_sem_release(&sem, 1);
  by_hand_run(&h);
  assert_true(by_hand_held(&h) > before);
  expect_ended(&big->job, VOLT_OK);
  volt_task_detach(&big->job.task);
  assert_int_equal(by_hand_held(&h), before);
}

static void detached_memory_of_the_callers_is_not_freed(void **state) {
  (void)state;
  static job early; /* it may outlive this function, for all that we know */
  static job late;
  memset((void *)&early, 0, sizeof early);
  memset((void *)&late, 0, sizeof late);
  volt_task_init(&early.task, job_poll);
  volt_task_init(&late.task, job_poll);
  assert_result(volt_spawn(h.rt, &early.task), VOLT_OK);
  assert_result(volt_spawn(h.rt, &late.task), VOLT_OK);
  volt_task_detach(&early.task);
  uint64_t before = by_hand_held(&h);
  volt_sem_release(&sem, 2);
  by_hand_run(&h);
  expect_ended(&late, VOLT_OK);
  volt_task_detach(&late.task);
  assert_int_equal(by_hand_held(&h), before);
  by_hand_expect_live(&h, 0);
}

#define A_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      A_TEST(new_memory_is_zero_and_its_own),
      A_TEST(new_memory_is_aligned_as_its_size_may_need),
      A_TEST(init_sets_the_task_only),
      A_TEST(spawn_of_null_is_no_memory),
      A_TEST(arguments_and_results_pass_by_value),
      A_TEST(a_poll_function_needs_no_macros),
      A_TEST(a_task_may_spawn),
      A_TEST(it_may_be_joined_again_after_its_end),
      A_TEST(a_join_that_times_out_may_be_repeated),
      A_TEST(a_task_may_have_timed_out_itself),
      A_TEST(a_join_wakes_its_last_waker_once),
      A_TEST(a_cancelled_join_leaves_the_task_alone),
      A_TEST(a_task_joins_a_task),
      A_TEST(a_thread_joins_a_task),
      A_TEST(detached_unspawned_it_is_freed_at_once),
      A_TEST(detached_before_its_end_it_is_freed_at_its_end),
      A_TEST(detached_after_its_end_it_is_freed_at_once),
      A_TEST(detached_memory_of_the_callers_is_not_freed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
